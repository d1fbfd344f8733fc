"""What cutting one region of an attribute across the whole table would bring, and whether it is allowable.

Letters: q quasi-identifying attributes, m distinct records, M codes of all attributes together, r regions, t nodes.

A region that is a node of a hierarchy is cut into all its children; any other region in two. A root that holds missing
and present values gives the missing value a region of its own when it is cut.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

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
    cell_range_loss,
    clear_part,
    collect,
    count_in,
    count_least,
    group,
    judge,
    move,
)
from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.predicates import RuleArrays, holds
from sfumato.kernels.types import NUMERIC, TREE, Flags, Floats, Int64s, Space, float64, int64

BEST = 0  # where the loss falls most
MEDIAN = 1  # after the lower median
FALLBACK = 2  # after the lower median or before it, the allowable one that is closer to half

NO_PLACE = -1
ROOT = -1
LEAF = -2


class Cutting(NamedTuple):
    """How regions are cut."""

    smallest: int  # records that every cell needs at least (k, or 1)
    ruled: bool  # whether some rule looks at more than the size
    place: int  # BEST, MEDIAN or FALLBACK
    widest: bool  # cut the widest region first instead of the one with the best score
    per_anonymity: bool  # divide what a cut saves by what it takes from the smallest cell, plus 1
    thrift: float  # divide what a cut saves by so many times the records that it suppresses, plus 1, too
    # penalties of suppression are added up as whole multiples of 1 / scale, so that their order does not count
    scale: float


class Nodes(NamedTuple):
    """The nodes below the roots of all hierarchies; the children of a node stand together."""

    # `low`, `stop`: (t,): codes ``low .. stop-1``.
    low: Int64s
    stop: Int64s
    # `first`, `last`: (t,): children ``first .. last-1``.
    first: Int64s
    last: Int64s
    # `root_first`, `root_last`: (q,): children of the roots
    root_first: Int64s
    root_last: Int64s


class Sweep(NamedTuple):
    """Buffers for weighing every place of a region at once, by differences between neighbouring places."""

    given_up: Flags  # (M,): places where no cut will ever be allowable again; kept from call to call
    open: Int64s  # (largest cardinality + 2,): places before each that are worth looking at
    # `breaks`, `left`, `right`, `penalty`: same length: parts that fail, records in failing left and right parts, and
    # what suppressing them costs
    breaks: Int64s
    left: Int64s
    right: Int64s
    penalty: Int64s
    present: Int64s  # same length: published records with each code


@kernel
def new_sweep(space: Space) -> Sweep:
    """Allocate the buffers."""
    largest = 0
    for attribute in range(len(space.kinds)):
        largest = max(largest, space.offsets[attribute + 1] - space.offsets[attribute])
    size = largest + 2
    return Sweep(
        np.zeros(space.offsets[-1], np.bool_),
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
    )


@inlined
def cost_of_suppressing(cell: int, records: int, everything: float, cutting: Cutting, cells: ProductCells) -> int:
    """Return what the loss grows by when records of a cell are suppressed, in multiples of 1 / scale."""
    return records * int64((everything - cells.loss[cell]) * cutting.scale)


@kernel
def weigh_children(
    attribute: int, low: int, stop: int, node: int, loss: float, layout: SortedAttributes, space: Space, nodes: Nodes,
    rules: RuleArrays, cutting: Cutting, cells: ProductCells,
) -> tuple[bool, float, int, int]:  # fmt: skip
    """Weigh the cut of a node into its children: whether it is allowable, what it saves, its smallest cell.

    Last comes how many records it suppresses. Cost O(records of the region), plus O(v) per cell that is cut.
    """
    everything = space.weights.sum()
    saved = 0.0
    penalty = int64(0)
    failing = int64(0)
    least = int64(2**62)
    for child in range(region_count(attribute, node, stop, layout, nodes)):
        part_low, part_stop, _ = tree_part(attribute, node, child, layout, nodes)
        touched = collect(attribute, part_low, part_stop, layout, space, cells)
        judge(
            attribute, part_low, part_stop, touched, cutting.smallest, cutting.ruled, layout, space, rules, cells
        )  # fmt: skip
        kept = int64(0)
        empty = False
        for index in range(touched):
            cell = cells.touched[index]
            if cells.fails[index]:
                empty = empty or cells.part[cell] == 0
                failing += cells.part[cell]
                penalty += cost_of_suppressing(cell, cells.part[cell], everything, cutting, cells)
            else:
                kept += cells.part[cell]
                least = min(least, cells.part[cell])
        clear_part(touched, cells)
        if empty or failing > cells.counters[LEFT]:
            return False, 0.0, 0, 0
        saved += kept * (loss - cell_range_loss(attribute, part_low, part_stop, layout, space))
    saved -= penalty / cutting.scale
    return failing == 0 or saved > 0, saved, least, failing


@inlined
def region_count(attribute: int, node: int, stop: int, layout: SortedAttributes, nodes: Nodes) -> int:
    """Into how many regions a node is cut; the missing value is one."""
    if node != ROOT:
        return int64(nodes.last[node] - nodes.first[node])
    children = max(1, nodes.root_last[attribute] - nodes.root_first[attribute])
    return int64(children + (1 if stop > layout.sizes[attribute] else 0))


@inlined
def tree_part(attribute: int, node: int, child: int, layout: SortedAttributes, nodes: Nodes) -> tuple[int, int, int]:
    """First code, end and node of a part; LEAF for what cannot be cut again."""
    if node == ROOT:
        first, last = nodes.root_first[attribute], nodes.root_last[attribute]
        if first == last and child == 0:
            return 0, layout.sizes[attribute], LEAF
        if child >= last - first:
            return layout.sizes[attribute], layout.sizes[attribute] + 1, LEAF
    else:
        first = nodes.first[node]
    part = first + child
    return nodes.low[part], nodes.stop[part], (part if nodes.last[part] > nodes.first[part] else LEAF)


@kernel
def weigh_places(
    attribute: int, low: int, stop: int, loss: float, layout: SortedAttributes, space: Space, rules: RuleArrays,
    cutting: Cutting, cells: ProductCells, sweep: Sweep,
) -> tuple[int, float, int, int]:  # fmt: skip
    """Weigh every cut of a region in two, and choose a place.

    Returns the last code on the left (NO_PLACE), what the cut saves, its smallest cell, records that it suppresses.
    Each cell of the region says between which codes a cut would break it. Cost O(records and codes of the region), plus
    O(v) per record where a rule looks at sensitive values.
    """
    end = min(stop, layout.sizes[attribute])
    touched = collect(attribute, low, stop, layout, space, cells)
    group(attribute, low, stop, touched, layout, space, cells)
    for code in range(stop - low + 1):
        sweep.breaks[code] = sweep.left[code] = sweep.right[code] = sweep.penalty[code] = sweep.present[code] = 0
    _count_present(attribute, low, touched, layout, cells, sweep)
    places = _places(attribute, low, stop, end, layout, space, cutting, sweep)
    _open_places(attribute, low, end, places, space, cutting, cells, sweep)
    missing_fails = int64(0)
    if sweep.open[end - low] > 0:
        for index in range(touched):
            lost = _judge_cell(
                attribute, low, end, cells.touched[index], layout, space, rules, cutting, cells, sweep
            )  # fmt: skip
            if lost < 0:
                missing_fails = int64(-1)
                break
            missing_fails += lost
    place, saved, failing = NO_PLACE, 0.0, int64(0)
    if missing_fails >= 0:
        place, saved, failing = _choose(
            attribute, low, stop, end, places, missing_fails, loss, layout, space, cutting, cells, sweep
        )  # fmt: skip
    least = int64(0)
    if place != NO_PLACE and cutting.per_anonymity:
        least = _smallest_at(attribute, end, place, touched, layout, cutting, cells)
    clear_part(touched, cells)
    return place, saved, least, failing


@inlined
def _count_present(
    attribute: int, low: int, touched: int, layout: SortedAttributes, cells: ProductCells, sweep: Sweep
) -> None:
    if touched == 0:
        return
    for place in range(cells.ends[cells.touched[touched - 1]]):
        record = cells.grouped[place]
        sweep.present[layout.codes[attribute, record] - low] += layout.weights[record]


@inlined
def _places(
    attribute: int, low: int, stop: int, end: int, layout: SortedAttributes, space: Space, cutting: Cutting,
    sweep: Sweep,
) -> tuple[int, int, int]:  # fmt: skip
    """Return the places of the median rules in order, NO_PLACE for none; not read by BEST. Ends: codes rise."""
    if cutting.place == BEST:
        return NO_PLACE, NO_PLACE, NO_PLACE
    size = int64(0)
    for code in range(low, end):
        size += sweep.present[code - low]
    median = low
    below = int64(0)
    while median < end - 1 and 2 * (below + sweep.present[median - low]) < size:
        below += sweep.present[median - low]
        median += 1
    up_to = below + sweep.present[median - low]
    alone = end - 1 if stop > end else NO_PLACE
    if cutting.place == MEDIAN:
        return median, NO_PLACE, NO_PLACE
    if abs(2 * below - size) < abs(2 * up_to - size):
        return median - 1, median, alone
    return median, median - 1, alone


@inlined
def _open_places(
    attribute: int, low: int, end: int, places: tuple[int, int, int], space: Space, cutting: Cutting,
    cells: ProductCells, sweep: Sweep,
) -> None:  # fmt: skip
    """Count the places that are worth looking at: wanted, and not given up."""
    first = space.offsets[attribute]
    sweep.open[0] = 0
    for code in range(low, end):
        is_open = cutting.place == BEST or code == places[0] or code == places[1] or code == places[2]
        given_up = cells.counters[LEFT] == 0 and sweep.given_up[first + code]
        sweep.open[code - low + 1] = sweep.open[code - low] + (1 if is_open and not given_up else 0)


@kernel
def _judge_cell(
    attribute: int, low: int, end: int, cell: int, layout: SortedAttributes, space: Space, rules: RuleArrays,
    cutting: Cutting, cells: ProductCells, sweep: Sweep,
) -> int:  # fmt: skip
    """Mark the places where a cut would break this cell; returns the records of a missing part that fails, or −1.

    −1: it cannot be suppressed, so that no cut is allowable. Ends: places fall.
    """
    begin, stop = cells.ends[cell] - cells.found[cell], cells.ends[cell]
    present = stop
    while present > begin and layout.codes[attribute, cells.grouped[present - 1]] >= end:
        present -= 1
    if present == begin:
        return 0
    missing = int64(0)
    for place in range(present, stop):
        missing += layout.weights[cells.grouped[place]]
    size = cells.part[cell] - missing
    fine = True
    if present < stop:
        fine = _holds_between(present, stop, missing, layout, rules, cutting, cells)
        if not fine and (missing == 0 or missing > cells.counters[LEFT]):
            return -1
    if cutting.ruled:
        cells.whole[:] = 0
        cells.left[:] = 0
        for place in range(begin, present):
            count_in(cells.grouped[place], cells.whole, layout, rules)
    everything = space.weights.sum()
    code = layout.codes[attribute, cells.grouped[begin]]
    if present < stop:
        last = layout.codes[attribute, cells.grouped[present - 1]]
        whole_holds = size >= cutting.smallest
        if whole_holds and cutting.ruled:
            whole_holds = holds(size, cells.whole, rules, cells.scratch)
        if not whole_holds:
            _mark(low, code, False, size, cell, everything, low, cutting, cells, sweep)
            _mark(last, end, True, size, cell, everything, low, cutting, cells, sweep)
        if not fine:
            cost = cost_of_suppressing(cell, missing, everything, cutting, cells)
            sweep.penalty[0] += cost
            sweep.penalty[end - low] -= cost
    below = int64(0)
    for place in range(begin, present):
        record = cells.grouped[place]
        following = layout.codes[attribute, record]
        if following != code:
            if sweep.open[following - low] > sweep.open[code - low]:
                _judge_gap(low, code, following, below, size - below, cell, everything, rules, cutting, cells, sweep)
            code = following
        below += layout.weights[record]
        if cutting.ruled:
            count_in(record, cells.left, layout, rules)
    return 0 if fine else missing


@inlined
def _holds_between(
    begin: int, stop: int, size: int, layout: SortedAttributes, rules: RuleArrays, cutting: Cutting, cells: ProductCells
) -> bool:
    if size < cutting.smallest:
        return False
    if not cutting.ruled:
        return True
    cells.whole[:] = 0
    for place in range(begin, stop):
        count_in(cells.grouped[place], cells.whole, layout, rules)
    return holds(size, cells.whole, rules, cells.scratch)


@inlined
def _judge_gap(
    low: int, code: int, following: int, below: int, above: int, cell: int, everything: float, rules: RuleArrays,
    cutting: Cutting, cells: ProductCells, sweep: Sweep,
) -> None:  # fmt: skip
    """Judge both sides of a cut between two neighbouring codes of a cell, for all places between them."""
    left_holds = below >= cutting.smallest
    right_holds = above >= cutting.smallest
    if cutting.ruled:
        if left_holds:
            left_holds = holds(below, cells.left, rules, cells.scratch)
        # Without a limit for suppression one failing side is enough.
        if right_holds and (left_holds or cells.counters[LEFT] > 0):
            for value in range(len(cells.whole)):
                cells.right[value] = cells.whole[value] - cells.left[value]
            right_holds = holds(above, cells.right, rules, cells.scratch)
    if not left_holds:
        _mark(code, following, True, below, cell, everything, low, cutting, cells, sweep)
    if not right_holds:
        _mark(code, following, False, above, cell, everything, low, cutting, cells, sweep)


@inlined
def _mark(
    start: int, stop: int, is_left: bool, records: int, cell: int, everything: float, low: int, cutting: Cutting,
    cells: ProductCells, sweep: Sweep,
) -> None:  # fmt: skip
    """Note for the places ``start .. stop-1`` that a part of the cell fails."""
    if cells.counters[LEFT] == 0 or records == 0:
        # More than can ever be suppressed.
        sweep.breaks[start - low] += 1
        sweep.breaks[stop - low] -= 1
        return
    cost = cost_of_suppressing(cell, records, everything, cutting, cells)
    sweep.penalty[start - low] += cost
    sweep.penalty[stop - low] -= cost
    side = sweep.left if is_left else sweep.right
    side[start - low] += records
    side[stop - low] -= records


@kernel
def _choose(
    attribute: int, low: int, stop: int, end: int, places: tuple[int, int, int], missing_fails: int, loss: float,
    layout: SortedAttributes, space: Space, cutting: Cutting, cells: ProductCells, sweep: Sweep,
) -> tuple[int, float, int]:  # fmt: skip
    """Choose among the allowable places; those that break a cell for good are given up."""
    first = space.offsets[attribute]
    size = int64(0)
    for code in range(low, end):
        size += sweep.present[code - low]
    missing = sweep.present[end - low] if stop > end else int64(0)
    aside = (missing - missing_fails) * loss
    chosen, best, best_score, suppressed = NO_PLACE, 0.0, -math.inf, int64(0)
    rank = 3
    breaks = left_fails = right_fails = penalty = below = int64(0)
    for code in range(low, end):
        place = code - low
        breaks += sweep.breaks[place]
        left_fails += sweep.left[place]
        right_fails += sweep.right[place]
        penalty += sweep.penalty[place]
        below += sweep.present[place]
        if breaks > 0:
            sweep.given_up[first + code] = sweep.given_up[first + code] or cells.counters[LEFT] == 0
            continue
        if sweep.open[place + 1] == sweep.open[place]:
            continue
        if code == end - 1 and (stop == end or (space.kinds[attribute] != NUMERIC and end - low > 1)):
            continue
        failing = missing_fails + left_fails + right_fails
        if failing > cells.counters[LEFT]:
            continue
        left_loss = cell_range_loss(attribute, low, code + 1, layout, space)
        right_loss = cell_range_loss(attribute, code + 1, end, layout, space) if code + 1 < end else 0.0
        saved = (below - left_fails) * (loss - left_loss) + (size - below - right_fails) * (loss - right_loss) + aside
        saved -= penalty / cutting.scale
        if failing > 0 and saved <= 0:
            continue
        if cutting.place == BEST:
            score = saved / (1.0 + cutting.thrift * failing)
            if score > best_score:
                chosen, best, best_score, suppressed = code, saved, score, failing
            continue
        wish = 0 if code == places[0] else (1 if code == places[1] else 2)
        if wish < rank:
            chosen, best, suppressed, rank = code, saved, failing, wish
    return chosen, best, suppressed


@inlined
def _smallest_at(
    attribute: int, end: int, place: int, touched: int, layout: SortedAttributes, cutting: Cutting, cells: ProductCells
) -> int:
    """Count the smallest part that a cut leaves; parts below the smallest size are going to be suppressed."""
    least = int64(2**62)
    for index in range(touched):
        cell = cells.touched[index]
        below = int64(0)
        above = int64(0)
        for position in range(cells.ends[cell] - cells.found[cell], cells.ends[cell]):
            record = cells.grouped[position]
            code = layout.codes[attribute, record]
            if code <= place:
                below += layout.weights[record]
            elif code < end:
                above += layout.weights[record]
        rest = cells.part[cell] - below - above
        for part in (below, above, rest):
            if part >= cutting.smallest:
                least = min(least, part)
    return least


@inlined
def is_tree(attribute: int, space: Space) -> bool:
    """Whether regions of the attribute are nodes of a hierarchy."""
    return bool(space.kinds[attribute] == TREE)


# Top-down search among cuts that go across the whole table: the best region first, until none can be cut.
#
# Letters: q quasi-identifying attributes, m distinct records, r regions.
#
# What a cut saves and whether it is allowable only gets worse as other cuts are made, as long as nothing is suppressed.
# So regions wait in a tournament under the score of the last time, and only the winner is weighed anew; it is cut when
# it still wins. Where the score of a region has risen (records that stood in its way were suppressed, the place of its
# cut had to be given up for one that leaves a larger smallest cell) it is cut later than it might have been.


WAITS = 0  # may still be cut
GIVEN_UP = 1  # cannot be cut, and is published
CUT = 2  # its parts are regions


class RegionQueue(NamedTuple):
    """All regions that there are or were, and the tournament among those that wait."""

    # `attribute`, `low`, `stop`, `node`: (r,): codes ``low .. stop-1``; the node of a hierarchy, ROOT, or LEAF for what
    # cannot be cut.
    attribute: Int64s
    low: Int64s
    stop: Int64s
    node: Int64s
    loss: Floats  # (r,): weighted loss of a cell that publishes the region
    ceiling: Floats  # (r,): the most that a cut can save
    saved: Floats  # (r,): what the cut saved when it was last weighed
    least: Int64s  # (r,): the smallest cell that it left then
    failing: Int64s  # (r,): records that had to be suppressed for it then
    place: Int64s  # (r,): where the region would be cut
    version: Int64s  # (r,): how many cuts had been made then, −1 before the first time
    state: Int64s  # (r,): WAITS, GIVEN_UP or CUT
    key: Floats  # (r,): the score of the last time, or a bound on it
    winner: Int64s  # (2 leaves,): the tournament; entry 1 is the best region, −1 stands for none


@kernel
def new_regions(layout: SortedAttributes, space: Space, nodes: Nodes) -> RegionQueue:
    """Make room for all regions that can be: nodes, roots, and ranges of codes, which halve. Ends: the size doubles."""
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
    """Let a region wait; one that cannot be cut, or has no record, is settled. Capacity: as `new_regions` says."""
    region = cells.counters[REGIONS]
    cells.counters[REGIONS] += 1
    regions.attribute[region], regions.low[region], regions.stop[region] = attribute, low, stop
    regions.node[region] = node
    regions.loss[region] = cell_range_loss(attribute, low, stop, layout, space)
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
    """Play the region's matches up to the root of the tournament. Ends: each round climbs a level of the tournament."""
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
    """Cut until nothing can be cut, or until `work` records have been looked at; tells whether nothing is left.

    Ends: each round lowers `work`; nothing is cut between two that do not, and regions wait again only after a cut.
    """
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
        for child in range(region_count(attribute, node, stop, layout, nodes)):
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
    loss = cell_range_loss(attribute, low, stop, layout, space)
    move(attribute, low, stop, touched, regions.loss[region], loss, layout, space, cells)
    clear_part(touched, cells)
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
