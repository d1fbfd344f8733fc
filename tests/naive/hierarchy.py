"""Hierarchies the obvious way: plain sets of leaves under each label. Paths run from the leaf to the root."""

from __future__ import annotations

from collections.abc import Sequence

Path = Sequence[str]


def under(paths: Sequence[Path], level: int, label: str) -> frozenset[str]:
    """Leaves whose path shows `label` at `level`."""
    return frozenset(path[0] for path in paths if path[level] == label)


def leaf_count(paths: Sequence[Path], leaf: str, level: int) -> int:
    """Number of leaves under the node that holds `leaf` at `level`."""
    [path] = [path for path in paths if path[0] == leaf]
    return len(under(paths, level, path[level]))


def common_level(paths: Sequence[Path], leaves: set[str]) -> int:
    """Lowest level with a node over all of `leaves`."""
    for level in range(len(paths[0])):
        if any(leaves <= under(paths, level, path[level]) for path in paths):
            return level
    raise ValueError("no common root")


def is_hierarchy(paths: Sequence[Path]) -> bool:
    """Whether the paths make a tree in which a label always means the same leaves, and ``*`` all of them."""
    if not paths or not paths[0] or len({len(path) for path in paths}) != 1:
        return False
    if any(label == "" for path in paths for label in path) or len({path[0] for path in paths}) < len(paths):
        return False
    if len({path[-1] for path in paths}) != 1:
        return False
    meaning: dict[str, frozenset[str]] = {"*": frozenset(path[0] for path in paths)}
    for level in range(len(paths[0])):
        for path in paths:
            covered = under(paths, level, path[level])
            if level + 1 < len(path) and not covered <= under(paths, level + 1, path[level + 1]):
                return False
            if meaning.setdefault(path[level], covered) != covered:
                return False
    return True
