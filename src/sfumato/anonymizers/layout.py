"""A table in the layout that partitioning kernels read and move around.

Attributes are flat arrays; records are codes packed into 64-bit words, weights, and row numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.hierarchy.tree import Hierarchy
from sfumato.kernels.mondrian.cuts import LaidRecords
from sfumato.kernels.types import NUMERIC, SET, TREE, Space
from sfumato.models.compiled import CompiledRules
from sfumato.table.encoding import EncodedAttribute, EncodedTable
from sfumato.table.row_order import collapsed, hash_order


def lay_out_records(
    table: EncodedTable,
    rules: CompiledRules,
    *,
    collapse: bool,
    kept: NDArray[np.bool_] | None = None,
    order: NDArray[np.int64] | None = None,
) -> Records:
    """Lay the table out for a partitioning kernel, in an order that is not that of the table.

    Collapsed records, equal in all that a rule looks at, stand in the order of the hash of these codes, so that what
    kernels make of them depends on their set alone; all records in that of their quasi-identifying codes, which tells
    nothing of sensitive ones, or in a random `order`. Those not `kept` get weight 0.
    """
    codes = table.codes
    if rules.codes.shape[1]:
        dtype = np.promote_types(codes.dtype, rules.codes.dtype)
        codes = np.concatenate([codes.astype(dtype, copy=False), rules.codes.astype(dtype, copy=False)], axis=1)
    if collapse:
        codes, counts, record_of = collapsed(codes)
        if kept is not None:
            counts = np.bincount(record_of[kept], minlength=len(codes))
        return laid_out(codes, counts, np.arange(len(codes)), record_of)
    order = hash_order(table.codes) if order is None else order
    weights = np.ones(len(codes), dtype=np.int32) if kept is None else kept[order]
    return laid_out(codes.take(order, axis=0), weights, order, None)


def laid_out(
    codes: NDArray[np.unsignedinteger],
    weights: NDArray[np.number | np.bool_],
    rows: NDArray[np.int64],
    record_of: NDArray[np.int32] | None,
) -> Records:
    """Lay out distinct records, unsigned (m, q + s), of the given weights and rows; see :class:`Records`."""
    per_word = 8 // codes.dtype.itemsize
    padded = np.zeros((len(codes), -(-codes.shape[1] // per_word) * per_word), dtype=codes.dtype)
    padded[:, : codes.shape[1]] = codes
    return Records(padded, padded.view(np.uint64), weights.astype(np.int32), rows.astype(np.int32), record_of)


@dataclass(frozen=True, eq=False, repr=False)
class Records:
    """Distinct records with weights, or all with weight 1: quasi-identifying codes, sensitive ones of rules, and zeros.

    `words`: the same memory as 64-bit words. `rows`: place of each before it was moved. `record_of`: who stands for
    each original one; None: itself.
    """

    codes: NDArray[np.unsignedinteger]
    words: NDArray[np.uint64]
    weights: NDArray[np.int32]
    rows: NDArray[np.int32]
    record_of: NDArray[np.int32] | None

    @property
    def height(self) -> int:
        """Number of records m."""
        return len(self.weights)

    @property
    def laid(self) -> LaidRecords:
        """As kernels move them."""
        return LaidRecords(self.codes, self.words, self.weights, self.rows)

    def spread(self, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
        """Give each original record the number of the one that stands for it, as they stand now; int32 (n,)."""
        before = np.empty(self.height, dtype=np.int32)
        before[self.rows] = numbers
        return before if self.record_of is None else before[self.record_of]


def space_of(attributes: Sequence[EncodedAttribute]) -> Space:
    """Flatten the attributes into arrays. Cost O(codes + tree nodes)."""
    trees = [_tree_nodes(attribute.hierarchy) for attribute in attributes]
    nodes = np.concatenate([np.zeros((0, 4)), *trees])
    positions = [_positions(attribute) for attribute in attributes]
    return Space(
        offsets=_starts([len(axis) for axis in positions]),
        kinds=np.array([_kind(attribute) for attribute in attributes], dtype=np.int64),
        positions=np.concatenate([np.zeros(0), *positions]),
        scales=np.array([_scale(attribute) for attribute in attributes], dtype=np.float64),
        sizes=np.array([attribute.domain_size for attribute in attributes], dtype=np.float64),
        weights=np.array([attribute.weight for attribute in attributes], dtype=np.float64),
        tree_starts=_starts([len(tree) for tree in trees]),
        tree_low=nodes[:, 0].astype(np.int64),
        tree_high=nodes[:, 1].astype(np.int64),
        tree_parent=_global_parents(trees),
        tree_drop=np.ascontiguousarray(nodes[:, 3]),
    )


def _starts(lengths: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _kind(attribute: EncodedAttribute) -> int:
    if attribute.hierarchy is not None:
        return TREE
    return NUMERIC if attribute.is_numeric else SET


def _positions(attribute: EncodedAttribute) -> NDArray[np.float64]:
    if attribute.numbers is None or attribute.hierarchy is not None:
        return np.arange(attribute.cardinality, dtype=np.float64)
    if not attribute.has_missing:
        return attribute.numbers
    highest = attribute.numbers[-1] if attribute.size else 0.0
    return np.append(attribute.numbers, highest + (attribute.domain_width or 1.0))


def _scale(attribute: EncodedAttribute) -> float:
    if not attribute.is_numeric:
        return float(attribute.cardinality - 1)
    return attribute.domain_width or float(attribute.has_missing)


def _tree_nodes(hierarchy: Hierarchy | None) -> NDArray[np.float64]:
    """Return nodes below the root that add something: (first code, last code + 1, parent row, drop of loss)."""
    if hierarchy is None:
        return np.zeros((0, 4))
    size = hierarchy.size
    rows: list[tuple[int, int, int, float]] = []
    above = dict.fromkeys(range(size), -1)
    for level in reversed(hierarchy.levels):
        for first, last in zip(level.starts, level.starts[1:], strict=False):
            parent = above[first]
            start, stop = (0, size) if parent < 0 else rows[parent][:2]
            if (first, last) == (start, stop):
                continue
            drop = _loss(stop - start, size) - _loss(last - first, size)
            above.update(dict.fromkeys(range(first, last), len(rows)))
            rows.append((first, last, parent, drop))
    return np.array(rows, dtype=np.float64).reshape(-1, 4)


def _loss(leaves: int, size: int) -> float:
    return leaves / size if leaves > 1 else 0.0


def _global_parents(trees: Sequence[NDArray[np.float64]]) -> NDArray[np.int64]:
    starts = _starts([len(tree) for tree in trees])
    shifted = [np.where(tree[:, 2] < 0, -1, tree[:, 2] + start) for tree, start in zip(trees, starts[:-1], strict=True)]
    return np.concatenate([np.zeros(0), *shifted]).astype(np.int64)
