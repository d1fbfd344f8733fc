"""What the form of a published cell discloses about the values under it, beyond that they lie inside.

Letters: w values under a cell in rising order, n records of the class, ``shares`` float64 (w,): how frequent each value
is in the population, summing to 1. Every function returns float64 (w,): the chance that one record of the class, any
one, has each value, if the records are drawn one by one from the population.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

Shares = NDArray[np.float64]


def tight_belief(shares: Shares, records: int) -> Shares:
    """Use that the lowest and the highest value both occur in the class of at least two records.

    By inclusion and exclusion over the ends that may be missing. Cost O(w).
    """
    low, high = shares[0], shares[-1]
    others = records - 1
    without = np.array([(1 - low) ** others, (1 - high) ** others, max(0.0, 1 - low - high) ** others])
    belief = shares * (1 - without[0] - without[1] + without[2])
    belief[0], belief[-1] = low * (1 - without[1]), high * (1 - without[0])
    return _normal(belief, shares)


def rounded_belief(shares: Shares, first: int, last: int, records: int) -> Shares:
    """Use that a value of the class is in the first bin of a rounded interval, and one in the last.

    first, last : values in the first bin, and in the last one; together all if the interval is a single bin. By
    inclusion and exclusion over the bins that may be empty. Cost O(w).
    """
    if first + last > len(shares):
        return shares
    bins = np.ones(len(shares), dtype=np.int64)
    bins[:first], bins[len(shares) - last :] = 0, 2
    mass = np.bincount(bins, weights=shares, minlength=3)
    low, high = mass[0], mass[2]
    others = records - 1
    no_low, no_high = (1 - low) ** others, (1 - high) ** others
    inside = 1 - no_low - no_high + max(0.0, 1 - low - high) ** others
    return _normal(shares * np.array([1 - no_high, inside, 1 - no_low])[bins], shares)


def branching_belief(shares: Shares, child_of: NDArray[np.integer], records: int) -> Shares:
    """Use that the class does not lie under one child of the node, which would have been published instead.

    child_of : integers (w,), which child each value is under. Cost O(w).
    """
    under = np.bincount(child_of, weights=shares)[child_of]
    return _normal(shares * (1 - under ** (records - 1)), shares)


def uncut_belief(shares: Shares, records: int, smallest: int) -> Shares:
    """Use, besides tight ends, that no cut leaves `smallest` records on both sides.

    So fewer than `smallest` records lie below some value and fewer above it: all others share that middle value. If
    the class has fewer than twice `smallest` records this says nothing, and only the tight ends remain.

    Cost O(w · smallest²).
    """
    if records < 2 * smallest:
        return tight_belief(shares, records)
    below = np.concatenate([[0.0], np.cumsum(shares)[:-1]])
    above = np.concatenate([np.cumsum(shares[::-1])[::-1][1:], [0.0]])
    # Powers of shares are taken relative to the highest one: those of large classes would vanish.
    highest = shares.max()
    middle = np.zeros(len(shares))
    # Expected records below and above each middle value, weighted by how likely that middle value is.
    lower, at_low = np.zeros(len(shares)), np.zeros(len(shares))
    upper, at_high = np.zeros(len(shares)), np.zeros(len(shares))
    for left in range(smallest):
        sure_low, low_count = _with_end(below, shares[0], left)
        for right in range(smallest):
            sure_high, high_count = _with_end(above, shares[-1], right)
            ways = float(comb(records, left) * comb(records - left, right))
            inner = records - left - right
            chance = ways * sure_low * sure_high * (shares / highest) ** inner * highest ** -(left + right)
            # The middle value may itself be an end; then no value has to lie beyond it.
            middle += chance * inner
            at_low += chance * low_count
            lower += chance * (left - low_count)
            at_high += chance * high_count
            upper += chance * (right - high_count)
    downwards = _spread(shares, below - shares[0], lower)
    upwards = _spread(shares[::-1], (above - shares[-1])[::-1], upper[::-1])[::-1]
    belief = middle + downwards + upwards
    belief[0] += at_low.sum()
    belief[-1] += at_high.sum()
    return _normal(belief, shares)


def uncut_region_belief(shares: Shares, records: int, smallest: int) -> Shares:
    """Use that no cut leaves `smallest` records on both sides of a cell whose ends need not occur.

    As :func:`uncut_belief`, except for the ends. Cost O(w · smallest²).
    """
    if records < 2 * smallest:
        return shares
    below = np.concatenate([[0.0], np.cumsum(shares)[:-1]])
    above = np.concatenate([np.cumsum(shares[::-1])[::-1][1:], [0.0]])
    highest = shares.max()
    middle, lower, upper = np.zeros((3, len(shares)))
    for left in range(smallest):
        for right in range(smallest):
            inner = records - left - right
            ways = float(comb(records, left) * comb(records - left, right)) * highest ** -(left + right)
            chance = ways * below**left * above**right * (shares / highest) ** inner
            middle += chance * inner
            lower += chance * left
            upper += chance * right
    # A share of 0 precedes the first value, which is not an end here.
    downwards = _spread(np.append(0.0, shares), np.append(0.0, below), np.append(0.0, lower))[1:]
    upwards = _spread(np.append(0.0, shares[::-1]), np.append(0.0, above[::-1]), np.append(0.0, upper[::-1]))[:0:-1]
    return _normal(middle + downwards + upwards, shares)


def _with_end(mass: Shares, end: float, count: int) -> tuple[Shares, Shares]:
    """Weigh `count` records beyond each middle value, of which one at least is at the end.

    mass : float64 (w,), the joint share of the values beyond. Returns the weight of that, and the expected number of
    records at the end given it; where nothing lies beyond, only no records weigh anything, and all of that.
    """
    ends = mass <= end * 1e-12
    if count == 0:
        return ends.astype(np.float64), np.zeros(len(mass))
    sure = np.where(ends, 0.0, mass**count - np.maximum(mass - end, 0.0) ** count)
    expected = np.divide(count * end * mass ** (count - 1), sure, out=np.zeros(len(mass)), where=sure > 0)
    return sure, np.minimum(expected, count)


def _spread(shares: Shares, inside: Shares, expected: Shares) -> Shares:
    """Spread expected records below each middle value over the values between the end and it, by their shares.

    inside : float64 (w,), the joint share of these values. Cost O(w).
    """
    rate = np.divide(expected, inside, out=np.zeros(len(shares)), where=inside > 1e-15)
    # A value takes part in the rate of every middle value above it.
    beyond = np.concatenate([np.cumsum(rate[::-1])[::-1][1:], [0.0]])
    spread: Shares = shares * beyond
    spread[0] = 0.0
    return spread


def _normal(belief: Shares, shares: Shares) -> Shares:
    """Scale beliefs to a sum of 1; if the published cell is impossible in the model, return the shares."""
    belief = np.maximum(belief, 0.0)
    total = belief.sum()
    return belief / total if total > 1e-300 else shares
