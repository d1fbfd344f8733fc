"""Profitability: records are published only where attacks do not pay, or where publishing pays all the same."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.k_map import KMap, people_covered
from sfumato.models.protocol import Achieved, Rule
from sfumato.models.says import CheckedModel, at_least
from sfumato.options import Limit

_Amount = Annotated[float, Limit(0)]
_FARTHEST = 10**9
"""So many times one amount may be another: classes would have to be that large."""


@dataclass(frozen=True)
class Profitability(CheckedModel):
    """Nobody is published whom a rational attacker attacks at a greater loss than the record can be worth.

    The publisher gets `benefit` for a record that is published unchanged, and loses `loss` if its person is found. The
    attacker gains `gain` by that, pays `cost` for every attempt, and attacks a record that looks like k people's where
    ``gain / k > cost``.

    Guarantee: of every published record, attacking does not pay; or, unless `attack` is ``False``, the loss to be
    expected, ``loss / k``, is below `benefit`. It assumes that the attacker counts as told here: who wants to find
    somebody at any price is not deterred.

    Parameters
    ----------
    benefit
        What the publisher gets for a record that is published unchanged: above 0. All amounts are of one currency.
    loss
        What the publisher loses if the person of a record is found: 0 or above.
    gain
        What the attacker gains by that: 0 or above.
    cost
        What each attempt costs the attacker: 0 or above.
    adversary
        ``"prosecutor"`` (None): knows who is in the table; k is the size of the class. ``"journalist"``: has a register
        of the population, of which a table has to be given; k are the people whom the class covers.
    attack
        Whether records may be published that it pays to attack. ``False`` is the game without attacks; None is
        ``True``.

    Notes
    -----
    As a model it asks for k ≥ gain/cost or k > loss/benefit, whichever is less, of which merging keeps both. What
    generalization takes away from the benefit is no part of that: a recipient cannot count it. It is counted, and
    records whose payoff is not above 0 are left out, where the payoff itself is maximized
    (``Optimal(objective="payout")``).

    References
    ----------
    Z. Wan, Y. Vorobeychik, W. Xia, E. W. Clayton, M. Kantarcioglu, R. Ganta, R. Heatherly, B. A. Malin, "A game
    theoretic framework for analyzing re-identification risk", PLOS ONE 10(3), 2015. The full text was not at hand: the
    formulas are those of ARX's reading of it.
    """

    benefit: Annotated[float, Limit(0, above=True)]
    loss: _Amount
    gain: _Amount
    cost: _Amount
    adversary: Literal["prosecutor", "journalist"] | None = None
    attack: bool | None = None

    name: ClassVar[str] = "profitability"
    one_record_each: ClassVar[bool] = True
    lasting: ClassVar[bool] = True
    speaks_of: ClassVar = frozenset({"classes"})
    in_words: ClassVar[str] = (
        "no record is published of which an attack pays (gain {gain}, cost {cost}) and costs more than the record is "
        "worth (loss {loss}, benefit {benefit})"
    )

    @property
    def needs_population(self) -> bool:
        """Whether the attacker compares with a register."""
        return self.adversary == "journalist"

    @property
    def survives_suppression(self) -> bool:
        """Return True: a class is worth what it is worth, whatever else is left out."""
        return True

    @property
    def least(self) -> int:
        """The k that every class needs."""
        deterring = at_least(self.gain / self.cost) if self.cost else math.inf if self.gain else 1
        bearable = math.floor(self.loss / self.benefit + 1e-9) + 1
        return int(max(1, deterring if self.attack is False else min(deterring, bearable)))

    @property
    def class_size(self) -> int:
        """Records that a class needs."""
        return 1 if self.needs_population else self.least

    def sentence(self) -> str:
        """Say in plain English what it promises."""
        pays = f"gain {self.gain:g}, cost {self.cost:g}"
        return (
            f"no record is published of which an attack pays ({pays})" if self.attack is False else super().sentence()
        )

    def least_class_size(self) -> int:
        """Return the records that a class needs."""
        return self.class_size

    def payoffs(self, people: NDArray[np.int64], lost: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the publisher may expect of one record of each class; float64 (c,).

        Parameters
        ----------
        people
            int64 (c,): k of each class.
        lost
            float64 (c,): share of the information of a record that is lost there.
        """
        chance = 1.0 / people
        attacked = self.gain * chance > self.cost * (1.0 + 1e-12)
        return self.benefit * (1.0 - lost) - np.where(attacked, self.loss * chance, 0.0)

    def holds(self, statistics: ClassStatistics) -> NDArray[np.bool_]:
        """Tell for each class whether it covers, or has, enough people; bool (c,)."""
        return self._model.holds(statistics)

    def achieved(self, statistics: ClassStatistics) -> Sequence[Achieved]:
        """Return the smallest k."""
        return self._model.achieved(statistics)

    def rules(self, attributes: Sequence[str]) -> Sequence[Rule]:
        """Return the rules of k-anonymity or k-map."""
        return self._model.rules(attributes)

    def explain(self, statistics: ClassStatistics) -> str | None:
        """Say that there are too few records or people, or None."""
        if self.holds(statistics).all():
            return None
        found = int(people_covered(statistics).sum()) if self.needs_population else statistics.height
        if found >= self.least:
            return None
        what = "people of the population are known to be covered" if self.needs_population else "records"
        return f"{self.name} asks for classes of {self.least:,}, but only {found:,} {what}; change the amounts"

    @property
    def _model(self) -> KAnonymity | KMap:
        return KMap(self.least) if self.needs_population else KAnonymity(self.least)

    def _mistakes(self) -> Iterator[str]:
        amounts = (self.gain, self.cost, self.loss, self.benefit)
        numbers = all(isinstance(amount, (int, float)) and not isinstance(amount, bool) for amount in amounts)
        if numbers and self.attack is False and self.cost == 0 and self.gain > 0:
            yield f"{self.name}: attacks that cost nothing always pay; give a cost, or allow attacks"
        pairs = (("gain and cost", self.gain, self.cost), ("loss and benefit", self.loss, self.benefit))
        yield from (
            f"{self.name}: {names} are too far apart; no class has {_FARTHEST:,} records"
            for names, over, under in pairs
            if numbers and under > 0 and over > _FARTHEST * under
        )
