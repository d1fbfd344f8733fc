"""The sensitive values of the buckets and marginals that hold a person's original values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.attacks.tallies import Tallies, comparable, numbered, summed
from sfumato.classes.grouping import group_records
from sfumato.published import BucketizedTables, MarginalTables, SlicedTable
from sfumato.published.bucketized import COUNT
from sfumato.published.sliced import BUCKET, labels_of
from sfumato.recoding.choice import Recoding
from sfumato.table.table import Table


def bucketized_tallies(published: BucketizedTables, people: Table, sensitive: str, _: Recoding) -> Tallies:
    """Weigh the sensitive counts of the buckets with each person's values by the rows that have them."""
    names = _known(published.quasi_identifying, people)
    rows, held = _alike(published.quasi, names, people, names)
    bucket, counted = _numbered_buckets(published.quasi[BUCKET], published.counts[BUCKET])
    values, value_of = numbered(published.counts[sensitive])
    records = published.counts[COUNT].cast(pl.Float64).to_numpy()
    sizes = summed(counted, records, int(counted.max()) + 1)
    entries = _Lists.of(counted, len(sizes), value_of, records / sizes[counted])
    fitting = _Counts.of(bucket, rows)
    person, place = fitting.pairs_of(held)
    weights = entries.spread(fitting.buckets[place], fitting.counts[place], person, people.height, len(values))
    counts = summed(value_of, records, len(values))
    return Tallies(values, weights, weights.sum(axis=1), counts)


def sliced_tallies(published: SlicedTable, people: Table, sensitive: str, _: Recoding) -> Tallies:
    """Weigh the sensitive values of each matching bucket by how well the bucket matches (Li et al. 2012, section 4)."""
    bucket = _numbered_buckets(published.data[BUCKET])[0]
    sizes = np.bincount(bucket).astype(np.float64)
    parts = _parts_of(published, people, sensitive, bucket)
    person, chosen = _matching(parts, people.height, len(sizes))
    match = np.ones(len(person))
    for part in parts:
        match *= part.share(person, chosen, sizes)
    kept = match > 0
    person, chosen, match = person[kept], chosen[kept], match[kept]
    holding = [part for part in parts if part.values]
    values, value_of = holding[0].values, holding[0].value_of
    weights = _spread_values(holding, bucket, person, chosen, match, people.height)
    candidates = summed(person, match * sizes[chosen], people.height)
    counts = summed(value_of, np.ones(len(value_of)), len(values))
    return Tallies(values, weights, candidates, counts)


def marginal_tallies(published: MarginalTables, people: Table, sensitive: str, _: Recoding) -> Tallies:
    """Take the records of the marginals with the sensitive attribute that have each person's values."""
    candidates = np.full(people.height, np.inf)
    holding = [place for place, column in enumerate(published.columns) if sensitive in column]
    told = pl.concat([published.marginals[place][sensitive].cast(pl.String) for place in holding])
    values, _codes = numbered(told)
    code_of = {value: code for code, value in enumerate(values)}
    tables: list[NDArray[np.float64]] = []
    prior = np.zeros(len(values))
    for frame, column in zip(published.marginals, published.columns, strict=True):
        records = frame[COUNT].cast(pl.Float64).to_numpy()
        names = _known(column, people)
        rows, held = _alike(frame, names, people, names)
        here = summed(rows, records, int(max(held.max(initial=-1), rows.max(initial=-1))) + 1)
        candidates = np.minimum(candidates, here[held])
        if sensitive in column:
            codes = np.array([code_of[text] for text in frame[sensitive].cast(pl.String).to_list()], dtype=np.int64)
            lists = _Lists.of(rows, len(here), codes, records)
            everyone = np.arange(people.height)
            tables.append(lists.spread(held, np.ones(people.height), everyone, people.height, len(values)))
            prior = summed(codes, records, len(values))
    weights = tables[0]
    for table in tables[1:]:
        # Independent given the sensitive value: each further marginal brings its likelihood.
        weights = weights * table / np.where(prior > 0, prior, 1)
    return Tallies(values, weights * (candidates > 0)[:, None], candidates, prior)


@dataclass(frozen=True, eq=False, repr=False)
class _Lists:
    """Values with weights for each of several owners (compressed rows)."""

    starts: NDArray[np.int64]
    value_of: NDArray[np.int64]
    weights: NDArray[np.float64]

    @classmethod
    def of(
        cls, owner: NDArray[np.integer], count: int, value_of: NDArray[np.int64], weights: NDArray[np.float64]
    ) -> _Lists:
        order = np.argsort(owner, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=count))]).astype(np.int64)
        return cls(starts, value_of[order], weights[order])

    def entries_of(self, owner: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return, for every entry of the owners' lists one after the other, whose it is and where it stands."""
        lengths = self.starts[owner + 1] - self.starts[owner]
        asked = np.repeat(np.arange(len(owner)), lengths)
        skipped = np.repeat(self.starts[owner] - (np.cumsum(lengths) - lengths), lengths)
        return asked, skipped + np.arange(len(asked))

    def spread(
        self,
        owner: NDArray[np.integer],
        weight: NDArray[np.float64],
        person: NDArray[np.integer],
        people: int,
        values: int,
    ) -> NDArray[np.float64]:
        """Add up the lists of the owners that each person has, weighed: float64 (people, values)."""
        asked, place = self.entries_of(owner)
        cells = person[asked] * values + self.value_of[place]
        return summed(cells, weight[asked] * self.weights[place], people * values).reshape(people, values)


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
        lengths = self.starts[held[known] + 1] - self.starts[held[known]]
        skipped = np.repeat(self.starts[held[known]] - (np.cumsum(lengths) - lengths), lengths)
        return np.repeat(known, lengths), skipped + np.arange(lengths.sum())

    def look_up(self, bucket: NDArray[np.int64], vector: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how many rows of each bucket have each vector."""
        wanted = vector * self.width + bucket
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[place] == wanted, self.counts[place], 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class _Part:
    """One column of a sliced table.

    Vectors of its rows and of the people are numbered by all known attributes, and by those seen in columns before.
    """

    fitting: _Counts | None
    seen: _Counts | None
    rows: NDArray[np.int64]
    held: NDArray[np.int64]
    held_seen: NDArray[np.int64]
    values: tuple[str | None, ...]
    value_of: NDArray[np.int64]

    def share(
        self, person: NDArray[np.int64], bucket: NDArray[np.int64], sizes: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return which share of a bucket's rows agree with the person, among those that agree on what was seen."""
        if self.fitting is None:
            return np.ones(len(person))
        agreeing = self.fitting.look_up(bucket, self.held[person])
        among = sizes[bucket] if self.seen is None else self.seen.look_up(bucket, self.held_seen[person])
        return np.where(agreeing > 0, agreeing / np.maximum(among, 1), 0.0)


def _parts_of(published: SlicedTable, people: Table, sensitive: str, bucket: NDArray[np.int64]) -> list[_Part]:
    parts, seen = [], set[str]()
    for column, labels in zip(published.columns, labels_of(published.columns), strict=True):
        label_of = dict(zip(column, labels, strict=True))
        names = _known(column, people)
        before = [name for name in names if name in seen]
        rows, held = _alike(published.data, [label_of[name] for name in names], people, names)
        rows_seen, held_seen = _alike(published.data, [label_of[name] for name in before], people, before)
        values, value_of = numbered(published.data[label_of[sensitive]]) if sensitive in column else ((), rows)
        parts.append(
            _Part(
                _Counts.of(bucket, rows) if names else None,
                _Counts.of(bucket, rows_seen) if before else None,
                rows,
                held,
                held_seen,
                values,
                value_of,
            )
        )
        seen.update(names)
    return parts


def _matching(parts: Sequence[_Part], people: int, buckets: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return pairs of a person and a bucket that may match: all that match by the most telling column."""
    telling = [part.fitting for part in parts if part.fitting is not None]
    if not telling:
        return np.repeat(np.arange(people), buckets), np.tile(np.arange(buckets), people)
    part = min(
        (part for part in parts if part.fitting is not None), key=lambda part: _pairs_of(part.fitting, part.held)
    )
    assert part.fitting is not None
    person, place = part.fitting.pairs_of(part.held)
    return person, part.fitting.buckets[place]


def _pairs_of(fitting: _Counts | None, held: NDArray[np.int64]) -> int:
    assert fitting is not None
    lengths = np.append(np.diff(fitting.starts), 0)
    return int(lengths[np.minimum(held, len(lengths) - 1)].sum())


def _spread_values(
    holding: Sequence[_Part],
    bucket: NDArray[np.int64],
    person: NDArray[np.int64],
    chosen: NDArray[np.int64],
    match: NDArray[np.float64],
    people: int,
) -> NDArray[np.float64]:
    """Hand each matching bucket's weight to the sensitive values that may be the person's there."""
    first, v = holding[0], len(holding[0].values)
    keys, owner = np.unique(first.rows * (bucket.max() + 1) + bucket, return_inverse=True)
    lists = _Lists.of(owner, len(keys), first.value_of, np.ones(len(bucket)))
    asked, place = lists.entries_of(np.searchsorted(keys, first.held[person] * (bucket.max() + 1) + chosen))
    value, weight = lists.value_of[place], lists.weights[place]
    for other in holding[1:]:
        cells = _Counts.of(bucket, other.rows * v + other.value_of)
        all_in = _Counts.of(bucket, other.value_of)
        at = chosen[asked]
        # Rows of each column with the value, over the rows of the bucket that have it: joined by the sensitive value.
        weight = weight * cells.look_up(at, other.held[person[asked]] * v + value) / all_in.look_up(at, value)
    total = summed(asked, weight, len(person))
    weight = weight * match[asked] / np.where(total > 0, total, 1)[asked]
    return summed(person[asked] * v + value, weight, people * v).reshape(people, v)


def _known(names: Sequence[str], people: Table) -> list[str]:
    return [name for name in names if name in people.schema.quasi_identifying and name in people.frame.columns]


def _alike(
    frame: pl.DataFrame, labels: Sequence[str], people: Table, names: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give equal vectors of published rows and of people one number; without attributes all are equal."""
    if not names:
        return np.zeros(frame.height, dtype=np.int64), np.zeros(people.height, dtype=np.int64)
    stacked = []
    for label, name in zip(labels, names, strict=True):
        published, original = comparable(frame[label], people.frame[name])
        both = pl.concat([published.alias(name), original.alias(name)])
        stacked.append(both.rank("dense").fill_null(0).cast(pl.UInt32).to_numpy())
    vector_of, _count = group_records(np.column_stack(stacked))
    return vector_of[: frame.height].astype(np.int64), vector_of[frame.height :].astype(np.int64)


def _numbered_buckets(*columns: pl.Series) -> list[NDArray[np.int64]]:
    """Give the buckets of all columns numbers from 0."""
    numbers = [column.cast(pl.Int64).to_numpy() for column in columns]
    places = np.unique(np.concatenate(numbers), return_inverse=True)[1]
    return [part.astype(np.int64) for part in np.split(places, np.cumsum([len(part) for part in numbers])[:-1])]
