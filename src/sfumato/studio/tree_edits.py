"""Changes to a hierarchy by hand: each takes the paths from the original values to the root, and returns others.

Whether what comes out is a hierarchy is checked where hierarchies are built; its errors say what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sfumato.errors import HierarchyError
from sfumato.hierarchy import Hierarchy, hierarchy_from_paths
from sfumato.hierarchy.tree import ROOT

Paths = Sequence[tuple[str, ...]]


def renamed(tree: Hierarchy, level: int, node: int, label: str) -> Hierarchy:
    """Give a node another label, on every level on which it stands alone."""
    old, leaves = tree.levels[level].labels[node], _leaves(tree, level, node)
    if level == 0:
        raise HierarchyError("an original value keeps its text; rename a group")
    return _changed(tree, leaves, lambda path: (path[0], *(label if its == old else its for its in path[1:])))


def grouped(tree: Hierarchy, level: int, nodes: Sequence[int], label: str) -> Hierarchy:
    """Put several nodes of one parent into one node of the same level.

    Original values get a level above them first, unless that has one node for each of them already.
    """
    if len(nodes) < 2:
        raise HierarchyError("choose at least two nodes to merge")
    if level == 0:
        tree, level = tree if tree.height > 1 else with_level(tree, 0), 1
        nodes = sorted({int(tree.node_of[1][leaf]) for leaf in nodes})
    leaves = [leaf for node in nodes for leaf in _leaves(tree, level, node)]
    return _changed(tree, leaves, lambda path: (*path[:level], label, *path[level + 1 :]))


def ungrouped(tree: Hierarchy, level: int, node: int) -> Hierarchy:
    """Take a node away: its children stand in its place."""
    if not 0 < level < tree.height:
        raise HierarchyError("choose a group: original values and the root stay")
    leaves = _leaves(tree, level, node)
    return _changed(tree, leaves, lambda path: (*path[:level], path[level - 1], *path[level + 1 :]))


def moved(tree: Hierarchy, leaf: int, node: int) -> Hierarchy:
    """Put an original value into another group of level 1."""
    if tree.height < 2 or not 0 <= node < len(tree.levels[1].labels):
        raise HierarchyError("there is no such group")
    target = tree.paths[_leaves(tree, 1, node)[0]]
    return _changed(tree, [leaf], lambda path: (path[0], *target[1:]))


def with_level(tree: Hierarchy, level: int) -> Hierarchy:
    """Insert a level above another, with the same nodes, so that they can be merged there."""
    return hierarchy_from_paths([(*path[: level + 1], path[level], *path[level + 1 :]) for path in tree.paths])


def without_level(tree: Hierarchy, level: int) -> Hierarchy:
    """Take a level away."""
    if not 0 < level < tree.height:
        raise HierarchyError("original values and the root stay; choose a level between them")
    return hierarchy_from_paths([(*path[:level], *path[level + 1 :]) for path in tree.paths])


def _leaves(tree: Hierarchy, level: int, node: int) -> range:
    if not 0 <= level <= tree.height or not 0 <= node < len(tree.levels[level].labels):
        raise HierarchyError("there is no such node; load the page again")
    starts = tree.levels[level].starts
    return range(starts[node], starts[node + 1])


def _changed(tree: Hierarchy, leaves: Iterable[int], change: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Hierarchy:
    chosen = set(leaves)
    paths = [change(path) if leaf in chosen else path for leaf, path in enumerate(tree.paths)]
    if any(ROOT in path[:-1] for path in paths):
        raise HierarchyError(f"'{ROOT}' is the label of the root; choose another")
    return hierarchy_from_paths(paths)
