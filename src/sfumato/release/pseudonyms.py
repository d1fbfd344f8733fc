"""Published pseudonyms: the limit of fingerprints that they come with, and the column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem
from sfumato.classes.fingerprints import fingerprints
from sfumato.classes.partition import Partition
from sfumato.errors import PolicyError
from sfumato.numbers import counted
from sfumato.published import PublishedTable
from sfumato.published.checks.pseudonyms import (
    TOO_MANY,
    FingerprintsFound,
    NumbersOfRecordsFound,
    fingerprints_of,
    promised_least,
)
from sfumato.published.generalized import PERSON, Pseudonyms
from sfumato.release.audit import Audit
from sfumato.release.people_behind import PeopleBehind, carried
from sfumato.release.task import Task
from sfumato.release.withdrawal import PeoplesLimit, withdrawn
from sfumato.table.folding import numbered_by_content
from sfumato.table.schema import Attribute


def pseudonym_problems(task: Task) -> Iterator[str]:
    """Name what stands against a column of pseudonyms, and against its limit."""
    if task.people.pseudonyms != "published":
        return
    if PERSON in task.table.frame.columns:
        yield f"people: the release has a column {PERSON!r} of its own; rename that of the table"
    if task.people.fingerprint_k is not None and not task.table.schema.sensitive:
        yield "people: fingerprint_k is about sensitive values, and no column is sensitive; leave it out"


def within_fingerprint_limit(
    partition: Partition, problem: Problem, behind: PeopleBehind | None, task: Task
) -> Partition:
    """Suppress people until every class has enough people who have the values that somebody in it has.

    `partition`: a solution of the problem. `problem`: of the records. `behind`: who they are about; None where every
    record is a person of its own, and nobody wishes anything. Raises ``UnsatisfiableError`` when more would have to go
    than may. Raises ``PolicyError`` when there are too many sets of values to count.
    """
    numbers = task.table.people
    limit = fingerprint_limit(problem, task)
    if limit is None or numbers is None:
        return partition
    return withdrawn(problem, partition, behind or PeopleBehind(numbers, None), limit, task)


def fingerprint_limit(problem: Problem, task: Task) -> PeoplesLimit | None:
    """Return the limit on how many people have the same values; None where none is set."""
    numbers, least, known = task.table.people, task.people.fingerprint_k, task.people.known_values
    if least is None or numbers is None:
        return None
    codes = problem.table.sensitive_codes

    def below(class_of: NDArray[np.int32]) -> NDArray[np.bool_]:
        failing = np.zeros(len(class_of), dtype=np.bool_)
        for column in range(codes.shape[1]):
            found = fingerprints(class_of, numbers, codes[:, [column]], known)
            if found is None:
                raise PolicyError(f"people: {TOO_MANY} for fingerprint_k; lower known_values")
            failing |= found.records_below(least)
        return failing

    promise = Pseudonyms(PERSON, known, least).sentence()
    return PeoplesLimit(promise, below, "lower fingerprint_k or known_values, or ask for larger classes")


def with_pseudonyms(
    published: PublishedTable, class_of: NDArray[np.int32], problem: Problem, order: NDArray[np.integer], task: Task
) -> PublishedTable:
    """Add a column that numbers the people of each class afresh, in random order.

    `published`: the table without it. `class_of`: int32 (n,): the class that a reader puts each record into. `order`:
    the record behind each published row.
    """
    assert task.table.people is not None
    people = task.table.people
    if problem.seed is not None:
        # What is drawn under a seed must not follow the order of the input.
        people = numbered_by_content(problem.table, people, (carried(problem.table, task.table),))
    column = pl.Series(PERSON, Audit.of(class_of[order], people[order], problem.seed).pseudonyms)
    settings = Pseudonyms(PERSON, task.people.known_values, task.people.fingerprint_k)
    return replace(published, data=published.data.with_columns(column), pseudonyms=settings)


def fingerprint_lines(
    published: PublishedTable, task: Task
) -> tuple[FingerprintsFound | NumbersOfRecordsFound | str, ...]:
    """Say what somebody finds who knows as many values of a person as the policy says, or how many records."""
    known = task.people.known_values
    sensitive = {
        name: Attribute(kind=task.table.kinds[name], hierarchy=entry.hierarchy)
        for name, entry in task.table.schema.sensitive.items()
    }
    lines: tuple[FingerprintsFound | str, ...] = tuple(
        f"{counted(known, 'value')} of {name or 'any sensitive attribute'}: not counted; {TOO_MANY}"
        if found is None
        else FingerprintsFound.of(name, known, found, promised_least(published, name, known))
        for name, found in fingerprints_of(published, sensitive, known).items()
    )
    of_records = NumbersOfRecordsFound.of(published)
    return lines if of_records is None else (*lines, of_records)
