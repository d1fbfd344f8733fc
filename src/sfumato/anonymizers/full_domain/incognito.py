"""Searches of the lattice by the literature: Datafly, Samarati, Incognito.

Datafly: generalize the attribute with most distinct values until few records are left to suppress (Sweeney 1998).

Samarati's search: a full-domain generalization of the least height, found by bisection (Samarati, TKDE 2001).

Incognito: all full-domain generalizations that satisfy the models (LeFevre, DeWitt, Ramakrishnan, SIGMOD 2005).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, Literal

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
from sfumato.classes.statistics import statistics_of
from sfumato.errors import PolicyError, UnsatisfiableError, raise_all
from sfumato.hierarchy.lattice_search import SATISFYING, Lattice, LatticeSearch, Levels, NodeState, States, blank_states
from sfumato.kernels.full_domain import judge_sets, records_of_nodes, rolled_up
from sfumato.kernels.grouping import first_records
from sfumato.kernels.predicates import RuleArrays
from sfumato.models.compiled import rules_of
from sfumato.models.protocol import TRAITS, PrivacyModel, lasting
from sfumato.numbers import counted
from sfumato.options import Checked

# Searches of the lattice by frequency sets: the base of Datafly, Incognito and Samarati's search.


Places = tuple[int, ...]
"""Which attributes, rising."""

LARGEST = 1 << 20
"""Nodes that a search may have at most, where it is more than one path."""


class FrequencySearch(Checked):
    """Base of searches of the lattice by frequency sets, one level an attribute: they write `_search`, `_account`."""

    decides_regions: ClassVar[bool] = True
    aggregates: ClassVar[bool] = True
    people_apart: ClassVar[ModelsApart] = "merging models"
    order_free: ClassVar[bool] = True
    shares_nobody: ClassVar[bool] = True
    knows_regions: ClassVar[bool] = True

    def solve(self, problem: Problem) -> Partition:
        """Generalize the whole table to the chosen node, if one satisfies the models within the limit."""
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
    """Distinct combinations of nodes, then sensitive values, int32 (m, p + s), with the records that have each."""

    places: Places
    levels: Levels
    codes: NDArray[np.int32]
    weights: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class _NodeCounts:
    """What a node does to its classes: records that fail, classes that hold, and the rows in those, bool (m,)."""

    failing: int
    classes: int
    kept: NDArray[np.bool_]


class LatticeNodes:
    """The nodes of a table's lattice, counted, judged, priced, solved; `room`: records that may still be suppressed."""

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
        """Count the records in classes that break a rule that lasts: never more where attributes are generalized."""
        return _verdict(counted, self._lasting, self._regions, 0, lasting=True).failing

    def loss(self, counted: FrequencySet, kept: NDArray[np.bool_]) -> float:
        """Return the normalized NCP of the `kept` rows of a full node, all other records charged in full.

        Cost O(m · q).
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

        Models that compare with the whole table judge every class that is left again whenever some go. When fewer
        records than the smallest class may have are suppressed, the smallest classes go too (Sweeney's complementary
        suppression; of one size in the order of codes), so that their number points at nobody. Cost O(n · q), and O(n)
        for every time that classes go.
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
    """The classes of a node: `class_of`, int32 (n,); `among`, bool (n,), records that count; `people`, int64 (c,)."""

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


_Allowance = Literal["limit", "k"]


@dataclass(frozen=True)
class Datafly(FrequencySearch):
    """Climb one path through the lattice, always in the attribute that has most distinct values.

    While too many records are in classes that break a model, the attribute with most distinct values among the classes
    goes up one level (of several the first). Then these classes are suppressed.

    Parameters
    ----------
    allowance
        How many records may be left for suppression when it stops. ``"limit"``: as many as the suppression limit
        allows. ``"k"``: at most k, for the largest k of the models, as in the paper and in the thesis; and no more than
        the limit, which outranks it. With a limit of 0, the default, both go on until nothing has to be suppressed.

    Raises
    ------
    PolicyError
        When the allowance is unknown.

    Notes
    -----
    *Guarantee.* Every class satisfies every model of the problem, judged in the published table. "Small" classes of the
    paper are those that break any of the models. Suppressed records are none or at least k (complementary suppression:
    the smallest classes go too); where that would exceed the limit, it goes on generalizing. It ends, because all
    records at the top of the lattice are one class.

    *Complexity.* At most as many steps as the hierarchies have levels together; each rolls the counts of the last one
    up, only the first visits the records.

    *Sources.* L. Sweeney, "Guaranteeing anonymity when sharing medical data, the Datafly system", 1997; "Achieving
    k-anonymity privacy protection using generalization and suppression", 2002. The variant of the thesis is the same.
    The UTD Anonymization Toolbox publishes the suppressed records as one class of ``*``, which is
    ``Recoding(suppressed="star")`` here. Departures: the suppression limit is the problem's; any list of models.
    """

    name: ClassVar[str] = "datafly"

    allowance: _Allowance = "limit"

    def _search(self, nodes: LatticeNodes) -> tuple[LatticeSearch, Partition] | None:
        climb = _Climb(nodes)
        allowed = nodes.room if self.allowance == "limit" else min(nodes.room, nodes.start.smallest)
        for node in climb.path():
            if climb.failing(node) <= allowed:
                partition = nodes.solution(node.levels)
                if partition is not None:
                    return climb.as_search(), partition
        return None

    def _account(self, search: LatticeSearch) -> str:
        steps, size = counted(len(search.path) - 1, "step"), counted(search.lattice.size, "generalization")
        return f"Datafly took {steps} through a lattice of {size}."


class _Climb:
    """One way up the lattice, and what was found on it."""

    def __init__(self, nodes: LatticeNodes) -> None:
        self._nodes = nodes
        self._path: list[Levels] = []
        self._losses: dict[int, float] = {}
        self._states = blank_states(nodes.lattice)

    def path(self) -> Iterator[FrequencySet]:
        """Yield the nodes from the bottom up, each counted."""
        node: FrequencySet | None = self._nodes.bottom
        while node is not None:
            self._path.append(node.levels)
            self._nodes.start.problem.progress("generalizing", sum(node.levels), self._nodes.lattice.height)
            yield node
            node = self._one_higher(node)

    def _one_higher(self, node: FrequencySet) -> FrequencySet | None:
        """Generalize the attribute with most distinct values one level, the first of several; None at the top."""
        distinct = [
            len(np.unique(node.codes[:, place])) if level < domain.height else 0
            for place, (level, domain) in enumerate(zip(node.levels, self._nodes.domains, strict=True))
        ]
        highest = max(distinct)
        if not highest:
            return None
        raised = distinct.index(highest)
        levels = tuple(level + (place == raised) for place, level in enumerate(node.levels))
        return self._nodes.at(node, node.places, levels)

    def failing(self, node: FrequencySet) -> int:
        """Count the records in classes that break a model, and note what is found."""
        verdict, number = self._nodes.verdict(node), self._nodes.lattice.number(node.levels)
        self._states[number] = NodeState.SATISFIES if verdict.failing <= self._nodes.room else NodeState.FAILS
        self._losses[number] = self._nodes.loss(node, verdict.kept)
        return verdict.failing

    def as_search(self) -> LatticeSearch:
        """Return the way so far as a value; its last node is the chosen one."""
        path = tuple(self._path)
        return self._nodes.as_search(self._states, self._losses, chosen=path[-1], path=path, evaluated=len(path))


_HeightSelection = Literal["relative", "classes", "suppression", "loss"]


@dataclass(frozen=True)
class Samarati(FrequencySearch):
    """Find the least height of the lattice at which some node satisfies the models, and take a node there.

    The height of a node is the sum of its levels. What is above a node that satisfies does so, too; so the heights
    that have such a node are all from the least one on, and bisection finds that one.

    Parameters
    ----------
    selection
        Which node of that height is taken; the first three are the paper's. ``"relative"``: the one that climbs the
        smallest shares of the hierarchies, summed. ``"classes"``: the one with the most classes. ``"suppression"``:
        the one that leaves the fewest records in classes that break a model. ``"loss"``: the one with the least
        normalized NCP. Ties go to the node that generalizes the first attributes less.

    Raises
    ------
    PolicyError
        When the selection is unknown.

    Notes
    -----
    *Satisfying.* At most as many records as the suppression limit allows are in classes that break a model.

    *Guarantee.* Every class satisfies every model, judged in the published table. No node of a lower height satisfies
    the models; the chosen one need not lose least. Suppressed records are none or at least k (complementary
    suppression); where that exceeds the limit at every node of the height, the next height is taken.

    *Which models.* Bisection needs that generalizing never puts more records into classes that break a model. With a
    suppression limit this is true of k-anonymity and distinct l-diversity alone; other models are refused then.

    *Complexity.* Every node of a height without a satisfying one is counted, for about log₂ of the heights, and every
    node of the least height. Only the first frequency set visits the records.

    *Sources.* P. Samarati, "Protecting respondents' identities in microdata release", IEEE TKDE 13(6), 2001.
    Departures: classes are counted by frequency sets, not from a matrix of distance vectors; other models than
    k-anonymity; complementary suppression.
    """

    name: ClassVar[str] = "samarati"

    selection: _HeightSelection = "relative"

    def _unsearchable(self, problem: Problem, lattice: Lattice) -> Sequence[str]:
        problems = [
            f"samarati: with a suppression limit, generalizing may break {model.name}, and the search by heights could "
            "miss what satisfies it; allow no suppression, or take another anonymizer, such as incognito"
            for model in problem.models
            if problem.suppression_limit and not _lasts(model, problem)
        ]
        problems += [
            f"samarati: generalizing may break {model.name}, and the search by heights could miss what satisfies it; "
            "take another anonymizer, such as incognito"
            for model in problem.whole
            if problem.suppression_limit or not model.steady
        ]
        if lattice.size > LARGEST:
            problems.append(
                f"samarati: {lattice.size:,} generalizations are too many to go through by height; give fewer "
                "quasi-identifying attributes or hierarchies of fewer levels, or take another anonymizer, such as "
                "datafly"
            )
        return problems

    def _search(self, nodes: LatticeNodes) -> tuple[LatticeSearch, Partition] | None:
        heights = _Heights(nodes)
        least = heights.least()
        for height in range(least, nodes.lattice.height + 1):
            for levels in sorted(heights.satisfying(height), key=lambda node: (self._order(heights.of(node)), node)):
                partition = nodes.solution(levels)
                if partition is not None:
                    return heights.as_search(levels, least), partition
        return None

    def _account(self, search: LatticeSearch) -> str:
        return (
            f"Samarati's search counted {search.evaluated:,} of {search.lattice.size:,} generalizations. No height "
            f"below {sum(search.minimal[0])} has one that satisfies the models; it has {len(search.minimal):,}."
        )

    def _order(self, measure: _HeightMeasure) -> float:
        # Sums that differ in rounding only are equal.
        return round(float(getattr(measure, self.selection)), 12)


@dataclass(frozen=True)
class _HeightMeasure:
    """What is known of a counted node; of every measure less is better."""

    satisfies: bool
    relative: float
    classes: int
    suppression: int
    loss: float


class _Heights:
    """The nodes of a lattice by height, counted when they are asked for."""

    def __init__(self, nodes: LatticeNodes) -> None:
        self._nodes, self._lattice = nodes, nodes.lattice
        self._found: dict[Levels, _HeightMeasure] = {}

    def least(self) -> int:
        """Return the least height at which some node satisfies; the top always does."""
        low, high = 0, self._lattice.height
        while low < high:
            done = self._lattice.height - (high - low)
            self._nodes.start.problem.progress("generalizing", done, self._lattice.height)
            middle = (low + high) // 2
            if next(self.satisfying(middle), None) is not None:
                high = middle
            else:
                low = middle + 1
        return low

    def satisfying(self, height: int) -> Iterator[Levels]:
        """Yield the nodes of a height that satisfy, counting one after the other."""
        return (node for node in self._lattice.nodes() if sum(node) == height and self.of(node).satisfies)

    def of(self, node: Levels) -> _HeightMeasure:
        """Count a node, once."""
        if node not in self._found:
            bottom = self._nodes.bottom
            counted = self._nodes.at(bottom, bottom.places, node) if any(node) else bottom
            verdict = self._nodes.verdict(counted)
            shares = (level / top for level, top in zip(node, self._lattice.heights, strict=True) if top)
            loss = self._nodes.loss(counted, verdict.kept)
            satisfies = verdict.failing <= self._nodes.room
            self._found[node] = _HeightMeasure(satisfies, sum(shares), -verdict.classes, verdict.failing, loss)
        return self._found[node]

    def as_search(self, chosen: Levels, least: int) -> LatticeSearch:
        """Return what was found as a value."""
        states = blank_states(self._lattice)
        for node, measure in self._found.items():
            states[self._lattice.number(node)] = NodeState.SATISFIES if measure.satisfies else NodeState.FAILS
        minimal = tuple(self.satisfying(least))
        losses = {self._lattice.number(node): measure.loss for node, measure in self._found.items()}
        return self._nodes.as_search(
            states, losses, chosen=chosen, minimal=minimal, path=(chosen,), evaluated=len(self._found)
        )


def _lasts(model: PrivacyModel, problem: Problem) -> bool:
    """Tell whether a class that satisfies a model still does after any addition."""
    rules = rules_of([model], problem.table)
    return all(TRAITS[rule.code].lasting for rule in rules) and bool(getattr(model, "lasting", True))


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
    """Search the lattice of every subset of the attributes, at last that of all; and count the nodes over fewer."""
    # `passes` prunes: what passes must still do when attributes are generalized or dropped. `decides` judges the nodes
    # over all that are left.
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
    """Judge the candidates by rising height, but for those that follow from a node below."""
    # Every frequency set but the lowest is rolled up from the smallest at hand among its direct specializations, else
    # from the records; sets of neighboring heights are kept, up to `ROOM` rows.
    walk = _LatticeWalk(lattice, candidates, judge)
    shelves = [_Shelf() for _ in range(lattice.height + 2)]
    open_nodes = candidates.reshape(_shape(lattice))
    lowest = np.argwhere(open_nodes & ~_above(open_nodes))
    for node in _counted_from_below(nodes, places, lowest):
        walk.judge(node, None, shelves[sum(node.levels)])
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
    """States of the nodes of a lattice as they are found; `reached`: which one each was rolled up from."""

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
    """Count nodes, int64 (r, p), halving them again and again, so that most of the way up from records is shared."""
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
