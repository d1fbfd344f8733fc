"""Hold records of ratings out of a release, as a control group for attacks."""

from __future__ import annotations

import numpy as np

from sfumato.errors import PolicyError, raise_all
from sfumato.randomness import permutation, seed_problems
from sfumato.settings import is_finite_number
from sfumato.table.ratings.ratings import Ratings
from sfumato.table.ratings.row_order import settled


def hold_out_ratings(ratings: Ratings, share: float, *, seed: int | None = None) -> tuple[Ratings, Ratings]:
    """Split records at random into those to publish and those to hold out.

    Parameters
    ----------
    ratings
        At least two records.
    share
        Share of the records to hold out, above 0 and below 1; at least one is held out, and at least one stays.
    seed
        For tests and studies: holds out the same records, whatever their order. None draws from the operating system.

    Returns
    -------
    Ratings, Ratings
        Both with all issues, records in the order of the input.

    Raises
    ------
    PolicyError
        When the share is invalid, or there is a single record.
    """
    problems = seed_problems(seed)
    if not (is_finite_number(share) and 0 < share < 1):
        problems.append("share: must be a number above 0 and below 1")
    if not isinstance(ratings, Ratings):
        problems.append("ratings must be Ratings; read them with sfumato.read_ratings(...)")
    elif ratings.height < 2:
        problems.append("there is a single record; give at least two, so that one can be held out")
    raise_all(PolicyError, problems)
    count = min(max(1, round(share * ratings.height)), ratings.height - 1)
    is_out = np.zeros(ratings.height, dtype=np.bool_)
    is_out[settled(ratings)[1][permutation(ratings.height, seed)[:count]]] = True
    stay = ratings.take(np.flatnonzero(~is_out))
    out = ratings.take(np.flatnonzero(is_out))
    return stay, out
