"""Ratings in an order that nothing can be read off: what is published must not depend on the order of the input."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.ratings.groups import chosen_records
from sfumato.kernels.ratings.rows import rows_of
from sfumato.randomness import permutation
from sfumato.table.ratings.ratings import Ratings


@dataclass(frozen=True, eq=False, repr=False)
class ShuffledRatings:
    """Ratings in random order.

    Attributes
    ----------
    ratings : Ratings
        Issues by name, records in random order.
    origin : numpy.ndarray
        int64 (n,): the number of each record in the input, from 0.
    """

    ratings: Ratings
    origin: NDArray[np.int64]


def arranged(ratings: Ratings, seed: int | None) -> ShuffledRatings:
    """Sort issues by name and records by what they hold, then bring the records into random order.

    With a seed, the result is the same for every order of the input's records and issues: records that stay tied hold
    the same ratings. Cost O(z log z).
    """
    by_name = _issues_by_name(ratings)
    by_content = np.array(sorted(range(by_name.height), key=_keys(by_name).__getitem__), dtype=np.int64)
    order = by_content[permutation(by_name.height, seed)]
    return ShuffledRatings(chosen_records(by_name, order)[0], order)


def _keys(ratings: Ratings) -> list[bytes]:
    """Return what each record holds, as bytes that can be compared."""
    pairs = np.empty((len(ratings.issues), 3), dtype=">u2")
    pairs[:, 0], pairs[:, 1], pairs[:, 2] = ratings.issues >> 16, ratings.issues & 0xFFFF, ratings.codes
    packed = pairs.tobytes()
    bounds = (ratings.starts * 6).tolist()
    return [packed[first:last] for first, last in pairwise(bounds)]


def _issues_by_name(ratings: Ratings) -> Ratings:
    order = np.array(sorted(range(len(ratings.names)), key=ratings.names.__getitem__), dtype=np.int64)
    place_of = np.empty(len(order), dtype=np.int32)
    place_of[order] = np.arange(len(order))
    records = np.repeat(np.arange(ratings.height, dtype=np.int32), np.diff(ratings.starts))
    renamed = place_of[ratings.issues]
    starts, places = rows_of(records, renamed, ratings.height, len(order))
    return replace(
        ratings,
        starts=starts,
        issues=renamed[places],
        codes=ratings.codes[places],
        names=tuple(ratings.names[place] for place in order),
        sensitive=ratings.sensitive[order],
        times=None if ratings.times is None else ratings.times.gather(places),
    )
