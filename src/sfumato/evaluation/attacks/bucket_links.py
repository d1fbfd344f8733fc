"""Learn, from all buckets together, which rows of a bucket have which of its sensitive values.

Expectation maximization with a naive Bayes model: the chance of an attribute's value given the sensitive value is taken
from all rows, each counted for the sensitive values of its bucket by its chances; the chances of a row follow from
the model and from the sensitive values of the bucket.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.evaluation.attacks.adding import added
from sfumato.kernels.linking.matchings import matching_chances

MOST_ENTRIES = 50_000_000
"""Most pairs of a row and a sensitive value of its bucket that fit into memory."""

_SCALING_ROUNDS = 20
_WIDEST = 40.0
"""Largest difference of log weights in a row; a larger one makes no difference to a guess, and may underflow."""


@dataclass(frozen=True, eq=False, repr=False)
class BucketStock:
    """The sensitive values of the buckets.

    Letters: b buckets, z pairs of a bucket and a value of it, a sensitive values.

    Attributes
    ----------
    starts : numpy.ndarray
        int64 (b + 1,): pairs of each bucket.
    value_of : numpy.ndarray
        int64 (z,): sensitive value of each pair, rising inside a bucket.
    counts : numpy.ndarray
        int64 (z,): its count.
    values : int
        The number a.
    """

    starts: NDArray[np.int64]
    value_of: NDArray[np.int64]
    counts: NDArray[np.int64]
    values: int

    @classmethod
    def of(
        cls,
        bucket: NDArray[np.int64],
        value: NDArray[np.int64],
        records: NDArray[np.float64],
        buckets: int,
        values: int,
    ) -> BucketStock:
        """Count the sensitive values of each bucket."""
        keys, place = np.unique(bucket * values + value, return_inverse=True)
        counts = added(place, records, len(keys)).astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(np.bincount(keys // values, minlength=buckets))]).astype(np.int64)
        return cls(starts, keys % values, counts, values)

    @property
    def bucket_of(self) -> NDArray[np.int64]:
        """Return the bucket of each pair: int64 (z,)."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Return the records of each bucket: int64 (b,)."""
        return added(self.bucket_of, self.counts, len(self.starts) - 1).astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class RowChances:
    """Chances of rows to have the values of their bucket.

    Letters: n rows, e entries: pairs of a row and a value of its bucket.

    Attributes
    ----------
    row, pair : numpy.ndarray
        int64 (e,): row of each entry, and its pair of `BucketStock`.
    chance : numpy.ndarray
        float64 (e,).
    tables : tuple of numpy.ndarray
        float64 (d, a) for each attribute: expected rows with value and sensitive value.
    """

    row: NDArray[np.int64]
    pair: NDArray[np.int64]
    chance: NDArray[np.float64]
    tables: tuple[NDArray[np.float64], ...]


def learn_links(
    bucket: NDArray[np.int64],
    codes: Sequence[NDArray[np.int64]],
    sizes: Sequence[int],
    stock: BucketStock,
    *,
    rounds: int,
    exact: int,
) -> RowChances:
    """Learn the links between rows and sensitive values.

    Parameters
    ----------
    bucket
        int64 (n,): bucket of each row; each bucket has as many rows as the stock has records.
    codes
        int64 (n,) for each attribute: values from 0.
    sizes
        Number of values of each attribute.
    stock
        Sensitive values of the buckets.
    rounds
        Of expectation maximization; 0 leaves the chances that the buckets alone give (random worlds).
    exact
        Buckets with at most this many states are computed exactly, see :mod:`sfumato.kernels.linking.matchings`.

    Raises
    ------
    InputError
        When there are more than `MOST_ENTRIES` pairs of a row and a value of its bucket.

    Notes
    -----
    A row's own share in the counts is left out when its chances are computed, so that rare values do not confirm
    themselves. Cost O(rounds · e · (attributes + rounds of scaling)).
    """
    entries = int(np.diff(stock.starts)[bucket].sum())
    if entries > MOST_ENTRIES:
        raise InputError(
            f"the buckets have {entries} pairs of a row and a sensitive value, more than the {MOST_ENTRIES} that can "
            "be linked; buckets this large hide links well"
        )
    order = np.argsort(bucket, kind="stable")
    ordered = bucket[order]
    widths = np.diff(stock.starts)[ordered]
    at = np.repeat(np.arange(len(order)), widths)
    pair = np.arange(len(at)) + np.repeat(stock.starts[ordered] - (np.cumsum(widths) - widths), widths)
    row = order[at]
    chance = stock.counts[pair] / stock.sizes[bucket[row]]
    rows = np.concatenate([[0], np.cumsum(np.bincount(bucket, minlength=len(stock.starts) - 1))]).astype(np.int64)
    places = [each[row] * stock.values + stock.value_of[pair] for each in codes]
    firsts = np.cumsum(widths) - widths
    for _ in range(rounds):
        tables = _tables(places, sizes, chance, stock.values)
        logs = np.zeros(len(row))
        for place, table in zip(places, tables, strict=True):
            logs += _left_out(table, place, chance)
        logs -= np.repeat(np.maximum.reduceat(logs, firsts), widths)
        weights = np.exp(np.maximum(logs, -_WIDEST))
        chance = matching_chances(rows, stock.starts, stock.counts, weights, exact, _SCALING_ROUNDS)
    return RowChances(row, pair, chance, tuple(_tables(places, sizes, chance, stock.values)))


def _tables(
    places: Sequence[NDArray[np.int64]], sizes: Sequence[int], chance: NDArray[np.float64], values: int
) -> list[NDArray[np.float64]]:
    return [
        added(place, chance, size * values).reshape(size, values) for place, size in zip(places, sizes, strict=True)
    ]


def _left_out(table: NDArray[np.float64], place: NDArray[np.int64], chance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log chance of each entry's value given its sensitive value, learnt from all other rows.

    It is drawn towards the value's share of all rows, with the weight of one row.
    """
    values = table.shape[1]
    held, total = table.sum(axis=1), table.sum(axis=0)
    overall = ((held + 1) / (held.sum() + len(held)))[place // values]
    others = np.maximum(table.ravel()[place] - chance, 0.0)
    logs: NDArray[np.float64] = np.log((others + overall) / (np.maximum(total[place % values] - chance, 0.0) + 1))
    return logs
