"""What an anonymizer is asked, and before any search: which records a solution may hold at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.partition import Partition
from sfumato.classes.statistics import ClassStatistics, statistics_of
from sfumato.errors import UnsatisfiableError, raise_all
from sfumato.kernels.predicates import GUARDED, RuleArrays
from sfumato.models.compiled import CompiledRules, compile_rules, rules_of
from sfumato.models.protocol import (
    TOLERANCE,
    TRAITS,
    PrivacyModel,
    WholeTableModel,
    least_class_size,
    of_population,
    ruled,
    smallest,
)
from sfumato.numbers import counted
from sfumato.parallel import OnceForEach
from sfumato.progress import Progress, silent
from sfumato.randomness import permutation
from sfumato.table.encoding import EncodedTable

_COMPILED: OnceForEach[EncodedTable, tuple[PrivacyModel, ...], CompiledRules] = OnceForEach()

SPENDING = (0.0, 0.5, 1.0)
"""Shares of the suppression that is allowed beyond the necessary, from the fewest records to the whole limit."""


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """All that an anonymizer is told."""

    table: EncodedTable
    models: Sequence[PrivacyModel]  # every class of the solution must satisfy every one
    suppression_limit: int = 0  # records that may be suppressed at most, over the whole run
    seed: int | None = None  # for the algorithm's own choices; None draws from the operating system
    threads: int = 1  # upper bound on threads; never changes the result
    progress: Progress = field(default=silent)
    # Bounds on figures of the whole table, for who judges all classes of a candidate at once. Elsewhere none: they are
    # among the models then.
    whole: Sequence[WholeTableModel] = ()

    @cached_property
    def rules(self) -> CompiledRules:
        """The models, compiled for the records as the whole table; errors as of `compile_rules`."""
        models = tuple(self.models)
        try:
            hash(models)
        except TypeError:  # one from outside the library
            return compile_rules(models, self.table)
        return _COMPILED.of(self.table, models, lambda: compile_rules(models, self.table))


@dataclass(frozen=True, eq=False, repr=False)
class FeasibleProblem:
    """A problem whose records as one class satisfy every model; models are monotone, so a search may start there."""

    problem: Problem
    rules: CompiledRules  # compared with the kept records as the whole table
    # Bool (n,): which records are kept; None when all are. A solution must cover the others without counting them.
    kept: NDArray[np.bool_] | None

    @property
    def smallest(self) -> int:
        """The largest k among the models, at least 1."""
        return smallest(self.rules.arrays)

    @property
    def least_size(self) -> int:
        """A number of records that every class must have: the largest k, l and 1 over a share that a value may have."""
        return max(self.smallest, least_class_size(self.problem.models) or 1)

    @property
    def ruled(self) -> bool:
        """Whether some rule looks at more than the class size."""
        return ruled(self.rules.arrays)

    def partition(self, cover: NDArray[np.int32], count: int) -> Partition:
        """Return the solution that puts record ``i`` into class ``cover[i]``, but for those that are left out."""
        if self.kept is None:
            return Partition(cover, count)
        return Partition(np.where(self.kept, cover, np.int32(-1)), count, cover)


def feasible(problem: Problem, *, may_leave_out: bool = True) -> tuple[FeasibleProblem, ...]:
    """Find the records to search among: all of them, or those that satisfy the models together.

    When the whole table breaks a model, no partition satisfies it. Where the suppression limit allows it, records of
    the sensitive values that are too frequent are left out. As few as it takes leave a table that just satisfies the
    models and cannot be cut; more leave room. So several choices come back, from the fewest to the whole limit, for the
    one that loses least. They stay in the problem with weight 0, so that classes cover them like everybody: what no
    class covers would point at them, and their value would be certain. Refused with what each model asks, what the
    table reaches, and what to relax.
    """
    rules = problem.rules
    failing = [model for model in (*problem.models, *problem.whole) if not model.holds(rules.whole).all()]
    if not failing:
        return (FeasibleProblem(problem, rules, None),)
    # Who is left out makes no more people of a population.
    may_leave_out &= problem.suppression_limit > 0 and problem.table.apart is None and not of_population(failing)
    choices = balanced_records(problem) if may_leave_out else ()
    if not choices:
        raise_all(UnsatisfiableError, _explanations(failing, rules.whole, problem))
    return tuple(_restricted(problem, rules, kept) for kept in choices)


def _restricted(problem: Problem, rules: CompiledRules, kept: NDArray[np.int64]) -> FeasibleProblem:
    among = np.zeros(problem.table.height, dtype=np.bool_)
    among[kept] = True
    return FeasibleProblem(problem, replace(rules, arrays=rules.among(kept)), among)


def _explanations(failing: Sequence[PrivacyModel], whole: ClassStatistics, problem: Problem) -> list[str]:
    limit = problem.suppression_limit
    after = f" (suppressing up to {limit} {problem.table.unit} does not help)" if limit else ""
    everybody = f"all {whole.height} {problem.table.unit}"
    return [
        (model.explain(whole) or f"{model.name}: not even {everybody} as one class satisfy it; relax its parameters")
        + after
        for model in failing
    ] + _in_the_way(problem)


def _in_the_way(problem: Problem) -> list[str]:
    """Say how many people have too many records, where somebody has."""
    records, gone = with_most_records(problem)
    if not len(gone) or len(records) == 1:
        return []
    if len(gone) == len(records):
        return ["people: whoever is left out, somebody of those left has too many of the records"]
    out = f"{counted(len(gone), 'person')} with {counted(int(records[gone].sum()), 'record')}"
    return [f"people: {out} would have to be left out, at least, so that nobody has too many of the records"]


def balanced_records(problem: Problem) -> tuple[NDArray[np.int64], ...]:
    """Choose records that satisfy the models as one class, by capping how many have the same sensitive value.

    One choice for each amount of suppression, the fewest first; empty where the limit does not suffice. Which of a
    value go is random. By bisection: O(n log n) for each attribute.
    """
    table = problem.table
    kept = candidates = _without_guarded(problem, _without_most_records(problem))
    if not len(kept) or table.height - len(kept) > problem.suppression_limit:
        return ()
    ranks = np.zeros(len(kept), dtype=np.int64)
    for column in range(len(table.sensitive)):
        if _satisfied(problem, kept):
            break
        candidates = kept
        ranks = _ranks_within_value(table.sensitive_codes[candidates, column], problem.seed)
        kept = _largest_satisfying(problem, candidates, ranks)
    spare = problem.suppression_limit - (table.height - len(kept))
    if spare < 0 or not _satisfied(problem, kept):
        return ()
    sizes = {len(kept) - int(share * spare) for share in SPENDING}
    choices = [kept, *(_capped_to(candidates, ranks, size) for size in sorted(sizes, reverse=True))]
    distinct = {len(choice): choice for choice in choices if _satisfied(problem, choice)}
    return tuple(distinct[size] for size in sorted(distinct, reverse=True))


def with_most_records(problem: Problem) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the records of each person, if people count, and the fewest who have to go, most records first."""
    table = problem.table
    behind = table.apart or table.people
    wished = 0.0 if behind is None or behind.wishes is None else float(behind.wishes.max())
    bounds = [
        wished if TRAITS[rule.code].wishes else rule.first
        for rule in rules_of(problem.models, table)
        if TRAITS[rule.code].people
    ]
    if table.apart is not None:
        records = np.bincount(table.apart.numbers)
    else:
        records = np.empty(0, dtype=np.int64) if table.people is None else table.people.records
    falling = np.argsort(-records, kind="stable")
    left = np.cumsum(records[falling][::-1])[::-1]
    fits = np.append(records[falling] * max(bounds, default=0.0) <= left, True)
    return records, falling[: int(np.argmax(fits))]


def _without_most_records(problem: Problem) -> NDArray[np.int64]:
    """Leave out the people with the most records, as few as make nobody's share too large."""
    return np.delete(np.arange(problem.table.height), with_most_records(problem)[1])


def _without_guarded(problem: Problem, kept: NDArray[np.int64]) -> NDArray[np.int64]:
    """Leave out at random, of who has most guarded values, as few as make their share small enough."""
    guarding = [rule for rule in rules_of(problem.models, problem.table) if rule.marks is not None]
    if not guarding:
        return kept
    rules = problem.rules
    for code, attribute, bound, bit in zip(*rules.arrays[:4], strict=True):
        if code == GUARDED:
            places = rules.codes[:, attribute].astype(np.int64) + rules.arrays.offsets[attribute]
            own = _guarded_values(rules.arrays, int(bit))[places[kept]]
            drawn = permutation(len(kept), problem.seed)
            falling = drawn[np.argsort(-own[drawn], kind="stable")]
            left = np.append(np.cumsum(own[falling][::-1])[::-1], 0)
            gone = int(np.argmax(left <= (bound + TOLERANCE) * np.arange(len(kept), -1, -1)))
            kept = np.sort(kept[falling[gone:]])
    return kept


def _guarded_values(rules: RuleArrays, bit: int) -> NDArray[np.int64]:
    """Count the guarded values that each place of a histogram stands for; int64 (v,)."""
    guarded: NDArray[np.int64] = rules.guards >> bit & 1
    return guarded if not len(rules.members) else np.add.reduceat(guarded[rules.members], rules.member_starts[:-1])


def _largest_satisfying(problem: Problem, kept: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Keep at most `cap` records of every value, for the largest cap that satisfies the models."""
    low, high = 0, int(ranks.max(initial=0)) + 1
    while high - low > 1:
        cap = (low + high) // 2
        if _satisfied(problem, kept[ranks < cap]):
            low = cap
        else:
            high = cap
    return kept[ranks < low] if low else kept


def _capped_to(kept: NDArray[np.int64], ranks: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Keep at least `size` records, by the lowest cap that does."""
    with_rank = np.bincount(ranks)
    cap = int(np.searchsorted(np.cumsum(with_rank), size)) + 1
    return kept[ranks < cap]


def _ranks_within_value(codes: NDArray[np.unsignedinteger], seed: int | None) -> NDArray[np.int64]:
    """Rank the records of each value in random order, int64 (n,)."""
    order = permutation(len(codes), seed)
    by_value = order[np.argsort(codes[order], kind="stable")]
    sizes = np.bincount(codes)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    ranks = np.empty(len(codes), dtype=np.int64)
    ranks[by_value] = np.arange(len(codes)) - np.repeat(starts, sizes)
    return ranks


def _satisfied(problem: Problem, kept: NDArray[np.int64]) -> bool:
    if not len(kept):
        return False
    everybody = np.zeros(len(kept), dtype=np.int32)
    whole = statistics_of(problem.table.take(kept), everybody, 1)
    return all(bool(model.holds(whole).all()) for model in problem.models)
