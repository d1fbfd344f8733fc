"""Base of models that bound one figure of the whole published table, not of each class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics, as_one_class
from sfumato.models.protocol import TOLERANCE, Achieved, PrivacyModel, Rule
from sfumato.models.says import CheckedModel


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
        """Return the share of records alone in their class above which it does not hold, whatever the other classes.

        None where there is none. Where all that may be alone are left out, nothing else is to break it.
        """
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
    """Leave classes out until all models hold: the weakest first, all that are equally weak at a time; bool (c,).

    `models`: the first that does not hold says which classes are weakest. `sizes`, `people`: int64 (c,). `kept`: bool
    (c,): the classes to begin with. `room`: records that may be left out at most; where that does not suffice, nothing
    is left. Cost O(c · s) for s different sizes. Nothing is left where nothing holds.
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
