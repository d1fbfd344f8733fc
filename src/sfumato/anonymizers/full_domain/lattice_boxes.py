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

from sfumato.anonymizers.full_domain.node_loss import SLACK, FlatFloor, Floor, NodeLoss
from sfumato.anonymizers.full_domain.node_suppression import NodeOutcome, SuppressionRule
from sfumato.anonymizers.full_domain.weighted_records import (
    NONE,
    Grouping,
    LevelTables,
    WeightedRecords,
    grouped,
    regrouped,
    rolled_up,
)
from sfumato.hierarchy.lattice import Levels

MEMORY = 1 << 29
"""Bytes that open boxes may keep of records and classes; beyond, classes are counted again when a box is opened."""


WORTHWHILE = 6
"""Bits that keys have to become shorter by before records are put together again, where bounds grow with it; twice as
many where they do not, and only counting gains. Found by trying."""


@dataclass(frozen=True, eq=False, repr=False)
class SearchProblem:
    """What a search is about: records, models and objective.

    Attributes
    ----------
    records : WeightedRecords
        On the bottom of the lattice.
    tables : LevelTables
    rule : SuppressionRule
    loss : NodeLoss
    """

    records: WeightedRecords
    tables: LevelTables
    rule: SuppressionRule
    loss: NodeLoss


@dataclass(frozen=True)
class SearchLimit:
    """When to stop before the end; None is never.

    Attributes
    ----------
    nodes : int or None
        Nodes to evaluate at most.
    seconds : float or None
        Time to take, roughly.
    """

    nodes: int | None = None
    seconds: float | None = None

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self.nodes is not None or self.seconds is not None


@dataclass(frozen=True)
class EvaluatedNode:
    """One node that was looked at.

    Attributes
    ----------
    levels : tuple of int
    value : float or None
        Under the objective; None when the node is no solution.
    suppressed : int
        Records that it has to suppress.
    hopeless : bool
        Whether it is known that no specialization is a solution either.
    rest : tuple of float
        What decides between nodes of equal value.
    """

    levels: Levels
    value: float | None
    suppressed: int
    hopeless: bool
    rest: tuple[float, ...] = ()

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
    """What a search found.

    Attributes
    ----------
    evaluated : list of Evaluated
        In the order in which they were looked at.
    path : list of Evaluated
        The solutions that were the best so far, one after the other; the last is the best, empty without any.
    bound : float
        What every solution costs at least: the value of `best` when that is proven.
    proven : bool
        Whether no solution can be better than `best`, or there is none.
    """

    evaluated: list[EvaluatedNode]
    path: list[EvaluatedNode]
    bound: float
    proven: bool

    @property
    def best(self) -> EvaluatedNode | None:
        """The best solution, None without any."""
        return self.path[-1] if self.path else None


@dataclass(frozen=True, eq=False, repr=False)
class _Box:
    low: Levels
    high: Levels
    records: WeightedRecords
    groups: Grouping
    outcome: NodeOutcome
    floor: Floor
    before: Floor | None


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

    def judge(self, box: _Box) -> None:
        """Evaluate the high corner of a box."""
        ground, outcome = self.ground, box.outcome
        value = ground.loss.value(box.records, box.groups, outcome, box.high) if outcome.holds else None
        rest = () if value is None else ground.loss.rest(box.records, box.groups, outcome, box.high)
        node = EvaluatedNode(box.high, value, outcome.suppressed, ground.rule.hopeless(outcome), rest)
        self.seen[node.levels] = node
        if value is None or value > self.interesting:
            return
        if node.beats(self.path[-1] if self.path else None):
            self.path.append(node)
            self.cut = ground.loss.cut(value)

    def push(self, box: _Box) -> None:
        """Keep a box for later, unless nothing in it can be better."""
        bound = box.floor.at(box.low)
        if bound <= self.cut:
            if self.crowded:
                box = replace(box, groups=replace(box.groups, class_of=NONE))
            heapq.heappush(self.heap, (bound, self.pushed, box))
            self.pushed += 1

    def lowered(self, box: _Box, high: Levels) -> _Box | None:
        """Return a box with a lower high corner, judged; None when no solution is left in it."""
        ground, records = self.ground, box.records
        changed = [place for place, (new, old) in enumerate(zip(high, box.high, strict=True)) if new != old]
        groups = regrouped(records, ground.tables, high, box.groups.class_of, changed)
        return self.judged_box(box.low, high, records, groups, box.before)

    def judged_box(
        self, low: Levels, high: Levels, records: WeightedRecords, groups: Grouping, before: Floor | None
    ) -> _Box | None:
        """Make a box from the classes of its high corner, and judge that; None when no solution is in it."""
        ground = self.ground
        outcome = ground.rule.apply(records, ground.tables, high, groups)
        floor = ground.loss.floor(records, groups, outcome, low, high, before)
        box = _Box(low, high, records, groups, outcome, floor, before)
        self.judge(box)
        return None if ground.rule.hopeless(outcome) else box

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
        while box.outcome.holds:
            places = [place for place, level in enumerate(box.high) if level > 0]
            below = [self._step_down(box, place) for place in places if not self.spent(0.5)]
            better = [lower for lower in below if lower is not None and self._improves(lower, box)]
            if not better:
                return
            box = min(better, key=lambda lower: (self._value(lower), lower.high))

    def _step_down(self, box: _Box, place: int) -> _Box | None:
        return self.lowered(box, (*box.high[:place], box.high[place] - 1, *box.high[place + 1 :]))

    def _improves(self, lower: _Box, box: _Box) -> bool:
        return lower.outcome.holds and self.seen[lower.high].beats(self.seen[box.high])

    def _value(self, box: _Box) -> float:
        value = self.seen[box.high].value
        return math.inf if value is None else value

    def expand(self, box: _Box) -> None:
        """Narrow a box, and cut what is left in two."""
        opened = box if len(box.groups.class_of) else _recounted(box, self.ground)
        smaller = self.narrowed(opened if self.crowded else _condensed(opened, self.ground))
        if smaller is None or smaller.low == smaller.high:
            return
        place, level = smaller.floor.step(smaller.low, smaller.high)
        low, high = smaller.low, smaller.high
        lower = self.lowered(smaller, (*high[:place], level, *high[place + 1 :]))
        if lower is not None:
            self.push(lower)
        self.push(replace(smaller, low=(*low[:place], level + 1, *low[place + 1 :])))


def search(
    ground: SearchProblem, budget: SearchLimit, progress: Callable[[int], None], interesting: float = math.inf
) -> SearchResult:
    """Find the best node.

    Parameters
    ----------
    ground
        Records, models and objective.
    budget
        When to stop before the end.
    progress
        Called with the number of nodes evaluated so far.
    interesting
        Largest value that a solution is wanted for; when none is found, none has it.

    Notes
    -----
    A search that may have to end early first steps down from the top, always to the best node below, so that it has
    something to compare with. Then best first: the box with the lowest bound is opened next, so that the lowest bound
    of all open boxes is one for everything not yet seen. Cost O(m · changed attributes) for each evaluated node.
    """
    heights = ground.tables.heights
    under_way = _SearchState(ground, budget, interesting, ground.loss.cut(interesting))
    groups = grouped(ground.records, ground.tables, heights)
    whole = under_way.judged_box((0,) * len(heights), heights, ground.records, groups, None)
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
    levels = zip(ground.tables.bits, box.records.levels, box.low, strict=True)
    return sum(widths[old] - widths[new] for widths, old, new in levels)


def _condensed(box: _Box, ground: SearchProblem) -> _Box:
    """Put records together that are equal on the low corner, and leave out those that are lost anyway."""
    records, class_of, before = box.records, box.groups.class_of, box.before
    enough = WORTHWHILE if isinstance(box.floor, FlatFloor) else 2 * WORTHWHILE
    if _bits_saved(box, ground) < enough:
        return box
    lost = box.outcome.lost[class_of]
    if lost.any():
        active = np.flatnonzero(~lost)
        records, class_of, before = (
            records.take(active, records.weights[active], records.levels),
            class_of[active],
            box.floor,
        )
    records, firsts = rolled_up(records, ground.tables, box.low)
    # Only the classes' numbers are read from here on, and those of lost classes no longer occur.
    groups = Grouping(class_of[firsts], NONE, box.groups.sizes)
    floor = ground.loss.floor(records, groups, box.outcome, box.low, box.high, before)
    return replace(box, records=records, groups=groups, floor=floor, before=before)


def _recounted(box: _Box, ground: SearchProblem) -> _Box:
    """Count the classes of a box again whose numbers were not kept."""
    groups = grouped(box.records, ground.tables, box.high)
    return replace(box, groups=groups, outcome=ground.rule.apply(box.records, ground.tables, box.high, groups))
