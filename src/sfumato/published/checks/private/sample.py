"""What a recipient can recount of a private sample, and what only its maker can attest."""

from __future__ import annotations

from sfumato.models.checks import Check, Outcome, promise_words
from sfumato.models.differential_privacy import DifferentialPrivacy
from sfumato.numbers import counted
from sfumato.published.checks.generalized import Verification
from sfumato.published.checks.private.promises import series_checks
from sfumato.published.checks.private.sampling import SampleBudget
from sfumato.published.private import SeriesSpent
from sfumato.published.private_sample import PrivateSample
from sfumato.published.roles import Roles

ATTESTED = (
    "that records were drawn at random, levels chosen with noise by OpenDP, and hierarchies declared before anybody "
    "looked at the data, cannot be seen in what was drawn; the steward attests it"
)


def sample_verification(
    published: PrivateSample, budget: SampleBudget, model: DifferentialPrivacy, series: SeriesSpent | None = None
) -> Verification:
    """Recount what follows from the published records, and say what of the promise does not."""
    checks = (
        Check(promise_words(model), Outcome.UNDECIDABLE, detail=ATTESTED, required=False),
        _classes(published, budget),
        _spent(budget, model),
        *series_checks(model, series),
    )
    classes = published.data.n_unique() if published.data.height else 0
    roles = Roles(published.quasi_identifying, published.sensitive)
    return Verification(checks, published.data.height, classes, "class", roles)


def _classes(published: PrivateSample, budget: SampleBudget) -> Check:
    promise = f"every record is alike in all columns with {budget.k - 1:,} others or more (k = {budget.k:,})"
    smallest = published.smallest()
    if smallest is not None and smallest < budget.k:
        return Check(promise, Outcome.BROKEN, detail=f"the smallest class has {counted(smallest, 'record')}")
    return Check(promise, Outcome.HOLDS)


def _spent(budget: SampleBudget, model: DifferentialPrivacy) -> Check:
    promise = (
        f"drawing {budget.share:.4g} of the records with k = {budget.k:,}, and the search that is said, cost no more "
        f"than ε = {model.epsilon:g}, δ = {model.delta:g}"
    )
    if not budget.is_within(model):
        return Check(promise, Outcome.BROKEN, detail="they cost more")
    searched = f"{counted(budget.nodes, 'node')} to choose from" if budget.scale is not None else "levels were named"
    return Check(promise, Outcome.HOLDS, detail=searched)
