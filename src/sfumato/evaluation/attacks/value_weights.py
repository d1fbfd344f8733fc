"""What published records say of a person's sensitive value: a weight of each value, for every kind of release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.generalized import Form
from sfumato.classes.partition import group_records
from sfumato.evaluation.attacks.links import side_by_side, widened
from sfumato.evaluation.attacks.nearest_linkage import nearest_values
from sfumato.evaluation.attacks.original_values import known_names, number_buckets, number_texts, number_vectors_alike
from sfumato.evaluation.attacks.publication import coverage_of, entries_of, forms_of, read_publication, sum_by_code
from sfumato.evaluation.attacks.register import distinct_codes, read_register, register_attributes
from sfumato.kernels.grouping import first_records
from sfumato.kernels.linking.linkage import ClassValues, covering_classes, fitting_weight, tally_candidates
from sfumato.kernels.slices.beliefs import BucketLists, fill_rows, sum_beliefs
from sfumato.published import BucketizedTables, MarginalTables, PublishedTable, SlicedTable
from sfumato.published.bucketized import COUNT
from sfumato.published.sliced import BUCKET, labels_of
from sfumato.recoding.choice import Recoding
from sfumato.table.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class ValueWeights:
    """Weights of sensitive values for each person.

    Letters: m people, v published values.

    `weights`: float64 (m, v), not yet scaled to a sum of 1. `candidates`: float64 (m,): records that fit. `counts`:
    float64 (v,): records of the release that have each value.
    """

    values: tuple[str | None, ...]
    weights: NDArray[np.float64]
    candidates: NDArray[np.float64]
    counts: NDArray[np.float64]


def generalized_weights(
    published: PublishedTable,
    people: Table,
    sensitive: str,
    recoding: Recoding,
    owner: NDArray[np.int64] | None = None,
    count: int = 0,
) -> ValueWeights:
    """Count the sensitive values of the records that fit each person: all their values cover the person's.

    Class means cover nobody: for them, the nearest records are counted.

    `published`, `people`, `sensitive`, `recoding`: The release; what is known of people; the attribute; how it was
    published. `owner`: int64: the person of each of the `people`, if they are records of `count` persons whose rows lie
    together: then those fit whose class covers all records of a person. None: each is another person.
    """
    shared = register_attributes(published.data, people.frame, people.schema)
    known = read_register(people.frame, people.schema, shared)
    publication = read_publication(published.data, sensitive, known, recoding)
    if Form.MEAN in forms_of(known, recoding):
        told, classes = (known, publication) if owner is None else side_by_side(known, publication, owner, count)
        counted, candidates = nearest_values(classes, told, published.data)
        totals = publication.totals.astype(np.float64)
        return ValueWeights(publication.values, counted.astype(np.float64), candidates.astype(np.float64), totals)
    if owner is not None:
        known, publication = widened(known, publication, owner, count)
    vectors, vector_of = distinct_codes(known)
    coverage = coverage_of(publication, known)
    tallies = tally_candidates(
        vectors,
        coverage,
        covering_classes(coverage),
        ClassValues(publication.starts, publication.value_of, publication.counts),
        len(publication.values),
    ).astype(np.float64)[vector_of]
    return ValueWeights(publication.values, tallies, tallies.sum(axis=1), publication.totals.astype(np.float64))


def candidate_sets(published: PublishedTable, people: Table, recoding: Recoding) -> NDArray[np.int64]:
    """Give people whom the same classes fit the same number, from 0; int64 (people,).

    Sets are told apart by sums of random numbers, one for each class.
    """
    shared = register_attributes(published.data, people.frame, people.schema)
    known = read_register(people.frame, people.schema, shared)
    vectors, vector_of = distinct_codes(known)
    if Form.MEAN in forms_of(known, recoding):
        return vector_of.astype(np.int64)
    publication = read_publication(published.data, shared[0], known, recoding)
    coverage = coverage_of(publication, known)
    drawn = np.random.default_rng(0).random(len(publication.sizes))
    sums = fitting_weight(vectors, coverage, covering_classes(coverage), drawn)
    return np.unique(sums, return_inverse=True)[1].astype(np.int64)[vector_of]


def covered_by_one(
    published: PublishedTable, people: Table, owner: NDArray[np.int64], count: int, recoding: Recoding
) -> NDArray[np.bool_]:
    """Tell for which of `count` persons one class covers all of the records, whose `owner` is int64; bool (count,).

    Class means cover nobody, so that they exclude nobody.
    """
    shared = register_attributes(published.data, people.frame, people.schema)
    known = read_register(people.frame, people.schema, shared)
    if not shared or Form.MEAN in forms_of(known, recoding):
        return np.ones(count, dtype=np.bool_)
    known, publication = widened(known, read_publication(published.data, shared[0], known, recoding), owner, count)
    vectors, vector_of = distinct_codes(known)
    coverage = coverage_of(publication, known)
    ones = np.ones(len(publication.sizes))
    covered: NDArray[np.bool_] = fitting_weight(vectors, coverage, covering_classes(coverage), ones)[vector_of] > 0
    return covered


_LONG = 16
"""Lists longer than one in this many buckets are written out for all buckets."""


def sliced_weights(published: SlicedTable, people: Table, sensitive: str, _: Recoding) -> ValueWeights:
    """Weigh the sensitive values of each matching bucket by how well the bucket matches (Li et al. 2012, section 4).

    Cost O(n w log n), and for each distinct vector of known values the buckets that have its rarest part.
    """
    bucket = number_buckets(published.data[BUCKET])[0]
    parts = _parts_of(published, people, sensitive)
    # People are distinguished by their vectors in all columns; equal people get equal answers.
    who_of, count = group_records(np.column_stack([part.held for part in parts]).astype(np.uint32))
    one_of = first_records(who_of, count)
    families, vectors, seen = list[_VectorBuckets](), list[NDArray[np.int64]](), list[NDArray[np.int64]]()
    for part in parts:
        vectors.append(
            part.held[one_of] + _add(families, _VectorBuckets.of(bucket, part.rows, part.held, part.value_of))
        )
        if part.rows_seen is None or part.held_seen is None:
            seen.append(np.full(count, -1))
        else:
            seen.append(
                part.held_seen[one_of] + _add(families, _VectorBuckets.of(bucket, part.rows_seen, part.held_seen))
            )
    holding = [place for place, part in enumerate(parts) if part.values]
    nowhere = np.zeros(len(bucket), dtype=np.int64)
    everything = [
        _add(families, _VectorBuckets.of(bucket, nowhere, nowhere, parts[place].value_of)) if place != holding[0] else 0
        for place in holding
    ]
    values, value_of = parts[holding[0]].values, parts[holding[0]].value_of
    weights, candidates = np.zeros((count, len(values))), np.zeros(count)
    sum_beliefs(
        np.column_stack(vectors),
        np.column_stack(seen),
        _indexed(families, bucket),
        np.array(holding),
        np.array(everything),
        weights,
        candidates,
    )
    counts = sum_by_code(value_of, np.ones(len(value_of)), len(values))
    return ValueWeights(values, weights[who_of], candidates[who_of], counts)


@dataclass(frozen=True, eq=False, repr=False)
class _ColumnEvidence:
    """One column of a sliced table.

    Vectors of its rows and of the people are numbered by all known attributes, and by those of earlier columns, if
    there are any.
    """

    rows: NDArray[np.int64]
    held: NDArray[np.int64]
    rows_seen: NDArray[np.int64] | None
    held_seen: NDArray[np.int64] | None
    values: tuple[str | None, ...]
    value_of: NDArray[np.int64]


def _parts_of(published: SlicedTable, people: Table, sensitive: str) -> list[_ColumnEvidence]:
    parts, seen = [], set[str]()
    for column, labels in zip(published.columns, labels_of(published.columns), strict=True):
        label_of = dict(zip(column, labels, strict=True))
        names = known_names(column, people)
        before = [name for name in names if name in seen]
        rows, held = number_vectors_alike(published.data, [label_of[name] for name in names], people.frame, names)
        rows_seen, held_seen = (
            number_vectors_alike(published.data, [label_of[name] for name in before], people.frame, before)
            if before
            else (None, None)
        )
        values, value_of = (
            number_texts(published.data[label_of[sensitive]]) if sensitive in column else ((), np.zeros_like(rows))
        )
        parts.append(_ColumnEvidence(rows, held, rows_seen, held_seen, values, value_of))
        seen.update(names)
    return parts


class _VectorBuckets(NamedTuple):
    """In which buckets each vector of one column occurs, with which values: compressed rows, see `BucketLists`."""

    starts: NDArray[np.int64]
    buckets: NDArray[np.int64]
    counts: NDArray[np.int64]
    value_starts: NDArray[np.int64]
    values: NDArray[np.int64]
    value_counts: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        bucket: NDArray[np.int64],
        rows: NDArray[np.int64],
        held: NDArray[np.int64],
        value_of: NDArray[np.int64] | None = None,
    ) -> _VectorBuckets:
        """List the vectors of the rows; those that only people hold have an empty list."""
        most, width = int(max(rows.max(initial=0), held.max(initial=0))) + 1, int(bucket.max()) + 1
        cells = rows * width + bucket
        values = 1 if value_of is None else int(value_of.max()) + 1
        keys, value_counts = np.unique(cells * values + (0 if value_of is None else value_of), return_counts=True)
        entries, value_starts = np.unique(keys // values, return_index=True)
        return cls(
            np.searchsorted(entries, np.arange(most + 1) * width),
            entries % width,
            np.add.reduceat(value_counts, value_starts),
            np.append(value_starts, len(keys)),
            keys % values,
            value_counts,
        )


def _add(families: list[_VectorBuckets], lists: _VectorBuckets) -> int:
    """Append the lists of a column to those of others; return the number of the first."""
    before = sum(len(other.starts) - 1 for other in families)
    families.append(lists)
    return before


def _indexed(families: Sequence[_VectorBuckets], bucket: NDArray[np.int64]) -> BucketLists:
    """Concatenate all lists, and write out the long ones."""
    sizes = np.bincount(bucket)
    starts = _joined([each.starts for each in families])
    buckets = np.concatenate([each.buckets for each in families]).astype(np.int32)
    long = _LONG * np.diff(starts) > len(sizes)
    row_of = np.where(long, np.cumsum(long) - 1, -1).astype(np.int32)
    rows = np.full((int(long.sum()), len(sizes)), -1, dtype=np.int32)
    fill_rows(rows, row_of, starts, buckets)
    return BucketLists(
        sizes.astype(np.float64),
        starts,
        buckets,
        np.concatenate([each.counts for each in families]).astype(np.float64),
        rows,
        row_of,
        _joined([each.value_starts for each in families]),
        np.concatenate([each.values for each in families]).astype(np.int32),
        np.concatenate([each.value_counts for each in families]).astype(np.float64),
    )


def _joined(starts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Join the starts of compressed rows as those of the concatenated rows."""
    lengths = np.concatenate([np.diff(each) for each in starts])
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def bucketized_weights(published: BucketizedTables, people: Table, sensitive: str, _: Recoding) -> ValueWeights:
    """Weigh the sensitive counts of the buckets with each person's values by the rows that have them."""
    names = known_names(published.quasi_identifying, people)
    rows, held = number_vectors_alike(published.quasi, names, people.frame, names)
    bucket, counted = number_buckets(published.quasi[BUCKET], published.counts[BUCKET])
    values, value_of = number_texts(published.counts[sensitive])
    records = published.counts[COUNT].cast(pl.Float64).to_numpy()
    sizes = sum_by_code(counted, records, int(counted.max()) + 1)
    entries = _WeightedValues.of(counted, len(sizes), value_of, records / sizes[counted])
    fitting = _Counts.of(bucket, rows)
    person, place = fitting.pairs_of(held)
    weights = entries.spread(fitting.buckets[place], fitting.counts[place], person, people.height, len(values))
    counts = sum_by_code(value_of, records, len(values))
    return ValueWeights(values, weights, weights.sum(axis=1), counts)


def marginal_weights(published: MarginalTables, people: Table, sensitive: str, _: Recoding) -> ValueWeights:
    """Take the records of the marginals with the sensitive attribute that have each person's values."""
    candidates = np.full(people.height, np.inf)
    holding = [place for place, column in enumerate(published.columns) if sensitive in column]
    told = pl.concat([published.marginals[place][sensitive].cast(pl.String) for place in holding])
    values, _codes = number_texts(told)
    code_of = {value: code for code, value in enumerate(values)}
    tables: list[NDArray[np.float64]] = []
    prior = np.zeros(len(values))
    for frame, column in zip(published.marginals, published.columns, strict=True):
        records = frame[COUNT].cast(pl.Float64).to_numpy()
        names = known_names(column, people)
        rows, held = number_vectors_alike(frame, names, people.frame, names)
        here = sum_by_code(rows, records, int(max(held.max(initial=-1), rows.max(initial=-1))) + 1)
        candidates = np.minimum(candidates, here[held])
        if sensitive in column:
            codes = np.array([code_of[text] for text in frame[sensitive].cast(pl.String).to_list()], dtype=np.int64)
            lists = _WeightedValues.of(rows, len(here), codes, records)
            everyone = np.arange(people.height)
            tables.append(lists.spread(held, np.ones(people.height), everyone, people.height, len(values)))
            prior = sum_by_code(codes, records, len(values))
    weights = tables[0]
    for table in tables[1:]:
        # Independent given the sensitive value: each further marginal brings its likelihood.
        weights = weights * table / np.where(prior > 0, prior, 1)
    return ValueWeights(values, weights * (candidates > 0)[:, None], candidates, prior)


@dataclass(frozen=True, eq=False, repr=False)
class _WeightedValues:
    """Values with weights for each of several owners (compressed rows)."""

    starts: NDArray[np.int64]
    value_of: NDArray[np.int64]
    weights: NDArray[np.float64]

    @classmethod
    def of(
        cls, owner: NDArray[np.integer], count: int, value_of: NDArray[np.int64], weights: NDArray[np.float64]
    ) -> _WeightedValues:
        order = np.argsort(owner, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=count))]).astype(np.int64)
        return cls(starts, value_of[order], weights[order])

    def spread(
        self,
        owner: NDArray[np.integer],
        weight: NDArray[np.float64],
        person: NDArray[np.integer],
        people: int,
        values: int,
    ) -> NDArray[np.float64]:
        """Add up the lists of each person's owners, weighted: float64 (people, values)."""
        asked, place = entries_of(self.starts, owner)
        cells = person[asked] * values + self.value_of[place]
        return sum_by_code(cells, weight[asked] * self.weights[place], people * values).reshape(people, values)


@dataclass(frozen=True, eq=False, repr=False)
class _Counts:
    """How many rows of each bucket have each vector: sorted by vector, then by bucket."""

    vectors: NDArray[np.int64]
    buckets: NDArray[np.int64]
    counts: NDArray[np.float64]
    starts: NDArray[np.int64]
    keys: NDArray[np.int64]
    width: int

    @classmethod
    def of(cls, bucket: NDArray[np.int64], vector: NDArray[np.int64]) -> _Counts:
        width = int(bucket.max()) + 1
        keys, counts = np.unique(vector * width + bucket, return_counts=True)
        vectors = keys // width
        starts = np.concatenate([[0], np.cumsum(np.bincount(vectors))]).astype(np.int64)
        return cls(vectors, keys % width, counts.astype(np.float64), starts, keys, width)

    def pairs_of(self, held: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return all pairs of a person and an entry with the person's vector."""
        known = np.flatnonzero(held < len(self.starts) - 1)
        asked, place = entries_of(self.starts, held[known])
        return known[asked], place
