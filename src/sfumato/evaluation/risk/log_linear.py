"""Risk in the population by log-linear models: how many who are unique in a sample are unique in the population."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.evaluation.risk.adversaries import Keys
from sfumato.numbers import counted

_Floats = NDArray[np.float64]
Estimate = Literal["standard", "pseudo-likelihood"]
Terms = int | Sequence[Sequence[str]]

_MOST_CELLS = 1 << 26
"""Cells of the table of all combinations of values, which is held in memory."""
_ROUNDS = 200
TOLERANCE = 1e-4
"""Largest difference to a count, in records of average weight, at which fitting ends."""


@dataclass(frozen=True, eq=False, repr=False)
class LogLinearRisk:
    """What a log-linear model says of the records that are unique in the table.

    `terms`: Columns that are fitted together, each set of them as far as no other holds it. `order`: Columns of a term
    at most: 1 are main effects, 2 pairs. `estimate`: ``"standard"`` or ``"pseudo-likelihood"``. `fraction`: Sampling
    fraction. `cells`: Combinations of values that there could be. `difference`: Largest difference to a count that
    fitting left, in records of average weight. `parameters`: Parameters of the model, for comparing models. `deviance`:
    Twice the log-likelihood that a model with a term of all columns has more; None without a likelihood. `unique`:
    Integers (u,): the classes of one record. `means`: float64 (u,): expected people of the population like each of
    them, before its own record is seen. `sampled`: float64 (u,): chance that somebody like it is in the sample.
    """

    terms: tuple[tuple[str, ...], ...]
    estimate: Estimate
    fraction: float
    cells: int
    rounds: int
    difference: float
    parameters: int
    deviance: float | None
    unique: NDArray[np.integer]
    means: _Floats
    sampled: _Floats

    @property
    def order(self) -> int:
        """Columns of a term at most."""
        return max(map(len, self.terms))

    @property
    def criterion(self) -> float | None:
        """Akaike's: deviance and twice the parameters; of two models the lower is the better. None without one."""
        return None if self.deviance is None else self.deviance + 2 * self.parameters

    @property
    def chances(self) -> _Floats:
        """Chance of each unique record to be unique in the population; float64 (u,)."""
        return np.exp(-self._others)

    @property
    def matches(self) -> _Floats:
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
    def _others(self) -> _Floats:
        return self.means * (1.0 - self.sampled)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "order": self.order,
            "terms": [list(term) for term in self.terms],
            "estimate": self.estimate,
            "fraction": self.fraction,
            "cells": self.cells,
            "rounds": self.rounds,
            "difference": self.difference,
            "parameters": self.parameters,
            "deviance": self.deviance,
            "sample_uniques": len(self.unique),
            "expected_uniques": self.expected_uniques,
            "expected_matches": self.expected_matches,
        }


def log_linear_risk(keys: Keys, fraction: float, asked: Terms, people: _Floats | None = None) -> LogLinearRisk:
    """Fit a log-linear model to the counts of all combinations, and read the risk of unique records off it.

    `fraction`: Sampling fraction π, above 0 to 1. `asked`: Columns of a term at most; or the terms, each a list of
    columns. Columns in none have their main effect. `people`: float64 (c,): people whom each class stands for, the sum
    of its sampling weights. With them it is an estimate by pseudo-likelihood; None: the standard one, of a simple
    random sample. Raises PolicyError when there are too many combinations of values.

    F people of the population have a combination, Poisson with mean λ; of them f are in the sample, Poisson with mean μ
    = π λ, and the others do not depend on f. So of a record that is unique in the sample P(F = 1) = e^−x and E(1/F) =
    (1 − e^−x) / x, with x = λ (1 − π). log μ is a sum of terms of up to `order` columns; its likeliest values have the
    counts of the sample for each such set of columns, and are found by proportional fitting from equal ones. Values
    that do not occur are no combinations. By pseudo-likelihood λ has the weighted counts for each set of columns, and
    the π of a record is 1 over its weight. Cost O(cells · terms) for each round, memory O(cells).

    C. J. Skinner, N. Shlomo, "Assessing identification risk in survey microdata using log-linear models", JASA 103,
    2008: their standard model for simple random samples, and the pseudo-likelihood for complex ones; the full text was
    not at hand. Their tests that choose terms are not here.
    """
    codes, shape = _numbered(keys)
    cells = math.prod(shape)
    problems = _cell_problems(keys.names, shape)
    if problems:
        raise PolicyError(*problems)
    flat = np.ravel_multi_index(tuple(codes), shape)
    terms = _solve(asked, len(shape), keys.names)
    counted_as = keys.records if people is None else people * fraction
    sample = np.bincount(flat, weights=counted_as, minlength=cells).astype(np.float64).reshape(shape)
    fitted, rounds, difference = _fitted(sample, terms)
    unique = np.flatnonzero(keys.records == 1)
    means = fitted.ravel()[flat[unique]] / fraction
    sampled = np.full(len(unique), fraction) if people is None else np.minimum(1.0, 1.0 / people[unique])
    return LogLinearRisk(
        terms=tuple(tuple(keys.names[place] for place in term) for term in terms),
        estimate="standard" if people is None else "pseudo-likelihood",
        fraction=fraction,
        cells=cells,
        rounds=rounds,
        difference=difference,
        parameters=_parameters(terms, shape),
        deviance=_deviance(sample, fitted) if people is None else None,
        unique=unique,
        means=means,
        sampled=sampled,
    )


def _cell_problems(names: tuple[str, ...], shape: tuple[int, ...]) -> list[str]:
    """Say that there are too many combinations of values, if so."""
    if math.prod(shape) <= _MOST_CELLS:
        return []
    widest = max(range(len(shape)), key=shape.__getitem__)
    return [
        f"log_linear: {len(shape)} columns have {math.prod(shape):,} combinations of values, at most {_MOST_CELLS:,} "
        f"are fitted; leave columns out, or group the values of {names[widest]!r}, which has {shape[widest]:,}"
    ]


def _numbered(keys: Keys) -> tuple[list[NDArray[np.int64]], tuple[int, ...]]:
    """Return the codes of the classes column by column, without gaps, and how many there are of each."""
    codes = []
    for column in keys.columns:
        values, numbers = np.unique(column, return_inverse=True)
        codes.append((len(values), numbers.astype(np.int64)))
    return [numbers for _, numbers in codes], tuple(count for count, _ in codes)


def _fitted(sample: _Floats, terms: Sequence[tuple[int, ...]]) -> tuple[_Floats, int, float]:
    """Return the likeliest means of all cells, float64 of the shape of `sample`, the rounds, and what is left."""
    others = [tuple(column for column in range(sample.ndim) if column not in term) for term in terms]
    counts = [sample.sum(axis=rest, keepdims=True) for rest in others]
    fitted = np.full(sample.shape, sample.sum() / sample.size)
    rounds, difference = 0, math.inf
    # Terms without columns in common are met in one pass.
    while rounds < _ROUNDS and difference > TOLERANCE:
        difference = 0.0
        for rest, count in zip(others, counts, strict=True):
            held = fitted.sum(axis=rest, keepdims=True)
            difference = max(difference, float(np.abs(held - count).max()))
            fitted *= np.divide(count, held, out=np.zeros_like(held), where=held > 0)
        rounds += 1
    return fitted, rounds, difference


def _solve(asked: Terms, columns: int, names: Sequence[str]) -> list[tuple[int, ...]]:
    """Return the terms as places of columns, those that no other holds: all of a size, or those that were named."""
    if isinstance(asked, int):
        return list(combinations(range(columns), min(asked, columns)))
    sets = [frozenset(map(names.index, term)) for term in asked]
    sets += [frozenset({place}) for place in range(columns)]
    largest = [each for each in dict.fromkeys(sets) if not any(each < other for other in sets)]
    return sorted(tuple(sorted(each)) for each in largest)


def _parameters(terms: Sequence[tuple[int, ...]], shape: Sequence[int]) -> int:
    """Count the parameters: of each set of columns within a term, as many as its values less one, multiplied."""
    within = {chosen for term in terms for size in range(len(term) + 1) for chosen in combinations(term, size)}
    return sum(math.prod(shape[place] - 1 for place in chosen) for chosen in within)


def _deviance(sample: _Floats, fitted: _Floats) -> float:
    occurs = sample > 0
    return 2.0 * float((sample[occurs] * np.log(sample[occurs] / fitted[occurs])).sum())


def order_problems(
    asked: object, names: Sequence[str], estimate: object, *, sampled: bool, weighted: bool
) -> list[str]:
    """Say what is wrong with the terms, or their size, and the estimate that were asked for."""
    if estimate not in get_args(Estimate):
        return [f"log_linear_estimate: must be one of {', '.join(get_args(Estimate))}"]
    if asked is None:
        return [] if estimate == "standard" else ["log_linear_estimate: belongs to log_linear, which is not asked for"]
    problems = list(_term_problems(asked, names))
    if estimate == "pseudo-likelihood" and not weighted:
        problems.append("log_linear_estimate: pseudo-likelihood needs the sampling weights of records (weights)")
    if not sampled:
        problems.append(
            "log_linear: needs a sampling_fraction, weights or a population to know how many people there are"
        )
    return problems


def _term_problems(asked: object, names: Sequence[str]) -> Iterator[str]:
    if isinstance(asked, Sequence) and not isinstance(asked, str):
        named = [term for term in asked if isinstance(term, Sequence) and not isinstance(term, str) and term]
        if len(named) < len(asked) or not asked:
            yield "log_linear: terms must be lists of columns, at least one and none of them empty"
        strangers = dict.fromkeys(name for term in named for name in term if name not in names)
        for name in strangers:
            yield f"log_linear: {name!r} is no quasi-identifying column"
    elif isinstance(asked, bool) or not isinstance(asked, int) or not 1 <= asked <= len(names):
        yield f"log_linear: must be a whole number from 1 to {counted(len(names), 'column')}, of a term at most"
