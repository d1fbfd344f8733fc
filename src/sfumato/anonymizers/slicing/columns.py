"""Which columns a table is sliced into, and whether its records as one bucket keep the models then."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem
from sfumato.anonymizers.slicing.attribute_clusters import medoids
from sfumato.anonymizers.slicing.correlation import Correlation
from sfumato.errors import PolicyError, UnsatisfiableError, raise_all
from sfumato.kernels.predicates import SLACK
from sfumato.models import promisable
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import says
from sfumato.models.sensitive import SensitiveModel
from sfumato.numbers import counted
from sfumato.published import SlicedTable
from sfumato.published.checks.slices.layout import SliceLayout, models_of_rules, reached
from sfumato.published.checks.slices.slices import group_measures
from sfumato.published.sliced import Columns
from sfumato.table.encoding import EncodedTable

_LayOut = Callable[[Columns], SliceLayout]

_MOST_COLUMNS = 5
"""Columns where the number is not said."""


def slice_column_problems(what: str, columns: int | Columns | None, table: EncodedTable) -> Iterator[str]:
    """Say what does not fit between listed columns (or their number) and a table."""
    sensitive = [attribute.name for attribute in table.sensitive]
    known = [*(attribute.name for attribute in table.attributes), *sensitive]
    if not sensitive:
        yield f"{what}: needs a sensitive column, whose values are to be protected; give one that role"
    reserved = SlicedTable.whole_numbers
    yield from (
        f"{what}: publishes a column {name!r} of its own; rename that of the table"
        for name in known
        if name in reserved
    )
    if isinstance(columns, tuple):
        listed = [name for column in columns for name in column]
        for name in listed:
            if name not in known:
                yield f"{what}: columns name {name!r}, which is no quasi-identifying or sensitive attribute"
        for name in known:
            if name not in listed:
                yield f"{what}: columns do not hold {name!r}; every attribute stands in one of them"
    elif columns is not None and columns > len(known):
        yield f"{what}: {columns} columns are more than there are attributes ({len(known)}); ask for fewer"


def model_problems(what: str, advice: str, table: EncodedTable, models: Sequence[PrivacyModel]) -> Iterator[str]:
    """Say which models cannot be promised, with `advice` at the end, or do not fit the sensitive columns."""
    names = [attribute.name for attribute in table.sensitive]
    for model in models:
        if "slices" not in says(model).speaks_of:
            yield (
                f"{model.name}: a sliced table has no equivalence classes, and cannot promise it; {what} can promise "
                f"{' and '.join(promisable('slices'))}{advice}"
            )
            continue
        try:
            model.rules(names)
        except PolicyError as error:
            # What is missing is said once, for all models.
            yield from error.problems if names else ()


def single_value_problems(what: str, table: EncodedTable) -> Iterator[str]:
    """Name sensitive attributes that have one value only."""
    for place, attribute in enumerate(table.sensitive):
        codes = table.sensitive_codes[:, place]
        if bool(np.all(codes == codes[0])):
            yield (
                f"{what}: sensitive column {attribute.name!r} has one value only, which everybody has; "
                "nothing can hide it: leave the column out"
            )


def as_column(column: object) -> tuple[str, ...]:
    """Settle one column of a list as a tuple; what is no column becomes an empty one."""
    return tuple(column) if isinstance(column, (list, tuple)) else ()


def usual_columns(attributes: int) -> int:
    """Return how many columns there are where nobody says so."""
    return min(_MOST_COLUMNS, max(2, (attributes + 1) // 2), attributes)


def is_whole_number(value: object, least: int) -> bool:
    """Tell whether an option is a whole number, `least` or above."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


@dataclass(frozen=True, eq=False, repr=False)
class ChosenColumns:
    """Columns that one bucket of all records keeps the models with, and what the steward should know of them."""

    columns: Columns
    layout: SliceLayout
    notes: tuple[str, ...] = ()


def choose_columns(
    problem: Problem, correlation: Correlation, count: int, alpha: int | None, lay_out: _LayOut
) -> ChosenColumns:
    """Cluster the attributes; without `alpha` fewer and fewer stand beside the sensitive ones until the models hold.

    A sensitive value that hangs together with what stands beside it can be guessed from that, in any bucket: the models
    then fail for all records as one bucket, which no cut mends. What is said of that is of the fewest beside them.
    Raises ``UnsatisfiableError`` when all records as one bucket break a model even with the sensitive attributes in a
    column of their own; with `alpha`, when they do in those columns.
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


def _beside(columns: Columns, sensitive: Sequence[str]) -> int:
    """Return how many other attributes stand in columns of sensitive ones."""
    homes = [column for column in columns if set(column) & set(sensitive)]
    return sum(name not in sensitive for column in homes for name in column)


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


def cluster_columns(
    correlation: Correlation, sensitive: Collection[str], columns: int, alpha: int | None = None
) -> Columns:
    """Put attributes that hang together into the same column, by k-medoids on the distance ``1 - φ²``.

    * `correlation`: of all attributes that are sliced.
    * `sensitive`: the sensitive ones among them.
    * `columns`: how many columns there are to be.
    * `alpha`: None: k-medoids over all attributes. A whole number: the sensitive attributes and the ``alpha - 1``
      others that are nearest to one of them form a column, and k-medoids makes ``columns - 1`` of the rest.

    Returns: every attribute once, in the order of `correlation`; columns in the order of their first attributes. Raises
    ``PolicyError`` when there are more columns than attributes, or `alpha` leaves too few attributes for the others;
    and with every attribute that has one value only. Deterministic. The paper uses PAM;
    :func:`sfumato.anonymizers.slicing.columns.medoids` says when its answer is exact and what it costs.

    *Sources.* Li, Li, Zhang, Molloy, TKDE 2012; Kaufman, Rousseeuw, "Finding groups in data", 1990. The details of
    the sensitive column are ours, as the paper only names it.
    """
    problems = [*_count_problems(correlation, sensitive, columns, alpha), *_constant_problems(correlation)]
    raise_all(PolicyError, problems)
    everyone = np.arange(len(correlation.attributes))
    if alpha is None or not sensitive:
        return _named(correlation, _clusters(correlation.distances, everyone, columns))
    together = _sensitive_column(correlation, sensitive, alpha)
    rest = np.setdiff1d(everyone, together)
    others = _clusters(correlation.distances, rest, columns - 1) if len(rest) else []
    return _named(correlation, [together, *others])


def _sensitive_column(correlation: Correlation, sensitive: Collection[str], alpha: int) -> NDArray[np.int64]:
    own = [place for place, name in enumerate(correlation.attributes) if name in sensitive]
    nearest = correlation.distances[:, own].min(axis=1)
    nearest[own] = np.inf
    order = np.argsort(nearest, kind="stable")
    return np.sort(np.append(own, order[: alpha - 1]))


def _clusters(distances: NDArray[np.float64], places: NDArray[np.int64], count: int) -> list[NDArray[np.int64]]:
    if count == len(places):
        return [places[[place]] for place in range(count)]
    if count == 1:
        return [places]
    among = np.ascontiguousarray(distances[np.ix_(places, places)])
    centers = medoids(among, count)
    labels = among[:, centers].argmin(axis=1)
    labels[centers] = np.arange(count)
    return [places[labels == label] for label in range(count)]


def _named(correlation: Correlation, clusters: Sequence[NDArray[np.int64]]) -> Columns:
    ordered = sorted((sorted(cluster.tolist()) for cluster in clusters), key=lambda places: places[0])
    return tuple(tuple(correlation.attributes[place] for place in places) for places in ordered)


def _count_problems(correlation: Correlation, sensitive: Collection[str], columns: int, alpha: int | None) -> list[str]:
    attributes, private = len(correlation.attributes), len(sensitive)
    if columns > attributes:
        return [f"slicing: {columns} columns are more than there are attributes ({attributes}); ask for fewer"]
    if alpha is None or not sensitive:
        return []
    others = attributes - private
    if alpha - 1 > others:
        return [f"slicing: alpha = {alpha} needs {alpha - 1} attributes beside the sensitive, there are {others}"]
    rest = others - (alpha - 1)
    if rest < columns - 1 or (rest > 0 and columns == 1):
        return [
            f"slicing: alpha = {alpha} leaves {rest} attribute(s) for {columns - 1} other column(s); "
            "change alpha or the number of columns"
        ]
    return []


def _constant_problems(correlation: Correlation) -> list[str]:
    return [
        f"slicing: column {name!r} has one value only, so that it hangs together with nothing; "
        "leave it out, or list the columns"
        for name, size in zip(correlation.attributes, correlation.sizes, strict=True)
        if size < 2
    ]
