"""Before any search: which records a solution may hold at all, and the models in compiled form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.classes.statistics import ClassStatistics, class_statistics
from sfumato.errors import UnsatisfiableError, raise_all
from sfumato.kernels.predicates import K_ANONYMITY
from sfumato.models.compiled import CompiledRules, compile_rules
from sfumato.models.protocol import PrivacyModel


@dataclass(frozen=True, eq=False, repr=False)
class Feasible:
    """A problem whose records as one class satisfy every model.

    All models of the library are monotone, so that a top-down search may start here.

    Attributes
    ----------
    problem : Problem
        Over the kept records.
    rules : CompiledRules
    kept : numpy.ndarray or None
        int64: the original records that are kept, rising; None when all are.
    height : int
        Number of original records.
    """

    problem: Problem
    rules: CompiledRules
    kept: NDArray[np.int64] | None
    height: int

    @property
    def smallest(self) -> int:
        """The largest k among the models, at least 1."""
        sizes = self.rules.arrays.first[self.rules.arrays.codes == K_ANONYMITY]
        return int(max(1, sizes.max(initial=1)))

    @property
    def ruled(self) -> bool:
        """Whether some rule looks at more than the class size."""
        return bool(np.any(self.rules.arrays.codes != K_ANONYMITY))

    def restored(self, partition: Partition) -> Partition:
        """Put a solution for the kept records back among the original ones; the others are suppressed."""
        if self.kept is None:
            return partition
        class_of = np.full(self.height, -1, dtype=np.int32)
        class_of[self.kept] = partition.class_of
        return Partition(class_of, partition.count)


def feasible(problem: Problem) -> Feasible:
    """Find the records to search among: all of them, or the most that satisfy the models together.

    When the whole table breaks a model, no partition of it satisfies the model. Where the suppression limit allows it,
    records of the sensitive values that are too frequent are then left out, as few as it takes, chosen at random among
    the records of the value.

    Raises
    ------
    UnsatisfiableError
        One sentence per model that fails: what it asks, what the table reaches, what to relax.
    """
    rules = compile_rules(problem.models, problem.table)
    failing = [model for model in problem.models if not model.holds(rules.whole).all()]
    if not failing:
        return Feasible(problem, rules, None, problem.table.height)
    kept = _balanced_records(problem) if problem.suppression_limit else None
    if kept is None:
        raise_all(UnsatisfiableError, _explanations(failing, rules.whole, problem))
    assert kept is not None
    table = problem.table
    smaller = replace(table, codes=table.codes[kept], sensitive_codes=table.sensitive_codes[kept])
    reduced = replace(problem, table=smaller)
    return Feasible(reduced, compile_rules(problem.models, smaller), kept, table.height)


def _explanations(failing: Sequence[PrivacyModel], whole: ClassStatistics, problem: Problem) -> list[str]:
    limit = problem.suppression_limit
    after = f" (suppressing up to {limit} records does not help)" if limit else ""
    return [_explanation(model, whole) + after for model in failing]


def _explanation(model: PrivacyModel, whole: ClassStatistics) -> str:
    explain = getattr(model, "explain", None)
    sentence = explain(whole) if explain is not None else None
    return (
        sentence or f"{model.name}: not even all {whole.height} records as one class satisfy it; relax its parameters"
    )


def _balanced_records(problem: Problem) -> NDArray[np.int64] | None:
    """Leave out records of too frequent sensitive values; None when the limit does not suffice."""
    table = problem.table
    kept = np.arange(table.height)
    for column in range(len(table.sensitive)):
        if _satisfied(problem, kept):
            break
        ranks = _ranks_within_value(table.sensitive_codes[kept, column], problem.seed)
        kept = _largest_satisfying(problem, kept, ranks)
    if not _satisfied(problem, kept) or table.height - len(kept) > problem.suppression_limit:
        return None
    return kept


def _largest_satisfying(problem: Problem, kept: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Keep at most `cap` records of every value, for the largest cap that satisfies the models; bisection."""
    low, high = 0, int(ranks.max(initial=0)) + 1
    while high - low > 1:
        cap = (low + high) // 2
        if _satisfied(problem, kept[ranks < cap]):
            low = cap
        else:
            high = cap
    return kept[ranks < low] if low else kept


def _ranks_within_value(codes: NDArray[np.unsignedinteger], seed: int | None) -> NDArray[np.int64]:
    """Rank the records of each value in random order, int64 (n,)."""
    order = np.random.default_rng(seed).permutation(len(codes))
    by_value = order[np.argsort(codes[order], kind="stable")]
    sizes = np.bincount(codes)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    ranks = np.empty(len(codes), dtype=np.int64)
    ranks[by_value] = np.arange(len(codes)) - np.repeat(starts, sizes)
    return ranks


def _satisfied(problem: Problem, kept: NDArray[np.int64]) -> bool:
    if not len(kept):
        return False
    table = problem.table
    everybody = np.zeros(len(kept), dtype=np.int32)
    whole = class_statistics(everybody, 1, table.sensitive_codes[kept], table.sensitive)
    return all(bool(model.holds(whole).all()) for model in problem.models)
