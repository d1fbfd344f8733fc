"""The hierarchy of a sensitive attribute, cut down to the values that occur, for the hierarchical distance.

Letters: v values, H height of the tree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import SensitiveCounts
from sfumato.errors import PolicyError


def value_paths(counts: SensitiveCounts) -> NDArray[np.int32]:
    """Return the node above each value at each level.

    The missing value is a leaf right under the root: a node of its own at every level but the last.

    Returns
    -------
    numpy.ndarray
        int32 (H + 1, v): node numbers, level 0 (the values themselves) to the root. H ≥ 1.

    Raises
    ------
    PolicyError
        When the attribute has no hierarchy.
    """
    if counts.hierarchy is None or counts.leaf_of is None:
        raise PolicyError(f"t-closeness: {counts.name!r} has no hierarchy; give it one or choose another distance")
    paths = counts.hierarchy.node_of[:, counts.leaf_of].astype(np.int32)
    for level, nodes in zip(counts.hierarchy.levels[:-1], paths, strict=False):
        nodes[counts.leaf_of < 0] = len(level.labels)
    if len(paths) == 1:
        # A hierarchy of one value has no step from leaf to root; the missing value needs one.
        paths = np.vstack([np.arange(len(counts.totals), dtype=np.int32), np.zeros_like(paths)])
    return paths


def flat_tree(counts: SensitiveCounts) -> tuple[list[int], list[float]]:
    """Write the tree as kernels read it: the values, then every node at which branches meet, children before parents.

    Nodes with a single child move nothing and are left out.

    Returns
    -------
    parents : list of int
        Parent of each node, −1 for the top one.
    weights : list of float
        Height of each node over the height of the tree, 0 for a value.
    """
    paths = value_paths(counts)
    height = len(paths) - 1
    current = list(range(len(counts.totals)))
    parents = [-1] * len(current)
    weights = [0.0] * len(current)
    for level in range(1, height + 1):
        below: dict[int, list[int]] = {}
        for value, node in enumerate(paths[level].tolist()):
            below.setdefault(node, []).append(value)
        for values in below.values():
            children = {current[value] for value in values}
            if len(children) == 1:
                continue
            for child in children:
                parents[child] = len(parents)
            for value in values:
                current[value] = len(parents)
            parents.append(-1)
            weights.append(level / height)
    return parents, weights
