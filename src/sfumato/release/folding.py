"""A solution for people: fold the records of each person into one, solve, and give everybody's records one class."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Anonymizer, Problem
from sfumato.classes.partition import Partition
from sfumato.errors import UnsatisfiableError
from sfumato.models import MODELS
from sfumato.models.compiled import rules_of
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import WishedDiversity
from sfumato.models.protocol import PrivacyModel
from sfumato.models.rule_traits import TRAITS
from sfumato.models.says import CheckedModel
from sfumato.numbers import counted
from sfumato.parallel import OnceForEach
from sfumato.policy.people import People
from sfumato.recoding import Recoding
from sfumato.release.apart import Judged, apart_problems, breaking, read_as_one, solution_apart
from sfumato.release.people_behind import PeopleBehind, carried
from sfumato.release.task import Task
from sfumato.table.encoding import EncodedTable
from sfumato.table.folding import FoldedTable, fold, numbered_by_content
from sfumato.table.person_keys import PersonKey, named_key

PROMISED, PROMISED_L = "promised_k", "promised_l"
"""The published columns of what each class promises at least, where people wish for a k, or an l, of their own."""
NOBODY = "people: is about people with several records; name the column that says who they are (person)"
Solve = Callable[[Problem], Partition]
# The people are kept as well, so that no others get their identity.
_FOLDED: OnceForEach[EncodedTable, tuple[tuple[str, ...], int], tuple[NDArray[np.int32], FoldedTable]] = OnceForEach()


def folding_problems(task: Task) -> list[str]:
    """Name what cannot be done for people with several records, or with a k of their own."""
    anonymizer, wishing = task.anonymizer, wishing_of(k=task.wishes is not None, l=task.wished_l is not None)
    what = next(iter(wishing), "person") if task.table.people is None else "person"
    if task.table.people is None and task.people != People():
        return [NOBODY]
    if task.table.people is None and not wishing:
        return []
    if not isinstance(anonymizer, Anonymizer):
        return [f"{what}: {anonymizer.name} counts records, not people; choose another anonymizer, such as mondrian"]
    keyless = task.table.keyless
    problems = list[str]()
    if keyless is not None and keyless.any():
        found = Keyless(task.table.schema.person, int(keyless.sum()), int(keyless.argmax()), len(keyless))
        problems.extend(keyless_problems(task.people, found))
    if task.people.rows == "apart":
        problems.extend(apart_problems(task))
    problems.extend(anonymizer_problems(anonymizer, what, together=task.people.rows != "apart"))
    return [*problems, *wish_problems(task.models, anonymizer, wishing, task.table.frame.columns)]


def anonymizer_problems(anonymizer: Anonymizer, what: str, *, together: bool) -> Iterator[str]:
    """Say what of an algorithm does not go with people who have several records; `what` asks for them."""
    if together and anonymizer.decides_regions:
        apart = ", or let rows lie apart (rows='apart')" if getattr(anonymizer, "people_apart", False) else ""
        yield (
            f"{what}: {anonymizer.name} decides itself what classes publish, which need not cover all records of a "
            f"person; take one that leaves it to the recoding, such as mondrian with extent='tight'{apart}"
        )
    if getattr(anonymizer, "blind", False):
        yield f"{what}: blind cuts count records, not people; leave blind out"


class Keyless(NamedTuple):
    """Records of a table that have no value in the column of people: how many, the first (from 0), of how many."""

    person: PersonKey
    records: int
    first: int
    height: int


def keyless_problems(people: People, keyless: Keyless) -> Iterator[str]:
    """Refuse records without a key, where that is asked for."""
    if people.keyless == "refuse" and keyless.records:
        yield (
            f"people: {counted(keyless.records, 'record')} of {keyless.height:,} without a value in "
            f"{named_key(keyless.person)}, first in row {keyless.first + 1:,}; fill the keys in, leave such "
            "records out, or let each be a person of its own (keyless='alone')"
        )


Wishing = Mapping[str, tuple[str, type[CheckedModel]]]
"""What is wished for: the column that says what classes promise, and the model that keeps it."""


def wishing_of(*, k: bool, l: bool) -> Wishing:  # noqa: E741 - the letters of the literature
    """Return what is wished for: a k, an l or both."""
    found: dict[str, tuple[str, type[CheckedModel]]] = {}
    if k:
        found["wished k"] = PROMISED, KAnonymity
    if l:
        found["wished l"] = PROMISED_L, WishedDiversity
    return found


def wish_problems(
    models: Sequence[PrivacyModel], anonymizer: Anonymizer, wishing: Wishing, columns: Collection[str]
) -> Iterator[str]:
    """Say what does not go with wishes: models, the anonymizer, names of columns."""
    for wish, (column, kept_by) in wishing.items():
        yield from _problems_of_wish(models, anonymizer, wish, kept_by)
        if column in columns:
            yield f"{wish}: the release has a column {column!r} of its own; rename that of the table"


def _problems_of_wish(
    models: Sequence[PrivacyModel], anonymizer: Anonymizer, wish: str, kept_by: type[CheckedModel]
) -> Iterator[str]:
    keeping = [model for model in models if isinstance(model, kept_by)]
    if not keeping:
        names = " or ".join(sorted(each.name for each in MODELS.values() if issubclass(each, kept_by)))
        yield f"{wish}: belongs to {names}; add that model, if only with {wish[-1]} = 1"
    if not getattr(anonymizer, "only_cuts", False):
        for model in keeping:
            if isinstance(model, WishedDiversity) and not TRAITS[model.wished_code].merging:
                yield (
                    f"{wish}: {anonymizer.name} merges classes, which may break wishes about {model.name}; choose "
                    "mondrian, which only cuts them, or distinct-l-diversity"
                )


def solution_for_people(problem: Problem, people: PeopleBehind, task: Task, solve: Solve) -> Partition:
    """Solve a problem so that all records of a person share one class, and every class is judged by its people.

    `people`: who they are about. `task`: what is asked for. `solve`: what solves a problem of the folded table, records
    in random or canonical order alike. Raises ``UnsatisfiableError`` when there is no solution, or none whose
    suppressed people have few enough records.
    """
    if task.people.rows == "apart":
        carry = carried(problem.table, task.table)
        numbers = numbered_by_content(without_unread_columns(problem), people.numbers, (carry, people.wishes))
        return solution_apart(problem, people, numbers, task, solve)
    folded = _folded(problem, people, task)
    return folded_solution(problem, folded, task.policy.suppression_limit, task.recoding, solve)


def folded_solution(
    problem: Problem, folded: FoldedTable, suppression_limit: float, recoding: Recoding, solve: Solve
) -> Partition:
    """Solve a problem by its folded table; see :func:`solution_for_people`.

    `problem`: of the records. `suppression_limit`: fraction of the records that may be left out, and of the people.
    `recoding`: how classes are published. `solve`: as :func:`solution_for_people` takes it.
    """
    allowed = math.floor(suppression_limit * folded.table.height + 1e-9)
    within = replace(problem, table=folded.table, suppression_limit=allowed)
    found = solve(within)
    records = _judge_merged(problem, within, unfolded(found, folded), folded, recoding)
    if records.suppressed <= problem.suppression_limit:
        return records
    try:
        sure = replace(within, suppression_limit=_surely_suppressed(folded, problem.suppression_limit))
        return _judge_merged(problem, sure, unfolded(solve(sure), folded), folded, recoding)
    except UnsatisfiableError:
        raise UnsatisfiableError(
            f"suppression: {found.suppressed:,} people with {records.suppressed:,} records would have to be "
            f"suppressed, and the limit allows {problem.suppression_limit:,} records; raise the suppression limit or "
            "lower the models' parameters"
        ) from None


def _folded(problem: Problem, people: PeopleBehind, task: Task) -> FoldedTable:
    """Fold the table of a problem; once for all tasks on it that look at the same attributes and wish nothing."""
    table, numbers = without_unread_columns(problem), people.numbers

    def work() -> tuple[NDArray[np.int32], FoldedTable]:
        carry = carried(problem.table, task.table)
        return numbers, fold(table, numbers, carry, people.wishes, people.wished_l)

    if people.most:
        return work()[1]
    names = tuple(attribute.name for attribute in table.sensitive)
    return _FOLDED.of(problem.table, (names, id(numbers)), work)[1]


def without_unread_columns(problem: Problem) -> EncodedTable:
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


def _judge_merged(
    problem: Problem, within: Problem, records: Partition, folded: FoldedTable, recoding: Recoding
) -> Partition:
    """Judge classes that are published alike as one, where that may break what somebody wishes for."""
    if all(TRAITS[rule.code].merging for rule in rules_of(within.models, within.table)):
        return records
    judged = Judged(folded.table, np.unique(folded.person_of, return_index=True)[1])
    found = read_as_one(problem, records, recoding, judged)
    if breaking(problem, found, judged).any():
        raise UnsatisfiableError(
            "wishes: the classes that are found do not keep them, nor do all who are left as one class; lower the "
            "largest wishes, or raise the suppression limit"
        )
    return found


def unfolded(partition: Partition, folded: FoldedTable) -> Partition:
    """Give the records of each person the class of the person."""
    cover = None if partition.cover is None else partition.cover[folded.person_of]
    return replace(partition, class_of=partition.class_of[folded.person_of], cover=cover)
