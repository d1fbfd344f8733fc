"""Buckets of m-invariance: who has one signature, balanced so that every value of it has equally many people.

Newcomers are lists of rows by value. They are *m-eligible* when no value has more than 1/m of them: then all of them
find m − 1 others.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Newcomers = dict[int, list[int]]


@dataclass(eq=False)
class Bucket:
    """People of one signature.

    Attributes
    ----------
    signature : tuple of int
        Rising codes of values.
    rows : dict of int to list of int
        The people of each value of the signature.
    """

    signature: tuple[int, ...]
    rows: dict[int, list[int]]

    @classmethod
    def empty(cls, signature: tuple[int, ...]) -> Bucket:
        """Return a bucket without people."""
        return cls(signature, {value: [] for value in signature})

    @property
    def height(self) -> int:
        """People of the most frequent value: classes that the bucket will have."""
        return max(map(len, self.rows.values()))

    @property
    def missing(self) -> int:
        """Rows that it lacks to be balanced."""
        return sum(self.height - len(rows) for rows in self.rows.values())

    def matrix(self) -> NDArray[np.int64]:
        """Return one line for each value, filled up with −1 for counterfeits; int64 (values, height)."""
        height = self.height
        return np.array([rows + [-1] * (height - len(rows)) for rows in self.rows.values()], dtype=np.int64)


def eligible(counts: Collection[int], m: int) -> bool:
    """Tell whether no value has more than 1/m of the people."""
    return m * max(counts, default=0) <= sum(counts)


def most_kept(counts: dict[int, int], m: int) -> dict[int, int]:
    """Return how many newcomers of each value can be published together: as many as possible, m-eligible."""
    kept = dict(counts)
    while not eligible(kept.values(), m):
        value = max(sorted(kept), key=lambda each: kept[each])
        # c − w ≤ (T − w) / m, if the others stay.
        waiting = math.ceil((m * kept[value] - sum(kept.values())) / (m - 1))
        kept[value] = max(0, kept[value] - waiting)
    return kept


def surplus(newcomers: Newcomers, m: int) -> Newcomers:
    """Return the newcomers without those of too frequent values who must wait."""
    kept = most_kept({value: len(rows) for value, rows in newcomers.items()}, m)
    return {value: rows[: kept[value]] for value, rows in newcomers.items() if kept[value]}


def balance(buckets: list[Bucket], newcomers: Newcomers, m: int) -> None:
    """Give buckets the newcomers that they lack, as long as no others must wait for that; in place.

    Values that most newcomers have go first: without one of them the others find partners more easily.
    """
    lacking = {
        value: [bucket for bucket in buckets if len(bucket.rows.get(value, range(bucket.height))) < bucket.height]
        for value in newcomers
    }
    for buckets_of in lacking.values():
        buckets_of.sort(key=lambda bucket: (-bucket.missing, bucket.signature))
    refused: set[int] = set()
    while True:
        counts = {value: len(rows) for value, rows in newcomers.items() if rows}
        open_values = [value for value in counts if lacking[value] and value not in refused]
        if not open_values:
            break
        value = max(sorted(open_values), key=lambda each: counts[each])
        now = _waiting(counts, m)
        counts[value] -= 1
        if _waiting(counts, m) > now:
            refused.add(value)
            continue
        refused.clear()
        bucket = lacking[value][0]
        bucket.rows[value].append(newcomers[value].pop())
        if len(bucket.rows[value]) == bucket.height:
            lacking[value].pop(0)


def _waiting(counts: dict[int, int], m: int) -> int:
    return sum(counts.values()) - sum(most_kept(counts, m).values())


def assign(buckets: list[Bucket], newcomers: Newcomers, m: int) -> None:
    """Put m-eligible newcomers into buckets, as many of each value of a signature, until none is left; in place.

    In each step the β most frequent values give α people each, to the bucket of exactly these values; β is the least
    from m on for which there is an α, and α the largest after which the others are m-eligible.
    """
    by_signature = {bucket.signature: bucket for bucket in buckets}
    while any(newcomers.values()):
        counts = sorted((-len(rows), value) for value, rows in newcomers.items() if rows)
        taken, wide = _step([-count for count, _ in counts], m)
        assert taken > 0, "newcomers who are m-eligible can always be assigned"
        signature = tuple(sorted(value for _, value in counts[:wide]))
        bucket = by_signature.get(signature)
        if bucket is None:
            bucket = by_signature[signature] = Bucket.empty(signature)
            buckets.append(bucket)
        for value in signature:
            bucket.rows[value] += newcomers[value][-taken:]
            del newcomers[value][-taken:]


def _step(counts: list[int], m: int) -> tuple[int, int]:
    """Return α and β for falling counts."""
    total = sum(counts)
    for wide in range(m, len(counts) + 1):
        following = counts[wide] if wide < len(counts) else 0
        taken = min(counts[wide - 1], (total - m * following) // wide)
        if wide > m:
            taken = min(taken, (total - m * counts[0]) // (wide - m))
        if taken > 0:
            return taken, wide
    return 0, 0
