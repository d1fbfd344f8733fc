"""Searches of the lattice by frequency sets: the base of Datafly, Incognito and Samarati's search.

A frequency set says how many records have each combination of nodes, on levels that are chosen attribute by attribute.
The records are visited for the first one; every other is rolled up from a lower one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.feasibility import FeasibleProblem, feasible
from sfumato.anonymizers.full_domain.levels import (
    DomainLevels,
    domain_levels,
    full_domain_classes,
    generalized_codes,
    lattice_of,
    notes_on,
)
from sfumato.anonymizers.full_domain.suppression import RegionModels, by_region
from sfumato.anonymizers.parts import least_loss_solution
from sfumato.anonymizers.protocol import ModelsApart, Problem
from sfumato.classes.partition import Partition, Regions, distinct_records, group_records
from sfumato.classes.people import statistics_of
from sfumato.errors import PolicyError, UnsatisfiableError, raise_all
from sfumato.hierarchy.lattice_search import Lattice, LatticeSearch, Levels, States
from sfumato.kernels.full_domain import judge_sets, records_of_nodes, rolled_up
from sfumato.kernels.grouping import first_records
from sfumato.kernels.predicates import RuleArrays
from sfumato.models.rule_traits import lasting
from sfumato.options import Checked

Places = tuple[int, ...]
"""Which attributes, rising."""

LARGEST = 1 << 20
"""Nodes that a search may have at most, where it is more than one path."""


class FrequencySearch(Checked):
    """Base of anonymizers that search the lattice by frequency sets: they write `_search` and `_account`.

    All publish one level for each attribute, judge classes by what they publish, and suppress what breaks a model on
    the node that they choose.
    """

    decides_regions: ClassVar[bool] = True
    aggregates: ClassVar[bool] = True
    people_apart: ClassVar[ModelsApart] = "merging models"
    order_free: ClassVar[bool] = True
    shares_nobody: ClassVar[bool] = True
    knows_regions: ClassVar[bool] = True

    def solve(self, problem: Problem) -> Partition:
        """Generalize the whole table to the chosen node.

        Raises ``UnsatisfiableError`` when not even the top of the lattice satisfies the models within the suppression
        limit. Raises ``PolicyError`` when the lattice is too large to search, or a model cannot be searched for.
        """
        return self._best(problem)[1]

    def search(self, problem: Problem) -> LatticeSearch:
        """Return what is found of the nodes, and the chosen one; errors as :meth:`solve`."""
        return self._best(problem)[0]

    def _search(self, nodes: LatticeNodes) -> tuple[LatticeSearch, Partition] | None:
        """Return what is found and the solution of the chosen node; None where no node can be published."""
        raise NotImplementedError

    def _account(self, search: LatticeSearch) -> str:
        """Say for the steward what was searched."""
        raise NotImplementedError

    def _unsearchable(self, problem: Problem, lattice: Lattice) -> Sequence[str]:
        """Say why a problem cannot be searched."""
        return ()

    def _best(self, problem: Problem) -> tuple[LatticeSearch, Partition]:
        """Search once for each choice of records, and take what loses least."""
        problem = by_region(problem)
        domains = domain_levels(problem.table)
        raise_all(PolicyError, self._unsearchable(problem, lattice_of(domains)))
        outcomes = (self._search(LatticeNodes(start, domains)) for start in feasible(problem))
        found = [outcome for outcome in outcomes if outcome is not None]
        if not found:
            raise UnsatisfiableError(
                f"suppression: some records have to be left out, and with no levels may they be within the limit of "
                f"{problem.suppression_limit}; raise the suppression limit or lower the models' parameters"
            )
        best = (
            found[0][1]
            if len(found) == 1
            else least_loss_solution(problem.table, [partition for _, partition in found])
        )
        search = next(search for search, partition in found if partition is best)
        notes = (self._account(search), _levels_in_words(search), *notes_on(domains))
        return search, replace(best, notes=notes)


def _levels_in_words(search: LatticeSearch) -> str:
    assert search.chosen is not None
    levels = zip(search.attributes, search.chosen, strict=True)
    return f"Levels: {', '.join(f'{name} {level}' for name, level in levels)}."


@dataclass(frozen=True, eq=False, repr=False)
class FrequencySet:
    """Distinct combinations of nodes with the number of records that have each.

    Letters: m combinations, p attributes (`places`), s sensitive attributes that a rule looks at. `codes`, int32 (m, p
    + s), has the number of each attribute's node on its level, then the sensitive values; `weights`, int64 (m,), the
    records with the combination.
    """

    places: Places
    levels: Levels
    codes: NDArray[np.int32]
    weights: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class _NodeCounts:
    """What one node of the lattice does to its classes, compared with the table as it is before any suppression.

    Records in classes that break a rule, classes that satisfy every rule, and the rows of the frequency set that are in
    one of them, bool (m,).
    """

    failing: int
    classes: int
    kept: NDArray[np.bool_]


class LatticeNodes:
    """The nodes of the lattice of one table: counted, judged, priced, and turned into solutions.

    `start` has the records that count, and the models; `room` is the number of records that may still be suppressed
    besides those that were left out beforehand. Letters: q attributes, n records.
    """

    def __init__(self, start: FeasibleProblem, domains: Sequence[DomainLevels]) -> None:
        self.start, self.domains = start, domains
        self.lattice = lattice_of(domains)
        self.rules = start.rules.arrays
        left_out = 0 if start.kept is None else int(np.count_nonzero(~start.kept))
        self.room = max(0, start.problem.suppression_limit - left_out)
        self.bottom = _bottom(start, domains)
        self._lasting = lasting(self.rules)
        self._climbs, self._starts = _climbs(domains)
        self._nodes = [domain.counts.tolist() for domain in domains]
        self._values = np.diff(self.rules.offsets).tolist()
        self._regions = RegionModels.of(start.problem)
        self._penalties = [[_penalties(domain, level) for level in range(domain.height + 1)] for domain in domains]

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

    def verdict(self, counted: FrequencySet) -> _NodeCounts:
        """Decide every class of a node. Cost O(m) for rules on sizes alone, else what the rules cost."""
        return _verdict(counted, self.rules, self._regions, self.start.problem.suppression_limit)

    def lost(self, counted: FrequencySet) -> int:
        """Count the records in classes that break a rule that lasts; cost as :meth:`verdict`.

        A class that satisfies such a rule satisfies it with whatever is added, so this number never rises when
        attributes are generalized or dropped, and no more records fail in the end.
        """
        return _verdict(counted, self._lasting, self._regions, 0, lasting=True).failing

    def loss(self, counted: FrequencySet, kept: NDArray[np.bool_]) -> float:
        """Return the normalized NCP when only the `kept` rows, bool (m,), of a full node are published.

        All other records of the table are charged in full: it is the metric of the published table. The same for any
        order of the rows. Cost O(m · q).
        """
        penalties = [self._penalties[place][level] for place, level in enumerate(counted.levels)]
        offsets = np.cumsum([0, *(len(part) for part in penalties)], dtype=np.int64)
        records = records_of_nodes(counted.codes, counted.weights, kept, offsets)
        lost = float((records * np.concatenate(penalties)).sum())
        height, everything = self.start.problem.table.height, sum(domain.attribute.weight for domain in self.domains)
        published = int(records[: offsets[1]].sum())
        return (lost + (height - published) * everything) / (height * everything)

    def solution(self, levels: Levels) -> Partition | None:
        """Generalize to a node and suppress the classes that break a model; None when that is not allowed.

        Models that compare with the whole table compare with the published one, which is another table whenever classes
        go; so every class that is left is judged again until all of them hold. When fewer records than the smallest
        class may have are suppressed, the smallest classes go too (Sweeney's complementary suppression; classes of one
        size in the order of their codes), so that the number of suppressed records points at nobody. Records that were
        left out beforehand are suppressed too. Cost O(n · q), and O(n) for every time that classes go.
        """
        start = self.start
        class_of, count, regions = full_domain_classes(start.problem.table, self.domains, levels)
        among = np.ones(len(class_of), dtype=np.bool_) if start.kept is None else start.kept
        firsts = np.unique(class_of, return_index=True)[1]
        nodes = generalized_codes(start.problem.table.codes[firsts], self.domains, levels)
        people = self._regions.people(range(len(self.domains)), levels, nodes)
        kept = _NodeClasses(start, self._regions, class_of, among, regions, people).kept(count)
        if kept is None:
            return None
        number = np.where(kept, np.cumsum(kept, dtype=np.int32) - 1, np.int32(-1)).astype(np.int32)
        cover = number[class_of]
        taken = regions.take(np.flatnonzero(kept))
        if start.kept is None:
            return Partition(cover, int(kept.sum()), regions=taken)
        return Partition(np.where(among, cover, np.int32(-1)), int(kept.sum()), cover, taken)

    def as_search(self, states: States, losses: dict[int, float], **found: Any) -> LatticeSearch:
        """Return what was found of the nodes as a value."""
        names = tuple(domain.attribute.name for domain in self.domains)
        return LatticeSearch(self.lattice, names, states, losses=losses, loss_name="normalized NCP", **found)


@dataclass(frozen=True, eq=False, repr=False)
class _NodeClasses:
    """The classes of a node, of which some have to be suppressed.

    `class_of`, int32 (n,); `among`, bool (n,), the records that count; `people`, int64 (c,), of a population.
    """

    start: FeasibleProblem
    whole: RegionModels
    class_of: NDArray[np.int32]
    among: NDArray[np.bool_]
    regions: Regions
    people: NDArray[np.int64] | None

    def kept(self, count: int) -> NDArray[np.bool_] | None:
        """Find the classes to keep, bool (c,); None where too many records would go."""
        sizes, limit = np.bincount(self.class_of[self.among], minlength=count), self.start.problem.suppression_limit
        kept = sizes > 0
        while True:
            suppressed = len(self.class_of) - int(sizes[kept].sum())
            if suppressed > limit or not kept.any():
                return None
            failing = self._failing(kept)
            if failing.any():
                kept[np.flatnonzero(kept)[failing]] = False
            elif 0 < suppressed < self.start.smallest:
                kept[self._smallest(kept, sizes, self.start.smallest - suppressed)] = False
            else:
                left = self.whole.left(sizes, self.people, kept, limit - suppressed)
                if left.sum() == kept.sum():
                    return kept
                kept = left

    def _failing(self, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Tell which of the kept classes break a model in the table of the kept classes; bool (kept classes,)."""
        number = np.where(kept, np.cumsum(kept, dtype=np.int32) - 1, np.int32(-1)).astype(np.int32)
        count = int(kept.sum())
        published = np.where(self.among, number[self.class_of], np.int32(-1)).astype(np.int32)
        statistics = statistics_of(self.start.problem.table, published, count)
        if self.people is not None:
            statistics = replace(statistics, population=self.people[kept])
        failing = np.zeros(count, dtype=np.bool_)
        for model in self.start.problem.models:
            failing |= ~model.holds(statistics)
        return failing

    def _smallest(self, kept: NDArray[np.bool_], sizes: NDArray[np.int64], needed: int) -> NDArray[np.int64]:
        """Return the fewest of the smallest kept classes that have `needed` records together."""
        classes = np.flatnonzero(kept)
        order = classes[np.lexsort((*self.regions.low[classes].T[::-1], sizes[classes]))]
        enough = int(np.searchsorted(np.cumsum(sizes[order]), needed)) + 1
        return order[:enough]


def _verdict(
    counted: FrequencySet, rules: RuleArrays, regions: RegionModels, limit: int, *, lasting: bool = False
) -> _NodeCounts:
    width = len(counted.places)
    if counted.codes.shape[1] == width:
        sizes, holds = counted.weights, counted.weights >= rules.first.max(initial=1)
        nodes, class_of = counted.codes, None
    else:
        class_of, count = group_records(np.ascontiguousarray(counted.codes[:, :width]))
        sizes, holds = judge_sets(class_of, count, counted.codes, width, counted.weights, rules)
        nodes = counted.codes[first_records(class_of, count), :width] if regions else counted.codes
    if regions:
        people = regions.people(counted.places, counted.levels, nodes)
        holds &= regions.hold(sizes, people, lasting=lasting)
        holds = holds if lasting else regions.left(sizes, people, holds, limit)
    kept = holds if class_of is None else holds[class_of]
    return _NodeCounts(int(sizes[~holds].sum()), int(np.count_nonzero(holds)), kept)


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


def _penalties(domain: DomainLevels, level: int) -> NDArray[np.float64]:
    """Weighted penalty of each node of a level, float64 (nodes,)."""
    leaves, attribute = domain.leaves[level], domain.attribute
    share = np.where(leaves > 1, leaves / attribute.domain_size, 0.0)
    starred = (domain.low[level] == 0) & (domain.high[level] == attribute.size) & (level == domain.height)
    penalties = np.zeros(domain.counts[level], dtype=np.float64)
    penalties[domain.node_of[level]] = attribute.weight * np.where(starred, 1.0, share)
    return penalties
