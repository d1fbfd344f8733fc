"""An order of ratings that depends on nothing but what everybody rated, and how."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.table.ratings.ratings import Ratings
from sfumato.table.row_order import in_name_order


def settled(ratings: Ratings) -> tuple[Ratings, NDArray[np.int64]]:
    """Sort issues by name, and records by what they hold: first issues and ratings, then times.

    Returns
    -------
    Ratings
        The same for every order of records and issues: records that stay tied are alike in everything.
    numpy.ndarray
        int64 (n,): the number of each record in the input.

    Notes
    -----
    Cost O(z log z).
    """
    by_name = _issues_by_name(ratings)
    held = list(_held(by_name))
    order = np.array(sorted(range(by_name.height), key=held.__getitem__), dtype=np.int64)
    return by_name.take(order), order


def _held(ratings: Ratings) -> Iterator[tuple[bytes, bytes]]:
    """Yield what each record holds, as bytes that can be compared."""
    rated = np.empty((len(ratings.issues), 3), dtype=">u2")
    rated[:, 0], rated[:, 1], rated[:, 2] = ratings.issues >> 16, ratings.issues & 0xFFFF, ratings.codes
    times = b"" if ratings.times is None else _ranks(ratings.times).tobytes()
    packed = rated.tobytes()
    for first, last in pairwise(ratings.starts.tolist()):
        yield packed[6 * first : 6 * last], times[4 * first : 4 * last]


def _ranks(times: pl.Series) -> NDArray[np.unsignedinteger]:
    # Categories are compared as texts: their numbers may follow the order of the input.
    plain = times.cast(pl.String) if isinstance(times.dtype, (pl.Categorical, pl.Enum)) else times
    return plain.rank("dense").fill_null(0).to_numpy().astype(">u4")


def _issues_by_name(ratings: Ratings) -> Ratings:
    found = in_name_order(ratings.starts, ratings.issues, ratings.names)
    return replace(
        ratings,
        issues=found.labels,
        codes=ratings.codes[found.places],
        names=tuple(ratings.names[place] for place in found.order),
        sensitive=ratings.sensitive[found.order],
        times=None if ratings.times is None else ratings.times.gather(found.places),
    )
