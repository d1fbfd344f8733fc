"""Top-down search among cuts that go across the whole table: the best region first, until none can be cut.

Letters: q quasi-identifying attributes, m distinct records, r regions.

What a cut saves and whether it is allowable only gets worse as other cuts are made, as long as nothing is suppressed.
So regions wait in a tournament under the score of the last time, and only the winner is weighed anew; it is cut when it
still wins. Where the score of a region has risen (records that stood in its way were suppressed, the place of its cut
had to be given up for one that leaves a larger smallest cell) it is cut later than it might have been.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sfumato.kernels.global_cuts.global_cuts import (
    LEAF,
    NO_PLACE,
    ROOT,
    Cutting,
    Nodes,
    Sweep,
    is_tree,
    part_count,
    tree_part,
    weigh_children,
    weigh_places,
)
from sfumato.kernels.global_cuts.product_cells import (
    CUTS,
    LEAST,
    LEFT,
    REGIONS,
    REVIVE,
    SETTLED,
    VERSION,
    ProductCells,
    SortedAttributes,
    bounds_of,
    collect,
    count_least,
    forget,
    judge,
    move,
    range_loss,
)
from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.predicates import RuleArrays
from sfumato.kernels.space import Space
from sfumato.kernels.types import Floats, Int64s, float64

WAITS = 0  # may still be cut
GIVEN_UP = 1  # cannot be cut, and is published
CUT = 2  # its parts are regions


class RegionQueue(NamedTuple):
    """All regions that there are or were, and the tournament among those that wait.

    Attributes
    ----------
    attribute, low, stop, node : numpy.ndarray
        int64 (r,): codes ``low .. stop-1``; the node of a hierarchy, ROOT, or LEAF for what cannot be cut.
    loss : numpy.ndarray
        float64 (r,): weighted loss of a cell that publishes the region.
    ceiling : numpy.ndarray
        float64 (r,): the most that a cut can save.
    saved : numpy.ndarray
        float64 (r,): what the cut saved when it was last weighed.
    least : numpy.ndarray
        int64 (r,): the smallest cell that it left then.
    failing : numpy.ndarray
        int64 (r,): records that had to be suppressed for it then.
    place : numpy.ndarray
        int64 (r,): where the region would be cut.
    version : numpy.ndarray
        int64 (r,): how many cuts had been made then, −1 before the first time.
    state : numpy.ndarray
        int64 (r,): WAITS, GIVEN_UP or CUT.
    key : numpy.ndarray
        float64 (r,): the score of the last time, or a bound on it.
    winner : numpy.ndarray
        int64 (2 leaves,): the tournament; entry 1 is the best region, −1 stands for none.
    """

    attribute: Int64s
    low: Int64s
    stop: Int64s
    node: Int64s
    loss: Floats
    ceiling: Floats
    saved: Floats
    least: Int64s
    failing: Int64s
    place: Int64s
    version: Int64s
    state: Int64s
    key: Floats
    winner: Int64s


@kernel
def new_regions(layout: SortedAttributes, space: Space, nodes: Nodes) -> RegionQueue:
    """Allocate room for every region that can ever be: nodes, roots, and ranges of codes, which halve."""
    room = len(nodes.low) + len(space.kinds)
    for attribute in range(len(space.kinds)):
        room += 2 * layout.cardinalities[attribute]
    leaves = 1
    while leaves < room:
        leaves *= 2
    return RegionQueue(
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros(room, np.float64),
        np.zeros(room, np.float64),
        np.zeros(room, np.float64),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros(room, np.float64),
        np.full(2 * leaves, -1, np.int64),
    )


@kernel
def add_region(
    attribute: int, low: int, stop: int, node: int, layout: SortedAttributes, space: Space, nodes: Nodes,
    cutting: Cutting, cells: ProductCells, regions: RegionQueue,
) -> None:  # fmt: skip
    """Let a region wait for its turn; one that cannot be cut, or has no record, is settled."""
    region = cells.counters[REGIONS]
    cells.counters[REGIONS] += 1
    regions.attribute[region], regions.low[region], regions.stop[region] = attribute, low, stop
    regions.node[region] = node
    regions.loss[region] = range_loss(attribute, low, stop, layout, space)
    regions.version[region] = -1
    begin, end = bounds_of(attribute, low, stop, layout, space)
    if node == LEAF or stop - low <= 1 or begin == end:
        regions.state[region] = GIVEN_UP
        cells.counters[SETTLED] += 1
        return
    records = 0
    for place in range(begin, end):
        records += layout.weights[layout.rows[attribute, place]]
    regions.ceiling[region] = records * regions.loss[region]
    regions.state[region] = WAITS
    regions.key[region] = regions.loss[region] if cutting.widest else regions.ceiling[region]
    _enter(region, regions)


@inlined
def _enter(region: int, regions: RegionQueue) -> None:
    """Play the region's matches up to the root of the tournament."""
    slot = region + len(regions.winner) // 2
    regions.winner[slot] = region if regions.state[region] == WAITS else -1
    while slot > 1:
        slot //= 2
        regions.winner[slot] = _better(regions.winner[2 * slot], regions.winner[2 * slot + 1], regions)


@inlined
def _better(one: int, other: int, regions: RegionQueue) -> int:
    """Prefer the higher key; then the attribute declared first; then the lower codes."""
    if one < 0 or other < 0:
        return max(one, other)
    if regions.key[one] != regions.key[other]:
        return one if regions.key[one] > regions.key[other] else other
    if regions.attribute[one] != regions.attribute[other]:
        return one if regions.attribute[one] < regions.attribute[other] else other
    return one if regions.low[one] < regions.low[other] else other


@kernel
def _play_all(regions: RegionQueue, count: int) -> None:
    """Play every match anew."""
    leaves = len(regions.winner) // 2
    for region in range(count):
        regions.winner[leaves + region] = region if regions.state[region] == WAITS else -1
    for slot in range(leaves - 1, 0, -1):
        regions.winner[slot] = _better(regions.winner[2 * slot], regions.winner[2 * slot + 1], regions)


@inlined
def _score(region: int, cutting: Cutting, cells: ProductCells, regions: RegionQueue) -> float:
    if cutting.widest:
        return float64(regions.loss[region])
    price = 1.0 + cutting.thrift * regions.failing[region]
    if cutting.per_anonymity:
        price += cells.counters[LEAST] - min(cells.counters[LEAST], regions.least[region])
    return float64(regions.saved[region] / price)


@inlined
def _key(region: int, cutting: Cutting, cells: ProductCells, regions: RegionQueue) -> float:
    """Return the score of the last time, or before the first time one that the region cannot exceed."""
    if regions.version[region] < 0 and not cutting.widest:
        return float64(regions.ceiling[region])
    return _score(region, cutting, cells, regions)


@kernel
def specialize(
    work: int, layout: SortedAttributes, space: Space, nodes: Nodes, rules: RuleArrays, cutting: Cutting,
    cells: ProductCells, regions: RegionQueue, sweep: Sweep,
) -> bool:  # fmt: skip
    """Cut until nothing can be cut, or until `work` records have been looked at; tells whether nothing is left."""
    while work > 0:
        region = regions.winner[1]
        if region < 0:
            if cells.counters[REVIVE] == 0:
                return True
            _revive(cutting, cells, regions)
            continue
        begin, end = bounds_of(
            regions.attribute[region], regions.low[region], regions.stop[region], layout, space
        )  # fmt: skip
        work -= end - begin + 10
        if regions.version[region] == cells.counters[VERSION]:
            _cut(region, layout, space, nodes, rules, cutting, cells, regions)
        else:
            _weigh(region, layout, space, nodes, rules, cutting, cells, regions, sweep)
    return False


@kernel
def _weigh(
    region: int, layout: SortedAttributes, space: Space, nodes: Nodes, rules: RuleArrays, cutting: Cutting,
    cells: ProductCells, regions: RegionQueue, sweep: Sweep,
) -> None:  # fmt: skip
    attribute, low, stop = regions.attribute[region], regions.low[region], regions.stop[region]
    loss = regions.loss[region]
    if is_tree(attribute, space):
        allowed, saved, least, failing = weigh_children(
            attribute, low, stop, regions.node[region], loss, layout, space, nodes, rules, cutting, cells
        )  # fmt: skip
    else:
        place, saved, least, failing = weigh_places(
            attribute, low, stop, loss, layout, space, rules, cutting, cells, sweep
        )  # fmt: skip
        allowed = place != NO_PLACE
        regions.place[region] = place
    regions.version[region] = cells.counters[VERSION]
    regions.saved[region], regions.least[region], regions.failing[region] = saved, least, failing
    if allowed:
        regions.key[region] = _score(region, cutting, cells, regions)
    else:
        regions.state[region] = GIVEN_UP
        cells.counters[SETTLED] += 1
    _enter(region, regions)


@kernel
def _cut(
    region: int, layout: SortedAttributes, space: Space, nodes: Nodes, rules: RuleArrays, cutting: Cutting,
    cells: ProductCells, regions: RegionQueue,
) -> None:  # fmt: skip
    attribute, stop = regions.attribute[region], regions.stop[region]
    least, left = cells.counters[LEAST], cells.counters[LEFT]
    regions.state[region] = CUT
    cells.counters[SETTLED] += 1
    cells.counters[CUTS] += 1
    _enter(region, regions)
    if is_tree(attribute, space):
        node = regions.node[region]
        for child in range(part_count(attribute, node, stop, layout, nodes)):
            low, end, part = tree_part(attribute, node, child, layout, nodes)
            _part(region, low, end, part, layout, space, nodes, rules, cutting, cells, regions)
    else:
        present = min(stop, layout.sizes[attribute])
        middle = regions.place[region] + 1
        _part(region, regions.low[region], middle, ROOT, layout, space, nodes, rules, cutting, cells, regions)
        if middle < present:
            _part(region, middle, present, ROOT, layout, space, nodes, rules, cutting, cells, regions)
        if present < stop:
            _part(region, present, stop, LEAF, layout, space, nodes, rules, cutting, cells, regions)
    cells.counters[VERSION] += 1
    if cells.counters[LEFT] != left:
        count_least(cells)
    if cells.counters[LEAST] != least and cutting.per_anonymity:
        _renew(cutting, cells, regions)


@kernel
def _part(
    region: int, low: int, stop: int, node: int, layout: SortedAttributes, space: Space, nodes: Nodes,
    rules: RuleArrays, cutting: Cutting, cells: ProductCells, regions: RegionQueue,
) -> None:  # fmt: skip
    """Make one part of a region that is cut a region."""
    attribute = regions.attribute[region]
    touched = collect(attribute, low, stop, layout, space, cells)
    if cells.counters[LEFT] > 0:
        judge(attribute, low, stop, touched, cutting.smallest, cutting.ruled, layout, space, rules, cells)
    else:
        cells.fails[:touched] = False
    loss = range_loss(attribute, low, stop, layout, space)
    move(attribute, low, stop, touched, regions.loss[region], loss, layout, space, cells)
    forget(touched, cells)
    add_region(attribute, low, stop, node, layout, space, nodes, cutting, cells, regions)


@kernel
def _renew(cutting: Cutting, cells: ProductCells, regions: RegionQueue) -> None:
    """Give all regions that wait their keys anew, as the size of the smallest cell is in them."""
    for region in range(cells.counters[REGIONS]):
        if regions.state[region] == WAITS:
            regions.key[region] = _key(region, cutting, cells, regions)
    _play_all(regions, cells.counters[REGIONS])


@kernel
def _revive(cutting: Cutting, cells: ProductCells, regions: RegionQueue) -> None:
    """Let the regions wait again that were given up: with fewer records some of them may be cut."""
    cells.counters[REVIVE] = 0
    for region in range(cells.counters[REGIONS]):
        can_be_cut = regions.node[region] != LEAF and regions.stop[region] - regions.low[region] > 1
        if regions.state[region] == GIVEN_UP and can_be_cut and regions.version[region] >= 0:
            regions.state[region] = WAITS
            regions.version[region] = -1
            regions.key[region] = _key(region, cutting, cells, regions)
            cells.counters[SETTLED] -= 1
    _play_all(regions, cells.counters[REGIONS])


@kernel
def region_of_codes(layout: SortedAttributes, space: Space, cells: ProductCells, regions: RegionQueue) -> Any:
    """Find the region that each code is published as, int32 (M,)."""
    found = np.zeros(space.offsets[-1], np.int32)
    for region in range(cells.counters[REGIONS]):
        if regions.state[region] != CUT:
            first = space.offsets[regions.attribute[region]]
            found[first + regions.low[region] : first + regions.stop[region]] = region
    return found
