"""The audit file: who is who inside of each class of a release, for those who are entrusted to recount people.

It belongs to the steward and never lies in the release. It says of every row of the published table a number of its
person, counted afresh and in random order in every class, so that it links no row to another class or to the original.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError, VerificationError
from sfumato.randomness import permutation
from sfumato.table.writing import sha256_of
from sfumato.whole_files import write_whole

FORMAT = 1


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """Pseudonyms of people, each valid in one class.

    Attributes
    ----------
    pseudonyms : numpy.ndarray
        int32 (m,): the number, from 1, of the person of each published row inside its class.
    """

    pseudonyms: NDArray[np.int32]

    @classmethod
    def of(cls, class_of: NDArray[np.integer], people: NDArray[np.integer], seed: int | None) -> Audit:
        """Draw pseudonyms.

        Parameters
        ----------
        class_of, people
            Integers (m,), from 0: class and person of each published row. The classes must be those that a reader
            finds: rows with equal published values.
        seed
            For tests and studies; None draws from the operating system.

        Notes
        -----
        Cost O(m log m).
        """
        width = int(people.max(initial=0)) + 1
        pairs, own = np.unique(class_of.astype(np.int64) * width + people, return_inverse=True)
        drawn = permutation(len(pairs), seed)
        by_class = drawn[np.argsort(pairs[drawn] // width, kind="stable")]
        first = np.flatnonzero(np.diff(pairs[by_class] // width, prepend=-1))
        numbers = np.empty(len(pairs), dtype=np.int32)
        numbers[by_class] = np.arange(len(pairs)) - np.repeat(first, np.diff(np.append(first, len(pairs)))) + 1
        return cls(numbers[own])

    def save(self, path: Path, table: Path) -> None:
        """Write the file, readable by its owner alone and bound by its hash to the file of the published table.

        Raises
        ------
        InputError
            When it cannot be written.
        """
        content = {
            "format": FORMAT,
            "file": table.name,
            "sha256": sha256_of(table),
            "pseudonyms": self.pseudonyms.tolist(),
        }
        try:
            write_whole(path, json.dumps(content) + "\n")
        except OSError:
            problem = "the audit file cannot be written; check its folder and permissions"
            raise InputError(f"{path.name}: {problem}") from None

    @classmethod
    def read(cls, path: Path, table: Path) -> Audit:
        """Read the file that belongs to a published table.

        Raises
        ------
        InputError
            When there is no such file.
        VerificationError
            When it is damaged, or is of another table.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise InputError(f"{path.name}: the audit file cannot be read; check the path") from None
        try:
            content = json.loads(text)
            sha256, numbers = content["sha256"], _pseudonyms(content)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            raise VerificationError(f"{path.name}: is no audit file, or is damaged") from None
        if sha256 != sha256_of(table):
            raise VerificationError(
                f"{path.name}: belongs to another file than {table.name}, or {table.name} was changed"
            )
        return cls(numbers)


def _pseudonyms(content: Any) -> NDArray[np.int32]:
    listed = content["pseudonyms"]
    if content["format"] != FORMAT or not all(type(number) is int and number > 0 for number in listed):
        raise ValueError
    return np.array(listed, dtype=np.int32)
