"""Matching buckets: what a sliced table says about somebody whose values are known, counted over all its buckets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.slices.groups import SlicingArrays
from sfumato.kernels.slices.matching import SliceIndex, fill_bits, measure_matches
from sfumato.parallel import each
from sfumato.progress import Progress, silent

_PIECE = 1 << 12
"""Vectors that are measured by one thread at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class _VectorMeasures:
    """What is known about each vector of values.

    Attributes
    ----------
    matches : numpy.ndarray
        int64 (V,): matching buckets.
    values : numpy.ndarray
        float64 (V, r): for each rule the highest share of a sensitive value (probabilistic l-diversity) or the distance
        to the whole table (t-closeness); NaN where no bucket matches.
    """

    matches: NDArray[np.int64]
    values: NDArray[np.float64]


def slice_index(
    arrays: SlicingArrays, bucket_of: NDArray[np.int64], count: int, part_sizes: NDArray[np.int64]
) -> SliceIndex:
    """Index a sliced table; O(w n log n).

    Parameters
    ----------
    arrays
        Parts and sensitive values of each row, and the rules. Only values of one column must be in one row.
    bucket_of
        int64 (n,): bucket of each row, ``0 .. count-1``.
    count
        Number of buckets.
    part_sizes
        int64 (w,): distinct parts of each column.
    """
    columns = [_column(arrays.parts[:, place], bucket_of, count, int(size)) for place, size in enumerate(part_sizes)]
    by_part = [np.argsort(parts, kind="stable") for _, parts, _ in columns]
    owners = [np.repeat(np.arange(count), np.diff(starts)) for starts, _, _ in columns]
    held = [np.bincount(parts, minlength=size) for (_, parts, _), size in zip(columns, part_sizes, strict=True)]
    bucket_starts = np.concatenate([[0], np.cumsum(np.concatenate(held))]).astype(np.int64)
    buckets = np.concatenate([owner[order] for owner, order in zip(owners, by_part, strict=True)]).astype(np.int32)
    bits, bits_of = _bits(bucket_starts, buckets, count)
    groups = [_groups(arrays, attribute, bucket_of, count) for attribute in range(len(arrays.homes))]
    return SliceIndex(
        sizes=np.bincount(bucket_of, minlength=count).astype(np.int64),
        starts=_stacked([starts for starts, _, _ in columns], np.int64),
        parts=_stacked([parts for _, parts, _ in columns], np.int32),
        counts=_stacked([counts for _, _, counts in columns], np.int64),
        part_starts=np.concatenate([[0], np.cumsum(part_sizes)]).astype(np.int64),
        bucket_starts=bucket_starts,
        buckets=buckets,
        bits=bits,
        bits_of=bits_of,
        homes=arrays.homes,
        group_starts=_stacked([group[0] for group in groups], np.int64),
        group_parts=_stacked([group[1] for group in groups], np.int32),
        pair_starts=_stacked([group[2] for group in groups], np.int64),
        values=_stacked([group[3] for group in groups], np.int32),
        value_counts=_stacked([group[4] for group in groups], np.int64),
        rules=arrays.rules,
    )


def measure_vectors(
    index: SliceIndex, vectors: NDArray[np.int32], progress: Progress = silent, threads: int = 1
) -> _VectorMeasures:
    """Measure every vector, int32 (V, w), over all buckets that match it.

    Cost O(Σ buckets that have the rarest part of the vector); memory O(V r).
    """
    matches = np.zeros(len(vectors), dtype=np.int64)
    values = np.full((len(vectors), len(index.rules.codes)), np.nan)
    pieces = [slice(start, start + _PIECE) for start in range(0, len(vectors), _PIECE)]
    done = 0

    def run(piece: slice) -> None:
        nonlocal done
        measure_matches(vectors[piece], index, matches[piece], values[piece])
        done += len(vectors[piece])
        progress("matching buckets", done, len(vectors))

    each(run, pieces, threads)
    return _VectorMeasures(matches, values)


def matching_cost(index: SliceIndex, vectors: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return how many buckets must be checked for each vector; int64 (V,)."""
    held = np.diff(index.bucket_starts)
    return np.asarray(held[vectors + index.part_starts[:-1]].min(axis=1), dtype=np.int64)


def _bits(
    bucket_starts: NDArray[np.int64], buckets: NDArray[np.int32], count: int
) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    frequent = 64 * np.diff(bucket_starts) >= count
    bits_of = np.where(frequent, np.cumsum(frequent) - 1, -1).astype(np.int32)
    bits = np.zeros((int(frequent.sum()), (count + 63) // 64), dtype=np.uint64)
    fill_bits(bits, bits_of, bucket_starts, buckets)
    return bits, bits_of


def _column(
    parts: NDArray[np.int32], bucket_of: NDArray[np.int64], count: int, size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    keys, counts = np.unique(bucket_of * max(size, 1) + parts, return_counts=True)
    return np.searchsorted(keys, np.arange(count + 1) * max(size, 1)), keys % max(size, 1), counts


def _groups(
    arrays: SlicingArrays, attribute: int, bucket_of: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return group starts of the buckets, parts of the groups, pair starts of the groups, values and their counts."""
    home = int(arrays.homes[attribute])
    parts = arrays.parts[:, home].astype(np.int64) if home >= 0 else np.zeros(len(bucket_of), np.int64)
    values = arrays.values[:, attribute]
    size, most = int(parts.max(initial=0)) + 1, int(values.max(initial=0)) + 1
    groups, group_of = np.unique(bucket_of * size + parts, return_inverse=True)
    pairs, counts = np.unique(group_of.ravel() * most + values, return_counts=True)
    pair_starts = np.searchsorted(pairs, np.arange(len(groups) + 1) * most)
    return np.searchsorted(groups, np.arange(count + 1) * size), groups % size, pair_starts, pairs % most, counts


def _stacked(rows: list[NDArray[np.int64]], dtype: type[Any]) -> NDArray[Any]:
    """Stack rows of different lengths; what is missing at their ends is never read."""
    stacked = np.zeros((len(rows), max((len(row) for row in rows), default=0)), dtype=dtype)
    for place, row in enumerate(rows):
        stacked[place, : len(row)] = row
    return stacked
