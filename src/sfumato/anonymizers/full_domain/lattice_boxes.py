"""The best node of a lattice, by branch and bound over boxes of nodes.

A box holds all nodes between two corners. Its high corner is evaluated: what it loses for good, every node of the box
loses; what it does not, costs each of them at least what it costs on the low corner. A box whose bound is above the
best value found is dropped whole; others are narrowed or cut in two. So every node is evaluated or proven worse.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.full_domain.levels import (
    NONE,
    Grouping,
    LevelTables,
    WeightedRecords,
    group_weighted,
    regroup_weighted,
    roll_records_up,
)
from sfumato.anonymizers.full_domain.losses import SLACK, FlatFloor, Floor, NodeLoss
from sfumato.anonymizers.full_domain.suppression import CountedNode, SuppressionRule
from sfumato.hierarchy.lattice_search import Lattice, LatticeSearch, Levels, NodeState, States, blank_states

MEMORY = 1 << 29
"""Bytes that open boxes may keep of records and classes; beyond, classes are counted again when a box is opened."""

WORTHWHILE = 6
"""Bits that keys have to become shorter by before records are put together again, where bounds grow with it; twice as
many where they do not, and only counting gains. Found by trying."""


@dataclass(frozen=True, eq=False, repr=False)
class SearchProblem:
    """What a search is about: records (on the bottom of the lattice), models, objective, and between which nodes."""

    records: WeightedRecords
    tables: LevelTables
    rule: SuppressionRule
    loss: NodeLoss
    low: Levels
    high: Levels

    def count(self, levels: Levels, records: WeightedRecords, groups: Grouping) -> CountedNode:
        """Decide what becomes of the classes of a node."""
        return CountedNode(levels, records, groups, self.rule.apply(records, self.tables, levels, groups))

    def evaluate(self, node: CountedNode) -> EvaluatedNode:
        """Return the value of a node."""
        value = self.loss.value(node) if node.outcome.holds else None
        rest = () if value is None else self.loss.rest(node)
        return EvaluatedNode(node.levels, value, node.outcome.suppressed, self.rule.hopeless(node.outcome), rest)


@dataclass(frozen=True)
class SearchLimit:
    """When to stop before the end: `nodes` evaluated at most, `seconds`, roughly; None is never."""

    nodes: int | None = None
    seconds: float | None = None

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self.nodes is not None or self.seconds is not None


@dataclass(frozen=True)
class EvaluatedNode:
    """One node that was looked at."""

    levels: Levels
    value: float | None  # under the objective; None when the node is no solution
    suppressed: int  # records that it has to suppress
    hopeless: bool  # whether it is known that no specialization is a solution either
    rest: tuple[float, ...] = ()  # what decides between nodes of equal value

    def beats(self, other: EvaluatedNode | None) -> bool:
        """Tell whether this solution is to be preferred: it costs less, or as much and stands first in the lattice."""
        if self.value is None:
            return False
        if other is None or other.value is None:
            return True
        for own, others in zip((self.value, *self.rest), (other.value, *other.rest), strict=True):
            if abs(own - others) > SLACK * max(1.0, abs(others)):
                return own < others
        return self.levels < other.levels


@dataclass(frozen=True, eq=False, repr=False)
class SearchResult:
    """What a search found."""

    evaluated: list[EvaluatedNode]  # in the order in which they were looked at
    # the solutions that were the best so far, one after the other; the last is the best, empty without any
    path: list[EvaluatedNode]
    bound: float  # what every solution costs at least: the value of `best` when that is proven
    proven: bool  # whether no solution can be better than `best`, or there is none

    @property
    def best(self) -> EvaluatedNode | None:
        """The best solution, None without any."""
        return self.path[-1] if self.path else None


@dataclass(frozen=True, eq=False, repr=False)
class _Box:
    """All nodes from `low` up to a counted one, and what they cost at least."""

    low: Levels
    node: CountedNode
    floor: Floor
    before: Floor | None

    @property
    def high(self) -> Levels:
        """The high corner."""
        return self.node.levels


@dataclass(eq=False, repr=False)
class _SearchState:
    """A search under way."""

    ground: SearchProblem
    budget: SearchLimit
    interesting: float
    cut: float
    heap: list[tuple[float, int, _Box]] = field(default_factory=list)
    seen: dict[Levels, EvaluatedNode] = field(default_factory=dict)
    path: list[EvaluatedNode] = field(default_factory=list)
    pushed: int = 0
    started: float = field(default_factory=time.monotonic)

    def spent(self, share: float) -> bool:
        """Tell whether that share of the budget is used up."""
        nodes, seconds = self.budget.nodes, self.budget.seconds
        return (nodes is not None and len(self.seen) >= share * nodes) or (
            seconds is not None and time.monotonic() - self.started >= share * seconds
        )

    @property
    def crowded(self) -> bool:
        """Whether open boxes may keep no more than what they cannot do without."""
        records = self.ground.records
        each = records.height * (12 + records.codes.itemsize * records.codes.shape[1])
        return len(self.heap) * int(each) > MEMORY

    def judge(self, counted: CountedNode) -> None:
        """Evaluate a node, and keep it where it is the best so far."""
        node = self.ground.evaluate(counted)
        self.seen[node.levels] = node
        if node.value is None or node.value > self.interesting:
            return
        if node.beats(self.path[-1] if self.path else None):
            self.path.append(node)
            self.cut = self.ground.loss.cut(node.value)

    def push(self, box: _Box) -> None:
        """Keep a box for later, unless nothing in it can be better."""
        bound = box.floor.at(box.low)
        if bound <= self.cut:
            if self.crowded:
                box = replace(box, node=replace(box.node, groups=replace(box.node.groups, class_of=NONE)))
            heapq.heappush(self.heap, (bound, self.pushed, box))
            self.pushed += 1

    def lowered(self, box: _Box, high: Levels) -> _Box | None:
        """Return a box with a lower high corner, judged; None when no solution is left in it."""
        records = box.node.records
        changed = [place for place, (new, old) in enumerate(zip(high, box.high, strict=True)) if new != old]
        groups = regroup_weighted(records, self.ground.tables, high, box.node.groups.class_of, changed)
        return self.judged_box(box.low, self.ground.count(high, records, groups), box.before)

    def judged_box(self, low: Levels, node: CountedNode, before: Floor | None) -> _Box | None:
        """Make a box below its high corner, and judge that; None when no solution is in it."""
        box = _Box(low, node, self.ground.loss.floor(node, low, before), before)
        self.judge(node)
        return None if self.ground.rule.hopeless(node.outcome) else box

    def narrowed(self, box: _Box) -> _Box | None:
        """Lower the high corner as long as the bound tells levels that cost too much; None when nothing is left."""
        while box.floor.at(box.low) <= self.cut:
            high = box.floor.reach(box.low, box.high, self.cut)
            if high == box.high:
                return box
            lowered = self.lowered(box, high)
            if lowered is None:
                return None
            box = lowered
        return None

    def descend(self, box: _Box) -> None:
        """Step from the top down to better and better solutions, on at most half of the budget."""
        while box.node.outcome.holds:
            places = [place for place, level in enumerate(box.high) if level > box.low[place]]
            below = [self._step_down(box, place) for place in places if not self.spent(0.5)]
            better = [lower for lower in below if lower is not None and self._improves(lower, box)]
            if not better:
                return
            box = min(better, key=lambda lower: (self._value(lower), lower.high))

    def _step_down(self, box: _Box, place: int) -> _Box | None:
        return self.lowered(box, (*box.high[:place], box.high[place] - 1, *box.high[place + 1 :]))

    def _improves(self, lower: _Box, box: _Box) -> bool:
        return lower.node.outcome.holds and self.seen[lower.high].beats(self.seen[box.high])

    def _value(self, box: _Box) -> float:
        value = self.seen[box.high].value
        return math.inf if value is None else value

    def expand(self, box: _Box) -> None:
        """Narrow a box, and cut what is left in two."""
        opened = box if len(box.node.groups.class_of) else _recounted(box, self.ground)
        smaller = self.narrowed(opened if self.crowded else _condensed(opened, self.ground))
        if smaller is None or smaller.low == smaller.high:
            return
        place, level = smaller.floor.step(smaller.low, smaller.high)
        low, high = smaller.low, smaller.high
        lower = self.lowered(smaller, (*high[:place], level, *high[place + 1 :]))
        if lower is not None:
            self.push(lower)
        self.push(replace(smaller, low=(*low[:place], level + 1, *low[place + 1 :])))


def search_boxes(
    ground: SearchProblem, budget: SearchLimit, progress: Callable[[int], None], interesting: float = math.inf
) -> SearchResult:
    """Find the best node of value at most `interesting`; when none is found, none has it.

    A search that may end early first steps down from the top, always to the best node below. Then best first: the box
    with the lowest bound is opened next, so that the lowest of all open boxes bounds everything not yet seen. Cost O(m
    · changed attributes) for each evaluated node.
    """
    under_way = _SearchState(ground, budget, interesting, ground.loss.cut(interesting))
    groups = group_weighted(ground.records, ground.tables, ground.high)
    whole = under_way.judged_box(ground.low, ground.count(ground.high, ground.records, groups), None)
    if whole is not None:
        under_way.push(whole)
        if budget.limited:
            under_way.descend(whole)
    while under_way.heap and under_way.heap[0][0] <= under_way.cut and not under_way.spent(1.0):
        under_way.expand(heapq.heappop(under_way.heap)[2])
        progress(len(under_way.seen))
    return _found(under_way)


def _found(ended: _SearchState) -> SearchResult:
    best = ended.path[-1] if ended.path else None
    proven = not ended.heap or ended.heap[0][0] > ended.cut
    if best is not None and best.value is not None and proven:
        return SearchResult(list(ended.seen.values()), ended.path, best.value, True)
    bound = ended.ground.loss.bound_of(ended.heap[0][0]) if ended.heap else math.inf
    return SearchResult(list(ended.seen.values()), ended.path, bound, proven)


def _bits_saved(box: _Box, ground: SearchProblem) -> int:
    """Return by how many bits keys are shorter on the low corner than where records were last put together."""
    levels = zip(ground.tables.bits, box.node.records.levels, box.low, strict=True)
    return sum(widths[old] - widths[new] for widths, old, new in levels)


def _condensed(box: _Box, ground: SearchProblem) -> _Box:
    """Put records together that are equal on the low corner, and leave out those that are lost anyway."""
    node, before = box.node, box.before
    records, class_of = node.records, node.groups.class_of
    enough = WORTHWHILE if isinstance(box.floor, FlatFloor) else 2 * WORTHWHILE
    if _bits_saved(box, ground) < enough:
        return box
    lost = node.outcome.lost[class_of]
    if lost.any():
        active = np.flatnonzero(~lost)
        records, class_of = records.take(active, records.weights[active], records.levels), class_of[active]
        before = box.floor
    records, firsts = roll_records_up(records, ground.tables, box.low)
    # Only the classes' numbers are read from here on, and those of lost classes no longer occur.
    node = replace(node, records=records, groups=Grouping(class_of[firsts], NONE, node.groups.sizes))
    return _Box(box.low, node, ground.loss.floor(node, box.low, before), before)


def _recounted(box: _Box, ground: SearchProblem) -> _Box:
    """Count the classes of a box again whose numbers were not kept."""
    records = box.node.records
    return replace(box, node=ground.count(box.high, records, group_weighted(records, ground.tables, box.high)))


def as_lattice_search(found: SearchResult, lattice: Lattice, names: tuple[str, ...], loss_name: str) -> LatticeSearch:
    """Return what was found as a value; the path holds the solutions that were the best so far."""
    best = found.best
    values = {lattice.number(node.levels): node.value for node in found.evaluated}
    return LatticeSearch(
        lattice,
        names,
        _states(found, lattice),
        chosen=None if best is None else best.levels,
        path=tuple(node.levels for node in found.path),
        evaluated=len(found.evaluated),
        losses={number: value for number, value in values.items() if value is not None},
        loss_name=loss_name,
        loss_bound=found.bound,
    )


def _states(found: SearchResult, lattice: Lattice) -> States:
    states = blank_states(lattice)
    if not isinstance(states, dict):
        states[_below_hopeless(found, lattice)] = NodeState.INFERRED_FAILS
        if found.proven and found.best is not None:
            states[states == NodeState.UNKNOWN] = NodeState.NOT_BETTER
    for node in found.evaluated:
        states[lattice.number(node.levels)] = _counted(node)
    return states


def _counted(node: EvaluatedNode) -> NodeState:
    return NodeState.FAILS if node.value is None else NodeState.SATISFIES


def _below_hopeless(found: SearchResult, lattice: Lattice) -> NDArray[np.bool_]:
    """Mark the specializations of hopeless nodes, bool (nodes,): from above, one attribute after the other."""
    marked = np.zeros([height + 1 for height in lattice.heights], dtype=np.bool_)
    for node in found.evaluated:
        marked[node.levels] = node.hopeless
    for axis in range(marked.ndim):
        marked = np.flip(np.logical_or.accumulate(np.flip(marked, axis), axis=axis), axis)
    return marked.reshape(-1)
