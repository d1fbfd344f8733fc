"""Counting combinations of items by writing all of them down and sorting.

Nothing here is shared with the makers, which walk a count tree: a mistake in one would have to be made again in the
other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.kernels.sets.support import combination_keys
from sfumato.numbers import counted, figure
from sfumato.parallel import each

MOST_COMBINATIONS = 4_000_000_000
"""Combinations in all sets that are still counted."""

_CHUNK = 4_000_000
"""Combinations that are sorted at once."""
_LARGE = 40_000_000
"""Combinations with one first item from which on the second one splits them up, too."""


@dataclass(frozen=True)
class SizeCount:
    """Combinations of one number of items that occur in some record; within a class, where there are several.

    Attributes
    ----------
    size : int
        Items in each.
    combinations : int
        Different ones.
    least : int or None
        Records that hold the rarest one; None if no set is so large.
    rare : int
        Different ones that fewer than k records hold.
    """

    size: int
    combinations: int
    least: int | None
    rare: int

    def to_dict(self) -> dict[str, int | None]:
        """Return plain values, for JSON."""
        return {"size": self.size, "combinations": self.combinations, "least": self.least, "rare": self.rare}


def combinations_in(starts: NDArray[np.int64], size: int) -> float:
    """Return how many combinations of `size` items all sets hold together, repeated ones counted each time."""
    sizes = np.diff(starts).astype(np.float64)
    total = np.ones_like(sizes)
    for part in range(size):
        total = total * np.maximum(sizes - part, 0) / (part + 1)
    return float(total.sum())


def refuse_too_many(starts: NDArray[np.int64], size: int) -> None:
    """Raise InputError when all sets hold more than :data:`MOST_COMBINATIONS` combinations of `size` items."""
    total = combinations_in(starts, size)
    if total > MOST_COMBINATIONS:
        raise InputError(
            f"the sets hold {figure(total, 3)} combinations of {counted(size, 'item')}, too many to count; lower m"
        )


def count_combinations(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    class_of: NDArray[np.int64],
    m: int,
    k: int,
    threads: int = 1,
) -> tuple[SizeCount, ...]:
    """Count all combinations of 1 to `m` items, and in how many records of a class each occurs.

    Parameters
    ----------
    starts
        int64 (n + 1,).
    items
        int32 (z,): rising inside a record.
    class_of
        int64 (n,): combinations in different classes are different.
    m
    k
        Below how many records a combination is rare.
    threads

    Raises
    ------
    InputError
        When there are more than :data:`MOST_COMBINATIONS` of one size.

    Notes
    -----
    Cost O(c log c) for c combinations in all sets; memory O(z) and a few million numbers for each thread.
    """
    base = int(items.max()) + 1 if len(items) else 1
    for size in range(1, m + 1):
        refuse_too_many(starts, size)
        if base ** (size - 1) * _CHUNK >= 2**63:
            raise InputError(f"combinations of {counted(size, 'item')} among {base:,} cannot be numbered; lower m")
    sizes = np.diff(starts)
    stops = np.repeat(starts[1:], sizes)
    heads = np.repeat(class_of * base, sizes) + items
    places = _sorted_places(heads)
    heads, count = heads[places], partial(_counted, items=items, base=base, k=k)
    return (
        _summed(1, [_of_runs(heads, 1, k)]),
        *(_summed(size, each(count, _chunks(places, heads, stops, items, size), threads)) for size in range(2, m + 1)),
    )


def _sorted_places(heads: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return places in the order of what stands there, equal ones as they are; plain numbers sort much faster."""
    bits = len(heads).bit_length()
    if not len(heads) or int(heads.max()) >= 1 << (62 - bits):
        return np.argsort(heads, kind="stable")
    keys = heads << bits
    keys |= np.arange(len(heads))
    keys.sort()
    keys &= (1 << bits) - 1
    return keys


def _summed(size: int, found: Sequence[SizeCount]) -> SizeCount:
    least = min((part.least for part in found if part.least is not None), default=None)
    return SizeCount(size, sum(part.combinations for part in found), least, sum(part.rare for part in found))


def _of_runs(keys: NDArray[np.int64], size: int, k: int) -> SizeCount:
    """Count how often each of some numbers, not falling, is there."""
    if not len(keys):
        return SizeCount(size, 0, None, 0)
    ends = np.append(np.flatnonzero(keys[1:] != keys[:-1]) + 1, len(keys))
    holders = np.diff(ends, prepend=0)
    return SizeCount(size, len(holders), int(holders.min()), int(np.count_nonzero(holders < k)))


@dataclass(frozen=True, eq=False)
class _Chunk:
    """Places at which combinations of `size` items begin; those of one head are all here."""

    places: NDArray[np.int64]
    heads: NDArray[np.int64]
    stops: NDArray[np.int64]
    size: int
    total: int


def _chunks(
    places: NDArray[np.int64],
    heads: NDArray[np.int64],
    stops: NDArray[np.int64],
    items: NDArray[np.int32],
    size: int,
) -> Iterator[_Chunk]:
    """Split places, sorted by head, between heads; what one head begins too often is split by the next item."""
    sums = np.append(0, np.cumsum(_begun(places, stops, size)))
    ends = np.append(np.flatnonzero(np.diff(heads)) + 1, len(heads))
    first = 0
    while first < len(places):
        fitting = ends[(sums[ends] - sums[first] <= _CHUNK) & (ends > first)]
        last = int(fitting[-1]) if len(fitting) else int(ends[np.searchsorted(ends, first, side="right")])
        total, these = int(sums[last] - sums[first]), places[first:last]
        if total > _LARGE and size > 2:
            following = np.concatenate([np.arange(place + 1, stops[place]) for place in these.tolist()])
            order = np.argsort(items[following], kind="stable")
            yield from _chunks(following[order], items[following[order]].astype(np.int64), stops, items, size - 1)
        elif total:
            numbers = np.cumsum(np.diff(heads[first:last], prepend=heads[first]) != 0)
            yield _Chunk(these, numbers, stops[these], size, total)
        first = last


def _begun(places: NDArray[np.int64], stops: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return how many combinations begin at each place."""
    behind, begun = stops[places] - places - 1, np.ones(len(places), dtype=np.int64)
    for part in range(size - 1):
        begun = begun * np.maximum(behind - part, 0) // (part + 1)
    return begun


def _counted(chunk: _Chunk, *, items: NDArray[np.int32], base: int, k: int) -> SizeCount:
    keys = combination_keys(chunk.places, chunk.heads, chunk.stops, items, chunk.size, base, chunk.total)
    keys.sort()
    return _of_runs(keys, chunk.size, k)
