"""Stars for combinations of a few attributes: each one that is shown must be shown by k records.

Letters: m distinct records, i items (records that are equal and starred equally), p patterns, s subsets of attributes,
c combinations (a subset with values).

A pattern shows a subset when it stars none of its attributes; both are masks of bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.stars.starring import SLACK
from sfumato.kernels.types import Floats, Int32s, Int64s


class ItemSets(NamedTuple):
    """What the items show.

    Attributes
    ----------
    combination_of : numpy.ndarray
        int32 (m, s): combination that each distinct record has in each subset.
    subsets : numpy.ndarray
        int64 (s,): masks of their attributes.
    starred : numpy.ndarray
        int64 (p,): masks of the attributes that each pattern stars; the last stars all that may be.
    cost : numpy.ndarray
        float64 (p,), rising.
    records : numpy.ndarray
        int32 (i,): distinct record of each item.
    weights : numpy.ndarray
        int64 (i,): records of each item.
    patterns : numpy.ndarray
        int64 (i,): pattern of each item; the kernels change it.
    counts : numpy.ndarray
        int64 (c,): records that show each combination.
    k : int
    """

    combination_of: Int32s
    subsets: Int64s
    starred: Int64s
    cost: Floats
    records: Int32s
    weights: Int64s
    patterns: Int64s
    counts: Int64s
    k: int


@kernel
def count_shown(shown: ItemSets) -> None:
    """Count the records that show each combination, from nothing. Cost O(i · s)."""
    shown.counts[:] = 0
    for item in range(len(shown.records)):
        _add(item, shown.weights[item], shown)


@kernel
def least_patterns(shown: ItemSets) -> Int64s:
    """Return the cheapest pattern of each item that shows no combination which is too rare as counted; int64 (i,).

    Where there is none it is the last.
    """
    least = np.empty(len(shown.records), dtype=np.int64)
    for item in range(len(shown.records)):
        least[item] = 0
        while least[item] < len(shown.cost) - 1 and not _may_show(item, least[item], 0, shown):
            least[item] += 1
    return least


@kernel
def star_until_shared(shown: ItemSets, unit: float) -> None:
    """Star items further until every combination that is shown is shown by k records. Cost O(i · p · s) a sweep.

    An item takes the pattern that costs least, together with what it costs about to star those whose combinations
    become too rare by it; `unit` is the cost of one star. Stars are never taken back, so it ends.
    """
    changed = True
    while changed:
        changed = False
        for item in range(len(shown.records)):
            starrable = shown.patterns[item] < len(shown.cost) - 1
            if starrable and not _may_show(item, shown.patterns[item], 0, shown):
                _take(item, _least_harmful(item, unit, shown), shown)
                changed = True


@kernel
def unstar(shown: ItemSets) -> None:
    """Give items cheaper patterns as long as all combinations stay shared. Cost O(i · p · s) a sweep."""
    changed = True
    while changed:
        changed = False
        for item in range(len(shown.records)):
            before = shown.patterns[item]
            if before > 0:
                _add(item, -shown.weights[item], shown)
                after = _cheaper(item, before, shown)
                shown.patterns[item] = after
                _add(item, shown.weights[item], shown)
                changed = changed or after != before


@inlined
def _add(item: int, weight: int, shown: ItemSets) -> None:
    hidden = shown.starred[shown.patterns[item]]
    for subset in range(len(shown.subsets)):
        if shown.subsets[subset] & hidden == 0:
            shown.counts[shown.combination_of[shown.records[item], subset]] += weight


@inlined
def _take(item: int, pattern: int, shown: ItemSets) -> None:
    _add(item, -shown.weights[item], shown)
    shown.patterns[item] = pattern
    _add(item, shown.weights[item], shown)


@inlined
def _may_show(item: int, pattern: int, besides: int, shown: ItemSets) -> bool:
    """Tell whether all that an item shows under a pattern has k records, `besides` more than are counted."""
    hidden = shown.starred[pattern]
    for subset in range(len(shown.subsets)):
        if shown.subsets[subset] & hidden == 0:
            count = shown.counts[shown.combination_of[shown.records[item], subset]]
            if count + besides < shown.k:
                return False
    return True


@inlined
def _least_harmful(item: int, unit: float, shown: ItemSets) -> int:
    present = shown.starred[shown.patterns[item]]
    best = len(shown.cost) - 1
    least = np.inf
    for pattern in range(shown.patterns[item] + 1, len(shown.cost)):
        price = shown.cost[pattern] * shown.weights[item]
        if price >= least:
            break
        if shown.starred[pattern] & present == present and _may_show(item, pattern, 0, shown):
            price += unit * _harmed(item, present, shown.starred[pattern], shown)
            if price < least - SLACK:
                best, least = pattern, price
    return best


@inlined
def _harmed(item: int, before: int, after: int, shown: ItemSets) -> int:
    harmed = 0
    for subset in range(len(shown.subsets)):
        if shown.subsets[subset] & before == 0 and shown.subsets[subset] & after != 0:
            count = shown.counts[shown.combination_of[shown.records[item], subset]]
            if count >= shown.k and count - shown.weights[item] < shown.k:
                harmed += count - shown.weights[item]
    return harmed


@inlined
def _cheaper(item: int, before: int, shown: ItemSets) -> int:
    """Find the cheapest pattern for an item that is not counted, such that nobody else's combinations get too rare."""
    for pattern in range(before):
        if shown.cost[pattern] >= shown.cost[before] - SLACK:
            break
        if _may_show(item, pattern, shown.weights[item], shown) and _may_go(item, before, pattern, shown):
            return pattern
    return before


@inlined
def _may_go(item: int, before: int, after: int, shown: ItemSets) -> bool:
    for subset in range(len(shown.subsets)):
        if shown.subsets[subset] & shown.starred[before] == 0 and shown.subsets[subset] & shown.starred[after] != 0:
            count = shown.counts[shown.combination_of[shown.records[item], subset]]
            if 0 < count < shown.k:
                return False
    return True
