"""Expected loss of a class drawn at random from one side of a cut, attribute by attribute.

What a cut is worth shows only in the final classes. A side that will be cut further is therefore judged by the loss
that a class of `draws` records, drawn from it at random with replacement, can be expected to have:

* value set of m domain values: the expected number of distinct values over m, less the classes of one value;
* numbers: every gap between neighboring values counts with the probability that the class lies on both its sides;
* tree: the loss of the common ancestor, less what every branching below saves when the whole class falls under it.

A side that cannot be cut any more loses exactly what it spans.

`side` is the row of `numbers` that holds the weight
of each item on the side, `total` their sum over one attribute, `start .. stop-1` the items of the attribute.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.jit import borrowing, inlined, kernel
from sfumato.kernels.mondrian.item_rows import (
    BRANCHES,
    DISTINCT,
    DROP,
    FROM,
    GAP,
    GROUPED,
    HIGH,
    LOW,
    OWN,
    PRESENT,
    START,
    TO,
    TOP,
    UNIT,
    Items,
)
from sfumato.kernels.space import NUMERIC, SET
from sfumato.kernels.types import Floats, Int64s, float64, int64

TABLED = 128  # sides of fewer records look their powers up


@inlined
def power(base: float, exponent: int) -> float:
    """Raise to a whole power by squaring."""
    result = 1.0
    while exponent > 0:
        if exponent & 1:
            result *= base
        base *= base
        exponent >>= 1
    return result


@inlined
def spread(share: float, draws: int) -> float:
    """Probability that `draws` draws fall neither all inside nor all outside a part of the given share."""
    rest = 1.0 - share
    inside = 1.0
    outside = 1.0
    while draws > 0:
        if draws & 1:
            inside *= share
            outside *= rest
        share *= share
        rest *= rest
        draws >>= 1
    return 1.0 - inside - outside


@kernel
def spread_table(draws: int) -> Floats:
    """Tabulate `spread` of c/n at ``n (n + 1) / 2 + c`` for all n < TABLED; float64."""
    table = np.zeros(TABLED * (TABLED + 1) // 2)
    for total in range(1, TABLED):
        for count in range(total + 1):
            table[total * (total + 1) // 2 + count] = spread(count / total, draws)  # never 0: it starts at 1
    return table


@borrowing
def expected_loss(attribute: int, kind: int, side: int, total: int, draws: int, table: Floats, items: Items) -> float:
    """Weighted loss that a random class of one side can be expected to have in one attribute."""
    start = items.attributes[START, attribute]
    stop = start + items.attributes[PRESENT, attribute]
    if kind == NUMERIC:
        return _expected_range(start, stop, side, total, draws, table, items)
    if kind == SET:
        unit = items.rates[UNIT, attribute]
        if items.attributes[GROUPED, attribute] == 1:
            return float64(unit * _expected_grouped(start, stop, side, total, draws, items.numbers))
        return float64(unit * _expected_distinct(start, stop, side, total, draws, table, items.numbers))
    count = items.attributes[BRANCHES, attribute]
    return float64(items.rates[TOP, attribute] - _expected_savings(start, count, side, total, draws, items))


@borrowing
def _expected_distinct(
    start: int, stop: int, side: int, total: int, draws: int, table: Floats, numbers: Int64s
) -> float:
    expected = 0.0
    if total < TABLED:
        row = total * (total + 1) // 2
        for place in range(start, stop):
            expected += table[row + numbers[side, place]]
    else:
        for place in range(start, stop):
            expected += spread(numbers[side, place] / total, draws)
    return expected


@borrowing
def _expected_grouped(start: int, stop: int, side: int, total: int, draws: int, numbers: Int64s) -> float:
    # The codes of an item are taken as equally frequent; never more of them than records.
    expected = 0.0
    for place in range(start, stop):
        count = numbers[side, place]
        if count > 0:
            codes = min(numbers[DISTINCT, place], count)
            expected += codes * spread(count / (codes * float(total)), draws)
    return expected


@borrowing
def _expected_range(start: int, stop: int, side: int, total: int, draws: int, table: Floats, items: Items) -> float:
    expected = 0.0
    below = int64(0)
    numbers, places = items.numbers, items.places
    if total < TABLED:
        row = total * (total + 1) // 2
        for place in range(start, stop - 1):
            below += numbers[side, place]
            expected += places[GAP, place] * table[row + below]
    else:
        for place in range(start, stop - 1):
            below += numbers[side, place]
            expected += places[GAP, place] * spread(below / total, draws)
    return expected


@borrowing
def _expected_savings(start: int, count: int, side: int, total: int, draws: int, items: Items) -> float:
    saved = 0.0
    numbers, branches = items.numbers, items.branches
    for branch in range(2 * start, 2 * start + count):
        under = int64(0)
        for place in range(start + int(branches[FROM, branch]), start + int(branches[TO, branch])):
            under += numbers[side, place]
        if under > 0:
            saved += branches[DROP, branch] * power(under / total, draws)
    return saved


@borrowing
def exact_loss(attribute: int, kind: int, side: int, items: Items) -> float:
    """Weighted loss of one side as one class in one attribute; the side must not be empty."""
    numbers, places = items.numbers, items.places
    start = items.attributes[START, attribute]
    stop = start + items.attributes[PRESENT, attribute]
    if kind == SET:
        found = int64(0)
        for place in range(start, stop):
            found += min(numbers[DISTINCT, place], numbers[side, place])
        return float64(items.rates[UNIT, attribute] * found) if found > 1 else 0.0
    low = start
    high = stop - 1
    while low < high and numbers[side, low] == 0:
        low += 1
    while high > low and numbers[side, high] == 0:
        high -= 1
    if kind == NUMERIC:
        return float64(places[HIGH, high] - places[LOW, low])
    loss = max(places[OWN, low], places[OWN, high])
    for place in range(low, high):
        loss = max(loss, places[GAP, place])
    return float64(loss)
