"""Which records of whom an attacker knows, where people have several."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.evaluation.attacks.protocol import RecordsKnown, Target
from sfumato.table.distinct import distinct_of
from sfumato.table.row_order import content_hash
from sfumato.table.table import Table

_SALT = 0x9E


@dataclass(frozen=True, eq=False, repr=False)
class KnownRecords:
    """The records of m people, and which of them an attacker knows.

    Attributes
    ----------
    person_of : numpy.ndarray
        int64 (n,): the person of each record, 0 .. m − 1.
    told : numpy.ndarray
        int64 (r,): places of the known records, rising; at least one of each person.
    """

    person_of: NDArray[np.int64]
    told: NDArray[np.int64]

    @cached_property
    def people(self) -> int:
        """Number of people m."""
        return int(self.person_of.max(initial=-1)) + 1

    @property
    def alone(self) -> bool:
        """Tell whether everybody has one record."""
        return self.people == len(self.person_of)

    @property
    def owners(self) -> NDArray[np.int64]:
        """Return the person of each known record, int64 (r,)."""
        return self.person_of[self.told]

    @cached_property
    def records(self) -> NDArray[np.int64]:
        """Return how many records each person has, int64 (m,)."""
        return np.bincount(self.person_of, minlength=self.people).astype(np.int64, copy=False)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Return how many records are known of each person, int64 (m,)."""
        return np.bincount(self.owners, minlength=self.people).astype(np.int64, copy=False)

    def of_people(self, people: slice) -> tuple[KnownRecords, NDArray[np.int64]]:
        """Return what is known of some people, numbered from 0 again, and the places of their records."""
        start, stop, _ = people.indices(self.people)
        chosen = (self.person_of >= start) & (self.person_of < stop)
        rows = np.flatnonzero(chosen)
        place_of = np.cumsum(chosen) - 1
        told = self.told[chosen[self.told]]
        return KnownRecords(self.person_of[rows] - start, place_of[told]), rows


def known_records(target: Target, table: Table) -> KnownRecords:
    """Choose the records of each person in a table that the target's attacker knows. Cost O(n log n).

    Which ones is drawn with the target's seed, and depends on what records hold, not on their order.
    """
    person_of = table.person_of
    everything = KnownRecords(person_of, np.arange(len(person_of)))
    if target.records_known == "all" or everything.alone:
        return everything
    most = 1 if target.records_known == "one" else int(target.records_known)
    key = np.random.default_rng(None if target.seed is None else [target.seed, _SALT]).integers(0, 1 << 63)
    columns = [distinct_of(table.frame[name]) for name in (*table.schema.quasi_identifying, *table.schema.sensitive)]
    codes = [column.rank_of[column.raw] for column in columns if len(column.raw)]
    drawn = content_hash(np.column_stack([np.full(len(person_of), key, dtype=np.int64), *codes]).astype(np.uint64))
    return KnownRecords(person_of, np.flatnonzero(rank_within(person_of, drawn) < most))


def rank_within(owner: NDArray[np.integer], values: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return each entry's rank by value among those of its owner, from 0; equal ones in order of place; int64 (n,)."""
    order = np.lexsort((values, owner))
    sorted_owner = owner[order]
    starts = np.flatnonzero(np.append(True, sorted_owner[1:] != sorted_owner[:-1])) if len(order) else order
    lengths = np.diff(np.append(starts, len(order)))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order)) - np.repeat(starts, lengths)
    return rank


def by_person(values: NDArray[np.float64], owner: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean of each owner's values, in order of owners; float64 (n,) to float64 (owners,)."""
    people, place = np.unique(owner, return_inverse=True)
    if len(people) == len(owner):
        return values
    means: NDArray[np.float64] = np.bincount(place, values) / np.bincount(place)
    return means


def is_number_known(value: object) -> bool:
    """Tell whether a value says how many records an attacker knows of each person."""
    if isinstance(value, str):
        return value in ("all", "one")
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def in_words(known: RecordsKnown) -> str:
    """Say how many records of somebody an attacker knows."""
    if isinstance(known, str):
        return "all records of theirs" if known == "all" else "one record of theirs"
    return f"up to {known} records of theirs"
