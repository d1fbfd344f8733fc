"""Which classes of two releases meet: somebody's original values may be covered by both."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.series.recount.released import Boxes

AT_ONCE = 1 << 16
"""Pairs of classes up to which all are compared."""
SAMPLE = 512
"""Classes that are looked at to choose a cut."""
GAIN = 0.8
"""Share of the pairs that a cut must leave at most, or all are compared."""

Numbers = NDArray[np.int64]


class _Cell(NamedTuple):
    """A part of the space of all values, and the classes of both releases that reach into it.

    A pair is told where the lowest corner of what both cover lies: in one cell, so that no pair is told twice.
    """

    older: Numbers
    newer: Numbers
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def meeting(older: Boxes, newer: Boxes) -> tuple[Numbers, Numbers]:
    """Return the pairs of classes that meet, in every attribute; int64 (p,) twice, sorted by newer, then older class.

    Raises
    ------
    InputError
        When the releases differ in their attributes.

    Notes
    -----
    The space is halved where that leaves fewest pairs, until few are left to be compared. Cost O(q c log c) where
    classes of a release hardly overlap, O(q c²) at worst.
    """
    if older.width != newer.width or {index: sets.shape[1] for index, sets in older.sets.items()} != {
        index: sets.shape[1] for index, sets in newer.sets.items()
    }:
        raise InputError("two releases publish different attributes: they are not of one series")
    (low_1, high_1), (low_2, high_2) = older.hulls, newer.hulls
    everywhere = np.full(older.width, np.inf)
    cells = [_Cell(np.arange(older.count), np.arange(newer.count), -everywhere, everywhere)]
    found: list[tuple[Numbers, Numbers]] = []
    while cells:
        cell = cells.pop()
        if not len(cell.older) or not len(cell.newer):
            continue
        parts = None
        if len(cell.older) * len(cell.newer) > AT_ONCE:
            parts = _halved(cell, low_1, high_1, low_2, high_2)
        if parts:
            cells.extend(parts)
        else:
            found.extend(_compared(cell, low_1, high_1, low_2, high_2))
    nobody = np.zeros(0, dtype=np.int64)
    first, second = (np.concatenate([nobody, *(pair[side] for pair in found)]) for side in (0, 1))
    keep = np.ones(len(first), dtype=np.bool_)
    for index, sets in older.sets.items():
        keep &= (sets[first] & newer.sets[index][second]).any(axis=1)
    order = np.lexsort((first[keep], second[keep]))
    return first[keep][order], second[keep][order]


def _halved(cell: _Cell, *hulls: NDArray[np.float64]) -> tuple[_Cell, _Cell] | None:
    """Cut a cell where fewest pairs are left; None where no cut leaves clearly fewer."""
    low_1, high_1, low_2, high_2 = hulls
    some, others = (side[:: max(1, len(side) // SAMPLE)] for side in (cell.older, cell.newer))
    lows, highs = np.concatenate([low_1[some], low_2[others]]), np.concatenate([high_1[some], high_2[others]])
    best, chosen = GAIN * len(some) * len(others), None
    for quantile in (0.5, 0.3, 0.7):
        cuts = np.quantile(np.clip((lows + highs) / 2, cell.low, cell.high), quantile, axis=0)
        inside = (cuts >= cell.low) & (cuts < cell.high)
        left = (low_1[some] <= cuts).sum(axis=0) * (low_2[others] <= cuts).sum(axis=0)
        right = (high_1[some] > cuts).sum(axis=0) * (high_2[others] > cuts).sum(axis=0)
        pairs = np.where(inside, left + right, np.inf)
        if pairs.min() < best:
            best, chosen = pairs.min(), (int(pairs.argmin()), float(cuts[pairs.argmin()]))
    if chosen is None:
        return None
    index, cut = chosen
    low, high = cell.low.copy(), cell.high.copy()
    low[index] = high[index] = cut
    return (
        _Cell(cell.older[low_1[cell.older, index] <= cut], cell.newer[low_2[cell.newer, index] <= cut], cell.low, high),
        _Cell(cell.older[high_1[cell.older, index] > cut], cell.newer[high_2[cell.newer, index] > cut], low, cell.high),
    )


def _compared(cell: _Cell, *hulls: NDArray[np.float64]) -> list[tuple[Numbers, Numbers]]:
    """Compare all pairs, attribute after attribute, each time those that are left."""
    found, step = [], max(1, AT_ONCE // len(cell.newer))
    for start in range(0, len(cell.older), step):
        some = cell.older[start : start + step]
        first, second = np.repeat(some, len(cell.newer)), np.tile(cell.newer, len(some))
        for index in range(len(cell.low)):
            low_1, high_1, low_2, high_2 = (hull[:, index] for hull in hulls)
            low = np.maximum(low_1[first], low_2[second])
            meets = (
                (low <= high_1[first]) & (low <= high_2[second]) & (low > cell.low[index]) & (low <= cell.high[index])
            )
            first, second = first[meets], second[meets]
        found.append((first, second))
    return found
