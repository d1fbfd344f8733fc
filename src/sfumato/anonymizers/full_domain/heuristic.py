"""Full-domain generalization by searches that look at some nodes and stop: top down, bottom up, genetic."""

from __future__ import annotations

import heapq
import math
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from sfumato.anonymizers.full_domain.lattice_boxes import (
    EvaluatedNode,
    SearchLimit,
    SearchProblem,
    SearchResult,
    search_boxes,
)
from sfumato.anonymizers.full_domain.levels import group_weighted
from sfumato.anonymizers.full_domain.optimal import Optimal, progress_of, unsatisfiable
from sfumato.anonymizers.protocol import Problem
from sfumato.hierarchy.lattice_search import Lattice, Levels

_Strategy = Literal["top-down", "bottom-up", "genetic"]
_NODES = 1000
"""Nodes that are counted where no limit is given."""
_PEOPLE = 50
"""Nodes of a generation of the genetic search."""
_BOXES = 100
"""Nodes that are counted for a bound at the end, at most."""
_ELITE = 10
"""Of these, the best, which go on as they are."""


@dataclass(frozen=True)
class Heuristic(Optimal):
    """Choose one level for each attribute by looking at some nodes of the lattice: a node that is good, not the best.

    For comparison, and for lattices in which :class:`Optimal` has no time to prove anything: that one finds as good a
    node or a better one in nearly every table, and says more closely how far from the best it may be.

    Parameters
    ----------
    objective, mean, balance, label
        As for :class:`Optimal`.
    time_limit
        Seconds after which the search ends with the best that it has; what comes out then depends on the machine.
    node_limit
        Nodes after which it ends; 1,000 where neither limit is given.
    local_recoding
        Must stay false.
    strategy
        ``"top-down"``: from the top, always on below the best node whose neighbours below are not all known.
        ``"bottom-up"``: from the bottom, always on above the node that is the best solution, or suppresses least.
        ``"genetic"``: generations of 50 nodes, levels crossed and changed at random, the ten best kept.

    Raises
    ------
    PolicyError
        With every option that is unknown, out of range or without effect.

    Notes
    -----
    *Guarantee.* Every class satisfies every model. The node need not be the best one; the notes of the solution say
    which value no node can be below, by the bound that :class:`Optimal` has after a hundred nodes. A search that has
    looked at every node has proven its result.

    *Complexity.* O(m) for each node that is counted, for m distinct records.

    *Sources.* ARX's heuristic searches have these names (F. Prasser et al., "Flexible data anonymization using ARX",
    Software: Practice and Experience 2020; T. Meurers et al., "A scalable software solution for anonymizing
    high-dimensional biomedical data", GigaScience 2021). *Departure.* Steps, and the genetic search's numbers, are
    ours.
    """

    name: ClassVar[str] = "heuristic"

    strategy: _Strategy = "top-down"

    def _mistakes(self) -> Iterator[str]:
        yield from super()._mistakes()
        if self.local_recoding is True:
            yield "heuristic: local_recoding belongs to optimal; leave it out"

    def _found(self, problem: Problem, ground: SearchProblem) -> SearchResult:
        unlimited = self.node_limit is None and self.time_limit is None
        walk = _Walk(ground, SearchLimit(_NODES) if unlimited else self._limits, progress_of(problem, ground))
        if self.strategy == "genetic":
            walk.evolve(random.SystemRandom() if problem.seed is None else random.Random(problem.seed))
        else:
            walk.step(1 if self.strategy == "bottom-up" else -1)
        found = walk.result()
        if found.best is None:
            raise unsatisfiable(problem, found)
        return found


@dataclass(eq=False, repr=False)
class _Walk:
    """Nodes that were looked at, and the best of them."""

    ground: SearchProblem
    budget: SearchLimit
    progress: Callable[[int], None]
    seen: dict[Levels, EvaluatedNode] = field(default_factory=dict)
    path: list[EvaluatedNode] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        """Look at the top, which says whether there is any solution."""
        self.lattice = Lattice(self.ground.tables.heights)
        top = self.look(self.lattice.top)
        self.hopeless = top.hopeless

    @property
    def spent(self) -> bool:
        """Tell whether the budget is used up, or there is nothing to look at."""
        nodes, seconds = self.budget.nodes, self.budget.seconds
        if self.hopeless or len(self.seen) >= self.lattice.size:
            return True
        return (nodes is not None and len(self.seen) >= nodes) or (
            seconds is not None and time.monotonic() - self.started >= seconds
        )

    def look(self, levels: Levels) -> EvaluatedNode:
        """Count a node, unless it is known."""
        if levels in self.seen:
            return self.seen[levels]
        ground, records = self.ground, self.ground.records
        node = ground.evaluate(ground.count(levels, records, group_weighted(records, ground.tables, levels)))
        self.seen[levels] = node
        if node.beats(self.path[-1] if self.path else None):
            self.path.append(node)
        self.progress(len(self.seen))
        return node

    def step(self, direction: int) -> None:
        """Go from one end of the lattice to the other, always on from the node that is best so far.

        direction : 1 upwards, -1 downwards, where nothing below a hopeless node is looked at.
        """
        start = self.lattice.bottom if direction > 0 else self.lattice.top
        heap = [] if self.spent else [(_urgency(self.look(start)), start)]
        while heap and not self.spent:
            for levels in self._neighbours(heapq.heappop(heap)[1], direction):
                if levels in self.seen and levels != self.lattice.top:
                    continue
                if self.spent:
                    return
                node = self.look(levels)
                if direction > 0 or not node.hopeless:
                    heapq.heappush(heap, (_urgency(node), levels))

    def _neighbours(self, levels: Levels, direction: int) -> Iterator[Levels]:
        for place, (level, height) in enumerate(zip(levels, self.lattice.heights, strict=True)):
            if 0 <= level + direction <= height:
                yield (*levels[:place], level + direction, *levels[place + 1 :])

    def evolve(self, draw: random.Random) -> None:
        """Cross and change nodes at random; half of the first are near the bottom, half near the top."""
        if self.spent:
            return
        heights = self.lattice.heights
        nodes = [
            tuple(sorted((draw.randint(0, height), draw.randint(0, height)))[place % 2] for height in heights)
            for place in range(_PEOPLE)
        ]
        idle = 0
        while not self.spent and idle < _PEOPLE:
            before, found = len(self.seen), []
            for levels in nodes:
                if self.spent:
                    return
                found.append(self.look(levels))
            found.sort(key=lambda node: (_urgency(node), node.levels))
            parents = list(dict.fromkeys(node.levels for node in found))
            nodes = parents[:_ELITE] + [self._child(parents, draw) for _ in range(_PEOPLE - min(_ELITE, len(parents)))]
            # Generations of known nodes alone cost nothing, and after many of them there is nothing new to find.
            idle = idle + 1 if len(self.seen) == before else 0

    def _child(self, parents: list[Levels], draw: random.Random) -> Levels:
        half = parents[: max(1, len(parents) // 2)]
        one, other = draw.choice(half), draw.choice(half)
        levels = [draw.choice(pair) for pair in zip(one, other, strict=True)]
        place = draw.randrange(len(levels))
        levels[place] = min(max(levels[place] + draw.choice((-1, 1)), 0), self.lattice.heights[place])
        return tuple(levels)

    def result(self) -> SearchResult:
        """Return what was found, and what any node costs at least; proven if all nodes were looked at.

        The bound is that of the search by boxes, after no more nodes than were looked at here.
        """
        nodes, best = list(self.seen.values()), self.path[-1] if self.path else None
        if len(nodes) >= self.lattice.size or self.hopeless:
            return SearchResult(nodes, self.path, math.inf if best is None else best.value or 0.0, True)
        boxes = search_boxes(self.ground, SearchLimit(min(_BOXES, len(nodes))), lambda _: None)
        return SearchResult(nodes, self.path, boxes.bound, False)


def _urgency(node: EvaluatedNode) -> tuple[bool, float]:
    """Return what is looked at first: the best solution, then the node that suppresses least."""
    return (True, float(node.suppressed)) if node.value is None else (False, node.value)
