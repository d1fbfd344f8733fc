"""How many of a population are alone with their values, estimated from a sample.

All that the models of Pitman, Zayatz and the slide negative binomial use is how many classes there are of each size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, lgamma, log, log1p, pi, sqrt
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_SMALL_FRACTION = 0.1
"""Sampling fraction up to which the rule trusts Pitman's model."""


@dataclass(frozen=True)
class PopulationUniqueness:
    """Estimated share of the population that is unique in it."""

    fraction: float  # sampling fraction that the estimates start from
    pitman: float
    zayatz: float
    snb: float | None  # slide negative binomial; None where it does not fit
    chosen: str  # ``"pitman"``, ``"zayatz"`` or ``"snb"``: the one that Dankar's rule takes

    @property
    def share(self) -> float:
        """The estimate of the chosen model."""
        return float(getattr(self, self.chosen))


def population_uniqueness(records: NDArray[np.int64], fraction: float) -> PopulationUniqueness:
    """Estimate the share of population uniques from the sizes of the sample's classes.

    `records`: int64 (c,): records in each class. `fraction`: sampling fraction, above 0 to 1. The rule: Pitman's model
    up to a fraction of 0.1; beyond, the smaller of the slide negative binomial's and Zayatz' estimate, or Zayatz' if
    the former has none. F. K. Dankar, K. El Emam, A. Neisa, T. Roffey, "Estimating the re-identification risk of
    clinical data sets", BMC Medical Informatics and Decision Making 12:66, 2012.
    """
    counts = SizeCounts.of(records)
    by_pitman, by_zayatz = pitman(counts, fraction), zayatz(counts, fraction)
    by_snb = slide_negative_binomial(counts, fraction)
    chosen = "pitman" if fraction <= _SMALL_FRACTION else _beyond(by_zayatz, by_snb)
    return PopulationUniqueness(fraction, by_pitman, by_zayatz, by_snb, chosen)


def chosen_share(counts: SizeCounts, fraction: float) -> float:
    """Return the estimate that the rule takes, without those that it does not look at."""
    if fraction <= _SMALL_FRACTION:
        return pitman(counts, fraction)
    by_zayatz, by_snb = zayatz(counts, fraction), slide_negative_binomial(counts, fraction)
    return by_zayatz if by_snb is None or _beyond(by_zayatz, by_snb) == "zayatz" else by_snb


def _beyond(by_zayatz: float, by_snb: float | None) -> str:
    """Choose for large fractions."""
    return "zayatz" if by_snb is None or by_zayatz < by_snb else "snb"


_FEW = 1 << 17
"""Sizes up to which counting them in places is faster than sorting."""


@dataclass(frozen=True, eq=False)
class SizeCounts:
    """Sizes of classes, and how often each occurs."""

    sizes: NDArray[np.int64]  # (z,), rising
    classes: NDArray[np.int64]  # (z,): classes of each size

    @classmethod
    def of(cls, records: NDArray[np.int64]) -> SizeCounts:
        """Count classes of `records` each, int64 (c,)."""
        if not len(records) or records.max() > _FEW:
            sizes, classes = np.unique(records, return_counts=True)
            return cls(sizes, classes.astype(np.int64, copy=False))
        counts = np.bincount(records).astype(np.int64, copy=False)
        sizes = np.flatnonzero(counts).astype(np.int64, copy=False)
        return cls(sizes, counts[sizes])

    @cached_property
    def total(self) -> int:
        """Number of classes."""
        return int(self.classes.sum())

    @cached_property
    def records(self) -> int:
        """Number of records."""
        return int((self.sizes * self.classes).sum())

    @cached_property
    def larger_than(self) -> list[int]:
        """Number of classes larger than 1, 2, 3 and so on, as far as there are any; up to 16."""
        most = min(16, int(self.sizes.max(initial=1)) - 1)
        return [int(self.classes[self.sizes > size].sum()) for size in range(1, most + 1)]

    def above(self, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the sizes above one, int64, and the number of classes of each."""
        first = int(np.searchsorted(self.sizes, size, side="right"))
        return self.sizes[first:], self.classes[first:]

    def of_size(self, size: int) -> int:
        """Return the number of classes of a size."""
        return int(self.classes[self.sizes == size].sum())


_STEPS = 60
_CLOSE = 1e-14
_NEAR = 0.01


def sign_change(function: Callable[[float], float], low: float, high: float, near: float | None = None) -> float:
    """Return where `function` becomes negative, near a place; or the end of the range.

    Ridders' method: each step asks twice, and about doubles the digits; one that finds nothing better halves the range.
    C. J. F. Ridders, IEEE Transactions on Circuits and Systems 26(11), 1979.
    """
    low, left, high, right = _around(function, low, high, near)
    if left <= 0:
        return low
    if right > 0:
        return high
    last = inf
    for _ in range(_STEPS):
        half = (high - low) / 2
        middle = low + half
        inside = function(middle)
        # The signs of the ends differ, so that what is under the root is positive.
        guess = middle + half * inside / sqrt(inside * inside - left * right)
        found = function(guess)
        if abs(guess - last) <= _CLOSE * max(1.0, abs(guess)) or found == 0 or half <= _CLOSE * abs(middle):
            return guess
        last = guess
        for place, value in sorted(((middle, inside), (guess, found))):
            if value > 0:
                low, left = place, value
            elif place < high:
                high, right = place, value
                break
    return (low + high) / 2


def _around(
    function: Callable[[float], float], low: float, high: float, near: float | None
) -> tuple[float, float, float, float]:
    """Return a range in which the sign changes, and the values at its ends: a small one where the place was likely."""
    if near is None:
        return low, function(low), high, function(high)
    width, start, stop = _NEAR, low, high
    at = min(max(near, low), high)
    left = right = function(at)
    if left > 0:
        start = at
        while right > 0 and at < high:
            start, left = at, right
            at = min(high, at + width)
            right, width = function(at), 4 * width
        return start, left, at, right
    stop = at
    while left <= 0 and at > low:
        stop, right = at, left
        at = max(low, at - width)
        left, width = function(at), 4 * width
    return at, left, stop, right


_SERIES = 12
"""Numbers from which on the series of log Γ has all digits."""


def zayatz(counts: SizeCounts, fraction: float) -> float:
    """Estimate the share of the population that is unique in it.

    The classes of the population are assumed to have the sizes of those of the sample. Bayes' rule then gives the
    probability that a sample unique is unique in the population, with each size sampled without replacement. `counts`:
    sizes of the sample's classes. `fraction`: sampling fraction, above 0 to 1. Returns: 0 if the sample has no uniques.
    L. Zayatz, "Estimation of the percent of unique population elements on a microdata file using the sample", 1991; as
    F. K. Dankar and others, "Estimating the re-identification risk of clinical data sets", 2012, appendix A.
    """
    uniques = counts.of_size(1)
    if not uniques:
        return 0.0
    population = round(counts.records / fraction)
    alone = _one_sampled(counts.sizes, counts.records, population)
    expected = float((counts.classes / counts.total * alone).sum())
    probability = uniques / counts.total * counts.records / population / expected
    return uniques * probability / counts.records


def most_alone(share: float, records: int, fraction: float) -> float:
    """Return the share of `records` alone in the sample above which the estimate is above `share`.

    Of n records u are alone. A class of i ≥ 2 records has one of them sampled with a chance of at most i n / N · c, for
    c = (N − n) / (N − 1). So the estimate is at least u² / (n (u + (n − u) c)), which grows with u.
    """
    population = round(records / fraction)
    rest = (population - records) / max(population - 1, 1)
    linear = share * (1 - rest)
    return (linear + sqrt(linear * linear + 4 * share * rest)) / 2


def _one_sampled(sizes: NDArray[np.int64], sample: int, population: int) -> NDArray[np.float64]:
    """Return the probability, for each size, that a population class has exactly one sampled record; float64 (z,)."""
    others = population - sample
    possible = sizes <= others + 1
    # Product over the size − 1 records that are left out: (others − i) / (population − 1 − i).
    some = sizes[possible].astype(np.float64)
    left_out = _rise(others - some + 2, some - 1) - _rise(population - some + 1, some - 1)
    found = np.zeros(len(sizes))
    # A product of shares; logarithms of huge numbers are rounded beyond it.
    found[possible] = some * sample / population * np.exp(np.minimum(left_out, 0.0))
    return found


def _rise(start: NDArray[np.float64], way: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log Γ(start + way) − log Γ(start) of numbers of at least 1; float64, same shape."""
    return _log_gamma(start + way) - _log_gamma(start)


def _log_gamma(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of Γ at numbers of at least 1, to about 12 digits; float64, same shape."""
    small = values < _SERIES
    if small.any():
        found = np.empty_like(values)
        found[small] = [lgamma(value) for value in values[small].tolist()]
        found[~small] = _log_gamma(values[~small])
        return found
    square = 1 / (values * values)
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / values
    result: NDArray[np.float64] = (values - 0.5) * np.log(values) - values + 0.5 * log(2 * pi) + series
    return result


_GRID = np.concatenate([np.logspace(-9, -2, 200), np.linspace(0.01, 0.99, 400)[1:], 1 - np.logspace(-2, -9, 200)[1:]])
"""Values of β between which the search looks for solutions."""


def slide_negative_binomial(counts: SizeCounts, fraction: float) -> float | None:
    """Estimate the share of the population that is unique in it.

    The size of a population class, less one, is negative binomial with parameters α and β, so K classes have K β^α
    uniques. α and β are chosen so that the expected numbers of sample classes of one and of two records equal the
    observed ones; K is Shlosser's modified estimate of the number of classes of the population. `fraction`: sampling
    fraction π, above 0 to 1. Returns: None if no α and β fit. If several do, the pair whose population is nearest to
    the real size.

    α follows from β in closed form, as the positive root of a quadratic; β is found between neighbours on a grid where
    the sign changes, instead of Newton's method in both from one start, which may miss the solution. G. Chen, S.
    Keller-McNulty, "Estimation of identification disclosure risk in microdata", 1998; for K: P. J. Haas and others,
    "Sampling-based estimation of the number of distinct values of an attribute", 1995.
    """
    ones, twos = counts.of_size(1), counts.of_size(2)
    if not ones:
        return 0.0
    if fraction >= 1:
        return ones / counts.records
    classes = shlosser(counts, fraction)
    if not twos or not np.isfinite(classes):
        return None
    population = counts.records / fraction
    found = [(beta, _alpha(beta, fraction, twos / ones)) for beta in _roots(classes, fraction, ones, twos)]
    shares = [(abs(classes * (1 + alpha * (1 - beta) / beta) - population), beta, alpha) for beta, alpha in found]
    if not shares:
        return None
    _, beta, alpha = min(shares)
    return float(min(1.0, classes * beta**alpha / population))


def shlosser(counts: SizeCounts, fraction: float) -> float:
    """Estimate the number of classes of the population (Shlosser's estimate as modified by Haas and others)."""
    sizes, classes = counts.sizes.astype(np.float64), counts.classes
    squared = fraction * fraction
    missed = ((1 - fraction) ** sizes * classes).sum()
    once = (sizes * fraction * (1 - fraction) ** (sizes - 1) * classes).sum()
    spread = (sizes * squared * (1 - squared) ** (sizes - 1) * classes).sum()
    # (1 − π)^i ((1 + π)^i − 1), written so that large classes do not overflow.
    scale = (((1 - squared) ** sizes - (1 - fraction) ** sizes) * classes).sum()
    return float(counts.total + counts.of_size(1) * spread / scale * (missed / once) ** 2)


def _alpha(beta: float, fraction: float, ratio: float) -> float:
    """Return the α that makes the expected ratio of pairs to uniques in the sample the observed one."""
    share = (1 - beta) * (1 - fraction)
    rest = 1 - share
    square = fraction * (1 - beta) * share
    linear = fraction * (1 - beta) * (2 - share) - 2 * ratio * rest * share
    constant = -2 * ratio * rest * rest
    # The quadratic's positive root, in the form that loses no digits.
    root = sqrt(linear * linear - 4 * square * constant)
    return -2 * constant / (linear + root) if linear > 0 else (root - linear) / (2 * square)


def _excess(beta: float, classes: float, fraction: float, ones: int, twos: int) -> float:
    """Return the expected uniques of the sample over the observed ones, less one."""
    alpha = _alpha(beta, fraction, twos / ones)
    share = (1 - beta) * (1 - fraction)
    rest = 1 - share
    return float(classes * fraction * (beta / rest) ** alpha * (1 + alpha * share / rest) / ones - 1)


def _roots(classes: float, fraction: float, ones: int, twos: int) -> list[float]:
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        values = _grid_excess(classes, fraction, ones, twos)
        changes = np.isfinite(values[:-1]) & np.isfinite(values[1:]) & (values[:-1] * values[1:] <= 0)
    return [
        _between(float(_GRID[place]), float(_GRID[place + 1]), bool(values[place] > 0), classes, fraction, ones, twos)
        for place in np.flatnonzero(changes)
    ]


def _grid_excess(classes: float, fraction: float, ones: int, twos: int) -> NDArray[np.float64]:
    """Return :func:`_excess` on the whole grid at once; what a root is looked for between, no more."""
    shares = (1 - _GRID) * (1 - fraction)
    rest, ratio = 1 - shares, twos / ones
    square = fraction * (1 - _GRID) * shares
    linear = fraction * (1 - _GRID) * (2 - shares) - 2 * ratio * rest * shares
    constant = -2 * ratio * rest * rest
    root = np.sqrt(linear * linear - 4 * square * constant)
    alpha = np.where(linear > 0, -2 * constant / (linear + root), (root - linear) / (2 * square))
    excess: NDArray[np.float64] = classes * fraction * (_GRID / rest) ** alpha * (1 + alpha * shares / rest) / ones - 1
    return excess


def _between(low: float, high: float, falling: bool, classes: float, fraction: float, ones: int, twos: int) -> float:
    sign = 1 if falling else -1
    return sign_change(lambda beta: sign * _excess(beta, classes, fraction, ones, twos), low, high)


_LEAST, _MOST = 1e-7, 1 - 1e-9
_SMALL = 1e-3
"""α below which sums are added up term by term."""
_PITMAN_SERIES = 10
_Real = TypeVar("_Real", float, NDArray[np.float64])
_NEWTON = 0.01
"""α above which, and below 1 less which, Newton's method is tried."""
_PITMAN_STEPS = 20
_PITMAN_CLOSE = 1e-11


def pitman(counts: SizeCounts, fraction: float) -> float:
    """Estimate the share of the population that is unique in it.

    The classes of sample and population are assumed to follow Pitman's sampling formula with parameters θ and α, which
    are estimated from the sample by maximum likelihood. `fraction`: sampling fraction, above 0 to 1. Returns: expected
    uniques among the N records of the population, over N; 0 if the sample has none.

    θ and α are found by Newton's method; where it does not get there, θ for each α where the slope of the likelihood
    changes its sign, and α in the same way for the best θ. *Departures*: the exact expectation Γ(θ+1) / Γ(θ+α) · N
    Γ(θ+α+N−1) / Γ(θ+N) instead of its limit for large N; if α tends to 0, Ewens' formula is used rather than no answer.
    N. Hoshino, "Applying Pitman's sampling formula to microdata disclosure risk assessment", 2001.
    """
    if not counts.of_size(1):
        return 0.0
    population = counts.records / fraction
    if counts.total == counts.records:
        # All records differ: the likelihood grows up to α = 1, at which everybody is unique.
        return 1.0
    theta, alpha = pitman_parameters(counts)
    return min(1.0, _expected_uniques(theta, alpha, population) / population)


def pitman_parameters(counts: SizeCounts) -> tuple[float, float]:
    """Return the θ and α of the largest likelihood; α from 1e-7, which stands for Ewens' formula."""
    return _by_newton(counts) or _by_sign_changes(counts)


def _by_newton(counts: SizeCounts) -> tuple[float, float] | None:
    """Return where both slopes are 0, from the limit of large samples; None where it does not get there."""
    alpha = min(max(counts.of_size(1) / counts.total, _NEWTON), 1 - _NEWTON)
    theta = _theta(counts, alpha)
    for _ in range(_PITMAN_STEPS):
        inside, bend = _inside(counts, alpha)
        by_theta, by_alpha = _slope_theta(counts, theta, alpha), _outside(counts, theta, alpha) - inside
        in_theta, mixed, in_alpha = _curvatures(counts, theta, alpha, bend)
        determinant = in_theta * in_alpha - mixed * mixed
        # There is a hill only where the likelihood falls on all sides.
        if in_theta >= 0 or determinant <= 0:
            return None
        step_theta = (by_theta * in_alpha - by_alpha * mixed) / determinant
        step_alpha = (by_alpha * in_theta - by_theta * mixed) / determinant
        theta, alpha = theta - step_theta, alpha - step_alpha
        if not (_NEWTON < alpha < 1 - _NEWTON and theta > -alpha):
            return None
        if abs(step_alpha) <= _PITMAN_CLOSE * alpha and abs(step_theta) <= _PITMAN_CLOSE * (theta + alpha):
            return theta, alpha
    return None


def _curvatures(counts: SizeCounts, theta: float, alpha: float, inside: float) -> tuple[float, float, float]:
    """Return the second derivatives of the log-likelihood: twice by θ, by both, twice by α; `inside` is of classes."""
    place, last = theta / alpha, counts.total - 1
    gain, bend = _digamma_gain(place + 1, last), _trigamma_gain(place + 1, last)
    in_theta = bend / alpha**2 - _trigamma_gain(theta + 1, counts.records - 1)
    mixed = -(gain + place * bend) / alpha**2
    return in_theta, mixed, (place * (2 * gain + place * bend) - last) / alpha**2 - inside


def _by_sign_changes(counts: SizeCounts) -> tuple[float, float]:
    """Return the same by looking for α where the slope with the best θ changes its sign; slow and sure."""
    # The best θ moves little with α: each is looked for near the one before.
    theta = _theta(counts, _LEAST)

    def slope(alpha: float) -> float:
        nonlocal theta
        theta = _theta(counts, alpha, theta)
        return _slope_alpha(counts, theta, alpha)

    alpha = sign_change(slope, _LEAST, _MOST)
    return _theta(counts, alpha, theta), alpha


def _theta(counts: SizeCounts, alpha: float, near: float | None = None) -> float:
    """Return the likeliest θ above −α for an α, which may be `near`; the logarithm of θ + α is looked for."""
    low, high = log(1e-9), log(1e4 * counts.records)
    likely = None if near is None else log(max(near + alpha, 1e-9))
    return exp(sign_change(lambda place: _slope_theta(counts, exp(place) - alpha, alpha), low, high, likely)) - alpha


def _slope_theta(counts: SizeCounts, theta: float, alpha: float) -> float:
    """Return the derivative of the log-likelihood by θ: Σ 1 / (θ + i α) − Σ 1 / (θ + i)."""
    classes = _digamma_gain(theta / alpha + 1, counts.total - 1)
    return classes / alpha - _digamma_gain(theta + 1, counts.records - 1)


def _slope_alpha(counts: SizeCounts, theta: float, alpha: float) -> float:
    """Return the derivative of the log-likelihood by α: Σ i / (θ + i α) − Σ over classes of Σ 1 / (i − α)."""
    return _outside(counts, theta, alpha) - _inside(counts, alpha)[0]


def _outside(counts: SizeCounts, theta: float, alpha: float) -> float:
    """Return Σ i / (θ + i α), i from 1 to below the number of classes."""
    if alpha < _SMALL:
        # The closed form is a small difference of large numbers.
        places = np.arange(1, counts.total)
        return float((places / (theta + places * alpha)).sum())
    return (counts.total - 1 - theta * _digamma_gain(theta / alpha + 1, counts.total - 1) / alpha) / alpha


def _inside(counts: SizeCounts, alpha: float) -> tuple[float, float]:
    """Return Σ over classes of Σ 1 / (i − α), and of Σ 1 / (i − α)², each i from 1 to below the size."""
    once = squared = 0.0
    # Term by term up to where the series have all digits.
    for i, larger in enumerate(counts.larger_than[:_PITMAN_SERIES], 1):
        term = 1 / (i - alpha)
        once += larger * term
        squared += larger * term * term
    sizes, classes = counts.above(_PITMAN_SERIES + 1)
    if len(sizes):
        start, stops = _PITMAN_SERIES + 1 - alpha, sizes.astype(np.float64) - alpha
        once += float(classes @ (_digamma_series(stops) - _digamma_series(start)))
        squared += float(classes @ (_trigamma_series(start) - _trigamma_series(stops)))
    return once, squared


def _expected_uniques(theta: float, alpha: float, population: float) -> float:
    log_ratio = lgamma(theta + alpha + population - 1) - lgamma(theta + population)
    return population * exp(lgamma(theta + 1) - lgamma(theta + alpha) + log_ratio)


def _digamma_gain(start: float, way: float) -> float:
    """Return how much :func:`digamma` grows from a positive number on, without losing digits; numbers, for speed."""
    stop, steps = start + way, 0.0
    # From there on the series has all digits.
    while start < _PITMAN_SERIES:
        steps += 1 / (start * stop)  # never 0: positive
        start, stop = start + 1, stop + 1
    low, high = 1 / (start * start), 1 / (stop * stop)
    curve = _curve(low) - _curve(high) + way * (start + stop) * low * high / 12
    return log1p(way / start) + way * (steps + 0.5 / (start * stop)) + curve


def _curve(square: float) -> float:
    """Return the terms of the asymptotic series after the first."""
    return -square * square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132)))


def _trigamma_gain(start: float, way: float) -> float:
    """Return how much the derivative of :func:`digamma` grows from a positive number on, which is downwards."""
    return _trigamma(start + way) - _trigamma(start)


def _trigamma(value: float) -> float:
    below = 0.0
    while value < _PITMAN_SERIES:
        below += 1 / (value * value)
        value += 1
    return below + _trigamma_series(value)


def _trigamma_series(values: _Real) -> _Real:
    """Return the derivative of :func:`digamma` from where the series has all digits."""
    square = 1 / (values * values)
    series = square * (1 / 6 - square * (1 / 30 - square * (1 / 42 - square / 30)))
    return (1 + 0.5 / values + series) / values


def _digamma_series(values: _Real) -> _Real:
    """Return :func:`digamma` from where the series has all digits."""
    square = 1 / (values * values)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    found: _Real = np.log(values) - 0.5 / values - series
    return found


def digamma(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithmic derivative of Γ at positive numbers, to about 12 digits; float64, same shape."""
    shifted = np.asarray(values, dtype=np.float64)
    correction = np.zeros_like(shifted)
    for _ in range(_PITMAN_SERIES):
        correction = correction + 1 / shifted
        shifted = shifted + 1
    return _digamma_series(shifted) - correction
