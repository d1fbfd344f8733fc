"""The problem that an anonymizer is handed, whether models and forms fit its table, and who is suppressed.

Sweeney's complementary suppression: records that are published as ``*`` form a class, which must satisfy the models
like every other. Records that are left out must be none or at least as many as the smallest class may have, so that
their number, which the report states, counts no small group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Anonymizer, Problem
from sfumato.classes.partition import Form, GeneralizedColumn, GeneralizedTable, Partition
from sfumato.classes.statistics import counted_people, statistics_of
from sfumato.errors import HierarchyError, PolicyError, UnsatisfiableError, raise_all
from sfumato.findings.oddities import farthest_decide
from sfumato.kernels.boxes import class_boxes
from sfumato.metrics.losses import UNIT, Losses, cell_penalties, exact_sum, records_with
from sfumato.models.protocol import declared_values, says, smallest_allowed
from sfumato.numbers import counted, percent
from sfumato.published import Published, sensitive_names
from sfumato.recoding import Recoding
from sfumato.release.description import Description, SensitiveDescription, describe_model, published_hierarchy
from sfumato.release.task import Task
from sfumato.table.encoding import EncodedAttribute, EncodedTable
from sfumato.table.schema import Kind, Schema, text_of
from sfumato.table.table import Table


def settle_suppression(partition: Partition, problem: Problem, recoding: Recoding) -> Partition:
    """Suppress whole classes, smallest first, until the suppressed records may be published as `recoding` says.

    Models that compare with the whole table see another one when records go, so classes are judged anew by them. O((n +
    s) log c).
    """
    suppressed = partition.suppressed
    if suppressed == 0:
        return partition
    if suppressed > problem.suppression_limit:
        raise UnsatisfiableError(
            f"suppression: {suppressed} of {partition.height} {problem.table.unit} would have to be suppressed and the "
            f"limit allows {problem.suppression_limit}; raise the suppression limit or lower the models' parameters"
        )
    sizes = partition.sizes
    order = smallest_first(partition, sizes, problem.table.codes)
    affordable = int(np.searchsorted(np.cumsum(sizes[order]), problem.suppression_limit - suppressed, side="right"))

    def settled(added: int) -> Partition | None:
        candidate = _suppress(partition, order[:added]) if added else partition
        return candidate if _may_be_published(candidate, problem, recoding, as_it_was=not added) else None

    found = fewest_added(settled, affordable)
    if found is None:
        raise UnsatisfiableError(
            f"suppression: {suppressed} of {partition.height} {problem.table.unit} have to be suppressed. They may not "
            f"be published as {recoding.suppressed!r}, even with other classes beside them up to the limit of "
            f"{problem.suppression_limit}; raise the suppression limit or lower the models' parameters"
        )
    return found


def allowed_solution(problem: Problem, recoding: Recoding, solve: Callable[[Problem], Partition]) -> Partition:
    """Solve; where what is left out may not be published as `recoding` says, solve without leaving anybody out.

    Anonymizers do not know whether suppressed records will stand in the table as one more class.
    """
    partition = solve(problem)
    try:
        return settle_suppression(partition, problem, recoding)
    except UnsatisfiableError as error:
        strict = replace(problem, suppression_limit=0)
        try:
            return settle_suppression(solve(strict), strict, recoding)
        except UnsatisfiableError:
            raise error from None


def smallest_first(
    partition: Partition, sizes: NDArray[np.int64], codes: NDArray[np.unsignedinteger]
) -> NDArray[np.int64]:
    """Order the classes by size, those of one size by their values: class numbers may follow the input's order."""
    lows, highs = class_boxes(partition.covered_by, codes, partition.count)
    order: NDArray[np.int64] = np.lexsort((*highs.T[::-1], *lows.T[::-1], sizes))
    return order


def fewest_added(solution_with: Callable[[int], Partition | None], most: int) -> Partition | None:
    """Find the fewest classes to add, by doubling and then halving; exact where adding never breaks what holds."""
    failing, passing = -1, 0
    while (found := solution_with(passing)) is None:
        if passing == most:
            return None
        failing, passing = passing, min(max(1, 2 * passing), most)
    while passing - failing > 1:
        middle = (failing + passing) // 2
        better = solution_with(middle)
        if better is None:
            failing = middle
        else:
            passing, found = middle, better
    return found


def _suppress(partition: Partition, classes: NDArray[np.int64]) -> Partition:
    kept = np.ones(partition.count, dtype=np.bool_)
    kept[classes] = False
    number = np.where(kept, np.cumsum(kept, dtype=np.int32) - 1, np.int32(-1)).astype(np.int32)
    return partition.renumbered(number, partition.count - len(classes))


def _may_be_published(partition: Partition, problem: Problem, recoding: Recoding, *, as_it_was: bool) -> bool:
    starred = recoding.suppressed == "star"
    # With nobody left there is nothing to publish.
    if not partition.count or (not starred and partition.suppressed < smallest_allowed(problem.models)):
        return False
    # Whom the classes of a solution cover was judged by what made it, and stars cover a whole population.
    models = [
        model
        for model in problem.models
        if (starred and not says(model).needs_population)
        or not (says(model).survives_suppression or (says(model).needs_population and as_it_was and not starred))
    ]
    if not models:
        return True
    # Stars are one class beside the others, which comes first.
    class_of = partition.class_of + np.int32(starred)
    statistics = statistics_of(problem.table, class_of, partition.count + starred)
    return all(bool(model.holds(statistics).all()) for model in models)


# What a finished release says about itself, taken from its tables and the task that it fulfills.


def describe_tables(
    published: Published, task: Task, encoded: EncodedTable, kinds: Mapping[str, Kind] = MappingProxyType({})
) -> Description:
    """Return the description of tables; `kinds`: those that a reader finds otherwise; of hierarchies the published."""
    shown, declared = set(sensitive_names(published)), declared_values(task.models)
    return Description(
        published.kind,
        published.structure,
        {
            each.name: replace(_sensitive(each, published, declared), kind=kinds.get(each.name, each.kind))
            for each in encoded.sensitive
            if each.name in shown
        },
        tuple(describe_model(model) for model in task.models),
        task.policy.suppression_limit,
        people=None if task.table.people is None else task.people.pseudonyms,
        rows=task.people.rows,
        all_records_k=task.people.all_records_k,
    )


def _sensitive(attribute: EncodedAttribute, published: Published, declared: set[str]) -> SensitiveDescription:
    hierarchy = attribute.hierarchy
    cut = None if hierarchy is None else published_hierarchy(hierarchy, _values(attribute.name, published) | declared)
    return SensitiveDescription(attribute.kind, cut)


def _values(name: str, published: Published) -> set[str]:
    columns = [frame[name] for frame in published.tables.values() if name in frame.columns]
    return {text for column in columns for text in text_of(column.unique().drop_nulls()).to_list()}


# What a steward must know where a column tells, or seems to tell, which records are of one person.


MOST = 0.9
"""Share of the repeating values of a column that are one person's, from which on it links people's records."""


def repeated_notes(table: Table, partition: Partition | None, k: int) -> tuple[str, ...]:
    """Say that a column repeats as the key of people does, and how few of them a class of k may hold."""
    if table.repeated is None:
        return _notes_on_keys(table)
    note = table.repeated.sentence()
    if partition is None:
        return (note,)
    nothing = np.empty((table.height, 0), dtype=np.uint8)
    sizes = counted_people(partition.class_of, partition.count, table.repeated.people, nothing, ()).sizes
    few = int(np.count_nonzero(sizes < k))
    return (
        f"{note} By that column the smallest class has {counted(int(sizes.min()), 'person')}, and {few:,} of "
        f"{counted(partition.count, 'class')} have fewer than {k:,}.",
    )


def _notes_on_keys(table: Table) -> tuple[str, ...]:
    """Tell of records without a key, and of insensitive columns whose values link a person's records as a key does."""
    if table.people is None:
        return ()
    without_key = () if table.keyless_note is None else (table.keyless_note,)
    return without_key + tuple(
        f"Column {name!r} is published unchanged, and nearly every value of it that repeats is one person's. It links "
        "the records of a person to each other. Leave it out unless the study needs that."
        for name in table.schema.insensitive
        if _links(table.frame[name], table.people)
    )


def _links(column: pl.Series, people: NDArray[np.int32]) -> bool:
    """Tell whether of the values that several records have most are one person's alone."""
    values = pl.DataFrame({"value": column, "person": people}).drop_nulls().group_by("value")
    several = values.agg(records=pl.len(), people=pl.col("person").n_unique()).filter(pl.col("records") > 1)
    return several.height > 0 and float((several["people"] == 1).mean() or 0.0) >= MOST  # type: ignore[arg-type]


# Columns in which most values differ and that have no order: a set of their values hides nothing.
#
# They are published in sets where somebody said so (`sfumato.release.task`), or where the table is too small to ask.


def exact_set_notes(attributes: Sequence[EncodedAttribute], forms: Sequence[Form], losses: Losses) -> Iterator[str]:
    """Tell of nearly distinct values published in sets, and charge them as lost wholly: else they seem little."""
    height, weights = losses.records, {attribute.name: attribute.weight for attribute in attributes}
    exact = [
        attribute
        for attribute, form in zip(attributes, forms, strict=True)
        if form is Form.SET and _is_nearly_distinct(attribute, height)
    ]
    for attribute in exact:
        yield (
            f"Column {attribute.name!r}: {attribute.size:,} different values in {height:,} records are published as "
            "sets of exact values. Who knows somebody's value finds their class by this column alone."
        )
    if exact:
        shares = {**losses.attribute_ncp, **{each.name: losses.changed[each.name] / height for each in exact}}
        charged = sum(weights[name] * share for name, share in shares.items()) / sum(weights.values())
        yield (
            f"The information loss of {percent(losses.normalized_ncp, 3)} takes such sets for small parts of all "
            f"values. With every cell that shows one counted as lost, it is {percent(charged, 3)}."
        )


FAR = "without the farthest 0.1 % of the values"
BY_TREE = "if a set of codes counts as the smallest group of their tree"
_FEWEST_CODES, _MOST_CODES = 10, 50_000


def other_losses(generalized: GeneralizedTable, losses: Losses, schema: Schema) -> dict[str, float]:
    """Return the information loss as it would be counted otherwise, where that says more; for the steward.

    Of numbers whose farthest values decide the range, over the range without them. Of codes whose characters carry a
    tree and that are published in sets, by the tree: six communes of six départements cost more than the département.
    Cost O(c) per attribute, O(d · levels) for the d codes of a tree.
    """
    far, tree = dict(losses.attribute_ncp), dict(losses.attribute_ncp)
    for index, column in enumerate(generalized.columns):
        name = column.attribute.name
        if column.attribute.is_measured and schema.quasi_identifying[name].domain is None:
            far[name] = _share(generalized, column, _without_farthest(column, generalized.frequencies[index]))
        elif column.form is Form.SET and column.attribute.hierarchy is None:
            tree[name] = _share(generalized, column, _by_tree(column))
    weights = {column.attribute.name: column.attribute.weight for column in generalized.columns}
    found = {what: sum(weights[name] * share for name, share in shares.items()) / sum(weights.values())
             for what, shares in ((FAR, far), (BY_TREE, tree)) if shares != losses.attribute_ncp}  # fmt: skip
    return found


def _share(generalized: GeneralizedTable, column: GeneralizedColumn, penalties: NDArray[np.float64]) -> float:
    lost = exact_sum(records_with(column, generalized.sizes), penalties, generalized.suppressed, 1.0)
    return lost / UNIT / generalized.height


def _without_farthest(column: GeneralizedColumn, occurrences: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what each cell loses of the range without the farthest values; as usual where these decide nothing."""
    penalties, numbers = cell_penalties(column), column.attribute.numbers
    occurring = np.flatnonzero(occurrences[: column.attribute.size])
    found = None if numbers is None else farthest_decide(numbers[occurring], occurrences[occurring])
    return penalties if found is None else np.minimum(1.0, penalties * found[1])


def _by_tree(column: GeneralizedColumn) -> NDArray[np.float64]:
    """Return what each set loses by the tree that the codes carry; as usual where they carry none."""
    penalties, labels, members = cell_penalties(column), column.attribute.labels, column.members
    if members is None or not _FEWEST_CODES <= column.attribute.size <= _MOST_CODES:
        return penalties
    from sfumato.hierarchy.draft import draft_rule  # few tables publish codes in sets
    from sfumato.hierarchy.ranges import Prefixes

    rule = None
    with suppress(HierarchyError):
        rule = draft_rule(labels)
    if not isinstance(rule, Prefixes):
        return penalties
    paths = {path[0]: path for path in rule.build(labels.sort(), name=column.attribute.name).paths}
    # A set with a missing value is charged as `*` is, whatever level that has.
    levels = zip(*(paths[label] for label in labels), strict=True)
    several, charged = np.diff(members.starts) > 1, np.zeros(column.count, dtype=np.bool_)
    for level in levels:
        _, group, leaves = np.unique(np.asarray(level), return_inverse=True, return_counts=True)
        of = np.append(group, -1)[members.codes]
        first = of[members.starts[:-1]]
        alike = (
            np.minimum.reduceat(of, members.starts[:-1]) == np.maximum.reduceat(of, members.starts[:-1])
        ) & ~charged
        penalties = np.where(alike & several, leaves[first] / column.attribute.domain_size, penalties)
        charged |= alike
    return np.where(column.unrestricted, 1.0, np.minimum(penalties, 1.0))


def _is_nearly_distinct(attribute: EncodedAttribute, height: int) -> bool:
    return attribute.kind is Kind.CATEGORICAL and attribute.hierarchy is None and 2 * attribute.size > height


def problem_of(task: Task, anonymizer: Anonymizer, encoded: EncodedTable) -> Problem:
    """Return the problem of generalizing a table; ``PolicyError`` with every model and form that does not fit."""
    problems = _misfits(task, anonymizer, encoded)
    if task.is_of_people:
        from sfumato.release.folding import folding_problems, household_problems
        from sfumato.release.people import pseudonym_problems

        problems = [*folding_problems(task), *pseudonym_problems(task), *problems]
        if task.people.rows == "household" and task.table.people is not None:
            problems += household_problems(task)
    raise_all(PolicyError, problems)
    return task.problem(encoded)


def problems_in(*checks: Callable[[], object]) -> list[str]:
    """Run every check, and return the problems of all that complain."""
    problems: list[str] = []
    for check in checks:
        try:
            check()
        except PolicyError as error:
            problems.extend(error.problems)
    return problems


def _misfits(task: Task, anonymizer: Anonymizer, encoded: EncodedTable) -> list[str]:
    names = [attribute.name for attribute in encoded.sensitive]
    problems = problems_in(
        *(partial(model.rules, names) for model in task.problem(encoded).models),
        partial(task.recoding.forms_of, encoded.attributes),
    )
    if encoded.population is not None and not problems:
        forms = task.recoding.forms_of(encoded.attributes)
        problems.extend(
            f"recoding: column {attribute.name!r} is published as class means, which do not show whom they cover; "
            "choose ranges or leave out what is promised about a population"
            for attribute, form in zip(encoded.attributes, forms, strict=True)
            if form is Form.MEAN
        )
    if task.policy.refine and getattr(anonymizer, "strata", None):
        problems.append("refine: moves records between classes, whatever their stratum; leave refine or strata out")
    if task.policy.refine and getattr(anonymizer, "blind", False):
        problems.append("refine: looks at who has which sensitive value; leave refine or blind out")
    if not problems:
        problems.extend(recoding_problems(anonymizer, task.recoding, encoded.attributes))
    return problems


def recoding_problems(anonymizer: Anonymizer, recoding: Recoding, attributes: Sequence[EncodedAttribute]) -> list[str]:
    """Find what has no effect, and forms that contradict an anonymizer which decides itself what is published."""
    forms = recoding.forms_of(attributes)
    problems = []
    if recoding.average is not None and Form.MEAN not in (recoding.numeric, *recoding.forms.values()):
        problems.append(
            f"recoding: average = {recoding.average!r} means nothing where no column is published as the mean of its "
            "class; set numeric = 'mean', or leave it out"
        )
    if recoding.labels and anonymizer.decides_regions:
        problems.append(
            "recoding, labels: this anonymizer decides itself what is published, and fits no label to a class; "
            "leave them out"
        )
    if anonymizer.decides_regions:
        from sfumato.recoding.regions import form_problems

        problems += form_problems(attributes, forms, aggregates=getattr(anonymizer, "aggregates", False))
    return problems


def mean_notes(anonymizer: Anonymizer, recoding: Recoding, attributes: Sequence[EncodedAttribute]) -> Iterator[str]:
    """Say which columns have means where the solution decided otherwise."""
    if anonymizer.decides_regions:
        for attribute, form in zip(attributes, recoding.forms_of(attributes), strict=True):
            if form is Form.MEAN:
                which = (recoding.average or "mean").replace("-", " ")
                yield f"Column {attribute.name!r}: where it is on the level *, the {which} of each class is published."
