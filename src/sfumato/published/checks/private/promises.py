"""What a recipient can recount of a release under differential privacy, and what only its maker can attest."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.models.checks import Check, Outcome, promise_words
from sfumato.models.differential_privacy import DifferentialPrivacy
from sfumato.numbers import counted, figure
from sfumato.published.checks.generalized import Verification
from sfumato.published.checks.private.budget import Budget, is_within
from sfumato.published.private import PrivateMarginals, SeriesSpent
from sfumato.published.roles import Roles

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
