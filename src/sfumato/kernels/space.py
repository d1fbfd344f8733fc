"""What codes mean to a kernel: positions, normalizers, weights and trees, flattened into arrays."""

from __future__ import annotations

from typing import NamedTuple

from sfumato.kernels.types import Floats, Int64s

NUMERIC = 0
SET = 1
TREE = 2


class Space(NamedTuple):
    """The quasi-identifying attributes as arrays.

    Letters: q attributes, M codes of all attributes together, t tree nodes below the roots.

    Attributes
    ----------
    offsets : numpy.ndarray
        int64 (q + 1,): attribute ``j`` owns global codes ``offsets[j] .. offsets[j+1]-1``, the missing value included.
    kinds : numpy.ndarray
        int64 (q,): NUMERIC, SET or TREE.
    positions : numpy.ndarray
        float64 (M,): place of each code on its attribute's axis. Numbers as they are, codes otherwise; a missing number
        lies one domain width above the highest, so that leaving it alone in a class always pays.
    scales : numpy.ndarray
        float64 (q,): domain width of the positions, 0 for a constant attribute.
    sizes : numpy.ndarray
        float64 (q,): domain size of value sets and trees.
    weights : numpy.ndarray
        float64 (q,): importance of each attribute.
    tree_starts : numpy.ndarray
        int64 (q + 1,): attribute ``j`` owns nodes ``tree_starts[j] .. tree_starts[j+1]-1``, parents before children.
    tree_low, tree_high : numpy.ndarray
        int64 (t,): codes covered, ``tree_low .. tree_high-1``; every node covers fewer codes than its parent.
    tree_parent : numpy.ndarray
        int64 (t,): index of the parent, −1 below the root.
    tree_drop : numpy.ndarray
        float64 (t,): loss of the parent less loss of the node (a leaf loses 0).
    """

    offsets: Int64s
    kinds: Int64s
    positions: Floats
    scales: Floats
    sizes: Floats
    weights: Floats
    tree_starts: Int64s
    tree_low: Int64s
    tree_high: Int64s
    tree_parent: Int64s
    tree_drop: Floats
