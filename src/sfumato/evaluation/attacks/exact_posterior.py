"""The sensitive values of the buckets and marginals that hold a person's original values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.attacks.agreeing import known_of, numbered_alike, numbered_buckets
from sfumato.evaluation.attacks.tallies import Tallies, numbered, summed
from sfumato.published import BucketizedTables, MarginalTables
from sfumato.published.bucketized import COUNT
from sfumato.published.sliced import BUCKET
from sfumato.recoding.choice import Recoding
from sfumato.table.table import Table


def bucketized_tallies(published: BucketizedTables, people: Table, sensitive: str, _: Recoding) -> Tallies:
    """Weigh the sensitive counts of the buckets with each person's values by the rows that have them."""
    names = known_of(published.quasi_identifying, people)
    rows, held = numbered_alike(published.quasi, names, people, names)
    bucket, counted = numbered_buckets(published.quasi[BUCKET], published.counts[BUCKET])
    values, value_of = numbered(published.counts[sensitive])
    records = published.counts[COUNT].cast(pl.Float64).to_numpy()
    sizes = summed(counted, records, int(counted.max()) + 1)
    entries = _WeightedValues.of(counted, len(sizes), value_of, records / sizes[counted])
    fitting = _Counts.of(bucket, rows)
    person, place = fitting.pairs_of(held)
    weights = entries.spread(fitting.buckets[place], fitting.counts[place], person, people.height, len(values))
    counts = summed(value_of, records, len(values))
    return Tallies(values, weights, weights.sum(axis=1), counts)


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
        names = known_of(column, people)
        rows, held = numbered_alike(frame, names, people, names)
        here = summed(rows, records, int(max(held.max(initial=-1), rows.max(initial=-1))) + 1)
        candidates = np.minimum(candidates, here[held])
        if sensitive in column:
            codes = np.array([code_of[text] for text in frame[sensitive].cast(pl.String).to_list()], dtype=np.int64)
            lists = _WeightedValues.of(rows, len(here), codes, records)
            everyone = np.arange(people.height)
            tables.append(lists.spread(held, np.ones(people.height), everyone, people.height, len(values)))
            prior = summed(codes, records, len(values))
    weights = tables[0]
    for table in tables[1:]:
        # Independent given the sensitive value: each further marginal brings its likelihood.
        weights = weights * table / np.where(prior > 0, prior, 1)
    return Tallies(values, weights * (candidates > 0)[:, None], candidates, prior)


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

    def entries_of(self, owner: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the owner and the place of every entry of the owners' lists, one list after the other."""
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
        """Add up the lists of each person's owners, weighted: float64 (people, values)."""
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
