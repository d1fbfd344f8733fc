"""What wishes cost: rounded up to steps, and if everybody got what those get who wish for most."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem
from sfumato.classes.generalized import GeneralizedTable, class_as_read
from sfumato.classes.partition import Partition
from sfumato.classes.people import largest_of
from sfumato.errors import UnsatisfiableError
from sfumato.metrics import normalized_certainty_penalty
from sfumato.numbers import percent
from sfumato.policy.parts import Wish
from sfumato.policy.policy import Policy
from sfumato.recoding import Recoding, recode_as_published
from sfumato.release.folding import PROMISED, PROMISED_L
from sfumato.release.people_behind import PeopleBehind, uniform_problem
from sfumato.release.wished import wished
from sfumato.table.large.coding import LargeTable
from sfumato.table.schema import text_of

# Wishes of people in a table on disk: who wishes for what, and what classes promise for their sake.
#
# Letters: n records, c classes.


def people_behind(policy: Policy, large: LargeTable) -> PeopleBehind | None:
    """Return the people of a table; None where each has one record and nobody wishes.

    Raises
    ------
    PolicyError
        When a rule names a column that the table does not have, or a value that nobody has.
    """

    def meant(wish: Wish) -> NDArray[np.bool_]:
        both = ((large.quasi_identifying, large.codes), (large.sensitive, large.sensitive_codes))
        for columns, codes in both:
            for place, column in enumerate(columns):
                if column.attribute.name == wish.column:
                    has = (text_of(column.values) == wish.value).fill_null(False).to_numpy()
                    found: NDArray[np.bool_] = has[codes[:, place]]
                    return found
        raise KeyError(wish.column)

    rules, height, names = policy.wishes, large.height, large.names
    k = wished(large.wishes.k, {each: each.k for each in rules if each.k}, height, names, meant)
    asked_l = {each: each.l for each in rules if each.l}
    wished_l = wished(large.wishes.l, asked_l, height, names, meant)
    several = large.people is not None and large.people.some_have_several
    if k is None and wished_l is None and not several:
        return None
    numbers = np.arange(height, dtype=np.int32) if large.people is None else large.people.numbers
    return PeopleBehind.wishing(numbers, k, wished_l)


def promises_of(behind: PeopleBehind, generalized: GeneralizedTable, *, starred: bool) -> dict[str, NDArray[np.int64]]:
    """Return what every class promises, by the name of its column: the largest step that somebody in it wishes for.

    int64 (c + 1,) each; the last is what records promise that are left out and published as ``*``.
    """
    count, class_of = len(generalized.sizes), generalized.class_of
    # A reader may put those who are left out into a class of others.
    as_read = class_as_read(generalized.columns, count, np.append(class_of, np.int32(-1)))
    shown, left_out = as_read[:-1], int(as_read[-1])
    shown = shown if starred else np.where(class_of < 0, np.int32(-1), shown)
    promised = {}
    for name, wishes in ((PROMISED, behind.wishes), (PROMISED_L, behind.wished_l)):
        if wishes is not None:
            largest = largest_of(shown, count + 1, wishes)
            promised[name] = np.append(largest[:count], largest[left_out])
    return promised


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
    told, several = f"{what} for everybody, as those want who wish for most,", "k" in most
    uniform = lost(PeopleBehind(behind.numbers), uniform_problem(problem, most))
    if uniform is None:
        yield f"{told} {'are' if several else 'is'} not possible."
    else:
        yield f"{told} {'lose' if several else 'loses'} {uniform} (NCP)."
    if behind.unrounded is not None and (unrounded := lost(behind.unrounded, problem)):
        yield f"Wishes as they are, not rounded up to the steps that classes publish, lose {unrounded} (NCP)."
