"""Score candidate cuts by the loss that the classes on both sides can be expected to have.

Letters: h rows looked at, u = h/64, b bits of the largest weight.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sfumato.kernels.bits import EMPTY, ONE, how_many
from sfumato.kernels.jit import borrowing, interpreted_as, kernel
from sfumato.kernels.mondrian.candidates import ATTRIBUTE, LEFT_WEIGHT, Candidates
from sfumato.kernels.mondrian.expected_loss import exact_loss, expected_loss
from sfumato.kernels.mondrian.item_rows import (
    ACTIVE,
    BASE,
    BY_LOSS,
    LEFT,
    PRESENT,
    RIGHT,
    START,
    WEIGHT,
    ItemRows,
    Items,
)
from sfumato.kernels.types import Floats, Int64s, Words, int64

EVENNESS = 0.7  # exponent of the entropy of the split
STEPS = 1024  # steps in which the entropy is tabulated
SLACK = 1e-9  # a later candidate must be better by this part of the loss
PLANES = 128  # words of bits times bits of weights up to which bitmaps count faster than rows


class Scoring(NamedTuple):
    """What candidates are scored with.

    Attributes
    ----------
    draws : int
        Records of the imagined class.
    table : numpy.ndarray
        float64, see :func:`sfumato.kernels.mondrian.expected_loss.spread_table`.
    evenness : numpy.ndarray
        float64 (STEPS + 1,): entropy of a split to the power 0.7, by share of the left side.
    chosen_rows : numpy.ndarray
        int64 (h + 1,): rows on the left side.
    planes : numpy.ndarray
        uint64 (b, u): rows whose weight has a bit.
    """

    draws: int
    table: Floats
    evenness: Floats
    chosen_rows: Int64s
    planes: Words


class LookedAt(NamedTuple):
    """The range at hand.

    Attributes
    ----------
    active : int
        Attributes with two items or more.
    total : int
        Records behind the rows.
    rows : int
    bits : int
        Of the weights, 0 where rows are counted one by one.
    smallest : float
        Records that a side must have, in those looked at.
    base : float
        Expected loss of all records together.
    """

    active: int
    total: int
    rows: int
    bits: int
    smallest: float
    base: float


@borrowing
def rate_range(active: int, total: int, kinds: Int64s, items: Items, scoring: Scoring) -> float:
    """Find the expected loss of the whole range and order the attributes by their part of it."""
    attributes, rates = items.attributes, items.rates
    base = 0.0
    for number in range(active):
        attribute = attributes[ACTIVE, number]
        rate = expected_loss(attribute, kinds[attribute], int64(WEIGHT), total, scoring.draws, scoring.table, items)
        rates[BASE, attribute] = rate
        base += rate
        place = number
        while place > 0 and rates[BASE, attributes[BY_LOSS, place - 1]] < rate:
            attributes[BY_LOSS, place] = attributes[BY_LOSS, place - 1]
            place -= 1
        attributes[BY_LOSS, place] = attribute
    return base


@borrowing
def slice_weights(rows: int, heaviest: int, row_weight: Int64s, planes: Words) -> int:
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


@interpreted_as(slice_weights)
def _slice_all_weights(rows: int, heaviest: int, row_weight: Int64s, planes: Words) -> int:
    words, bits = (rows + 63) >> 6, int(heaviest).bit_length()
    if bits * words > PLANES:
        return 0
    weights, place = row_weight[:rows].astype(np.uint64), np.arange(rows, dtype=np.uint64) & np.uint64(63)
    for bit in range(bits):
        has_bit = ((weights >> np.uint64(bit)) & ONE) << place
        planes[bit, :words] = np.bitwise_or.reduceat(has_bit, np.arange(0, rows, 64))
    return bits


@borrowing
def next_better(
    number: int, count: int, one_only: bool, best: float, looked: LookedAt, kinds: Int64s, items: Items,
    shown: ItemRows, scoring: Scoring, candidates: Candidates,
) -> tuple[int, float]:  # fmt: skip
    """Score the candidates from `number` on; return the best one and its score, −1 when none is better than `best`.

    With `one_only` the first one that is better is returned.
    """
    attributes = items.attributes
    found = int64(-1)
    last = attributes[ACTIVE, looked.active - 1]
    stop = attributes[START, last] + attributes[PRESENT, last]
    while number < count:
        attribute = candidates.sides[ATTRIBUTE, number]
        chosen = candidates.items[number]
        left = candidates.sides[LEFT_WEIGHT, number]
        if looked.bits > 0:
            _count_by_bitmaps(attributes[START, attribute], chosen, stop, looked, scoring.planes, shown, items.numbers)
        else:
            _count_by_rows(attribute, chosen, stop, looked, items, shown, scoring.chosen_rows)
        even = scoring.evenness[min(STEPS - 1, max(1, int(STEPS * (left / looked.total) + 0.5)))]
        # Whatever costs more than this cannot become the best.
        limit = looked.base - best * even if best > 0 else looked.base - best
        score = looked.base - _cost_up_to(limit, left, looked, kinds, items, scoring)
        if score > 0:
            score /= even
        if score > best + SLACK * looked.base:
            best = score
            found = number
            if one_only:
                break
        number += 1
    return found, best


@borrowing
def _cost_up_to(limit: float, left: int, looked: LookedAt, kinds: Int64s, items: Items, scoring: Scoring) -> float:
    """Add up the losses of both sides, the attributes that lose most first, until `limit` is reached."""
    right = looked.total - left
    draws, table, smallest = scoring.draws, scoring.table, looked.smallest
    # Of a constant each value would be compiled for itself.
    sides = (int64(LEFT), int64(RIGHT))
    cost = 0.0
    for order in range(looked.active):
        other = items.attributes[BY_LOSS, order]
        kind = kinds[other]
        if left < 2 * smallest:
            cost += left * exact_loss(other, kind, sides[0], items)
        else:
            cost += left * expected_loss(other, kind, sides[0], left, draws, table, items)
        if right < 2 * smallest:
            cost += right * exact_loss(other, kind, sides[1], items)
        else:
            cost += right * expected_loss(other, kind, sides[1], right, draws, table, items)
        if cost >= limit:
            break
    return cost


@borrowing
def _count_by_bitmaps(
    start: int, chosen: np.uint64, stop: int, looked: LookedAt, planes: Words, shown: ItemRows,
    numbers: Int64s,
) -> None:  # fmt: skip
    bitmaps = shown.bitmaps
    for place in range(stop):
        numbers[LEFT, place] = 0
    for word in range((looked.rows + 63) >> 6):
        side = EMPTY
        rest = chosen
        place = start
        while rest != EMPTY:
            if rest & ONE != EMPTY:
                side |= bitmaps[word, place]
            rest >>= ONE
            place += 1
        for plane in range(looked.bits):
            marked = side & planes[plane, word]
            for place in range(stop):
                numbers[LEFT, place] += how_many(bitmaps[word, place] & marked) << plane
    for place in range(stop):
        numbers[RIGHT, place] = numbers[WEIGHT, place] - numbers[LEFT, place]


@interpreted_as(_count_by_bitmaps)
def _count_whole_bitmaps(
    start: int, chosen: np.uint64, stop: int, looked: LookedAt, planes: Words, shown: ItemRows,
    numbers: Int64s,
) -> None:  # fmt: skip
    bitmaps = shown.bitmaps[: (looked.rows + 63) >> 6]
    own = [start + place for place in range(int(chosen).bit_length()) if int(chosen) >> place & 1]
    side = np.bitwise_or.reduce(bitmaps[:, own], axis=1)
    left = np.zeros(stop, np.int64)
    for plane in range(looked.bits):
        marked = side & planes[plane, : len(bitmaps)]
        left += np.bitwise_count(bitmaps[:, :stop] & marked[:, None]).sum(axis=0, dtype=np.int64) << plane
    numbers[LEFT, :stop] = left
    numbers[RIGHT, :stop] = numbers[WEIGHT, :stop] - left


@borrowing
def _count_by_rows(
    attribute: int, chosen: np.uint64, stop: int, looked: LookedAt, items: Items, shown: ItemRows,
    chosen_rows: Int64s,
) -> None:  # fmt: skip
    numbers, item = items.numbers, shown.item
    for place in range(stop):
        numbers[LEFT, place] = 0
    picked = 0
    for row in range(looked.rows):
        chosen_rows[picked] = row
        picked += int64((chosen >> np.uint64(item[attribute, row])) & ONE)
    for order in range(looked.active):
        other = items.attributes[ACTIVE, order]
        start = items.attributes[START, other]
        for pick in range(picked):
            row = chosen_rows[pick]
            numbers[LEFT, start + int64(item[other, row])] += shown.weight[row]
    for place in range(stop):
        numbers[RIGHT, place] = numbers[WEIGHT, place] - numbers[LEFT, place]


@kernel
def tabulate_evenness() -> Floats:
    """Tabulate the entropy of a split to the power 0.7 by the share of the left side; float64 (STEPS + 1,)."""
    table = np.zeros(STEPS + 1)
    for step in range(1, STEPS):
        share = step / STEPS
        # never 0: shares are inside (0, 1)
        entropy = -(share * math.log2(share) + (1.0 - share) * math.log2(1.0 - share))
        table[step] = entropy**EVENNESS
    return table
