"""Incognito's search: subsets of the attributes from small to large, each lattice breadth first from below."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.frequency_sets import Counts, FrequencySet, Places
from sfumato.anonymizers.protocol import Progress
from sfumato.hierarchy.lattice import Lattice, Levels
from sfumato.hierarchy.lattice_search import NodeState

Judge = Callable[[FrequencySet], tuple[bool, bool]]
"""Decides one counted node: whether it satisfies, and whether all its generalizations do too."""

Flags = NDArray[np.bool_]


ROOM = 1 << 21
"""Rows of frequency sets that are kept at each height."""


@dataclass(frozen=True, eq=False, repr=False)
class Walk:
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


def search_subsets(
    counts: Counts, lattice: Lattice, passes: Judge, decides: Judge, progress: Progress
) -> tuple[Walk, int]:
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
    for size in everything[1:]:
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


def breadth_first(counts: Counts, lattice: Lattice, places: Places, candidates: Flags, judge: Judge) -> Walk:
    """Judge the candidates by rising height, but for those that follow from a node below.

    `candidates` hold with every node all its generalizations. A node's frequency set is rolled up from the smallest
    set that is at hand among its direct specializations, else from the records; only sets of two neighboring heights
    are kept, and of each height `ROOM` rows.
    """
    states = np.where(candidates, NodeState.UNKNOWN, NodeState.INFERRED_FAILS).astype(np.int8)
    grid = states.reshape(_shape(lattice))
    reached: dict[int, int | None] = {}
    height, previous, current = -1, _Shelf(), _Shelf()
    for number in _by_height(lattice, candidates):
        if states[number] != NodeState.UNKNOWN:
            continue
        levels = lattice.levels(number)
        if sum(levels) != height:
            previous, current = (current if sum(levels) == height + 1 else _Shelf()), _Shelf()
            height = sum(levels)
        below = previous.smallest(lattice.number(node) for node in lattice.predecessors(levels))
        counted = counts.at(counts.bottom if below is None else previous.sets[below], places, levels)
        reached[number] = below
        satisfies, implied = judge(counted)
        states[number] = NodeState.SATISFIES if satisfies else NodeState.FAILS
        if implied:
            above = grid[tuple(slice(level, None) for level in levels)]
            above[above == NodeState.UNKNOWN] = NodeState.INFERRED_SATISFIES
        else:
            current.keep(number, counted)
    return Walk(lattice, states, reached)


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


def _by_height(lattice: Lattice, candidates: Flags) -> list[int]:
    heights = np.indices(_shape(lattice)).sum(axis=0).ravel()
    numbers = np.flatnonzero(candidates)
    ordered: list[int] = numbers[np.argsort(heights[numbers], kind="stable")].tolist()
    return ordered
