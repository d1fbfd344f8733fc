"""Risk in the population by log-linear models: how many who are unique in a sample are unique in the population."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.evaluation.risk.keys import Keys
from sfumato.numbers import counted

Floats = NDArray[np.float64]

MOST_CELLS = 1 << 26
"""Cells of the table of all combinations of values, which is held in memory."""
ROUNDS = 200
TOLERANCE = 1e-4
"""Largest difference to a count, in records, at which fitting ends."""


@dataclass(frozen=True, eq=False, repr=False)
class LogLinearRisk:
    """What a log-linear model says of the records that are unique in the table.

    Attributes
    ----------
    order : int
        Columns of a term at most: 1 are main effects, 2 all pairs.
    fraction : float
        Sampling fraction.
    cells : int
        Combinations of values that there could be.
    rounds : int
        Passes over all terms.
    difference : float
        Largest difference to a count that fitting left, in records.
    unique : numpy.ndarray
        Integers (u,): the classes of one record.
    means : numpy.ndarray
        float64 (u,): expected people of the population like each of them, before its own record is seen.
    """

    order: int
    fraction: float
    cells: int
    rounds: int
    difference: float
    unique: NDArray[np.integer]
    means: Floats

    @property
    def chances(self) -> Floats:
        """Chance of each unique record to be unique in the population; float64 (u,)."""
        return np.exp(-self._others)

    @property
    def matches(self) -> Floats:
        """Expected 1/F of each unique record, F being the people like it; float64 (u,)."""
        others = self._others
        # (1 − e^−x) / x, which tends to 1 for small x.
        return np.where(others > 0, -np.expm1(-others) / np.where(others > 0, others, 1.0), 1.0)

    @property
    def expected_uniques(self) -> float:
        """Expected records that are unique in the table and in the population."""
        return math.fsum(self.chances.tolist())

    @property
    def expected_matches(self) -> float:
        """Expected right matches among the unique records."""
        return math.fsum(self.matches.tolist())

    @property
    def _others(self) -> Floats:
        return self.means * (1.0 - self.fraction)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "order": self.order,
            "fraction": self.fraction,
            "cells": self.cells,
            "rounds": self.rounds,
            "difference": self.difference,
            "sample_uniques": len(self.unique),
            "expected_uniques": self.expected_uniques,
            "expected_matches": self.expected_matches,
        }


def log_linear_risk(keys: Keys, fraction: float, order: int) -> LogLinearRisk:
    """Fit a log-linear model to the counts of all combinations, and read the risk of unique records off it.

    Parameters
    ----------
    keys
        Classes of records.
    fraction
        Sampling fraction π, above 0 to 1.
    order
        Columns of a term at most.

    Raises
    ------
    PolicyError
        When there are too many combinations of values.

    Notes
    -----
    F people of the population have a combination, Poisson with mean λ; of them f are in the sample, Poisson with mean
    μ = π λ, and the others do not depend on f. So of a record that is unique in the sample P(F = 1) = e^−x and E(1/F) =
    (1 − e^−x) / x, with x = λ (1 − π). log μ is a sum of terms of up to `order` columns; its likeliest values have the
    counts of the sample for each such set of columns, and are found by proportional fitting from equal ones. Values
    that do not occur are no combinations. Cost O(cells · terms) for each round, memory O(cells).

    References
    ----------
    C. J. Skinner, N. Shlomo, "Assessing identification risk in survey microdata using log-linear models", JASA 103,
    2008: their standard model for simple random samples. Weighted estimates and their choice of terms are not here.
    """
    codes, shape = _numbered(keys)
    cells = math.prod(shape)
    problems = cell_problems(keys.names, shape)
    if problems:
        raise PolicyError(*problems)
    flat = np.ravel_multi_index(tuple(codes), shape)
    sample = np.bincount(flat, weights=keys.records, minlength=cells).astype(np.float64).reshape(shape)
    fitted, rounds, difference = _fitted(sample, order)
    unique = np.flatnonzero(keys.records == 1)
    means = fitted.ravel()[flat[unique]] / fraction
    return LogLinearRisk(order, fraction, cells, rounds, difference, unique, means)


def cell_problems(names: tuple[str, ...], shape: tuple[int, ...]) -> list[str]:
    """Say that there are too many combinations of values, if so."""
    if math.prod(shape) <= MOST_CELLS:
        return []
    widest = max(range(len(shape)), key=shape.__getitem__)
    return [
        f"log_linear: {len(shape)} columns have {math.prod(shape):,} combinations of values, at most {MOST_CELLS:,} "
        f"are fitted; leave columns out, or group the values of {names[widest]!r}, which has {shape[widest]:,}"
    ]


def _numbered(keys: Keys) -> tuple[list[NDArray[np.int64]], tuple[int, ...]]:
    """Return the codes of the classes column by column, without gaps, and how many there are of each."""
    codes = []
    for column in keys.columns:
        values, numbers = np.unique(column, return_inverse=True)
        codes.append((len(values), numbers.astype(np.int64)))
    return [numbers for _, numbers in codes], tuple(count for count, _ in codes)


def _fitted(sample: Floats, order: int) -> tuple[Floats, int, float]:
    """Return the likeliest means of all cells, float64 of the shape of `sample`, the rounds, and what is left."""
    terms = list(_terms(sample.ndim, order))
    counts = [sample.sum(axis=rest, keepdims=True) for rest in terms]
    fitted = np.full(sample.shape, sample.sum() / sample.size)
    rounds, difference = 0, math.inf
    # Terms without columns in common are met in one pass.
    while rounds < ROUNDS and difference > TOLERANCE:
        difference = 0.0
        for rest, count in zip(terms, counts, strict=True):
            held = fitted.sum(axis=rest, keepdims=True)
            difference = max(difference, float(np.abs(held - count).max()))
            fitted *= np.divide(count, held, out=np.zeros_like(held), where=held > 0)
        rounds += 1
    return fitted, rounds, difference


def _terms(columns: int, order: int) -> Iterator[tuple[int, ...]]:
    """Return, for each set of columns of the largest size, the columns that are not in it."""
    for chosen in combinations(range(columns), min(order, columns)):
        yield tuple(column for column in range(columns) if column not in chosen)


def order_problems(order: object, columns: int, *, sampled: bool) -> list[str]:
    """Say what is wrong with the size of terms that was asked for."""
    if order is None:
        return []
    problems = []
    if isinstance(order, bool) or not isinstance(order, int) or not 1 <= order <= columns:
        problems.append(f"log_linear: must be a whole number from 1 to {counted(columns, 'column')}, of a term at most")
    if not sampled:
        problems.append(
            "log_linear: needs a sampling_fraction, weights or a population to know how many people there are"
        )
    return problems
