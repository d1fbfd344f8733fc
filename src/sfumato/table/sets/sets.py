"""Sets of items of people, sparse in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, raise_all
from sfumato.hierarchy.tree import Hierarchy
from sfumato.kernels.ratings.rows import rows_rise
from sfumato.numbers import counted
from sfumato.table.row_order import in_name_order
from sfumato.table.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class Sets:
    """Which items each record holds. Build it with :func:`sfumato.sets.read_sets`.

    Letters: n records (one per person), d items, z items in all sets. Who the people are is gone: a record has only a
    number, which follows the order in which people first appear in the source.

    Attributes
    ----------
    starts : numpy.ndarray
        int64 (n + 1,): record ``i`` holds ``items[starts[i] : starts[i+1]]``. A set may be empty.
    items : numpy.ndarray
        int32 (z,): items of each record, ``0 .. d-1``, rising inside a record.
    names : tuple of str
        Names of the items, length d. With a hierarchy its leaves, of which some may be in no set.
    hierarchy : Hierarchy or None
        Ever coarser names for the items.
    beside : Table or None
        Quasi-identifying columns of the same records, in the same order.
    source : str
        What messages call the sets: the file's name, or ``"table"``.

    Raises
    ------
    InputError
        When there is no record, or the parts do not fit together.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    names: tuple[str, ...]
    hierarchy: Hierarchy | None = None
    beside: Table | None = None
    source: str = "table"

    def __post_init__(self) -> None:
        """Check the parts against each other."""
        if len(self.starts) < 2:
            raise InputError("there are no records")
        raise_all(InputError, self._problems())

    def __repr__(self) -> str:
        """Show sizes only."""
        return f"Sets({self.height} records, {len(self.names)} items, {len(self.items)} in all sets)"

    @property
    def height(self) -> int:
        """Number of records."""
        return len(self.starts) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of items in each set; int64 (n,)."""
        return np.diff(self.starts)

    @property
    def holders(self) -> NDArray[np.int64]:
        """How many records hold each item; int64 (d,)."""
        return np.bincount(self.items, minlength=len(self.names)).astype(np.int64)

    def take(self, records: NDArray[np.integer]) -> Sets:
        """Return the sets of some records, in that order."""
        sizes = self.sizes[records]
        starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
        places = np.arange(starts[-1]) + np.repeat(self.starts[records] - starts[:-1], sizes)
        beside = None if self.beside is None else self.beside.take(records)
        return replace(self, starts=starts, items=self.items[places], beside=beside)

    def to_frame(self) -> pl.DataFrame:
        """Return the sets in long form: ``record`` (from 1) and ``item``; an empty set has no row."""
        numbers = np.repeat(np.arange(1, self.height + 1), self.sizes)
        return pl.DataFrame({"record": pl.Series(numbers), "item": named_items(self.names, self.items)})

    def _problems(self) -> list[str]:
        problems = []
        if self.starts[0] != 0 or self.starts[-1] != len(self.items):
            problems.append("starts and items do not fit together in length")
        elif not rows_rise(self.starts, self.items, len(self.names)):
            problems.append("the items of a record must rise, and be below the number of names")
        if self.hierarchy is not None and self.hierarchy.leaves != self.names:
            problems.append("the names must be the leaves of the hierarchy")
        if self.beside is not None and self.beside.height != self.height:
            beside = counted(self.beside.height, "record")
            problems.append(f"the columns beside the sets have {beside}, the sets {self.height:,}")
        return problems


def named_items(names: Sequence[str], items: NDArray[np.int32]) -> pl.Series:
    """Return names of items as a column of categories."""
    if not names:
        return pl.Series([], dtype=pl.String)
    return pl.Series(items.astype(np.uint32)).cat.to(pl.Enum(names))


# An order of sets that depends on nothing but what everybody has.


def order_sets(sets: Sets) -> tuple[Sets, NDArray[np.int64]]:
    """Sort items by name where no hierarchy orders them, and records by their items, then by what stands beside them.

    Returns
    -------
    Sets
        The same for every order of records: those that stay tied are alike in everything.
    numpy.ndarray
        int64 (n,): the number of each record in the input.

    Notes
    -----
    Cost O(z log z).
    """
    by_name = _items_by_name(sets)
    packed = by_name.items.astype(">i4").tobytes()
    held = [packed[first:last] for first, last in pairwise((4 * by_name.starts).tolist())]
    if sets.beside is None:
        order = sorted(range(sets.height), key=held.__getitem__)
    else:
        texts = sets.beside.frame.select(pl.all().cast(pl.String))
        beside = [tuple((text is not None, text or "") for text in row) for row in texts.iter_rows()]
        order = sorted(range(sets.height), key=lambda record: (held[record], beside[record]))
    origin = np.array(order, dtype=np.int64)
    return by_name.take(origin), origin


def _items_by_name(sets: Sets) -> Sets:
    if sets.hierarchy is not None:
        return sets
    found = in_name_order(sets.starts, sets.items, sets.names)
    return replace(sets, items=found.labels, names=tuple(sets.names[place] for place in found.order))
