"""Cell suppression: the cheapest single values to replace by ``*`` (local suppression of statistics offices)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from types import MappingProxyType
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.cell_suppression.fewest_stars import StarAssignment, proof, search
from sfumato.anonymizers.cell_suppression.star_patterns import DistinctRows, Patterns, distinct_in_order, patterns_of
from sfumato.anonymizers.cell_suppression.star_subsets import shared_combinations
from sfumato.anonymizers.cell_suppression.star_wildcards import compatible_records
from sfumato.anonymizers.cell_suppression.starred_classes import (
    Chosen,
    StarringProblem,
    all_settled,
    chosen_patterns,
    covering,
    regions_of,
)
from sfumato.anonymizers.feasibility import FeasibleProblem, feasible
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.grouping import group_records
from sfumato.classes.partition import Partition
from sfumato.errors import PolicyError, UnsatisfiableError, raise_all
from sfumato.kernels.grouping import first_records
from sfumato.models.subset_k_anonymity import SubsetKAnonymity
from sfumato.models.wildcard_k_anonymity import WildcardKAnonymity
from sfumato.numbers import counted, figure
from sfumato.options import Checked
from sfumato.table.encoding import EncodedAttribute, EncodedTable

Method = Literal["heuristic", "exact"]

MOST_IMPORTANT = 1_000_000_000


@dataclass(frozen=True)
class CellSuppression(Checked):
    """Publish every value as it is, or as ``*``, with the fewest or the cheapest stars that satisfy the models.

    Parameters
    ----------
    importance
        How much a star costs in an attribute, a number above 0 and up to 10⁹ for each name; 1 for those that are not
        named.
    strata
        A quasi-identifying attribute that is never starred: each of its values is a table of its own.
    method
        ``"heuristic"`` for tables of any size. ``"exact"`` goes on by branch and bound until it is proven that nothing
        costs less for k-anonymity, which some tens of records allow.

    Raises
    ------
    PolicyError
        With every wrong option.

    Notes
    -----
    *What a star counts as.* A value of its own: published records are equal when all their values are, stars included.
    That is what the verifier groups by. Decision record 4 tells why not as a value that equals every other.

    *Guarantee.* Every class of equal published records satisfies every model of the problem. Models that look at more
    than sizes are met by starring the classes that break them further; this needs models that are monotone under
    merging, as all models of the library are.

    *Complexity.* O(p m q) to find the groups of m distinct records under p ≤ 256 patterns of stars (all of them up to
    eight attributes), and a search within a fixed amount of work, about a second.

    *Sources.* Cell suppression for k-anonymity: A. Meyerson, R. Williams, "On the complexity of optimal k-anonymity",
    PODS 2004, who show that the fewest stars are hard to find. The search is ours: facility location with lower
    bounds, by opening and closing groups, descent and annealing.
    """

    name: ClassVar[str] = "cell-suppression"
    decides_regions: ClassVar[bool] = True

    importance: Mapping[str, float] | None = None
    strata: str | None = None
    method: Method = "heuristic"

    def __post_init__(self) -> None:
        """Check every option by itself; whether the names are attributes is known when there is a table."""
        super().__post_init__()
        if self.importance is not None:
            weights = {name: float(weight) for name, weight in self.importance.items()}
            object.__setattr__(self, "importance", MappingProxyType(weights))

    def _mistakes(self) -> Iterator[str]:
        yield from () if self.importance is None else _weight_problems(self.importance)
        if self.strata is not None and not isinstance(self.strata, str):
            yield "cell-suppression, strata: give the name of a quasi-identifying column"

    def __hash__(self) -> int:
        """Hash by value; the order of `importance` does not count."""
        return hash((frozenset(self.weights.items()), self.strata, self.method))

    def __repr__(self) -> str:
        """Write the options as a program would."""
        importance = None if self.importance is None else dict(self.importance)
        return f"CellSuppression(importance={importance!r}, strata={self.strata!r}, method={self.method!r})"

    @property
    def weights(self) -> Mapping[str, float]:
        """The importance of the attributes that are named."""
        return self.importance or {}

    def solve(self, problem: Problem) -> Partition:
        """Choose the cells.

        Raises
        ------
        PolicyError
            When an option names no quasi-identifying attribute, or strata leave nothing to star.
        UnsatisfiableError
            When not even all records together satisfy the models, or the records of a stratum do not and the
            suppression limit does not allow to leave them out.
        """
        raise_all(PolicyError, _misfits(self, problem.table.attributes))
        solutions = [_Solver(self, start).solve() for start in feasible(problem)]
        raise_all(UnsatisfiableError, _over_the_limit(solutions, problem) if solutions else ())
        return min(solutions, key=lambda solution: solution[0])[1]


@dataclass(frozen=True, eq=False, repr=False)
class _Solver:
    options: CellSuppression
    start: FeasibleProblem

    def solve(self) -> tuple[float, Partition]:
        """Return the cost, suppressed records charged in full, and the solution."""
        table = self.start.problem.table
        self.start.problem.progress("suppressing cells", 0, 1)
        rows = self._rows()
        if not len(rows):
            return math.inf, Partition(np.full(table.height, -1, dtype=np.int32), 0)
        within = _restricted(table, rows)
        weights = np.array([self.options.weights.get(attribute.name, 1.0) for attribute in table.attributes])
        starrable = np.array([attribute.name != self.options.strata for attribute in table.attributes])
        distinct = distinct_in_order(within.codes)
        patterns = patterns_of(distinct, weights, starrable, self.start.smallest)
        situation = StarringProblem(within, self.start.problem.models, distinct, patterns)
        found = self._found(distinct, patterns, complete=len(rows) == table.height)
        chosen = self._chosen(situation, found)
        cost = situation.cost(chosen) + float(weights.sum()) * (table.height - int((chosen >= 0).sum()))
        self.start.problem.progress("suppressing cells", 1, 1)
        return cost, self._partition(rows, situation, chosen, found)

    def _found(self, distinct: DistinctRows, patterns: Patterns, *, complete: bool) -> StarAssignment:
        models = self.start.problem.models
        # Suppressed records are judged by their classes, which then need k records; and so do several models.
        only = models[0] if len(models) == 1 and complete else None
        if isinstance(only, WildcardKAnonymity):
            return compatible_records(distinct, patterns)
        found = search(distinct, patterns)
        if isinstance(only, SubsetKAnonymity):
            return shared_combinations(distinct, patterns, found, only.m)
        return proof(distinct, patterns, found) if self.options.method == "exact" else found

    def _rows(self) -> NDArray[np.int64]:
        """Return the records that are kept, without the strata that have too few of them."""
        table, kept = self.start.problem.table, self.start.kept
        rows = np.arange(table.height) if kept is None else np.flatnonzero(kept)
        if self.options.strata is None:
            return rows
        place = [attribute.name for attribute in table.attributes].index(self.options.strata)
        sizes = np.bincount(table.codes[rows, place])
        large: NDArray[np.bool_] = sizes[table.codes[rows, place]] >= self.start.smallest
        return rows[large]

    def _chosen(self, situation: StarringProblem, found: StarAssignment) -> Chosen:
        seed = self.start.problem.seed
        chosen = chosen_patterns(found.counts, situation.distinct, seed)
        if self.start.ruled:
            nothing = np.full(len(chosen), -1, dtype=np.int32)
            further = [all_settled(situation, chosen), all_settled(situation, nothing)]
            chosen = min(further, key=lambda each: (int((each < 0).sum()), situation.cost(each)))
        if self.start.kept is None:
            return chosen
        # What no class covers would point at those who are left out, and they share their sensitive value.
        return covering(situation, chosen, self.start.problem.table.codes[~self.start.kept])

    def _partition(
        self, rows: NDArray[np.int64], situation: StarringProblem, chosen: Chosen, found: StarAssignment
    ) -> Partition:
        placed = chosen >= 0
        starred = situation.patterns.starred[chosen[placed]]
        codes = situation.table.codes[placed]
        numbers, count = group_records(np.where(starred, 0, codes.astype(np.int32) + 1))
        firsts = first_records(numbers, count)
        class_of = np.full(self.start.problem.table.height, -1, dtype=np.int32)
        class_of[rows[placed]] = numbers
        attributes = situation.table.attributes
        notes = (_stars_note(attributes, starred.sum(axis=0), len(rows)), _cost_note(situation.cost(chosen), found))
        return Partition(class_of, count, regions=regions_of(attributes, codes[firsts], starred[firsts]), notes=notes)


def _restricted(table: EncodedTable, rows: NDArray[np.int64]) -> EncodedTable:
    if len(rows) == table.height:
        return table
    return table.take(rows)


def _weight_problems(importance: object) -> list[str]:
    if not isinstance(importance, Mapping):
        return ["cell-suppression, importance: give the name of an attribute and a number above 0 for each"]
    return [
        f"cell-suppression, importance: the weight of {name!r} must be a number above 0, up to {MOST_IMPORTANT:,}"
        for name, weight in importance.items()
        if isinstance(weight, bool) or not isinstance(weight, Real) or not 0 < float(weight) <= MOST_IMPORTANT
    ]


def _misfits(options: CellSuppression, attributes: Sequence[EncodedAttribute]) -> list[str]:
    known = [attribute.name for attribute in attributes]
    problems = [
        f"cell-suppression, importance: {name!r} is not a quasi-identifying column"
        for name in sorted(options.weights)
        if name not in known
    ]
    if options.strata is not None and options.strata not in known:
        problems.append(f"cell-suppression, strata: {options.strata!r} is not a quasi-identifying column")
    return problems


def _over_the_limit(solutions: Sequence[tuple[float, Partition]], problem: Problem) -> list[str]:
    fewest = min(solution.suppressed for _, solution in solutions)
    if fewest <= problem.suppression_limit:
        return []
    return [
        f"cell-suppression: strata with {counted(fewest, 'record')} in all do not satisfy the models by themselves, "
        f"and the limit allows to suppress {problem.suppression_limit}; raise the suppression limit, lower the models' "
        "parameters or choose coarser strata"
    ]


def _stars_note(attributes: Sequence[EncodedAttribute], stars: NDArray[np.int64], height: int) -> str:
    each = ", ".join(f"{attribute.name} {int(count):,}" for attribute, count in zip(attributes, stars, strict=True))
    return f"{int(stars.sum()):,} of {height * len(attributes):,} cells suppressed ({each})."


def _cost_note(cost: float, found: StarAssignment) -> str:
    if cost <= found.bound + 1e-9:
        return f"Cost {figure(cost)}, which is proven to be the least."
    if not found.bound:
        return f"Cost {figure(cost)}, not proven to be the least."
    searched = f" after {found.nodes:,} nodes" if found.nodes else ""
    return f"Cost {figure(cost)}, not proven to be the least{searched}; nothing costs less than {figure(found.bound)}."
