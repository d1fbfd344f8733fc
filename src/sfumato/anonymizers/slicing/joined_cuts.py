"""Buckets of columns that share a sensitive attribute: cut while what the columns say together keeps the models."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem
from sfumato.anonymizers.slicing.partitioning import BucketPartition
from sfumato.kernels.predicates import SLACK
from sfumato.published.checks.slices.joined import joined_shares, largest_shares
from sfumato.published.sliced import BUCKET, Columns
from sfumato.randomness import permutation
from sfumato.table.encoding import EncodedTable
from sfumato.table.exact_names import exactly


def cut_joined(problem: Problem, columns: Columns, bounds: Mapping[str, float], least: int = 1) -> BucketPartition:
    """Cut all records, as one bucket that keeps the bounds, into buckets as small as they allow.

    Parameters
    ----------
    problem
        Table, seed and progress.
    columns
        Attributes of each column; they do not go round in a circle.
    bounds
        For each sensitive attribute the largest share of a value that may be learned.
    least
        Only buckets of twice as many records or more are cut.

    Notes
    -----
    Each bucket is cut inside each combination of sensitive values: the lower half of its records in the widest
    attribute goes to one half. Where that breaks a bound in one of the halves, the next attribute is tried. All buckets
    are cut at once; each round costs what joining their columns costs, see
    :func:`sfumato.published.checks.slices.joined.joined_shares`.
    """
    table = problem.table
    order = _canonical_order(table, problem.seed)
    frame = code_frame(table)[order]
    codes = table.codes[order].astype(np.int64)
    strata = np.unique(table.sensitive_codes[order], axis=0, return_inverse=True)[1].ravel()
    bucket_of = np.zeros(table.height, dtype=np.int64)
    open_buckets = np.array([table.height >= 2 * least])
    while open_buckets.any():
        done = int((~open_buckets)[bucket_of].sum())
        problem.progress("cutting buckets", done, table.height)
        bucket_of, open_buckets = _level(frame, codes, strata, bucket_of, open_buckets, columns, bounds)
        open_buckets &= np.bincount(bucket_of) >= 2 * least
    original = np.empty_like(bucket_of)
    original[order] = bucket_of
    return BucketPartition(original, len(open_buckets), "buckets")


def _level(
    frame: pl.DataFrame,
    codes: NDArray[np.int64],
    strata: NDArray[np.int64],
    bucket_of: NDArray[np.int64],
    waiting: NDArray[np.bool_],
    columns: Columns,
    bounds: Mapping[str, float],
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Try to cut every waiting bucket once; return the new buckets, and which of them are new."""
    waiting = waiting.copy()
    ranking = _widest_first(codes, bucket_of, len(waiting))
    upper = np.zeros(len(bucket_of), dtype=np.bool_)
    cut = np.zeros(len(waiting), dtype=np.bool_)
    for attempt in range(codes.shape[1]):
        rows = np.flatnonzero(waiting[bucket_of])
        if not len(rows):
            break
        chosen = codes[rows, ranking[bucket_of[rows], attempt]]
        proposed = _upper_half(bucket_of[rows], strata[rows], chosen)
        kept = _kept(frame[rows], bucket_of[rows], proposed, len(waiting), columns, bounds)
        taken = kept[bucket_of[rows]]
        upper[rows[taken]] = proposed[taken]
        cut |= kept
        waiting &= ~kept
    numbers, renumbered = np.unique(2 * bucket_of + upper, return_inverse=True)
    return renumbered.ravel(), cut[numbers // 2]


def _widest_first(codes: NDArray[np.int64], bucket_of: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Rank the attributes of each bucket by their share of the range of codes; int64 (count, q)."""
    low = np.full((count, codes.shape[1]), np.iinfo(np.int64).max)
    high = np.full((count, codes.shape[1]), -1)
    np.minimum.at(low, bucket_of, codes)
    np.maximum.at(high, bucket_of, codes)
    widths = (high - low) / np.maximum(codes.max(axis=0) - codes.min(axis=0), 1)
    return np.argsort(-widths, axis=1, kind="stable")


def _upper_half(buckets: NDArray[np.int64], strata: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which rows are in the upper half of their stratum of their bucket."""
    order = np.lexsort((values, strata, buckets))
    keys = np.column_stack([buckets, strata])[order]
    first = np.flatnonzero(np.append(True, (np.diff(keys, axis=0) != 0).any(axis=1)))
    sizes = np.diff(np.append(first, len(keys)))
    place = np.arange(len(keys)) - np.repeat(first, sizes)
    # Of strata with an odd number every other one gives the lower half one more.
    odd = np.repeat(np.arange(len(first)) % 2, sizes)
    upper = np.empty(len(keys), dtype=np.bool_)
    upper[order] = 2 * place + odd >= np.repeat(sizes, sizes)
    return upper


def _kept(
    frame: pl.DataFrame,
    buckets: NDArray[np.int64],
    upper: NDArray[np.bool_],
    count: int,
    columns: Columns,
    bounds: Mapping[str, float],
) -> NDArray[np.bool_]:
    """Tell for which buckets both halves keep every bound; bool (count,)."""
    halves = 2 * buckets + upper
    present = np.bincount(halves, minlength=2 * count) > 0
    good = present[::2] & present[1::2]
    series = pl.Series(BUCKET, halves)
    frames = [frame.select(series, exactly(*column)) for column in columns]
    for name, bound in bounds.items():
        shares = joined_shares(frames, columns, tuple(bounds), name)
        if shares is None:
            return np.zeros(count, dtype=np.bool_)
        largest = largest_shares(shares)
        failing = largest.filter(pl.col("share") > bound + SLACK)[BUCKET].to_numpy()
        good[failing // 2] = False
    return good


def _canonical_order(table: EncodedTable, seed: int | None) -> NDArray[np.int64]:
    """Order records by their values; equal ones randomly, so that nothing depends on the order of the input."""
    shuffled = permutation(table.height, seed)
    keys = np.column_stack([table.codes[shuffled], table.sensitive_codes[shuffled]])
    return shuffled[np.lexsort(keys.T[::-1])]


def code_frame(table: EncodedTable) -> pl.DataFrame:
    """Return the codes of all attributes under their names."""
    named = {attribute.name: table.codes[:, place] for place, attribute in enumerate(table.attributes)}
    private = {attribute.name: table.sensitive_codes[:, place] for place, attribute in enumerate(table.sensitive)}
    return pl.DataFrame({**named, **private})
