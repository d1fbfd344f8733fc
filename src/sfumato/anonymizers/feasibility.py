"""Before any search: which records a solution may hold at all, and the models in compiled form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.balance import balanced_records
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.classes.statistics import ClassStatistics
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


def feasible(problem: Problem) -> tuple[Feasible, ...]:
    """Find the records to search among: all of them, or those that satisfy the models together.

    When the whole table breaks a model, no partition of it satisfies the model. Where the suppression limit allows it,
    records of the sensitive values that are too frequent are then left out. As few as it takes leave a table that just
    satisfies the models and cannot be cut; more of them leave room. So several choices come back, from the fewest to
    the whole limit, and the caller takes the one that loses least.

    Raises
    ------
    UnsatisfiableError
        One sentence per model that fails: what it asks, what the table reaches, what to relax.
    """
    rules = compile_rules(problem.models, problem.table)
    failing = [model for model in problem.models if not model.holds(rules.whole).all()]
    if not failing:
        return (Feasible(problem, rules, None, problem.table.height),)
    choices = balanced_records(problem) if problem.suppression_limit else ()
    if not choices:
        raise_all(UnsatisfiableError, _explanations(failing, rules.whole, problem))
    return tuple(_restricted(problem, kept) for kept in choices)


def _restricted(problem: Problem, kept: NDArray[np.int64]) -> Feasible:
    table = problem.table
    smaller = replace(table, codes=table.codes[kept], sensitive_codes=table.sensitive_codes[kept])
    reduced = replace(problem, table=smaller)
    return Feasible(reduced, compile_rules(problem.models, smaller), kept, table.height)


def _explanations(failing: Sequence[PrivacyModel], whole: ClassStatistics, problem: Problem) -> list[str]:
    limit = problem.suppression_limit
    after = f" (suppressing up to {limit} records does not help)" if limit else ""
    return [_explanation(model, whole) + after for model in failing]


def _explanation(model: PrivacyModel, whole: ClassStatistics) -> str:
    general = f"{model.name}: not even all {whole.height} records as one class satisfy it; relax its parameters"
    return model.explain(whole) or general
