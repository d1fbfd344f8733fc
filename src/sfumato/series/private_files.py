"""Files that are the steward's alone: written whole, put on the disk, readable by their owner only, or encrypted."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import InputError
from sfumato.series.encryption import HOW, LedgerCipher, is_encrypted
from sfumato.whole_files import PRIVATE, write_whole

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
    """Write a file whole, or not at all, and have it put on the disk.

    Raises
    ------
    InputError
        When it cannot be written.
    """
    with said_plainly(path):
        write_whole(path, content, PRIVATE)


@contextmanager
def said_plainly(path: Path) -> Iterator[None]:
    """Turn what the system refuses into one sentence."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "unknown reason"
        raise InputError(f"{path}: cannot be written ({reason}); check the disk and permissions") from None


# One append at a time: a lock on the ledger, and what is known of a run that was killed while it held it.


FILE = "lock"


@contextmanager
def locked(ledger: Path) -> Iterator[str | None]:
    """Hold the lock of a ledger for a block; give a sentence about a run that was killed before, if there was one.

    The system takes the lock from a program that ends, however it ends, so that no lock is left behind. Windows has
    none of this kind; there the file itself is the lock, and a killed run leaves it: the refusal says what to do.

    Raises
    ------
    InputError
        When another program holds it.
    """
    path = ledger / FILE
    alone = os.O_EXCL if sys.platform == "win32" else 0
    with said_plainly(path):
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | alone, PRIVATE)
        except FileExistsError:
            raise InputError(_busy(ledger, _said(path), f"; if none is, delete {path}")) from None
    try:
        before = _said(path)
        if not _taken(descriptor):
            raise InputError(_busy(ledger, before, ""))
        _say(descriptor, f"process {os.getpid()} on {socket.gethostname()}")
        try:
            yield f"an earlier run ({before}) was killed; the series is whole" if before else None
        finally:
            _say(descriptor, "")
    finally:
        os.close(descriptor)
        if alone:
            path.unlink(missing_ok=True)


@contextmanager
def unchanged(ledger: Path) -> Iterator[bool]:
    """Keep runs out while somebody reads; nothing is written. Give whether a run was killed that held the lock.

    Raises
    ------
    InputError
        When a run holds it.
    """
    path = ledger / FILE
    before = _said(path)
    if not path.exists():
        yield False
        return
    if sys.platform == "win32":
        raise InputError(_busy(ledger, before, f"; if none is, sfumato settle {ledger}"))
    with said_plainly(path):
        descriptor = os.open(path, os.O_RDONLY)
    try:
        if not _taken(descriptor, alone=False):
            raise InputError(_busy(ledger, before, ""))
        yield bool(_said(path))
    finally:
        os.close(descriptor)


def _busy(ledger: Path, owner: str, cure: str) -> str:
    named = f" ({owner})" if owner else ""
    return f"{ledger}: another run is working on this series{named}; start again when it has ended{cure}"


def _said(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()[:200]
    except OSError:
        return ""


def _say(descriptor: int, text: str) -> None:
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, text.encode())


def _taken(descriptor: int, *, alone: bool = True) -> bool:
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
