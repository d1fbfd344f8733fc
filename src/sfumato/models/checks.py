"""The outcome of checking a promise, for every kind of release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Protocol

from sfumato.models.protocol import Achieved
from sfumato.numbers import counted

_NEEDS_POPULATION = "it speaks of people of a population; recount it with the table of the population"
"""What is said of a promise where no table of the population is at hand."""

_NEEDS_ORIGINAL = "it compares with all original records, of which some may have been left out; the steward attests it"
"""What is said of a promise to somebody who has the published records alone."""


class _Promised(Protocol):
    """Anything with a name and parameters that can be promised."""

    name: ClassVar[str]

    def parameters(self) -> Mapping[str, object]:
        """Return the parameters by name."""
        ...


class Outcome(StrEnum):
    """Result of a check."""

    HOLDS = "holds"
    BROKEN = "broken"
    UNDECIDABLE = "not verifiable from the release"
    ABSENT = "not promised"


@dataclass(frozen=True)
class Check:
    """One promise, its outcome, what the table really has (`achieved`), and `detail` without any value of the table.

    `required`: whether verification fails while it is undecided. `of_population`, `of_original`: whether nobody can
    recount it without a population, or the records that were left out.
    """

    promise: str
    outcome: Outcome
    achieved: tuple[Achieved, ...] = ()
    detail: str = ""
    required: bool = True
    of_population: bool = False
    of_original: bool = False

    def __str__(self) -> str:
        """Write it as one line, e.g. ``"holds: k-anonymity (k=5) (achieved k=6)"``."""
        achieved = f"achieved {', '.join(map(str, self.achieved))}" if self.achieved else ""
        note = "; ".join(part for part in (achieved, self.detail) if part)
        return f"{self.outcome}: {self.promise}" + (f" ({note})" if note else "")


def unknown_population(promise: str) -> Check:
    """Say that a promise about a population cannot be recounted without a table of it."""
    return Check(promise, Outcome.UNDECIDABLE, detail=_NEEDS_POPULATION, required=False, of_population=True)


def unknown_original(promise: str) -> Check:
    """Say that a promise which compares with all original records cannot be recounted from those that are left."""
    return Check(promise, Outcome.UNDECIDABLE, detail=_NEEDS_ORIGINAL, required=False, of_original=True)


def promise_words(model: _Promised) -> str:
    """Name a model with its parameters, e.g. ``"k-anonymity (k=5)"``."""
    parameters = ", ".join(f"{name}={_word(value)}" for name, value in model.parameters().items() if value is not None)
    return f"{model.name} ({parameters})" if parameters else model.name


def _word(value: object) -> str:
    if isinstance(value, Mapping):
        return f"declared, {counted(len(value), 'value')}"
    return f"[{', '.join(map(repr, value))}]" if isinstance(value, (list, tuple)) else str(value)
