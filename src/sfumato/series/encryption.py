"""The steward's ledger encrypted at rest: AES-256-GCM of the package ``cryptography``, a fresh nonce for every file.

A file begins with a mark and the name of its key, which is a hash; then follow the nonce, and what the library sealed.
The name of the file is sealed with it, so that none can take the place of another.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.errors import InputError, VerificationError
from sfumato.whole_files import PRIVATE, read_regular

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
    """Encrypts and decrypts the files of a ledger.

    Attributes
    ----------
    secret : bytes
        32 random ones; never shown.
    """

    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        """Check that the library is there.

        Raises
        ------
        InputError
            When it is not.
        """
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
        """Encrypt the content of a file.

        Raises
        ------
        InputError
            When it is larger than the library takes.
        """
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        if len(content) > LARGEST - 16:
            raise InputError(f"{name}: is larger than 2 GB, which cannot be encrypted in one piece; use an own disk")
        nonce = secrets.token_bytes(NONCE_BYTES)
        return MARK + self.name + nonce + AESGCM(self.secret).encrypt(nonce, content, MARK + name.encode())

    def opened(self, path: Path, stored: bytes) -> bytes:
        """Decrypt what a file holds.

        Raises
        ------
        InputError
            When it is not encrypted, or with another key.
        VerificationError
            When it was changed.
        """
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

    Raises
    ------
    InputError
        When the file cannot be read, what is given is no key, or the library is missing.
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
    """Write a new random key into a file for its owner alone.

    Raises
    ------
    InputError
        When the file is there, or cannot be written.
    """
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
