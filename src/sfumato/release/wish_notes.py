"""What wishes cost: rounded up to steps, and if everybody got what those get who wish for most."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.errors import UnsatisfiableError
from sfumato.metrics import normalized_certainty_penalty
from sfumato.numbers import percent
from sfumato.recoding import Recoding, recode_as_published
from sfumato.release.people_behind import PeopleBehind, uniform_problem

MOST_SOLVED_TWICE = 100_000
"""Records up to which it is worked out what other wishes would cost."""


def wish_notes(
    behind: PeopleBehind, problem: Problem, recoding: Recoding, solve: Callable[[PeopleBehind, Problem], Partition]
) -> Iterator[str]:
    """Say what a k, or an l, for everybody would cost, and what wishes would that are not rounded up to steps.

    Nothing where nobody wishes, or the table is large. `solve` solves a problem for people.
    """
    most = behind.most
    if not most or problem.table.height > MOST_SOLVED_TWICE:
        return

    def lost(people: PeopleBehind, problem: Problem) -> str | None:
        try:
            found = solve(people, problem)
        except UnsatisfiableError:
            return None
        return percent(normalized_certainty_penalty(recode_as_published(problem.table, found, recoding)), 3)

    classes = {"k": "Classes of {:,}", "l": "An l of {:,}"}
    what = " and ".join(classes[letter].format(number) for letter, number in most.items()).replace("and An", "and an")
    sentence, several = f"{what} for everybody, as those want who wish for most,", "k" in most
    uniform = lost(PeopleBehind(behind.numbers), uniform_problem(problem, most))
    if uniform is None:
        yield f"{sentence} {'are' if several else 'is'} not possible."
    else:
        yield f"{sentence} {'lose' if several else 'loses'} {uniform} (NCP)."
    if behind.unrounded is not None and (unrounded := lost(behind.unrounded, problem)):
        yield f"Wishes as they are, not rounded up to the steps that classes publish, lose {unrounded} (NCP)."
