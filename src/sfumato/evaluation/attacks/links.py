"""Records that fit people: how many, and how many of them are theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.grouping import group_records
from sfumato.evaluation.attacks.coverage import coverage_of
from sfumato.evaluation.attacks.known_records import rank_within
from sfumato.evaluation.attacks.publication import PublishedClasses, read_publication
from sfumato.evaluation.attacks.register import RegisterAttribute, read_register
from sfumato.evaluation.attacks.scattered_rows import held_rows, likeliest_rows
from sfumato.evaluation.attacks.victims import KEY, Victims
from sfumato.evaluation.attacks.widening import widened
from sfumato.kernels.grouping import first_records
from sfumato.kernels.linking.linkage import ClassValues, count_own, covering_classes
from sfumato.recoding.choice import Recoding
from sfumato.table.exact_names import columns_of


@dataclass(frozen=True, eq=False, repr=False)
class Links:
    """What m people link to.

    Attributes
    ----------
    candidates : numpy.ndarray
        int64 (m,): published records that the attacker picks one of: they fit, or are nearest.
    own : numpy.ndarray
        int64 (m,): those of them that are the person's, judged by everything that linking does not use.
    sole : numpy.ndarray
        bool (m,): whether the attacker can tell that no candidate is anybody else's.
    prior : numpy.ndarray
        float64 (m,): share of all published records that agree with one of theirs in this way, on average.
    expected : numpy.ndarray
        float64 (m,): candidates that would be judged the person's own by chance.
    records : int
        Published records.
    distances : numpy.ndarray or None
        float64 (m,): how far the nearest records are, if these were wanted.
    """

    candidates: NDArray[np.int64]
    own: NDArray[np.int64]
    sole: NDArray[np.bool_]
    prior: NDArray[np.float64]
    expected: NDArray[np.float64]
    records: int
    distances: NDArray[np.float64] | None = None


def exact_links(
    published: pl.DataFrame,
    victims: Victims,
    names: Sequence[str],
    keys: pl.Series,
    recoding: Recoding,
    *,
    together: bool = False,
) -> Links:
    """Count the records whose every value covers the person's.

    Parameters
    ----------
    published
        n records with the columns `names`.
    victims
    names
        What the attacker knows of each record.
    keys
        String (n,): as :func:`sfumato.evaluation.attacks.victims.key_of` makes them of the published records.
    recoding
        How the table was published.
    together
        Whether all rows of a person lie in one class; else each row lies in any class that covers it.
    """
    reading = read_links(published, victims, names, keys, recoding)
    if not together and not victims.alone:
        # Codes of what is known need not be those of what is in the data.
        own = read_links(published, replace(victims, frame=victims.own.frame), names, keys, recoding)
        rows = likeliest_rows(reading.known, reading.publication, victims.owner, victims.people)
        held = held_rows(rows, own.publication, own.own, victims, own.known)
        return reading.links(victims, rows.rows, held, rows.sole)
    known, publication = widened(reading.known, reading.publication, victims.owner, victims.people)
    asked = asked_of(victims, reading.own)
    vectors, vector_of = distinct_vectors([one.codes[asked.person] for one in known], asked.key)
    coverage = coverage_of(publication, known)
    candidates, alike = count_own(
        np.ascontiguousarray(vectors[:, :-1]).astype(np.int32),
        coverage,
        covering_classes(coverage),
        publication.sizes,
        ClassValues(publication.starts, publication.value_of, publication.counts),
        vectors[:, -1].astype(np.int64),
    )
    found = candidates[vector_of][asked.first]
    return reading.links(victims, found, asked.held(alike[vector_of]), as_many_known(found, victims))


@dataclass(frozen=True, eq=False, repr=False)
class Reading:
    """What is known of r records, the published classes, and the code of the key of each own record, int64 (o,)."""

    known: list[RegisterAttribute]
    publication: PublishedClasses
    own: NDArray[np.int64]

    def links(
        self, victims: Victims, candidates: NDArray[np.int64], held: NDArray[np.bool_], sole: NDArray[np.bool_]
    ) -> Links:
        """Put together what was found; held : bool (o,), whether each own record is among the candidates."""
        person, people = victims.own.person, victims.people
        shares = np.append(self.publication.totals / max(1, self.publication.records), 0.0)[self.own]
        records = np.bincount(person, minlength=people)
        again = rank_within(person * (len(self.publication.values) + 1) + self.own + 1, np.zeros(len(person)))
        return Links(
            candidates,
            np.bincount(person, held, minlength=people).astype(np.int64),
            sole & (candidates > 0),
            np.bincount(person, shares, minlength=people).astype(np.float64) / np.maximum(records, 1),
            np.bincount(person, at_least_so_many(candidates[person], shares, again + 1), minlength=people).astype(
                np.float64
            ),
            self.publication.records,
        )


@dataclass(frozen=True, eq=False, repr=False)
class Asked:
    """Pairs of a person and a key that a record of theirs has, or no key; sorted by person.

    person, key : int64 (pairs,). first : int64 (m,), the first pair of each person. pair_of : int64 (o,), the pair of
    each own record.
    """

    person: NDArray[np.int64]
    key: NDArray[np.int64]
    first: NDArray[np.int64]
    pair_of: NDArray[np.int64]

    def held(self, alike: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which own records are among the candidates, if so many of them have each key; bool (o,)."""
        return rank_within(self.pair_of, np.zeros(len(self.pair_of))) < alike[self.pair_of]


def asked_of(victims: Victims, own: NDArray[np.int64]) -> Asked:
    """Pair people with the keys of their records, int64 (o,) of their own records."""
    width = int(own.max(initial=-1)) + 2
    absent = np.flatnonzero(~victims.inside)
    cells = np.concatenate([victims.own.person * width + own + 1, absent * width])
    pairs, pair_of = np.unique(cells, return_inverse=True)
    person = pairs // width
    first = np.searchsorted(person, np.arange(victims.people))
    return Asked(person, pairs % width - 1, first, pair_of[: len(own)].astype(np.int64))


def as_many_known(candidates: NDArray[np.int64], victims: Victims) -> NDArray[np.bool_]:
    """Tell for whom no more records fit than are known of them: then all are theirs."""
    return candidates <= np.bincount(victims.owner, minlength=victims.people)


def at_least_so_many(
    tries: NDArray[np.int64], chance: NDArray[np.float64], wanted: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the chance that at least so many of some tries succeed (binomial); wanted : 1 or above."""
    below = (1 - chance) ** tries
    total, term = below.copy(), below.copy()
    odds = np.divide(chance, 1 - chance, out=np.zeros(len(chance)), where=chance < 1)
    for successes in range(1, int(wanted.max(initial=1))):
        term = term * np.maximum(tries - successes + 1, 0) / successes * odds
        total += np.where(wanted > successes, term, 0.0)
    sure = (chance >= 1) & (tries >= wanted)
    return np.where(sure, 1.0, np.clip(1 - total, 0.0, 1.0))


def read_links(
    published: pl.DataFrame, victims: Victims, names: Sequence[str], keys: pl.Series, recoding: Recoding
) -> Reading:
    """Read what is known of the victims, and the published classes with keys instead of sensitive values."""
    known = read_register(victims.frame, victims.schema, names)
    publication = read_publication(columns_of(published, names).with_columns(keys.alias(KEY)), KEY, known, recoding)
    code_of = {value: code for code, value in enumerate(publication.values) if value is not None}
    own = np.array([-1 if key is None else code_of.get(key, -1) for key in victims.own.keys.to_list()], dtype=np.int64)
    return Reading(known, publication, own)


def distinct_vectors(
    codes: Sequence[NDArray[np.int32]], own: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the distinct vectors of codes with the own key last, and which of them each person has."""
    told = np.column_stack([*codes, own]).astype(np.int64)
    vector_of, count = group_records((told + 1).astype(np.uint32))
    return told[first_records(vector_of, count)], vector_of
