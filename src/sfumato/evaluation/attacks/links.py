"""Records that fit people exactly, and records that are nearest to them: counts, and how many may be theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.grouping import group_records
from sfumato.evaluation.attacks.coverage import coverage_of
from sfumato.evaluation.attacks.near_blocks import blocks_of
from sfumato.evaluation.attacks.publication import PublishedClasses, read_publication
from sfumato.evaluation.attacks.register import RegisterAttribute, read_register
from sfumato.evaluation.attacks.victims import KEY, Victims
from sfumato.kernels.grouping import first_records
from sfumato.kernels.linking.linkage import ClassValues, count_own, covering_classes
from sfumato.kernels.linking.nearest_classes import Blocks, Labels, nearest_classes
from sfumato.parallel import each
from sfumato.recoding.choice import Recoding
from sfumato.recoding.parsing import midpoints
from sfumato.table.exact_names import columns_of
from sfumato.table.kinds import is_measured, text_of

PEOPLE = 512
"""Most people whose nearest records one thread finds at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class Links:
    """What m people link to.

    Attributes
    ----------
    candidates : numpy.ndarray
        int64 (m,): published records that fit, or that are nearest.
    own : numpy.ndarray
        int64 (m,): those of them that agree with the person's record on everything that linking does not use.
    prior : numpy.ndarray
        float64 (m,): share of all published records that agree with it in this way.
    records : int
        Published records.
    distances : numpy.ndarray or None
        float64 (m,): how far the nearest records are, if these were wanted.
    """

    candidates: NDArray[np.int64]
    own: NDArray[np.int64]
    prior: NDArray[np.float64]
    records: int
    distances: NDArray[np.float64] | None = None


def exact_links(
    published: pl.DataFrame, victims: Victims, names: Sequence[str], keys: pl.Series, recoding: Recoding
) -> Links:
    """Count the records whose every value covers the person's.

    Parameters
    ----------
    published
        n records with the columns `names`.
    victims
    names
        What the attacker knows of each person.
    keys
        String (n,): as :func:`sfumato.evaluation.attacks.victims.key_of` makes them of the published records.
    recoding
        How the table was published.
    """
    known, publication, own = _read(published, victims, names, keys, recoding)
    vectors, vector_of = _distinct([one.codes for one in known], own)
    coverage = coverage_of(publication, known)
    candidates, alike = count_own(
        np.ascontiguousarray(vectors[:, :-1]).astype(np.int32),
        coverage,
        covering_classes(coverage),
        publication.sizes,
        ClassValues(publication.starts, publication.value_of, publication.counts),
        vectors[:, -1].astype(np.int64),
    )
    return _links(candidates[vector_of], alike[vector_of], own, publication)


def nearest_links(
    published: pl.DataFrame,
    victims: Victims,
    names: Sequence[str],
    keys: pl.Series,
    recoding: Recoding,
    threads: int,
) -> Links:
    """Count the records that are nearest to each person; parameters are those of :func:`exact_links`."""
    known, publication, own = _read(published, victims, names, keys, recoding)
    vectors, vector_of = _distinct([one.codes for one in known], own)
    search = _search(publication, known, published, vectors)
    nobody = np.zeros((0, 1), dtype=np.int64)

    def found(start: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        some = slice(start, start + PEOPLE)
        return nearest_classes(
            search.people[some], search.codes[some], vectors[some, -1].copy(), *search.classes, nobody
        )

    parts = each(found, range(0, len(vectors), PEOPLE), threads)
    candidates, alike, distances = (np.concatenate(told)[vector_of] for told in zip(*parts, strict=True))
    return replace(_links(candidates, alike, own, publication), distances=distances)


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
    vectors, vector_of = _distinct([one.codes for one in known], np.full(len(known[0].codes), -1))
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


def _read(
    published: pl.DataFrame, victims: Victims, names: Sequence[str], keys: pl.Series, recoding: Recoding
) -> tuple[list[RegisterAttribute], PublishedClasses, NDArray[np.int64]]:
    """Return what is known of people, the published classes, and the code of each person's own key."""
    known = read_register(victims.frame, victims.schema, names)
    publication = read_publication(columns_of(published, names).with_columns(keys.alias(KEY)), KEY, known, recoding)
    code_of = {value: code for code, value in enumerate(publication.values) if value is not None}
    own = np.array([-1 if key is None else code_of.get(key, -1) for key in victims.keys.to_list()], dtype=np.int64)
    return known, publication, own


def _distinct(
    codes: Sequence[NDArray[np.int32]], own: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the distinct vectors of codes with the own key last, and which of them each person has."""
    told = np.column_stack([*codes, own]).astype(np.int64)
    vector_of, count = group_records((told + 1).astype(np.uint32))
    return told[first_records(vector_of, count)], vector_of


def _links(
    candidates: NDArray[np.int64], own: NDArray[np.int64], code: NDArray[np.int64], publication: PublishedClasses
) -> Links:
    shares = np.append(publication.totals / max(1, publication.records), 0.0)
    return Links(candidates, own, shares[code], publication.records)


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
