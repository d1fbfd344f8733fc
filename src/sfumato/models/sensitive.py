"""Base of models of sensitive attributes: which attributes they protect, and how classes give a verdict."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics, SensitiveCounts, as_one_class
from sfumato.errors import PolicyError
from sfumato.models.protocol import TOLERANCE, TRAITS, Achieved, CheckedModel, PrivacyModel, Rule
from sfumato.models.reference import (
    Distribution,
    Originals,
    Reference,
    View,
    distribution_of,
    frozen_reference,
    mistakes_in,
)


class SensitiveModel(CheckedModel, ABC):
    """A bound on one `measure` of the sensitive values of every class, from which all follows.

    `attribute` comes last.
    """

    attribute: str | None
    """The sensitive attribute that the model protects; None protects every one, each by itself."""
    code: ClassVar[int]
    """Predicate of :mod:`sfumato.kernels.predicates`."""
    speaks_of: ClassVar = frozenset({"classes", "buckets", "marginals"})
    bounded: ClassVar[str]
    """Parameter that bounds the measure."""
    at_least: ClassVar[bool]
    """Whether the measure must reach the bound (diversity) or stay within it (distances, shares)."""
    remedy: ClassVar[str]
    """What to relax if even the whole table fails."""

    @property
    def survives_suppression(self) -> bool:
        """Tell whether classes are judged alone, and not compared with the whole table."""
        return not TRAITS[self.code].relative

    @abstractmethod
    def measure(self, counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the value of the bounded parameter that each class really has; float64 (c,)."""

    def within(self, measured: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Compare measured values with the bound; bool (c,)."""
        bound: float = getattr(self, self.bounded)
        return (
            np.greater_equal(measured, bound - TOLERANCE)
            if self.at_least
            else np.less_equal(measured, bound + TOLERANCE)
        )

    def holds(self, statistics: ClassStatistics) -> NDArray[np.bool_]:
        """Tell for each class whether every protected attribute is within the bound; bool (c,)."""
        verdict = np.ones(statistics.count, dtype=np.bool_)
        for counts in self._protected(statistics):
            verdict &= self.within(self.measure(counts, statistics.sizes))
        return verdict

    def achieved(self, statistics: ClassStatistics) -> Sequence[Achieved]:
        """Return the value of the worst class for each protected attribute; without classes infinite, or 0."""
        return [
            Achieved(self.bounded, self._worst(self.measure(counts, statistics.sizes)), counts.name)
            for counts in self._protected(statistics)
        ]

    def rules(self, attributes: Sequence[str]) -> Sequence[Rule]:
        """Return one compiled rule per protected attribute, given the names of all sensitive attributes."""
        first, second = (*self._bounds(), 0.0)[:2]
        return [Rule(self.code, name, first, second) for name in self._selected(attributes)]

    def explain(self, statistics: ClassStatistics) -> str | None:
        """Say why no partition can satisfy the model, or None: what all records together fail, each one fails."""
        whole = as_one_class(statistics)
        reached = [
            (counts, measured[0])
            for counts in self._protected(whole)
            for measured in [self.measure(counts, whole.sizes)]
            if not self.within(measured)[0]
        ]
        sentences = (self._sentence(counts.name, value) + self._instead(counts, whole) for counts, value in reached)
        return "; ".join(sentences) or None

    def _instead(self, counts: SensitiveCounts, whole: ClassStatistics) -> str:
        """Name other models that all records in one class satisfy."""
        return ""

    def _bounds(self) -> tuple[float, ...]:
        return (getattr(self, self.bounded),)

    def _worst(self, measured: NDArray[np.float64]) -> float:
        if self.at_least:
            return float(measured.min(initial=math.inf))
        return float(measured.max(initial=0.0))

    def _sentence(self, attribute: str, reached: float) -> str:
        bound = getattr(self, self.bounded)
        best = f"only {self.bounded} = {reached:.6g}" if math.isfinite(reached) else f"no {self.bounded} at all"
        return (
            f"{self.name} on {attribute!r} asks for {self.bounded} = {bound:g}, "
            f"but all records in one class reach {best}; {self.remedy}"
        )

    def _protected(self, statistics: ClassStatistics) -> list[SensitiveCounts]:
        return [statistics.sensitive[name] for name in self._selected(statistics.sensitive)]

    def _selected(self, names: Mapping[str, object] | Collection[str]) -> list[str]:
        if not names:
            raise PolicyError(f"{self.name}: the table has no sensitive attribute; give a column that role")
        if self.attribute is None:
            return list(names)
        if self.attribute not in names:
            known = ", ".join(repr(name) for name in names)
            raise PolicyError(f"{self.name}: there is no sensitive attribute {self.attribute!r}; there are: {known}")
        return [self.attribute]

    def _mistakes(self) -> Iterator[str]:
        if self.attribute is not None and not (isinstance(self.attribute, str) and self.attribute):
            yield f"{self.name}: attribute must be the name of a sensitive column"


class WholeTableModel(CheckedModel):
    """A bound on a figure of all classes together.

    Searches that know all classes of a candidate judge it as it is. For all others there is a model of classes that
    implies it, `stand_in`: they look for the weakest one whose solution satisfies the bound.
    """

    bounded: ClassVar[str]
    """The parameter that bounds the figure."""
    steady: ClassVar[bool] = True
    """Whether the figure never rises when classes are merged."""
    one_record_each: ClassVar[bool] = True
    speaks_of: ClassVar = frozenset({"classes"})

    @abstractmethod
    def figure_of(self, sizes: NDArray[np.int64], people: NDArray[np.int64] | None) -> float:
        """Return the figure for classes of these sizes, int64 (c,), that cover so many people of a population."""

    @abstractmethod
    def sufficient(self) -> int:
        """Return a k such that classes with `stand_in(k)` satisfy the bound."""

    @abstractmethod
    def stand_in(self, k: int) -> PrivacyModel:
        """Return the model of classes that takes the place of this one where classes are made one by one."""

    def most_alone(self, records: int) -> float | None:
        """Return the share of records alone in their class above which it never holds; None: no such share."""
        return None

    def weakness(self, sizes: NDArray[np.int64], people: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """Return by what classes are left out first, the smallest; int64 (c,)."""
        return sizes

    def within(self, sizes: NDArray[np.int64], people: NDArray[np.int64] | None) -> bool:
        """Tell whether the figure of these classes is within the bound."""
        return self.figure_of(sizes, people) <= float(getattr(self, self.bounded)) + TOLERANCE

    def holds(self, statistics: ClassStatistics) -> NDArray[np.bool_]:
        """Tell whether the table satisfies the model, of every class the same; bool (c,)."""
        verdict = not statistics.count or self.within(statistics.sizes, statistics.population)
        return np.full(statistics.count, verdict, dtype=np.bool_)

    def achieved(self, statistics: ClassStatistics) -> Sequence[Achieved]:
        """Return the figure of the table; 0 without classes."""
        found = self.figure_of(statistics.sizes, statistics.population) if statistics.count else 0.0
        return [Achieved(self.bounded, found)]

    def rules(self, attributes: Sequence[str]) -> Sequence[Rule]:
        """Return the rules of what implies it."""
        return self.stand_in(self.sufficient()).rules(attributes)

    def explain(self, statistics: ClassStatistics) -> str | None:
        """Say that not even one class of all records satisfies it, or None."""
        whole = as_one_class(statistics)
        found = self.figure_of(whole.sizes, whole.population)
        bound = float(getattr(self, self.bounded))
        if found <= bound + TOLERANCE:
            return None
        return (
            f"{self.name} asks for {self.bounded} = {bound:g}, but all records in one class reach {found:.6g}; raise "
            f"{self.bounded}"
        )


def whole_table_models(models: Sequence[PrivacyModel]) -> list[WholeTableModel]:
    """Return those of `models` that bound a figure of the whole table."""
    return [model for model in models if isinstance(model, WholeTableModel)]


def left_after(
    models: Sequence[WholeTableModel],
    sizes: NDArray[np.int64],
    people: NDArray[np.int64] | None,
    kept: NDArray[np.bool_],
    room: int,
) -> NDArray[np.bool_]:
    """Leave classes out, the weakest by the first model that fails first, equals at a time, until all hold; bool (c,).

    `room`: records that may go; where that does not suffice, or nothing holds, nothing is left. Cost O(c · s) for s
    sizes.
    """
    kept, least = kept.copy(), int(sizes[kept].sum()) - room
    while kept.any():
        if int(sizes[kept].sum()) < least:
            return np.zeros_like(kept)
        here = None if people is None else people[kept]
        broken = next((model for model in models if not model.within(sizes[kept], here)), None)
        if broken is None:
            break
        weakness = broken.weakness(sizes, people)
        kept &= weakness > weakness[kept].min()
    return kept


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
    """Return the models with the original as one class, where they compare; None: all are published."""
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
