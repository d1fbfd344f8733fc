"""Which classes of two releases meet: somebody's original values may be covered by both."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.kernels.series.meeting import meet
from sfumato.series.recount.released import Boxes

Numbers = NDArray[np.int64]


def meeting(older: Boxes, newer: Boxes) -> tuple[Numbers, Numbers]:
    """Return the pairs of classes that meet, in every attribute; int64 (p,) twice, sorted by newer, then older class.

    Raises
    ------
    InputError
        When the releases differ in their attributes.

    Notes
    -----
    Space is halved where that leaves fewest pairs, until few are left to be compared. Cost O(q c log c) where classes
    of a release hardly overlap, O(q c²) at worst.
    """
    if older.width != newer.width or {index: sets.shape[1] for index, sets in older.sets.items()} != {
        index: sets.shape[1] for index, sets in newer.sets.items()
    }:
        raise InputError("two releases publish different attributes: they are not of one series")
    second, first = np.divmod(meet(older.shapes, newer.shapes), max(1, older.count))
    return first, second
