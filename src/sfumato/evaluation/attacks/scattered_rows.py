"""Where a person's rows may be if they lie in any classes: for each known record, those that cover it.

Letters: m people, r known records, o records of theirs in the data, c classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.grouping import group_records
from sfumato.evaluation.attacks.coverage import coverage_of
from sfumato.evaluation.attacks.known_records import rank_within
from sfumato.evaluation.attacks.options import SURE
from sfumato.evaluation.attacks.placing import fits
from sfumato.evaluation.attacks.publication import PublishedClasses
from sfumato.evaluation.attacks.register import RegisterAttribute
from sfumato.evaluation.attacks.victims import Victims
from sfumato.kernels.grouping import first_records
from sfumato.kernels.linking.linkage import covering_classes, fitting_pairs, fitting_weight

MOST_PAIRS = 1 << 22
"""Pairs of a record and a class that are held at a time, or those of one person."""


@dataclass(frozen=True, eq=False, repr=False)
class LikeliestRows:
    """The classes where each person's rows are densest, as far as an attacker can tell.

    A record that a person is known to have is one of all rows that fit it, each with the same chance. These chances add
    up over the known records; the attacker picks a row where the sum is largest.

    Attributes
    ----------
    person, owner : numpy.ndarray
        int64: all pairs of a person and such a class.
    rows : numpy.ndarray
        int64 (m,): rows of these classes.
    sole : numpy.ndarray
        bool (m,): whether as many known records fit no other class, so that all these rows are the person's.
    chance : numpy.ndarray
        float64 (m,): chance that a row picked among them is the person's, as far as the attacker can tell.
    """

    person: NDArray[np.int64]
    owner: NDArray[np.int64]
    rows: NDArray[np.int64]
    sole: NDArray[np.bool_]
    chance: NDArray[np.float64]


def likeliest_rows(
    known: Sequence[RegisterAttribute], publication: PublishedClasses, owner: NDArray[np.int64], people: int
) -> LikeliestRows:
    """Find the classes where each person's rows are densest.

    Parameters
    ----------
    known
        What is known of r records.
    publication
        The classes.
    owner
        int64 (r,): the person of each record.
    people
        m.

    Notes
    -----
    Cost O(r · c / 64 · q + p log p) for the p pairs of a person's different records and the classes that cover them.
    """
    found = [_densest(some, publication.sizes, people) for some in _covered(known, publication, owner, people)]
    persons, owners, inside, best = (np.concatenate(part) for part in zip(*found, strict=True))
    rows = np.bincount(persons, publication.sizes[owners], minlength=people).astype(np.int64)
    sure = inside.reshape(-1, people).sum(axis=0)
    chance = np.minimum(best.reshape(-1, people).sum(axis=0), 1.0)
    return LikeliestRows(persons, owners, rows, (rows > 0) & (sure >= rows), chance)


def held_rows(
    found: LikeliestRows,
    publication: PublishedClasses,
    keys: NDArray[np.int64],
    victims: Victims,
    own: Sequence[RegisterAttribute],
) -> NDArray[np.bool_]:
    """Tell which own records are among the rows that an attacker picks one of, for scoring.

    Parameters
    ----------
    found
        The classes of these rows.
    publication
        All classes, with the keys of their rows as values, read against the own records.
    keys
        int64 (o,): key of each own record, −1 if no row has it.
    victims
        Whose records they are.
    own
        The values of the own records.

    Returns
    -------
    numpy.ndarray
        bool (o,): one of the classes covers the record, and has a row with its key that is no other record's.
    """
    record, place = joined(victims.own.person, found.person, victims.people)
    told = np.column_stack([one.codes for one in own])
    covered = np.zeros(len(keys), dtype=np.bool_)
    covered[record[fits(publication, told[record], found.owner[place])]] = True
    covered &= keys >= 0
    width = len(publication.values)
    asked = victims.own.person * width + np.maximum(keys, 0)
    pairs, pair_of = np.unique(asked[covered], return_inverse=True)
    pair, place = joined(pairs // width, found.person, victims.people)
    counts = _count_of(publication, found.owner[place], pairs[pair] % width)
    there = np.bincount(pair, counts, minlength=len(pairs))
    held = np.zeros(len(keys), dtype=np.bool_)
    held[covered] = rank_within(pair_of, np.zeros(len(pair_of))) < there[pair_of]
    return held


def joined(
    owner: NDArray[np.int64], person: NDArray[np.int64], people: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pair the places of owners with those of entries of the same person; `person` of each entry rises."""
    starts = np.searchsorted(person, np.arange(people + 1))
    lengths = (starts[1:] - starts[:-1])[owner]
    left = np.repeat(np.arange(len(owner)), lengths)
    skipped = np.repeat(starts[owner] - (np.cumsum(lengths) - lengths), lengths)
    return left, skipped + np.arange(len(left))


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
    told = np.column_stack([each.codes for each in known])
    vector_of, count = group_records(told + 1)
    vectors = np.ascontiguousarray(told[first_records(vector_of, count)])
    coverage = coverage_of(publication, known)
    table = covering_classes(coverage)
    classes = fitting_weight(vectors, coverage, table, np.ones(len(publication.sizes)))
    cells, times = np.unique(owner * count + vector_of, return_counts=True)
    person, vector = cells // count, cells % count
    pairs = np.cumsum(np.bincount(person, classes[vector], minlength=people))
    block_of = (pairs // MOST_PAIRS).astype(np.int64)[person]
    for block in np.unique(block_of):
        some = np.flatnonzero(block_of == block)
        wanted, place = np.unique(vector[some], return_inverse=True)
        fitting, owners = fitting_pairs(np.ascontiguousarray(vectors[wanted]), coverage, table)
        record, entry = joined(place, fitting, len(wanted))
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


def _count_of(publication: PublishedClasses, owner: NDArray[np.int64], value: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many rows of a class have a value, for each pair of the two."""
    width = len(publication.values)
    class_of = np.repeat(np.arange(len(publication.sizes)), np.diff(publication.starts))
    cells = class_of * width + publication.value_of
    order = np.argsort(cells)
    place = np.minimum(np.searchsorted(cells[order], owner * width + value), len(cells) - 1)
    found = order[place]
    return np.where(cells[found] == owner * width + value, publication.counts[found], 0)
