"""Average risk: how many of the published records an attacker links rightly, on average."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.k_map import KMap
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import at_least
from sfumato.models.whole_table import WholeTableModel
from sfumato.options import Share

_Adversary = Literal["prosecutor", "journalist", "marketer"]


@dataclass(frozen=True)
class AverageRisk(WholeTableModel):
    """The chance that a published record is linked to the right person is at most `risk`, on average over the table.

    Guarantee: who links every record to one of the people that fit, at random, is right about a share of `risk` of them
    in expectation. Single people may be linked for certain: a bound for each of them is :class:`HighestRisk`.

    Parameters
    ----------
    risk
        Above 0 to 1.
    adversary
        ``"prosecutor"``: knows who is in the table; classes ÷ records. ``"marketer"``: links the records to a register
        of the population; the mean of 1 ÷ people covered over the records. ``"journalist"``: that, or classes ÷ people
        covered, whichever is larger. The last two need a table of the population. None is the prosecutor.

    References
    ----------
    K. El Emam, "Guide to the De-Identification of Personal Health Information", 2013, chapter 16.
    """

    risk: Share
    adversary: _Adversary | None = None

    name: ClassVar[str] = "average-risk"
    bounded: ClassVar[str] = "risk"
    in_words: ClassVar[str] = (
        "of all published records, a share of {risk} at most is linked to the right person on average"
    )

    @property
    def needs_population(self) -> bool:
        """Whether the attacker compares with a register."""
        return self.adversary not in (None, "prosecutor")

    def figure_of(self, sizes: NDArray[np.int64], people: NDArray[np.int64] | None) -> float:
        """Return the average risk of classes, int64 (c,) each."""
        records = int(sizes.sum())
        if not self.needs_population:
            return len(sizes) / records  # never 0: no class is empty
        assert people is not None
        marketer = float((sizes / people).sum()) / records
        return max(marketer, len(sizes) / int(people.sum())) if self.adversary == "journalist" else marketer

    def weakness(self, sizes: NDArray[np.int64], people: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """Return the people whom classes cover, or their sizes; int64 (c,)."""
        return people if people is not None and self.needs_population else sizes

    def sufficient(self) -> int:
        """Return 1/risk: where nobody has a higher risk, the average is none."""
        return at_least(1.0 / self.risk)

    def stand_in(self, k: int) -> PrivacyModel:
        """Return k-anonymity, or k-map."""
        return KMap(k) if self.needs_population else KAnonymity(k)
