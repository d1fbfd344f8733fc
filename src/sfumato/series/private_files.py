"""Files that are the steward's alone: written whole, put on the disk, readable by their owner only, or encrypted.

A file begins with a mark and the name of its key, which is a hash; then follow the nonce, and what the library sealed.
The name of the file is sealed with it, so that none can take the place of another.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import secrets
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.errors import InputError, VerificationError, write_errors
from sfumato.whole_files import PRIVATE, read_regular, write_whole

KEY_FILE_SETTING, KEY_SETTING = "SFUMATO_LEDGER_KEY_FILE", "SFUMATO_LEDGER_KEY"
MARK = b"sfumato encrypted 1\n"
KEY_BYTES, NONCE_BYTES, NAME_BYTES = 32, 12, 8
_MOST_BYTES = 1024
"""What the file of a key may hold: far more than the key."""
LARGEST = 2**31 - 1
"""Bytes that the library takes at once."""
HOW = f"with ledger_key= (on the command line --ledger-key FILE), or in the setting {KEY_FILE_SETTING} or {KEY_SETTING}"


@dataclass(frozen=True)
class LedgerCipher:
    """Encrypts and decrypts the files of a ledger."""

    secret: bytes = field(repr=False)  # 32 random ones; never shown

    def __post_init__(self) -> None:
        """Check that the library is there. Raises ``InputError`` when it is not."""
        try:
            import cryptography  # noqa: F401
        except ImportError:
            raise InputError(
                "an encrypted ledger needs the package cryptography; install it with: pip install 'sfumato[encryption]'"
            ) from None

    @property
    def name(self) -> bytes:
        """A hash by which another key is told from a changed file."""
        return hashlib.blake2b(key=self.secret, digest_size=NAME_BYTES, person=b"sfumato key").digest()

    def seal(self, name: str, content: bytes) -> bytes:
        """Encrypt the content of a file. Raises ``InputError`` when it is larger than the library takes."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        if len(content) > LARGEST - 16:
            raise InputError(f"{name}: is larger than 2 GB, which cannot be encrypted in one piece; use an own disk")
        nonce = secrets.token_bytes(NONCE_BYTES)
        return MARK + self.name + nonce + AESGCM(self.secret).encrypt(nonce, content, MARK + name.encode())

    def opened(self, path: Path, stored: bytes) -> bytes:
        """Decrypt a file; InputError for none, or another key, VerificationError when it was changed."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        if not is_encrypted(stored):
            raise InputError(
                f"{path.parent}: this ledger is not encrypted; leave the key out, or encrypt it with "
                "sfumato series encrypt"
            )
        name, rest = stored[len(MARK) :][:NAME_BYTES], stored[len(MARK) + NAME_BYTES :]
        if name != self.name:
            raise InputError(f"{path.parent}: the ledger is encrypted with another key; give that one")
        try:
            return AESGCM(self.secret).decrypt(rest[:NONCE_BYTES], rest[NONCE_BYTES:], MARK + path.name.encode())
        except (InvalidTag, ValueError):
            raise VerificationError(f"{path.parent}: {path.name} was changed or is damaged") from None


def is_encrypted(stored: bytes) -> bool:
    """Tell whether a file was encrypted."""
    return stored.startswith(MARK)


def cipher_of(key_file: str | os.PathLike[str] | None = None) -> LedgerCipher | None:
    """Return the cipher of the key that was given: in a file, or by the settings; None where there is none.

    Raises ``InputError`` when the file cannot be read, what is given is no key, or the library is missing.
    """
    named = key_file or os.environ.get(KEY_FILE_SETTING) or None
    if named is not None:
        return LedgerCipher(_read(Path(named)))
    given = os.environ.get(KEY_SETTING)
    return LedgerCipher(_secret(given, KEY_SETTING)) if given else None


def _read(path: Path) -> bytes:
    try:
        text = read_regular(path, _MOST_BYTES).decode("ascii", "replace")
    except OSError as error:
        reason = error.strerror or "unknown reason"
        raise InputError(
            f"{path}: the key of the ledger cannot be read ({reason}); a key without a file is given as {KEY_SETTING}"
        ) from None
    return _secret(text, str(path))


def _secret(text: str, where: str) -> bytes:
    try:
        found = base64.b64decode(text.strip().replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        found = b""
    if len(found) != KEY_BYTES:
        raise InputError(
            f"{where}: is no key of a ledger, {KEY_BYTES} random bytes in base64; make one with sfumato series new-key"
        )
    return found


def write_new_key(path: Path) -> None:
    """Write a new random key into a file for its owner alone; ``InputError`` when it is there, or cannot be written."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    except FileExistsError:
        raise InputError(f"{path}: is there already; a key is never replaced") from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "unknown reason"
        raise InputError(f"{path}: cannot be written ({reason})") from None
    with open(descriptor, "wb") as file:
        file.write(base64.urlsafe_b64encode(secrets.token_bytes(KEY_BYTES)) + b"\n")


def check_key_place(key_file: str | os.PathLike[str] | None, folders: tuple[Path, ...]) -> None:
    """Raise InputError when the file of a key lies in one of some folders: beside what it is to protect."""
    named = key_file or os.environ.get(KEY_FILE_SETTING) or None
    if named is None:
        return
    place = Path(os.path.realpath(named))
    if any(place.is_relative_to(os.path.realpath(folder)) for folder in folders):
        raise InputError(f"{named}: the key lies in the folder of the series or the ledger; keep it elsewhere")


PRIVATE_FOLDER = 0o700


@dataclass(frozen=True)
class PrivateFolder:
    """A folder of private files, and with what they are encrypted."""

    path: Path
    cipher: LedgerCipher | None = None  # None: they are written as they are

    def write(self, name: str, content: bytes) -> bytes:
        """Write a file, and return what it holds now."""
        stored = content if self.cipher is None else self.cipher.seal(name, content)
        write_private(self.path / name, stored)
        return stored

    def content(self, name: str, stored: bytes) -> bytes:
        """Return the content of what a file holds.

        Raises ``InputError`` when the key is missing or is another one; or when there is one and the file is not
        encrypted. Raises ``VerificationError`` when an encrypted file was changed.
        """
        if self.cipher is not None:
            return self.cipher.opened(self.path / name, stored)
        if is_encrypted(stored):
            raise InputError(f"{self.path}: the ledger is encrypted; give its key {HOW}")
        return stored


def write_private(path: Path, content: bytes) -> None:
    """Write a file whole, or not at all, and have it put on the disk; ``InputError`` when it cannot be written."""
    with write_errors(f"{path}:", "; check the disk and permissions"):
        write_whole(path, content, PRIVATE)


# One append at a time: a lock on the ledger, and what is known of a run that was killed while it held it.


FILE = "lock"


@contextmanager
def ledger_lock(ledger: Path) -> Iterator[str | None]:
    """Hold the lock of a ledger for a block; give a sentence about a run that was killed before, if there was one.

    The system takes the lock from a program that ends, however it ends, so that no lock is left behind. Windows has
    none of this kind; there the file itself is the lock, and a killed run leaves it: the refusal says what to do.
    Raises ``InputError`` when another program holds it.
    """
    path = ledger / FILE
    alone = os.O_EXCL if sys.platform == "win32" else 0
    with write_errors(f"{path}:", "; check the disk and permissions"):
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | alone, PRIVATE)
        except FileExistsError:
            raise InputError(_busy(ledger, _sentence(path), f"; if none is, delete {path}")) from None
    try:
        before = _sentence(path)
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
    """Keep runs out while somebody reads (``InputError`` if one is in); give whether one was killed with the lock."""
    path = ledger / FILE
    before = _sentence(path)
    if not path.exists():
        yield False
        return
    if sys.platform == "win32":
        raise InputError(_busy(ledger, before, f"; if none is, sfumato settle {ledger}"))
    with write_errors(f"{path}:", "; check the disk and permissions"):
        descriptor = os.open(path, os.O_RDONLY)
    try:
        if not _taken(descriptor, alone=False):
            raise InputError(_busy(ledger, before, ""))
        yield bool(_sentence(path))
    finally:
        os.close(descriptor)


def _busy(ledger: Path, owner: str, cure: str) -> str:
    named = f" ({owner})" if owner else ""
    return f"{ledger}: another run is working on this series{named}; start again when it has ended{cure}"


def _sentence(path: Path) -> str:
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
