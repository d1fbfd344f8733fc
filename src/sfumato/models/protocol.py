"""What a privacy model is: a pure function of class statistics, and its compiled form for hot loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics, SensitiveCounts
from sfumato.kernels.predicates import SLACK
from sfumato.numbers import figure

if TYPE_CHECKING:
    from sfumato.models.reference import View

TOLERANCE = SLACK
"""Slack of every comparison between a float and a bound."""


@dataclass(frozen=True)
class Rule:
    """Compiled form of one model on one sensitive attribute.

    Attributes
    ----------
    code : int
        Which predicate, one of the constants of :mod:`sfumato.kernels.predicates`.
    attribute : str or None
        The sensitive attribute that it looks at; None for models of sizes alone.
    first, second : float
        Parameters of the predicate.
    settle : callable, optional
        Returns the code for the attribute once its values are known, if the kind of the attribute decides.
    marks : callable, optional
        Tells which values of the attribute are guarded once they are known, bool (v,), if the predicate asks.
    view : View, optional
        How it sees the values, and what it compares with; None: as they are counted.
    """

    code: int
    attribute: str | None
    first: float
    second: float = 0.0
    settle: Callable[[SensitiveCounts], int] | None = field(default=None, compare=False)
    marks: Callable[[SensitiveCounts], NDArray[np.bool_]] | None = field(default=None, compare=False)
    view: View | None = None

    @property
    def column(self) -> tuple[str, View | None]:
        """The attribute as the rule sees it; of no attribute, the empty name."""
        return self.attribute or "", self.view


@dataclass(frozen=True)
class Achieved:
    """The value of one parameter that a table really has.

    Attributes
    ----------
    parameter : str
        ``"k"``, ``"l"``, ``"t"``, ...
    value : float
        For ``at_least`` parameters the largest that holds, else the smallest.
    attribute : str or None
        The sensitive attribute that decides, where there is one.
    """

    parameter: str
    value: float
    attribute: str | None = None

    def __str__(self) -> str:
        """Write it as in ``"l=3.2 on disease"``."""
        value = figure(self.value, grouped=False)
        return f"{self.parameter}={value}" + (f" on {self.attribute}" if self.attribute else "")

    def __repr__(self) -> str:
        """Write the value as everywhere else, without the last digits of a float."""
        value = figure(self.value, grouped=False)
        return f"Achieved(parameter={self.parameter!r}, value={value}, attribute={self.attribute!r})"


@runtime_checkable
class PrivacyModel(Protocol):
    """A requirement on every equivalence class.

    Implementations are frozen dataclasses that check their parameters (raising :class:`~sfumato.errors.PolicyError`),
    are equal by value and have a readable repr. Every model of the library is monotone: merging two classes that
    satisfy it gives a class that satisfies it.
    """

    name: ClassVar[str]
    """Name in policies and on the command line, e.g. ``"k-anonymity"``."""

    def holds(self, statistics: ClassStatistics) -> NDArray[np.bool_]:
        """Tell for each class whether it satisfies the model; bool (c,)."""
        ...

    def achieved(self, statistics: ClassStatistics) -> Sequence[Achieved]:
        """Return the values that the table really has, one per parameter and sensitive attribute."""
        ...

    def rules(self, attributes: Sequence[str]) -> Sequence[Rule]:
        """Return the compiled form, given the names of all sensitive attributes."""
        ...

    def explain(self, statistics: ClassStatistics) -> str | None:
        """Say in one sentence why no partition of these records can satisfy the model, or return None.

        The sentence names the model, what all records together reach, and what to relax; it holds no value of the data.
        """
        ...

    def parameters(self) -> Mapping[str, Any]:
        """Return the parameters as plain values, for policies and reports."""
        ...
