"""What people wish for in a table that is never held, in a private file.

Letters: n records.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.table.large.mapping import mapped, write_out
from sfumato.table.person_column import numbers_wished, strange_wishes


@dataclass(frozen=True, eq=False, repr=False)
class WishesOnDisk:
    """The wishes of a table.

    Attributes
    ----------
    k : numpy.ndarray or None
        int32 (n,), mapped: the k that each record's person wishes for, 1 where nothing is wished; None: no column says.
    l : numpy.ndarray or None
        The same for the l.
    """

    k: NDArray[np.int32] | None = None
    l: NDArray[np.int32] | None = None  # noqa: E741 - the letter of the literature


class WishFile:
    """Takes the wishes of one column, batch by batch.

    Parameters
    ----------
    path
        Where they are kept.
    name
        Of the column.
    what
        ``"a k"`` or ``"an l"``.
    """

    def __init__(self, path: Path, name: str, what: str) -> None:
        self._path, self._name, self._what = path, name, what
        self._height = self._strange = 0
        self._first = 0

    def add(self, column: pl.Series) -> None:
        """Take the wishes of a batch; null where there is none."""
        numbers, strange = numbers_wished(column)
        if strange.any() and not self._strange:
            self._first = self._height + int(strange.arg_max() or 0)
        self._strange += int(strange.sum())
        self._height += len(column)
        # What is no wish is told of in the end.
        wished = numbers.set(strange | numbers.is_null(), 1.0).cast(pl.Int32).to_numpy()
        with self._path.open("ab") as file:
            write_out(wished, file)

    def wishes(self) -> NDArray[np.int32]:
        """Return all of them, int32 (n,), mapped.

        Raises
        ------
        InputError
            As :func:`sfumato.table.person_column.read_wishes` of the whole column.
        """
        if self._strange:
            raise strange_wishes(self._name, self._strange, self._first, self._what)
        return mapped(self._path, np.int32, (self._height,))
