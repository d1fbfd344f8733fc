"""Candidate cuts of a range: which items of one attribute go left.

Arrays are those of :class:`sfumato.kernels.mondrian.items.Items`; `candidates` is int64 (2, c), attribute and weight of
the left side, `candidate_items` uint64 (c,), the items put left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.kernels.bits import EMPTY, has, single
from sfumato.kernels.jit import borrowing
from sfumato.kernels.mondrian.item_rows import ACTIVE, GAP, PRESENT, START, TOP, WEIGHT
from sfumato.kernels.scalars import int64
from sfumato.kernels.space import NUMERIC, SET, TREE

# Rows of `candidates`.
ATTRIBUTE = 0
LEFT_WEIGHT = 1


@borrowing
def propose(
    active: int, total: int, smallest: float, everywhere: bool, kinds: Any, attributes: Any, numbers: Any, places: Any,
    rates: Any, candidates: Any, candidate_items: Any,
) -> int:  # fmt: skip
    """List the candidates in order; return how many there are."""
    count = int64(0)
    for number in range(active):
        attribute = attributes[ACTIVE, number]
        start = attributes[START, attribute]
        present = attributes[PRESENT, attribute]
        first = count
        if kinds[attribute] == TREE and not everywhere:
            count = _propose_children(
                attribute, start, present, total, smallest, count, numbers, places, rates[TOP, attribute], candidates,
                candidate_items,
            )  # fmt: skip
            continue
        for order in range(2 if kinds[attribute] == SET and present > 2 else 1):
            if everywhere:
                count = _propose_prefixes(
                    attribute, start, present, order == 1, total, smallest, count, numbers, candidates, candidate_items
                )
            else:
                count = _propose_middle(
                    attribute, start, present, order == 1, total, smallest, first, count, numbers, candidates,
                    candidate_items,
                )  # fmt: skip
        if everywhere and present > 2 and kinds[attribute] != NUMERIC:
            count = _propose_single_items(
                attribute, start, present, total, smallest, count, numbers, candidates, candidate_items
            )
    return count


@borrowing
def _propose_prefixes(
    attribute: int, start: int, present: int, by_frequency: bool, total: int, smallest: float, count: int, numbers: Any,
    candidates: Any, candidate_items: Any,
) -> int:  # fmt: skip
    """Propose every allowable prefix of one order."""
    chosen = EMPTY
    weight = int64(0)
    for place in range(present - 1):
        item = _heaviest(start, present, chosen, numbers) if by_frequency else place
        chosen |= single(item)
        weight += numbers[WEIGHT, start + item]
        if total - weight < smallest:
            break
        if weight >= smallest:
            candidates[ATTRIBUTE, count] = attribute
            candidates[LEFT_WEIGHT, count] = weight
            candidate_items[count] = chosen
            count += 1
    return count


@borrowing
def _propose_middle(
    attribute: int, start: int, present: int, by_frequency: bool, total: int, smallest: float, first: int, count: int,
    numbers: Any, candidates: Any, candidate_items: Any,
) -> int:  # fmt: skip
    """Propose the allowable prefix nearest to half, unless it makes the same cut as candidate `first`.

    Only the last prefix below half and the first one from half on can be it: where these are not allowable, none is.
    """
    before = EMPTY
    before_weight = int64(0)
    chosen = EMPTY
    weight = int64(0)
    for place in range(present - 1):
        before = chosen
        before_weight = weight
        item = _heaviest(start, present, chosen, numbers) if by_frequency else place
        chosen |= single(item)
        weight += numbers[WEIGHT, start + item]
        if 2 * weight >= total:
            break
    fits = weight >= smallest and total - weight >= smallest
    fits_before = before_weight >= smallest and total - before_weight >= smallest
    if fits_before and (not fits or total - 2 * before_weight <= abs(2 * weight - total)):
        chosen = before
        weight = before_weight
    elif not fits:
        return count
    complement = (~EMPTY >> np.uint64(64 - present)) & ~chosen
    if count > first and (candidate_items[first] == chosen or candidate_items[first] == complement):
        return count
    candidates[ATTRIBUTE, count] = attribute
    candidates[LEFT_WEIGHT, count] = weight
    candidate_items[count] = chosen
    return count + 1


@borrowing
def _propose_children(
    attribute: int, start: int, present: int, total: int, smallest: float, count: int, numbers: Any, places: Any,
    top: float, candidates: Any, candidate_items: Any,
) -> int:  # fmt: skip
    """Propose cuts between the children of the common ancestor: each alone, and the run of first ones nearest to half.

    Only such a cut makes both sides less general; items are neighbors across children where their ancestor is the top.
    """
    child = EMPTY
    child_weight = int64(0)
    chosen = EMPTY
    weight = int64(0)
    nearest = EMPTY
    nearest_weight = int64(-1)
    for item in range(present):
        child |= single(item)
        child_weight += numbers[WEIGHT, start + item]
        if item < present - 1 and places[GAP, start + item] < top:
            continue
        chosen |= child
        weight += child_weight
        nearer = nearest_weight < 0 or abs(2 * weight - total) < abs(2 * nearest_weight - total)
        if nearer and weight >= smallest and total - weight >= smallest:
            nearest = chosen
            nearest_weight = weight
        if child_weight >= smallest and total - child_weight >= smallest:
            candidates[ATTRIBUTE, count] = attribute
            candidates[LEFT_WEIGHT, count] = child_weight
            candidate_items[count] = child
            count += 1
        child = EMPTY
        child_weight = int64(0)
    if nearest_weight >= 0:
        candidates[ATTRIBUTE, count] = attribute
        candidates[LEFT_WEIGHT, count] = nearest_weight
        candidate_items[count] = nearest
        count += 1
    return count


@borrowing
def _heaviest(start: int, present: int, taken: Any, numbers: Any) -> int:
    heaviest = 0
    most = int64(-1)
    for item in range(present):
        if numbers[WEIGHT, start + item] > most and not has(taken, item):
            most = numbers[WEIGHT, start + item]
            heaviest = item
    return heaviest


@borrowing
def _propose_single_items(
    attribute: int, start: int, present: int, total: int, smallest: float, count: int, numbers: Any, candidates: Any,
    candidate_items: Any,
) -> int:  # fmt: skip
    # The first and the last item alone are prefixes in code order already.
    for item in range(1, present - 1):
        weight = numbers[WEIGHT, start + item]
        if weight >= smallest and total - weight >= smallest:
            candidates[ATTRIBUTE, count] = attribute
            candidates[LEFT_WEIGHT, count] = weight
            candidate_items[count] = single(item)
            count += 1
    return count
