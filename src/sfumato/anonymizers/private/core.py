"""Noise and private choices: all of them drawn by OpenDP's core, and nowhere else."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.models.differential_privacy import DifferentialPrivacy
from sfumato.published.checks.private.promises import Mechanism
from sfumato.table.sources.extras import library

_TOO_LITTLE = "epsilon: is so small that no noise of this size can be drawn; raise it"
_LARGEST = 1e30
"""Scale up to which noise is drawn; whole numbers of 64 bits end long before."""

CHOICE_SHARE = Fraction(1, 5)
"""Of the budget, for choosing pairs where they are chosen by data."""


def opendp() -> Any:
    """Import OpenDP.

    Raises ``InputError`` when it is not installed, with what installs it.
    """
    core = library("opendp.prelude", extra="dp", what="releases under differential privacy")
    core.enable_features("contrib")
    return core


@dataclass(frozen=True)
class NoiseCore:
    """OpenDP's measurements, for one mechanism and bound on a person's records.

    Costs are in ε for discrete Laplace noise, in ρ (zero-concentrated differential privacy) for discrete Gaussian.
    `dp`: ``opendp.prelude``. `records`: of a person, at most.
    """

    dp: Any
    mechanism: Mechanism
    records: int

    @classmethod
    def of(cls, model: DifferentialPrivacy) -> NoiseCore:
        """Take the mechanism that a model asks for: Gaussian noise where δ is above 0."""
        return cls(opendp(), "discrete Gaussian" if model.delta else "discrete Laplace", model.records)

    def counts_cost(self, marginals: int, scale: float) -> float:
        """Return what noise of a scale on all cells of some marginals costs."""
        return float(self._noise(scale).map(self._distance(marginals)))

    def choice_cost(self, scale: float) -> float:
        """Return what one choice by scores costs, of which a record changes each by at most 1."""
        return float(self._largest(scale).map(self.records))

    def draw(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """Return counts with noise, int64 as they came; cost O(cells), about 20 µs for each."""
        return np.array(self._noise(scale)(counts.tolist()), dtype=np.int64)

    def choose(self, scores: NDArray[np.int64], scale: float) -> int:
        """Return the place of the noisy largest score."""
        return int(self._largest(scale)(scores.tolist()))

    def choose_rising(self, scores: NDArray[np.int64], step: int, scale: float) -> tuple[int, float]:
        """Return the place of the noisy largest score, and what that cost of ε.

        A record changes scores by at most `step`, all in the same direction. Noise is exponential ("permute and flip":
        R. McKenna, D. Sheldon, NeurIPS 2020), whose choice is never worse than that of the exponential mechanism.
        """
        rising = self.dp.linf_distance(T="i64", monotonic=True)
        largest = self.dp.m.make_noisy_max(self._counts, rising, self.dp.max_divergence(), scale=scale)
        return int(largest(scores.tolist())), float(largest.map(step))

    def budget(self, model: DifferentialPrivacy) -> Fraction:
        """Return ε, or the largest ρ that OpenDP turns into (ε, δ) or less."""
        if self.mechanism == "discrete Laplace":
            return Fraction(model.epsilon)
        # The conversion depends on ρ alone, so that any measurement which costs ρ will do. Larger scales cost less.
        low, high = -20.0, 80.0
        if self._epsilon(2.0**high, model.delta) > model.epsilon:
            raise PolicyError(_TOO_LITTLE)
        for _ in range(60):
            middle = (low + high) / 2
            if self._epsilon(2.0**middle, model.delta) <= model.epsilon:
                high = middle
            else:
                low = middle
        return Fraction(float(self._gaussian(2.0**high).map(1.0)))

    def _epsilon(self, scale: float, delta: float) -> float:
        converted = self.dp.c.make_zCDP_to_approxDP(self._gaussian(scale))
        try:
            return float(converted.map(1.0).epsilon(delta))
        except self.dp.OpenDPException:
            # Of so little noise that ε is beyond all numbers.
            return math.inf

    def _noise(self, scale: float) -> Any:
        return self._gaussian(scale) if self.mechanism == "discrete Gaussian" else self._laplace(scale)

    def _distance(self, marginals: int) -> float | int:
        """Return how much a person changes the cells of some marginals together, never rounded down."""
        if self.mechanism == "discrete Laplace":
            return marginals * self.records
        return math.nextafter(math.sqrt(marginals * self.records**2), math.inf)

    def _laplace(self, scale: float) -> Any:
        return self.dp.m.make_laplace(self._counts, self.dp.l1_distance(T="i64"), scale=scale)

    def _gaussian(self, scale: float) -> Any:
        return self.dp.m.make_gaussian(self._counts, self.dp.l2_distance(T="f64"), scale=scale)

    def _largest(self, scale: float) -> Any:
        gaussian = self.mechanism == "discrete Gaussian"
        measure = self.dp.zero_concentrated_divergence() if gaussian else self.dp.max_divergence()
        return self.dp.m.make_noisy_max(self._counts, self.dp.linf_distance(T="i64"), measure, scale=scale)

    @property
    def _counts(self) -> Any:
        return self.dp.vector_domain(self.dp.atom_domain(T="i64"))


def smallest_scale(cost: Callable[[float], Fraction], budget: Fraction, first: float) -> float:
    """Return a scale whose cost, which falls with it, is within a budget: `first`, or a hair above it.

    Raises ``PolicyError`` when the budget asks for more noise than can be drawn.
    """
    scale, step = first, 2.0**-50
    while scale <= _LARGEST and cost(scale) > budget:
        scale, step = scale * (1 + step), 2 * step
    if scale > _LARGEST:
        raise PolicyError(_TOO_LITTLE)
    return scale
