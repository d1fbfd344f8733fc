"""What neighboring items of an attribute span: gaps on an axis, branchings of a tree.

An attribute's items are ``start .. start + present − 1``.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.jit import borrowing
from sfumato.kernels.mondrian.item_rows import (
    DROP,
    FIRST,
    FROM,
    GAP,
    HIGH,
    LAST,
    LOW,
    OWN,
    PRESENT,
    START,
    TO,
    TOP,
    UNIT,
    FlatTrees,
    Items,
)
from sfumato.kernels.space import Space
from sfumato.kernels.types import Floats, float64, int64


@borrowing
def measure_axis(attribute: int, offset: int, positions: Floats, items: Items) -> None:
    """Place the items of a numeric attribute on its axis, in units of weighted loss."""
    unit, places = items.rates[UNIT, attribute], items.places
    start = items.attributes[START, attribute]
    middle = 0.0
    for place in range(start, start + items.attributes[PRESENT, attribute]):
        places[LOW, place] = unit * positions[offset + items.numbers[FIRST, place]]
        places[HIGH, place] = unit * positions[offset + items.numbers[LAST, place]]
        next_middle = 0.5 * (places[LOW, place] + places[HIGH, place])
        if place > start:
            places[GAP, place - 1] = next_middle - middle
        middle = next_middle


@borrowing
def ancestor_loss(offset: int, low: int, high: int, unit: float, space: Space, trees: FlatTrees) -> float:
    """Weighted loss of the common ancestor of two codes; O(height of the tree)."""
    if low == high:
        return 0.0
    node = trees.leaf[offset + low]
    while node >= 0 and not (space.tree_low[node] <= high and high < space.tree_high[node]):
        node = space.tree_parent[node]
    return unit if node < 0 else float64(trees.node_loss[node])


@borrowing
def list_branches(attribute: int, items: Items) -> int:
    """Read the tree off the losses between neighbors: what lies between two larger gaps is one branching.

    That makes two branchings per item at most, however large the tree is. Branchings still open wait at the far end of
    the attribute's part of `branches`, loss in DROP.
    """
    places, rates, branches = items.places, items.rates, items.branches
    start = items.attributes[START, attribute]
    present = items.attributes[PRESENT, attribute]
    base = 2 * start
    top = base + 2 * present
    waiting = top
    listed = base
    for place in range(present):
        own = places[OWN, start + place]
        gap = np.inf
        if place < present - 1:
            gap = max(places[GAP, start + place], max(own, places[OWN, start + place + 1]))
            places[GAP, start + place] = gap
        above = gap if place == 0 else min(gap, places[GAP, start + place - 1])
        branches[FROM, listed] = place
        branches[TO, listed] = place + 1
        branches[DROP, listed] = above - own
        listed += 1
        opened = float(place)
        while waiting < top and branches[DROP, waiting] < gap:
            loss = branches[DROP, waiting]
            opened = branches[FROM, waiting]
            waiting += 1
            above = gap if waiting == top else min(gap, branches[DROP, waiting])
            if above == np.inf:
                rates[TOP, attribute] = loss
            else:
                branches[FROM, listed] = opened
                branches[TO, listed] = place + 1
                branches[DROP, listed] = above - loss
                listed += 1
        if gap < np.inf and (waiting == top or branches[DROP, waiting] > gap):
            waiting -= 1
            branches[DROP, waiting] = gap
            branches[FROM, waiting] = opened
    return int64(listed - base)
