"""Who the records of a task are about: who is withdrawn whole, pseudonyms, wishes.

Who goes may take somebody else below the limit, or break a model of the class that is left; so people are looked at
again and again. Nobody ever comes back, which is why it ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.classes.statistics import ClassStatistics, PeoplesRecords, counted_people, fingerprints, largest_of
from sfumato.errors import PolicyError, UnsatisfiableError
from sfumato.metrics import normalized_certainty_penalty
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import DistinctLDiversity, ProbabilisticLDiversity
from sfumato.models.protocol import PrivacyModel, smallest_allowed
from sfumato.numbers import counted, percent
from sfumato.published import PublishedTable
from sfumato.published.checks.pseudonyms import (
    TOO_MANY,
    FingerprintsFound,
    NumbersOfRecordsFound,
    fingerprints_of,
    promised_least,
)
from sfumato.published.protocol import PERSON, Pseudonyms
from sfumato.recoding import Recoding, recode_as_published
from sfumato.release.audit import Audit
from sfumato.release.problem import fewest_added, smallest_first
from sfumato.release.task import Task
from sfumato.table.distinct import dense_ranks
from sfumato.table.encoding import EncodedTable
from sfumato.table.folding import numbered_by_content
from sfumato.table.person_keys import STEPS, STEPS_OF_L, steps_of
from sfumato.table.row_order import content_hash
from sfumato.table.schema import Attribute
from sfumato.table.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class PeopleBehind:
    """Who the records are about."""

    numbers: NDArray[np.int32]  # (n,): the person of each record
    # int64 (n,): the k that each record's person wishes for, in whichever record it stands, rounded up to a step
    wishes: NDArray[np.int64] | None = None
    wished_l: NDArray[np.int64] | None = None  # the same for the l
    # the same people with their wishes as they are, where some of them were rounded
    unrounded: PeopleBehind | None = None

    @classmethod
    def of(cls, task: Task) -> PeopleBehind | None:
        """Return the people of a task; None where each has one record and nothing is asked of them."""
        numbers = task.table.people
        alone = numbers is None or int(np.bincount(numbers).max()) == 1
        if alone and task.wishes is None and task.wished_l is None and task.people.all_records_k is None:
            return None
        everybody = np.arange(task.table.height, dtype=np.int32) if numbers is None else numbers
        return cls.wishing(everybody, task.wishes, task.wished_l)

    @classmethod
    def wishing(
        cls, numbers: NDArray[np.int32], wishes: NDArray[np.int64] | None, wished_l: NDArray[np.int64] | None
    ) -> PeopleBehind:
        """Give every record what its person wishes for in any of them; None: nobody wishes."""
        own, own_l = _largest(wishes, numbers), _largest(wished_l, numbers)
        steps, steps_l = (
            None if each is None else steps_of(each, steps) for each, steps in ((own, STEPS), (own_l, STEPS_OF_L))
        )
        rounded = any(np.any(each != step) for each, step in ((own, steps), (own_l, steps_l)) if each is not None)
        return cls(numbers, steps, steps_l, cls(numbers, own, own_l) if rounded else None)

    @property
    def most(self) -> dict[str, int]:
        """The largest k and the largest l that somebody wishes for, where there are such wishes."""
        wished = {"k": self.wishes, "l": self.wished_l}
        return {letter: int(wishes.max()) for letter, wishes in wished.items() if wishes is not None}


def uniform_problem(problem: Problem, most: Mapping[str, int]) -> Problem:
    """Return the problem in which everybody wishes for as much as those who wish for most."""
    return replace(problem, models=[_for_everybody(model, most) for model in problem.models])


def _for_everybody(model: PrivacyModel, most: Mapping[str, int]) -> PrivacyModel:
    if isinstance(model, KAnonymity) and "k" in most:
        return replace(model, k=max(model.k, most["k"]))
    if isinstance(model, DistinctLDiversity) and "l" in most:
        return replace(model, l=max(model.l, most["l"]))
    if isinstance(model, ProbabilisticLDiversity) and "l" in most:
        return replace(model, l=max(model.l, most["l"]))
    return model


def _largest(wishes: NDArray[np.int64] | None, people: NDArray[np.int32]) -> NDArray[np.int64] | None:
    """Give every record what its person wishes for in any of them."""
    return None if wishes is None else largest_of(people, int(people.max()) + 1, wishes)[people]


def carried(encoded: EncodedTable, table: Table | None = None) -> NDArray[np.uint64]:
    """Return a hash of what records hold beside their quasi-identifying codes; uint64 (n,).

    Sensitive values that no model looks at are among it, or people who differ in nothing else would stand in the order
    of the input. Without a table there is nothing else.
    """
    # Categories are compared as texts: their numbers may follow the order of the input.
    names = () if table is None else table.schema.insensitive
    texts = (table.frame[name].cast(pl.String) for name in names) if table is not None else ()
    insensitive = [dense_ranks(text).astype(np.uint64) for text in texts]
    return content_hash(np.column_stack([encoded.sensitive_codes.astype(np.uint64), *insensitive]))


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

    Where the suppressed are published as ``*``, or have to be as many as a class, whole classes go as well, smallest
    first: the people among the stars are within the limit, too. Leaving people out must not lift anybody above it.
    *Guarantee.* In the solution nobody is below the limit, and every model holds in every class, stars among them,
    counted over people. Few rounds find anybody.
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
        """Tell which records lie in classes that break a model; with `stars`, those of suppressed people as well."""
        # Of a bound on one person's share those with most records must go, and the others may stay.
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
    """Suppress people until every class has enough people who have the values that somebody in it has."""
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
    """Add a column that numbers the people of each class, as a reader finds it, afresh, in random order."""
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


MOST_SOLVED_TWICE = 100_000
"""Records up to which it is worked out what other wishes would cost."""


def wish_notes(
    behind: PeopleBehind, problem: Problem, recoding: Recoding, solve: Callable[[PeopleBehind, Problem], Partition]
) -> Iterator[str]:
    """Say what a k, or l, for everybody would cost, and wishes not rounded to steps; nothing for a large table."""
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
