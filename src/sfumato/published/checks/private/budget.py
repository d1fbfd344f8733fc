"""The arithmetic of a privacy budget, as a recipient can do it again from what a release says of its noise.

It shares nothing with the maker, which asks OpenDP what each draw costs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

from sfumato.models.differential_privacy import DifferentialPrivacy

What = Literal["counts", "choice"]
Mechanism = Literal["discrete Laplace", "discrete Gaussian"]


@dataclass(frozen=True)
class Step:
    """What was drawn at one scale.

    Attributes
    ----------
    what : str
        ``"counts"``: noise was added to all cells of marginals. ``"choice"``: pairs of columns were chosen, each by
        the noisy largest of scores that one record changes by at most 1.
    times : int
        How many marginals, or pairs.
    scale : float
        Of the noise: b of discrete Laplace, σ of discrete Gaussian, that of the noise on scores.
    spent : float
        Of the budget: ε of discrete Laplace, ρ of discrete Gaussian; as OpenDP worked it out.
    """

    what: What
    times: int
    scale: float
    spent: float


@dataclass(frozen=True)
class Budget:
    """How ε was spent.

    Attributes
    ----------
    mechanism : str
        Of the noise on counts.
    steps : tuple of Step
    """

    mechanism: Mechanism
    steps: tuple[Step, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"mechanism": self.mechanism, "steps": [asdict(step) for step in self.steps]}

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Budget:
        """Read plain values, or raise ValueError, KeyError or TypeError."""
        steps = tuple(Step(**step) for step in entry["steps"])
        for step in steps:
            whole = isinstance(step.times, int) and not isinstance(step.times, bool) and step.times >= 1
            sizes = all(isinstance(size, (int, float)) and 0 < size < math.inf for size in (step.scale, step.spent))
            if step.what not in get_args(What) or not whole or not sizes:
                raise ValueError
        if entry["mechanism"] not in get_args(Mechanism):
            raise ValueError
        return cls(entry["mechanism"], steps)

    def counted(self) -> int:
        """Return how many marginals the noise was drawn for."""
        return sum(step.times for step in self.steps if step.what == "counts")

    def deviation(self) -> float:
        """Return the standard deviation of the noise on a count, of the widest step."""
        return max(deviation(self.mechanism, step.scale) for step in self.steps if step.what == "counts")


def deviation(mechanism: Mechanism, scale: float) -> float:
    """Return the standard deviation of noise of this scale (of discrete Gaussian noise no less than it has)."""
    if mechanism == "discrete Gaussian":
        return scale
    # The root of 2q/(1-q)² for q = exp(-1/b), written so that nothing cancels; of tiny scales nothing is left of it.
    return 0.0 if scale < 1e-3 else 1 / (math.sqrt(2) * math.sinh(1 / (2 * scale)))


def step_cost(mechanism: Mechanism, step: Step, records: int) -> Fraction:
    """Return what a step costs, exactly: ε of discrete Laplace, ρ of discrete Gaussian.

    Notes
    -----
    A person has at most m records, each in one cell of every marginal. So t marginals change by t·m in sum (L1):
    Laplace costs t·m / b. With all m records in the same cells they change by √t·m (L2): Gaussian costs t·m² / 2σ².
    A score changes by at most m, up or down: the noisy largest costs 2m / b, or (2m / b)² / 8 in ρ, each time.
    """
    scale = Fraction(step.scale)
    if mechanism == "discrete Gaussian":
        return step.times * Fraction(records) ** 2 / (2 * scale**2)
    return step.times * records * (2 if step.what == "choice" else 1) / scale


def total_cost(mechanism: Mechanism, steps: Sequence[Step], records: int) -> Fraction:
    """Return what all steps cost together, exactly."""
    return sum((step_cost(mechanism, step, records) for step in steps), Fraction(0))


def is_within(budget: Budget, model: DifferentialPrivacy) -> bool:
    """Tell whether the steps cost no more than the model allows, and each no more than is said."""
    costs = [step_cost(budget.mechanism, step, model.records) for step in budget.steps]
    if any(cost > Fraction(step.spent) for cost, step in zip(costs, budget.steps, strict=True)):
        return False
    said = sum((Fraction(step.spent) for step in budget.steps), Fraction(0))
    if budget.mechanism == "discrete Laplace":
        return said <= Fraction(model.epsilon)
    return model.delta > 0 and epsilon_of(float(said), model.delta) <= model.epsilon * (1 + 1e-6)


def epsilon_of(rho: float, delta: float) -> float:
    """Return an ε such that ρ-zero-concentrated differential privacy is (ε, `delta`)-differential privacy.

    Notes
    -----
    Every α > 1 gives one; the least of them is looked for by bisecting where they stop to fall. *Source.* C. Canonne,
    G. Kamath, T. Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020, Proposition 12.
    """

    def bound(exponent: float) -> float:
        above = math.exp(exponent)
        alpha = 1 + above
        return alpha * rho - (math.log(delta) + math.log(above) - alpha * math.log(above / alpha)) / above

    low, high = -30.0, 60.0
    for _ in range(300):
        third = (high - low) / 3
        if bound(low + third) < bound(high - third):
            high -= third
        else:
            low += third
    return max(0.0, bound((low + high) / 2))
