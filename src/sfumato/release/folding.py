"""A solution for people: fold the records of each person into one, solve, and give everybody's records one class."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sfumato.anonymizers.protocol import Anonymizer, Problem
from sfumato.classes.partition import Partition
from sfumato.errors import UnsatisfiableError
from sfumato.models.compiled import rules_of
from sfumato.models.k_anonymity import KAnonymity
from sfumato.policy.people import People
from sfumato.release.apart import apart_problems, solution_apart
from sfumato.release.people_behind import PeopleBehind, carried
from sfumato.release.task import Task
from sfumato.table.encoding import EncodedTable
from sfumato.table.folding import FoldedTable, fold

PROMISED = "promised_k"
"""The published column that says how many each class promises at least, where people wish for a k of their own."""
Solve = Callable[[Problem], Partition]


def folding_problems(task: Task) -> list[str]:
    """Name what cannot be done for people with several records, or with a k of their own."""
    anonymizer, what = task.anonymizer, "wished k" if task.table.people is None else "person"
    if task.table.people is None and task.people != People():
        return ["people: is about people with several records; name the column that says who they are (person)"]
    if task.table.people is None and task.wishes is None:
        return []
    if not isinstance(anonymizer, Anonymizer):
        return [f"{what}: {anonymizer.name} counts records, not people; choose another anonymizer, such as mondrian"]
    problems: list[str] = []
    if task.people.rows == "apart":
        problems.extend(apart_problems(task))
    elif anonymizer.decides_regions:
        apart = ", or let rows lie apart (rows='apart')" if getattr(anonymizer, "people_apart", False) else ""
        problems.append(
            f"{what}: {anonymizer.name} decides with these options what classes publish, which need not cover all "
            f"records of a person; choose another anonymizer, such as mondrian{apart}"
        )
    if getattr(anonymizer, "blind", False):
        problems.append(f"{what}: blind cuts count records, not people; leave blind out")
    if task.wishes is not None and not any(isinstance(model, KAnonymity) for model in task.models):
        problems.append("wished k: belongs to k-anonymity; add that model, if only with k = 1")
    if task.wishes is not None and PROMISED in task.table.frame.columns:
        problems.append(f"wished k: the release has a column {PROMISED!r} of its own; rename that of the table")
    return problems


def uniform_problem(problem: Problem, most: int) -> Problem:
    """Return the problem in which everybody wishes for as many as those who wish for most."""
    models = [KAnonymity(most, model.shares) if isinstance(model, KAnonymity) else model for model in problem.models]
    return replace(problem, models=models)


def solution_for_people(problem: Problem, people: PeopleBehind, task: Task, solve: Solve) -> Partition:
    """Solve a problem so that all records of a person share one class, and every class is judged by its people.

    Parameters
    ----------
    problem
        Of the records.
    people
        Who they are about.
    task
        What is asked for.
    solve
        What solves a problem of the folded table, records in random or canonical order alike.

    Raises
    ------
    UnsatisfiableError
        When there is no solution, or none whose suppressed people have few enough records.
    """
    folded = fold(_looked_at(problem), people.numbers, carried(problem.table, task.table), people.wishes)
    if task.people.rows == "apart":
        return solution_apart(problem, people, folded.person_of, task, solve)
    allowed = math.floor(task.policy.suppression_limit * folded.table.height + 1e-9)
    within = replace(problem, table=folded.table, suppression_limit=allowed)
    found = solve(within)
    records = _unfolded(found, folded)
    if records.suppressed <= problem.suppression_limit:
        return records
    try:
        sure = replace(within, suppression_limit=_surely_suppressed(folded, problem.suppression_limit))
        return _unfolded(solve(sure), folded)
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


def _surely_suppressed(folded: FoldedTable, limit: int) -> int:
    """Return how many people have no more records than the limit allows, whoever they are."""
    records = np.bincount(folded.person_of)
    return int(np.searchsorted(np.cumsum(np.sort(records)[::-1]), limit, side="right"))


def _unfolded(partition: Partition, folded: FoldedTable) -> Partition:
    cover = None if partition.cover is None else partition.cover[folded.person_of]
    return replace(partition, class_of=partition.class_of[folded.person_of], cover=cover)
