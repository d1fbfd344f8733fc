"""Records that are nearest to people: how many, and how many of them may be theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.attacks.known_records import rank_within
from sfumato.evaluation.attacks.links import Links, Reading, as_many_known, asked_of, distinct_vectors, read_links
from sfumato.evaluation.attacks.near_blocks import blocks_of
from sfumato.evaluation.attacks.publication import PublishedClasses
from sfumato.evaluation.attacks.register import RegisterAttribute
from sfumato.evaluation.attacks.scattered_rows import joined
from sfumato.evaluation.attacks.victims import Victims
from sfumato.evaluation.attacks.widening import side_by_side
from sfumato.kernels.grouping import first_records
from sfumato.kernels.linking.nearest_classes import Blocks, Labels, nearest_classes
from sfumato.parallel import each
from sfumato.recoding.choice import Recoding
from sfumato.recoding.parsing import midpoints
from sfumato.table.kinds import is_measured, text_of
from sfumato.table.row_order import content_hash

PEOPLE = 512
"""Most people whose nearest records one thread finds at a time."""

RECORDS = 16
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
    """Count the records that are nearest to each person; parameters are those of :func:`exact_links`.

    If all rows of a person lie in one class, the distances of the known records are added up. Else the attacker takes
    the record of a person that is nearest to a published one; the others are not used.
    """
    reading = read_links(published, victims, names, keys, recoding)
    if not together and not victims.alone:
        return _nearest_of_records(published, victims, reading, threads)
    some = _so_many(reading.known, victims.owner)
    told = [replace(one, codes=one.codes[some]) for one in reading.known]
    known, publication = side_by_side(told, reading.publication, victims.owner[some], victims.people)
    asked = asked_of(victims, reading.own)
    candidates, alike, distances = _nearest(published, known, publication, asked.person, asked.key, threads)
    found = candidates[asked.first]
    links = reading.links(victims, found, asked.held(alike), as_many_known(found, victims))
    return replace(links, distances=distances[asked.first])


def _so_many(known: Sequence[RegisterAttribute], owner: NDArray[np.int64]) -> NDArray[np.int64]:
    """Choose at most `RECORDS` known records of each person."""
    hashes = content_hash(np.column_stack([one.codes.astype(np.int64) + 1 for one in known]).astype(np.uint64))
    return np.flatnonzero(rank_within(owner, hashes) < RECORDS)


def _nearest_of_records(published: pl.DataFrame, victims: Victims, reading: Reading, threads: int) -> Links:
    """Take for each person the known record that is nearest to a published one, among these with fewest candidates.

    One of the candidates is theirs if it agrees with any record of theirs.
    """
    asked, count = asked_of(victims, reading.own), len(victims.owner)
    record, entry = joined(victims.owner, asked.person, victims.people)
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
    candidates, alike, distances = (np.concatenate(told)[vector_of] for told in zip(*parts, strict=True))
    return candidates, alike, distances


def nearest_values(
    publication: PublishedClasses, known: Sequence[RegisterAttribute], published: pl.DataFrame
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the values of the records that are nearest to each person.

    Parameters
    ----------
    publication
        With the v values that are counted.
    known
        What is known of m people.
    published
        The records that `publication` was read from.

    Returns
    -------
    tallies : numpy.ndarray
        int64 (m, v).
    candidates : numpy.ndarray
        int64 (m,).
    """
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
    classes: tuple[Labels, Blocks, NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]


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
    order, blocks = blocks_of(points, publication.label_of[:, others])
    labels = Labels(
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
