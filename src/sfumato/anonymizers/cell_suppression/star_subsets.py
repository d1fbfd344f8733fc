"""The cheapest cells to star so that combinations of a few attributes are shared: greedy, then taking stars back."""

from __future__ import annotations

from itertools import chain, combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.cell_suppression.fewest_stars import StarAssignment
from sfumato.anonymizers.cell_suppression.star_patterns import DistinctRows, Patterns
from sfumato.classes.grouping import group_records
from sfumato.kernels.stars.star_subsets import ItemSets, count_shown, least_patterns, star_until_shared, unstar

MOST_COMBINATIONS = 1 << 26
"""Distinct records × subsets of attributes that are held at a time."""


def shared_combinations(distinct: DistinctRows, patterns: Patterns, found: StarAssignment, m: int) -> StarAssignment:
    """Find stars after which every combination of up to `m` values that is shown is shown by k records.

    Parameters
    ----------
    distinct, patterns
        The records, and what they may be assigned to.
    found
        A solution for k-anonymity, which satisfies this too.
    m
        Most attributes of a combination, besides those that may not be starred.

    Returns
    -------
    Found
        The cheaper of two: that solution without the stars that are not needed, and the one that starts without stars
        and adds them where combinations are too rare. The bound stars each record for the combinations that are too
        rare in the original.

    Notes
    -----
    Cost O(i p s) a sweep for i distinct records, p patterns and s subsets; sweeps are few. `found` comes back where
    there are too many subsets to hold.
    """
    starrable = patterns.starred[-1]
    free = np.flatnonzero(starrable)
    most = min(m, len(free))
    count = sum(comb(len(free), size) for size in range(1, most + 1))
    if not count or count * len(distinct.codes) > MOST_COMBINATIONS:
        return StarAssignment(found.counts, found.cost, 0.0)
    subsets = list(chain.from_iterable(combinations(free.tolist(), size) for size in range(1, most + 1)))
    ours = _shown(distinct, patterns, subsets, *np.nonzero(found.counts), counts=found.counts)
    unstar(ours)
    everybody = np.arange(len(distinct.weights))
    plain = np.zeros_like(found.counts)
    plain[:, 0] = distinct.weights
    theirs = _shown(distinct, patterns, subsets, everybody, np.zeros_like(everybody), counts=plain)
    bound = float((patterns.choices.cost[least_patterns(theirs)] * theirs.weights).sum())
    star_until_shared(theirs, float(patterns.choices.cost[-1]) / len(free))
    unstar(theirs)
    solutions = [_found(shown, found.counts.shape, bound) for shown in (ours, theirs)]
    return min(solutions, key=lambda solution: solution.cost)


def _shown(
    distinct: DistinctRows,
    patterns: Patterns,
    subsets: list[tuple[int, ...]],
    records: NDArray[np.int64],
    taken: NDArray[np.int64],
    *,
    counts: NDArray[np.int32],
) -> ItemSets:
    combination_of, count = _combinations(distinct, ~patterns.starred[-1], subsets)
    bits = 1 << np.arange(patterns.starred.shape[1], dtype=np.int64)
    shown = ItemSets(
        combination_of=combination_of,
        subsets=np.array([bits[list(subset)].sum() for subset in subsets], dtype=np.int64),
        starred=(patterns.starred * bits).sum(axis=1),
        cost=patterns.choices.cost,
        records=records.astype(np.int32),
        weights=counts[records, taken].astype(np.int64),
        patterns=taken.astype(np.int64),
        counts=np.zeros(count, dtype=np.int64),
        k=patterns.choices.k,
    )
    count_shown(shown)
    return shown


def _combinations(
    distinct: DistinctRows, fixed: NDArray[np.bool_], subsets: list[tuple[int, ...]]
) -> tuple[NDArray[np.int32], int]:
    """Give a number to what each distinct record has in each subset, the attributes that stay shown added."""
    always = np.flatnonzero(fixed).tolist()
    combination_of = np.empty((len(distinct.codes), len(subsets)), dtype=np.int32)
    total = 0
    for place, subset in enumerate(subsets):
        groups, count = group_records(np.ascontiguousarray(distinct.codes[:, [*always, *subset]]))
        combination_of[:, place] = groups + total
        total += count
    return combination_of, total


def _found(shown: ItemSets, shape: tuple[int, ...], bound: float) -> StarAssignment:
    counts = np.zeros(shape, dtype=np.int32)
    np.add.at(counts, (shown.records, shown.patterns), shown.weights)
    return StarAssignment(counts, float((shown.cost[shown.patterns] * shown.weights).sum()), bound)
