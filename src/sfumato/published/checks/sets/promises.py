"""What became of the promises of published sets, recounted from them alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.errors import VerificationError
from sfumato.models.checks import Check, Outcome, promise_words
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.km_anonymity import KmAnonymity
from sfumato.models.protocol import Achieved
from sfumato.numbers import counted
from sfumato.published.checks.generalized import Verification
from sfumato.published.checks.sets.counting import SizeCount, count_combinations
from sfumato.published.roles import Roles
from sfumato.published.sets import PublishedSets

ONE_MEANING = "no item stands beside one that it is part of"


def set_verification(published: PublishedSets, models: Sequence[KmAnonymity], threads: int = 1) -> Verification:
    """Recount every promise of published sets.

    Raises
    ------
    InputError
        When there are more combinations than can be counted.
    """
    class_of = published.class_of
    members = np.bincount(class_of)
    checks = [_meaning(published)]
    for model in models:
        if published.beside is not None:
            checks.append(_of_classes(model, int(members.min())))
        counts = count_combinations(published.starts, published.items, class_of, model.m, model.k, threads)
        checks.append(_of_combinations(model, counts, None if published.beside is None else len(members)))
    quasi = () if published.beside is None else tuple(published.beside.columns)
    return Verification(tuple(checks), published.height, len(members), "class", Roles(quasi_identifying=quasi))


def _of_classes(model: KmAnonymity, smallest: int) -> Check:
    outcome = Outcome.HOLDS if smallest >= model.k else Outcome.BROKEN
    return Check(promise_words(KAnonymity(model.k)), outcome, (Achieved("k", smallest),))


def _of_combinations(model: KmAnonymity, counts: Sequence[SizeCount], classes: int | None) -> Check:
    """Judge the model by the rarest combination of each size."""
    least = min((count.least for count in counts if count.least is not None), default=None)
    achieved = () if least is None else (Achieved("k", least),)
    where = "" if classes is None else f" inside of {counted(classes, 'class')}"
    rare = sum(count.rare for count in counts)
    if not rare:
        told = f"{counted(sum(count.combinations for count in counts), 'combination')}{where}"
        return Check(promise_words(model), Outcome.HOLDS, achieved, told)
    told = f"{counted(rare, 'combination')} of at most {counted(model.m, 'item')}{where} occur in fewer records"
    return Check(promise_words(model), Outcome.BROKEN, achieved, told)


def _meaning(published: PublishedSets) -> Check:
    """Tell whether an original item can be published in one way only within a class: who knows it knows where to look.

    If an item stood beside one that it is part of, somebody who has the first might be published with the second.
    """
    try:
        above = {name: _above(name, published.broader) for name in published.names}
    except VerificationError as error:
        return Check(ONE_MEANING, Outcome.BROKEN, detail=str(error))
    numbers = {name: place for place, name in enumerate(published.names)}
    over = [(numbers[name], numbers[node]) for name, nodes in above.items() for node in nodes if node in numbers]
    if not over:
        return Check(ONE_MEANING, Outcome.HOLDS)
    classes = np.repeat(published.class_of, np.diff(published.starts)) * len(numbers)
    there = np.unique(classes + published.items)
    clashing = sum(
        len(np.intersect1d(there[there % len(numbers) == low] - low, there[there % len(numbers) == high] - high))
        for low, high in over
    )
    if not clashing:
        return Check(ONE_MEANING, Outcome.HOLDS)
    return Check(ONE_MEANING, Outcome.BROKEN, detail=f"{counted(clashing, 'item')} within a class")


def _above(name: str, broader: Mapping[str, str]) -> list[str]:
    """Return what stands above an item, the next coarser one first."""
    found: list[str] = []
    while name in broader:
        name = broader[name]
        if name in found or len(found) > len(broader):
            raise VerificationError("release.json names items above each other in a circle; it was changed")
        found.append(name)
    return found
