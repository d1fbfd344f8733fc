"""Who the records of a table are about that is never held: keys go to private files, and come back as numbers.

Letters: n records.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.table.large.spill import PartFiles, let_go, mapped
from sfumato.table.person_keys import key_question, keys_asked, keys_with_buckets

BUCKET = 1 << 20
"""Keys that are compared at a time, about."""
BLOCK = 1 << 18
"""Records whose numbers are worked out at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class PeopleOnDisk:
    """The people of a table.

    Attributes
    ----------
    numbers : numpy.ndarray
        int32 (n,), mapped: the person of each record, in the order in which people appear.
    keyless : int
        Records without a key, each of which is a person of its own.
    first_keyless : int
        The first of them, from 0; n where there is none.
    """

    numbers: NDArray[np.int32]
    keyless: int
    first_keyless: int

    @property
    def some_have_several(self) -> bool:
        """Whether somebody has several records."""
        return int(self.numbers.max(initial=-1)) + 1 < len(self.numbers)


class KeyFiles:
    """Takes the keys of people, batch by batch."""

    def __init__(self, folder: Path, form: str | None = None) -> None:
        self._folder, self._form = folder, form
        self._name = ""
        self._batches: list[Path] = []
        self._height = self._keyless = 0
        self._first: int | None = None

    def add(self, column: pl.Series) -> None:
        """Take the keys of a batch; null where there is none."""
        keys, alike = keys_with_buckets(column, self._form)
        self._name = column.name
        missing = keys.is_null()
        if self._first is None and missing.any():
            self._first = self._height + int(missing.arg_max() or 0)
        self._keyless += int(missing.sum())
        path = self._folder / f"keys-{len(self._batches)}"
        pl.DataFrame({"key": keys, "alike": alike}).write_ipc(path, compression="lz4")
        self._batches.append(path)
        self._height += len(keys)

    def people(self) -> PeopleOnDisk:
        """Give people numbers, and take the keys away.

        Notes
        -----
        Keys that are equal, or may be spellings of one, have equal hashes, by which they are dealt to files, and are
        compared there by themselves: nothing hangs on a hash. Memory: one file of about a million keys,
        and 5 bytes a record.
        """
        first = mapped(self._folder / "first-of-person", np.int32, (self._height,), new=True)
        bits = max(0, (self._height - 1) // BUCKET).bit_length()
        files, before = PartFiles(self._folder, 1 << bits, "key-bucket"), 0
        for path in self._batches:
            batch = pl.read_ipc(path)
            keys, alike = batch["key"], batch["alike"]
            path.unlink()
            rows = np.arange(before, before + len(keys), dtype=np.int32)
            # Nobody else has no key.
            first[before : before + len(keys)] = rows
            part = alike.hash(seed=0).to_numpy() >> np.uint64(64 - bits) if bits else np.zeros(len(keys), np.uint64)
            files.add(pl.DataFrame({"part": part, "key": keys, "row": rows}).drop_nulls("key"))
            before += len(keys)
        asked: Counter[str] = Counter()
        for bucket in files.parts():
            asked.update(keys_asked(bucket["key"].unique(), self._form))
            found = bucket.select("row", first=pl.col("row").min().over("key"))
            first[found["row"].to_numpy()] = found["first"].to_numpy()
        if asked:
            raise key_question(self._name, asked)
        numbers = self._numbered(first)
        return PeopleOnDisk(numbers, self._keyless, self._height if self._first is None else self._first)

    def _numbered(self, first: NDArray[np.int32]) -> NDArray[np.int32]:
        """Turn the first record of each one's person into numbers from 0, on disk as well."""
        begins = np.empty(self._height, dtype=np.bool_)
        for start in range(0, self._height, BLOCK):
            own = first[start : start + BLOCK]
            begins[start : start + BLOCK] = own == np.arange(start, start + len(own))
        rank = np.cumsum(begins, dtype=np.int32) - np.int32(1)
        numbers = mapped(self._folder / "people", np.int32, (self._height,), new=True)
        for start in range(0, self._height, BLOCK):
            numbers[start : start + BLOCK] = rank[first[start : start + BLOCK]]
        let_go(first)
        (self._folder / "first-of-person").unlink()
        return numbers
