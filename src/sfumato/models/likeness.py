"""Base of the models that compare classes with a distribution: that of the published records, or another one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics, SensitiveCounts
from sfumato.errors import PolicyError
from sfumato.kernels.predicates import BETA, BETA_ENHANCED, DELTA
from sfumato.models.protocol import TOLERANCE, PrivacyModel, Rule
from sfumato.models.reference import (
    Distribution,
    Originals,
    Reference,
    View,
    distinct_values,
    distribution_of,
    frozen_reference,
    mistakes_in,
    ratios,
)
from sfumato.models.sensitive import SensitiveModel
from sfumato.options import Limit


class ComparingModel(SensitiveModel):
    """A bound on how far the sensitive values of a class are from those of the whole table.

    `reference` says what the whole table is. ``"published"`` (also None): the records that are published, which any
    recipient counts. ``"original"``: all records that were handed in; where some of them may be left out, nobody can
    recount it from the release, which must not tell what those had. A table of labels and shares: what somebody
    declares, such as a census; it is part of the promise, is published with it, and anybody can recount it.
    """

    reference: Reference

    def __post_init__(self) -> None:
        """Settle the reference so that models can be hashed."""
        object.__setattr__(self, "reference", frozen_reference(self.reference))
        super().__post_init__()
        if self.is_special:
            object.__setattr__(self, "one_record_each", True)
            object.__setattr__(self, "speaks_of", frozenset({"classes"}))

    @property
    def is_special(self) -> bool:
        """Whether it sees values otherwise than they are counted in the published table."""
        return self.reference not in (None, "published")

    @property
    def survives_suppression(self) -> bool:
        """Whether what it compares with stays the same when records are left out."""
        return isinstance(self.reference, (Distribution, Originals)) and bool(self.reference)

    @property
    def needs_original(self) -> bool:
        """Whether nobody can recount it who does not know the records that were left out."""
        return self.reference == "original"

    @property
    def of_original(self) -> bool:
        """Whether it compares with records of which some may have been left out."""
        return isinstance(self.reference, Originals) and bool(self.reference)

    @property
    def caveat(self) -> str:
        """Say who can count what it compares with."""
        return "compared with all original records, which the release does not tell" if self.of_original else ""

    def parameters(self) -> Mapping[str, Any]:
        """Return the parameters as plain values; what was counted of the original is not told."""
        parameters = dict(super().parameters())
        if isinstance(self.reference, Originals):
            parameters["reference"] = "original"
        return parameters

    def compared_with(self, originals: Originals) -> Self:
        """Return the same model for a table of which all original records have been counted."""
        if not self.needs_original:
            return self
        settings = {field.name: getattr(self, field.name) for field in fields(self)}
        return type(self)(**{**settings, "reference": originals})

    def rules(self, attributes: Sequence[str]) -> Sequence[Rule]:
        """Return one compiled rule per protected attribute, which says how it sees the values."""
        return [replace(rule, view=self._view(rule.attribute or "")) for rule in super().rules(attributes)]

    def _protected(self, statistics: ClassStatistics) -> list[SensitiveCounts]:
        found = super()._protected(statistics)
        return [counts if (view := self._view(counts.name)) is None else view.seen(counts) for counts in found]

    def _selected(self, names: Any) -> list[str]:
        found = super()._selected(names)
        if isinstance(self.reference, Distribution) and len(found) > 1:
            raise PolicyError(
                f"{self.name}: reference declares the shares of one attribute, and there are {len(found)}; name it"
            )
        return found

    def _view(self, name: str) -> View | None:
        if isinstance(self.reference, Originals):
            return View(self.reference[name]) if self.reference else None
        return View(self.reference) if isinstance(self.reference, Distribution) else None

    def _mistakes(self) -> Iterator[str]:
        yield from super()._mistakes()
        yield from (f"{self.name}: {mistake}" for mistake in mistakes_in(self.reference))


def compared_with_original(models: Sequence[PrivacyModel], whole: ClassStatistics | None) -> list[PrivacyModel]:
    """Return the models with the original records that some of them compare with.

    whole : all original records as one class; None where all of them are published, and can be counted there.
    """
    asking = [model for model in models if isinstance(model, ComparingModel) and model.needs_original]
    if not asking:
        return list(models)
    counted = {} if whole is None else {name: distribution_of(counts) for name, counts in whole.sensitive.items()}
    originals = Originals(counted)
    return [model.compared_with(originals) if isinstance(model, ComparingModel) else model for model in models]


def declared_values(models: Sequence[PrivacyModel]) -> set[str]:
    """Return the labels of all values that some model declares the share of."""
    references = [model.reference for model in models if isinstance(model, ComparingModel)]
    return {label for reference in references if isinstance(reference, Distribution) for label in reference}


# β-likeness: no sensitive value becomes much more likely inside a class; frequent values may have a tighter bound.


@dataclass(frozen=True)
class BasicBetaLikeness(ComparingModel):
    """The relative gain ``(q - p) / p`` of every sensitive value in every class is at most `beta`.

    `p` is the share of the value in the whole table, `q` in the class. Guarantee: finding a person's class raises the
    belief in any value by the factor ``1 + beta`` at most; rare values are protected like frequent ones. Losses of
    belief are not bounded.

    Parameters
    ----------
    beta
        A number above 0.
    attribute
        The sensitive attribute, or None for every one.
    reference
        What the whole table is: ``"published"`` (None), ``"original"``, or the share of every value by its label; see
        :class:`~sfumato.models.likeness.ComparingModel`.

    References
    ----------
    J. Cao, P. Karras, "Publishing microdata with a robust privacy guarantee", VLDB 2012.
    """

    beta: Annotated[float, Limit(0, above=True)]
    attribute: str | None = None
    reference: Reference = None

    name: ClassVar[str] = "basic-beta-likeness"
    in_words: ClassVar[str] = (
        "no sensitive value is more than {beta} times as frequent again among people who look alike"
    )
    code: ClassVar[int] = BETA
    bounded: ClassVar[str] = "beta"
    at_least: ClassVar[bool] = False
    remedy: ClassVar[str] = "raise beta"

    def measure(self, counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the largest relative gain of each class, at least 0; float64 (c,)."""
        # Some value of a class is always at least as frequent as in the table, so the largest ratio is 1 or more.
        return np.maximum.reduceat(ratios(counts, sizes), counts.starts[:-1]) - 1.0


@dataclass(frozen=True)
class EnhancedBetaLikeness(ComparingModel):
    """The relative gain of every sensitive value in every class is at most ``min(beta, -ln p)``.

    `p` is the share of the value in the whole table. Guarantee: as basic β-likeness, and no value becomes certain
    however large `beta` is, since ``p · (1 - ln p) < 1``.

    Parameters
    ----------
    beta
        A number above 0.
    attribute
        The sensitive attribute, or None for every one.
    reference
        What the whole table is: ``"published"`` (None), ``"original"``, or the share of every value by its label; see
        :class:`~sfumato.models.likeness.ComparingModel`.

    Notes
    -----
    The achieved value is the largest gain; it is infinite when some gain passes ``-ln p``, which no `beta` allows.

    References
    ----------
    J. Cao, P. Karras, "Publishing microdata with a robust privacy guarantee", VLDB 2012.
    """

    beta: Annotated[float, Limit(0, above=True)]
    attribute: str | None = None
    reference: Reference = None

    name: ClassVar[str] = "enhanced-beta-likeness"
    in_words: ClassVar[str] = "no sensitive value is much more frequent among people who look alike (β = {beta})"
    code: ClassVar[int] = BETA_ENHANCED
    bounded: ClassVar[str] = "beta"
    at_least: ClassVar[bool] = False
    remedy: ClassVar[str] = "raise beta"

    def measure(self, counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the largest gain of each class, infinite where a gain passes ``-ln p``; float64 (c,)."""
        gains = ratios(counts, sizes) - 1.0
        rarity = np.log(counts.height / counts.totals)[counts.values]
        allowed = np.where(gains > np.maximum(rarity, 0.0) + TOLERANCE, np.inf, gains)
        return np.maximum.reduceat(allowed, counts.starts[:-1])


# δ-disclosure privacy: every class looks like the whole table, value by value.


@dataclass(frozen=True)
class DeltaDisclosure(ComparingModel):
    """For every class and every sensitive value of the table, ``|ln(q / p)| < delta``.

    `p` is the share of the value in the whole table, `q` in the class. Guarantee: finding a person's class changes the
    belief in any value by a factor between ``exp(-delta)`` and ``exp(delta)``, excluded.

    Parameters
    ----------
    delta
        A number above 0.
    attribute
        The sensitive attribute, or None for every one.
    reference
        What the whole table is: ``"published"`` (None), ``"original"``, or the share of every value by its label; see
        :class:`~sfumato.models.likeness.ComparingModel`.

    Notes
    -----
    A value that a class lacks has ``q = 0`` and an infinite logarithm, so the class fails at every `delta` and the
    achieved value is infinite. Some programs skip such values; that is weaker than the definition (learning that a
    value is impossible is disclosure), and two classes that pass could then be merged into one that fails. The
    inequality is strict, so the achieved value is the bound that `delta` must exceed.

    References
    ----------
    J. Brickell, V. Shmatikov, "The cost of privacy: destruction of data-mining utility in anonymized data publishing",
    KDD 2008.
    """

    delta: Annotated[float, Limit(0, above=True)]
    attribute: str | None = None
    reference: Reference = None

    name: ClassVar[str] = "delta-disclosure"
    in_words: ClassVar[str] = (
        "no sensitive value is much more or less frequent among people who look alike (δ = {delta})"
    )
    code: ClassVar[int] = DELTA
    bounded: ClassVar[str] = "delta"
    at_least: ClassVar[bool] = False
    remedy: ClassVar[str] = "raise delta"

    def measure(self, counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the largest absolute logarithm of each class, infinite where a value is absent; float64 (c,)."""
        logarithms = np.abs(np.log(ratios(counts, sizes)))
        largest = np.maximum.reduceat(logarithms, counts.starts[:-1])
        return np.where(distinct_values(counts) < len(counts.totals), np.inf, largest)

    def within(self, measured: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Compare strictly with `delta`; bool (c,)."""
        return measured < self.delta - TOLERANCE
