"""Where people may be in a generalized table: the one class that fits them, or for each record all that cover it.

Letters: m people, r known records, o records of theirs in the data, c classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.evaluation.attacks.people import Victims, rank_within
from sfumato.evaluation.attacks.publication import PublishedClasses, coverage_of, entries_of, read_publication
from sfumato.evaluation.attacks.register import (
    RegisterAttribute,
    distinct_codes,
    distinct_rows,
    read_register,
    register_attributes,
)
from sfumato.evaluation.attacks.verdicts import SURE
from sfumato.kernels.linking.linkage import covering_classes, fitting_pairs, fitting_weight
from sfumato.published import Published, PublishedTable
from sfumato.recoding.choice import Recoding
from sfumato.table.schema import Schema

NOWHERE, SEVERAL = -1, -2
"""Used instead of a class: none fits, or more than one does."""


BLOCK_BYTES, BLOCK_PAIRS = 1 << 24, 1 << 22


@dataclass(frozen=True, eq=False, repr=False)
class Placement:
    """People and their classes in a generalized table.

    Letters: n people, q shared attributes.

    `publication`: The classes, and what their labels cover. `known`: What the codes of each shared attribute mean.
    `codes`: int32 (n, q): codes of each person; `UNKNOWN` for an empty cell, which fits every class. `class_of`: int32
    (n,): the one class that fits each person, `NOWHERE`, or `SEVERAL`.
    """

    publication: PublishedClasses
    known: tuple[RegisterAttribute, ...]
    codes: NDArray[np.int32]
    class_of: NDArray[np.int32]

    @property
    def filled(self) -> NDArray[np.bool_]:
        """Tell which classes certainly hold exactly the people placed in them, because numbers agree; bool (c,).

        A person who was suppressed, or also fits other classes, makes the classes around them uncertain.
        """
        sizes = self.publication.sizes
        sure: NDArray[np.bool_] = np.bincount(self.class_of[self.class_of >= 0], minlength=len(sizes)) == sizes
        return sure


def require_generalized(published: Published, attack: str) -> PublishedTable:
    """Return a generalized table as such, or raise InputError."""
    if not isinstance(published, PublishedTable):
        raise InputError(
            f"{attack}: is played against a {PublishedTable.kind}, not a {published.kind}; play an attack that is made "
            "for that kind"
        )
    return published


def place_people(
    published: PublishedTable, people: pl.DataFrame, schema: Schema, recoding: Recoding, sensitive: str | None = None
) -> Placement:
    """Place people in the classes of a generalized table.

    `people`: n people with original quasi-identifying values. `schema`: Roles, kinds and hierarchies of the release.
    `sensitive`: The attribute whose values the publication counts in each class; None for attacks that need none.
    Raises InputError when the two share no quasi-identifying attribute.

    Cost O(m · c / 64 · q) for m distinct people and c classes.
    """
    shared = register_attributes(published.data, people, schema)
    if not shared:
        raise InputError(
            "the release and the people share no quasi-identifying attribute, so nothing links them; give the "
            "schema or policy that the release was made with"
        )
    known = tuple(read_register(people, schema, shared))
    publication = read_publication(published.data, sensitive or shared[0], known, recoding)
    told = np.column_stack([each.codes for each in known])
    vectors, vector_of = distinct_rows(told)
    only = [_single_bits(fitting) for _, fitting in _fitting(publication, known, vectors)]
    return Placement(publication, known, told, np.concatenate(only)[vector_of])


def pair_with_classes(
    placement: Placement, vectors: NDArray[np.int32]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]:
    """Pair distinct people with every class that fits them, some people at a time.

    `vectors`: int32 (m, q): codes, as in `codes` of the placement. `vector`, `owner`, `share`: For each pair its place
    in `vectors`, its class, and which share of the records that fit the vector the class has. All pairs of a vector
    come together.
    """
    sizes = placement.publication.sizes
    step = max(1, BLOCK_PAIRS // len(sizes))
    for start, fitting in _fitting(placement.publication, placement.known, vectors):
        for first in range(0, len(fitting), step):
            vector, owner = np.nonzero(_bits(fitting[first : first + step]))
            fits_all = np.bincount(vector, weights=sizes[owner])
            yield vector + start + first, owner, sizes[owner] / fits_all[vector]


def are_covered(
    publication: PublishedClasses, told: NDArray[np.int32], classes: NDArray[np.integer]
) -> NDArray[np.bool_]:
    """Tell for each person whether one class covers them.

    Parameters
    ----------
    publication
        The classes.
    told
        int32 (n, q): codes of n people, `UNKNOWN` if nothing is known.
    classes
        Integers (n,): the class to check for each.

    Returns
    -------
    numpy.ndarray
        bool (n,).

    Notes
    -----
    Cost O(n · q · log r) for r runs.
    """
    # Runs of a label rise, and labels follow each other, so one search finds the run that a code may lie in.
    width = int(max(publication.high.max(initial=0), told.max(initial=0))) + 2
    owner = np.repeat(np.arange(len(publication.runs) - 1), np.diff(publication.runs))
    starts = owner * width + publication.low
    verdict = np.ones(len(told), dtype=np.bool_)
    for column in range(told.shape[1]):
        label, code = publication.label_of[classes, column], told[:, column]
        run = np.searchsorted(starts, label.astype(np.int64) * width + np.maximum(code, 0), side="right") - 1
        inside = (run >= publication.runs[label]) & (np.append(publication.high, -1)[run] >= code)
        verdict &= inside | (code < 0)
    return verdict


def _fitting(
    publication: PublishedClasses, known: tuple[RegisterAttribute, ...], vectors: NDArray[np.int32]
) -> Iterator[tuple[int, NDArray[np.uint64]]]:
    """Yield which classes fit distinct people, a block at a time: the block's first place, and a bit for each class."""
    coverage = coverage_of(publication, known)
    rows, shifts = coverage.rows, coverage.shifts
    # One more row stands for unknown values, and fits every class.
    everyone = np.zeros((1, -(-len(publication.sizes) // 64) * 8), dtype=np.uint8)
    packed = np.packbits(np.ones(len(publication.sizes), dtype=np.uint8), bitorder="little")
    everyone[0, : len(packed)] = packed
    table = np.concatenate([covering_classes(coverage), everyone.view(np.uint64)])
    step = max(1, BLOCK_BYTES // (8 * table.shape[1]))
    for start in range(0, len(vectors), step):
        block = vectors[start : start + step]
        row = np.where(block >= 0, rows[:-1] + (np.maximum(block, 0) >> shifts), len(table) - 1)
        fitting = np.repeat(table[-1:], len(block), axis=0)
        for column in row.T:
            fitting &= table[column]
        if shifts.any():
            _settle(fitting, publication, block)
        yield start, fitting


def _bits(fitting: NDArray[np.uint64]) -> NDArray[np.uint8]:
    return np.unpackbits(fitting.view(np.uint8), axis=1, bitorder="little")


def _settle(fitting: NDArray[np.uint64], publication: PublishedClasses, vectors: NDArray[np.int32]) -> None:
    """Remove classes that do not cover a person, but passed because codes share a row of the table."""
    bits = _bits(fitting)
    person, owner = np.nonzero(bits)
    bits[person, owner] = are_covered(publication, vectors[person], owner)
    fitting[:] = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)


def _single_bits(sets: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Return the number of the only bit of each row of words, int32 (n,); else `NOWHERE` or `SEVERAL`."""
    ones = np.bitwise_count(sets).sum(axis=1, dtype=np.int64)
    word = (sets != 0).argmax(axis=1)
    chosen = sets[np.arange(len(sets)), word]
    below = np.bitwise_count(chosen - np.uint64(1))
    return np.where(ones == 1, 64 * word + below, np.where(ones == 0, NOWHERE, SEVERAL)).astype(np.int32)


MOST_PAIRS = 1 << 22
"""Pairs of a record and a class that are held at a time, or those of one person."""


@dataclass(frozen=True, eq=False, repr=False)
class _LikeliestRows:
    """The classes where each person's rows are densest, as far as an attacker can tell.

    A record that a person is known to have is one of all rows that fit it, each with the same chance. These chances add
    up over the known records; the attacker picks a row where the sum is largest.

    `person`, `owner`: int64: all pairs of a person and such a class. `rows`: int64 (m,): rows of these classes. `sole`:
    bool (m,): whether as many known records fit no other class, so that all these rows are the person's. `chance`:
    float64 (m,): chance that a row picked among them is the person's, as far as the attacker can tell.
    """

    person: NDArray[np.int64]
    owner: NDArray[np.int64]
    rows: NDArray[np.int64]
    sole: NDArray[np.bool_]
    chance: NDArray[np.float64]


def likeliest_rows(
    known: Sequence[RegisterAttribute], publication: PublishedClasses, owner: NDArray[np.int64], people: int
) -> _LikeliestRows:
    """Find the classes where each person's rows are densest.

    `known`: What is known of r records. `owner`: int64 (r,): the person of each record. `people`: m.

    Cost O(r · c / 64 · q + p log p) for the p pairs of a person's different records and the classes that cover them.
    """
    found = [_densest(some, publication.sizes, people) for some in _covered(known, publication, owner, people)]
    persons, owners, inside, best = (np.concatenate(part) for part in zip(*found, strict=True))
    rows = np.bincount(persons, publication.sizes[owners], minlength=people).astype(np.int64)
    sure = inside.reshape(-1, people).sum(axis=0)
    chance = np.minimum(best.reshape(-1, people).sum(axis=0), 1.0)
    return _LikeliestRows(persons, owners, rows, (rows > 0) & (sure >= rows), chance)


def held_rows(
    found: _LikeliestRows,
    publication: PublishedClasses,
    keys: NDArray[np.int64],
    victims: Victims,
    own: Sequence[RegisterAttribute],
) -> NDArray[np.bool_]:
    """Tell which own records are among the rows that an attacker picks one of, for scoring.

    `publication`: All classes, with the keys of their rows as values, read against the own records. `keys`: int64 (o,):
    key of each own record, −1 if no row has it. `own`: The values of the own records. Result: bool (o,): one of the
    classes covers the record, and has a row with its key that is no other record's.
    """
    record, place = join_entries(victims.own.person, found.person, victims.people)
    told = np.column_stack([one.codes for one in own])
    covered = np.zeros(len(keys), dtype=np.bool_)
    covered[record[are_covered(publication, told[record], found.owner[place])]] = True
    covered &= keys >= 0
    width = len(publication.values)
    asked = victims.own.person * width + np.maximum(keys, 0)
    pairs, pair_of = np.unique(asked[covered], return_inverse=True)
    pair, place = join_entries(pairs // width, found.person, victims.people)
    cell = publication.cells_with(found.owner[place], pairs[pair] % width)
    there = np.bincount(pair, np.where(cell >= 0, publication.counts[cell], 0), minlength=len(pairs))
    held = np.zeros(len(keys), dtype=np.bool_)
    held[covered] = rank_within(pair_of, np.zeros(len(pair_of))) < there[pair_of]
    return held


def join_entries(
    owner: NDArray[np.int64], person: NDArray[np.int64], people: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pair the places of owners with those of entries of the same person; `person` of each entry rises."""
    return entries_of(np.searchsorted(person, np.arange(people + 1)), owner)


@dataclass(frozen=True, eq=False, repr=False)
class _Covered:
    """Different records of some people, and the classes that cover them.

    person, times : int64 (d,), whose record, and how often it is known. record, owner : int64, all pairs of a record
    and a class that covers it; rising. rows : int64 (d,), rows that fit each record.
    """

    person: NDArray[np.int64]
    times: NDArray[np.int64]
    record: NDArray[np.int64]
    owner: NDArray[np.int64]
    rows: NDArray[np.int64]


def _covered(
    known: Sequence[RegisterAttribute], publication: PublishedClasses, owner: NDArray[np.int64], people: int
) -> Iterator[_Covered]:
    """Yield the records of some people at a time with all classes that cover them."""
    vectors, vector_of = distinct_codes(known)
    coverage = coverage_of(publication, known)
    table = covering_classes(coverage)
    classes = fitting_weight(vectors, coverage, table, np.ones(len(publication.sizes)))
    cells, times = np.unique(owner * len(vectors) + vector_of, return_counts=True)
    person, vector = cells // len(vectors), cells % len(vectors)
    pairs = np.cumsum(np.bincount(person, classes[vector], minlength=people))
    block_of = (pairs // MOST_PAIRS).astype(np.int64)[person]
    for block in np.unique(block_of):
        some = np.flatnonzero(block_of == block)
        wanted, place = np.unique(vector[some], return_inverse=True)
        fitting, owners = fitting_pairs(np.ascontiguousarray(vectors[wanted]), coverage, table)
        record, entry = join_entries(place, fitting, len(wanted))
        rows = np.bincount(record, publication.sizes[owners[entry]], minlength=len(some)).astype(np.int64)
        yield _Covered(person[some], times[some], record, owners[entry], rows)


def _densest(
    covered: _Covered, sizes: NDArray[np.int64], people: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return pairs of a person and a class where the chances add up to most, records that fit no other, and the sum.

    The last two are int64 and float64 (people,).
    """
    cells, cell_of = np.unique(covered.person[covered.record] * len(sizes) + covered.owner, return_inverse=True)
    chances = np.bincount(cell_of, (covered.times / np.maximum(covered.rows, 1))[covered.record], minlength=len(cells))
    person = cells // len(sizes)
    best = np.zeros(people)
    np.maximum.at(best, person, chances)
    chosen = chances >= best[person] * (1 - SURE)
    there = np.bincount(covered.record, chosen[cell_of], minlength=len(covered.person))
    only = (there > 0) & (there == np.bincount(covered.record, minlength=len(covered.person)))
    inside = np.bincount(covered.person, covered.times * only, minlength=people).astype(np.int64)
    return person[chosen], cells[chosen] % len(sizes), inside, best
