"""Nearest linkage: if no record fits exactly, take the nearest one (Domingo-Ferrer and Torra, 2003).

Letters: c classes, d attributes with points, s attributes with labels, b blocks of nearby classes, which a search for
the nearest class can skip.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.attacks.linkage import (
    RECORDS,
    LinkReading,
    Links,
    as_many_known,
    count_outsiders,
    distinct_vectors,
    known_attributes,
    known_problems,
    pair_keys,
    read_links,
    score_links,
    side_by_side,
)
from sfumato.evaluation.attacks.people import Victims, key_of, rank_within, unchanged_columns, victims_of
from sfumato.evaluation.attacks.placement import PublishedClasses, RegisterAttribute, join_entries
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.kernels.grouping import first_records
from sfumato.kernels.linking import Blocks, LabelCodes, nearest_classes
from sfumato.options import Checked
from sfumato.parallel import each
from sfumato.recoding.choice import Recoding
from sfumato.recoding.parsing import midpoints
from sfumato.table.row_order import content_hash
from sfumato.table.schema import is_measured, text_of


@dataclass(frozen=True)
class NearestLinkage(Checked):
    """Distance-based record linkage.

    Parameters
    ----------
    known
        As for :class:`~sfumato.evaluation.attacks.linkage.Linkage`.

    Raises
    ------
    PolicyError
        When it is not a value that is allowed there.

    References
    ----------
    J. Domingo-Ferrer, V. Torra, "Disclosure risk assessment in statistical microdata protection via advanced record
    linkage", Statistics and Computing 13, 2003.

    Notes
    -----
    *Distance*: the sum over attributes of a number between 0 and 1. Numbers and dates: difference from the published
    value, mean or middle of the interval, divided by the range of the published values. Others: 1 if the label does not
    cover the person's value; if it does, 1 − 1 ÷ values that it covers. An unknown value of a person counts 0, a
    published missing one 1.

    *Departure.* The papers standardize numbers by their deviation and take Euclidean distances; sums of normalized
    differences go together with categories.

    *People with several records.* Where all rows of a person lie in one class, the distances of the known records, at
    most sixteen, are added up. Elsewhere the attacker takes the known record that is nearest to a published one.

    Exact: no approximation is made. Ties are shared. Cost O(m · c · q) at most for m distinct people and c distinct
    published records.
    """

    name: ClassVar[str] = "nearest-linkage"
    kinds: ClassVar[frozenset[str]] = frozenset(RECORDS)
    needs: ClassVar[tuple[str, ...]] = ()

    known: int | tuple[str, ...] | None = None

    def _mistakes(self) -> Iterable[str]:
        return known_problems(self.name, self.known)

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it on everybody in the data, or in the register."""
        published = RECORDS[target.published.kind](target.published)
        victims = victims_of(target, published)
        names = known_attributes(self.name, self.known, target, published, victims)
        keys = key_of(published, unchanged_columns(published, target))
        together = target.rows.together
        links = nearest_links(published, victims, names, keys, target.recoding, target.threads, together=together)
        figures = count_outsiders(links, victims) if target.register is not None else {}
        return score_links(target, links, victims, names, attack=self.name, fit="is nearest", figures=figures)


_LARGEST = 96
"""Most classes of a block."""


_MOST_LABELS = 8
"""Most labels of a block that are used for a bound."""


def _blocks_of(points: NDArray[np.float64], labels: NDArray[np.int32]) -> tuple[NDArray[np.int64], Blocks]:
    """Put classes, `points` float64 (c, d), `labels` int32 (c, s), into blocks by medians; O((d + s) · c · log² c)."""
    order, starts = _halved(points, labels)
    points, labels = points[order], labels[order]
    finite = np.isfinite(points)
    firsts = starts[:-1]
    held, held_labels = _held(labels, starts)
    return order, Blocks(
        starts,
        np.ascontiguousarray(points.T),
        np.ascontiguousarray(labels.T),
        # A value that is far from every other is at the greatest distance in any case.
        np.minimum.reduceat(np.where(finite, points, np.inf), firsts, axis=0),
        np.maximum.reduceat(np.where(finite, points, -np.inf), firsts, axis=0),
        ~np.logical_or.reduceat(finite, firsts, axis=0),
        held,
        held_labels,
    )


def _halved(points: NDArray[np.float64], labels: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    columns = [*np.nan_to_num(points, posinf=2.0).T, *labels.T]
    waiting, done = [np.arange(len(points))], []
    while waiting:
        rows = waiting.pop()
        if len(rows) <= _LARGEST:
            done.append(rows)
            continue
        kinds = [place < points.shape[1] for place in range(len(columns))]
        halves = [_halves(column[rows], measured) for column, measured in zip(columns, kinds, strict=True)]
        order = max(halves, key=lambda half: half[0])[1]
        middle = len(rows) // 2
        waiting += [rows[order[middle:]], rows[order[:middle]]]
    starts = np.cumsum([0, *(len(rows) for rows in done)]).astype(np.int64)
    return np.concatenate(done), starts


def _halves(values: NDArray[np.generic], measured: bool) -> tuple[float, NDArray[np.int64]]:
    """Return how much nearer to each other values are after halving, and the order for it."""
    order = np.argsort(values, kind="stable")
    middle = len(order) // 2
    inside = [_spread(values[part], measured) for part in (order[:middle], order[middle:])]
    return _spread(values, measured) - (inside[0] + inside[1]) / 2, order


def _spread(values: NDArray[np.generic], measured: bool) -> float:
    if measured:
        return float(np.std(values.astype(np.float64)))
    shares = np.unique(values, return_counts=True)[1] / len(values)
    return float(1 - (shares**2).sum())


def _held(labels: NDArray[np.int32], starts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    lists = []
    for start, stop in pairwise(starts.tolist()):
        for column in labels[start:stop].T:
            different = np.unique(column)
            lists.append(different if len(different) <= _MOST_LABELS else different[:0])
    held = np.cumsum([0, *(len(one) for one in lists)]).astype(np.int64)
    return held, np.concatenate([*lists, np.zeros(0, dtype=np.int32)]).astype(np.int32)


PEOPLE = 512
"""Most people whose nearest records one thread finds at a time."""


_MOST_RECORDS = 16
"""Most records of one person whose distances are added up."""


def nearest_links(
    published: pl.DataFrame,
    victims: Victims,
    names: Sequence[str],
    keys: pl.Series,
    recoding: Recoding,
    threads: int,
    *,
    together: bool = False,
) -> Links:
    """Count the records that are nearest to each person; parameters are those of `exact_links` in `links`.

    If all rows of a person lie in one class, the distances of the known records are added up. Else the attacker takes
    the record of a person that is nearest to a published one; the others are not used.
    """
    reading = read_links(published, victims, names, keys, recoding)
    if not together and not victims.alone:
        return _nearest_of_records(published, victims, reading, threads)
    some = _so_many(reading.known, victims.owner)
    codes_of_some = [replace(one, codes=one.codes[some]) for one in reading.known]
    known, publication = side_by_side(codes_of_some, reading.publication, victims.owner[some], victims.people)
    asked = pair_keys(victims, reading.own)
    candidates, alike, distances = _nearest(published, known, publication, asked.person, asked.key, threads)
    found = candidates[asked.first]
    links = reading.links(victims, found, asked.held(alike), as_many_known(found, victims))
    return replace(links, distances=distances[asked.first])


def _so_many(known: Sequence[RegisterAttribute], owner: NDArray[np.int64]) -> NDArray[np.int64]:
    """Choose at most `RECORDS` known records of each person."""
    hashes = content_hash(np.column_stack([one.codes.astype(np.int64) + 1 for one in known]).astype(np.uint64))
    return np.flatnonzero(rank_within(owner, hashes) < _MOST_RECORDS)


def _nearest_of_records(published: pl.DataFrame, victims: Victims, reading: LinkReading, threads: int) -> Links:
    """Take for each person the known record that is nearest to a published one, among these with fewest candidates."""
    # One of the candidates is theirs if it agrees with any record of theirs.
    asked, count = pair_keys(victims, reading.own), len(victims.owner)
    record, entry = join_entries(victims.owner, asked.person, victims.people)
    candidates, alike, distances = _nearest(
        published, reading.known, reading.publication, record, asked.key[entry], threads
    )
    first = np.searchsorted(record, np.arange(count))
    candidates, distances = candidates[first], distances[first]
    agrees = np.bincount(record, alike > 0, minlength=count) > 0
    order = np.lexsort((candidates, distances, victims.owner))
    best = order[np.searchsorted(victims.owner[order], np.arange(victims.people))]
    held = np.zeros(len(reading.own), dtype=np.bool_)
    people, first_own = np.unique(victims.own.person, return_index=True)
    held[first_own] = agrees[best[people]]
    links = reading.links(victims, candidates[best], held, candidates[best] == 1)
    return replace(links, expected=np.minimum(links.expected, 1.0), distances=distances[best])


def _nearest(
    published: pl.DataFrame,
    known: Sequence[RegisterAttribute],
    publication: PublishedClasses,
    place: NDArray[np.int64],
    key: NDArray[np.int64],
    threads: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return for some places in what is known the nearest records, those with a key, and the distance."""
    vectors, vector_of = distinct_vectors([one.codes[place] for one in known], key)
    search = _search(publication, known, published, vectors)
    nobody = np.zeros((0, 1), dtype=np.int64)

    def found(start: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        some = slice(start, start + PEOPLE)
        return nearest_classes(
            search.people[some], search.codes[some], vectors[some, -1].copy(), *search.classes, nobody
        )

    parts = each(found, range(0, len(vectors), PEOPLE), threads)
    candidates, alike, distances = (np.concatenate(arrays)[vector_of] for arrays in zip(*parts, strict=True))
    return candidates, alike, distances


def nearest_values(
    publication: PublishedClasses, known: Sequence[RegisterAttribute], published: pl.DataFrame
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the values of the records that are nearest to each of m people, and these records."""
    vectors, vector_of = distinct_vectors([one.codes for one in known], np.full(len(known[0].codes), -1))
    search = _search(publication, known, published, vectors)
    tallies = np.zeros((len(vectors), len(publication.values)), dtype=np.int64)
    nobody = np.full(len(vectors), -1, dtype=np.int64)
    candidates, _, _ = nearest_classes(search.people, search.codes, nobody, *search.classes, tallies)
    return tallies[vector_of], candidates[vector_of]


@dataclass(frozen=True, eq=False, repr=False)
class _LinkSearch:
    """People and published classes in the form that the kernel reads."""

    people: NDArray[np.float64]
    codes: NDArray[np.int32]
    classes: tuple[LabelCodes, Blocks, NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]


def _search(
    publication: PublishedClasses,
    known: Sequence[RegisterAttribute],
    published: pl.DataFrame,
    vectors: NDArray[np.int64],
) -> _LinkSearch:
    measured = [place for place, one in enumerate(known) if _is_point(one)]
    others = [place for place in range(len(known)) if place not in measured]
    points, people = _points(publication, known, measured, published, vectors)
    codes = np.ascontiguousarray(vectors[:, others]).astype(np.int32)
    order, blocks = _blocks_of(points, publication.label_of[:, others])
    labels = LabelCodes(
        _label_bounds(publication)[others], publication.runs, publication.low, publication.high, _inside(publication)
    )
    return _LinkSearch(people, codes, (labels, blocks, *_ordered(publication, order)))


def _is_point(known: RegisterAttribute) -> bool:
    """Tell whether an attribute's values lie on a line: numbers and dates, under a hierarchy as well."""
    return is_measured(known.attribute.kind)


def _points(
    publication: PublishedClasses,
    known: Sequence[RegisterAttribute],
    places: Sequence[int],
    published: pl.DataFrame,
    vectors: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the points of classes and of people, each attribute divided by the width of its published values."""
    classes = np.empty((len(publication.sizes), len(places)))
    people = np.empty((len(vectors), len(places)))
    firsts = first_records(publication.class_of, len(publication.sizes))
    for axis, place in enumerate(places):
        attribute = known[place].attribute
        values = midpoints(text_of(attribute.labels), attribute.kind)
        labels = text_of(published[attribute.name].gather(firsts))
        middles = midpoints(labels, attribute.kind)
        middles = _node_middles(publication, publication.label_of[:, place], values, middles)
        width = _width(middles)
        classes[:, axis] = np.where(np.isnan(middles), np.inf, middles / width)
        people[:, axis] = np.append(values, np.nan)[vectors[:, place]] / width
    return classes, people


def _width(middles: NDArray[np.float64]) -> float:
    finite = middles[np.isfinite(middles)]
    width = float(np.ptp(finite)) if len(finite) else 0.0
    return width if width > 0 else 1.0


def _node_middles(
    publication: PublishedClasses,
    label_of: NDArray[np.int32],
    values: NDArray[np.float64],
    middles: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the middle of the values under each class's label, if the label is not of numbers itself."""
    covered = publication.runs[label_of + 1] > publication.runs[label_of]
    if not covered.any() or not len(values):
        return middles
    run = np.minimum(publication.runs[label_of], len(publication.low) - 1)
    # The missing value comes after all others, and has no middle.
    covered &= publication.low[run] < len(values)
    low = values[np.minimum(publication.low[run], len(values) - 1)]
    high = values[np.minimum(publication.high[run], len(values) - 1)]
    return np.where(np.isnan(middles) & covered, (low + high) / 2, middles)


def _label_bounds(publication: PublishedClasses) -> NDArray[np.int64]:
    """Return the lowest label of each attribute that a class has, and one above the highest, int64 (q, 2)."""
    lowest, highest = publication.label_of.min(axis=0), publication.label_of.max(axis=0)
    return np.column_stack([lowest, highest + 1]).astype(np.int64)


def _inside(publication: PublishedClasses) -> NDArray[np.float64]:
    """Return the distance of each label from a code that it covers: 1 − 1 ÷ codes covered."""
    widths = np.concatenate([[0], np.cumsum(publication.high.astype(np.int64) - publication.low + 1)])
    covered = widths[publication.runs[1:]] - widths[publication.runs[:-1]]
    inside: NDArray[np.float64] = 1 - 1 / np.maximum(covered, 1)
    return inside


def _ordered(
    publication: PublishedClasses, order: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Return sizes and compressed rows of keys with the classes in another order."""
    lengths = np.diff(publication.starts)[order]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    entries = np.repeat(publication.starts[:-1][order] - starts[:-1], lengths) + np.arange(starts[-1])
    return publication.sizes[order], starts, publication.value_of[entries], publication.counts[entries]
