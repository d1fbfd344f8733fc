"""Signing a release, a series or a page of evidence, offline: an in-toto statement in a DSSE envelope, by Ed25519.

The statement names the sha256 of every file of the folder, and lies beside them in ``signature.json``. Nothing in it is
a function of the original table, of the audit file or of a ledger. The time in it is claimed by the signer, not proved.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import InputError, VerificationError, raise_all
from sfumato.models.protocol import Check, Outcome
from sfumato.release.description import unambiguous
from sfumato.release.transaction import SERIES, SIGNATURE, UNCHECKED, no_release
from sfumato.table.writing import sha256_of
from sfumato.whole_files import PRIVATE, PUBLIC, read_regular, write_whole

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
RELEASED, REVOKED = "urn:sfumato:release:v1", "urn:sfumato:revocation:v1"
PUBLISHED, EVIDENCE = "urn:sfumato:series:v1", "urn:sfumato:evidence:v1"
SIGNED = "signed with the given key, every file and no other"
SHOWN = 16
"""Letters of a key's id that people are shown."""
_MOST = 16 << 20
"""Bytes that a statement may have."""


@dataclass(frozen=True)
class Envelope:
    """A statement as ``signature.json`` holds it: `payload`, its bytes, and `signatures` by the id of their key.

    `countersigned`: the statements of others about the same files.
    """

    payload: bytes
    signatures: Mapping[str, bytes]
    countersigned: tuple[Envelope, ...] = ()

    @property
    def statements(self) -> tuple[Envelope, ...]:
        """The statement itself, and those of who countersigned."""
        return (self, *self.countersigned)

    @property
    def digest(self) -> str:
        """The sha256 of the statement, by which it is revoked."""
        return hashlib.sha256(self.payload).hexdigest()

    @property
    def statement(self) -> Mapping[str, Any]:
        """What is signed. Raises ``VerificationError`` when it is no statement."""
        try:
            found = unambiguous(self.payload.decode("utf-8", errors="replace"))
        except (RecursionError, ValueError):
            found = None
        if not isinstance(found, dict):
            raise VerificationError(f"{SIGNATURE}: holds no statement; it was changed")
        return found

    @property
    def subjects(self) -> dict[str, str]:
        """The sha256 of every subject, by name. Raises ``VerificationError`` when there are none, or one twice."""
        try:
            found = {str(each["name"]): str(each["digest"]["sha256"]) for each in self.statement["subject"]}
            twice = len(found) < len(self.statement["subject"])
        except (KeyError, TypeError):
            twice = True
        if twice or self.statement.get("_type") != STATEMENT:
            raise VerificationError(f"{SIGNATURE}: holds no statement about files; it was changed")
        return found

    def signed_by(self, key: Ed25519PublicKey) -> bool:
        """Tell whether the signature of a key over this statement holds."""
        from cryptography.exceptions import InvalidSignature

        try:
            key.verify(self.signatures.get(key_id(key), b""), encoded(self.payload))
        except InvalidSignature:
            return False
        return True

    def to_json(self) -> str:
        """Write it as DSSE says; who countersigned stands in a field of its own, which others pass over."""
        more = {"countersigned": [each._content() for each in self.countersigned]} if self.countersigned else {}
        return json.dumps({**self._content(), **more}, indent=2) + "\n"

    def _content(self) -> dict[str, Any]:
        signatures = [{"keyid": name, "sig": _base64(value)} for name, value in sorted(self.signatures.items())]
        return {"payloadType": PAYLOAD_TYPE, "payload": _base64(self.payload), "signatures": signatures}

    @classmethod
    def _of(cls, content: Mapping[str, Any], countersigned: tuple[Envelope, ...] = ()) -> Envelope:
        if content["payloadType"] != PAYLOAD_TYPE:
            raise ValueError
        signatures = {str(each["keyid"]): _decoded(each["sig"]) for each in content["signatures"]}
        return cls(_decoded(content["payload"]), signatures, countersigned)

    @classmethod
    def read(cls, path: Path) -> Envelope:
        """Read one. Raises ``VerificationError`` when the file is none."""
        try:
            content = unambiguous(read_regular(path, _MOST).decode("utf-8", errors="replace"))
            return cls._of(content, tuple(map(cls._of, content.get("countersigned", ()))))
        except OSError as error:
            raise VerificationError(f"{path.name}: cannot be read ({error.strerror or 'unknown reason'})") from None
        except (VerificationError, KeyError, RecursionError, TypeError, ValueError, binascii.Error):
            raise VerificationError(f"{path.name}: is no signed statement; it was changed") from None


def encoded(payload: bytes) -> bytes:
    """Return what is signed: the pre-authentication encoding of DSSE version 1."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def sign_folder(folder: Path, key: Path, *, by: str = "", promises: Sequence[str] = ()) -> Envelope:
    """Sign what is recounted; where a statement lies there, countersign with one of one's own.

    Parameters
    ----------
    folder
        The release; or a series, of which all releases are signed by one statement; or a page of evidence, whose
        statement lies beside it, with the steward.
    key
        File with the private key.
    by
        Who signs, and as what; it is claimed.
    promises
        What was recounted, one line for each promise.

    Returns
    -------
    Envelope
        As it is written to ``signature.json``, or to ``PAGE.signature.json``.

    Raises
    ------
    InputError
        When the folder is no release, the key cannot be read, or the statement that lies there is of other files.
    """
    if not folder.is_file() and not (folder / SERIES).is_file() and (problem := no_release(folder)):
        raise InputError(problem)
    secret = _private_key(key)
    files, place = _subjects_at(folder), place_of(folder)
    said = {"by": by, **({} if folder.is_file() else {"promises": list(promises)})}
    signed = _with_signature(Envelope(_statement(_kind_of(folder), files, said), {}), secret)
    if place.exists():
        first = Envelope.read(place)
        if any(each.subjects != files for each in first.statements):
            raise InputError(f"{place.name}: was signed over other files than lie here; take it away, and sign anew")
        if _of_key(first, secret.public_key()) is not None:
            raise InputError(f"{place.name}: is signed with this key; take it away to sign anew")
        signed = replace(first, countersigned=(*first.countersigned, signed))
    write_whole(place, signed.to_json(), PRIVATE if folder.is_file() else PUBLIC)
    return signed


def place_of(signed: Path) -> Path:
    """Return where the statement about a folder, or about a page of evidence, lies."""
    return signed.with_name(f"{signed.name}.{SIGNATURE}") if signed.is_file() else signed / SIGNATURE


def _subjects_at(signed: Path) -> dict[str, str]:
    return {signed.name: sha256_of(signed)} if signed.is_file() else hashes_of_files(signed)


def _kind_of(signed: Path) -> str:
    return EVIDENCE if signed.is_file() else PUBLISHED if (signed / SERIES).is_file() else RELEASED


def revoke(folder: Path, key: Path, out: Path, *, by: str = "") -> None:
    """Write a statement of the same key that takes back the one of a folder, which must be there."""
    secret, place = _private_key(key), place_of(folder)
    if not place.is_file():
        raise InputError(f"{folder}: has no {place.name}; there is nothing to revoke")
    signed = _of_key(Envelope.read(place), secret.public_key())
    if signed is None:
        raise InputError(f"{folder}: was not signed with this key, which alone can revoke it")
    taken_back = Envelope(_statement(REVOKED, {SIGNATURE: signed.digest}, {"by": by}), {})
    try:
        write_whole(out, _with_signature(taken_back, secret).to_json(), PUBLIC)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror or 'unknown reason'})") from None


def new_key(path: Path) -> str:
    """Write a new private key for its owner alone, and the public one beside it as ``NAME.pub``; return its id."""
    _require_library()
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    public = path.with_name(f"{path.name}.pub")
    raise_all(InputError, [f"{each}: is there already; name another" for each in (path, public) if each.exists()])
    secret = Ed25519PrivateKey.generate()
    pem = serialization.Encoding.PEM
    private = secret.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    shown = secret.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    try:
        write_whole(path, private, PRIVATE)
        write_whole(public, shown, PUBLIC)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or 'unknown reason'})") from None
    return key_id(secret.public_key())


def key_id(key: Ed25519PublicKey) -> str:
    """Name a public key: the sha256 of its 32 bytes."""
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()


def hashes_of_files(folder: Path) -> dict[str, str]:
    """Return the sha256 of every file below a folder, by its path, without the signature; there is nothing else."""
    found: dict[str, str] = {}
    for place, folders, names in os.walk(folder):
        for name in (*names, *folders):
            path = Path(place, name)
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                raise VerificationError(f"{path.relative_to(folder)}: is a link or no file; it was changed")
        for name in names:
            path = Path(place, name)
            found[path.relative_to(folder).as_posix()] = sha256_of(path)
    found.pop(SIGNATURE, None)
    return dict(sorted(found.items()))


def signature_checks(folder: Path, key: Path | None, revocations: Path | None) -> tuple[Check, ...]:
    """Say what the signature of a folder, or of a page of evidence, is worth.

    Without a key: *key not checked*, which never holds. With one: broken unless every file, and no other, is signed
    with it, and no given revocation of the same key names the statement.
    """
    place = place_of(folder)
    if key is None:
        if not place.exists():
            return ()
        try:
            claims = "".join(f"claimed by {each}; " for each in _claims(Envelope.read(place)))
        except VerificationError:
            claims = ""
        detail = f"{claims}give it with --key; revocation: not checked"
        return (Check(UNCHECKED, Outcome.UNDECIDABLE, detail=detail, required=False),)
    public = _public_key(key)
    if not place.exists():
        return (Check(SIGNED, Outcome.BROKEN, detail=f"there is no {place.name}"),)
    try:
        envelope = Envelope.read(place)
        own = _of_key(envelope, public)
        problems = list(_problems(own, folder))
    except VerificationError as error:
        return (Check(SIGNED, Outcome.BROKEN, detail="; ".join(error.problems)),)
    if own is None or problems:
        return (Check(SIGNED, Outcome.BROKEN, detail="; ".join(problems)),)
    if revocations is None:
        detail = "revocation: not checked"
    elif is_revoked(own, public, revocations):
        return (Check(SIGNED, Outcome.BROKEN, detail="its key has revoked it"),)
    else:
        detail = "not revoked by what was given"
    others = [each for each in _claims(envelope) if each not in _claims(own)[:1]]
    more = f"; {' and '.join(others)} signed, too, whose keys were not checked" if others else ""
    return (Check(SIGNED, Outcome.HOLDS, detail=f"claimed by {_claims(own)[0]}; {detail}{more}"),)


def _of_key(envelope: Envelope, key: Ed25519PublicKey) -> Envelope | None:
    """Return the statement that a key signed."""
    return next((each for each in envelope.statements if each.signed_by(key)), None)


def _claims(envelope: Envelope) -> list[str]:
    """Say who claims to have signed, and the start of the key's id."""
    found = []
    for each in envelope.statements:
        predicate = each.statement.get("predicate")
        by = predicate.get("by") if isinstance(predicate, dict) else None
        keys = ", ".join(name[:SHOWN] for name in sorted(each.signatures))
        found.append(f"{by or 'nobody by name'} (key {keys})")
    return found


def _problems(envelope: Envelope | None, folder: Path) -> Iterator[str]:
    if envelope is None:
        yield "it is not signed with this key, or the statement was changed"
        return
    if envelope.statement.get("predicateType") != _kind_of(folder):
        yield "the statement is about something else"
    signed, here = envelope.subjects, _subjects_at(folder)
    yield from (f"{name} is missing" for name in sorted(signed.keys() - here.keys()))
    yield from (f"{name} was added" for name in sorted(here.keys() - signed.keys()))
    yield from (f"{name} was changed" for name in sorted(signed.keys() & here.keys()) if signed[name] != here[name])


def is_revoked(envelope: Envelope, key: Ed25519PublicKey, place: Path) -> bool:
    """Tell whether a revocation, a file or one in a folder, names a statement; one that cannot be read is refused."""
    paths = sorted(place.glob("*.json")) if place.is_dir() else [place]
    if not paths:
        raise InputError(f"{place}: holds no revocation; leave the option out, or name another place")
    found = False
    for path in paths:
        try:
            one = Envelope.read(path)
            names = one.statement.get("predicateType") == REVOKED and envelope.digest in one.subjects.values()
        except VerificationError as error:
            raise InputError(*error.problems) from None
        found = found or (names and one.signed_by(key))
    return found


def _statement(kind: str, subjects: Mapping[str, str], predicate: Mapping[str, Any]) -> bytes:
    """Write a statement; the time is that of the signer's clock."""
    content = {
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in subjects.items()],
        "predicateType": kind,
        "predicate": {**predicate, "claimed_time": datetime.now(UTC).isoformat(timespec="seconds")},
    }
    return json.dumps(content, ensure_ascii=False, sort_keys=True).encode()


def _with_signature(envelope: Envelope, secret: Ed25519PrivateKey) -> Envelope:
    own = {key_id(secret.public_key()): secret.sign(encoded(envelope.payload))}
    return Envelope(envelope.payload, {**envelope.signatures, **own})


def _private_key(path: Path) -> Ed25519PrivateKey:
    _require_library()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        found = load_pem_private_key(_bytes_of(path), None)
    except (TypeError, ValueError):
        found = None
    if not isinstance(found, Ed25519PrivateKey):
        raise InputError(f"{path}: holds no private key of Ed25519; make one with sfumato sign --new-key FILE")
    return found


def _public_key(path: Path) -> Ed25519PublicKey:
    _require_library()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        found = load_pem_public_key(_bytes_of(path))
    except ValueError:
        found = None
    if not isinstance(found, Ed25519PublicKey):
        raise InputError(f"{path}: holds no public key of Ed25519; it is the file that ends in .pub")
    return found


def _bytes_of(path: Path) -> bytes:
    try:
        return read_regular(path, _MOST)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or 'unknown reason'})") from None


def _require_library() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise InputError(
            "signatures need the package cryptography; install it with: pip install 'sfumato[encryption]'"
        ) from None


def _base64(content: bytes) -> str:
    return base64.standard_b64encode(content).decode()


def _decoded(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
