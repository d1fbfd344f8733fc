"""Incognito: all full-domain generalizations that satisfy the models (LeFevre, DeWitt, Ramakrishnan, SIGMOD 2005)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.full_domain.frequency_sets import (
    LARGEST,
    FrequencySearch,
    FrequencySet,
    LatticeNodes,
    Places,
)
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.hierarchy.lattice_search import SATISFYING, Lattice, LatticeSearch, Levels, NodeState

_Selection = Literal["height", "classes", "loss"]

ROOM = 1 << 21
"""Rows of frequency sets that are kept at each height."""

Judge = Callable[[FrequencySet], tuple[bool, bool]]
"""Decides one counted node: whether it satisfies, and whether all its generalizations do too."""

_Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Incognito(FrequencySearch):
    """Find every node of the lattice of full-domain generalizations that satisfies the models, and take one.

    Subsets of the attributes are searched from small to large: a node over several attributes can only satisfy the
    models when its projections on fewer attributes do. Each lattice is searched breadth first from below; what is above
    a node that satisfies needs no counting, and the counts of a node are rolled up from those of a node below it.

    Parameters
    ----------
    selection
        Which of the minimal nodes (those with no satisfying node below) is taken. ``"loss"``: the one with the least
        normalized NCP; where records may be suppressed, which are charged in full, of all nodes that satisfy.
        ``"height"``: the lowest, of several the one with the most classes (the paper's measure). ``"classes"``: the one
        with the most classes, of several the lowest, as the UTD Anonymization Toolbox does. Remaining ties go to the
        node that generalizes the first attributes less.

    Raises
    ------
    PolicyError
        When the selection is unknown.

    Notes
    -----
    *Satisfying.* Without suppression a node satisfies when all its classes do. With a limit it satisfies when at most
    that many records are in classes that break a model, each class being compared with the whole original table.

    *Guarantee.* Without suppression the states of all nodes are exact for every list of models of the library: all are
    monotone when classes merge, and projections have the totals of the whole table. With suppression they are exact
    too; pruning then rests only on what is monotone, the number of records in classes that have fewer than k records
    or fewer than l distinct values, and for other models all nodes that are left are counted, but for those above a
    node where nothing has to be suppressed. The chosen node is judged again with its suppressed classes gone, until all
    others satisfy every model as parts of the published table. When that, or complementary suppression, takes more
    records than the limit, the node cannot be published, and the first that can is taken of all nodes that satisfy.

    *Complexity.* Exponential in the number of attributes in the worst case; only the first frequency set visits the
    records.

    *Sources.* LeFevre, DeWitt, Ramakrishnan, "Incognito: efficient full-domain k-anonymity", SIGMOD 2005. Departures:
    any list of models; first nodes are rolled up from the distinct records, not counted from the table; candidates are
    boolean lattices joined along their axes, not generated edge by edge, which finds the same ones; the least loss
    decides between minimal nodes, as steps of different hierarchies are no common measure.
    """

    name: ClassVar[str] = "incognito"

    selection: _Selection = "loss"

    def _unsearchable(self, problem: Problem, lattice: Lattice) -> Sequence[str]:
        if math.prod(height + 2 for height in lattice.heights) <= LARGEST:
            return ()
        return (
            f"incognito: {len(lattice.heights)} attributes with {lattice.size:,} generalizations are too many to "
            f"search with all their subsets; give fewer quasi-identifying attributes or hierarchies of fewer levels, "
            f"or take another anonymizer, such as datafly",
        )

    def _search(self, nodes: LatticeNodes) -> tuple[LatticeSearch, Partition] | None:
        if self.selection != "loss" or not nodes.room:
            found = _Findings(nodes, exhaustive=False)
            outcome = self._first(found, found.walk.minimal, most=1)
            if outcome is not None:
                return outcome
        found = _Findings(nodes, exhaustive=True)
        return self._first(found, tuple(found.measures), most=len(found.measures))

    def _first(self, found: _Findings, numbers: Sequence[int], most: int) -> tuple[LatticeSearch, Partition] | None:
        """Return the first node that can be published, of the `most` that are best."""
        for number in sorted(numbers, key=lambda node: (*self._order(found.measures[node]), node))[:most]:
            partition = found.nodes.solution(found.nodes.lattice.levels(number))
            if partition is not None:
                return found.as_search(number), partition
        return None

    def _account(self, search: LatticeSearch) -> str:
        return (
            f"Incognito counted {search.evaluated:,} of {search.lattice.size:,} generalizations, and "
            f"{search.projections:,} of fewer attributes: {search.count(*SATISFYING):,} satisfy the models, "
            f"{len(search.minimal):,} of them minimal."
        )

    def _order(self, measure: _Measure) -> tuple[float, ...]:
        if self.selection == "height":
            return (measure.height, -measure.classes)
        # Losses that differ in rounding only are equal.
        return (-measure.classes, measure.height) if self.selection == "classes" else (round(measure.loss, 12),)


@dataclass(frozen=True)
class _Measure:
    """What selection rules look at."""

    height: int
    classes: int
    loss: float


class _Findings:
    """One search of the lattice; an exhaustive one also counts what satisfies by inference and may lose less."""

    def __init__(self, nodes: LatticeNodes, *, exhaustive: bool) -> None:
        self.nodes = nodes
        self.measures: dict[int, _Measure] = {}
        self._exhaustive = exhaustive
        self.walk, self._projections = _search_subsets(nodes, self._passes, self._decides)

    def as_search(self, chosen: int) -> LatticeSearch:
        """Return the search as a value."""
        lattice, walk = self.nodes.lattice, self.walk
        return self.nodes.as_search(
            walk.states,
            {number: measure.loss for number, measure in self.measures.items()},
            chosen=lattice.levels(chosen),
            minimal=tuple(lattice.levels(number) for number in walk.minimal),
            path=walk.path(chosen),
            evaluated=len(walk.reached),
            projections=self._projections,
        )

    def _passes(self, counted: FrequencySet) -> tuple[bool, bool]:
        nodes = self.nodes
        failing = nodes.lost(counted) if nodes.room or not nodes.steady else nodes.verdict(counted).failing
        passes = failing <= nodes.room
        return passes, passes

    def _decides(self, counted: FrequencySet) -> tuple[bool, bool]:
        nodes, verdict = self.nodes, self.nodes.verdict(counted)
        satisfies = verdict.failing <= nodes.room
        if satisfies:
            loss = nodes.loss(counted, verdict.kept)
            measure = _Measure(sum(counted.levels), verdict.classes, loss)
            self.measures[nodes.lattice.number(counted.levels)] = measure
        implied = satisfies and nodes.lasting and not self._exhaustive
        return satisfies, implied or (verdict.failing == 0 and nodes.steady)


def _search_subsets(nodes: LatticeNodes, passes: Judge, decides: Judge) -> tuple[_LatticeWalk, int]:
    """Search the lattice of every subset of the attributes, and at last the lattice of all of them.

    `passes` prunes: a node over some of the attributes that fails rules out every node above it in the number of
    attributes. It must be monotone: what passes still does when attributes are generalized or dropped. `decides` judges
    the nodes over all attributes that are left. Returned are the walk over all attributes, and the number of nodes over
    fewer attributes that were counted.
    """
    lattice, progress = nodes.lattice, nodes.start.problem.progress
    everything = tuple(range(len(lattice.heights)))
    alive: dict[Places, _Flags] = {}
    evaluated = done = 0
    for size in range(1, len(everything)):
        smaller, alive = alive, {}
        for places in combinations(everything, size):
            part = Lattice(tuple(lattice.heights[place] for place in places))
            walk = _breadth_first(nodes, part, places, _candidates(part, places, smaller), passes)
            alive[places] = walk.surviving
            evaluated += len(walk.reached)
            done += 1
            progress("searching", done, 2 ** len(everything) - 1)
    walk = _breadth_first(nodes, lattice, everything, _candidates(lattice, everything, alive), decides)
    progress("searching", done + 1, done + 1)
    return walk, evaluated


def _candidates(lattice: Lattice, places: Places, alive: dict[Places, _Flags]) -> _Flags:
    """Return the nodes whose projections on every subset with one attribute less survive; bool (size,)."""
    candidates = np.ones(_shape(lattice), dtype=np.bool_)
    if len(places) > 1:
        for axis in range(len(places)):
            candidates &= np.expand_dims(alive[places[:axis] + places[axis + 1 :]], axis)
    return candidates.ravel()


def _breadth_first(
    nodes: LatticeNodes, lattice: Lattice, places: Places, candidates: _Flags, judge: Judge
) -> _LatticeWalk:
    """Judge the candidates by rising height, but for those that follow from a node below.

    `candidates` hold with every node all its generalizations. The lowest of them, which nothing can follow for, come
    first. Every other node's frequency set is rolled up from the smallest set that is at hand among its direct
    specializations, else from the records; only sets of neighboring heights are kept, up to `ROOM` rows.
    """
    walk = _LatticeWalk(lattice, candidates, judge)
    shelves = [_Shelf() for _ in range(lattice.height + 2)]
    open_nodes = candidates.reshape(_shape(lattice))
    lowest = np.argwhere(open_nodes & ~_above(open_nodes))
    for counted in _counted_from_below(nodes, places, lowest):
        walk.judge(counted, None, shelves[sum(counted.levels)])
    for number in _by_height(lattice, walk.states == NodeState.UNKNOWN):
        if walk.states[number]:
            continue
        levels = lattice.levels(number)
        height = sum(levels)
        shelves[: height - 1] = [_Shelf()] * (height - 1)
        below = shelves[height - 1].smallest(lattice.number(node) for node in lattice.predecessors(levels))
        source = nodes.bottom if below is None else shelves[height - 1].sets[below]
        walk.judge(nodes.at(source, places, levels), below, shelves[height])
    return walk


class _LatticeWalk:
    """States of the nodes of one lattice, int8 (size,), as they are found.

    `reached` holds for each counted node the counted one that it was rolled up from, None for the first ones.
    """

    def __init__(self, lattice: Lattice, candidates: _Flags, judge: Judge) -> None:
        self.lattice = lattice
        self.states = np.where(candidates, NodeState.UNKNOWN, NodeState.INFERRED_FAILS).astype(np.int8)
        self.reached: dict[int, int | None] = {}
        self._judge = judge
        self._grid = self.states.reshape(_shape(lattice))

    def judge(self, counted: FrequencySet, below: int | None, shelf: _Shelf) -> None:
        """Judge a node, and keep its frequency set where a node above may need it."""
        number = self.lattice.number(counted.levels)
        self.reached[number] = below
        satisfies, implied = self._judge(counted)
        self.states[number] = NodeState.SATISFIES if satisfies else NodeState.FAILS
        if implied:
            above = self._grid[tuple(slice(level, None) for level in counted.levels)]
            above[above == NodeState.UNKNOWN] = NodeState.INFERRED_SATISFIES
        else:
            shelf.keep(number, counted)

    @property
    def surviving(self) -> _Flags:
        """Nodes that satisfy, counted or inferred, bool, one axis for each attribute."""
        alive = np.isin(self.states, (NodeState.SATISFIES, NodeState.INFERRED_SATISFIES))
        return alive.reshape(_shape(self.lattice))

    @property
    def minimal(self) -> tuple[int, ...]:
        """Numbers of the satisfying nodes with none below them that satisfies, rising."""
        reachable = alive = self.surviving
        for axis in range(alive.ndim):
            reachable = np.logical_or.accumulate(reachable, axis=axis)
        return tuple(np.flatnonzero(alive & ~_above(reachable)).tolist())

    def path(self, chosen: int) -> tuple[Levels, ...]:
        """Return the nodes that the chosen one was rolled up from, the lowest first."""
        path: list[Levels] = []
        number: int | None = chosen
        while number is not None:
            path.append(self.lattice.levels(number))
            number = self.reached[number]
        return tuple(reversed(path))


def _counted_from_below(nodes: LatticeNodes, places: Places, lowest: NDArray[np.int64]) -> Iterator[FrequencySet]:
    """Count nodes, int64 (r, p), by halving them again and again.

    Every part is rolled up from the levels that all its nodes are above, which the part before it has counted: most of
    the way up from the records is shared.
    """
    parts = [(nodes.bottom, lowest)] if len(lowest) else []
    while parts:
        source, part = parts.pop()
        low, high = part.min(axis=0), part.max(axis=0)
        levels = tuple(low.tolist())
        counted = source if (source.places, source.levels) == (places, levels) else nodes.at(source, places, levels)
        if len(part) == 1:
            yield counted
            continue
        axis = int(np.argmax(high - low))
        lower = part[:, axis] <= (low[axis] + high[axis]) // 2
        parts += [(counted, part[~lower]), (counted, part[lower])]


class _Shelf:
    """Frequency sets of one height, as many as there is room for."""

    def __init__(self) -> None:
        self.sets: dict[int, FrequencySet] = {}
        self._room = ROOM

    def keep(self, number: int, counted: FrequencySet) -> None:
        if len(counted.weights) <= self._room:
            self.sets[number] = counted
            self._room -= len(counted.weights)

    def smallest(self, numbers: Iterable[int]) -> int | None:
        at_hand = [number for number in numbers if number in self.sets]
        return min(at_hand, key=lambda number: len(self.sets[number].weights), default=None)


def _shape(lattice: Lattice) -> Levels:
    return tuple(height + 1 for height in lattice.heights)


def _above(nodes: _Flags) -> _Flags:
    """Return the direct generalizations of some nodes. nodes : one axis for each attribute."""
    above = np.zeros_like(nodes)
    for axis in range(nodes.ndim):
        np.moveaxis(above, axis, 0)[1:] |= np.moveaxis(nodes, axis, 0)[:-1]
    return above


def _by_height(lattice: Lattice, candidates: _Flags) -> list[int]:
    heights = np.indices(_shape(lattice)).sum(axis=0).ravel()
    numbers = np.flatnonzero(candidates)
    ordered: list[int] = numbers[np.argsort(heights[numbers], kind="stable")].tolist()
    return ordered
