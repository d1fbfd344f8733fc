"""The verb of the library: from a table and models to a verified release, whatever kind it is.

A column of a text file gets its type and its kind from all of its values. One that is left out may be the only one that
has a fraction, or is no number; the others would then be published as 5.0 instead of 5, or as categories.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, Unpack, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Anonymizer, Problem, Progress, Publication, Publisher
from sfumato.classes.partition import Form, GeneralizedTable, Partition, class_as_read, group_records
from sfumato.classes.statistics import largest_of, statistics_of
from sfumato.errors import InputError, PolicyError, UnsatisfiableError, VerificationError, raise_all
from sfumato.findings.review import Finding
from sfumato.former import FormerAnonymize, settings_of_call
from sfumato.metrics import Losses, measure_losses
from sfumato.metrics.losses import peoples_penalty
from sfumato.models.protocol import (
    PrivacyModel,
    WholeTableModel,
    least_class_size,
    limits_of_values,
    of_population,
    smallest_allowed,
    whole_table_models,
)
from sfumato.parallel import both, worth_starting
from sfumato.policy.parts import People
from sfumato.policy.policy import Policy, Withstand
from sfumato.progress import beating, shown
from sfumato.published import PublishedTable
from sfumato.published.checks.generalized import Verification
from sfumato.published.checks.recount import verified
from sfumato.randomness import permutation
from sfumato.recoding import Recoding, recode_as_published
from sfumato.registry import loaded
from sfumato.release.audit import Audit
from sfumato.release.problem import (
    allowed_solution,
    describe_tables,
    exact_set_notes,
    mean_notes,
    other_losses,
    problem_of,
    problems_in,
    repeated_notes,
)
from sfumato.release.release import Release
from sfumato.release.reports import KindReport, Report
from sfumato.release.task import (
    DELTA_PRESENCE,
    STEPS,
    Arguments,
    Task,
    advice_on_columns,
    finding_notes,
    looks_at_nobody,
    makers_that,
    passing_notes,
    policy_of_call,
    read_for_call,
)
from sfumato.table.columns import parse_texts
from sfumato.table.reading import read_population
from sfumato.table.row_order import canonical_order
from sfumato.table.schema import Attribute, Kind, Schema, text_of
from sfumato.table.table import Table

if TYPE_CHECKING:
    from sfumato.release.people import PeopleBehind


@dataclass(frozen=True, eq=False)
class OwnTypes:
    """A published table with the types that reading it alone gives, and the kinds of sensitive columns that differ."""

    published: PublishedTable
    kinds: Mapping[str, Kind]


def own_types(published: PublishedTable, table: Table) -> OwnTypes:
    """Give columns that were read from text the types of what is published, where somebody was left out.

    Labels stay, and kinds that were declared, or that a hierarchy over texts rests on.
    """
    if published.data.height == table.height:
        return OwnTypes(published, {})
    kinds: dict[str, Kind] = {}
    columns = []
    for column in published.data:
        is_label = column.name in published.quasi_identifying and isinstance(column.dtype, pl.Enum)
        if column.name in table.from_text and not is_label:
            column, kind = own_values(column, table.kinds[column.name], table.schema.sensitive.get(column.name))
            if kind is not table.kinds[column.name]:
                kinds[column.name] = kind
        columns.append(column)
    return OwnTypes(replace(published, data=pl.DataFrame(columns)), kinds)


class ReadFromText(Protocol):
    """A table, in memory or not, some of whose columns got their kinds from texts."""

    @property
    def schema(self) -> Schema:
        """The roles."""
        ...

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Kind of every quasi-identifying and sensitive column."""
        ...

    @property
    def from_text(self) -> Collection[str]:
        """Columns that were read from text."""
        ...


def only_by_the_left_out(table: ReadFromText, texts: Callable[[str], pl.Series]) -> list[str]:
    """Name the columns that are categories only because of records that are left out: their classes are, too."""
    found = []
    for name, attribute in table.schema.quasi_identifying.items():
        undeclared = attribute.kind is None and attribute.hierarchy is None and name in table.from_text
        undeclared = undeclared and table.kinds[name] is Kind.CATEGORICAL
        if undeclared and parse_texts(texts(name), None, (), strip=False).kind is not Kind.CATEGORICAL:
            found.append(
                f"column {name!r}: is categorical only by records that are left out, and a reader would see that; "
                "declare its kind, or say which texts stand for missing values"
            )
    return found


def kept_texts(table: Table, kept: NDArray[np.bool_]) -> Callable[[str], pl.Series]:
    """Return what gives the values that the published ones of the records, bool (n,), have in a column."""
    return lambda name: text_of(table.frame[name].filter(pl.Series(kept)).unique())


def counted_as_read(was: Mapping[str, Kind], count: Callable[[], Verification]) -> Verification:
    """Recount with the kinds that a reader finds; ask for one where a promise hangs on what is no more there."""
    try:
        return count()
    except (PolicyError, VerificationError):
        raise_all(
            PolicyError,
            [
                f"column {name!r}: is {kind} only by records that are left out, and a promise hangs on "
                "that; declare its kind"
                for name, kind in was.items()
            ],
        )
        raise


def own_values(column: pl.Series, kind: Kind, sensitive: Attribute | None) -> tuple[pl.Series, Kind]:
    """Return a column, and its kind, as reading its published values alone gives it; `sensitive`: what was declared."""
    own_kind = kind if sensitive is None or sensitive.hierarchy is not None else sensitive.kind
    found = parse_texts(text_of(column.unique()), own_kind, (), strip=False)
    if found.kind is kind and (kind is Kind.CATEGORICAL or found.values.dtype == column.dtype):
        return column, kind
    values = parse_texts(text_of(column), own_kind, (), strip=False).values
    return (values.cast(pl.String) if found.kind is Kind.CATEGORICAL else values).alias(column.name), found.kind


def published_release(task: Task, publisher: Publisher) -> Release:
    """Encode, publish, verify; refused with every setting, column and model that do not fit the publisher."""
    task.step("encoding", 1)
    encoded = task.encoded()
    fits = partial(publisher.check, encoded, task.models)
    idle = meaningless_choices(task.policy, publisher, bound=task.bound)
    of_people: list[str] = []
    if task.is_of_people:
        from sfumato.release.folding import folding_problems

        of_people = folding_problems(task)
    raise_all(PolicyError, [*of_people, *idle, *problems_in(fits)])
    task.step("publishing", 2)
    order = canonical_order(encoded, task.table)
    ordered = replace(task.table, frame=task.table.frame[order])
    publication = publisher.publish(task.problem(encoded.take(order)), ordered)
    task.step("verifying", 4)
    verification = verified(publication.published, task.table, task.models)
    report = _report_of_kind(publication, verification, task, task.findings(encoded))
    task.step("done", STEPS)
    described = describe_tables(publication.published, task, encoded)
    return Release(
        publication.published,
        report,
        described,
        task.policy.published(),
        orders=task.table.orders,
        codes=task.table.codes,
    )


def meaningless_choices(policy: Policy, publisher: Publisher, *, bound: bool = False) -> Iterator[str]:
    """Name the settings that say how classes are made and generalized, which there are none of here."""
    what = f"{publisher.name} makes no classes"
    if policy.to_recoding() != Recoding():
        yield f"recoding: {what} that could be generalized; leave it out"
    if policy.refine:
        yield f"refine: {what} between which records could move; leave it out"
    if bound:
        yield f"bound: {what} whose loss could be bounded; leave it out"
    if policy.suppression_limit and not getattr(publisher, "suppresses", False):
        yield f"suppression_limit: {publisher.name} leaves no record out; leave it out"


def _report_of_kind(
    publication: Publication, verification: Verification, task: Task, findings: Sequence[Finding]
) -> KindReport:
    names = {name for frame in publication.published.tables.values() for name in frame.columns}
    return KindReport(
        anonymizer=repr(task.anonymizer),
        kind=publication.published.kind,
        original=task.table.height,
        published=verification.records,
        suppression_limit=task.policy.suppression_limit,
        figures=dict(publication.figures),
        verification=verification,
        limits=(*publication.published.limits, *_limits_of_values(task)),
        notes=(
            *task.table.remarks,
            *publication.notes,
            *passing_notes(task.table, names),
            *repeated_notes(task.table, None, 1),
            *finding_notes(findings),
        ),
        findings=tuple(findings),
        sampled=getattr(task.anonymizer, "samples", False),
        purpose=task.policy.purpose,
        recipient=task.policy.recipient,
    )


# Bounds on figures of the whole table, for anonymizers that make classes one by one.
#
# Such an anonymizer is asked for classes of k that imply the bound, and then for smaller and smaller k as long as what
# comes out satisfies it.


Solve = Callable[[Problem], Partition]


def eased(problem: Problem, solve: Solve) -> Partition:
    """Solve a problem whose bounds on the whole table are kept by the weakest model of classes that is found to do.

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


@dataclass(frozen=True, eq=False, repr=False)
class SolvedTask:
    """A task whose classes are found, and what they publish; for the steward, as it says who is in which class."""

    task: Task
    problem: Problem
    partition: Partition
    generalized: GeneralizedTable
    # Integers (m,): the record behind each published row. Drawn at random, unless the task has a seed.
    order: NDArray[np.integer]


def people_behind(task: Task) -> PeopleBehind | None:
    """Return whom the records are about; what counts people is loaded for tables that have some."""
    if not task.is_of_people:
        return None
    from sfumato.release.people import PeopleBehind

    return PeopleBehind.of(task)


def generalized_release(task: Task, anonymizer: Anonymizer) -> Release:
    """Encode, partition, recode, publish, verify, measure; see :func:`sfumato.anonymize`."""
    return released(solved_task(task, anonymizer), anonymizer)


def solved_task(task: Task, anonymizer: Anonymizer) -> SolvedTask:
    """Encode, partition and recode; UnsatisfiableError when no models hold, SfumatoError for settings and columns."""
    task.step("encoding", 1)
    encoded = task.encoded()
    problem = problem_of(task, anonymizer, encoded)
    behind = people_behind(task)
    partition = _solved_for(behind, problem, task=task, anonymizer=anonymizer)
    if task.people.fingerprint_k is not None and (task.people.rows == "together" or behind is None):
        from sfumato.release.people import within_fingerprint_limit

        partition = within_fingerprint_limit(partition, problem, behind, task)
    if partition.suppressed:
        raise_all(PolicyError, only_by_the_left_out(task.table, kept_texts(task.table, partition.class_of >= 0)))
    task.step("recoding", 3)
    generalized, order = both(
        lambda: recode_as_published(encoded, partition, task.recoding, threads=problem.threads),
        lambda: _order(partition, task.recoding, problem),
        worth_starting(problem.threads, encoded.height),
    )
    return SolvedTask(task, problem, partition, generalized, order)


def released(solved: SolvedTask, anonymizer: Anonymizer) -> Release:
    """Publish, verify and measure."""
    task, problem, generalized, order = solved.task, solved.problem, solved.generalized, solved.order
    encoded, people, behind = problem.table, task.table.people, people_behind(task)
    types = own_types(task.engine.write(generalized, task.table, order, threads=problem.threads), task.table)
    published = _with_added(types.published, _as_read(generalized), order, problem, task)
    # What a recipient can recount is recounted as by one.
    attested = None if people is None or published.pseudonyms is not None else people[order]
    task.step("verifying", 4)
    verification, losses = both(
        lambda: counted_as_read(
            {name: task.table.kinds[name] for name in types.kinds},
            partial(
                _recounted, anonymizer, published, task.table, problem.models, attested, types.kinds, task.register
            ),
        ),
        lambda: measure_losses(generalized, k=smallest_allowed(task.models)),
        worth_starting(problem.threads, encoded.height),
    )
    task.step("measuring", 5)
    report = _report(generalized, losses, verification, task)
    if published.pseudonyms is not None:
        from sfumato.release.people import fingerprint_lines

        report = replace(report, fingerprints=fingerprint_lines(published, task))
    bound = _least_loss(task, problem) if task.bound else None
    alike = None if people is not None or encoded.height > MANY_RECORDS else _smallest_group(encoded.codes)
    remarks = (
        *task.table.remarks,
        *exact_set_notes(
            [column.attribute for column in generalized.columns],
            [column.form for column in generalized.columns],
            losses,
        ),
    )
    findings = task.findings(encoded)
    notes = (*remarks, *_notes(solved.partition, behind, problem, task, anonymizer), *finding_notes(findings))
    others = other_losses(generalized, losses, task.table.schema)
    report = replace(
        report, notes=notes, lower_bound=bound, smallest_before=alike, findings=findings, other_losses=others
    )
    task.step("done", STEPS)
    audit = None if attested is None else Audit.of(_as_read(generalized)[order], attested, problem.seed)
    described = describe_tables(published, task, encoded, types.kinds)
    return Release(
        published,
        report,
        described,
        task.policy.published(),
        audit,
        task.table.orders,
        task.table.codes,
        {each.name: each.kind for each in encoded.attributes if each.is_numeric and each.order is None},
    )


def _recounted(anonymizer: Anonymizer, *counted: Any) -> Verification:
    """Recount; where classes may turn out to cover the same people, say that the anonymizer cannot keep the promise."""
    try:
        return verified(*counted)
    except VerificationError as error:
        asked = any(model.name == DELTA_PRESENCE for model in counted[2])
        if not asked or getattr(anonymizer, "knows_regions", False):
            raise
        raise UnsatisfiableError(
            f"delta-presence: what {anonymizer.name} publishes of different classes covers the same people, whose "
            f"chances then add up beyond delta_max; take {makers_that('shares_nobody', 'knows_regions')}",
            *error.problems,
        ) from None


def _with_added(
    published: PublishedTable, class_of: NDArray[np.int32], order: NDArray[np.integer], problem: Problem, task: Task
) -> PublishedTable:
    """Add the columns that the original does not have: what classes promise, and who is who inside of them."""
    behind = people_behind(task)
    if behind is not None:
        published = _with_promises(published, class_of, behind, order)
    if task.table.people is not None and task.people.pseudonyms == "published":
        from sfumato.release.people import with_pseudonyms

        published = with_pseudonyms(published, class_of, problem, order, task)
    return published


def _notes(
    partition: Partition, behind: PeopleBehind | None, problem: Problem, task: Task, anonymizer: Anonymizer
) -> Iterator[str]:
    least = smallest_allowed(task.models)
    yield from partition.notes
    yield from mean_notes(anonymizer, task.recoding, problem.table.attributes)
    yield from advice_on_columns(task.table)
    yield from passing_notes(task.table, task.table.frame.columns)
    yield from repeated_notes(task.table, partition, least)
    if behind is None:
        return
    from sfumato.release.folding import all_records_note
    from sfumato.release.people import wish_notes

    if task.people.rows == "apart":
        yield all_records_note(partition.class_of, behind.numbers, least)
    solve = partial(_solved_for, task=task, anonymizer=anonymizer)
    yield from wish_notes(behind, problem, task.recoding, solve)


MANY_RECORDS = 2_000_000
"""Records beyond which nobody is told how few shared their values before: counting would take longer than it helps."""


def _smallest_group(codes: NDArray[np.unsignedinteger]) -> int:
    """Return how many records share the values of the record that fewest others share."""
    class_of, _ = group_records(codes)
    return int(np.bincount(class_of).min())


def _least_loss(task: Task, problem: Problem) -> float | None:
    from sfumato.anonymizers.clustering.bounds import lower_bound

    task.progress("lower bound", 0, 1)
    return lower_bound(problem.table, least_class_size(task.models) or 1, threads=problem.threads)


def _solved_for(behind: PeopleBehind | None, problem: Problem, *, task: Task, anonymizer: Anonymizer) -> Partition:
    if behind is None:
        return _solution(problem, task, anonymizer)
    from sfumato.release.folding import solution_for_people, solution_of_households

    if task.people.rows == "household":
        return solution_of_households(problem, behind, task, partial(_refined, task=task, anonymizer=anonymizer))
    return solution_for_people(problem, behind, task, lambda folded: _solution(folded, task, anonymizer))


def _solution(problem: Problem, task: Task, anonymizer: Anonymizer) -> Partition:
    """Solve with the records in an order that owes nothing to that of the input."""

    def solved(problem: Problem) -> Partition:
        return allowed_solution(problem, task.recoding, lambda within: _solved(within, task, anonymizer))

    free = getattr(anonymizer, "order_free", False) and not problem.suppression_limit and not task.policy.refine
    # People already stand in an order that owes nothing to that of the input.
    if free or problem.table.people is not None:
        return solved(problem)
    order = canonical_order(problem.table, task.table)
    if "algorithm" in task.policy.withstand and looks_at_nobody(task.policy):
        order = shuffle_equals(problem.table.codes, order, problem.seed)
    return solved(replace(problem, table=problem.table.take(order))).put_back(order)


def shuffle_equals(codes: NDArray[np.unsignedinteger], order: NDArray[np.int64], seed: int | None) -> NDArray[np.int64]:
    """Put records with equal codes, which stand together in an order, in a random order among themselves.

    Which of them comes first then hangs on nothing else that they hold, such as their sensitive values.
    """
    group_of, _ = group_records(codes[order])
    return order[np.lexsort((permutation(len(order), seed), group_of))]


def _solved(problem: Problem, task: Task, anonymizer: Anonymizer) -> Partition:
    if whole_table_models(problem.models) and not getattr(anonymizer, "knows_regions", False):
        return eased(problem, lambda standing_in: _refined(standing_in, task, anonymizer))
    return _refined(problem, task, anonymizer)


def _refined(problem: Problem, task: Task, anonymizer: Anonymizer) -> Partition:
    partition = task.engine.solve(anonymizer, problem)
    rounds = task.policy.refine
    if not rounds:
        return partition
    from sfumato.anonymizers.clustering.numeric import NumericPartwise
    from sfumato.anonymizers.clustering.refinement import refine

    # What the method minimizes is what is refined.
    space = anonymizer.space(problem.table) if isinstance(anonymizer, NumericPartwise) else None
    return refine(problem, partition, rounds=rounds, space=space)


def _order(partition: Partition, recoding: Recoding, problem: Problem) -> NDArray[np.integer]:
    """Draw the order in which records are published; those that are left out are not in it."""
    everybody = recoding.suppressed == "star"
    records = np.arange(partition.height) if everybody else np.flatnonzero(partition.class_of >= 0)
    return records[permutation(len(records), problem.seed)]


def _with_promises(
    published: PublishedTable, class_of: NDArray[np.int32], behind: PeopleBehind, order: NDArray[np.integer]
) -> PublishedTable:
    """Add columns of what each class promises: the largest step that somebody in it wishes for."""
    from sfumato.release.folding import PROMISED, PROMISED_L

    shown, data = class_of[order], published.data
    for name, wishes in ((PROMISED, behind.wishes), (PROMISED_L, behind.wished_l)):
        if wishes is not None:
            largest = largest_of(shown, int(shown.max()) + 1, wishes[order])[shown]
            data = data.with_columns(pl.Series(name, largest))
    promised, promised_l = (
        None if each is None else name for name, each in ((PROMISED, behind.wishes), (PROMISED_L, behind.wished_l))
    )
    return replace(published, data=data, promised=promised, promised_l=promised_l)


def _as_read(generalized: GeneralizedTable) -> NDArray[np.int32]:
    return class_as_read(generalized.columns, len(generalized.sizes), generalized.class_of)


def _limits(task: Task) -> tuple[str, ...]:
    of_people: tuple[str, ...] = ()
    if task.table.people is not None:
        from sfumato.published.checks.people import limits_of_people

        of_people = limits_of_people(task.models, tuple(task.table.schema.sensitive))
    return (*_limits_of_values(task), *of_people)


def _limits_of_values(task: Task) -> tuple[str, ...]:
    blind = getattr(task.anonymizer, "blind", False)
    return limits_of_values(task.models, tuple(task.table.schema.sensitive), blind=blind)


def _report(
    generalized: GeneralizedTable,
    losses: Losses,
    verification: Verification,
    task: Task,
) -> Report:
    # Records that are published as stars are a class to every reader.
    left_out = verification.records - int(generalized.sizes.sum())
    sizes = np.append(generalized.sizes, left_out) if left_out else generalized.sizes
    return Report(
        anonymizer=repr(task.anonymizer),
        original=len(generalized.class_of),
        published=verification.records,
        suppressed=generalized.suppressed,
        suppression_limit=task.policy.suppression_limit,
        classes=verification.classes,
        smallest_class=int(sizes.min()),
        largest_class=int(sizes.max()),
        losses=losses,
        verification=verification,
        purpose=task.policy.purpose,
        recipient=task.policy.recipient,
        peoples_ncp=None if task.table.people is None else peoples_penalty(generalized, task.table.people),
        publishes_means=any(column.form is Form.MEAN for column in generalized.columns),
        counts="records" if task.table.people is None else "people",
        limits=(*PublishedTable.limits, *_limits(task)),
        pseudonyms=task.people.pseudonyms,
    )


# A research subset: only some records of a table are published, and all of them are the population.


Marks = Sequence[bool] | NDArray[np.bool_] | pl.Series


def published_subset(table: Table, policy: Policy, marks: Marks | None) -> NDArray[np.int64] | None:
    """Return the records that are published, rising; None: all. Refused when said twice, or of nobody."""
    if marks is None and policy.subset is None:
        return None
    if marks is not None and policy.subset is not None:
        raise PolicyError("subset: the policy says which records are published, and so does the call; say it once")
    chosen = _marked(table, policy) if marks is None else _given(table, marks)
    if not chosen.any():
        raise InputError("subset: no record is in it; correct the value or the marks, or publish the whole table")
    return np.flatnonzero(chosen)


def _marked(table: Table, policy: Policy) -> NDArray[np.bool_]:
    assert policy.subset is not None
    column, value = policy.subset.column, policy.subset.value
    if column not in table.frame.columns:
        raise PolicyError(f"subset: column {column!r} is not in the table, or has no role; correct it, or give it one")
    marked: NDArray[np.bool_] = (text_of(table.frame[column]) == value).fill_null(False).to_numpy()
    return marked


def _given(table: Table, marks: Marks) -> NDArray[np.bool_]:
    given = np.asarray(marks)
    if given.dtype != np.bool_ or given.shape != (table.height,):
        raise InputError(f"subset: must say true or false of each of the {table.height:,} records")
    return given


def _is_marks(given: object) -> bool:
    """Tell what says true or false of each record from a population."""
    if isinstance(given, (list, tuple)):
        return bool(given) and all(isinstance(mark, (bool, np.bool_)) for mark in given)
    return isinstance(given, (np.ndarray, pl.Series)) and given.dtype in (np.bool_, pl.Boolean)


def anonymize(
    table: Any,
    models: Policy | PrivacyModel | Sequence[PrivacyModel] = (),
    *,
    anonymizer: Anonymizer | Publisher | None = None,
    recoding: Recoding | None = None,
    suppression_limit: float | None = None,
    people: People | None = None,
    withstand: Withstand | Sequence[Withstand] | None = None,
    bound: bool = False,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress = shown,
    population: object = None,
    schema: Schema | None = None,
    **former: Unpack[FormerAnonymize],
) -> Release:
    """Make a release that satisfies every model, or raise.

    Parameters
    ----------
    table
        From :func:`sfumato.read_table`; or whatever that reads (a polars, pandas or Arrow frame, the path of a file),
        if a `schema` or a policy says what its columns are.
    models
        The policy that the release is made from; or one privacy model or several, of which, with the keywords up to
        `people`, such a policy is made; beside a policy they must say what it says. Every equivalence class (or bucket)
        of the release satisfies every model. None for methods that enforce no model.
    anonymizer
        The algorithm, which also decides what kind of release it is; None is :class:`sfumato.Auto`, which takes what
        fits the table.
    recoding
        How classes are published; None is intervals, common ancestors and value sets.
    suppression_limit
        Fraction of the original records, 0 to 1, that may be left out over the whole run; default 0.
    people
        What is done about people who have several records: whether these lie together, and where it stands which are of
        one person. By default they lie together, and the steward's audit file says it.
    withstand
        Attackers beyond the models whom the release is to withstand, out of ``"algorithm"``, ``"labels"`` and
        ``"others"``. It asks for the maker and the labels that help, plays the attacks on a trial release, and refuses
        what did not withstand them, or was played on too few people to say.
    bound
        Work out a loss that no release of this table with this k can stay below, for the report; takes a while. It is
        for the steward, and not written into a release.
    seed
        For tests and studies: the same records and seed give the same published records, in whatever order they came.
        The order in which the rows of a generalized table are written is shuffled from that of the input. None draws
        from the operating system. A seed is never written anywhere.
    threads
        Upper bound; None takes the policy's, else reads ``SFUMATO_THREADS``, else takes all cores. It never changes the
        result.
    progress
        Called with what is being done, how much is done and the total, at each step and twice a second between; it
        may raise to stop. The work is then done in a thread of its own.
    population
        Everybody who might be in the table, for models that speak of them (:class:`sfumato.KMap` and others): a table,
        or what :func:`sfumato.read_table` reads, with original values in the same quasi-identifying columns. It holds
        the people of the table, too. Or true or false of each record, whether it is published: a research subset. Only
        these records then count as people of the release, and all records of the table are the population. None takes
        what the policy says.
    schema
        The roles of the columns, where `table` has not been read yet. A policy has them, too.
    **former
        Keywords of the last version: `policy` and `refine`, which is a setting of a policy, and `subset`.

    Returns
    -------
    Release
        Verified from its published tables alone.

    Raises
    ------
    UnsatisfiableError
        The models cannot be met within the suppression limit; says which, how far the best attempt got, what to relax.
        Or an attack was not withstood that was to be.
    PolicyError
        Contradictory or unknown settings, or some that mean nothing to the anonymizer; a policy that says otherwise
        than other arguments, or than the table was read with; roles that are missing, or given twice.
    SfumatoError
        What :func:`sfumato.read_table` says of a table that has not been read yet.
    VerificationError
        Never expected: the published tables break a model. Nothing is returned.

    Notes
    -----
    *Guarantee.* What is returned satisfies every model, recounted from the published values without knowledge of how
    they came about; its record order is random.
    """
    policy, refine, subset = settings_of_call(former)
    table = read_for_call(table, schema, [each for each in (models, policy) if isinstance(each, Policy)])
    arguments = Arguments(models, anonymizer, recoding, suppression_limit, refine, people, withstand)
    whole_policy = policy_of_call(table, arguments, policy, seed)
    rows, everybody = rows_and_population(table, whole_policy, population, subset)
    return beating(
        progress,
        "starting",
        lambda beat: withstanding(
            Task(rows, whole_policy, bound, seed, threads, beat, population=everybody, plays=True)
        ),
    )


def rows_and_population(
    table: Table, policy: Policy, population: object, subset: Marks | None = None
) -> tuple[Table, Table | None]:
    """Return the records that are published, and everybody who might be among them; :func:`anonymize` says of what."""
    if _is_marks(population):
        subset, population = cast("Marks", population), None
    published = published_subset(table, policy, subset)
    if published is None:
        return table, population_of(table, policy, population)
    if population is not None or policy.population is not None:
        raise PolicyError("population: of a subset it is the table itself; leave the population out, or the subset")
    everybody = read_population(table, table) if of_population(policy.to_models()) else None
    return table.take(published), everybody


def population_of(table: Table, policy: Policy, population: object = None) -> Table | None:
    """Read the population of a call, or that its policy names; None without; ``SfumatoError`` with what is wrong."""
    source = policy.population if population is None else population
    if source is None:
        return None
    layout = ("separator", "encoding", "quote", "missing", "strip")
    known = {key: value for key, value in policy.beside(source).reading().items() if key in layout}
    return read_population(source, table, known if isinstance(source, (str, os.PathLike)) else {})


def withstanding(task: Task) -> Release:
    """Make the release of a task, and play the attacks that its policy wants withstood.

    Raises ``UnsatisfiableError`` also where one of them was not.
    """
    release = made(task)
    if not task.policy.withstand:
        return release
    return replace(release, report=replace(release.report, withstood=loaded(RESISTANCES)(task)))


RESISTANCES = "sfumato.evaluation.attacks.resistance:resistances"
"""What plays attacks, and judges them; it stands above all that makes releases."""


def made(task: Task) -> Release:
    """Make the release that a task asks for; see :func:`anonymize`."""
    way = task.anonymizer
    return published_release(task, way) if isinstance(way, Publisher) else generalized_release(task, way)
