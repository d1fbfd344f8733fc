"""Which classes of a full-domain generalization are suppressed, by models of classes, the whole table, or a population.

Models may compare with the published table. Every class publishes a region that is known while it is judged, so that
people of a population are counted who have the published values. A value of the population that the table lacks belongs
to the region that has its label on the level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.full_domain.levels import (
    DomainLevels,
    Grouping,
    LevelTables,
    WeightedRecords,
    domain_levels,
    group_weighted,
    plain_records,
)
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import group_records
from sfumato.classes.population import people_of_regions
from sfumato.classes.statistics import ClassStatistics, SensitiveCounts
from sfumato.errors import PolicyError
from sfumato.hierarchy.lattice_search import Levels
from sfumato.kernels.full_domain import judge_classes, smallest_class, value_totals
from sfumato.kernels.predicates import RuleArrays
from sfumato.models.compiled import CompiledRules, rule_arrays
from sfumato.models.protocol import (
    TOLERANCE,
    PrivacyModel,
    WholeTableModel,
    lasting,
    left_after,
    of_population,
    ruled,
    smallest,
    whole_table_models,
)
from sfumato.models.reference import is_fixed
from sfumato.table.encoding import EncodedAttribute, PeopleOfPopulation
from sfumato.table.reading import value_keys

_Marks = NDArray[np.bool_]

_KEPT = 32
"""Nodes on which people stay put together at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class SuppressionRule:
    """The models of a problem, and what a node of the lattice has to suppress to satisfy them.

    *Procedure.* Classes that break a model are suppressed. Where a model compares with the whole table, that is the
    published one: what is left is judged anew, until all its classes hold. When then some records are suppressed, but
    fewer than the largest k, the smallest class goes too (of equal ones that whose nodes come first, attribute by
    attribute) and everything is judged anew. A node is a solution when something is left and the limit is kept.
    """

    rules: CompiledRules  # against the original table
    models: tuple[PrivacyModel, ...]
    smallest: int  # fewest records that may be suppressed, if any: the largest k
    limit: int  # most records that may be suppressed
    regions: RegionModels  # what is said of the people of a population whom classes cover
    # the population, laid out for the records of a search; without it every class is looked up by what it publishes
    covered: RegionPeople | None = None
    # What is suppressed although it satisfies the models. A part of a class may be worth what the class is not.
    worth: _Worth | None = None

    @cached_property
    def ruled(self) -> bool:
        """Whether some rule looks at more than the class size."""
        return ruled(self.rules.arrays)

    @cached_property
    def relative(self) -> bool:
        """Whether some rule compares with the published table."""
        return self.rules.relative

    @property
    def satisfiable(self) -> bool:
        """Whether all records as one class satisfy every model."""
        return all(bool(model.holds(self.rules.whole).all()) for model in self.models)

    @property
    def may_suppress(self) -> bool:
        """Whether the limit allows any number of records that may be suppressed."""
        return self.limit >= self.smallest

    def among(self, limit: int) -> SuppressionRule:
        """Return the same rule under another limit."""
        return replace(self, limit=limit)

    def apply(self, records: WeightedRecords, tables: LevelTables, levels: Levels, groups: Grouping) -> NodeOutcome:
        """Decide what becomes of the classes of a node. Cost O(m · s + what the rules cost) for each round."""
        large = groups.sizes >= self.smallest
        lost = ~self._hereditary(records, groups, large)
        lost |= self._unique_for_good(records, groups)
        unfit, people = lost, None
        if self.regions:
            people = self._people(records, tables, levels, groups)
            lost |= ~self.regions.hold(groups.sizes, people, lasting=True)
            unfit = lost | ~self.regions.hold(groups.sizes, people)
        kept = self._first_round(records, groups, unfit)
        broken = records.gone + _weight(groups, ~kept)
        if self.worth is not None:
            kept = self._judge_again(records, groups, kept & self.worth.worthwhile(records, groups, people, levels))
        kept = self._left(records, groups, people, kept)
        suppressed = records.gone + _weight(groups, ~kept)
        while 0 < suppressed < self.smallest and kept.any():
            kept[smallest_class(records.codes, groups.firsts, groups.sizes, kept, tables.at(levels), tables.nodes)] = (
                False
            )
            kept = self._left(records, groups, people, self._judge_again(records, groups, kept))
            suppressed = records.gone + _weight(groups, ~kept)
        doomed = records.gone + _weight(groups, lost)
        holds = bool(kept.any()) and suppressed <= self.limit
        return NodeOutcome(kept, lost, doomed, suppressed, broken, holds, people)

    def holding(self, records: WeightedRecords, groups: Grouping, among: _Marks) -> _Marks:
        """Tell which classes `among`, bool (c,), satisfy every model when all records are published; bool (c,)."""
        large = among & (groups.sizes >= self.smallest)
        return self._judged(records, groups, large, self.rules.arrays, self._identity) if self.ruled else large

    def hopeless(self, outcome: NodeOutcome) -> bool:
        """Tell whether neither the node nor any specialization of it can be a solution."""
        if not self.may_suppress:
            steady = self.worth is None and self.regions.steady
            return outcome.broken > 0 or (outcome.suppressed > 0 and steady)
        return outcome.doomed > self.limit

    def _left(
        self, records: WeightedRecords, groups: Grouping, people: NDArray[np.int64] | None, kept: _Marks
    ) -> _Marks:
        """Suppress what it takes for the whole table to hold, and judge what is left anew."""
        while self.regions and kept.any():
            room = self.limit - records.gone - _weight(groups, ~kept)
            left = self.regions.left(groups.sizes, people, kept, max(0, room))
            if left.sum() == kept.sum():
                break
            kept = self._judge_again(records, groups, left)
        return kept

    def _people(
        self, records: WeightedRecords, tables: LevelTables, levels: Levels, groups: Grouping
    ) -> NDArray[np.int64] | None:
        """Count the people of a population whom each class covers, int64 (c,)."""
        if self.regions.population is None:
            return None
        if self.covered is not None:
            return self.covered.of_classes(records, groups, levels)
        nodes = tables.nodes[tables.at(levels) + records.codes[groups.firsts].astype(np.int64)]
        return self.regions.people(range(len(levels)), levels, nodes)

    def _hereditary(self, records: WeightedRecords, groups: Grouping, large: _Marks) -> _Marks:
        if self._passed_on is None:
            return large
        return self._judged(records, groups, large, self._passed_on, self._identity)

    @cached_property
    def _passed_on(self) -> RuleArrays | None:
        """The rules that every part of a class breaks when the class does; None when they are on sizes alone."""
        found = lasting(self.rules.arrays)
        return found if ruled(found) else None

    @cached_property
    def _identity(self) -> NDArray[np.int64]:
        return np.arange(len(self.rules.arrays.totals), dtype=np.int64)

    def _judged(
        self, records: WeightedRecords, groups: Grouping, kept: _Marks, rules: RuleArrays, value_of: NDArray[np.int64]
    ) -> _Marks:
        starts = self.rules.arrays.offsets[:-1]
        return judge_classes(
            groups.class_of, groups.sizes, kept, records.weights, records.values, value_of, starts, rules
        )  # fmt: skip

    def _unique_for_good(self, records: WeightedRecords, groups: Grouping) -> _Marks:
        """Tell which classes are alone on every specialization, and left out there; bool (c,)."""
        # Where more records are alone than may be, all of them are left out. On a specialization no fewer are alone,
        # out of no more records, so that the same happens there; and so in every box within one where it does.
        alone: _Marks = groups.sizes == 1
        if self._unique_share is None:
            return np.zeros_like(alone)
        height = records.gone + int(groups.sizes.sum())
        too_many = records.gone > 0 or int(alone.sum()) > (self._unique_share + TOLERANCE) * height
        return alone if too_many else np.zeros_like(alone)

    @cached_property
    def _unique_share(self) -> float | None:
        """The share of records that may be alone; None where anything else is asked for, which might leave them out."""
        whole = self.regions.whole
        others = self.regions.models or self.ruled or self.smallest > 1 or self.worth is not None
        return whole[0].most_alone(self.rules.whole.height) if len(whole) == 1 and not others else None

    def _first_round(self, records: WeightedRecords, groups: Grouping, lost: _Marks) -> _Marks:
        """Suppress what breaks a rule when everything is published, and settle what is left."""
        if not self.ruled:
            return ~lost
        good = self._judged(records, groups, ~lost, self.rules.arrays, self._identity)
        everything = good.all() and not records.gone
        return good if everything or not self.relative else self._judge_again(records, groups, good)

    def _judge_again(self, records: WeightedRecords, groups: Grouping, kept: _Marks) -> _Marks:
        """Judge classes by what is left, again and again, until all of them hold or too many records are gone."""
        while self.relative and kept.any() and records.gone + _weight(groups, ~kept) <= self.limit:
            good = self._judged(records, groups, kept, *self._rules_among(records, groups, kept))
            if good.sum() == kept.sum():
                break
            kept = good
        return kept

    def _rules_among(
        self, records: WeightedRecords, groups: Grouping, kept: _Marks
    ) -> tuple[RuleArrays, NDArray[np.int64]]:
        """Compile the rules for the kept records as the whole table, without values that have left it."""
        arrays = self.rules.arrays
        starts = arrays.offsets[:-1]
        totals = value_totals(
            groups.class_of, kept, records.weights, records.values, starts, len(arrays.totals)
        )  # fmt: skip
        here, left = totals > 0, {}
        columns = zip(self.rules.sensitive.items(), starts, arrays.offsets[1:], strict=True)
        for (column, counts), start, stop in columns:
            if is_fixed(column):
                here[start:stop], left[column] = True, counts
            else:
                left[column] = _restricted(counts, totals[start:stop])
        compiled = rule_arrays(self.rules.sources, left, _weight(groups, kept))
        return compiled, np.cumsum(here) - 1


def suppression_rule(problem: Problem) -> SuppressionRule:
    """Compile the models of a problem. Cost O(n)."""
    rules = problem.rules
    size = smallest(rules.arrays)
    regions = RegionModels.of(problem)
    limit = problem.suppression_limit
    return SuppressionRule(rules, tuple(problem.models), size, limit, regions)


def _weight(groups: Grouping, marked: _Marks) -> int:
    return int(groups.sizes[marked].sum())


def _restricted(counts: SensitiveCounts, totals: NDArray[np.int64]) -> SensitiveCounts:
    """Return what rules are compiled from when only some records are left: values, and how often they occur."""
    here = totals > 0
    nothing = np.zeros(0, dtype=np.int64)
    leaf_of: Sequence[int] | NDArray[np.int32] | None = counts.leaf_of
    return replace(
        counts,
        starts=np.zeros(1, dtype=np.int64),
        values=nothing.astype(np.int32),
        counts=nothing,
        totals=totals[here],
        leaf_of=None if leaf_of is None else np.asarray(leaf_of, dtype=np.int32)[here],
        code_of=None if counts.code_of is None else counts.code_of[here],
    )


@dataclass(frozen=True, eq=False, repr=False)
class NodeOutcome:
    """What becomes of the classes of one node: which are `kept`, and `lost` on every specialization, too.

    `doomed`: records of these, and those lost before. `broken`: suppressed ones whose classes break a model by
    themselves. `people`: of a population, by class, where a model speaks of them.
    """

    kept: _Marks
    lost: _Marks
    doomed: int
    suppressed: int
    broken: int
    holds: bool
    people: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class CountedNode:
    """A node of the lattice: the records that are still looked at, their classes on it, and what becomes of these."""

    levels: Levels
    records: WeightedRecords
    groups: Grouping
    outcome: NodeOutcome


class _Worth(Protocol):
    """Which classes are worth publishing, beyond what models allow."""

    def worthwhile(
        self, records: WeightedRecords, groups: Grouping, people: NDArray[np.int64] | None, levels: Levels
    ) -> _Marks:
        """Tell it of each class of a node; bool (c,). people : int64 (c,), as in :class:`NodeOutcome`."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class RegionModels:
    """The models of a problem that speak of a population, judged by region, and those of the `whole` table."""

    models: tuple[PrivacyModel, ...]
    population: PeopleOfPopulation | None
    whole: tuple[WholeTableModel, ...] = ()

    @classmethod
    def of(cls, problem: Problem) -> RegionModels:
        """Take them from a problem; none where its classes count shares (:func:`by_region`)."""
        population = problem.table.population
        if population is None or population.nodes is None:
            return cls((), None, tuple(problem.whole))
        return cls(tuple(of_population(problem.models)), population, tuple(problem.whole))

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.models or self.whole)

    @property
    def lasting(self) -> bool:
        """Whether a class that satisfies them still does after any addition, and none concerns the whole table."""
        return not self.whole and all(model.lasting for model in self.models)  # type: ignore[attr-defined]

    @property
    def steady(self) -> bool:
        """Whether what holds of a table goes on holding when its classes are merged."""
        return all(model.steady for model in self.whole)

    def people(
        self, places: Sequence[int], levels: Sequence[int], regions: NDArray[np.integer]
    ) -> NDArray[np.int64] | None:
        """Count the people of each region, int64 (c,); None without a population."""
        return None if self.population is None else people_of_regions(self.population, places, levels, regions)

    def leave_out_nobody(self, people: NDArray[np.int64] | None) -> bool:
        """Tell whether the people of the published classes, int64 (c,), are as many as some model asks for: all."""
        if self.population is None or people is None:
            return True
        asked = any(getattr(model, "covers_everybody", False) for model in self.models)
        return not asked or int(people.sum()) == self.population.height

    def left(self, sizes: NDArray[np.int64], people: NDArray[np.int64] | None, kept: _Marks, room: int) -> _Marks:
        """Leave out the weakest of the kept classes, up to `room` records, until the whole table holds; bool (c,)."""
        kept = left_after(self.whole, sizes, people, kept, room) if self.whole else kept
        covered = self.leave_out_nobody(None if people is None else people[kept])
        return kept if covered else np.zeros_like(kept)

    def hold(self, sizes: NDArray[np.int64], people: NDArray[np.int64] | None, *, lasting: bool = False) -> _Marks:
        """Tell which classes satisfy them, or only those of them that are lasting; bool (c,)."""
        verdict = np.ones(len(sizes), dtype=np.bool_)
        statistics = ClassStatistics(sizes, {}, population=people)
        for model in self.models:
            if not lasting or model.lasting:  # type: ignore[attr-defined]
                verdict &= model.holds(statistics)
        return verdict


def by_region(problem: Problem) -> Problem:
    """Return a problem for who knows all classes of a candidate, and what they publish: judged by people of regions."""
    whole = whole_table_models(problem.models)
    if whole:
        models = [model for model in problem.models if model not in whole]
        problem = replace(problem, models=models, whole=(*problem.whole, *whole))
    population = problem.table.population
    if population is None or population.nodes is not None:
        return problem
    own = domain_levels(problem.table)
    other = domain_levels(replace(problem.table, attributes=population.encoded))
    nodes = tuple(_nodes(here, there) for here, there in zip(own, other, strict=True))
    table = replace(problem.table, population=replace(population, nodes=nodes))
    return replace(problem, table=table)


def _nodes(own: DomainLevels, other: DomainLevels) -> NDArray[np.int32]:
    """Return the table's node of each value of the population on each level; int32 (h + 1, values)."""
    if own.height != other.height:
        name = own.attribute.name
        raise PolicyError(
            f"population: the hierarchy of {name!r} has {own.height} levels for the table and {other.height} for the "
            "population; give one that says the same of both"
        )
    rows = []
    for level in range(own.height + 1):
        node_of = {key: int(own.node_of[level, code]) for code, key in enumerate(_keys(own.attribute, level))}
        keys = _keys(other.attribute, level)
        rows.append([*(node_of.get(key, -1) for key in keys), *_missing(own, other, level)])
    return np.array(rows, dtype=np.int32)


def _keys(attribute: EncodedAttribute, level: int) -> Sequence[object]:
    """Return what each value, without the missing one, is called on a level."""
    hierarchy = attribute.hierarchy
    if hierarchy is None or hierarchy.height == 0:
        return value_keys(attribute) if level == 0 else [None] * attribute.size
    if level == 0:
        return value_keys(attribute)
    labels = hierarchy.levels[level].labels
    return [labels[node] for node in hierarchy.node_of[level]]


def _missing(own: DomainLevels, other: DomainLevels, level: int) -> list[int]:
    """Return the node of the population's missing value, if it has one."""
    if not other.attribute.has_missing:
        return []
    if own.attribute.has_missing:
        return [int(own.node_of[level, own.attribute.size])]
    # A root that is published by its name covers no missing value.
    covered = level == own.height and int(own.high[level].max(initial=0)) == own.attribute.size
    return [0 if covered else -1]


@dataclass(frozen=True, eq=False, repr=False)
class RegionPeople:
    """A population laid out, and grouped, like the records of a search; a class asks for somebody like one of its.

    `like`, integers (m,): for each record on the bottom, somebody with its values. `kept`: the same, put together on
    some levels.
    """

    people: WeightedRecords
    tables: LevelTables
    like: NDArray[np.integer]
    kept: dict[Levels, RegionPeople] = field(default_factory=dict)

    @classmethod
    def of(
        cls, population: PeopleOfPopulation, records: WeightedRecords, domains: tuple[DomainLevels, ...]
    ) -> RegionPeople:
        """Lay a population out whose nodes are known. Cost O((m + people) · q)."""
        assert population.nodes is not None
        nodes = [
            np.where(own < 0, domain.counts[:, None].astype(np.int64), own)
            for own, domain in zip(population.nodes, domains, strict=True)
        ]
        sizes = np.array([own.size for own in nodes], dtype=np.int64)
        tables = LevelTables(
            heights=tuple(domain.height for domain in domains),
            starts=np.cumsum(sizes) - sizes,
            widths=np.array([own.shape[1] for own in nodes], dtype=np.int64),
            nodes=np.concatenate([own.ravel() for own in nodes]),
            bits=tuple(tuple(int(count).bit_length() for count in domain.counts) for domain in domains),
        )
        return cls(plain_records(population.codes, population.weights), tables, _like(population, records, domains))

    def of_classes(self, records: WeightedRecords, groups: Grouping, levels: Levels) -> NDArray[np.int64]:
        """Count the people of each class on `levels`, int64 (c,). Cost O(people · q + c)."""
        together = self._put_together(records.levels)
        found = group_weighted(together.people, self.tables, levels)
        counted: NDArray[np.int64] = found.sizes[found.class_of[together.like[records.origin[groups.firsts]]]]
        return counted

    def _put_together(self, levels: Levels) -> RegionPeople:
        """Put people together who are equal on levels on which records have been put together; kept for later."""
        if not any(levels):
            return self
        if levels not in self.kept:
            found = group_weighted(self.people, self.tables, levels)
            people = self.people.take(found.firsts, found.sizes, levels)
            if len(self.kept) >= _KEPT:
                del self.kept[next(iter(self.kept))]
            self.kept[levels] = RegionPeople(people, self.tables, found.class_of[self.like])
        return self.kept[levels]


def _like(
    population: PeopleOfPopulation, records: WeightedRecords, domains: tuple[DomainLevels, ...]
) -> NDArray[np.integer]:
    """Find, for each record, somebody of the population with its values, of whom there is one at least."""
    assert population.nodes is not None
    own = np.column_stack([domain.node_of[0][records.codes[:, place]] for place, domain in enumerate(domains)]).astype(
        np.int32
    )
    people = np.column_stack([nodes[0][population.codes[:, place]] for place, nodes in enumerate(population.nodes)])
    near = np.flatnonzero((people >= 0).all(axis=1))
    number_of, count = group_records(np.concatenate([own, people[near].astype(np.int32)]))
    somebody = np.zeros(count, dtype=np.int64)
    somebody[number_of[len(own) :]] = near
    return somebody[number_of[: len(own)]]
