"""Ratings: records of people × issues, their scale, and which issues are sensitive."""

from __future__ import annotations

import fnmatch
import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.kernels.ratings.rows import rows_rise
from sfumato.randomness import permutation
from sfumato.table.row_order import in_name_order
from sfumato.table.schema import is_finite_number
from sfumato.whole_files import read_regular_text

LARGEST = 4096
"""Most values of a scale, so that sums of squares over very many records stay exact in 64 bits."""
_CLOSE = 1e-9  # of a step: what decimal fractions lose as floats
MOST_DECIMALS = 6


@dataclass(frozen=True)
class Scale:
    """The ratings that may be given: ``low``, ``low + step``, ... ``high``.

    Parameters
    ----------
    low, high
        Smallest and largest rating.
    step
        From one rating to the next: 1 for whole numbers, 0.5 for half stars.

    Raises
    ------
    InputError
        When these are not numbers, `high` lies below `low`, or no whole number of steps leads from one to the other.

    Notes
    -----
    A rating is kept as its place on the scale, ``0 .. size-1``. *Missing against rated.* The paper's scales are
    ``1 .. r``, and its dissimilarity of a missing and a given rating is r. Here r is `span`, one step more than the
    largest difference of two ratings: the paper's r on ``1 .. r``, 5 on half stars from 0.5 to 5, and 21 on −10 .. 10.
    """

    low: float
    high: float
    step: float = 1.0

    def __post_init__(self) -> None:
        """Check the three numbers and keep them as float."""
        numbers = (self.low, self.high, self.step)
        if not all(map(is_finite_number, numbers)):
            raise InputError("scale: low, high and step must be numbers")
        for name, value in zip(("low", "high", "step"), numbers, strict=True):
            object.__setattr__(self, name, float(value))
        raise_all(InputError, self._problems())

    @property
    def size(self) -> int:
        """Number of ratings on the scale."""
        return round((self.high - self.low) / self.step) + 1

    @property
    def span(self) -> float:
        """The dissimilarity r of a missing and a given rating: one step more than the distance of the two ends."""
        return self.size * self.step

    def values(self) -> NDArray[np.float64]:
        """Return every rating, rising; float64 (size,)."""
        return (self.low + self.step * np.arange(self.size)).astype(np.float64)

    def codes(self, ratings: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the place of each rating on the scale, −1 where it is not on it; int64, shaped as `ratings`."""
        places = (ratings - self.low) / self.step
        nearest = np.rint(np.where(np.isfinite(places), places, -1.0))
        # Large floats are always near some whole number.
        nearest = np.clip(nearest, -1, self.size)
        on_scale = (nearest >= 0) & (nearest < self.size) & (np.abs(places - nearest) <= _CLOSE * self.size)
        return np.where(on_scale, nearest, -1).astype(np.int64)

    def steps_within(self, distance: float) -> int:
        """Return how many steps two ratings may be apart so that they differ by at most `distance`."""
        return min(math.floor(distance / self.step + _CLOSE), self.size - 1)

    def covers_all(self, distance: float) -> bool:
        """Tell whether even a missing and a given rating are within `distance`, so that all records are proximate."""
        return distance >= self.span - _CLOSE * self.step

    def _problems(self) -> list[str]:
        if self.step <= 0:
            return ["scale: step must be above 0"]
        if self.high < self.low:
            return ["scale: high lies below low"]
        steps = (self.high - self.low) / self.step
        if steps >= LARGEST:
            return [f"scale: there are more than {LARGEST} ratings on it; take a larger step"]
        if abs(steps - round(steps)) > _CLOSE * max(steps, 1.0):
            return ["scale: no whole number of steps leads from low to high"]
        return []


def scale_of(given: object) -> Scale | None:
    """Return a scale from ``Scale``, ``(low, high)`` or ``(low, high, step)``; None stays None; else ``InputError``."""
    if given is None or isinstance(given, Scale):
        return given
    if isinstance(given, (tuple, list)) and len(given) in (2, 3):
        return Scale(*given)
    raise InputError("scale must be a Scale, (low, high) or (low, high, step), for example (0.5, 5, 0.5)")


def found_scale(ratings: Sequence[float]) -> Scale:
    """Return the coarsest scale that holds all these ratings, at least one; none is finer than ratings are."""
    if not all(map(math.isfinite, ratings)):
        raise InputError("some ratings are not finite; correct them or list them as missing")
    decimals = [Decimal(repr(float(rating))) for rating in ratings]
    places = max(0, *(-int(number.as_tuple().exponent) for number in decimals))
    if places > MOST_DECIMALS:
        raise InputError(f"ratings have more than {MOST_DECIMALS} decimals; round them, or give the scale")
    whole = sorted({int(number.scaleb(places)) for number in decimals})
    step = reduce(math.gcd, (high - low for low, high in pairwise(whole)), 0) or 10**places
    unit = Decimal(1).scaleb(-places)
    return Scale(float(whole[0] * unit), float(whole[-1] * unit), float(step * unit))


_WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class SensitiveIssues:
    """A choice of sensitive issues. The choices of several fields are combined.

    Parameters
    ----------
    names
        Names of issues. An entry that is no name, and holds ``*``, ``?`` or ``[``, is a pattern as for file names.
    file
        A text file (UTF-8) with one name or pattern per line.
    share
        Fraction of all issues to draw, above 0 and below 1; at least one issue.
    drawn
        Whether the share is drawn at random or from the most rated issues down.
    seed
        For tests and studies; without one, a random share is drawn from the operating system's randomness.

    Raises
    ------
    PolicyError
        With every field that cannot be used.
    """

    names: Sequence[str] = ()
    file: str | os.PathLike[str] | None = None
    share: float | None = None
    drawn: Literal["random", "most-rated"] = "random"
    seed: int | None = None

    def __post_init__(self) -> None:
        """Check all fields at once and keep the names as a tuple."""
        names = (self.names,) if isinstance(self.names, str) else self.names
        problems = []
        if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
            problems.append("sensitive issues: names must be a list of names and patterns")
        if self.share is not None and not (is_finite_number(self.share) and 0 < self.share < 1):
            problems.append("sensitive issues: share must be a number above 0 and below 1")
        if self.drawn not in ("random", "most-rated"):
            problems.append("sensitive issues: drawn must be 'random' or 'most-rated'")
        if self.seed is not None and (isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0):
            problems.append("sensitive issues: seed must be a whole number of at least 0")
        raise_all(PolicyError, problems)
        object.__setattr__(self, "names", tuple(names))

    def choose(self, issues: Sequence[str], raters: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say of each issue whether it is sensitive.

        Parameters
        ----------
        issues
            Names of all issues.
        raters
            int64 (m,): how many have rated each.

        Returns
        -------
        numpy.ndarray
            bool (m,).

        Raises
        ------
        InputError
            Naming everything that matches no issue, or when no issue would be left that is not sensitive.
        """
        wanted = [*self.names, *(_lines(self.file) if self.file is not None else [])]
        chosen = _named(wanted, issues)
        chosen[self._share_of(raters)] = True
        if len(issues) and chosen.all():
            raise InputError("every issue is sensitive; leave at least one that others may know")
        return chosen

    def _share_of(self, raters: NDArray[np.int64]) -> NDArray[np.int64]:
        if self.share is None:
            return np.empty(0, dtype=np.int64)
        # A fraction such as 0.1 is not exact, and must not cost an issue more.
        count = max(1, math.ceil(self.share * len(raters) - 1e-9))
        if self.drawn == "most-rated":
            return np.argsort(-raters, kind="stable")[:count]
        return permutation(len(raters), self.seed)[:count]


def sensitive_choice(given: object) -> SensitiveIssues:
    """Return a choice from itself, a name, or a list of names and patterns; else ``PolicyError``."""
    return given if isinstance(given, SensitiveIssues) else SensitiveIssues(given)  # type: ignore[arg-type]


def select(wanted: Sequence[str], names: Sequence[str], what: str) -> list[int]:
    """Return the places of wanted names and patterns, rising; a name comes before a pattern that is written the same.

    Raises with everything wanted that matches nothing; `what`: what messages call one.
    """
    place_of = {name: place for place, name in enumerate(names)}
    found: set[int] = set()
    problems = []
    for text in dict.fromkeys(wanted):
        if text in place_of:
            found.add(place_of[text])
            continue
        fitting = _fitting(text, names)
        found.update(fitting)
        if not fitting:
            kind = f"no {what} fits the pattern {text!r}" if _WILD.search(text) else f"there is no {what} {text!r}"
            problems.append(f"{kind}; check the spelling")
    raise_all(InputError, problems)
    return sorted(found)


def _named(wanted: Sequence[str], issues: Sequence[str]) -> NDArray[np.bool_]:
    try:
        places = select(wanted, issues, "issue")
    except InputError as error:
        raise InputError(*(f"sensitive: {problem}" for problem in error.problems)) from None
    chosen = np.zeros(len(issues), dtype=np.bool_)
    chosen[places] = True
    return chosen


def _fitting(text: str, names: Sequence[str]) -> list[int]:
    if not _WILD.search(text):
        return []
    fits = re.compile(fnmatch.translate(text)).match
    return [place for place, name in enumerate(names) if fits(name)]


def _lines(file: str | os.PathLike[str]) -> list[str]:
    try:
        text = read_regular_text(file, "utf-8-sig")
    except (OSError, ValueError):
        raise InputError(f"{Path(file).name}: the list of sensitive issues cannot be read; it must be UTF-8") from None
    return [line.strip() for line in text.splitlines() if line.strip()]


MOST_SUMMED = 2**31
"""Records × ratings on the scale must stay below this, so that sums of squares are exact in 64 bits."""


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """What each record rated, and how. Build it with :func:`sfumato.read_ratings`.

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

    made_by: ClassVar[str] = "read_ratings"

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
    """Sort issues by name, and records by issues, ratings and times; what is tied is alike in all. And their places."""
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
