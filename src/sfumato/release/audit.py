"""The audit file: who is who inside of each class of a release, for those who are entrusted to recount people.

It belongs to the steward and never lies in the release. It says of every row of the published table a number of its
person, counted afresh and in random order in every class, so that it links no row to another class or to the original.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError, VerificationError
from sfumato.randomness import permutation
from sfumato.release.transaction import MARK, Decide, beside_database, folder_and_audit, recover
from sfumato.table.row_order import rising_order
from sfumato.whole_files import read_regular_text

FORMAT = 1
_BEGINS = f'{{"format": {FORMAT}, "file": '.encode()


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """Pseudonyms of people, int32 (m,): the number, from 1, of the person of each published row inside its class."""

    pseudonyms: NDArray[np.int32]

    @classmethod
    def of(cls, class_of: NDArray[np.integer], people: NDArray[np.integer], seed: int | None) -> Audit:
        """Draw pseudonyms for the class, which a reader must find, and person of each published row. O(m log m)."""
        width = int(people.max(initial=0)) + 1
        pairs, own = np.unique(class_of.astype(np.int64) * width + people, return_inverse=True)
        drawn = permutation(len(pairs), seed)
        owner = pairs // width
        by_class = drawn[rising_order(owner[drawn])]
        first = np.flatnonzero(np.diff(owner[by_class], prepend=-1))
        numbers = np.empty(len(pairs), dtype=np.int32)
        numbers[by_class] = np.arange(len(pairs)) - np.repeat(first, np.diff(np.append(first, len(pairs)))) + 1
        return cls(numbers[own])

    def text(self, name: str, sha256: str) -> str:
        """Return the content of the file, bound by its hash to the published table, whose name and hash are given."""
        content = {"format": FORMAT, "file": name, "sha256": sha256, "pseudonyms": self.pseudonyms.tolist()}
        return json.dumps(content) + "\n"

    @classmethod
    def read(cls, path: Path, name: str, hashed: str, rows: int) -> Audit:
        """Read the file that belongs to a published table of this name, hash and number of rows; or refuse it."""
        try:
            text = read_regular_text(path)
        except (OSError, UnicodeDecodeError):
            raise InputError(f"{path.name}: the audit file cannot be read; check the path") from None
        try:
            content = json.loads(text, object_pairs_hook=_with_each_key_once)
            sha256, numbers = content["sha256"], _pseudonyms(content)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            raise VerificationError(f"{path.name}: is no audit file, or is damaged") from None
        if sha256 != hashed:
            raise VerificationError(f"{path.name}: belongs to another file than {name}, or {name} was changed")
        if len(numbers) != rows:
            raise VerificationError(f"{path.name}: does not number every row of {name}; it is damaged")
        return cls(numbers)


@contextmanager
def audit_written(path: Path, file: tuple[str, str] | None, *, overwrite: bool) -> Iterator[tuple[Path, Decide]]:
    """Give a private file for a release in a database, which takes its place when that holds the release."""
    check_audit_place(path, None, overwrite=overwrite)
    with ExitStack() as stack:
        with _audit_errors(path):
            both = stack.enter_context(beside_database(path, file, overwrite=overwrite))
        yield both


@contextmanager
def folder_with_audit(target: Path, audit: Path | None, *, overwrite: bool) -> Iterator[tuple[Path, Path]]:
    """Give the new folder of a release and its audit file, or None; both take their places together."""
    with suppress(OSError, ValueError):
        recover(Path(os.path.realpath(target)))
    if audit is not None:
        check_audit_place(audit, target, overwrite=overwrite)
    with folder_and_audit(target, audit, overwrite=overwrite) as both:
        yield both


def check_audit_place(path: Path, folder: Path | None, *, overwrite: bool) -> None:
    """Raise InputError when no audit file of a release folder may be written to `path`."""
    with _audit_errors(path):
        recover(path)
        real = Path(os.path.realpath(path))
        inside = folder is not None and real.is_relative_to(os.path.realpath(folder))
        if inside or any((above / MARK).exists() for above in real.parents):
            raise InputError(f"{path.name}: the audit file is yours alone; name a place that is in no release folder")
        if path.is_dir() or not path.parent.is_dir():
            raise IsADirectoryError
        if path.is_symlink() or (path.exists() and not _is_audit_file(path)):
            raise InputError(f"{path.name}: is there and is no audit file; name another place for the audit file")
        if path.exists() and not overwrite:
            raise InputError(
                f"{path.name}: is the audit file of another release; name another place, or replace it with "
                "overwrite=True (on the command line --overwrite)"
            )


@contextmanager
def _audit_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError):
        # A name with the character zero is a ValueError.
        raise InputError(f"{path.name}: the audit file cannot be written; check its folder and permissions") from None


def _is_audit_file(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_BEGINS)) == _BEGINS


def _pseudonyms(content: Any) -> NDArray[np.int32]:
    listed = content["pseudonyms"]
    if (
        type(content["format"]) is not int
        or content["format"] != FORMAT
        or not all(type(number) is int and number > 0 for number in listed)
    ):
        raise ValueError
    return np.array(listed, dtype=np.int32)


def _with_each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError
    return dict(pairs)
