"""Frequency sets: how many records have each combination of nodes, on levels that are chosen attribute by attribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.domain_levels import DomainLevels
from sfumato.anonymizers.feasibility import FeasibleProblem
from sfumato.anonymizers.full_domain.region_population import RegionModels
from sfumato.classes.grouping import distinct_records, group_records
from sfumato.hierarchy.lattice import Levels
from sfumato.kernels.full_domain.frequency_sets import judged, rolled_up
from sfumato.kernels.grouping import first_records
from sfumato.kernels.predicates import RuleArrays
from sfumato.models.rule_traits import lasting

Places = tuple[int, ...]
"""Which attributes, rising."""


@dataclass(frozen=True, eq=False, repr=False)
class FrequencySet:
    """Distinct combinations of nodes with the number of records that have each.

    Letters: m combinations, p attributes, s sensitive attributes that a rule looks at.

    Attributes
    ----------
    places : tuple of int
        The attributes, length p.
    levels : tuple of int
        Their levels.
    codes : numpy.ndarray
        int32 (m, p + s): number of each attribute's node on its level, then the sensitive values.
    weights : numpy.ndarray
        int64 (m,): records with the combination.
    """

    places: Places
    levels: Levels
    codes: NDArray[np.int32]
    weights: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class NodeCounts:
    """What one node of the lattice does to its classes, compared with the table as it is before any suppression.

    Attributes
    ----------
    failing : int
        Records in classes that break a rule.
    classes : int
        Classes that satisfy every rule.
    kept : numpy.ndarray
        bool (m,): rows of the frequency set that are in one of them.
    """

    failing: int
    classes: int
    kept: NDArray[np.bool_]


class Counts:
    """All frequency sets of one table: its records are visited once, every set is rolled up from a lower one.

    Parameters
    ----------
    start
        The records that count, and the models.
    domains
        Length q.
    """

    def __init__(self, start: FeasibleProblem, domains: Sequence[DomainLevels]) -> None:
        self.domains = domains
        self.rules = start.rules.arrays
        self._lasting = lasting(self.rules)
        self._climbs, self._starts = _climbs(domains)
        self._nodes = [domain.counts.tolist() for domain in domains]
        self._values = np.diff(self.rules.offsets).tolist()
        self._regions, self._room = RegionModels.of(start.problem), start.problem.suppression_limit
        self.bottom = _bottom(start, domains)

    @property
    def lasting(self) -> bool:
        """Whether no more records fail when attributes are generalized: a class keeps every rule."""
        return len(self._lasting.codes) == len(self.rules.codes) and self._regions.lasting

    @property
    def steady(self) -> bool:
        """Whether all that is above a node satisfies the models where the node does without leaving anybody out."""
        return self._regions.steady

    def at(self, below: FrequencySet, places: Places, levels: Levels) -> FrequencySet:
        """Roll a frequency set up to higher levels of some of its attributes. Cost O(m · (p + s)), m rows below."""
        columns = [below.places.index(place) for place in places]
        starts = [
            self._starts[place, below.levels[column], level] if below.levels[column] != level else -1
            for place, column, level in zip(places, columns, levels, strict=True)
        ]
        width = below.codes.shape[1]
        sensitive = range(len(below.places), width)
        sizes = [self._nodes[place][level] for place, level in zip(places, levels, strict=True)]
        worth, cells = _numbering([*sizes, *self._values], 2 * len(below.weights))
        codes, weights = rolled_up(
            below.codes,
            below.weights,
            np.array([*columns, *sensitive], dtype=np.int64),
            np.array([*starts, *(-1 for _ in sensitive)], dtype=np.int64),
            self._climbs,
            worth,
            cells,
        )
        return FrequencySet(places, levels, codes, weights)

    def verdict(self, counted: FrequencySet) -> NodeCounts:
        """Decide every class of a node. Cost O(m) for rules on sizes alone, else what the rules cost."""
        return _verdict(counted, self.rules, self._regions, self._room)

    def lost(self, counted: FrequencySet) -> int:
        """Count the records in classes that break a rule that lasts; cost as :meth:`verdict`.

        A class that satisfies such a rule satisfies it with whatever is added, so this number never rises when
        attributes are generalized or dropped, and no more records fail in the end.
        """
        return _verdict(counted, self._lasting, self._regions, 0, lasting=True).failing


def _verdict(
    counted: FrequencySet, rules: RuleArrays, regions: RegionModels, room: int, *, lasting: bool = False
) -> NodeCounts:
    width = len(counted.places)
    if counted.codes.shape[1] == width:
        holds = counted.weights >= rules.first.max(initial=1)
        if regions:
            people = regions.people(counted.places, counted.levels, counted.codes)
            holds &= regions.hold(counted.weights, people, lasting=lasting)
            holds = holds if lasting else regions.left(counted.weights, people, holds, room)
        return NodeCounts(int(counted.weights[~holds].sum()), int(np.count_nonzero(holds)), holds)
    class_of, count = group_records(np.ascontiguousarray(counted.codes[:, :width]))
    sizes, holds = judged(class_of, count, counted.codes, width, counted.weights, rules)
    if regions:
        nodes = counted.codes[first_records(class_of, count), :width]
        people = regions.people(counted.places, counted.levels, nodes)
        holds &= regions.hold(sizes, people, lasting=lasting)
        holds = holds if lasting else regions.left(sizes, people, holds, room)
    return NodeCounts(int(sizes[~holds].sum()), int(np.count_nonzero(holds)), holds[class_of])


def _bottom(start: FeasibleProblem, domains: Sequence[DomainLevels]) -> FrequencySet:
    quasi, sensitive = start.problem.table.codes, start.rules.codes
    codes = np.concatenate([quasi, sensitive], axis=1) if sensitive.shape[1] else quasi
    distinct, weights, _ = distinct_records(codes if start.kept is None else codes[start.kept])
    return FrequencySet(tuple(range(len(domains))), (0,) * len(domains), distinct.astype(np.int32), weights)


def _numbering(sizes: Sequence[int], most: int) -> tuple[NDArray[np.int64], int]:
    """Return the worth of each column in the number of a row, int64, and how many numbers; 0 for more than `most`."""
    worth, cells = [], 1
    for size in sizes:
        worth.append(cells)
        cells *= size
        if cells > most:
            return np.zeros(len(sizes), dtype=np.int64), 0
    return np.array(worth, dtype=np.int64), cells


def _climbs(domains: Sequence[DomainLevels]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Lay out what the nodes of each level become on each higher one, int32, and where: int64 (q, h + 1, h + 1)."""
    most = max(domain.height for domain in domains) + 1
    starts = np.full((len(domains), most, most), -1, dtype=np.int64)
    parts: list[NDArray[np.int32]] = [np.zeros(0, dtype=np.int32)]
    length = 0
    for place, domain in enumerate(domains):
        for lower in range(domain.height):
            nodes = domain.counts[lower]
            for upper in range(lower + 1, domain.height + 1):
                climb = np.zeros(nodes, dtype=np.int32)
                climb[domain.node_of[lower]] = domain.node_of[upper]
                starts[place, lower, upper] = length
                parts.append(climb)
                length += int(nodes)
    return np.concatenate(parts), starts
