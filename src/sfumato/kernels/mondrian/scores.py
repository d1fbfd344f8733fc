"""Score candidate cuts by the loss that the classes on both sides can be expected to have.

Arrays are those of :class:`sfumato.kernels.mondrian.items.Items` and of the workspace in
:mod:`sfumato.kernels.mondrian.least_loss`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.kernels.bits import EMPTY, ONE, how_many
from sfumato.kernels.jit import borrowing, kernel
from sfumato.kernels.mondrian.candidates import ATTRIBUTE, LEFT_WEIGHT
from sfumato.kernels.mondrian.expected_loss import exact_loss, expected_loss
from sfumato.kernels.mondrian.item_rows import ACTIVE, BASE, BY_LOSS, LEFT, PRESENT, RIGHT, START, WEIGHT
from sfumato.kernels.scalars import int64

EVENNESS = 0.7  # exponent of the entropy of the split
STEPS = 1024  # steps in which the entropy is tabulated
SLACK = 1e-9  # a later candidate must be better by this part of the loss
PLANES = 128  # words of bits times bits of weights up to which bitmaps count faster than rows


@borrowing
def rate_range(
    active: int, total: int, draws: int, kinds: Any, table: Any, attributes: Any, numbers: Any, places: Any,
    rates: Any, branches: Any,
) -> float:  # fmt: skip
    """Find the expected loss of the whole range and order the attributes by their part of it."""
    base = 0.0
    for number in range(active):
        attribute = attributes[ACTIVE, number]
        rate = expected_loss(
            attribute, kinds[attribute], WEIGHT, total, draws, table, attributes, numbers, places, rates, branches
        )
        rates[BASE, attribute] = rate
        base += rate
        place = number
        while place > 0 and rates[BASE, attributes[BY_LOSS, place - 1]] < rate:
            attributes[BY_LOSS, place] = attributes[BY_LOSS, place - 1]
            place -= 1
        attributes[BY_LOSS, place] = attribute
    return base


@borrowing
def slice_weights(rows: int, heaviest: int, row_weight: Any, planes: Any) -> int:
    """Write which rows have each bit of the weights; return the bits, 0 when counting by bitmaps would not pay."""
    words = (rows + 63) >> 6
    bits = 0
    while heaviest >> bits > 0:
        bits += 1
    if bits * words > PLANES:
        return 0
    for bit in range(bits):
        for word in range(words):
            planes[bit, word] = EMPTY
    for row in range(rows):
        weight = np.uint64(row_weight[row])
        for bit in range(bits):
            planes[bit, row >> 6] |= ((weight >> np.uint64(bit)) & ONE) << np.uint64(row & 63)
    return bits


@borrowing
def next_better(
    number: int, count: int, one_only: bool, best: float, base: float, active: int, total: int, rows: int, planes: int,
    smallest: float, kinds: Any, attributes: Any, numbers: Any, places: Any, rates: Any, branches: Any, item: Any,
    row_weight: Any, bitmaps: Any, draws: int, table: Any, evenness: Any, candidates: Any, candidate_items: Any,
    chosen_rows: Any, weight_planes: Any,
) -> tuple[int, float]:  # fmt: skip
    """Score the candidates from `number` on; return the best one and its score, −1 when none is better than `best`.

    With `one_only` the first one that is better is returned.
    """
    found = int64(-1)
    last = attributes[ACTIVE, active - 1]
    stop = attributes[START, last] + attributes[PRESENT, last]
    while number < count:
        attribute = candidates[ATTRIBUTE, number]
        chosen = candidate_items[number]
        left = candidates[LEFT_WEIGHT, number]
        right = total - left
        if planes > 0:
            _count_by_bitmaps(attributes[START, attribute], chosen, stop, rows, planes, weight_planes, bitmaps, numbers)
        else:
            _count_by_rows(attribute, chosen, stop, rows, active, attributes, item, row_weight, chosen_rows, numbers)
        even = evenness[min(STEPS - 1, max(1, int(STEPS * (left / total) + 0.5)))]
        # Whatever costs more than this cannot become the best.
        limit = base - best * even if best > 0 else base - best
        cost = 0.0
        for order in range(active):
            other = attributes[BY_LOSS, order]
            kind = kinds[other]
            if left < 2 * smallest:
                cost += left * exact_loss(other, kind, LEFT, attributes, numbers, places, rates)
            else:
                cost += left * expected_loss(
                    other, kind, LEFT, left, draws, table, attributes, numbers, places, rates, branches
                )
            if right < 2 * smallest:
                cost += right * exact_loss(other, kind, RIGHT, attributes, numbers, places, rates)
            else:
                cost += right * expected_loss(
                    other, kind, RIGHT, right, draws, table, attributes, numbers, places, rates, branches
                )
            if cost >= limit:
                break
        score = base - cost
        if score > 0:
            score /= even
        if score > best + SLACK * base:
            best = score
            found = number
            if one_only:
                break
        number += 1
    return found, best


@borrowing
def _count_by_bitmaps(
    start: int, chosen: Any, stop: int, rows: int, planes: int, weight_planes: Any, bitmaps: Any, numbers: Any
) -> None:
    for place in range(stop):
        numbers[LEFT, place] = 0
    for word in range((rows + 63) >> 6):
        side = EMPTY
        rest = chosen
        place = start
        while rest != EMPTY:
            if rest & ONE != EMPTY:
                side |= bitmaps[word, place]
            rest >>= ONE
            place += 1
        for plane in range(planes):
            marked = side & weight_planes[plane, word]
            for place in range(stop):
                numbers[LEFT, place] += how_many(bitmaps[word, place] & marked) << plane
    for place in range(stop):
        numbers[RIGHT, place] = numbers[WEIGHT, place] - numbers[LEFT, place]


@borrowing
def _count_by_rows(
    attribute: int, chosen: Any, stop: int, rows: int, active: int, attributes: Any, item: Any, row_weight: Any,
    chosen_rows: Any, numbers: Any,
) -> None:  # fmt: skip
    for place in range(stop):
        numbers[LEFT, place] = 0
    picked = 0
    for row in range(rows):
        chosen_rows[picked] = row
        picked += int64((chosen >> np.uint64(item[attribute, row])) & ONE)
    for order in range(active):
        other = attributes[ACTIVE, order]
        start = attributes[START, other]
        for pick in range(picked):
            row = chosen_rows[pick]
            numbers[LEFT, start + int64(item[other, row])] += row_weight[row]
    for place in range(stop):
        numbers[RIGHT, place] = numbers[WEIGHT, place] - numbers[LEFT, place]


@kernel
def tabulate_evenness() -> Any:
    """Tabulate the entropy of a split to the power 0.7 by the share of the left side; float64 (STEPS + 1,)."""
    table = np.zeros(STEPS + 1)
    for step in range(1, STEPS):
        share = step / STEPS
        # never 0: shares are inside (0, 1)
        entropy = -(share * math.log2(share) + (1.0 - share) * math.log2(1.0 - share))
        table[step] = entropy**EVENNESS
    return table
