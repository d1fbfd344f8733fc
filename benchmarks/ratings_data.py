"""Made-up ratings of the shapes of known data sets."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

import sfumato as sf

STARS = sf.ratings.Scale(0.5, 5, 0.5)
_FEWEST = 20
"""Ratings of a user at least, as in MovieLens."""

_SPREAD = 1.1
"""Of the logarithm of the number of ratings of a user."""


def long_tailed(users: int, issues: int, ratings: int, seed: int = 1) -> sf.ratings.Ratings:
    """Make sparse ratings: few users rate thousands of issues, few issues have most ratings.

    The number of ratings of a user is log-normal, and the popularity of the issues falls off like that of films: the
    chance of issue ``i`` goes with ``1 / (i + c)``. What a user draws twice is counted once, so that a little
    less or more than `ratings` are left.
    """
    drawn = np.random.default_rng(seed)
    counts = _counts(drawn, users, issues, ratings)
    popularity = np.cumsum(1 / (np.arange(issues) + issues / 40))
    starts, found = [np.zeros(1, dtype=np.int64)], []
    for first in range(0, users, 10_000):
        of_users = counts[first : first + 10_000]
        rows, rated = _rated(drawn, of_users, popularity)
        found.append(rated)
        starts.append(starts[-1][-1] + np.cumsum(np.bincount(rows, minlength=len(of_users))))
    chosen = np.concatenate(found)
    quality = drawn.integers(4, 8, issues).astype(np.int8)
    codes = np.clip(quality[chosen] + drawn.integers(-3, 3, len(chosen), dtype=np.int8), 0, 9).astype(np.uint8)
    names = tuple(map(str, range(1, issues + 1)))
    return sf.ratings.Ratings(np.concatenate(starts), chosen, codes, names, np.zeros(issues, dtype=np.bool_), STARS)


def bootstrapped(survey: pl.DataFrame, records: int, seed: int = 1, moved: float = 0.2) -> pl.DataFrame:
    """Draw records of a survey with replacement, and move a share of the ratings one up or down within the scale."""
    drawn = np.random.default_rng(seed)
    values = survey[drawn.integers(0, survey.height, records)].select(pl.all().cast(pl.Float64)).to_numpy()
    low, high = np.nanmin(values), np.nanmax(values)
    steps = drawn.choice([-1, 0, 1], size=values.shape, p=[moved / 2, 1 - moved, moved / 2])
    noisy = np.clip(values + steps, low, high)
    return pl.DataFrame(dict(zip(survey.columns, noisy.T, strict=True))).fill_nan(None)


def _counts(drawn: np.random.Generator, users: int, issues: int, ratings: int) -> NDArray[np.int64]:
    weights = drawn.lognormal(0, _SPREAD, users)
    extra = weights / weights.sum() * max(ratings - _FEWEST * users, 0)
    # Draws that repeat an issue are lost.
    counts = (_FEWEST + extra) * 1.02
    return np.minimum(counts, issues // 3).astype(np.int64) + 1


def _rated(
    drawn: np.random.Generator, counts: NDArray[np.int64], popularity: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    rows = np.repeat(np.arange(len(counts)), counts)
    issues = np.searchsorted(popularity, drawn.random(len(rows)) * popularity[-1])
    keys = np.unique(rows * len(popularity) + issues)
    return keys // len(popularity), (keys % len(popularity)).astype(np.int32)
