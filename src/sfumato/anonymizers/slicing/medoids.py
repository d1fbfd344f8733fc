"""k-medoids: the members of a set to which everybody else is nearest in total."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

# Up to so many sets of medoids are all tried, in a fraction of a second; beyond, PAM exchanges one medoid at a time.
MOST_SETS = 50_000
_SETS_AT_ONCE = 2_000
# Costs that differ by less than rounding errors are ties.
_DECIMALS = 12


def medoids(distances: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Choose medoids so that the sum of everybody's distance to the nearest is least.

    Parameters
    ----------
    distances
        float64 (a, a), symmetric, 0 on the diagonal.
    count
        How many medoids, 1 to a.

    Returns
    -------
    numpy.ndarray
        int64 (count,), ascending. Of sets that cost the same, the first in lexicographic order is taken.

    Notes
    -----
    Exact while there are at most `MOST_SETS` sets of medoids. Larger problems are solved by PAM (BUILD, then the best
    exchange as long as one improves the sum), and the result is a local optimum. Both are deterministic. Cost
    O(sets · a c), or O(c² (a − c) a) for each exchange.

    *Source.* Kaufman, Rousseeuw, "Finding groups in data", 1990. Departure: PAM is replaced by the exact answer where
    that is affordable.
    """
    search = _best_of_all if comb(len(distances), count) <= MOST_SETS else _by_exchange
    return np.sort(search(distances, count))


def _best_of_all(distances: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    sets = np.array(list(combinations(range(len(distances)), count)), dtype=np.int64)
    parts = [_costs(distances, sets[at : at + _SETS_AT_ONCE]) for at in range(0, len(sets), _SETS_AT_ONCE)]
    best: NDArray[np.int64] = sets[np.concatenate(parts).argmin()]
    return best


def _by_exchange(distances: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    chosen = _build(distances, count)
    cost = _costs(distances, chosen[None, :])[0]
    while True:
        candidates = _exchanges(chosen, len(distances))
        costs = _costs(distances, candidates)
        best = costs.argmin()
        if not costs[best] < cost:
            return chosen
        chosen, cost = candidates[best], costs[best]


def _build(distances: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Add the medoid that lowers the sum most, one after another."""
    chosen: list[int] = []
    for _ in range(count):
        others = [place for place in range(len(distances)) if place not in chosen]
        grown = np.array([[*chosen, place] for place in others])
        chosen.append(others[int(_costs(distances, grown).argmin())])
    return np.array(chosen, dtype=np.int64)


def _exchanges(chosen: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return every set with one medoid exchanged for another member."""
    others = np.setdiff1d(np.arange(size), chosen)
    sets = np.tile(chosen, (len(chosen), len(others), 1))
    for place in range(len(chosen)):
        sets[place, :, place] = others
    return sets.reshape(-1, len(chosen))


def _costs(distances: NDArray[np.float64], sets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sum everybody's distance to the nearest medoid, for each set of medoids."""
    nearest = distances[sets].min(axis=1)
    costs: NDArray[np.float64] = nearest.sum(axis=1).round(_DECIMALS)
    return costs
