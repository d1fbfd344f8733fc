"""Weights of sensitive values for each person, whatever kind of release they come from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.table.kinds import text_of


@dataclass(frozen=True, eq=False, repr=False)
class Tallies:
    """Weights of sensitive values for each person.

    Letters: m people, v published values.

    Attributes
    ----------
    values : tuple of str or None
    weights : numpy.ndarray
        float64 (m, v), not yet scaled to a sum of 1.
    candidates : numpy.ndarray
        float64 (m,): records that fit.
    counts : numpy.ndarray
        float64 (v,): records of the release that have each value.
    """

    values: tuple[str | None, ...]
    weights: NDArray[np.float64]
    candidates: NDArray[np.float64]
    counts: NDArray[np.float64]


def numbered(column: pl.Series) -> tuple[tuple[str | None, ...], NDArray[np.int64]]:
    """Return the values of a published column in text order, the missing value last, and each cell's place in them."""
    texts = text_of(column)
    values: list[str | None] = list(texts.drop_nulls().unique().sort().to_list())
    if texts.null_count():
        values.append(None)
    place_of = {value: place for place, value in enumerate(values)}
    return tuple(values), np.array([place_of[text] for text in texts.to_list()], dtype=np.int64)


def comparable(published: pl.Series, original: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return a published and an original column so that equal values are equal: numbers as numbers, others as text."""
    if not original.dtype.is_numeric():
        return text_of(published), text_of(original)
    texts = isinstance(published.dtype, (pl.Categorical, pl.Enum))
    numbers = (published.cast(pl.String) if texts else published).cast(pl.Float64, strict=False)
    return numbers, original.cast(pl.Float64)


def summed(places: NDArray[np.integer], weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Add up the weights of each place, float64 (size,)."""
    sums: NDArray[np.float64] = np.bincount(places, weights=weights, minlength=size).astype(np.float64, copy=False)
    return sums
