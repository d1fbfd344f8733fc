"""Bottom-up search: the children of one node after the other are published as the node, until every cell holds.

Letters: q quasi-identifying attributes, m distinct records, M codes of all attributes together, t nodes of all trees,
roots and missing values among them.

Cells carry a hash of their nodes, a sum over attributes, so that a cell's hash after a merge is found without looking
at the other attributes; equal hashes are then compared node by node.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sfumato.kernels.global_cuts.product_cells import SortedAttributes, bounds_of, count_in
from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.predicates import RuleArrays, holds
from sfumato.kernels.types import Flags, Floats, Int32s, Int64s, Space, int64

BELOW = 0  # some child is not published yet
CANDIDATE = 1  # all children are published
PUBLISHED = 2  # it is published, or an ancestor is

MERGES = 0  # how many merges were made
CHOSEN = 1  # after how many of them the loss was least, −1 while no state is allowable
FAILING = 2  # records in cells that fail
PENALTY = 3  # what suppressing them adds to the loss, in multiples of 1 / scale
COUNTERS = 4

PRIME = 2**61 - 1


class HierarchyForest(NamedTuple):
    """The trees of all attributes, a missing value being a child of its root."""

    # `attribute`, `low`, `stop`: (t,): codes ``low .. stop-1`` of an attribute.
    attribute: Int64s
    low: Int64s
    stop: Int64s
    parent: Int64s  # (t,): −1 for a root
    children: Int64s  # (t,): number of children
    loss: Floats  # (t,): weighted loss of a cell that publishes the node
    cost: Floats  # (t,): what the loss of the table grows by when the node replaces its children
    hash: Int64s  # (t,): random, below PRIME


class Merging(NamedTuple):
    """The state of the search, and buffers."""

    # `smallest`, `ruled`, `limit`, `scale`: records that every cell needs; whether a rule looks at more than sizes;
    # records that may be suppressed; penalties are whole multiples of 1 / scale
    smallest: int
    ruled: bool
    limit: int
    scale: float
    # `state`, `waiting`, `weighed`: (t,): state of each node, children that are not published yet, merges when it was
    # last weighed
    state: Int64s
    waiting: Int64s
    weighed: Int64s
    score: Floats  # (t,): loss per gained anonymity of each candidate when it was last weighed
    node_of: Int32s  # (M,): the node that each code is published as
    merged: Int64s  # (t,): nodes in the order in which they were published
    total: Floats  # (2,): loss of the table without suppression; least loss of an allowable state
    counters: Int64s  # see the constants of this module
    # `of_record`, `member`: (m,): cell of each record, and a record of each cell
    of_record: Int32s
    member: Int32s
    # `sizes`, `hash`: (m,): original records and hash of each cell
    sizes: Int64s
    hash: Int64s
    fails: Flags  # (m,): whether each cell breaks a rule
    loss: Floats  # (m,): weighted loss of a record of each cell
    slots: Int32s  # (power of 2,): groups by hash, −1 where free
    # `touched`, `group_of`, `group_member`, `group_slot`: (m,): cells under a node; group of each cell, −1 between
    # uses; first cell and slot of each group
    touched: Int32s
    group_of: Int32s
    group_member: Int32s
    group_slot: Int32s
    # `group_size`, `group_failing`, `group_end`: (m + 1,): original records, failing cells, end in `grouped`
    group_size: Int64s
    group_failing: Int64s
    group_end: Int64s
    group_fails: Flags  # (m,)
    grouped: Int32s  # (m,): records group by group
    counts: Int64s  # (v,): sensitive counts
    scratch: Floats  # for the rules


@kernel
def start_merging(
    smallest: int, ruled: bool, limit: int, scale: float, of_record: Int32s, count: int,
    layout: SortedAttributes, space: Space, rules: RuleArrays, forest: HierarchyForest,
) -> Merging:  # fmt: skip
    """Publish every leaf. of_record : int32 (m,), its cell then; count : of cells. Ends: the size doubles."""
    m, t = len(layout.weights), len(forest.low)
    room = 16
    while room < 2 * m:
        room *= 2
    merging = Merging(
        smallest,
        ruled,
        limit,
        scale,
        np.zeros(t, np.int64),
        forest.children.copy(),
        np.full(t, -1, np.int64),
        np.zeros(t, np.float64),
        np.zeros(space.offsets[-1], np.int32),
        np.zeros(t, np.int64),
        np.zeros(2, np.float64),
        np.zeros(COUNTERS, np.int64),
        of_record,
        np.zeros(m, np.int32),
        np.zeros(m, np.int64),
        np.zeros(m, np.int64),
        np.zeros(m, np.bool_),
        np.zeros(m, np.float64),
        np.full(room, -1, np.int32),
        np.zeros(m, np.int32),
        np.full(m, -1, np.int32),
        np.zeros(m, np.int32),
        np.zeros(m, np.int32),
        np.zeros(m + 1, np.int64),
        np.zeros(m + 1, np.int64),
        np.zeros(m + 1, np.int64),
        np.zeros(m, np.bool_),
        np.zeros(m, np.int32),
        np.zeros(rules.offsets[-1], np.int64),
        np.zeros(rules.scratch_size + 1, np.float64),
    )
    merging.counters[CHOSEN] = -1
    merging.total[1] = math.inf
    for node in range(t):
        if forest.children[node] == 0:
            _publish(node, space, forest, merging)
    for attribute in range(len(space.kinds)):
        first = space.offsets[attribute]
        for code in range(layout.cardinalities[attribute]):
            begin, end = bounds_of(attribute, code, code + 1, layout, space)
            records = 0
            for place in range(begin, end):
                records += layout.weights[layout.rows[attribute, place]]
            merging.total[0] += records * forest.loss[merging.node_of[first + code]]
    _fill_cells(count, layout, space, rules, forest, merging)
    return merging


@inlined
def _publish(node: int, space: Space, forest: HierarchyForest, merging: Merging) -> None:
    merging.state[node] = PUBLISHED
    first = space.offsets[forest.attribute[node]]
    merging.node_of[first + forest.low[node] : first + forest.stop[node]] = node
    parent = forest.parent[node]
    if parent >= 0:
        merging.waiting[parent] -= 1
        if merging.waiting[parent] == 0:
            merging.state[parent] = CANDIDATE


@kernel
def _fill_cells(
    count: int, layout: SortedAttributes, space: Space, rules: RuleArrays, forest: HierarchyForest, merging: Merging
) -> None:  # fmt: skip
    """Describe each cell, and list its records. Capacity: each record once."""
    for record in range(len(layout.weights)):
        cell = merging.of_record[record]
        merging.member[cell] = record
        merging.sizes[cell] += layout.weights[record]
        merging.group_end[cell + 1] += 1
    for cell in range(count):
        merging.group_end[cell + 1] += merging.group_end[cell]
        for attribute in range(len(space.kinds)):
            node = _node_at(attribute, merging.member[cell], layout, space, merging)
            merging.hash[cell] = (merging.hash[cell] + forest.hash[node]) % PRIME
            merging.loss[cell] += forest.loss[node]
    ends = merging.group_end[:count].copy()
    for record in range(len(layout.weights)):
        cell = merging.of_record[record]
        merging.grouped[ends[cell]] = record
        ends[cell] += 1
    for cell in range(count):
        merging.fails[cell] = not _holds(
            merging.group_end[cell], merging.group_end[cell + 1], merging.sizes[cell], layout, rules, merging
        )
        if merging.fails[cell]:
            _charge(cell, 1, space, merging)


@inlined
def _node_at(attribute: int, record: int, layout: SortedAttributes, space: Space, merging: Merging) -> int:
    return int64(merging.node_of[space.offsets[attribute] + layout.codes[attribute, record]])


@inlined
def _holds(begin: int, end: int, size: int, layout: SortedAttributes, rules: RuleArrays, merging: Merging) -> bool:
    """Tell whether the records ``grouped[begin:end]`` hold as one cell."""
    if size < merging.smallest:
        return False
    if not merging.ruled:
        return True
    merging.counts[:] = 0
    for place in range(begin, end):
        count_in(merging.grouped[place], merging.counts, layout, rules)
    return holds(size, merging.counts, rules, merging.scratch)


@inlined
def _charge(cell: int, sign: int, space: Space, merging: Merging) -> None:
    """Count a failing cell in, or out."""
    everything = space.weights.sum()
    merging.counters[FAILING] += sign * max(merging.sizes[cell], 1)
    penalty = merging.sizes[cell] * int64((everything - merging.loss[cell]) * merging.scale)
    merging.counters[PENALTY] += sign * penalty


@kernel
def merge(
    work: int, layout: SortedAttributes, space: Space, rules: RuleArrays, forest: HierarchyForest, merging: Merging
) -> bool:  # fmt: skip
    """Merge until every cell holds, or for `work` records; tells whether the search is over. Ends: `work` falls."""
    while work > 0:
        _note_state(merging)
        if merging.counters[FAILING] == 0:
            return True
        node = _least(forest, merging)
        if node < 0:
            return True
        begin, end = bounds_of(forest.attribute[node], forest.low[node], forest.stop[node], layout, space)
        work -= end - begin + len(forest.low) // 8 + 10
        touched, groups = _group(node, layout, space, forest, merging)
        gained = _judge(node, touched, groups, layout, space, rules, forest, merging)
        if merging.weighed[node] == merging.counters[MERGES]:
            _apply(node, touched, layout, space, forest, merging)
        else:
            merging.weighed[node] = merging.counters[MERGES]
            merging.score[node] = forest.cost[node] / (1.0 + gained)
        _forget(touched, groups, merging)
    return False


@inlined
def _note_state(merging: Merging) -> None:
    """Remember the state with the least loss among those that suppression within the limit makes allowable."""
    if merging.counters[FAILING] <= merging.limit:
        total = merging.total[0] + merging.counters[PENALTY] / merging.scale
        if total < merging.total[1]:
            merging.total[1] = total
            merging.counters[CHOSEN] = merging.counters[MERGES]


@inlined
def _least(forest: HierarchyForest, merging: Merging) -> int:
    """Find the candidate with the least score; not weighed ones first; ties by attribute, then by codes."""
    best = -1
    for node in range(len(forest.low)):
        if merging.state[node] == CANDIDATE:
            if merging.weighed[node] < 0:
                return node
            if best < 0 or merging.score[node] < merging.score[best]:
                best = node
    return best


@kernel
def _group(
    node: int, layout: SortedAttributes, space: Space, forest: HierarchyForest, merging: Merging
) -> tuple[int, int]:
    """Group the cells that a node would make one, in buffers; returns cells and groups.

    Ends: slots are half empty. Capacity: each cell is touched once, and opens one group at most.
    """
    attribute = forest.attribute[node]
    begin, end = bounds_of(attribute, forest.low[node], forest.stop[node], layout, space)
    touched, groups = 0, 0
    for place in range(begin, end):
        record = layout.rows[attribute, place]
        cell = merging.of_record[record]
        if merging.group_of[cell] >= 0:
            continue
        merging.touched[touched] = cell
        touched += 1
        own = _node_at(attribute, record, layout, space, merging)
        key = (merging.hash[cell] - forest.hash[own] + forest.hash[node]) % PRIME
        slot = key & (len(merging.slots) - 1)
        while merging.slots[slot] >= 0 and not _same(
            merging.group_member[merging.slots[slot]], cell, attribute, layout, space, merging
        ):
            slot = (slot + 1) & (len(merging.slots) - 1)
        if merging.slots[slot] < 0:
            merging.slots[slot] = groups
            merging.group_slot[groups] = slot
            merging.group_member[groups] = cell
            merging.group_size[groups] = 0
            merging.group_failing[groups] = 0
            groups += 1
        found = merging.slots[slot]
        merging.group_of[cell] = found
        merging.group_size[found] += merging.sizes[cell]
        merging.group_failing[found] += 1 if merging.fails[cell] else 0
    return touched, groups


@inlined
def _same(one: int, other: int, but: int, layout: SortedAttributes, space: Space, merging: Merging) -> bool:
    """Whether two cells publish the same nodes on all attributes but one."""
    first, second = merging.member[one], merging.member[other]
    for attribute in range(len(space.kinds)):
        if attribute != but:
            node = _node_at(attribute, first, layout, space, merging)
            if node != _node_at(attribute, second, layout, space, merging):
                return False
    return True


@kernel
def _judge(
    node: int, touched: int, groups: int, layout: SortedAttributes, space: Space, rules: RuleArrays,
    forest: HierarchyForest, merging: Merging,
) -> int:  # fmt: skip
    """Judge every group; returns how many failing cells there would be less."""
    if merging.ruled:
        _lay_out(node, groups, layout, space, forest, merging)
    gained = 0
    for group in range(groups):
        merging.group_fails[group] = False
        if merging.group_failing[group] == 0:
            continue
        begin = merging.group_end[group - 1] if group > 0 else 0
        size = merging.group_size[group]
        merging.group_fails[group] = not _holds(begin, merging.group_end[group], size, layout, rules, merging)
        gained += merging.group_failing[group] - (1 if merging.group_fails[group] else 0)
    return gained


@kernel
def _lay_out(
    node: int, groups: int, layout: SortedAttributes, space: Space, forest: HierarchyForest, merging: Merging
) -> None:
    """Lay the records under a node out group by group: fills `grouped` and `group_end`. Capacity: each once."""
    attribute = forest.attribute[node]
    begin, end = bounds_of(attribute, forest.low[node], forest.stop[node], layout, space)
    merging.group_end[: groups + 1] = 0
    for place in range(begin, end):
        merging.group_end[merging.group_of[merging.of_record[layout.rows[attribute, place]]] + 1] += 1
    for group in range(groups):
        merging.group_end[group + 1] += merging.group_end[group]
    for place in range(begin, end):
        record = layout.rows[attribute, place]
        group = merging.group_of[merging.of_record[record]]
        merging.grouped[merging.group_end[group]] = record
        merging.group_end[group] += 1


@kernel
def _apply(
    node: int, touched: int, layout: SortedAttributes, space: Space, forest: HierarchyForest, merging: Merging
) -> None:  # fmt: skip
    """Publish a node for its children: the cells of each group become the first of them. Capacity: each node once."""
    attribute = forest.attribute[node]
    for index in range(touched):
        cell = merging.touched[index]
        if merging.fails[cell]:
            _charge(cell, -1, space, merging)
    for index in range(touched):
        cell = merging.touched[index]
        group = merging.group_of[cell]
        if merging.group_member[group] == cell:
            own = _node_at(attribute, merging.member[cell], layout, space, merging)
            merging.hash[cell] = (merging.hash[cell] - forest.hash[own] + forest.hash[node]) % PRIME
            merging.loss[cell] += forest.loss[node] - forest.loss[own]
            merging.sizes[cell] = merging.group_size[group]
            merging.fails[cell] = merging.group_fails[group]
            if merging.fails[cell]:
                _charge(cell, 1, space, merging)
    begin, end = bounds_of(attribute, forest.low[node], forest.stop[node], layout, space)
    for place in range(begin, end):
        record = layout.rows[attribute, place]
        merging.of_record[record] = merging.group_member[merging.group_of[merging.of_record[record]]]
    _publish(node, space, forest, merging)
    merging.merged[merging.counters[MERGES]] = node
    merging.counters[MERGES] += 1
    merging.total[0] += forest.cost[node]


@inlined
def _forget(touched: int, groups: int, merging: Merging) -> None:
    for index in range(touched):
        merging.group_of[merging.touched[index]] = -1
    for group in range(groups):
        merging.slots[merging.group_slot[group]] = -1
