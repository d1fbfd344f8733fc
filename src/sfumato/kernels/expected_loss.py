"""Expected loss of a class drawn at random from one side of a cut, attribute by attribute.

What a cut is worth shows only in the final classes. A side that will be cut further is therefore judged by the loss
that a class of `draws` records, drawn from it at random with replacement, can be expected to have:

* value set of m domain values: the expected number of distinct values over m, less the classes of one value;
* numbers: every gap between neighboring values counts with the probability that the class lies on both its sides;
* tree: the loss of the common ancestor, less what every branching below saves when the whole class falls under it.

A side that cannot be cut any more loses exactly what it spans.

Letters: q attributes; `counts` is int64 (64 q,), the weight of each item of each attribute on one side.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.kernels.bits import EMPTY, ONE, highest, how_many, lowest
from sfumato.kernels.items import MOST, Items
from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.space import NUMERIC, SET

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
def spread_table(draws: int) -> Any:
    """Tabulate `spread` of c/n at ``n (n + 1) / 2 + c`` for all n < TABLED; float64."""
    table = np.zeros(TABLED * (TABLED + 1) // 2)
    for total in range(1, TABLED):
        for count in range(total + 1):
            table[total * (total + 1) // 2 + count] = spread(count / total, draws)
    return table


@inlined
def expected_loss(attribute: int, counts: Any, total: int, kind: int, draws: int, table: Any, items: Items) -> float:
    """Weighted loss that a random class can be expected to have in one attribute; total: weight of the side."""
    start = MOST * attribute
    count = items.count[attribute]
    if kind == NUMERIC:
        return _expected_range(start, count, counts, total, draws, table, items.gap)
    if kind != SET:
        return _expected_ancestor(attribute, counts, total, draws, items)
    if items.grouped[attribute]:
        return items.unit[attribute] * _expected_grouped(start, count, counts, total, draws, items.distinct)
    return items.unit[attribute] * _expected_distinct(start, count, counts, total, draws, table)


@inlined
def _expected_distinct(start: int, count: int, counts: Any, total: int, draws: int, table: Any) -> float:
    expected = 0.0
    if total < TABLED:
        row = total * (total + 1) // 2
        for place in range(start, start + count):
            expected += table[row + counts[place]]
        return expected
    for place in range(start, start + count):
        expected += spread(counts[place] / total, draws)
    return expected


@inlined
def _expected_grouped(start: int, count: int, counts: Any, total: int, draws: int, distinct: Any) -> float:
    # The codes of an item are taken as equally frequent; never more of them than records.
    expected = 0.0
    for place in range(start, start + count):
        if counts[place] > 0:
            codes = min(distinct[place], counts[place])
            expected += codes * spread(counts[place] / (codes * float(total)), draws)
    return expected


@inlined
def _expected_range(start: int, count: int, counts: Any, total: int, draws: int, table: Any, gap: Any) -> float:
    expected = 0.0
    below = 0
    row = total * (total + 1) // 2
    tabled = total < TABLED
    for place in range(start, start + count - 1):
        below += counts[place]
        if tabled:
            expected += gap[place] * table[row + below]
        else:
            expected += gap[place] * spread(below / total, draws)
    return expected


@inlined
def _expected_ancestor(attribute: int, counts: Any, total: int, draws: int, items: Items) -> float:
    start = MOST * attribute
    expected = items.top[attribute]
    for branch in range(2 * start, 2 * start + items.branches[attribute]):
        under = 0
        for place in range(start + items.branch_from[branch], start + items.branch_to[branch]):
            under += counts[place]
        if under > 0:
            expected -= items.branch_drop[branch] * power(under / total, draws)
    return expected


@inlined
def exact_loss(attribute: int, counts: Any, kind: int, items: Items) -> float:
    """Weighted loss of the side as one class in one attribute."""
    start = MOST * attribute
    count = items.count[attribute]
    if kind == SET:
        return _loss_of_distinct(attribute, counts, items)
    low = start
    while counts[low] == 0:
        low += 1
    high = start + count - 1
    while counts[high] == 0:
        high -= 1
    return _loss_between(low, high, kind, items)


@inlined
def _loss_of_distinct(attribute: int, counts: Any, items: Items) -> float:
    start = MOST * attribute
    found = 0
    for place in range(start, start + items.count[attribute]):
        found += min(items.distinct[place], counts[place])
    return items.unit[attribute] * found if found > 1 else 0.0


@inlined
def _loss_between(low: int, high: int, kind: int, items: Items) -> float:
    if kind == NUMERIC:
        return items.high_position[high] - items.low_position[low]
    loss = max(items.own[low], items.own[high])
    for place in range(low, high):
        loss = max(loss, items.gap[place])
    return loss


@inlined
def exact_loss_of_set(attribute: int, present: Any, kind: int, items: Items) -> float:
    """Weighted loss of a side that shows the items `present`, a nonempty uint64 set; not for grouped items."""
    if present & (present - ONE) == EMPTY:
        return 0.0
    if kind == SET:
        return items.unit[attribute] * how_many(present)
    start = MOST * attribute
    return _loss_between(start + lowest(present), start + highest(present), kind, items)
