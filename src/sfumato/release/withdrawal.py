"""Withdrawing people from a solution: who is below a limit is left out whole, until nobody is.

Who goes may take somebody else below the limit, or break a model of the class that is left; so people are looked at
again and again. Nobody ever comes back, which is why it ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.classes.people import counted_people, largest_of
from sfumato.classes.statistics import ClassStatistics, PeoplesRecords
from sfumato.errors import UnsatisfiableError
from sfumato.models.says import smallest_allowed
from sfumato.numbers import counted
from sfumato.release.people_behind import PeopleBehind
from sfumato.release.suppression import fewest_added, smallest_first
from sfumato.release.task import Task

Below = Callable[[NDArray[np.int32]], NDArray[np.bool_]]
"""From the class of each record, int32 (n,), −1 where it is suppressed, to whether its person is below a limit."""


@dataclass(frozen=True)
class PeoplesLimit:
    """A limit that people can be below."""

    promise: str  # what it asks for, in words that finish "so that ..."
    below: Below
    instead: str  # what could be changed instead, in words that finish "or ..."

    def beside(self, other: PeoplesLimit) -> PeoplesLimit:
        """Return the limit that asks for both."""

        def below(class_of: NDArray[np.int32]) -> NDArray[np.bool_]:
            return self.below(class_of) | other.below(class_of)

        return PeoplesLimit(f"{self.promise}, and {other.promise}", below, f"{self.instead}, or {other.instead}")


def withdrawn(
    problem: Problem, partition: Partition, people: PeopleBehind, limit: PeoplesLimit, task: Task
) -> Partition:
    """Suppress everybody who is below a limit, with all of their records, until nobody is and every model holds.

    Where the suppressed records are published as ``*``, or have to be as many as a class, whole classes go as well,
    smallest first, until they may stand like that: the people among the stars are within the limit, too.

    `partition`: a solution of it; its suppressed records carry −1. `people`: who the records are about. `limit`: what
    is asked for. Leaving people out must not lift anybody else above it. `task`: says whether suppressed records are
    removed or published as ``*``, and which share of the people may be. Returns: with the same classes where nobody is
    below. Raises ``UnsatisfiableError``: counting the people who would have to go, and those who may.

    *Guarantee.* In the solution that is returned nobody is below the limit, and every model holds in every class, stars
    among them, counted over people.

    *Cost.* That of judging all classes, for each round; people go in rounds, and few rounds find anybody.
    """
    share = task.policy.suppression_limit
    # A table of some of the records has numbers that are nobody's.
    allowed = math.floor(share * np.count_nonzero(np.bincount(people.numbers)) + 1e-9)
    withdrawal = _Withdrawal(problem, partition, people, limit, allowed, task.recoding.suppressed == "star")
    least = withdrawal.without(withdrawal.gone)
    if found := _withdraw(withdrawal, least):
        return found
    raise UnsatisfiableError(withdrawal.refusal(least))


def _withdraw(withdrawal: _Withdrawal, least: NDArray[np.bool_]) -> Partition | None:
    """Withdraw these people, and the fewest whole classes besides; None where that are too many."""
    if not withdrawal.is_affordable(least):
        return None
    partition = withdrawal.solution(least)
    if not partition.count:
        return None
    order = smallest_first(partition, partition.sizes, withdrawal.problem.table.codes)
    room = withdrawal.problem.suppression_limit - partition.suppressed
    most = int(np.searchsorted(np.cumsum(partition.sizes[order]), room, side="right"))

    def settled(added: int) -> Partition | None:
        gone = withdrawal.without(least | withdrawal.people_in(partition, order[:added])) if added else least
        return withdrawal.solution(gone) if withdrawal.is_allowed(gone) else None

    return fewest_added(settled, most)


@dataclass(frozen=True, eq=False, repr=False)
class _Withdrawal:
    """What :func:`withdrawn` is asked for. A set of people is bool (p,), by their numbers."""

    problem: Problem
    partition: Partition
    people: PeopleBehind
    limit: PeoplesLimit
    allowed: int
    starred: bool

    @property
    def gone(self) -> NDArray[np.bool_]:
        """Those who are suppressed to begin with."""
        return self._of(self.partition.class_of < 0)

    def without(self, gone: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return those people, and all who must go once they are gone, before anything is said of the stars."""
        while True:
            partition = self.solution(gone)
            failing = self.limit.below(partition.class_of) | self._in_breaking(partition, stars=False)
            failing &= partition.class_of >= 0
            if not failing.any():
                return gone
            gone = gone | self._of(failing)

    def people_in(self, partition: Partition, classes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return the people who have a record in one of these classes."""
        return self._of(np.isin(partition.class_of, classes))

    def is_affordable(self, gone: NDArray[np.bool_]) -> bool:
        """Tell whether the limit of suppression allows that many people and records."""
        records, people = int(gone[self.people.numbers].sum()), int(gone.sum())
        return records <= self.problem.suppression_limit and people <= self.allowed

    def is_allowed(self, gone: NDArray[np.bool_]) -> bool:
        """Tell whether those people may stand in a release as the recoding says, and somebody beside them."""
        partition = self.solution(gone)
        if not partition.count or not self.is_affordable(gone):
            return False
        if not gone.any():
            return True
        if not self.starred:
            return int(gone.sum()) >= smallest_allowed(self.problem.models)
        # Stars are one class beside the others, which comes first.
        return not (self.limit.below(partition.class_of + np.int32(1)) | self._in_breaking(partition, stars=True)).any()

    def solution(self, gone: NDArray[np.bool_]) -> Partition:
        """Return the solution without those people; classes that nobody is left in are no longer there."""
        out = gone[self.people.numbers]
        left = np.bincount(self.partition.class_of[~out], minlength=self.partition.count) > 0
        number = np.append(np.where(left, np.cumsum(left) - 1, -1), -1).astype(np.int32)
        cover, regions = self.partition.cover, self.partition.regions
        return replace(
            self.partition,
            class_of=np.where(out, np.int32(-1), number[self.partition.class_of]),
            count=int(left.sum()),
            regions=None if regions is None else regions.take(np.flatnonzero(left)),
            cover=None
            if cover is None
            else np.where(out & (self.partition.class_of >= 0), np.int32(-1), number[cover]),
        )

    def refusal(self, least: NDArray[np.bool_]) -> str:
        """Say how many would have to go, and how many may."""
        gone, records = int(least.sum()), int(least[self.people.numbers].sum())
        records_allowed = counted(self.problem.suppression_limit, "record")
        may = f"the limit allows {counted(self.allowed, 'person')} with {records_allowed}"
        if self.is_affordable(least):
            beside = "be published as '*'" if self.starred else "be left out"
            may = f"they alone may not {beside}, nor with whole classes beside them, as {may}"
        return (
            f"people: {counted(gone, 'person')} with {counted(records, 'record')} would have to be suppressed so that "
            f"{self.limit.promise}; {may}; raise the suppression limit, or {self.limit.instead}"
        )

    def _of(self, records: NDArray[np.bool_]) -> NDArray[np.bool_]:
        numbers = self.people.numbers
        return np.bincount(numbers[records], minlength=int(numbers.max()) + 1) > 0

    def _in_breaking(self, partition: Partition, *, stars: bool) -> NDArray[np.bool_]:
        """Tell which records lie in classes that break a model; with `stars`, those of suppressed people as well.

        Where a class breaks nothing but bounds on one person's share, those who have most of its records must go, and
        the others may stay: no part of the class could hold with them.
        """
        shown = self.starred and bool((partition.class_of < 0).any())
        class_of, count = partition.class_of + np.int32(shown), partition.count + shown
        if not count:
            return np.zeros(len(class_of), dtype=np.bool_)
        table = self.problem.table
        statistics = counted_people(class_of, count, self.people.numbers, table.sensitive_codes, table.sensitive)
        wished, wished_l = (
            None if wishes is None else largest_of(class_of, count, wishes)
            for wishes in (self.people.wishes, self.people.wished_l)
        )
        statistics = replace(statistics, wished=wished, wished_l=wished_l)
        holds, otherwise = self._holding(statistics), self._holding(_with_equal_shares(statistics))
        if shown and not stars:
            holds[0] = True
        heavy = _records_beside(class_of, self.people.numbers) >= np.append(_most(statistics), 0)[class_of]
        failing: NDArray[np.bool_] = ~holds[class_of] & (~otherwise[class_of] | heavy)
        return failing

    def _holding(self, statistics: ClassStatistics) -> NDArray[np.bool_]:
        """Tell which classes satisfy every model, bool (c + 1,); the last entry stands for those in no class."""
        holds = np.ones(statistics.count + 1, dtype=np.bool_)
        for model in self.problem.models:
            holds[:-1] &= model.holds(statistics)
        return holds


def _with_equal_shares(statistics: ClassStatistics) -> ClassStatistics:
    """Return the statistics as if everybody of a class had one record of it."""
    return replace(statistics, people=PeoplesRecords(statistics.sizes, np.ones_like(statistics.sizes)))


def _most(statistics: ClassStatistics) -> NDArray[np.int64]:
    """Return how many records of each class the person has who has most, int64 (c,)."""
    return statistics.sizes if statistics.people is None else statistics.people.most


def _records_beside(class_of: NDArray[np.int32], people: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return for each record how many its person has in its class, int64 (n,)."""
    pairs = class_of.astype(np.int64) * (int(people.max()) + 1) + people
    _, place, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    found: NDArray[np.int64] = counts[place]
    return found
