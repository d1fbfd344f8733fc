"""Ratings of issues by people, sparse in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, raise_all
from sfumato.kernels.ratings.rows import rows_rise
from sfumato.table.ratings.scale import Scale
from sfumato.table.ratings.sensitive import sensitive_choice
from sfumato.table.row_order import in_name_order

MOST_SUMMED = 2**31
"""Records × ratings on the scale must stay below this, so that sums of squares are exact in 64 bits."""


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """What each record rated, and how. Build it with :func:`sfumato.ratings.read_ratings`.

    Letters: n records (one per user), m issues, z ratings. Users' identifiers are gone: a record has only a number,
    which follows the order in which users first appear in the source.

    Attributes
    ----------
    starts : numpy.ndarray
        int64 (n + 1,): record ``i`` owns the ratings ``starts[i] .. starts[i+1]-1``.
    issues : numpy.ndarray
        int32 (z,): issue of each rating, ``0 .. m-1``, rising inside a record.
    codes : numpy.ndarray
        uint8 (z,), or uint16 on a scale of more than 256 ratings: place of each rating on the scale.
    names : tuple of str
        Names of the issues, length m.
    sensitive : numpy.ndarray
        bool (m,): the issues whose ratings must stay hidden.
    scale : Scale
    times : polars.Series or None
        When each rating was given, in the order of `issues`; None unless the column was declared. No model bounds what
        an attacker learns from times.
    source : str
        What messages call the ratings: the file's name, or ``"table"``.
    scale_found : bool
        Whether the scale is the one that these ratings, or those that they were made of, need, and nobody declared it.

    Raises
    ------
    InputError
        When there is no record, the arrays do not fit together, or there are so many records on so fine a scale that
        sums of squares would not be exact.
    """

    starts: NDArray[np.int64]
    issues: NDArray[np.int32]
    codes: NDArray[np.uint8] | NDArray[np.uint16]
    names: tuple[str, ...]
    sensitive: NDArray[np.bool_]
    scale: Scale
    times: pl.Series | None = None
    source: str = "table"
    scale_found: bool = False

    def __post_init__(self) -> None:
        """Check the arrays against each other."""
        if len(self.starts) < 2:
            raise InputError("there are no records")
        raise_all(InputError, self._problems())

    def __repr__(self) -> str:
        """Show sizes only."""
        return (
            f"Ratings({self.height} records, {len(self.names)} issues, {int(self.sensitive.sum())} of them sensitive, "
            f"{len(self.issues)} ratings)"
        )

    @property
    def height(self) -> int:
        """Number of records."""
        return len(self.starts) - 1

    @property
    def raters(self) -> NDArray[np.int64]:
        """How many records rated each issue; int64 (m,)."""
        return np.bincount(self.issues, minlength=len(self.names)).astype(np.int64)

    def places(self, records: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the places of the ratings of some records, in that order; int64 (ratings of theirs,)."""
        sizes = np.diff(self.starts)[records]
        before = np.cumsum(sizes) - sizes
        places: NDArray[np.int64] = np.arange(sizes.sum()) + np.repeat(self.starts[records] - before, sizes)
        return places

    def take(self, records: NDArray[np.integer]) -> Ratings:
        """Return the ratings of some records, in that order."""
        places = self.places(records)
        return replace(
            self,
            starts=np.append(0, np.cumsum(np.diff(self.starts)[records])).astype(np.int64),
            issues=self.issues[places],
            codes=self.codes[places],
            times=None if self.times is None else self.times.gather(places),
        )

    def with_sensitive(self, sensitive: object) -> Ratings:
        """Return the same ratings with other sensitive issues.

        Parameters
        ----------
        sensitive
            A :class:`SensitiveIssues`, a name, or a list of names and patterns; an empty list for none.

        Raises
        ------
        InputError
            Naming everything that matches no issue.
        """
        return replace(self, sensitive=sensitive_choice(sensitive).choose(self.names, self.raters))

    def to_frame(self) -> pl.DataFrame:
        """Return the ratings in long form: ``record`` (from 1), ``issue``, ``rating`` and, if kept, ``time``."""
        columns = {
            "record": pl.Series(np.repeat(np.arange(1, self.height + 1), np.diff(self.starts))),
            "issue": pl.Series(self.names, dtype=pl.String).gather(self.issues),
            "rating": pl.Series(self.scale.values()[self.codes]),
        }
        return pl.DataFrame(columns | ({} if self.times is None else {"time": self.times}))

    def _problems(self) -> list[str]:
        count = len(self.issues)
        problems = []
        if len(self.codes) != count or self.starts[0] != 0 or self.starts[-1] != count:
            problems.append("starts, issues and codes do not fit together in length")
        elif not rows_rise(self.starts, self.issues, len(self.names)):
            problems.append("the issues of a record must rise, and be below the number of names")
        elif count and int(self.codes.max()) >= self.scale.size:
            problems.append("a code lies beyond the scale")
        if len(self.sensitive) != len(self.names):
            problems.append("sensitive must have one entry for each name")
        if self.times is not None and len(self.times) != count:
            problems.append("times must have one entry for each rating")
        if self.height * self.scale.size >= MOST_SUMMED:
            problems.append("there are too many records for so fine a scale; take a scale with a larger step")
        return problems


# An order of ratings that depends on nothing but what everybody rated, and how.


def order_ratings(ratings: Ratings) -> tuple[Ratings, NDArray[np.int64]]:
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
