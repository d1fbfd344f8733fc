"""A solution in which the records of a person may lie in different classes, each of which is judged by its people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.feasibility import with_most_records
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.classes.people import people_left, statistics_of
from sfumato.errors import UnsatisfiableError
from sfumato.models.compiled import rules_of
from sfumato.models.protocol import PrivacyModel
from sfumato.models.rule_traits import TRAITS
from sfumato.numbers import counted
from sfumato.recoding import Recoding, recode_as_published
from sfumato.release.people_behind import PeopleBehind, uniform_problem
from sfumato.release.pseudonyms import fingerprint_limit
from sfumato.release.suppression import smallest_first
from sfumato.release.task import Task
from sfumato.release.withdrawal import PeoplesLimit, withdrawn
from sfumato.table.encoding import EncodedTable, PeopleApart

# Classes that are published alike are one class to every reader, and are judged as one.
#
# Where nobody is in two classes, merging breaks no promise but that of a share that somebody wishes for. Where rows lie
# apart it may break others: at most half of the people of each of two classes have a value, and two of three of both
# together.


class Judged(NamedTuple):
    """By what classes are judged."""

    table: EncodedTable  # with a record for each person, or for each record
    # int (p,): a record of each person, all of whose records share one class; None where records are judged
    first: NDArray[np.intp] | None


def may_break(problem: Problem) -> bool:
    """Tell whether classes with people in common may satisfy the models, and break them when they are merged."""
    return not all(TRAITS[rule.code].apart for rule in rules_of(problem.models, problem.table))


def read_as_one(problem: Problem, partition: Partition, recoding: Recoding, judged: Judged | None = None) -> Partition:
    """Merge classes that are published alike; those that break a model then are merged on until none does.

    `problem`: of records of people who may be in several classes. `partition`: a solution of it. `recoding`: how
    classes are published. `judged`: the same records as people, and who each is, where classes are judged by these.
    Returns: the same one where no two classes are published alike, and none breaks a model. All records in one class
    may. A class that breaks a model is merged with the next one in the order of sizes. Cost of recoding, and of judging
    all classes once for each round; every round leaves fewer classes.
    """
    table, judged = problem.table, judged or Judged(problem.table, None)
    while True:
        published = recode_as_published(table, partition, recoding, threads=problem.threads)
        number_of = np.empty(partition.count, dtype=np.int32)
        kept = partition.class_of >= 0
        number_of[partition.class_of[kept]] = published.class_of[kept]
        merged = _joined(problem, partition.renumbered(number_of, len(published.sizes)), judged)
        if merged.count == partition.count:
            return partition
        partition = merged


def _joined(problem: Problem, partition: Partition, judged: Judged) -> Partition:
    # What an anonymizer decides to publish of a class covers no other class.
    while partition.count > 1 and partition.regions is None:
        broken = breaking(problem, partition, judged)
        if not broken.any():
            break
        order = smallest_first(partition, partition.sizes, problem.table.codes)
        with_next = broken[order]
        with_next[-2] |= with_next[-1]
        number_of = np.empty(partition.count, dtype=np.int32)
        number_of[order] = np.cumsum(np.append(True, ~with_next[:-1])) - 1
        partition = partition.renumbered(number_of, int(number_of.max()) + 1)
    return partition


def breaking(problem: Problem, partition: Partition, judged: Judged) -> NDArray[np.bool_]:
    """Tell which classes break a model; bool (c,)."""
    class_of = partition.class_of if judged.first is None else partition.class_of[judged.first]
    statistics = statistics_of(judged.table, class_of, partition.count)
    holds = np.ones(partition.count, dtype=np.bool_)
    for model in problem.models:
        holds &= model.holds(statistics)
    return ~holds


Solve = Callable[[Problem], Partition]


def apart_problems(task: Task) -> Iterator[str]:
    """Name what cannot be done where the records of a person may lie in different classes."""
    anonymizer = task.anonymizer
    takes = getattr(anonymizer, "people_apart", None)
    if takes is None:
        others = ", ".join(name for name, each in ANONYMIZERS.items() if getattr(each, "people_apart", None))
        yield (
            f"rows apart: {anonymizer.name} cannot judge classes by people whose records lie in several; choose one "
            f"of {others}, or leave rows together"
        )
        return
    if task.policy.refine:
        yield "rows apart: refine counts records, not people; leave it out, or leave rows together"
    if task.wished_l is not None:
        yield "rows apart: an l of one's own is not kept by it; leave wishes for l out, or leave rows together"
    for model in task.models:
        traits = [TRAITS[rule.code] for rule in model.rules(tuple(task.table.schema.sensitive))]
        if any(trait.relative for trait in traits):
            yield _not_with(model, "it compares with the whole table, in which nobody can recount these people")
        elif takes == "merging models" and not all(trait.apart or trait.wishes for trait in traits):
            yield _not_with(
                model, f"classes that have people in common may break it together, which {anonymizer.name} does not try"
            )


def _not_with(model: PrivacyModel, why: str) -> str:
    return f"rows apart: {model.name} does not go with it: {why}; leave the model out, or leave rows together"


def solution_apart(
    problem: Problem, people: PeopleBehind, numbers: NDArray[np.int32], task: Task, solve: Solve
) -> Partition:
    """Solve a problem so that every class is judged by its people, whose other records may lie in other classes.

    `people`: who they are about. `numbers`: int32 (n,): the same people, numbered by what their records hold. `task`:
    what is asked for. Raises ``UnsatisfiableError`` when there is no solution, or none whose suppressed people have few
    enough records. Anonymizers suppress records; whoever has one suppressed is then left out whole. Where these are too
    many, they may suppress half as many, a quarter, and none.
    """
    among = replace(problem, table=replace(problem.table, apart=PeopleApart(numbers, people.wishes)))
    if may_break(among) and getattr(task.anonymizer, "people_apart", None) == "merging models":
        # No model but the bound on the shares that somebody wishes for: one bound for everybody survives merging.
        among = replace(uniform_problem(among, people.most), table=replace(among.table, apart=PeopleApart(numbers)))
    limit, values = all_records_limit(task, people), fingerprint_limit(problem, task)
    limit = limit if values is None else limit.beside(values)
    kept = _few_enough_records(among, numbers)
    refused: UnsatisfiableError | None = None
    room = problem.suppression_limit - int(np.count_nonzero(~kept))
    for allowed in dict.fromkeys((room, room // 2, room // 4, 0)):
        try:
            found = _solved_among(replace(among, suppression_limit=allowed), kept, solve)
            return _add_note(settled_apart(among, found, people, limit, task), found, allowed)
        except UnsatisfiableError as error:
            refused = refused or error
    assert refused is not None
    raise refused


def settled_apart(among: Problem, found: Partition, people: PeopleBehind, limit: PeoplesLimit, task: Task) -> Partition:
    """Leave people out until everything holds in the classes that a reader will see.

    Whoever is left out may make classes alike that were not; every round has fewer classes.
    """
    # The limit of fingerprints is on what somebody has in one class, and that may grow when classes are merged.
    merging = may_break(among) or task.people.fingerprint_k is not None
    while True:
        read = read_as_one(among, found, task.recoding) if merging else found
        solution = withdrawn(among, read, people, limit, task)
        if not merging or read_as_one(among, solution, task.recoding).count == solution.count:
            return solution
        found = solution


def _add_note(solution: Partition, found: Partition, allowed: int) -> Partition:
    """Say that what a search proves is not about those who were left out after it."""
    if solution.suppressed == found.suppressed:
        return solution
    note = (
        f"It was searched with up to {counted(allowed, 'suppressed record')}, of which it needed {found.suppressed:,}. "
        f"People were then left out whole, with {counted(solution.suppressed, 'record')} in all; what is said of the "
        "search is not about these."
    )
    return replace(solution, notes=(*solution.notes, note))


def all_records_limit(task: Task, people: PeopleBehind) -> PeoplesLimit:
    """Return the limit on how many people are left to somebody who knows all records of one; of 1 where none is set."""
    least = task.people.all_records_k or 1

    def below(class_of: NDArray[np.int32]) -> NDArray[np.bool_]:
        if least == 1:
            return np.zeros(len(class_of), dtype=np.bool_)
        found: NDArray[np.bool_] = (people_left(class_of, people.numbers) < least) & (class_of >= 0)
        return found

    promise = "every person with a suppressed record is left out whole"
    if least > 1:
        promise = f"{counted(least, 'person')} are left to whoever knows all records of somebody"
    return PeoplesLimit(promise, below, "lower the models' parameters, or let rows lie together")


def all_records_note(class_of: NDArray[np.int32], numbers: NDArray[np.int32], k: int) -> str:
    """Say how many people are left to somebody who knows all records of a person.

    `class_of`: int32 (n,): class of each record, −1 where it is suppressed. `numbers`: int32 (n,): its person. `k`: the
    size that classes are promised to have.
    """
    published, first = np.unique(np.where(class_of >= 0, numbers, np.int32(-1)), return_index=True)
    persons = first[published >= 0]
    left = people_left(class_of, numbers)
    # Somebody may have a first record that is suppressed, but nobody is suppressed in part.
    own = left[persons]
    fewer = int(np.count_nonzero(own < k))
    return (
        "Records of a person may lie in different classes. Whoever knows all records of somebody is left with "
        f"{counted(int(own.min()), 'person')} at least (all-records k), {int(np.median(own)):,} for half of them; with "
        f"fewer than {k:,} for {fewer:,} of {counted(len(own), 'person')}."
    )


def _few_enough_records(problem: Problem, numbers: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Leave out the fewest people, those with most records, so that nobody has too many of all; bool (n,)."""
    records, gone = with_most_records(problem)
    if records[gone].sum() > problem.suppression_limit or len(gone) == len(records):
        gone = gone[:0]
    kept: NDArray[np.bool_] = ~np.isin(numbers, gone)
    return kept


def _solved_among(problem: Problem, kept: NDArray[np.bool_], solve: Solve) -> Partition:
    """Solve for some of the records; the others are suppressed."""
    if kept.all():
        return solve(problem)
    places = np.flatnonzero(kept)
    found = solve(replace(problem, table=problem.table.take(places)))
    class_of = np.full(len(kept), -1, dtype=np.int32)
    class_of[places] = found.class_of
    cover = None
    if found.cover is not None:
        cover = class_of.copy()
        cover[places] = found.cover
    return replace(found, class_of=class_of, cover=cover)
