"""Bounds on figures of the whole table, for anonymizers that make classes one by one.

Such an anonymizer is asked for classes of k that imply the bound, and then for smaller and smaller k as long as what
comes out satisfies it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sfumato.anonymizers.feasibility import Problem
from sfumato.classes.partition import Partition
from sfumato.classes.people import statistics_of
from sfumato.errors import UnsatisfiableError, raise_all
from sfumato.models.protocol import PrivacyModel
from sfumato.models.whole_table import WholeTableModel, whole_table_models

Solve = Callable[[Problem], Partition]


def eased(problem: Problem, solve: Solve) -> Partition:
    """Solve a problem whose bounds on the whole table are kept by the weakest model of classes that is found to do.

    Notes
    -----
    Bisection: as many solutions as the largest k has binary digits, and one. It is not sure to find the weakest, as a
    smaller k may give a worse table; but what it returns satisfies every bound, by the people that records stand for.
    """
    models = whole_table_models(problem.models)
    whole = statistics_of(problem.table, np.zeros(problem.table.height, dtype=np.int32), 1)
    raise_all(UnsatisfiableError, [reason for model in models if (reason := model.explain(whole))])
    others = [model for model in problem.models if model not in models]
    enough = max(model.sufficient() for model in models)
    best = solve(_standing_in(problem, others, models, enough))
    low, high = 1, enough
    while low < high:
        middle = (low + high) // 2
        candidate = _tried(_standing_in(problem, others, models, middle), solve)
        if candidate is not None and _holds(candidate, models, problem):
            best, high = candidate, middle
        else:
            low = middle + 1
    if not _holds(best, models, problem):
        names = ", ".join(model.name for model in models)
        raise UnsatisfiableError(f"{names}: records that had to be left out leave a table that breaks it; relax it")
    return best


def _standing_in(problem: Problem, others: list[PrivacyModel], models: list[WholeTableModel], k: int) -> Problem:
    standing = [model.stand_in(min(k, model.sufficient())) for model in models]
    return replace(problem, models=[*others, *standing])


def _tried(problem: Problem, solve: Solve) -> Partition | None:
    try:
        return solve(problem)
    except UnsatisfiableError:
        return None


def _holds(partition: Partition, models: list[WholeTableModel], problem: Problem) -> bool:
    found = statistics_of(problem.table, partition.class_of, partition.count)
    return bool(np.all([model.within(found.sizes, found.population) for model in models]))
