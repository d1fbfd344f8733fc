"""A solution for people: fold the records of each person into one, solve, and give everybody's records one class."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Anonymizer, Problem
from sfumato.classes.partition import Partition
from sfumato.errors import UnsatisfiableError
from sfumato.models.compiled import rules_of
from sfumato.release.task import Task
from sfumato.table.encoding import EncodedTable
from sfumato.table.folding import FoldedTable, fold
from sfumato.table.row_order import content_hash
from sfumato.table.table import Table

Solve = Callable[[Problem], Partition]


def folding_problems(task: Task) -> list[str]:
    """Name what cannot be done for people with several records."""
    anonymizer = task.anonymizer
    if task.table.people is None:
        return []
    if not isinstance(anonymizer, Anonymizer):
        return [f"person: {anonymizer.name} counts records, not people; choose another anonymizer, such as mondrian"]
    problems = []
    if anonymizer.decides_regions:
        problems.append(
            f"person: {anonymizer.name} decides with these options what classes publish, which need not cover all "
            "records of a person; choose another anonymizer, such as mondrian"
        )
    if getattr(anonymizer, "blind", False):
        problems.append("person: blind cuts count records, not people; leave blind out")
    return problems


def solution_for_people(problem: Problem, people: NDArray[np.int32], task: Task, solve: Solve) -> Partition:
    """Solve a problem so that all records of a person share one class, and every class is judged by its people.

    Parameters
    ----------
    problem
        Of the records.
    people
        int32 (n,): the person of each record.
    task
        What is asked for.
    solve
        What solves a problem of the folded table, records in random or canonical order alike.

    Raises
    ------
    UnsatisfiableError
        When there is no solution, or none whose suppressed people have few enough records.
    """
    folded = fold(_looked_at(problem), people, _insensitive(task.table))
    allowed = math.floor(task.policy.suppression_limit * folded.table.height + 1e-9)
    found = solve(replace(problem, table=folded.table, suppression_limit=allowed))
    records = _unfolded(found, folded)
    if records.suppressed <= problem.suppression_limit:
        return records
    try:
        return _unfolded(solve(replace(problem, table=folded.table, suppression_limit=0)), folded)
    except UnsatisfiableError:
        raise UnsatisfiableError(
            f"suppression: {found.suppressed:,} people with {records.suppressed:,} records would have to be "
            f"suppressed, and the limit allows {problem.suppression_limit:,} records; raise the suppression limit or "
            "lower the models' parameters"
        ) from None


def _looked_at(problem: Problem) -> EncodedTable:
    """Return the table without the sensitive attributes that no model looks at."""
    table = problem.table
    names = {rule.attribute for rule in rules_of(problem.models, table)}
    kept = [place for place, attribute in enumerate(table.sensitive) if attribute.name in names]
    sensitive = tuple(table.sensitive[place] for place in kept)
    return replace(table, sensitive=sensitive, sensitive_codes=table.sensitive_codes[:, kept])


def _unfolded(partition: Partition, folded: FoldedTable) -> Partition:
    cover = None if partition.cover is None else partition.cover[folded.person_of]
    return replace(partition, class_of=partition.class_of[folded.person_of], cover=cover)


def _insensitive(table: Table) -> NDArray[np.uint64] | None:
    names = list(table.schema.insensitive)
    if not names:
        return None
    # Categories are compared as texts: their numbers may follow the order of the input.
    texts = (table.frame[name].cast(pl.String).fill_null("") for name in names)
    return content_hash(np.column_stack([text.rank("dense").to_numpy().astype(np.uint64) for text in texts]))
