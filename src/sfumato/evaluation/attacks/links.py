"""Records that fit people: how many, and how many of them are theirs.

A class covers all records of a person if, in every attribute, its label covers all values that the person has there. So
to know several records is to know more attributes: each attribute several times, with one value a time. Everything that
looks for the classes of one vector of values then looks for the classes of a person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import group_records
from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.evaluation.attacks.people import KEY, Victims, rank_within
from sfumato.evaluation.attacks.placement import held_rows, likeliest_rows
from sfumato.evaluation.attacks.protocol import Target
from sfumato.evaluation.attacks.publication import PublishedClasses, coverage_of, read_publication
from sfumato.evaluation.attacks.register import RegisterAttribute, read_register, register_attributes
from sfumato.kernels.grouping import first_records
from sfumato.kernels.linking.linkage import UNKNOWN, ClassValues, count_own, covering_classes
from sfumato.recoding.choice import Recoding
from sfumato.table.distinct import distinct_of
from sfumato.table.header import columns_of


@dataclass(frozen=True, eq=False, repr=False)
class Links:
    """What m people link to.

    `candidates`: int64 (m,): published records that the attacker picks one of: they fit, or are nearest. `own`: int64
    (m,): those of them that are the person's, judged by everything that linking does not use. `sole`: bool (m,):
    whether the attacker can tell that no candidate is anybody else's. `prior`: float64 (m,): share of all published
    records that agree with one of theirs in this way, on average. `expected`: float64 (m,): candidates that would be
    judged the person's own by chance. `distances`: float64 (m,): how far the nearest records are, if these were wanted.
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

    `published`: n records with the columns `names`. `names`: What the attacker knows of each record. `keys`: String
    (n,): as :func:`sfumato.evaluation.attacks.people.key_of` makes them of the published records. `together`: Whether
    all rows of a person lie in one class; else each row lies in any class that covers it.
    """
    reading = read_links(published, victims, names, keys, recoding)
    if not together and not victims.alone:
        # Codes of what is known need not be those of what is in the data.
        own = read_links(published, replace(victims, frame=victims.own.frame), names, keys, recoding)
        rows = likeliest_rows(reading.known, reading.publication, victims.owner, victims.people)
        held = held_rows(rows, own.publication, own.own, victims, own.known)
        return reading.links(victims, rows.rows, held, rows.sole)
    known, publication = widened(reading.known, reading.publication, victims.owner, victims.people)
    asked = pair_keys(victims, reading.own)
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
class LinkReading:
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
            np.bincount(person, _at_least_so_many(candidates[person], shares, again + 1), minlength=people).astype(
                np.float64
            ),
            self.publication.records,
        )


@dataclass(frozen=True, eq=False, repr=False)
class _Asked:
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


def pair_keys(victims: Victims, own: NDArray[np.int64]) -> _Asked:
    """Pair people with the keys of their records, int64 (o,) of their own records."""
    width = int(own.max(initial=-1)) + 2
    absent = np.flatnonzero(~victims.inside)
    cells = np.concatenate([victims.own.person * width + own + 1, absent * width])
    pairs, pair_of = np.unique(cells, return_inverse=True)
    person = pairs // width
    first = np.searchsorted(person, np.arange(victims.people))
    return _Asked(person, pairs % width - 1, first, pair_of[: len(own)].astype(np.int64))


def as_many_known(candidates: NDArray[np.int64], victims: Victims) -> NDArray[np.bool_]:
    """Tell for whom no more records fit than are known of them: then all are theirs."""
    return candidates <= np.bincount(victims.owner, minlength=victims.people)


def _at_least_so_many(
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
) -> LinkReading:
    """Read what is known of the victims, and the published classes with keys instead of sensitive values."""
    known = read_register(victims.frame, victims.schema, names)
    publication = read_publication(columns_of(published, names).with_columns(keys.alias(KEY)), KEY, known, recoding)
    code_of = {value: code for code, value in enumerate(publication.values) if value is not None}
    own = np.array([-1 if key is None else code_of.get(key, -1) for key in victims.own.keys.to_list()], dtype=np.int64)
    return LinkReading(known, publication, own)


def distinct_vectors(
    codes: Sequence[NDArray[np.int32]], own: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the distinct vectors of codes with the own key last, and which of them each person has."""
    told = np.column_stack([*codes, own]).astype(np.int64)
    vector_of, count = group_records((told + 1).astype(np.uint32))
    return told[first_records(vector_of, count)], vector_of


_Widened = tuple[list[RegisterAttribute], PublishedClasses]


def widened(
    known: Sequence[RegisterAttribute], publication: PublishedClasses, owner: NDArray[np.int64], people: int
) -> _Widened:
    """Repeat attributes, so that one vector holds what is known of a person.

    `known`: What is known of r records, one entry for each attribute. `owner`: int64 (r,): the person of each record.
    `people`: Number of people m. `known`: Of m people; `UNKNOWN` fills up. Where everybody has one record, the same as
    before. `publication`: With a label of each class for each of them.

    Where each label covers one run of codes, the lowest and the highest code stand for all of a person. Cost O(r log r)
    for each attribute, and memory m times the most different values that somebody has.
    """
    repeated, places = [], []
    for place, one in enumerate(known):
        ends = _covers_runs(publication, place)
        columns = _lowest_and_highest(one.codes, owner, people) if ends else _distinct(one.codes, owner, people)
        repeated += [replace(one, codes=np.ascontiguousarray(codes)) for codes in columns.T]
        places += [place] * columns.shape[1]
    return repeated, replace(publication, label_of=np.ascontiguousarray(publication.label_of[:, places]))


def side_by_side(
    known: Sequence[RegisterAttribute], publication: PublishedClasses, owner: NDArray[np.int64], people: int
) -> _Widened:
    """Put all records of a person beside each other, as :func:`widened` does, but keep every record whole.

    For distances, which add up over records: a record that is known twice counts twice.
    """
    rank = rank_within(owner, np.zeros(len(owner)))
    width = int(rank.max(initial=0)) + 1
    repeated = []
    for one in known:
        codes = np.full((people, width), UNKNOWN, dtype=np.int32)
        codes[owner, rank] = one.codes
        repeated += [replace(one, codes=np.ascontiguousarray(column)) for column in codes.T]
    places = np.repeat(np.arange(len(known)), width)
    return repeated, replace(publication, label_of=np.ascontiguousarray(publication.label_of[:, places]))


def _covers_runs(publication: PublishedClasses, place: int) -> bool:
    labels = publication.label_of[:, place]
    return bool((publication.runs[labels + 1] - publication.runs[labels] <= 1).all())


def _lowest_and_highest(codes: NDArray[np.int32], owner: NDArray[np.int64], people: int) -> NDArray[np.int32]:
    known = codes != UNKNOWN
    low, high = np.full(people, np.iinfo(np.int32).max, dtype=np.int32), np.full(people, UNKNOWN, dtype=np.int32)
    np.minimum.at(low, owner[known], codes[known])
    np.maximum.at(high, owner[known], codes[known])
    low = np.minimum(low, high)
    return low[:, None] if (low == high).all() else np.column_stack([low, high])


def _distinct(codes: NDArray[np.int32], owner: NDArray[np.int64], people: int) -> NDArray[np.int32]:
    known = codes != UNKNOWN
    pairs = np.unique(np.column_stack([owner[known], codes[known].astype(np.int64)]), axis=0)
    rank = rank_within(pairs[:, 0], pairs[:, 1])
    columns = np.full((people, int(rank.max(initial=0)) + 1), UNKNOWN, dtype=np.int32)
    columns[pairs[:, 0], rank] = pairs[:, 1]
    return columns


def known_problems(what: str, known: object) -> list[str]:
    """Return a problem if a value is neither a number of attributes nor names of some."""
    if known is None or (isinstance(known, int) and not isinstance(known, bool) and known >= 1):
        return []
    if isinstance(known, tuple) and known and all(isinstance(name, str) for name in known):
        return [] if len(set(known)) == len(known) else [f"{what}: known names an attribute twice"]
    return [f"{what}: known must be a number of attributes, 1 or above, or the names of some"]


def known_attributes(
    attack: str, known: int | tuple[str, ...] | None, target: Target, published: pl.DataFrame, victims: Victims
) -> tuple[str, ...]:
    """Return the names of what the attacker knows, in declared order.

    Raises PolicyError when an attribute is unknown, or when there are not as many. Raises InputError when release and
    register share nothing.
    """
    shared = register_attributes(published, victims.frame, victims.schema)
    if not shared:
        raise InputError(
            f"{attack}: the register and the release share no quasi-identifying column, so nothing links them; "
            f"the schema names {', '.join(victims.schema.quasi_identifying)}"
        )
    if known is None:
        return shared
    if isinstance(known, int):
        if known > len(shared):
            raise PolicyError(f"{attack}, known: asks for {known} attributes, but there are {len(shared)}")
        return _most_telling(target.original.frame, shared, known)
    raise_all(
        PolicyError,
        (
            f"{attack}, known: {name!r} is not a quasi-identifying attribute of both; these are {', '.join(shared)}"
            for name in known
            if name not in shared
        ),
    )
    return tuple(name for name in shared if name in known)


def _most_telling(frame: pl.DataFrame, names: Sequence[str], count: int) -> tuple[str, ...]:
    """Choose attributes one after the other so that most records become unique, then most vectors distinct.

    Ties go to the first in order. Cost O(q · count · n).
    """
    codes = {name: (distinct := distinct_of(frame[name])).rank_of[distinct.raw].astype(np.uint32) for name in names}
    chosen: list[str] = []
    for _ in range(count):
        left = [name for name in names if name not in chosen]
        chosen.append(max(left, key=lambda name: _told_apart([codes[one] for one in (*chosen, name)])))
    return tuple(name for name in names if name in chosen)


def _told_apart(columns: Sequence[np.ndarray]) -> tuple[int, int]:
    class_of, count = group_records(np.column_stack(columns))
    return int(np.count_nonzero(np.bincount(class_of, minlength=count) == 1)), count
