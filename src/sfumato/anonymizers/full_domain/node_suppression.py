"""Which classes of a full-domain generalization are suppressed, where models may compare with the published table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.full_domain.region_people import RegionPeople
from sfumato.anonymizers.full_domain.region_population import RegionModels
from sfumato.anonymizers.full_domain.weighted_records import Grouping, LevelTables, WeightedRecords
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.statistics import SensitiveCounts
from sfumato.hierarchy.lattice import Levels
from sfumato.kernels.full_domain.full_domain import judged, smallest_class, value_totals
from sfumato.kernels.predicates import RuleArrays
from sfumato.models.compiled import CompiledRules, rule_arrays
from sfumato.models.protocol import TOLERANCE, PrivacyModel
from sfumato.models.reference import is_fixed
from sfumato.models.rule_traits import lasting, ruled, smallest

Marks = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class NodeOutcome:
    """What becomes of the classes of one node.

    Attributes
    ----------
    kept : numpy.ndarray
        bool (c,): the classes that are published.
    lost : numpy.ndarray
        bool (c,): classes whose records every specialization suppresses, too.
    doomed : int
        Records of the lost classes, and those that were lost before.
    suppressed : int
        Records of the classes that are not published.
    broken : int
        Those among them, and among what was lost before, whose classes break a model by themselves.
    holds : bool
        Whether that is a solution: something is published, and the suppression limit is kept.
    people : numpy.ndarray or None
        int64 (c,): people of a population whom each class covers, where a model speaks of them.
    """

    kept: Marks
    lost: Marks
    doomed: int
    suppressed: int
    broken: int
    holds: bool
    people: NDArray[np.int64] | None = None


class Worth(Protocol):
    """Which classes are worth publishing, beyond what models allow."""

    def worthwhile(
        self, records: WeightedRecords, groups: Grouping, people: NDArray[np.int64] | None, levels: Levels
    ) -> Marks:
        """Tell it of each class of a node; bool (c,). people : int64 (c,), as in :class:`NodeOutcome`."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class SuppressionRule:
    """The models of a problem, and what a node of the lattice has to suppress to satisfy them.

    *Procedure.* Classes that break a model are suppressed. Where a model compares with the whole table, that is the
    published one: what is left is judged anew, until all its classes hold. When then some records are suppressed, but
    fewer than the largest k, the smallest class goes too (of equal ones that whose nodes come first, attribute by
    attribute) and everything is judged anew. A node is a solution when something is left and the limit is kept.

    Attributes
    ----------
    rules : CompiledRules
        Against the original table.
    models : tuple of PrivacyModel
    smallest : int
        Fewest records that may be suppressed, if any: the largest k.
    limit : int
        Most records that may be suppressed.
    regions : RegionModels
        What is said of the people of a population whom classes cover.
    covered : RegionPeople or None
        The population, laid out for the records of a search; without it every class is looked up by what it publishes.
    worth : Worth or None
        What is suppressed although it satisfies the models. A part of a class may be worth what the class is not.
    """

    rules: CompiledRules
    models: tuple[PrivacyModel, ...]
    smallest: int
    limit: int
    regions: RegionModels
    covered: RegionPeople | None = None
    worth: Worth | None = None

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
            kept = self._settled(records, groups, kept & self.worth.worthwhile(records, groups, people, levels))
        kept = self._left(records, groups, people, kept)
        suppressed = records.gone + _weight(groups, ~kept)
        while 0 < suppressed < self.smallest and kept.any():
            kept[smallest_class(records.codes, groups.firsts, groups.sizes, kept, tables.at(levels), tables.nodes)] = (
                False
            )
            kept = self._left(records, groups, people, self._settled(records, groups, kept))
            suppressed = records.gone + _weight(groups, ~kept)
        doomed = records.gone + _weight(groups, lost)
        holds = bool(kept.any()) and suppressed <= self.limit
        return NodeOutcome(kept, lost, doomed, suppressed, broken, holds, people)

    def holding(self, records: WeightedRecords, groups: Grouping, among: Marks) -> Marks:
        """Tell which classes satisfy every model when all records of the table are published; bool (c,).

        among : bool (c,), the classes to look at.
        """
        large = among & (groups.sizes >= self.smallest)
        return self._judged(records, groups, large, self.rules.arrays, self._identity) if self.ruled else large

    def hopeless(self, outcome: NodeOutcome) -> bool:
        """Tell whether neither the node nor any specialization of it can be a solution."""
        if not self.may_suppress:
            steady = self.worth is None and self.regions.steady
            return outcome.broken > 0 or (outcome.suppressed > 0 and steady)
        return outcome.doomed > self.limit

    def _left(self, records: WeightedRecords, groups: Grouping, people: NDArray[np.int64] | None, kept: Marks) -> Marks:
        """Suppress what it takes for the whole table to hold, and judge what is left anew."""
        while self.regions and kept.any():
            room = self.limit - records.gone - _weight(groups, ~kept)
            left = self.regions.left(groups.sizes, people, kept, max(0, room))
            if left.sum() == kept.sum():
                break
            kept = self._settled(records, groups, left)
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

    def _hereditary(self, records: WeightedRecords, groups: Grouping, large: Marks) -> Marks:
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
        self,
        records: WeightedRecords,
        groups: Grouping,
        kept: Marks,
        rules: RuleArrays,
        value_of: NDArray[np.int64],
    ) -> Marks:
        starts = self.rules.arrays.offsets[:-1]
        return judged(
            groups.class_of, groups.sizes, kept, records.weights, records.values, value_of, starts, rules
        )  # fmt: skip

    def _unique_for_good(self, records: WeightedRecords, groups: Grouping) -> Marks:
        """Tell which classes are alone on every specialization, and left out there; bool (c,).

        Where more records are alone than may be, all of them are left out. On a specialization no fewer are alone, out
        of no more records, so that the same happens there; and so in every box within one where it does.
        """
        alone: Marks = groups.sizes == 1
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

    def _first_round(self, records: WeightedRecords, groups: Grouping, lost: Marks) -> Marks:
        """Suppress what breaks a rule when everything is published, and settle what is left."""
        if not self.ruled:
            return ~lost
        good = self._judged(records, groups, ~lost, self.rules.arrays, self._identity)
        everything = good.all() and not records.gone
        return good if everything or not self.relative else self._settled(records, groups, good)

    def _settled(self, records: WeightedRecords, groups: Grouping, kept: Marks) -> Marks:
        """Judge classes by what is left, again and again, until all of them hold or too many records are gone."""
        while self.relative and kept.any() and records.gone + _weight(groups, ~kept) <= self.limit:
            good = self._judged(records, groups, kept, *self._rules_among(records, groups, kept))
            if good.sum() == kept.sum():
                break
            kept = good
        return kept

    def _rules_among(
        self, records: WeightedRecords, groups: Grouping, kept: Marks
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


def _weight(groups: Grouping, marked: Marks) -> int:
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
