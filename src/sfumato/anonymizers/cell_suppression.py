"""Cell suppression: the cheapest single values to replace by ``*`` (local suppression of statistics offices).

Records are grouped by patterns of starred attributes: what a pattern keeps is equal in a group. The cheapest patterns
are searched for within a fixed amount of work, or proven to be the least. Then patterns become classes: who among
equals gets which, every model satisfied, what is published.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product
from math import comb
from numbers import Real
from types import MappingProxyType
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.feasibility import FeasibleProblem, feasible
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition, Regions, distinct_records, group_records
from sfumato.classes.statistics import statistics_of
from sfumato.errors import PolicyError, UnsatisfiableError, raise_all
from sfumato.kernels.grouping import first_records
from sfumato.kernels.starring import (
    Assigned,
    Choices,
    ItemSets,
    anneal_stars,
    cheapest_patterns,
    count_shown,
    descend,
    first_assignment,
    group_members,
    least_patterns,
    star_until_compatible,
    star_until_shared,
    unstar,
)
from sfumato.models.protocol import PrivacyModel
from sfumato.models.starred_k_anonymity import SubsetKAnonymity, WildcardKAnonymity
from sfumato.numbers import counted, figure
from sfumato.options import Checked
from sfumato.randomness import permutation
from sfumato.table.encoding import EncodedAttribute, EncodedTable

_Method = Literal["heuristic", "exact"]

_MOST_IMPORTANT = 1_000_000_000

_MOST_PATTERNS = 256
"""Patterns that are looked at; with more attributes than eight, the promising ones of each number of stars."""

_MOST_CELLS = 1 << 25
"""Distinct records × patterns that are held at a time."""

_WORTHWHILE = (*(4.0**power for power in range(16, -1, -1)), 0.0)
"""Records that a star of mean cost must satisfy in each sweep, at least."""

_MOST_COMBINATIONS = 1 << 26
"""Distinct records × subsets of attributes that are held at a time."""

_WORK_PER_RECORD = 25_000

_MOST_WORK = 100_000_000
"""Members of groups that the search may look at: well below a second for five attributes."""

MOST_NODES = 5_000_000
"""Nodes that the proof may visit: some seconds."""

_HOT, _COLD = 1.0, 0.1
"""Temperatures, in units of the mean cost of a star."""

_UNSETTLED = -1

_Chosen = NDArray[np.int32]
"""int32 (n,): the pattern of each record, −1 where none is settled."""


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
    method: _Method = "heuristic"

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
        situation = _StarringProblem(within, self.start.problem.models, distinct, patterns)
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
            return _compatible_records(distinct, patterns)
        found = search_stars(distinct, patterns)
        if isinstance(only, SubsetKAnonymity):
            return _shared_combinations(distinct, patterns, found, only.m)
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

    def _chosen(self, situation: _StarringProblem, found: StarAssignment) -> _Chosen:
        seed = self.start.problem.seed
        chosen = _chosen_patterns(found.counts, situation.distinct, seed)
        if self.start.ruled:
            nothing = np.full(len(chosen), -1, dtype=np.int32)
            further = [_choose_patterns(situation, chosen), _choose_patterns(situation, nothing)]
            chosen = min(further, key=lambda each: (int((each < 0).sum()), situation.cost(each)))
        if self.start.kept is None:
            return chosen
        # What no class covers would point at those who are left out, and they share their sensitive value.
        return _covering(situation, chosen, self.start.problem.table.codes[~self.start.kept])

    def _partition(
        self, rows: NDArray[np.int64], situation: _StarringProblem, chosen: _Chosen, found: StarAssignment
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
        return Partition(class_of, count, regions=_regions_of(attributes, codes[firsts], starred[firsts]), notes=notes)


def _restricted(table: EncodedTable, rows: NDArray[np.int64]) -> EncodedTable:
    if len(rows) == table.height:
        return table
    return table.take(rows)


def _weight_problems(importance: object) -> list[str]:
    if not isinstance(importance, Mapping):
        return ["cell-suppression, importance: give the name of an attribute and a number above 0 for each"]
    return [
        f"cell-suppression, importance: the weight of {name!r} must be a number above 0, up to {_MOST_IMPORTANT:,}"
        for name, weight in importance.items()
        if isinstance(weight, bool) or not isinstance(weight, Real) or not 0 < float(weight) <= _MOST_IMPORTANT
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


@dataclass(frozen=True, eq=False, repr=False)
class DistinctRows:
    """Records that differ in some value, in an order of their own: codes, how often each occurs, each record's row."""

    codes: NDArray[np.unsignedinteger]
    weights: NDArray[np.int64]
    record_of: NDArray[np.int32]


def distinct_in_order(codes: NDArray[np.unsignedinteger]) -> DistinctRows:
    """Collapse equal records and sort them by their codes. Cost O(n q + m log m)."""
    found, weights, record_of = distinct_records(codes)
    order = np.lexsort(found.T[::-1])
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return DistinctRows(found[order], weights[order], place[record_of])


@dataclass(frozen=True, eq=False, repr=False)
class Patterns:
    """Patterns: `starred`, bool (p, q), which attributes each stars, first none, last all; `choices`: for kernels."""

    starred: NDArray[np.bool_]
    choices: Choices


def patterns_of(distinct: DistinctRows, weights: NDArray[np.float64], starrable: NDArray[np.bool_], k: int) -> Patterns:
    """Choose patterns of stars, which cost `weights`, and find their groups; cost O(p m q).

    Records that agree on what may not be starred must be at least `k`. All patterns where there are at most 256.
    Beyond, a beam: for each number of stars the few that satisfy most records which no pattern with fewer stars does.
    """
    free = int(starrable.sum())
    room = max(8, min(_MOST_PATTERNS, _MOST_CELLS // max(1, len(distinct.codes))))
    chosen = _every(starrable) if 1 << free <= room else _beam(distinct, starrable, k, max(1, room // max(1, free)))
    cost = chosen @ weights
    # Equally expensive patterns in the order of the attributes.
    order = np.lexsort((*chosen.T, cost))
    starred = chosen[order]
    return Patterns(starred, _choices(distinct, starred, cost[order], k))


def _every(starrable: NDArray[np.bool_]) -> NDArray[np.bool_]:
    options = [(False, True) if free else (False,) for free in starrable]
    return np.array(list(product(*options)), dtype=np.bool_)


def _beam(distinct: DistinctRows, starrable: NDArray[np.bool_], k: int, width: int) -> NDArray[np.bool_]:
    beam = [tuple(bool(flag) for flag in np.zeros(len(starrable), dtype=np.bool_))]
    chosen = list(beam)
    waiting = ~_satisfied(distinct, np.array(beam[0]), k)
    for _ in range(int(starrable.sum())):
        further = {pattern: _satisfied(distinct, np.array(pattern), k) for pattern in _one_more(beam, starrable)}
        gains = {
            pattern: (int(distinct.weights[satisfied & waiting].sum()), int(distinct.weights[satisfied].sum()))
            for pattern, satisfied in further.items()
        }
        beam = sorted(gains, key=lambda pattern: (gains[pattern], pattern), reverse=True)[:width]
        chosen += beam
        for pattern in beam:
            waiting &= ~further[pattern]
    return np.array(chosen, dtype=np.bool_)


def _one_more(patterns: list[tuple[bool, ...]], starrable: NDArray[np.bool_]) -> list[tuple[bool, ...]]:
    further = {
        (*pattern[:place], True, *pattern[place + 1 :])
        for pattern in patterns
        for place in np.flatnonzero(starrable).tolist()
        if not pattern[place]
    }
    return sorted(further)


def _satisfied(distinct: DistinctRows, starred: NDArray[np.bool_], k: int) -> NDArray[np.bool_]:
    groups, sizes = _projected(distinct, starred)
    return (sizes >= k)[groups]


def _projected(distinct: DistinctRows, starred: NDArray[np.bool_]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the group of each distinct record on the attributes that are kept, and the records in each group."""
    if starred.all():
        return np.zeros(len(distinct.codes), dtype=np.int32), np.array([distinct.weights.sum()])
    groups, count = group_records(np.ascontiguousarray(distinct.codes[:, ~starred]))
    return groups, np.bincount(groups, weights=distinct.weights, minlength=count).astype(np.int64)


def _choices(distinct: DistinctRows, starred: NDArray[np.bool_], cost: NDArray[np.float64], k: int) -> Choices:
    group_of = np.empty((len(distinct.codes), len(starred)), dtype=np.int32)
    pattern_of = []
    count = 0
    for place, projected in enumerate(_every_projection(distinct, starred)):
        groups, sizes = projected
        large = sizes >= k
        number = np.where(large, np.cumsum(large) - 1 + count, -1).astype(np.int32)
        group_of[:, place] = number[groups]
        pattern_of.append(np.full(int(large.sum()), place, dtype=np.int32))
        count += int(large.sum())
    starts, members = group_members(group_of, count)
    return Choices(cost, group_of, np.concatenate(pattern_of), starts, members, k)


def _every_projection(
    distinct: DistinctRows, starred: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int64]]]:
    for pattern in starred:
        yield _projected(distinct, pattern)


@dataclass(frozen=True, eq=False, repr=False)
class StarAssignment:
    """How many records of each distinct one take each pattern; none costs less than `bound`; nodes of a proof."""

    counts: NDArray[np.int32]
    cost: float
    bound: float
    nodes: int = 0

    @property
    def proven(self) -> bool:
        """Whether the cost is the least."""
        return self.cost <= self.bound + 1e-9


def search_stars(distinct: DistinctRows, patterns: Patterns) -> StarAssignment:
    """Assign every record to a pattern so that every group has none or at least k records, at a low cost.

    First the cheapest groups are opened, O(z) for z memberships; then groups are opened and closed as long as that
    helps, then by simulated annealing, always with the same random numbers and number of looks: the result depends on
    the table alone. The bound gives every record its cheapest pattern.
    """
    choices = patterns.choices
    assigned = nothing_assigned(len(distinct.weights), patterns)
    first_assignment(distinct.weights, choices, assigned)
    bound = float((least_costs(patterns) * distinct.weights).sum())
    restless = np.flatnonzero(assigned.counts[:, 0] < distinct.weights)
    if len(restless):
        budget = min(_MOST_WORK, _WORK_PER_RECORD * len(restless))
        descend(choices, assigned, budget)
        unit = float(choices.cost[-1]) / max(1, int(patterns.starred[-1].sum()))
        anneal_stars(choices, assigned, restless, _HOT * unit, _COLD * unit, int(assigned.work[0]) + budget)
        descend(choices, assigned, int(assigned.work[0]) + budget)
    return StarAssignment(assigned.counts, _cost(assigned.counts, patterns), bound)


def proof(distinct: DistinctRows, patterns: Patterns, found: StarAssignment) -> StarAssignment:
    """Search for something cheaper until there is nothing, or too many nodes were visited: exponential in records."""
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


def _compatible_records(distinct: DistinctRows, patterns: Patterns) -> StarAssignment:
    """Find few stars after which every record is compatible with k records."""
    # A starred record serves all members of its group. Groups where few stars satisfy many come first; k − 1 records of
    # nothing but stars serve everybody, where that is cheaper. Cost O(z k) for z memberships.
    last = int(np.searchsorted(patterns.choices.pattern_of, len(patterns.starred) - 1))
    return min((_found(distinct, patterns, first) for first in (0, last)), key=lambda found: found.cost)


def _found(distinct: DistinctRows, patterns: Patterns, first: int) -> StarAssignment:
    counts = np.zeros(patterns.choices.group_of.shape, dtype=np.int32)
    unit = float(patterns.choices.cost[-1]) / max(1, int(patterns.starred[-1].sum()))
    worthwhile = np.array(_WORTHWHILE) / max(unit, 1e-300)
    star_until_compatible(distinct.weights, patterns.choices, counts, worthwhile, first)
    return StarAssignment(counts, float((counts.sum(axis=0) * patterns.choices.cost).sum()), 0.0)


def _shared_combinations(distinct: DistinctRows, patterns: Patterns, found: StarAssignment, m: int) -> StarAssignment:
    """Find stars after which every combination of up to `m` values that is shown is shown by k records."""
    # The cheaper of two: the solution `found` for k-anonymity without stars that are not needed, and one that adds
    # stars where combinations are too rare. The bound stars each record for the combinations that are too rare in the
    # original. Cost O(i p s) a sweep for i records, p patterns, s subsets; `found` where these are too many to hold.
    starrable = patterns.starred[-1]
    free = np.flatnonzero(starrable)
    most = min(m, len(free))
    count = sum(comb(len(free), size) for size in range(1, most + 1))
    if not count or count * len(distinct.codes) > _MOST_COMBINATIONS:
        return StarAssignment(found.counts, found.cost, 0.0)
    subsets = list(chain.from_iterable(combinations(free.tolist(), size) for size in range(1, most + 1)))
    ours = _shown(distinct, patterns, subsets, *np.nonzero(found.counts), counts=found.counts)
    unstar(ours)
    everybody = np.arange(len(distinct.weights))
    plain = np.zeros_like(found.counts)
    plain[:, 0] = distinct.weights
    theirs = _shown(distinct, patterns, subsets, everybody, np.zeros_like(everybody), counts=plain)
    bound = float((patterns.choices.cost[least_patterns(theirs)] * theirs.weights).sum())
    star_until_shared(theirs, float(patterns.choices.cost[-1]) / len(free))
    unstar(theirs)
    solutions = [_assignment_of(shown, found.counts.shape, bound) for shown in (ours, theirs)]
    return min(solutions, key=lambda solution: solution.cost)


def _shown(
    distinct: DistinctRows,
    patterns: Patterns,
    subsets: list[tuple[int, ...]],
    records: NDArray[np.int64],
    taken: NDArray[np.int64],
    *,
    counts: NDArray[np.int32],
) -> ItemSets:
    combination_of, count = _combinations(distinct, ~patterns.starred[-1], subsets)
    bits = 1 << np.arange(patterns.starred.shape[1], dtype=np.int64)
    shown = ItemSets(
        combination_of=combination_of,
        subsets=np.array([bits[list(subset)].sum() for subset in subsets], dtype=np.int64),
        starred=(patterns.starred * bits).sum(axis=1),
        cost=patterns.choices.cost,
        records=records.astype(np.int32),
        weights=counts[records, taken].astype(np.int64),
        patterns=taken.astype(np.int64),
        counts=np.zeros(count, dtype=np.int64),
        k=patterns.choices.k,
    )
    count_shown(shown)
    return shown


def _combinations(
    distinct: DistinctRows, fixed: NDArray[np.bool_], subsets: list[tuple[int, ...]]
) -> tuple[NDArray[np.int32], int]:
    """Give a number to what each distinct record has in each subset, the attributes that stay shown added."""
    always = np.flatnonzero(fixed).tolist()
    combination_of = np.empty((len(distinct.codes), len(subsets)), dtype=np.int32)
    total = 0
    for place, subset in enumerate(subsets):
        groups, count = group_records(np.ascontiguousarray(distinct.codes[:, [*always, *subset]]))
        combination_of[:, place] = groups + total
        total += count
    return combination_of, total


def _assignment_of(shown: ItemSets, shape: tuple[int, ...], bound: float) -> StarAssignment:
    counts = np.zeros(shape, dtype=np.int32)
    np.add.at(counts, (shown.records, shown.patterns), shown.weights)
    return StarAssignment(counts, float((shown.cost[shown.patterns] * shown.weights).sum()), bound)


@dataclass(frozen=True, eq=False, repr=False)
class _StarringProblem:
    """The records that patterns are chosen for. `table`: those records alone, n of them."""

    table: EncodedTable
    models: Sequence[PrivacyModel]
    distinct: DistinctRows
    patterns: Patterns

    def group_of(self, chosen: _Chosen) -> NDArray[np.int32]:
        """Return the group of each record under its pattern, −1 where it has none; int32 (n,)."""
        groups = self.patterns.choices.group_of[self.distinct.record_of, np.maximum(chosen, 0)]
        return np.where(chosen < 0, np.int32(-1), groups).astype(np.int32, copy=False)

    def cost(self, chosen: _Chosen) -> float:
        """Return the cost of all stars; unsettled records cost what the last pattern does."""
        return float(self.patterns.choices.cost[chosen].sum())

    def holding(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell for each record whether the records of its number satisfy every model; bool (n,)."""
        class_of: NDArray[np.int32] = np.unique(numbers, return_inverse=True)[1].astype(np.int32)
        count = int(class_of.max(initial=-1)) + 1
        statistics = statistics_of(self.table, class_of, count)
        verdict = np.ones(count, dtype=np.bool_)
        for model in self.models:
            verdict &= model.holds(statistics)
        return verdict[class_of]


def _chosen_patterns(counts: NDArray[np.int32], distinct: DistinctRows, seed: int | None) -> _Chosen:
    """Give every record a pattern as `counts`, int32 (m, p), say; which of equal records get which is chance."""
    # The order of the input must not show in who is starred. Cost O(n log n + m p).
    height = len(distinct.record_of)
    order = permutation(height, seed)
    order = order[np.argsort(distinct.record_of[order], kind="stable")]
    records, patterns = np.nonzero(counts)
    chosen = np.empty(height, dtype=np.int32)
    chosen[order] = np.repeat(patterns, counts[records, patterns])
    return chosen


def _choose_patterns(situation: _StarringProblem, chosen: _Chosen) -> _Chosen:
    """Star further until every class satisfies every model; −1 for those of strata where that is impossible."""
    # The records of other classes try every pattern in order of cost, and groups that satisfy the models stay. What is
    # left is starred as far as may be, with the cheapest classes that it takes. Cost O(p (n + s)). Two parts of a class
    # that satisfy monotone models do so together.
    groups = situation.group_of(chosen).astype(np.int64)
    choices = np.where(situation.holding(groups) & (chosen >= 0), chosen, _UNSETTLED).astype(np.int32)
    for pattern in range(len(situation.patterns.starred)):
        waiting = choices < 0
        if not waiting.any():
            return choices
        choices[_hold_all(situation, choices, waiting, pattern)] = pattern
    return _with_company(situation, choices)


def _hold_all(
    situation: _StarringProblem, choices: _Chosen, waiting: NDArray[np.bool_], pattern: int
) -> NDArray[np.bool_]:
    groups = situation.patterns.choices.group_of[situation.distinct.record_of, pattern].astype(np.int64)
    possible = waiting & (groups >= 0)
    # Settled classes keep even numbers, candidates odd ones, and all that wait elsewhere are one class beside them.
    numbers = np.where(possible, 2 * groups + 1, 2 * situation.group_of(choices).astype(np.int64))
    satisfied: NDArray[np.bool_] = situation.holding(numbers) & possible
    return satisfied


def _with_company(situation: _StarringProblem, choices: _Chosen) -> _Chosen:
    """Send whole classes along with what is left, the cheapest first, doubling their number until it suffices."""
    last = len(situation.patterns.starred) - 1
    top = situation.patterns.choices.group_of[situation.distinct.record_of, last]
    for stratum in np.unique(top[choices < 0]):
        inside = top == stratum
        choices = _choose_in_stratum(situation, choices, inside, last)
    return choices


def _choose_in_stratum(situation: _StarringProblem, choices: _Chosen, inside: NDArray[np.bool_], last: int) -> _Chosen:
    groups = situation.group_of(choices)
    classes = _cheapest_first(situation, choices, inside & (choices >= 0) & (choices < last))
    taken = 0
    while True:
        joined = np.where(inside & ((choices < 0) | np.isin(groups, classes[:taken])), last, choices).astype(np.int32)
        if situation.holding(situation.group_of(joined).astype(np.int64))[inside & (joined == last)].all():
            return joined
        if taken == len(classes):
            return np.where(inside, _UNSETTLED, choices).astype(np.int32)
        taken = min(max(1, 2 * taken), len(classes))


def _covering(situation: _StarringProblem, chosen: _Chosen, left_out: NDArray[np.unsignedinteger]) -> _Chosen:
    """Star classes until one covers each record left out, unsigned (r, q); none covers a whole stratum left out."""
    last = len(situation.patterns.starred) - 1
    fixed = ~situation.patterns.starred[last]
    for record in left_out[~_covered(situation, chosen, left_out)]:
        inside = (situation.table.codes[:, fixed] == record[fixed]).all(axis=1)
        if inside.any() and not (chosen[inside] == last).any():
            cheapest = _cheapest_first(situation, chosen, inside)[:1]
            chosen = np.where(inside & np.isin(situation.group_of(chosen), cheapest), _UNSETTLED, chosen)
            chosen = _with_company(situation, chosen.astype(np.int32))
    return chosen


def _covered(situation: _StarringProblem, chosen: _Chosen, left_out: NDArray[np.unsignedinteger]) -> NDArray[np.bool_]:
    covered = np.zeros(len(left_out), dtype=np.bool_)
    for pattern in np.unique(chosen[chosen >= 0]):
        shown = ~situation.patterns.starred[pattern]
        published = {row.tobytes() for row in situation.table.codes[chosen == pattern][:, shown]}
        covered |= np.array([row.tobytes() in published for row in left_out[:, shown]], dtype=np.bool_)
    return covered


def _cheapest_first(situation: _StarringProblem, choices: _Chosen, rows: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Order the groups of some records by what it costs to star them as far as may be."""
    cost = situation.patterns.choices.cost
    groups, firsts, sizes = np.unique(situation.group_of(choices)[rows], return_index=True, return_counts=True)
    rise = (cost[-1] - cost[choices[rows][firsts]]) * sizes
    return groups[np.argsort(rise, kind="stable")].astype(np.int32)


def _regions_of(
    attributes: Sequence[EncodedAttribute], codes: NDArray[np.integer], starred: NDArray[np.bool_]
) -> Regions:
    """Return what classes publish, the code or ``*``; `codes`, integers (c, q), of a record each; `starred`, bool."""
    sizes = np.array([attribute.size for attribute in attributes], dtype=np.int32)
    heights = [attribute.hierarchy.height if attribute.hierarchy is not None else 0 for attribute in attributes]
    exact = codes.astype(np.int32)
    low = np.where(starred, np.int32(0), exact)
    high = np.where(starred, sizes, exact)
    level = np.where(starred, np.array(heights, dtype=np.int32), np.int32(0))
    return Regions(low.astype(np.int32), high.astype(np.int32), level.astype(np.int32))
