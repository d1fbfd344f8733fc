"""Sampling weights: how many people of the population each record stands for."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, raise_all
from sfumato.numbers import counted


def positive_weights(column: pl.Series) -> NDArray[np.float64]:
    """Read a column of sampling weights, float64 (n,).

    Raises
    ------
    InputError
        When a record has no weight, or one that is not a finite number above 0.
    """
    values = column.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    numbers = values.fill_null(math.nan).to_numpy()
    problems = []
    for wrong, what, advice in (
        (np.isnan(numbers), "no number", "give every record its weight"),
        (np.isfinite(numbers) & (numbers <= 0), "a weight that is not above 0", "weights count people"),
        (np.isinf(numbers), "an infinite weight", "weights count people"),
    ):
        if wrong.any():
            count, first = counted(int(wrong.sum()), "record"), int(wrong.argmax()) + 1
            problems.append(f"weights: column {column.name!r} has {count} with {what}, first in row {first}; {advice}")
    raise_all(InputError, problems)
    return numbers


def weights_in(frame: pl.DataFrame, name: str, where: str) -> NDArray[np.float64]:
    """Read the weights of a frame's records.

    Raises
    ------
    InputError
        When the frame has no such column, or not every record has a weight above 0.
    """
    if name not in frame.columns:
        raise InputError(f"weights: column {name!r} is not in {where}; give it a role, such as insensitive")
    return positive_weights(frame[name])
