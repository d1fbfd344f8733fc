"""Sets of attributes that hang together strongly, and like a tree among each other."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray


def discovered_sets(
    names: Sequence[str],
    strengths: NDArray[np.float64],
    sensitive: Collection[str],
    size: int,
    count: int | None,
) -> tuple[tuple[str, ...], ...]:
    """Grow sets from the strongest pair on: each new attribute joins those of one set that it hangs together with most.

    For sets of two this is the tree of largest total strength (Chow and Liu). Sets never form a circle, and a sensitive
    attribute comes after all others, into one set, to which nothing is added afterwards.

    Parameters
    ----------
    names
        Attributes, length a.
    strengths
        float64 (a, a), symmetric; φ² of every pair.
    sensitive
        Those that are sensitive.
    size
        Attributes of a set, 1 or more; fewer where there are not so many.
    count
        How many sets at most; None: until every attribute is in one.

    Notes
    -----
    Cost O(a² · c) for c subsets of ``size - 1`` attributes of the sets, at most ``a · size``.
    """
    place_of = {name: place for place, name in enumerate(names)}
    quasi = [place_of[name] for name in names if name not in sensitive]
    secret = [place_of[name] for name in names if name in sensitive]
    sets = [_first(quasi, strengths, min(size, len(quasi)))]
    grown = list(sets)
    for attributes in (sorted(set(quasi) - set(sets[0])), secret):
        left = list(attributes)
        while left:
            parts = sorted({part for each in grown for part in combinations(each, min(size - 1, len(each)))})
            name, part = max(
                ((name, part) for name in left for part in parts),
                key=lambda pair: float(strengths[pair[0], list(pair[1])].sum()),
            )
            left.remove(name)
            sets.append((*part, name))
            if name not in secret:
                grown.append(tuple(sorted((*part, name))))
    return _named(_without_inner(sets), names, count)


def _first(quasi: Sequence[int], strengths: NDArray[np.float64], size: int) -> tuple[int, ...]:
    """Return the strongest pair, and what hangs together most with those chosen so far."""
    if size < 2:
        return tuple(quasi[:size])
    pairs = list(combinations(quasi, 2))
    chosen = list(pairs[int(np.argmax([strengths[one, other] for one, other in pairs]))])
    while len(chosen) < size:
        to_chosen = strengths[:, chosen].sum(axis=1)
        chosen.append(max(sorted(set(quasi) - set(chosen)), key=to_chosen.__getitem__))
    return tuple(sorted(chosen))


def _without_inner(sets: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    return [own for own in sets if not any(set(own) < set(other) for other in sets)]


def _named(sets: Sequence[tuple[int, ...]], names: Sequence[str], count: int | None) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(names[place] for place in own) for own in sets[:count])
