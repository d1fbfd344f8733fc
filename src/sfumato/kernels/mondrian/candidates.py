"""Candidate cuts of a range: which items of one attribute go left."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.bits import EMPTY, has, single
from sfumato.kernels.jit import borrowing
from sfumato.kernels.mondrian.item_rows import ACTIVE, GAP, PRESENT, START, TOP, WEIGHT, Items
from sfumato.kernels.space import NUMERIC, SET, TREE
from sfumato.kernels.types import Int64s, Words, int64

# Rows of Candidates.sides.
ATTRIBUTE = 0
LEFT_WEIGHT = 1


class Candidates(NamedTuple):
    """Cuts in the order in which they were proposed.

    Attributes
    ----------
    sides : numpy.ndarray
        int64 (2, c): attribute and weight of the left side.
    items : numpy.ndarray
        uint64 (c,): items put left.
    """

    sides: Int64s
    items: Words


@borrowing
def propose(
    active: int, total: int, smallest: float, everywhere: bool, kinds: Int64s, items: Items,
    candidates: Candidates,
) -> int:  # fmt: skip
    """List the candidates in order; return how many there are: fewer than 3 for each item of an attribute."""
    count = int64(0)
    for number in range(active):
        attribute = items.attributes[ACTIVE, number]
        present = items.attributes[PRESENT, attribute]
        first = count
        if kinds[attribute] == TREE and not everywhere:
            count = _propose_children(attribute, total, smallest, count, items, candidates)
            continue
        for order in range(2 if kinds[attribute] == SET and present > 2 else 1):
            if everywhere:
                count = _propose_prefixes(attribute, order == 1, total, smallest, count, items, candidates)
            else:
                count = _propose_middle(attribute, order == 1, total, smallest, first, count, items, candidates)
        if everywhere and present > 2 and kinds[attribute] != NUMERIC:
            count = _propose_single_items(attribute, total, smallest, count, items, candidates)
    return count


@borrowing
def _keep(attribute: int, weight: int, chosen: np.uint64, count: int, candidates: Candidates) -> int:
    """Write a candidate down; return how many there are then."""
    candidates.sides[ATTRIBUTE, count] = attribute
    candidates.sides[LEFT_WEIGHT, count] = weight
    candidates.items[count] = chosen
    return count + 1


@borrowing
def _propose_prefixes(
    attribute: int, by_frequency: bool, total: int, smallest: float, count: int, items: Items, candidates: Candidates
) -> int:
    """Propose every allowable prefix of one order."""
    start = items.attributes[START, attribute]
    present = items.attributes[PRESENT, attribute]
    chosen = EMPTY
    weight = int64(0)
    for place in range(present - 1):
        item = _heaviest(start, present, chosen, items.numbers) if by_frequency else place
        chosen |= single(item)
        weight += items.numbers[WEIGHT, start + item]
        if total - weight < smallest:
            break
        if weight >= smallest:
            count = _keep(attribute, weight, chosen, count, candidates)
    return count


@borrowing
def _propose_middle(
    attribute: int, by_frequency: bool, total: int, smallest: float, first: int, count: int, items: Items,
    candidates: Candidates,
) -> int:  # fmt: skip
    """Propose the allowable prefix nearest to half, unless it makes the same cut as candidate `first`.

    Only the last prefix below half and the first one from half on can be it: where these are not allowable, none is.
    """
    start = items.attributes[START, attribute]
    present = items.attributes[PRESENT, attribute]
    before = EMPTY
    before_weight = int64(0)
    chosen = EMPTY
    weight = int64(0)
    for place in range(present - 1):
        before = chosen
        before_weight = weight
        item = _heaviest(start, present, chosen, items.numbers) if by_frequency else place
        chosen |= single(item)
        weight += items.numbers[WEIGHT, start + item]
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
    if count > first and (candidates.items[first] == chosen or candidates.items[first] == complement):
        return count
    return _keep(attribute, weight, chosen, count, candidates)


@borrowing
def _propose_children(
    attribute: int, total: int, smallest: float, count: int, items: Items, candidates: Candidates
) -> int:
    """Propose cuts between the children of the common ancestor: each alone, and the run of first ones nearest to half.

    Only such a cut makes both sides less general; items are neighbors across children where their ancestor is the top.
    """
    start = items.attributes[START, attribute]
    present = items.attributes[PRESENT, attribute]
    child = EMPTY
    child_weight = int64(0)
    chosen = EMPTY
    weight = int64(0)
    nearest = EMPTY
    nearest_weight = int64(-1)
    for item in range(present):
        child |= single(item)
        child_weight += items.numbers[WEIGHT, start + item]
        if item < present - 1 and items.places[GAP, start + item] < items.rates[TOP, attribute]:
            continue
        chosen |= child
        weight += child_weight
        nearer = nearest_weight < 0 or abs(2 * weight - total) < abs(2 * nearest_weight - total)
        if nearer and weight >= smallest and total - weight >= smallest:
            nearest = chosen
            nearest_weight = weight
        if child_weight >= smallest and total - child_weight >= smallest:
            count = _keep(attribute, child_weight, child, count, candidates)
        child = EMPTY
        child_weight = int64(0)
    if nearest_weight >= 0:
        count = _keep(attribute, nearest_weight, nearest, count, candidates)
    return count


@borrowing
def _heaviest(start: int, present: int, taken: np.uint64, numbers: Int64s) -> int:
    heaviest = 0
    most = int64(-1)
    for item in range(present):
        if numbers[WEIGHT, start + item] > most and not has(taken, item):
            most = numbers[WEIGHT, start + item]
            heaviest = item
    return heaviest


@borrowing
def _propose_single_items(
    attribute: int, total: int, smallest: float, count: int, items: Items, candidates: Candidates
) -> int:
    # The first and the last item alone are prefixes in code order already.
    for item in range(1, items.attributes[PRESENT, attribute] - 1):
        weight = items.numbers[WEIGHT, items.attributes[START, attribute] + item]
        if weight >= smallest and total - weight >= smallest:
            count = _keep(attribute, weight, single(item), count, candidates)
    return count
