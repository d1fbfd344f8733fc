"""Incognito's search: subsets of the attributes from small to large, each lattice breadth first from below."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.full_domain.frequency_sets import Counts, FrequencySet, Places
from sfumato.anonymizers.protocol import Progress
from sfumato.hierarchy.lattice import Lattice, Levels
from sfumato.hierarchy.lattice_search import NodeState

Judge = Callable[[FrequencySet], tuple[bool, bool]]
"""Decides one counted node: whether it satisfies, and whether all its generalizations do too."""

Flags = NDArray[np.bool_]


ROOM = 1 << 21
"""Rows of frequency sets that are kept at each height."""


@dataclass(frozen=True, eq=False, repr=False)
class NodeStates:
    """States of all nodes of one lattice after a breadth-first search; int8 (size,).

    `reached` holds for each counted node the counted one that it was rolled up from, None for the first ones.
    """

    lattice: Lattice
    states: NDArray[np.int8]
    reached: dict[int, int | None]

    @property
    def surviving(self) -> Flags:
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


def search_subsets(
    counts: Counts, lattice: Lattice, passes: Judge, decides: Judge, progress: Progress
) -> tuple[NodeStates, int]:
    """Search the lattice of every subset of the attributes, and at last the lattice of all of them.

    Parameters
    ----------
    counts, lattice
        The table, and the lattice of all attributes.
    passes
        Prunes: a node over some of the attributes that fails rules out every node above it in the number of
        attributes. Must be monotone: what passes still does when attributes are generalized or dropped.
    decides
        Judges the nodes over all attributes that are left.
    progress
        Told after each subset.

    Returns
    -------
    walk : Walk
        Over all attributes.
    evaluated : int
        Nodes over fewer attributes that were counted.
    """
    everything = tuple(range(len(lattice.heights)))
    alive: dict[Places, Flags] = {}
    evaluated = done = 0
    for size in range(1, len(everything)):
        smaller, alive = alive, {}
        for places in combinations(everything, size):
            part = Lattice(tuple(lattice.heights[place] for place in places))
            walk = breadth_first(counts, part, places, joined(part, places, smaller), passes)
            alive[places] = walk.surviving
            evaluated += len(walk.reached)
            done += 1
            progress("searching", done, 2 ** len(everything) - 1)
    walk = breadth_first(counts, lattice, everything, joined(lattice, everything, alive), decides)
    progress("searching", done + 1, done + 1)
    return walk, evaluated


def joined(lattice: Lattice, places: Places, alive: dict[Places, Flags]) -> Flags:
    """Return the nodes whose projections on every subset with one attribute less survive; bool (size,)."""
    candidates = np.ones(_shape(lattice), dtype=np.bool_)
    if len(places) > 1:
        for axis in range(len(places)):
            candidates &= np.expand_dims(alive[places[:axis] + places[axis + 1 :]], axis)
    return candidates.ravel()


def breadth_first(counts: Counts, lattice: Lattice, places: Places, candidates: Flags, judge: Judge) -> NodeStates:
    """Judge the candidates by rising height, but for those that follow from a node below.

    `candidates` hold with every node all its generalizations. The lowest of them, which nothing can follow for, come
    first. Every other node's frequency set is rolled up from the smallest set that is at hand among its direct
    specializations, else from the records; only sets of neighboring heights are kept, up to `ROOM` rows.
    """
    search = _LatticeWalk(lattice, candidates, judge)
    shelves = [_Shelf() for _ in range(lattice.height + 2)]
    open_nodes = candidates.reshape(_shape(lattice))
    lowest = np.argwhere(open_nodes & ~_above(open_nodes))
    for counted in _counted_from_below(counts, places, lowest):
        search.settle(counted, None, shelves[sum(counted.levels)])
    for number in _by_height(lattice, search.states == NodeState.UNKNOWN):
        if search.states[number]:
            continue
        levels = lattice.levels(number)
        height = sum(levels)
        shelves[: height - 1] = [_Shelf()] * (height - 1)
        below = shelves[height - 1].smallest(lattice.number(node) for node in lattice.predecessors(levels))
        source = counts.bottom if below is None else shelves[height - 1].sets[below]
        search.settle(counts.at(source, places, levels), below, shelves[height])
    return NodeStates(lattice, search.states, search.reached)


class _LatticeWalk:
    """States of the nodes of one lattice while they are being found."""

    def __init__(self, lattice: Lattice, candidates: Flags, judge: Judge) -> None:
        self.lattice = lattice
        self.states = np.where(candidates, NodeState.UNKNOWN, NodeState.INFERRED_FAILS).astype(np.int8)
        self.reached: dict[int, int | None] = {}
        self._judge = judge
        self._grid = self.states.reshape(_shape(lattice))

    def settle(self, counted: FrequencySet, below: int | None, shelf: _Shelf) -> None:
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


def _counted_from_below(counts: Counts, places: Places, nodes: NDArray[np.int64]) -> Iterator[FrequencySet]:
    """Count nodes, int64 (r, p), by halving them again and again.

    Every part is rolled up from the levels that all its nodes are above, which the part before it has counted: most of
    the way up from the records is shared.
    """
    parts = [(counts.bottom, nodes)] if len(nodes) else []
    while parts:
        source, part = parts.pop()
        low, high = part.min(axis=0), part.max(axis=0)
        levels = tuple(low.tolist())
        counted = source if (source.places, source.levels) == (places, levels) else counts.at(source, places, levels)
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


def _above(nodes: Flags) -> Flags:
    """Return the direct generalizations of some nodes. nodes : one axis for each attribute."""
    above = np.zeros_like(nodes)
    for axis in range(nodes.ndim):
        np.moveaxis(above, axis, 0)[1:] |= np.moveaxis(nodes, axis, 0)[:-1]
    return above


def _by_height(lattice: Lattice, candidates: Flags) -> list[int]:
    heights = np.indices(_shape(lattice)).sum(axis=0).ravel()
    numbers = np.flatnonzero(candidates)
    ordered: list[int] = numbers[np.argsort(heights[numbers], kind="stable")].tolist()
    return ordered
