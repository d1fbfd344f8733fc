"""Plain twins of distances between distributions and of the association of two attributes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any


def phi_squared(pairs: Sequence[tuple[Any, Any]]) -> float:
    """Mean-square contingency coefficient of pairs of values."""
    n = len(pairs)
    both, left, right = Counter(pairs), Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    least = min(len(left), len(right))
    if least < 2:
        return 0.0
    total = 0.0
    for a in left:
        for b in right:
            independent = left[a] / n * right[b] / n
            total += (both[a, b] / n - independent) ** 2 / independent
    return total / (least - 1)


def divergence(p: Sequence[float], q: Sequence[float]) -> float:
    """Kullback and Leibler's."""
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0)


def jensen_shannon(p: Sequence[float], q: Sequence[float]) -> float:
    """Mean divergence from the middle."""
    middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    return (divergence(p, middle) + divergence(q, middle)) / 2


def ordered(p: Sequence[float], q: Sequence[float]) -> float:
    """Earth mover's distance over ranks."""
    ahead = total = 0.0
    for a, b in zip(p, q, strict=True):
        ahead += a - b
        total += abs(ahead)
    return total / (len(p) - 1) if len(p) > 1 else 0.0


def equal(p: Sequence[float], q: Sequence[float]) -> float:
    """Earth mover's distance where all values are equally far apart."""
    return sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2


def hierarchical(p: Mapping[str, float], q: Mapping[str, float], tree: Any, height: int) -> float:
    """Earth mover's distance over a tree of nested mappings, whose leaves are None; all leaves are `height` deep."""

    def moved(children: Mapping[str, Any], level: int) -> tuple[float, float]:
        extras, cost = [], 0.0
        for name, below in children.items():
            if below is None:
                extras.append(p.get(name, 0.0) - q.get(name, 0.0))
            else:
                inner, extra = moved(below, level - 1)
                cost += inner
                extras.append(extra)
        surplus = sum(max(extra, 0.0) for extra in extras)
        lack = sum(max(-extra, 0.0) for extra in extras)
        return cost + level / height * min(surplus, lack), sum(extras)

    return moved(tree, height)[0]
