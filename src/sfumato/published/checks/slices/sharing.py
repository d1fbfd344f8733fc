"""Columns that share attributes: how much they share, and which of them hold an attribute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sfumato.published.sliced import Columns


def shared_attributes(columns: Columns) -> tuple[str, ...]:
    """Return the attributes that are in more than one column, in the order of the columns."""
    counts = Counter(name for column in columns for name in column)
    return tuple(name for name, count in counts.items() if count > 1)


def overlap_ratio(columns: Columns) -> float:
    """Return how many columns hold an attribute on average, 1 or above; 1 is plain slicing."""
    named = [name for column in columns for name in column]
    return len(named) / len(set(named)) if named else 1.0


def places_of(columns: Columns, attribute: str) -> tuple[int, ...]:
    """Return the places of all columns that hold an attribute."""
    return tuple(place for place, column in enumerate(columns) if attribute in column)


def join_order(columns: Columns) -> tuple[tuple[int, tuple[str, ...]], ...] | None:
    """Order columns so that they can be joined one by one, and say on which attributes.

    Returns
    -------
    tuple of (place, shared attributes) or None
        What a column shares with all before it is in one of them. None if there is no such order: columns form a
        circle, like ``{a, b}, {b, c}, {c, a}``, and joining them on what they share is not enough.

    Notes
    -----
    Graham's reduction: it removes a column whose attributes are either its own or all in one other column.
    Cost O(w³) for w columns.
    """
    left = list(range(len(columns)))
    taken: list[tuple[int, tuple[str, ...]]] = []
    while left:
        found = next((step for place in reversed(left) if (step := _ear(columns, place, left)) is not None), None)
        if found is None:
            return None
        taken.append(found)
        left.remove(found[0])
    return tuple(reversed(taken))


def _ear(columns: Columns, place: int, left: Sequence[int]) -> tuple[int, tuple[str, ...]] | None:
    others = [set(columns[other]) for other in left if other != place]
    shared = tuple(name for name in columns[place] if any(name in other for other in others))
    if not shared or any(set(shared) <= other for other in others):
        return place, shared
    return None
