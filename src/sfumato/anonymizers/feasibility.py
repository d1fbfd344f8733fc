"""Before any search: which records a solution may hold at all, and the models in compiled form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.balance import balanced_records, with_most_records
from sfumato.anonymizers.problem import Problem
from sfumato.classes.partition import Partition
from sfumato.classes.statistics import ClassStatistics
from sfumato.errors import UnsatisfiableError, raise_all
from sfumato.models.compiled import CompiledRules
from sfumato.models.protocol import PrivacyModel
from sfumato.models.rule_traits import ruled, smallest
from sfumato.models.says import of_population
from sfumato.numbers import counted


@dataclass(frozen=True, eq=False, repr=False)
class FeasibleProblem:
    """A problem whose records as one class satisfy every model.

    All models of the library are monotone, so that a top-down search may start here.

    Attributes
    ----------
    problem : Problem
    rules : CompiledRules
        Compared with the kept records as the whole table.
    kept : numpy.ndarray or None
        bool (n,): which records are kept; None when all are. A solution must cover the others without counting them.
    """

    problem: Problem
    rules: CompiledRules
    kept: NDArray[np.bool_] | None

    @property
    def smallest(self) -> int:
        """The largest k among the models, at least 1."""
        return smallest(self.rules.arrays)

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

    When the whole table breaks a model, no partition of it satisfies the model. Where the suppression limit allows it,
    records of the sensitive values that are too frequent are then left out. As few as it takes leave a table that just
    satisfies the models and cannot be cut; more of them leave room. So several choices come back, from the fewest to
    the whole limit, and the caller takes the one that loses least.

    Those who are left out share a few sensitive values. They stay in the problem with weight 0, so that classes cover
    them like everybody else: what no class covers would otherwise point at them, and their value would be certain.

    Parameters
    ----------
    problem
        Models, records and suppression limit.
    may_leave_out
        Whether the algorithm can place records without counting them.

    Raises
    ------
    UnsatisfiableError
        One sentence per model that fails: what it asks, what the table reaches, what to relax.
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
