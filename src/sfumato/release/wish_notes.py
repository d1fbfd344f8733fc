"""What it would cost to give everybody what those get who wish for most."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.errors import UnsatisfiableError
from sfumato.metrics import normalized_certainty_penalty
from sfumato.numbers import percent
from sfumato.recoding import Recoding, recode_as_published
from sfumato.release.folding import uniform_problem
from sfumato.release.people_behind import PeopleBehind

MOST_SOLVED_TWICE = 100_000
"""Records up to which it is worked out what a k for everybody would cost."""


def wish_notes(
    behind: PeopleBehind, problem: Problem, recoding: Recoding, solve: Callable[[PeopleBehind, Problem], Partition]
) -> tuple[str, ...]:
    """Say what a k, or an l, for everybody would cost; nothing where nobody wishes, or the table is large.

    `solve` solves a problem for people; here for people who wish nothing.
    """
    most = behind.most
    if not most or problem.table.height > MOST_SOLVED_TWICE:
        return ()
    classes = {"k": "Classes of {:,}", "l": "An l of {:,}"}
    what = " and ".join(classes[letter].format(number) for letter, number in most.items()).replace("and An", "and an")
    told = f"{what} for everybody, as those want who wish for most,"
    try:
        uniform = solve(PeopleBehind(behind.numbers), uniform_problem(problem, most))
    except UnsatisfiableError:
        return (f"{told} {_verb(most, 'are', 'is')} not possible.",)
    lost = normalized_certainty_penalty(recode_as_published(problem.table, uniform, recoding))
    return (f"{told} {_verb(most, 'lose', 'loses')} {percent(lost, 3)} (NCP).",)


def _verb(most: Mapping[str, int], several: str, one: str) -> str:
    return several if "k" in most else one
