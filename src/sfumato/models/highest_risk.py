"""Highest risk: nobody is linked with a larger chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.k_map import KMap
from sfumato.models.protocol import Achieved, Rule
from sfumato.models.says import CheckedModel, at_least
from sfumato.options import Share


@dataclass(frozen=True)
class HighestRisk(CheckedModel):
    """No published record is linked to the right person with a chance above `risk`.

    Guarantee: k-anonymity, or k-map, with a k of 1/risk, rounded up, said as a risk.

    Parameters
    ----------
    risk
        Above 0 to 1.
    adversary
        ``"prosecutor"``: knows who is in the table. ``"journalist"``: compares with a register of the population, of
        which a table has to be given. None is the prosecutor. A marketer has no highest risk.

    References
    ----------
    K. El Emam, "Guide to the De-Identification of Personal Health Information", 2013, chapter 16.
    """

    risk: Share
    adversary: Literal["prosecutor", "journalist"] | None = None

    name: ClassVar[str] = "highest-risk"
    one_record_each: ClassVar[bool] = True
    lasting: ClassVar[bool] = True
    speaks_of: ClassVar = frozenset({"classes"})
    in_words: ClassVar[str] = "no published record is linked to the right person with a chance above {risk}"

    @property
    def needs_population(self) -> bool:
        """Whether the attacker compares with a register."""
        return self.adversary == "journalist"

    @property
    def survives_suppression(self) -> bool:
        """Return True: a class keeps its risk, whatever else is left out."""
        return True

    @property
    def class_size(self) -> int:
        """Records that a class needs."""
        return 1 if self.needs_population else self._k

    def least_class_size(self) -> int:
        """Return the records that a class needs."""
        return self.class_size

    @property
    def _k(self) -> int:
        return at_least(1.0 / self.risk)

    @property
    def _model(self) -> KAnonymity | KMap:
        return KMap(self._k) if self.needs_population else KAnonymity(self._k)

    def holds(self, statistics: ClassStatistics) -> NDArray[np.bool_]:
        """Tell for each class whether its risk is within the bound; bool (c,)."""
        return self._model.holds(statistics)

    def achieved(self, statistics: ClassStatistics) -> Sequence[Achieved]:
        """Return the largest risk of a class; 0 without classes."""
        [found] = self._model.achieved(statistics)
        return [Achieved("risk", 1.0 / found.value)]

    def rules(self, attributes: Sequence[str]) -> Sequence[Rule]:
        """Return the rules of k-anonymity or k-map."""
        return self._model.rules(attributes)

    def explain(self, statistics: ClassStatistics) -> str | None:
        """Say that there are too few records or people, or None."""
        if self.holds(statistics).all():
            return None
        what = "people of the population are known to be covered" if self.needs_population else "records"
        counts = statistics.population if self.needs_population else statistics.sizes
        found = 0 if counts is None else int(counts.sum())
        if found >= self._k:
            return None
        return f"{self.name} asks for risk = {self.risk:g}, one in {self._k}, but only {found} {what}; raise risk"
