"""Base of the models that compare classes with a distribution: that of the published records, or another one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Self

from sfumato.classes.statistics import ClassStatistics, SensitiveCounts
from sfumato.errors import PolicyError
from sfumato.models.protocol import PrivacyModel, Rule
from sfumato.models.reference import (
    Distribution,
    Originals,
    Reference,
    View,
    distribution_of,
    frozen_reference,
    mistakes_in,
)
from sfumato.models.sensitive import SensitiveModel


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
        said = dict(super().parameters())
        if isinstance(self.reference, Originals):
            said["reference"] = "original"
        return said

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
