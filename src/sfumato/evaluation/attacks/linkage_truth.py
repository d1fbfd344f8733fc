"""The truth by which a linking attack is scored: who is in the table, and with which sensitive values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.table.kinds import text_of


@dataclass(frozen=True, eq=False, repr=False)
class TruePeople:
    """The sensitive codes of the people of a register who are in the table, −1 if no row has the value.

    Attributes
    ----------
    person, code : numpy.ndarray
        int64, one entry for each of their records.
    people : int
        How many the register has.
    """

    person: NDArray[np.int64]
    code: NDArray[np.int64]
    people: int

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Tell who is in the table, bool (people,)."""
        return self.records > 0

    @property
    def records(self) -> NDArray[np.int64]:
        """Return how many records each has in the table, int64 (people,)."""
        return np.bincount(self.person, minlength=self.people).astype(np.int64)

    def have(self, values: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Tell who has a value: one for everybody, int (people,)."""
        right = self.person[self.code == values[self.person]]
        found: NDArray[np.bool_] = np.bincount(right, minlength=self.people) > 0
        return found


def true_people(
    names: pl.Series, owner: NDArray[np.int64], truth: pl.DataFrame, sensitive: str, values: Sequence[str | None]
) -> TruePeople:
    """Find the people of a register in the table.

    Parameters
    ----------
    names
        Of each row of the register.
    owner
        int64: the person of each row.
    truth
        The table, with a column of names that is called as in the register.
    sensitive
        Name of the sensitive attribute.
    values
        Published values, by their codes.
    """
    code_of = {value: code for code, value in enumerate(values)}
    codes = np.array([code_of.get(text, -1) for text in text_of(truth[sensitive]).to_list()], dtype=np.int64)
    rows = zip(text_of(names).to_list(), owner.tolist(), strict=True)
    place_of = {name: place for name, place in rows if name is not None}
    person = np.array([place_of.get(name, -1) for name in text_of(truth[names.name]).to_list()], dtype=np.int64)
    there = person >= 0
    return TruePeople(person[there], codes[there], int(owner.max()) + 1)
