"""Distinct records as a tree of common prefixes, records that leave it, and how far they are from one of them.

Letters: n records, m distinct ones, q attributes, N nodes, V values of all attributes together.

Level ``d`` of the tree branches by attribute ``d``; a node of depth ``d`` stands for all records with the same first
``d`` values. The distance of two records is a sum over attributes, so that the sum over a prefix bounds it from below.
Distances are compared as whole multiples of 2**-32: sums of the same parts in another order are then equal.
"""

from __future__ import annotations

from typing import NamedTuple

from sfumato.kernels.jit import borrowing
from sfumato.kernels.types import Floats, Int32s, Int64s, int64

UNITS = 4294967296.0
"""Parts into which a distance of 1 is divided where distances are compared."""


class PrefixTree(NamedTuple):
    """The tree, and who is left in it; `alive`, `right`, `left` and `gone` change in place.

    Attributes
    ----------
    few : int
        Up to that many distinct records below a node are looked at one by one rather than branch by branch.
    codes : numpy.ndarray
        int32 (N,): value by which a node differs from its siblings; rising among siblings. Node 0 is the root; nodes
        are numbered depth by depth, the last m are the distinct records.
    first : numpy.ndarray
        int64 (N + 1,): children of node ``i`` are ``first[i] .. first[i+1]-1``.
    parents : numpy.ndarray
        int32 (N,).
    alive : numpy.ndarray
        int64 (N,): records left below each node.
    right, left : numpy.ndarray
        int64 (N + 1,): where to look for the next node with somebody left; `left` is shifted by one.
    lowest : numpy.ndarray
        int64 (N,): smallest place of a record below each node, before anybody left.
    leaf_low, leaf_high : numpy.ndarray
        int32 (N,): the distinct records below node ``i`` are the nodes ``leaf_low[i] .. leaf_high[i]-1``.
    values : numpy.ndarray
        int32 (m, q): all values of each distinct record.
    starts : numpy.ndarray
        int64 (m + 1,): the records equal to distinct record ``i`` stand at ``starts[i] .. starts[i+1]-1`` of `places`.
    places : numpy.ndarray
        int64 (n,): places of the records in the order in which they have their turn, rising among equal records.
    gone : numpy.ndarray
        int64 (m,): how many of each distinct record have left; always the first ones.
    record_at : numpy.ndarray
        int32 (n,): distinct record at each place.
    """

    few: int
    codes: Int32s
    first: Int64s
    parents: Int32s
    alive: Int64s
    right: Int64s
    left: Int64s
    lowest: Int64s
    leaf_low: Int32s
    leaf_high: Int32s
    values: Int32s
    starts: Int64s
    places: Int64s
    gone: Int64s
    record_at: Int32s


class Measure(NamedTuple):
    """Distances from one record; `apart` and `own` change from one to the next.

    Attributes
    ----------
    categories : int
        The first attributes, whose distances are in a table; the others are numeric.
    offsets : numpy.ndarray
        int64 (q + 1,): where the values of each attribute start.
    apart : numpy.ndarray
        float64 (V,): distance of each categorical value.
    numbers : numpy.ndarray
        float64 (V,): number behind each numeric value, rising; NaN for the missing one, which is the last.
    widths : numpy.ndarray
        float64 (q,): what differences of numbers are divided by.
    weights : numpy.ndarray
        float64 (q,).
    own : numpy.ndarray
        int64 (q,): values of the record itself.
    """

    categories: int
    offsets: Int64s
    apart: Floats
    numbers: Floats
    widths: Floats
    weights: Floats
    own: Int64s


@borrowing
def leave_tree(record: int, tree: PrefixTree) -> None:
    """Take out the first of the equal records that are left. Cost O(q)."""
    tree.gone[record] += 1
    node = len(tree.codes) - len(tree.gone) + record
    while node >= 0:
        tree.alive[node] -= 1
        if tree.alive[node] == 0:
            tree.right[node] = node + 1
            tree.left[node + 1] = node
        node = int64(tree.parents[node])


@borrowing
def step(level: int, code: int, measure: Measure) -> float:
    """Weighted distance in one attribute of a value from the record's own."""
    own = measure.own[level]
    if code == own:
        return 0.0
    start = measure.offsets[level]
    if level < measure.categories:
        return float(measure.weights[level] * measure.apart[start + code])
    gap = abs(measure.numbers[start + code] - measure.numbers[start + own])
    share = gap / measure.widths[level] if gap == gap else 1.0
    return float(measure.weights[level] * share)


@borrowing
def to_the_right(node: int, tree: PrefixTree) -> int:
    """Return the node itself, or the next one with somebody left; N when there is none."""
    right = tree.right
    while right[node] != node:
        right[node] = right[right[node]]
        node = right[node]
    return node


@borrowing
def to_the_left(node: int, tree: PrefixTree) -> int:
    """Return the node itself, or the one before with somebody left; −1 when there is none."""
    left = tree.left
    slot = node + 1
    while left[slot] != slot:
        left[slot] = left[left[slot]]
        slot = left[slot]
    return slot - 1


@borrowing
def units_to(record: int, tree: PrefixTree, measure: Measure) -> int:
    """Distance of a distinct record in parts of `UNITS`."""
    distance = 0.0
    for level in range(len(measure.own)):
        distance += step(level, int64(tree.values[record, level]), measure)
    return int64(distance * UNITS + 0.5)
