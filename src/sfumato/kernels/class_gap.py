"""How far records are from a class that publishes a range or a common ancestor (CAAT).

Letters: m distinct records, c classes, q attributes, M codes of all attributes together.

On every attribute the distance of a code falls towards one code, the center, and rises behind it; so the nearest code
of a range is the one next to the center, and the furthest is one of its ends. Only a missing number may break this.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.class_loss import ClassLoss, range_loss
from sfumato.kernels.jit import borrowing, inlined
from sfumato.kernels.record_tree import RecordTree
from sfumato.kernels.space import NUMERIC

WIDEN = 0
MIDPOINT = 1
NEAREST = 2
MEAN = 3

GRID = 2.0**32
"""Distances that are equal on this grid are equal: sums of the same fractions in another order must not differ."""


class Hulls(NamedTuple):
    """What classes cover, one row each.

    Attributes
    ----------
    low, high : numpy.ndarray
        int64 (c, q): smallest and largest code; of numeric attributes among the present ones.
    present : numpy.ndarray
        int64 (c, q): present numbers of numeric attributes, codes of others.
    missing : numpy.ndarray
        bool (c, q): whether a missing number is among them.
    totals : numpy.ndarray
        float64 (c, q): sum of the places of present numbers.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    present: NDArray[np.int64]
    missing: NDArray[np.bool_]
    totals: NDArray[np.float64]


class Prices(NamedTuple):
    """How far every code is from one class.

    Attributes
    ----------
    gaps : numpy.ndarray
        float64 (M,).
    centers : numpy.ndarray
        int64 (q,): the nearest code.
    split : numpy.ndarray
        bool (q,): whether the missing number is near while high numbers need not be.
    stale : numpy.ndarray
        bool (q,): attributes whose prices have to be found anew.
    """

    gaps: NDArray[np.float64]
    centers: NDArray[np.int64]
    split: NDArray[np.bool_]
    stale: NDArray[np.bool_]


@borrowing
def on_grid(gap: float) -> float:
    """Round a distance, in units of the grid."""
    return np.floor(gap * GRID + 0.5)


@borrowing
def enter(
    codes: Any, record: int, times: int, place: int, rule: int, loss: ClassLoss, hulls: Hulls, stale: Any
) -> None:
    """Add equal records to a class and mark the attributes whose distances change as stale."""
    for attribute in range(len(loss.kinds)):
        code = np.int64(codes[record, attribute])
        number = loss.places[loss.offsets[attribute] + code]
        if loss.kinds[attribute] == NUMERIC and number == np.inf:
            moved = not hulls.missing[place, attribute]
            hulls.missing[place, attribute] = True
        else:
            first = hulls.present[place, attribute] == 0
            low = hulls.low[place, attribute]
            high = hulls.high[place, attribute]
            moved = first or code < low or code > high
            if moved:
                hulls.low[place, attribute] = code if first else min(low, code)
                hulls.high[place, attribute] = code if first else max(high, code)
            hulls.present[place, attribute] += times
            hulls.totals[place, attribute] += number * times
            moved = moved or (rule == MEAN and loss.kinds[attribute] == NUMERIC)
        if moved:
            stale[attribute] = True


@borrowing
def gap(attribute: int, code: int, place: int, rule: int, loss: ClassLoss, hulls: Hulls) -> float:
    """Distance of a code to a class on one attribute, between 0 and the attribute's weight."""
    if loss.kinds[attribute] == NUMERIC:
        return _number_gap(attribute, code, place, rule, loss, hulls)
    low = hulls.low[place, attribute]
    high = hulls.high[place, attribute]
    own = range_loss(attribute, low, high, loss)
    meeting = range_loss(attribute, min(low, code), max(high, code), loss)
    top = loss.tops[attribute]
    # How far the class and the record each climb to meet, over their ways to the root.
    climbed = (meeting - own) / (top - own) * top if top > own else 0.0
    return (meeting + climbed) / 2.0


@borrowing
def _number_gap(attribute: int, code: int, place: int, rule: int, loss: ClassLoss, hulls: Hulls) -> float:
    start = loss.offsets[attribute]
    number = loss.places[start + code]
    top = loss.tops[attribute]
    missing = hulls.missing[place, attribute]
    present = hulls.present[place, attribute]
    if number == np.inf or present == 0:
        alike = number == np.inf and missing
        if rule != WIDEN or present == 0:
            return 0.0 if alike else top
    low = loss.places[start + hulls.low[place, attribute]]
    high = loss.places[start + hulls.high[place, attribute]]
    if rule == WIDEN:
        if missing:
            return top / 2.0
        if number == np.inf:
            return top - (high - low) / 2.0
        return max(high, number) - min(low, number) - (high - low) / 2.0
    if rule == MIDPOINT:
        return abs(number - (low + high) / 2.0)
    if rule == NEAREST:
        return max(low - number, number - high, 0.0)
    return abs(number - hulls.totals[place, attribute] / present)


@borrowing
def class_gap(codes: Any, record: int, place: int, rule: int, loss: ClassLoss, hulls: Hulls) -> float:
    """Distance of a record to a class, summed over the attributes."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        total += gap(attribute, np.int64(codes[record, attribute]), place, rule, loss, hulls)
    return total


@inlined
def new_hulls(classes: int, loss: ClassLoss) -> Hulls:
    """Return classes that cover nothing."""
    width = len(loss.kinds)
    return Hulls(
        np.zeros((classes, width), np.int64), np.zeros((classes, width), np.int64),
        np.zeros((classes, width), np.int64), np.zeros((classes, width), np.bool_), np.zeros((classes, width)),
    )  # fmt: skip


@inlined
def new_prices(loss: ClassLoss) -> Prices:
    """Return prices that have to be found first."""
    width = len(loss.kinds)
    return Prices(
        np.zeros(loss.offsets[width]), np.zeros(width, np.int64), np.zeros(width, np.bool_), np.ones(width, np.bool_)
    )  # fmt: skip


@borrowing
def price(place: int, rule: int, loss: ClassLoss, hulls: Hulls, prices: Prices) -> None:
    """Find the distance of every code of the attributes that are stale."""
    for attribute in range(len(loss.kinds)):
        if not prices.stale[attribute]:
            continue
        prices.stale[attribute] = False
        start = loss.offsets[attribute]
        size = loss.offsets[attribute + 1] - start
        numeric = loss.kinds[attribute] == NUMERIC
        both = numeric and hulls.missing[place, attribute] and hulls.present[place, attribute] > 0
        prices.split[attribute] = both and rule != WIDEN
        best = 0
        for code in range(size):
            prices.gaps[start + code] = gap(attribute, code, place, rule, loss, hulls)
            behind = prices.split[attribute] and loss.places[start + code] == np.inf
            if prices.gaps[start + code] < prices.gaps[start + best] and not behind:
                best = code
        prices.centers[attribute] = best


@borrowing
def record_gap(codes: Any, record: int, loss: ClassLoss, prices: Prices) -> float:
    """Distance of a record, on the grid."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        total += prices.gaps[loss.offsets[attribute] + np.int64(codes[record, attribute])]
    return on_grid(total)


@borrowing
def least_gap(node: int, tree: RecordTree, loss: ClassLoss, prices: Prices) -> float:
    """Lower bound on :func:`record_gap` of a node's records."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        low = np.int64(tree.low[node, attribute])
        high = np.int64(tree.high[node, attribute])
        start = loss.offsets[attribute]
        if prices.split[attribute] and start + high == loss.offsets[attribute + 1] - 1:
            continue
        total += prices.gaps[start + min(max(prices.centers[attribute], low), high)]
    return on_grid(total)


@borrowing
def most_gap(node: int, tree: RecordTree, loss: ClassLoss, prices: Prices) -> float:
    """Upper bound on :func:`record_gap` of a node's records."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        low = np.int64(tree.low[node, attribute])
        high = np.int64(tree.high[node, attribute])
        start = loss.offsets[attribute]
        if prices.split[attribute] and low < high and start + high == loss.offsets[attribute + 1] - 1:
            high -= 1
            # The missing number itself is at no distance.
        total += max(prices.gaps[start + low], prices.gaps[start + high])
    return on_grid(total)
