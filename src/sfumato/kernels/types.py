"""Numbers and arrays of kernels: what their parameters are declared as.

A number of 64 bits is numpy's to numba and where kernels run, and like any other to mypy. A whole number is made one
where compiled code must not take a smaller kind or where an element of an array is an argument; a float stays one of
numpy's, which does not raise where it is divided by zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    float64 = float
    int64 = int
else:
    float64 = np.float64
    int64 = np.int64

Codes = NDArray[np.unsignedinteger]
"""Codes of records: uint8, uint16 or uint32."""
Floats = NDArray[np.float64]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Flags = NDArray[np.bool_]
Words = NDArray[np.uint64]
"""Sets of up to 64 small numbers, or bits of any other kind."""


# What codes mean to a kernel: positions, normalizers, weights and trees, flattened into arrays.


NUMERIC = 0
SET = 1
TREE = 2


class Space(NamedTuple):
    """The quasi-identifying attributes: q of them, M codes together, t tree nodes below the roots."""

    # (q + 1,): attribute ``j`` owns global codes ``offsets[j] .. offsets[j+1]-1``, the missing value included.
    offsets: Int64s
    kinds: Int64s  # (q,): NUMERIC, SET or TREE
    # (M,): place of each code on its attribute's axis. Numbers as they are, codes otherwise; a missing number lies one
    # domain width above the highest, so that leaving it alone in a class always pays.
    positions: Floats
    scales: Floats  # (q,): domain width of the positions, 0 for a constant attribute
    sizes: Floats  # (q,): domain size of value sets and trees
    weights: Floats  # (q,): importance of each attribute
    # (q + 1,): attribute ``j`` owns nodes ``tree_starts[j] .. tree_starts[j+1]-1``, parents before children.
    tree_starts: Int64s
    # `tree_low`, `tree_high`: (t,): codes covered, ``tree_low .. tree_high-1``; every node covers fewer codes than its
    # parent.
    tree_low: Int64s
    tree_high: Int64s
    tree_parent: Int64s  # (t,): index of the parent, −1 below the root
    tree_drop: Floats  # (t,): loss of the parent less loss of the node (a leaf loses 0)
