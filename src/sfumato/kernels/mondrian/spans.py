"""What neighboring items of an attribute span: gaps on an axis, branchings of a tree.

Arrays are those of :class:`sfumato.kernels.mondrian.items.Items`; an attribute's items are ``start .. start +
present − 1``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.kernels.jit import borrowing
from sfumato.kernels.mondrian.item_rows import DROP, FIRST, FROM, GAP, HIGH, LAST, LOW, OWN, TO, TOP


@borrowing
def measure_axis(start: int, present: int, offset: int, unit: float, positions: Any, numbers: Any, places: Any) -> None:
    """Place the items of a numeric attribute on its axis, in units of weighted loss."""
    middle = 0.0
    for place in range(start, start + present):
        places[LOW, place] = unit * positions[offset + numbers[FIRST, place]]
        places[HIGH, place] = unit * positions[offset + numbers[LAST, place]]
        next_middle = 0.5 * (places[LOW, place] + places[HIGH, place])
        if place > start:
            places[GAP, place - 1] = next_middle - middle
        middle = next_middle


@borrowing
def ancestor_loss(
    offset: int, low: int, high: int, unit: float, tree_low: Any, tree_high: Any, tree_parent: Any, leaf: Any,
    node_loss: Any,
) -> float:  # fmt: skip
    """Weighted loss of the common ancestor of two codes; O(height of the tree)."""
    if low == high:
        return 0.0
    node = leaf[offset + low]
    while node >= 0 and not (tree_low[node] <= high and high < tree_high[node]):
        node = tree_parent[node]
    return unit if node < 0 else node_loss[node]


@borrowing
def list_branches(attribute: int, start: int, present: int, places: Any, rates: Any, branches: Any) -> int:
    """Read the tree off the losses between neighbors: what lies between two larger gaps is one branching.

    That makes two branchings per item at most, however large the tree is. Branchings still open wait at the far end of
    the attribute's part of `branches`, loss in DROP.
    """
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
    return listed - base
