"""Files that are the steward's alone: written whole, put on the disk, readable by their owner only, or encrypted."""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.errors import InputError
from sfumato.series.encryption import HOW, LedgerCipher, is_encrypted
from sfumato.whole_files import PRIVATE

if TYPE_CHECKING:
    from collections.abc import Iterator

PRIVATE_FOLDER = 0o700


@dataclass(frozen=True)
class PrivateFolder:
    """A folder of private files, and with what they are encrypted.

    Attributes
    ----------
    path : Path
    cipher : LedgerCipher or None
        None: they are written as they are.
    """

    path: Path
    cipher: LedgerCipher | None = None

    def write(self, name: str, content: bytes) -> bytes:
        """Write a file, and return what it holds now."""
        stored = content if self.cipher is None else self.cipher.seal(name, content)
        write_private(self.path / name, stored)
        return stored

    def content(self, name: str, stored: bytes) -> bytes:
        """Return the content of what a file holds.

        Raises
        ------
        InputError
            When the key is missing or is another one; or when there is one and the file is not encrypted.
        VerificationError
            When an encrypted file was changed.
        """
        if self.cipher is not None:
            return self.cipher.opened(self.path / name, stored)
        if is_encrypted(stored):
            raise InputError(f"{self.path}: the ledger is encrypted; give its key {HOW}")
        return stored


def write_private(path: Path, content: bytes) -> None:
    """Write a file beside its place, have it put on the disk, and move it there in one step.

    Raises
    ------
    InputError
        When it cannot be written.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    with said_plainly(path):
        try:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
            with open(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
            sync_folder(path.parent)
        finally:
            part.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder put on the disk, where the system can do that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def said_plainly(path: Path) -> Iterator[None]:
    """Turn what the system refuses into one sentence."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "unknown reason"
        raise InputError(f"{path}: cannot be written ({reason}); check the disk and permissions") from None
