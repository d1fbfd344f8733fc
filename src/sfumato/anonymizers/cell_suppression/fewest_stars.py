"""The cheapest cells to star for k-anonymity: by search within a fixed amount of work, or proven to be the least."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.cell_suppression.star_patterns import DistinctRows, Patterns
from sfumato.kernels.stars.exact_starring import cheapest_patterns
from sfumato.kernels.stars.starring import Assigned, anneal, descend, first_assignment

WORK_PER_RECORD = 25_000
MOST_WORK = 100_000_000
"""Members of groups that the search may look at: well below a second for five attributes."""

MOST_NODES = 5_000_000
"""Nodes that the proof may visit: some seconds."""

HOT, COLD = 1.0, 0.1
"""Temperatures, in units of the mean cost of a star."""


@dataclass(frozen=True, eq=False, repr=False)
class StarAssignment:
    """An assignment of records to patterns.

    Attributes
    ----------
    counts : numpy.ndarray
        int32 (m, p): records of each distinct one that take each pattern.
    cost : float
    bound : float
        No assignment costs less.
    nodes : int
        Nodes visited for a proof; 0 where none was tried.
    """

    counts: NDArray[np.int32]
    cost: float
    bound: float
    nodes: int = 0

    @property
    def proven(self) -> bool:
        """Whether the cost is the least."""
        return self.cost <= self.bound + 1e-9


def search(distinct: DistinctRows, patterns: Patterns) -> StarAssignment:
    """Assign every record to a pattern so that every group has none or at least k records, at a low cost.

    Notes
    -----
    Opening the cheapest groups first costs O(z) for z memberships, at most m · p. Then groups are opened and closed as
    long as that helps, then at random with falling tolerance (simulated annealing). The search ends after a fixed
    number of looks at members of groups, and its random numbers are always the same, so the result depends on the table
    alone. The bound gives every record its cheapest pattern, as if all groups could have all their members.
    """
    choices = patterns.choices
    assigned = nothing_assigned(len(distinct.weights), patterns)
    first_assignment(distinct.weights, choices, assigned)
    bound = float((least_costs(patterns) * distinct.weights).sum())
    restless = np.flatnonzero(assigned.counts[:, 0] < distinct.weights)
    if len(restless):
        budget = min(MOST_WORK, WORK_PER_RECORD * len(restless))
        descend(choices, assigned, budget)
        unit = float(choices.cost[-1]) / max(1, int(patterns.starred[-1].sum()))
        anneal(choices, assigned, restless, HOT * unit, COLD * unit, int(assigned.work[0]) + budget)
        descend(choices, assigned, int(assigned.work[0]) + budget)
    return StarAssignment(assigned.counts, _cost(assigned.counts, patterns), bound)


def proof(distinct: DistinctRows, patterns: Patterns, found: StarAssignment) -> StarAssignment:
    """Search for something cheaper until there is nothing, or too many nodes were visited.

    Exponential in the number of records; what is found is proven for some tens of them, or where the cost meets the
    bound at once.
    """
    if found.proven:
        return found
    units = np.repeat(np.arange(len(distinct.weights), dtype=np.int32), distinct.weights)
    each = least_costs(patterns)
    least = np.append(np.cumsum(each[units][::-1])[::-1], 0.0)
    taken = np.empty(len(units), dtype=np.int32)
    extra = _extra_costs(patterns, each)
    cost, nodes, ended = cheapest_patterns(patterns.choices, units, least, extra, taken, found.cost, MOST_NODES)
    counts = found.counts
    if cost < found.cost - 1e-9:
        counts = np.zeros_like(counts)
        np.add.at(counts, (units, taken), 1)
    return StarAssignment(counts, cost, cost if ended else found.bound, nodes)


def least_costs(patterns: Patterns) -> NDArray[np.float64]:
    """Return the cost of the cheapest pattern in which each distinct record has a group; float64 (m,)."""
    least: NDArray[np.float64] = patterns.choices.cost[np.argmax(patterns.choices.group_of >= 0, axis=1)]
    return least


def _extra_costs(patterns: Patterns, least: NDArray[np.float64]) -> NDArray[np.float64]:
    choices = patterns.choices
    own = np.repeat(choices.cost[choices.pattern_of], np.diff(choices.starts))
    extra: NDArray[np.float64] = np.minimum.reduceat(own - least[choices.members], choices.starts[:-1])
    return extra


def _cost(counts: NDArray[np.int32], patterns: Patterns) -> float:
    return float((counts.sum(axis=0) * patterns.choices.cost).sum())


def nothing_assigned(height: int, patterns: Patterns) -> Assigned:
    """Return an empty assignment of `height` distinct records, with room for the log of a move."""
    count = len(patterns.choices.cost)
    room = 8 * height + 16 * count
    return Assigned(
        counts=np.zeros((height, count), dtype=np.int32),
        sizes=np.zeros(len(patterns.choices.pattern_of), dtype=np.int64),
        log=np.empty((room, 4), dtype=np.int64),
        broken=np.empty(room, dtype=np.int64),
        work=np.zeros(1, dtype=np.int64),
    )
