"""Which k^m-anonymity sets have, wherever they come from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.numbers import counted, figure
from sfumato.progress import thread_count
from sfumato.published.checks.sets.counting import MOST_COMBINATIONS, SizeCount, combinations_in, count_combinations
from sfumato.published.sets import classes_of
from sfumato.table.sets.sets import Sets


@dataclass(frozen=True)
class SetCheck:
    """Which k sets have for each number of items that an attacker may know; made by :func:`sfumato.check_sets`.

    Attributes
    ----------
    records, items, empty : int
        Records, different items, and records with the empty set.
    classes : int or None
        Classes of records that are alike in the columns beside the sets; None without such columns.
    smallest : int
        Records of the smallest class; all records without such columns.
    sizes : tuple of SizeCount
        For 1, 2, ... items; ends where there are too many combinations to count.
    uncounted : mapping of int to float
        How many combinations were too many, by number of items.
    """

    records: int
    items: int
    empty: int
    classes: int | None
    smallest: int
    sizes: tuple[SizeCount, ...]
    uncounted: tuple[tuple[int, float], ...] = ()

    def k_of(self, m: int) -> int:
        """Return the largest k for which k^m-anonymity holds.

        Raises
        ------
        InputError
            When combinations of `m` items were not counted.
        """
        if not 1 <= m <= len(self.sizes):
            raise InputError(f"combinations of {counted(m, 'item')} were not counted; ask for them with m")
        found = [size.least for size in self.sizes[:m] if size.least is not None]
        return min([self.smallest, *found])

    def to_dict(self) -> dict[str, object]:
        """Return plain values, for JSON."""
        return {
            "records": self.records,
            "items": self.items,
            "empty": self.empty,
            "classes": self.classes,
            "smallest_class": self.smallest,
            "k": {str(size.size): self.k_of(size.size) for size in self.sizes},
            "sizes": [size.to_dict() for size in self.sizes],
            "uncounted": {str(size): total for size, total in self.uncounted},
        }

    def __str__(self) -> str:
        """Return a line for each number of items."""
        within = "" if self.classes is None else f" in {counted(self.classes, 'class')} of {self.smallest:,} and more"
        lines = [f"{counted(self.records, 'set')} of {counted(self.items, 'item')}{within}, {self.empty:,} empty"]
        lines += [self._line(size) for size in self.sizes]
        lines += [
            f"  m = {size}: not counted, as the sets hold {figure(total, 3)} combinations of {size} items"
            for size, total in self.uncounted
        ]
        return "\n".join(lines)

    def _line(self, size: SizeCount) -> str:
        told = f"{size.rare:,} of {counted(size.combinations, 'combination')} of {counted(size.size, 'item')}"
        return f"  m = {size.size}: k = {self.k_of(size.size):,}; {told} in a single record"


def check_sets(sets: Sets, m: int = 3, *, threads: int | None = None) -> SetCheck:
    """Say which k sets have for 1 to `m` items that an attacker may know.

    Parameters
    ----------
    sets
        As :func:`sfumato.read_sets` returns them, published or not. Items are taken as they are; where columns stand
        beside the sets, combinations are counted inside of classes of equal values there.
    m
        Largest number of items.
    threads
        Upper bound; None takes ``SFUMATO_THREADS``, or all cores.

    Returns
    -------
    SetCheck

    Raises
    ------
    PolicyError
        When `m` is no whole number of at least 1, or there are no sets.

    Notes
    -----
    Cost O(c log c) for c combinations of at most `m` items in all sets. Beyond 4 billion they are not counted, which
    the result says.
    """
    problems = [] if isinstance(sets, Sets) else ["sets are not a Sets object; read them with sfumato.read_sets(...)"]
    if not isinstance(m, int) or isinstance(m, bool) or m < 1:
        problems.append("m must be a whole number of at least 1")
    raise_all(PolicyError, problems)
    class_of = _classes_beside(sets)
    # Larger combinations than the largest set there are none.
    m = min(m, max(1, int(sets.sizes.max())))
    totals = [combinations_in(sets.starts, size) for size in range(1, m + 1)]
    most = next((fitting for fitting, total in enumerate(totals) if total > MOST_COMBINATIONS), m)
    found = count_combinations(sets.starts, sets.items, class_of, most, 2, thread_count(threads))
    members = np.bincount(class_of)
    return SetCheck(
        sets.height,
        int(np.count_nonzero(sets.holders)),
        int(np.count_nonzero(sets.sizes == 0)),
        None if sets.beside is None else len(members),
        int(members.min()),
        found,
        tuple(enumerate(totals[most:], most + 1)),
    )


def _classes_beside(sets: Sets) -> NDArray[np.int64]:
    if sets.beside is None:
        return np.zeros(sets.height, dtype=np.int64)
    return classes_of(sets.beside.frame.select(list(sets.beside.schema.quasi_identifying)))
