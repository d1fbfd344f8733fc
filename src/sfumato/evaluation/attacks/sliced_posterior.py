"""The sensitive values of the matching buckets of a sliced table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.grouping import group_records
from sfumato.evaluation.attacks.agreeing import known_of, numbered_alike, numbered_buckets
from sfumato.evaluation.attacks.tallies import Tallies, numbered, summed
from sfumato.kernels.grouping import first_records
from sfumato.kernels.slices.beliefs import BucketLists, fill_rows, sum_beliefs
from sfumato.published import SlicedTable
from sfumato.published.sliced import BUCKET, labels_of
from sfumato.recoding.choice import Recoding
from sfumato.table.table import Table

_LONG = 16
"""Lists longer than one in this many buckets are written out for all buckets."""


def sliced_tallies(published: SlicedTable, people: Table, sensitive: str, _: Recoding) -> Tallies:
    """Weigh the sensitive values of each matching bucket by how well the bucket matches (Li et al. 2012, section 4).

    Cost O(n w log n), and for each distinct vector of known values the buckets that have its rarest part.
    """
    bucket = numbered_buckets(published.data[BUCKET])[0]
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
    counts = summed(value_of, np.ones(len(value_of)), len(values))
    return Tallies(values, weights[who_of], candidates[who_of], counts)


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
        names = known_of(column, people)
        before = [name for name in names if name in seen]
        rows, held = numbered_alike(published.data, [label_of[name] for name in names], people, names)
        rows_seen, held_seen = (
            numbered_alike(published.data, [label_of[name] for name in before], people, before)
            if before
            else (None, None)
        )
        values, value_of = (
            numbered(published.data[label_of[sensitive]]) if sensitive in column else ((), np.zeros_like(rows))
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
