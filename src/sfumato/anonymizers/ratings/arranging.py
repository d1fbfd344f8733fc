"""Ratings in an order that nothing can be read off: what is published must not depend on the order of the input."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.randomness import permutation
from sfumato.table.ratings.ratings import Ratings
from sfumato.table.ratings.row_order import settled


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

    With a seed, the result is the same for every order of the input's records and issues. Cost O(z log z).
    """
    by_content, origin = settled(ratings)
    order = permutation(ratings.height, seed)
    return ShuffledRatings(by_content.take(order), origin[order])
