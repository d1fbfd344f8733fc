"""How far records are from a class that publishes a range or a common ancestor (CAAT).

Letters: m distinct records, c classes, q attributes, M codes of all attributes together.

On every attribute the distance of a code falls towards one code, the center, and rises behind it; so the nearest code
of a range is the one next to the center, and the furthest is one of its ends. Only a missing number may break this.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.clustering.class_loss import TABLED, ClassLoss, range_loss
from sfumato.kernels.clustering.record_tree import RecordTree
from sfumato.kernels.jit import borrowing, inlined
from sfumato.kernels.space import NUMERIC
from sfumato.kernels.types import Codes, Flags, Floats, Int64s, float64, int64

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

    low: Int64s
    high: Int64s
    present: Int64s
    missing: Flags
    totals: Floats


class Prices(NamedTuple):
    """How far every code is from one class.

    Attributes
    ----------
    gaps : numpy.ndarray
        float64 (M,): of attributes with few codes. Those of others are worked out where they are needed: a class
        changes with nearly every record, and looks at few records before it does.
    tabled : numpy.ndarray
        bool (q,): attributes with few codes.
    subject : numpy.ndarray
        int64 (2,): the class, and how far numbers are from intervals.
    centers : numpy.ndarray
        int64 (q,): the nearest code.
    split : numpy.ndarray
        bool (q,): whether the missing number is near while high numbers need not be.
    stale : numpy.ndarray
        bool (q,): attributes whose prices have to be found anew.
    """

    gaps: Floats
    tabled: Flags
    subject: Int64s
    centers: Int64s
    split: Flags
    stale: Flags


@borrowing
def on_grid(gap: float) -> float:
    """Round a distance, in units of the grid."""
    return float64(np.floor(gap * GRID + 0.5))


@borrowing
def enter(
    codes: Codes, record: int, times: int, place: int, rule: int, loss: ClassLoss, hulls: Hulls, stale: Flags
) -> None:
    """Add equal records to a class and mark the attributes whose distances change as stale."""
    for attribute in range(len(loss.kinds)):
        code = int64(codes[record, attribute])
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
            return float64(top / 2.0)
        if number == np.inf:
            return float64(top - (high - low) / 2.0)
        return float64(max(high, number) - min(low, number) - (high - low) / 2.0)
    if rule == MIDPOINT:
        return float64(abs(number - (low + high) / 2.0))
    if rule == NEAREST:
        return float64(max(low - number, number - high, 0.0))
    return float64(abs(number - hulls.totals[place, attribute] / present))


@borrowing
def class_gap(codes: Codes, record: int, place: int, rule: int, loss: ClassLoss, hulls: Hulls) -> float:
    """Distance of a record to a class, summed over the attributes."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        total += gap(attribute, int64(codes[record, attribute]), place, rule, loss, hulls)
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
        np.zeros(loss.offsets[width]), np.diff(loss.offsets) <= TABLED, np.zeros(2, np.int64),
        np.zeros(width, np.int64), np.zeros(width, np.bool_), np.ones(width, np.bool_),
    )  # fmt: skip


@borrowing
def price(place: int, rule: int, loss: ClassLoss, hulls: Hulls, prices: Prices) -> None:
    """Find the nearest code, and the distance of every code where there are few, of the attributes that are stale."""
    prices.subject[0] = place
    prices.subject[1] = rule
    for attribute in range(len(loss.kinds)):
        if not prices.stale[attribute]:
            continue
        prices.stale[attribute] = False
        present = hulls.present[place, attribute] > 0
        numeric = loss.kinds[attribute] == NUMERIC
        prices.split[attribute] = numeric and hulls.missing[place, attribute] and present and rule != WIDEN
        start = loss.offsets[attribute]
        if prices.tabled[attribute]:
            for code in range(loss.offsets[attribute + 1] - start):
                prices.gaps[start + code] = gap(attribute, code, place, rule, loss, hulls)
        if numeric and not present:
            prices.centers[attribute] = loss.offsets[attribute + 1] - 1 - start
        elif numeric and rule in (MIDPOINT, MEAN):
            prices.centers[attribute] = _next_to_target(attribute, place, rule, loss, hulls)
        else:
            prices.centers[attribute] = hulls.low[place, attribute]


@borrowing
def _next_to_target(attribute: int, place: int, rule: int, loss: ClassLoss, hulls: Hulls) -> int:
    """Find the code of a class's range whose number is nearest to its midpoint or mean, in O(log M)."""
    low = hulls.low[place, attribute]
    high = hulls.high[place, attribute]
    # Distances fall, then rise: go to where they rise first.
    while low < high:
        middle = (low + high) // 2
        here = _number_gap(attribute, middle, place, rule, loss, hulls)
        if _number_gap(attribute, middle + 1, place, rule, loss, hulls) < here:
            low = middle + 1
        else:
            high = middle
    return int64(low)


@borrowing
def _priced(attribute: int, code: int, loss: ClassLoss, hulls: Hulls, prices: Prices) -> float:
    """Distance of a code on one attribute."""
    if prices.tabled[attribute]:
        return float64(prices.gaps[loss.offsets[attribute] + code])
    return gap(attribute, code, prices.subject[0], prices.subject[1], loss, hulls)


@borrowing
def record_gap(codes: Codes, record: int, loss: ClassLoss, hulls: Hulls, prices: Prices) -> float:
    """Distance of a record, on the grid."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        total += _priced(attribute, int64(codes[record, attribute]), loss, hulls, prices)
    return on_grid(total)


@borrowing
def least_gap(node: int, tree: RecordTree, loss: ClassLoss, hulls: Hulls, prices: Prices) -> float:
    """Lower bound on :func:`record_gap` of a node's records."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        low = int64(tree.low[node, attribute])
        high = int64(tree.high[node, attribute])
        if prices.split[attribute] and _is_last(attribute, high, loss):
            continue
        total += _priced(attribute, min(max(prices.centers[attribute], low), high), loss, hulls, prices)
    return on_grid(total)


@borrowing
def most_gap(node: int, tree: RecordTree, loss: ClassLoss, hulls: Hulls, prices: Prices) -> float:
    """Upper bound on :func:`record_gap` of a node's records."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        low = int64(tree.low[node, attribute])
        high = int64(tree.high[node, attribute])
        if prices.split[attribute] and low < high and _is_last(attribute, high, loss):
            # The missing number itself is at no distance.
            high -= 1
        total += max(_priced(attribute, low, loss, hulls, prices), _priced(attribute, high, loss, hulls, prices))
    return on_grid(total)


@borrowing
def _is_last(attribute: int, code: int, loss: ClassLoss) -> bool:
    return bool(loss.offsets[attribute] + code == loss.offsets[attribute + 1] - 1)
