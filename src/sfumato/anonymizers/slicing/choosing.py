"""Which columns a table is sliced into, and whether its records as one bucket keep the models then."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.anonymizers.protocol import Problem
from sfumato.anonymizers.slicing.columns import cluster_columns
from sfumato.anonymizers.slicing.correlation import Correlation
from sfumato.errors import PolicyError, UnsatisfiableError, raise_all
from sfumato.kernels.predicates import SLACK
from sfumato.models.sensitive import SensitiveModel
from sfumato.numbers import counted
from sfumato.published.checks.slices.layout import SliceLayout, models_of_rules, reached
from sfumato.published.checks.slices.slices import group_measures
from sfumato.published.sliced import Columns

LayOut = Callable[[Columns], SliceLayout]


@dataclass(frozen=True, eq=False, repr=False)
class ChosenColumns:
    """Columns that one bucket of all records keeps the models with, and what the steward should know of them."""

    columns: Columns
    layout: SliceLayout
    notes: tuple[str, ...] = ()


def choose_columns(
    problem: Problem, correlation: Correlation, count: int, alpha: int | None, lay_out: LayOut
) -> ChosenColumns:
    """Cluster the attributes; without `alpha` fewer and fewer stand beside the sensitive ones until the models hold.

    A sensitive value that hangs together with what stands beside it can be guessed from that, in any bucket: the models
    then fail for all records as one bucket, which no cut mends. What is said of that is of the fewest beside them.

    Raises
    ------
    UnsatisfiableError
        When all records as one bucket break a model even with the sensitive attributes in a column of their own; with
        `alpha`, when they do in those columns.
    """
    sensitive = [attribute.name for attribute in problem.table.sensitive]
    first = cluster_columns(correlation, sensitive, count, alpha)
    layout = lay_out(first)
    found = one_bucket_problems(problem, layout, first)
    if not found:
        return ChosenColumns(first, layout)
    if alpha is not None:
        raise_all(UnsatisfiableError, found)
    for fewer in range(_beside(first, sensitive), 0, -1):
        try:
            columns = cluster_columns(correlation, sensitive, count, fewer)
        except PolicyError:
            continue
        layout = lay_out(columns)
        found = one_bucket_problems(problem, layout, columns)
        if not found:
            most = "No attribute" if fewer == 1 else f"No more than {counted(fewer - 1, 'other attribute')}"
            note = (
                f"{most} may stand beside the sensitive ones (alpha = {fewer}): more of what hangs together with them "
                "would tell their values."
            )
            return ChosenColumns(columns, layout, (note,))
    raise UnsatisfiableError(*found)


def one_bucket_problems(problem: Problem, layout: SliceLayout, columns: Columns) -> list[str]:
    """Say which models all records as one bucket break, and what helps."""
    table = problem.table
    names = [attribute.name for attribute in table.sensitive]
    model_of = models_of_rules(problem.models, names)
    problems = []
    for rule, model in enumerate(model_of):
        attribute = int(layout.arrays.rules.attributes[rule])
        home = int(layout.arrays.homes[attribute])
        groups = layout.arrays.parts[:, home] if home >= 0 else np.zeros(table.height, np.int32)
        count = int(groups.max()) + 1
        measures = group_measures(layout.attributes[attribute], model, table, groups, count)
        failing = int((measures > layout.arrays.bounds[rule] + SLACK).sum())
        if failing:
            problems.append(
                _sentence(model, layout.attributes[attribute], columns, names, failing, count, measures.max())
            )
    return problems


def _sentence(
    model: SensitiveModel,
    name: str,
    columns: Columns,
    sensitive: Collection[str],
    failing: int,
    count: int,
    worst: float,
) -> str:
    best = f"{model.bounded} = {reached(model, worst, name).value:.6g}"
    asked = f"{model.bounded} = {getattr(model, model.bounded)}"
    beside = [other for column in columns if name in column for other in column if other not in sensitive]
    what = f"{model.name} on {name!r} asks for {asked}, "
    if not beside:
        return what + f"but all records in one bucket reach only {best}; relax the model"
    return (
        what + f"but {failing} of {counted(count, 'combination')} of the values beside it in its column "
        f"({', '.join(beside)}) break it, the worst with {best}; give it a column of its own (alpha=1), "
        "or relax the model"
    )


def _beside(columns: Columns, sensitive: Sequence[str]) -> int:
    """Return how many other attributes stand in columns of sensitive ones."""
    homes = [column for column in columns if set(column) & set(sensitive)]
    return sum(name not in sensitive for column in homes for name in column)
