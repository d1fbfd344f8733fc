"""How sets of attributes overlap: whether their tables can determine more than they show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

Sets = Sequence[Sequence[str]]


def is_acyclic(sets: Sets) -> bool:
    """Tell whether sets of attributes overlap like a tree (Graham's reduction).

    Attributes of a single set, and sets that lie inside another one, are removed until nothing changes; if the sets
    have no circle, nothing is left. Count tables of such sets determine no count of a combination of their attributes
    except 0 and sums of counts in one table.
    """
    left = [set(names) for names in sets]
    while True:
        holders = Counter(name for names in left for name in names)
        trimmed = [{name for name in names if holders[name] > 1} for names in left]
        kept = [
            names
            for place, names in enumerate(trimmed)
            if names
            and not any(names < other or (names == other and place > before) for before, other in enumerate(trimmed))
        ]
        if not kept:
            return True
        if kept == left:
            return False
        left = kept


def ordered_sets(sets: Sets) -> list[int]:
    """Order sets so that each has as much as possible in common with those before it, ties by place; return places."""
    left = list(range(len(sets)))
    seen: set[str] = set()
    order = []
    while left:
        best = max(left, key=lambda place: (len(seen & set(sets[place])), -place))
        order.append(best)
        seen.update(sets[best])
        left.remove(best)
    return order


def repeated(sets: Sets, names: Collection[str]) -> list[str]:
    """Return the attributes that are in more than one set."""
    return [name for name in names if sum(name in members for members in sets) > 1]
