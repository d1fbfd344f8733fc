"""Linear regressions on the original and on a release: coefficients, their confidence intervals, how these overlap."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from sfumato.evaluation.utility.bins import coarse
from sfumato.evaluation.utility.descriptives import Coefficient, Estimate, RegressionKept
from sfumato.evaluation.utility.domains import Domain, Floats
from sfumato.evaluation.utility.features import NUMBER_BINS
from sfumato.evaluation.utility.naming import bin_labels
from sfumato.evaluation.utility.records import Rows

CATEGORIES = 50
CONFIDENCE = 0.95
WIDTH = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
"""Standard errors on each side of a coefficient."""
ALIASED = 1e-7
"""A column of which less than this is left, once those before it are taken out, has no coefficient of its own."""
EXACT = 1e-9
"""An interval that is narrower than this share of its coefficient is nothing but rounding."""


def regression(target: Domain, on: Sequence[Domain], before: Rows, after: Rows) -> RegressionKept:
    """Regress a column of numbers on others, before and after.

    Parameters
    ----------
    target
        Numbers or dates.
    on
        Numbers and dates count as they are; of categories each has a column of its own but the most frequent one.
    before, after
        Records of the original and of the release. A range is its middle, a category its share in a cell; records with
        a missing value among the columns are left out.

    Notes
    -----
    Weighted least squares. Intervals of 95 % by the sandwich estimator of variance, times n / (n − p), with the
    quantile of the normal distribution: they hold for many records, unequal variances, and weights by unequal chances
    to be drawn; strata and clusters of a survey are not known here. Cost O(n p²).
    """
    names = ["(intercept)", *(name for domain in on for name in _names(domain))]
    sides = [_fitted(*_design(rows, target, on)) for rows in (before, after)]
    coefficients = tuple(
        Coefficient(name, one, other, _overlap(one, other))
        for name, one, other in zip(names, sides[0][0], sides[1][0], strict=True)
    )
    return RegressionKept(target.name, tuple(domain.name for domain in on), sides[0][1], sides[1][1], coefficients)


def _names(domain: Domain) -> list[str]:
    if domain.numbers is not None:
        return [domain.name]
    labels = bin_labels(domain, coarse(domain, NUMBER_BINS, CATEGORIES))[:-1]
    return [f"{domain.name} = {label}" for place, label in enumerate(labels) if place != _usual(domain)]


def _usual(domain: Domain) -> int:
    """Return the bin of the most frequent category, the first of several."""
    bins = coarse(domain, NUMBER_BINS, CATEGORIES)
    return int(np.bincount(bins.bin_of[domain.codes], minlength=bins.count + 1)[: max(bins.count, 1)].argmax())


def _design(rows: Rows, target: Domain, on: Sequence[Domain]) -> tuple[Floats, Floats, Floats]:
    """Return the columns, with the intercept first, the target, and the weights, of records where all are known."""
    wanted = rows.spreads[target.name].values()[rows.labels[target.name]]
    columns = np.hstack([np.ones((len(wanted), 1)), *(_columns(rows, domain) for domain in on)])
    known = ~np.isnan(wanted) & ~np.isnan(columns).any(axis=1)
    return columns[known], wanted[known], rows.weights[known]


def _columns(rows: Rows, domain: Domain) -> Floats:
    """Return a column of numbers, or one for each category but the usual one; NaN where the value is missing."""
    spread, label_of = rows.spreads[domain.name], rows.labels[domain.name]
    if domain.numbers is not None:
        return spread.values()[label_of][:, None]
    shares = spread.histogram(coarse(domain, NUMBER_BINS, CATEGORIES))
    known = shares[:, :-1].sum(axis=1, keepdims=True)
    among = np.full((len(shares), shares.shape[1] - 1), np.nan)
    np.divide(shares[:, :-1], known, out=among, where=known > 0)
    found: Floats = np.delete(among, _usual(domain), axis=1)[label_of]
    return found


def _fitted(columns: Floats, wanted: Floats, weights: Floats) -> tuple[list[Estimate | None], int]:
    """Return each coefficient with its interval, None if it is not determined; and the number of records."""
    root = np.sqrt(weights / weights.mean()) if len(weights) else weights
    scaled, goal = columns * root[:, None], wanted * root
    kept, basis = _independent(scaled)
    found: list[Estimate | None] = [None] * columns.shape[1]
    freedom = len(goal) - len(kept)
    if freedom < 1:
        return found, len(goal)
    upper = basis.T @ scaled[:, kept]
    projected = basis.T @ goal
    values = np.linalg.solve(upper, projected)
    errors = goal - basis @ projected
    turned = np.linalg.solve(upper, basis.T * errors)
    spread = WIDTH * np.sqrt((turned**2).sum(axis=1) * len(goal) / freedom)
    for place, value, width in zip(kept, values.tolist(), spread.tolist(), strict=True):
        found[place] = Estimate(value, value - width, value + width)
    return found, len(goal)


def _independent(columns: Floats) -> tuple[list[int], Floats]:
    """Return which columns do not follow from those before them, and an orthonormal basis of them.

    They are taken in their order, so that what is left out does not depend on rounding.
    """
    kept: list[int] = []
    basis = np.empty((len(columns), 0))
    for place, column in enumerate(columns.T):
        rest = column
        for _ in range(2):
            # The second time takes out what rounding left the first time.
            rest = rest - basis @ (basis.T @ rest)
        length = float(np.linalg.norm(rest))
        if length > ALIASED * float(np.linalg.norm(column)):
            kept.append(place)
            basis = np.column_stack([basis, rest / length])
    return kept, basis


def _overlap(one: Estimate | None, other: Estimate | None) -> float | None:
    """Return the mean share of both intervals that lies in the other; None without two intervals that have a width."""
    if one is None or other is None:
        return None
    widths = [each.high - each.low for each in (one, other)]
    if any(width <= EXACT * abs(each.value) for width, each in zip(widths, (one, other), strict=True)):
        return None
    common = max(min(one.high, other.high) - max(one.low, other.low), 0.0)
    return sum(common / width for width in widths) / 2
