"""The items of a range as arrays.

Those of one shape are rows of one array, whose names stand here: a call pays for every array that it passes, and a
range of twenty records is soon done.

Letters: q quasi-identifying attributes, M codes of all attributes together, t tree nodes, h rows looked at, u = h/64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.types import Floats, Int64s, Words

# Rows of Items.attributes, int64 (6, q).
ACTIVE = 0  # the active attributes in declared order
BY_LOSS = 1  # the active attributes by falling loss
PRESENT = 2  # items of the attribute
START = 3  # its first item
GROUPED = 4  # 1 when items stand for several codes
BRANCHES = 5  # branchings of its tree below the topmost
# Rows of Items.numbers, int64 (6, 64 q).
WEIGHT = 0  # original records of the item
LEFT = 1  # the same on the left side of a cut
RIGHT = 2
FIRST = 3  # smallest code
LAST = 4
DISTINCT = 5  # codes
# Rows of Items.places, float64 (4, 64 q), in units of weighted loss.
LOW = 0  # place of the first code on the axis
HIGH = 1  # place of the last code
GAP = 2  # distance to the next item, or loss of the ancestor common with it
OWN = 3  # loss of the common ancestor of the item's codes
# Rows of Items.rates, float64 (3, q).
UNIT = 0  # loss of one value of a set, of one step on an axis, of the whole tree
TOP = 1  # loss of the common ancestor of all codes that occur
BASE = 2  # expected loss of the range
# Rows of Items.branches, float64 (3, 128 q): items FROM .. TO − 1 lie under a branching; it loses DROP less than above.
FROM = 0
TO = 1
DROP = 2


class Items(NamedTuple):
    """What losses are reckoned from; the rows of each array are named in this module.

    Attributes
    ----------
    attributes : numpy.ndarray
        int64 (6, q).
    numbers : numpy.ndarray
        int64 (6, 64 q).
    places : numpy.ndarray
        float64 (4, 64 q).
    rates : numpy.ndarray
        float64 (3, q).
    branches : numpy.ndarray
        float64 (3, 128 q).
    """

    attributes: Int64s
    numbers: Int64s
    places: Floats
    rates: Floats
    branches: Floats


class ItemRows(NamedTuple):
    """Which rows show which item.

    Attributes
    ----------
    bitmaps : numpy.ndarray
        uint64 (u, 64 q): rows of each item.
    item : numpy.ndarray
        uint8 (q, h): item of each row, counted inside its attribute.
    weight : numpy.ndarray
        int64 (h,): records of each row.
    """

    bitmaps: Words
    item: NDArray[np.uint8]
    weight: Int64s


class FlatTrees(NamedTuple):
    """The hierarchies, to be climbed from any code.

    Attributes
    ----------
    leaf : numpy.ndarray
        int64 (M,): deepest tree node over each code, −1 for none.
    node_loss : numpy.ndarray
        float64 (t,): loss of each tree node, weighted.
    """

    leaf: Int64s
    node_loss: Floats


class ItemFinder(NamedTuple):
    """Buffers that finding items takes.

    Attributes
    ----------
    sorted_codes : numpy.ndarray
        int64 (h or more,): codes that occur.
    item_of : numpy.ndarray
        uint8 (M,): item of each code that occurs; anything elsewhere.
    tally : numpy.ndarray
        int64 (largest cardinality,), all zero between uses.
    marks : numpy.ndarray
        uint64 (64,), all zero between uses.
    trees : FlatTrees
    """

    sorted_codes: Int64s
    item_of: NDArray[np.uint8]
    tally: Int64s
    marks: Words
    trees: FlatTrees
