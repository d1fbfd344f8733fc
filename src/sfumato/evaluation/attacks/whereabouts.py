"""Which class each original record is in, as far as what is published determines it; for scoring alone.

Letters: m people, n published records, c classes, q attributes, v distinct vectors of known values, p pairs of a
distinct vector and a class that covers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.grouping import group_records
from sfumato.evaluation.attacks.adding import added
from sfumato.evaluation.attacks.coverage import coverage_of
from sfumato.evaluation.attacks.links import Reading, read_links
from sfumato.evaluation.attacks.options import SURE
from sfumato.evaluation.attacks.protocol import Target
from sfumato.evaluation.attacks.publication import PublishedClasses
from sfumato.evaluation.attacks.register import RegisterAttribute
from sfumato.evaluation.attacks.scattered_rows import joined
from sfumato.evaluation.attacks.victims import OwnRecords, Victims, key_columns, key_of
from sfumato.kernels.grouping import first_records
from sfumato.kernels.linking.linkage import covering_classes, fitting_pairs, fitting_weight

MOST_PAIRS = 1 << 22
"""Most pairs of a distinct vector and a class that are held."""

_ROUNDS, _FEWEST_ROUNDS = 500, 20
_STEPS = 1 << 27
"""Pairs times rounds of fitting, about."""


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

    def chance_in(
        self, row_of: NDArray[np.int64], person: NDArray[np.int64], owner: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the chance that each person's record is in one of the classes that are named for them.

        Parameters
        ----------
        row_of
            int64 (m,): the original record of each person, −1 for who has none.
        person, owner
            int64: all pairs of a person and a class that is named, each once.

        Returns
        -------
        numpy.ndarray
            float64 (m,).
        """
        width = int(max(owner.max(initial=0), self.owner.max(initial=0))) + 1
        there = row_of[person] >= 0
        sort, person, owner = self.sort_of[row_of[person[there]]], person[there], owner[there]
        spread = self.sort * width + self.owner
        place = np.minimum(np.searchsorted(spread, sort * width + owner), max(0, len(spread) - 1))
        if not len(spread):
            return np.zeros(len(row_of))
        hit = spread[place] == sort * width + owner
        return np.minimum(added(person[hit], self.chance[place[hit]], len(row_of)), 1.0)


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

    Cost O(p) for each of at most 500 rounds, fewer where pairs are many. Each ends with as many records in each class
    as it shows.
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
    # A key that no class shows is nowhere, and not among those of the first key who were left out.
    missing = np.where(key >= 0, left_out[np.maximum(key, 0)], 0)
    chance = _most_even(sort, cell, times, publication.counts, missing, key)
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
    for _ in range(min(_ROUNDS, max(_FEWEST_ROUNDS, _STEPS // max(1, len(sort))))):
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


def read_truth(target: Target, published: pl.DataFrame, victims: Victims, names: Sequence[str]) -> Reading:
    """Read a release against all original records with their true values; the classes are those of `names`."""
    original, every = target.original.frame, np.arange(target.original.height)
    columns = key_columns(published, target)
    everybody = Victims(original, victims.schema, every, OwnRecords(original, every, key_of(original, columns)))
    return read_links(published, everybody, names, key_of(published, columns), target.recoding)


def rows_of(victims: Victims) -> NDArray[np.int64]:
    """Return the original record of each person who has one, −1 for others; int64 (m,)."""
    own = victims.own
    row_of = np.full(victims.people, -1, dtype=np.int64)
    row_of[own.person] = np.arange(len(own.person)) if own.rows is None else own.rows
    return row_of
