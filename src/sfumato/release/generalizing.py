"""Generalized releases: encode, partition, recode, publish, verify, measure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Anonymizer, Problem
from sfumato.classes.generalized import Form, GeneralizedTable, class_as_read
from sfumato.classes.partition import Partition
from sfumato.classes.people import largest_of, statistics_of
from sfumato.errors import PolicyError, UnsatisfiableError, VerificationError, raise_all
from sfumato.metrics import Losses, measure_losses
from sfumato.metrics.cell_losses import peoples_penalty
from sfumato.models.k_map import DeltaPresence
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import least_class_size, limits_of_values, smallest_allowed
from sfumato.models.whole_table import WholeTableModel, whole_table_models
from sfumato.parallel import both, worth_starting
from sfumato.published import PublishedTable
from sfumato.published.checks.generalized import Verification
from sfumato.published.checks.people import limits_of_people
from sfumato.published.checks.recount import verified
from sfumato.randomness import permutation
from sfumato.recoding import Recoding, recode_as_published
from sfumato.release.apart import all_records_note
from sfumato.release.audit import Audit
from sfumato.release.folding import PROMISED, PROMISED_L, solution_for_people
from sfumato.release.households import solution_of_households
from sfumato.release.loss_report import Report
from sfumato.release.own_types import counted_as_read, kept_texts, only_by_the_left_out, own_types
from sfumato.release.passing import advice_on_columns, passing_notes
from sfumato.release.people_behind import PeopleBehind
from sfumato.release.problem import describe_tables, exact_set_notes, mean_notes, problem_of, repeated_notes
from sfumato.release.pseudonyms import fingerprint_lines, with_pseudonyms, within_fingerprint_limit
from sfumato.release.release import Release
from sfumato.release.suppression import allowed_solution
from sfumato.release.task import STEPS, Task
from sfumato.release.wish_notes import wish_notes
from sfumato.table.row_order import canonical_order

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


def generalized_release(task: Task, anonymizer: Anonymizer) -> Release:
    """Encode, partition, recode, publish, verify, measure; see :func:`sfumato.anonymize`."""
    return released(solved_task(task, anonymizer), anonymizer)


def solved_task(task: Task, anonymizer: Anonymizer) -> SolvedTask:
    """Encode, partition and recode.

    Raises ``UnsatisfiableError`` when the models cannot be met. Raises ``SfumatoError`` with what is wrong with
    settings or columns.
    """
    task.step("encoding", 1)
    encoded = task.encoded()
    problem = problem_of(task, anonymizer, encoded)
    behind = PeopleBehind.of(task)
    partition = _solved_for(behind, problem, task=task, anonymizer=anonymizer)
    if task.people.rows == "together" or behind is None:
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
    encoded, people, behind = problem.table, task.table.people, PeopleBehind.of(task)
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
    report = replace(_report(generalized, losses, verification, task), fingerprints=fingerprint_lines(published, task))
    bound = _least_loss(task, problem) if task.bound else None
    remarks = (*task.table.remarks, *exact_set_notes(generalized, losses))
    notes = (*remarks, *_notes(solved.partition, behind, problem, task, anonymizer))
    report = replace(report, notes=notes, lower_bound=bound)
    task.step("done", STEPS)
    audit = None if attested is None else Audit.of(_as_read(generalized)[order], attested, problem.seed)
    described = describe_tables(published, task, encoded, types.kinds)
    return Release(published, report, described, task.policy.published(), audit, task.table.orders, task.table.codes)


def _recounted(anonymizer: Anonymizer, *counted: Any) -> Verification:
    """Recount; where classes may turn out to cover the same people, say that the anonymizer cannot keep the promise."""
    try:
        return verified(*counted)
    except VerificationError as error:
        asked = any(isinstance(model, DeltaPresence) for model in counted[2])
        if not asked or getattr(anonymizer, "knows_regions", False):
            raise
        raise UnsatisfiableError(
            f"delta-presence: what {anonymizer.name} publishes of different classes covers the same people, whose "
            "chances then add up beyond delta_max; take optimal, incognito, datafly or samarati",
            *error.problems,
        ) from None


def _with_added(
    published: PublishedTable, class_of: NDArray[np.int32], order: NDArray[np.integer], problem: Problem, task: Task
) -> PublishedTable:
    """Add the columns that the original does not have: what classes promise, and who is who inside of them."""
    behind = PeopleBehind.of(task)
    if behind is not None:
        published = _with_promises(published, class_of, behind, order)
    if task.table.people is not None and task.people.pseudonyms == "published":
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
    if task.people.rows == "apart":
        yield all_records_note(partition.class_of, behind.numbers, least)
    solve = partial(_solved_for, task=task, anonymizer=anonymizer)
    yield from wish_notes(behind, problem, task.recoding, solve)


def _least_loss(task: Task, problem: Problem) -> float | None:
    from sfumato.anonymizers.clustering.lower_bound import lower_bound

    task.progress("lower bound", 0, 1)
    return lower_bound(problem.table, least_class_size(task.models) or 1, threads=problem.threads)


def _solved_for(behind: PeopleBehind | None, problem: Problem, *, task: Task, anonymizer: Anonymizer) -> Partition:
    if behind is None:
        return _solution(problem, task, anonymizer)
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
    return solved(replace(problem, table=problem.table.take(order))).put_back(order)


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
    sensitive = tuple(task.table.schema.sensitive)
    of_people = () if task.table.people is None else limits_of_people(task.models, sensitive)
    return (*limits_of_values(task.models, sensitive), *of_people)


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
