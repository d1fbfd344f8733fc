"""What a recipient can recount of a release under differential privacy, and what only its maker can attest."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.models.checks import Check, Outcome, promise_words
from sfumato.models.differential_privacy import DifferentialPrivacy
from sfumato.numbers import counted, figure
from sfumato.published.checks.generalized import Verification
from sfumato.published.private import PrivateMarginals, SeriesSpent
from sfumato.published.roles import Roles

# The arithmetic of a privacy budget, as a recipient can do it again from what a release says of its noise.
#
# It shares nothing with the maker, which asks OpenDP what each draw costs.


What = Literal["counts", "choice"]
Mechanism = Literal["discrete Laplace", "discrete Gaussian"]


@dataclass(frozen=True)
class BudgetStep:
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
    steps: tuple[BudgetStep, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"mechanism": self.mechanism, "steps": [asdict(step) for step in self.steps]}

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Budget:
        """Read plain values, or raise ValueError, KeyError or TypeError."""
        steps = tuple(BudgetStep(**step) for step in entry["steps"])
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


def step_cost(mechanism: Mechanism, step: BudgetStep, records: int) -> Fraction:
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


def total_cost(mechanism: Mechanism, steps: Sequence[BudgetStep], records: int) -> Fraction:
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


ATTESTED = (
    "that this noise was drawn once, by OpenDP, and that the domains were declared before anybody looked at the data, "
    "cannot be seen in what was drawn; the steward attests it"
)
CLOSE = 1e-6
"""Difference of counts, a cell, that comes of writing them with six places."""


def private_verification(
    published: PrivateMarginals, budget: Budget, model: DifferentialPrivacy, series: SeriesSpent | None = None
) -> Verification:
    """Recount what follows from the published tables, and say what of the promise does not."""
    checks = (
        _attested(model),
        _domains(published),
        _spent(published, budget, model),
        _consistent(published),
        *_synthetic(published),
        *series_checks(model, series),
    )
    cells = sum(noisy.size for noisy in published.noisy)
    records = 0 if published.records is None else len(published.records)
    roles = Roles(published.quasi_identifying, published.sensitive)
    return Verification(checks, records, cells, "cell", roles)


def _attested(model: DifferentialPrivacy) -> Check:
    return Check(promise_words(model), Outcome.UNDECIDABLE, detail=ATTESTED, required=False)


def _domains(published: PrivateMarginals) -> Check:
    """Say that all cells are there; tables that lack one could not have been put together."""
    cells = sum(noisy.size for noisy in published.noisy)
    return Check(
        "every marginal has every cell of the declared domains once, each with a whole noisy count",
        Outcome.HOLDS,
        detail=f"{counted(cells, 'cell')} of {counted(len(published.sets), 'marginal')}",
    )


def _spent(published: PrivateMarginals, budget: Budget, model: DifferentialPrivacy) -> Check:
    promise = f"noise of the scales that are said costs no more than ε = {model.epsilon:g}, δ = {model.delta:g}"
    if budget.counted() != len(published.sets):
        return Check(promise, Outcome.BROKEN, detail="release.json speaks of noise on other marginals than there are")
    if (budget.mechanism == "discrete Laplace") != (model.delta == 0):
        return Check(promise, Outcome.BROKEN, detail="noise of that kind does not go with that δ")
    if not is_within(budget, model):
        return Check(promise, Outcome.BROKEN, detail="it costs more")
    noise = f"{budget.mechanism}, standard deviation up to {figure(budget.deviation(), 4)} a count"
    return Check(promise, Outcome.HOLDS, detail=noise)


def _consistent(published: PrivateMarginals) -> Check:
    promise = "fitted counts are not negative, have one total, and agree where marginals overlap"
    worst = max(_differences(published), default=0.0)
    negative = any(not np.isfinite(counts).all() or (counts < 0).any() for counts in published.counts)
    # Sums of floats differ by a rounding for each million records, too.
    if negative or worst > CLOSE * (1 + 1e-6 * published.total):
        return Check(promise, Outcome.BROKEN, detail="they do not")
    return Check(promise, Outcome.HOLDS)


def _differences(published: PrivateMarginals) -> Iterator[float]:
    """Say by how much every two marginals differ in what they share, for each cell that was summed over."""
    tables = list(zip(published.sets, published.counts, strict=True))
    for (one, counts), (other, others) in combinations(tables, 2):
        shared = [name for name in one if name in other]
        first, second = _summed(counts, one, shared), _summed(others, other, shared)
        yield float(np.abs(first - second).max()) / max(counts.size / first.size, others.size / second.size)


def _summed(counts: NDArray[np.float64], names: tuple[str, ...], kept: list[str]) -> NDArray[np.float64]:
    gone = tuple(axis for axis, name in enumerate(names) if name not in kept)
    rest = [name for name in names if name in kept]
    summed: NDArray[np.float64] = np.transpose(counts.sum(axis=gone), [rest.index(name) for name in kept])
    return summed


def series_checks(model: DifferentialPrivacy, series: SeriesSpent | None) -> Iterator[Check]:
    """Say what a series is said to have spent; other releases are not here, but this one is part of the sum."""
    if series is None:
        return
    promise = f"the series has spent no more than ε = {series.epsilon:g}, δ = {series.delta:g} up to this release"
    if series.epsilon < model.epsilon or series.delta < model.delta:
        yield Check(promise, Outcome.BROKEN, detail="this release alone spends more")
    else:
        detail = "other releases are not part of this one; the steward attests what they spent"
        yield Check(promise, Outcome.UNDECIDABLE, detail=detail, required=False)


def _synthetic(published: PrivateMarginals) -> Iterator[Check]:
    """Hold synthetic records against the fitted counts: they must not tell more than these."""
    if published.records is None:
        return
    promise = "synthetic records follow the fitted counts"
    names, total = list(published.domains), len(published.records)
    worst = 0.0
    for members, counts in zip(published.sets, published.counts, strict=True):
        places = [names.index(name) for name in members]
        cells = np.ravel_multi_index(list(published.records[:, places].T), counts.shape)
        held = np.bincount(cells, minlength=counts.size)
        fitted = np.clip(counts.ravel(), 0.0, None)
        share = fitted / fitted.sum() if fitted.sum() else np.full(counts.size, 1 / counts.size)
        # Eight standard deviations of independent draws: no honest draw is that far off, and even steps are closer.
        limit = 8 * np.sqrt(total * share * (1 - share)) + 16
        worst = max(worst, float((np.abs(held - total * share) / limit).max()))
    outcome = Outcome.HOLDS if worst <= 1 else Outcome.BROKEN
    detail = f"{counted(total, 'record')}, nobody's" if worst <= 1 else "some counts are too far from them"
    yield Check(promise, outcome, detail=detail)
