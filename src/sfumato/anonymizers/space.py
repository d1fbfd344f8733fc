"""Quasi-identifying attributes as the flat arrays that kernels read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.hierarchy.tree import Hierarchy
from sfumato.kernels.space import NUMERIC, SET, TREE, Space
from sfumato.table.encoding import EncodedAttribute


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
    """Nodes below the root as rows (first code, last code + 1, parent row, drop of loss), parents first.

    A node that covers as much as its parent adds nothing and is left out.
    """
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
