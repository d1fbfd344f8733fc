"""Which class a record is likeliest in, where several fit: the one that covers least besides.

A class whose labels cover few values has its records close together, so that a person with such values is more likely
to be one of them than one of a class that covers almost everything.

Letters: m people, n published records, c classes, q attributes, v distinct vectors of known values, p pairs of a
distinct vector and a class that covers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.grouping import group_records
from sfumato.evaluation.attacks.adding import added
from sfumato.evaluation.attacks.coverage import coverage_of
from sfumato.evaluation.attacks.links import Reading
from sfumato.evaluation.attacks.options import SURE
from sfumato.evaluation.attacks.publication import PublishedClasses
from sfumato.evaluation.attacks.register import RegisterAttribute
from sfumato.evaluation.attacks.scattered_rows import joined
from sfumato.kernels.grouping import first_records
from sfumato.kernels.linking.linkage import UNKNOWN, covering_classes, fitting_pairs, fitting_weight

MOST_PAIRS = 1 << 23
"""Most pairs of a distinct vector and a class that are held."""

_ROUNDS = 500


@dataclass(frozen=True, eq=False, repr=False)
class Pairs:
    """All pairs of a distinct vector of values and a class that covers it.

    Attributes
    ----------
    vector_of : numpy.ndarray
        int32 (m,): the vector of each person.
    told : numpy.ndarray
        int32 (v, q): codes, `UNKNOWN` where nothing is known.
    vector, owner : numpy.ndarray
        int64 (p,), sorted: the vector and the class of each pair.
    """

    vector_of: NDArray[np.int32]
    told: NDArray[np.int32]
    vector: NDArray[np.int64]
    owner: NDArray[np.int64]


def pairs_of(publication: PublishedClasses, known: Sequence[RegisterAttribute]) -> Pairs | None:
    """List the pairs, or return None if there are more than `MOST_PAIRS`; cost O(v · c / 64 · q + p)."""
    told = np.column_stack([one.codes for one in known])
    vector_of, count = group_records(told + 1)
    vectors = np.ascontiguousarray(told[first_records(vector_of, count)])
    coverage = coverage_of(publication, known)
    table = covering_classes(coverage)
    if fitting_weight(vectors, coverage, table, np.ones(len(publication.sizes))).sum() > MOST_PAIRS:
        return None
    vector, owner = fitting_pairs(vectors, coverage, table)
    return Pairs(vector_of, vectors, vector, owner)


def densest(publication: PublishedClasses, pairs: Pairs) -> NDArray[np.bool_]:
    """Tell which of the classes that cover a vector have the smallest volume; bool (p,), several where they are equal.

    The volume is the number of different vectors of the register's values that the labels would cover, over the
    attributes that are known of the vector. ``*`` covers one value more, for all that the register does not have.
    """
    covered = np.concatenate([[0], np.cumsum(publication.high - publication.low + 1)])
    values = covered[publication.runs[1:]] - covered[publication.runs[:-1]]
    volume = np.zeros(len(pairs.vector))
    for label, codes in zip(publication.label_of.T, pairs.told.T, strict=True):
        volume += np.where(codes[pairs.vector] == UNKNOWN, 0.0, np.log(np.maximum(values[label[pairs.owner]], 0.5)))
    least = np.full(len(pairs.told), np.inf)
    np.minimum.at(least, pairs.vector, volume)
    found: NDArray[np.bool_] = volume <= least[pairs.vector] + SURE
    return found


@dataclass(frozen=True, eq=False, repr=False)
class Whereabouts:
    """How likely each original record is in each class, as far as what is published determines it.

    Attributes
    ----------
    sort_of : numpy.ndarray
        int64 (records,): records with one vector and one key are of one sort.
    sort, owner : numpy.ndarray
        int64, sorted: all pairs of a sort and a class that may hold it.
    chance : numpy.ndarray
        float64: chance that a record of the sort is in the class.
    """

    sort_of: NDArray[np.int64]
    sort: NDArray[np.int64]
    owner: NDArray[np.int64]
    chance: NDArray[np.float64]


def whereabouts(reading: Reading, pairs: Pairs) -> Whereabouts:
    """Spread original records over the classes that fit them; for scoring alone.

    Parameters
    ----------
    reading
        The release, read against all original records, with the keys of these.
    pairs
        Of these records.

    Notes
    -----
    Published and original records are never matched one to one. Where several classes fit a record, its chances are
    those of the most even spread that agrees with everything published: each record is somewhere, and each class has
    as many records of a key as it shows (iterative proportional fitting). Where keys tell records apart, that is the
    truth. Records that were left out are spread, too. Nothing of what the attacker believes enters.

    Cost O(`rounds` · p) for at most 500 rounds.
    """
    publication, width = reading.publication, len(reading.publication.values)
    numbers = pairs.vector_of.astype(np.int64) * (width + 1) + reading.own + 1
    sorts, sort_of, times = np.unique(numbers, return_inverse=True, return_counts=True)
    key = sorts % (width + 1) - 1
    sort, place = joined(sorts // (width + 1), pairs.vector, len(pairs.told))
    owner = pairs.owner[place]
    class_of = np.repeat(np.arange(len(publication.sizes)), np.diff(publication.starts))
    cells = class_of * width + publication.value_of
    order = np.argsort(cells)
    wanted = owner * width + key[sort]
    cell = order[np.minimum(np.searchsorted(cells[order], wanted), len(cells) - 1)]
    there = (cells[cell] == wanted) & (key[sort] >= 0)
    sort, owner, cell = sort[there], owner[there], cell[there]
    asked = np.bincount(np.maximum(key, 0), times * (key >= 0), minlength=width)
    left_out = np.maximum(asked - publication.totals, 0)
    chance = _most_even(sort, cell, times, publication.counts, left_out[np.maximum(key, 0)], key)
    return Whereabouts(sort_of.astype(np.int64), sort, owner, chance)


def _most_even(
    sort: NDArray[np.int64],
    cell: NDArray[np.int64],
    times: NDArray[np.int64],
    counts: NDArray[np.int64],
    left_out: NDArray[np.int64],
    key: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Fit the spread: `times` records of each sort, `counts` records in each cell, `left_out` of each sort's key."""
    chance, missing = np.ones(len(sort)), (left_out > 0).astype(np.float64)
    for _ in range(_ROUNDS):
        all_of = added(sort, chance, len(times)) + missing
        scale = np.divide(1.0, all_of, out=np.zeros(len(all_of)), where=all_of > 0)
        spread, absent = chance * scale[sort], missing * scale
        held = added(cell, spread * times[sort], len(counts))
        gone = added(np.maximum(key, 0), absent * times, int(key.max(initial=0)) + 1)[np.maximum(key, 0)]
        fitted = spread * np.divide(counts, held, out=np.zeros(len(held)), where=held > 0)[cell]
        missing = absent * np.divide(left_out, gone, out=np.zeros(len(gone)), where=gone > 0)
        done = np.abs(fitted - chance).max(initial=0.0) < SURE
        chance = fitted
        if done:
            break
    return np.minimum(chance, 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class Picks:
    """What an attacker picks from who weighs classes by one over their volume.

    Attributes
    ----------
    rows : numpy.ndarray
        int64 (m,): rows of the densest classes.
    own : numpy.ndarray
        float64 (m,): chance that the person's own is among them.
    """

    rows: NDArray[np.int64]
    own: NDArray[np.float64]


def picks_of(reading: Reading, truth: Reading, row_of: NDArray[np.int64]) -> Picks | None:
    """Pick among the records of the densest class that fits each person.

    Parameters
    ----------
    reading
        The release, read against what is known of m people, one record of each.
    truth
        The same, read against all original records.
    row_of
        int64 (m,): the original record of each person, −1 for who has none.

    Returns
    -------
    Picks or None
        None if every class that fits anybody is one of the densest, or if too many classes fit.
    """
    publication = reading.publication
    pairs, original = pairs_of(publication, reading.known), pairs_of(truth.publication, truth.known)
    if pairs is None or original is None:
        return None
    best = densest(publication, pairs)
    if best.all():
        return None
    rows = added(pairs.vector[best], publication.sizes[pairs.owner[best]], len(pairs.told)).astype(np.int64)
    where = whereabouts(truth, original)
    inside = np.flatnonzero(row_of >= 0)
    asked, of_person = np.unique(
        pairs.vector_of[inside] * np.int64(len(where.sort_of) + 1) + where.sort_of[row_of[inside]], return_inverse=True
    )
    vector, sort = asked // (len(where.sort_of) + 1), asked % (len(where.sort_of) + 1)
    one, place = joined(sort, where.sort, int(where.sort_of.max(initial=-1)) + 1)
    classes = len(publication.sizes)
    chosen = pairs.vector[best] * classes + pairs.owner[best]
    hit = np.isin(vector[one] * classes + where.owner[place], chosen)
    own = np.zeros(len(row_of))
    own[inside] = added(one[hit], where.chance[place[hit]], len(asked))[of_person]
    return Picks(rows[pairs.vector_of], np.minimum(own, 1.0))
