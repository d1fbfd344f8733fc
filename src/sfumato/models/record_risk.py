"""Models of the whole table: shares of uniques, and whether attacks pay.

Shares of uniques: of records that are alone in the table, and of people who are alone in the population.

Profitability: records are published only where attacks do not pay, or where publishing pays all the same.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.population_uniqueness import (
    SizeCounts,
    chosen_share,
    most_alone,
    pitman,
    slide_negative_binomial,
    zayatz,
)
from sfumato.classes.statistics import ClassStatistics
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.k_map import KMap, people_covered
from sfumato.models.protocol import TOLERANCE, Achieved, CheckedModel, PrivacyModel, Rule, WholeTableModel, at_least
from sfumato.options import Limit, Share


class _OfEveryRecord(CheckedModel):
    """A bound that a class keeps by a k alone, of its records, or of the people of a register whom it covers."""

    adversary: Literal["prosecutor", "journalist"] | None

    one_record_each: ClassVar[bool] = True
    lasting: ClassVar[bool] = True
    speaks_of: ClassVar = frozenset({"classes"})
    survives_suppression: ClassVar[bool] = True

    @property
    @abstractmethod
    def least(self) -> int:
        """The k that every class needs."""

    @property
    @abstractmethod
    def _asked(self) -> tuple[str, str]:
        """What is asked for, and what would help."""

    @property
    def needs_population(self) -> bool:
        """Whether the attacker compares with a register."""
        return self.adversary == "journalist"

    @property
    def class_size(self) -> int:
        """Records that a class needs."""
        return 1 if self.needs_population else self.least

    def least_class_size(self) -> int:
        """Return the records that a class needs."""
        return self.class_size

    @property
    def _model(self) -> KAnonymity | KMap:
        return KMap(self.least) if self.needs_population else KAnonymity(self.least)

    def holds(self, statistics: ClassStatistics) -> NDArray[np.bool_]:
        """Tell for each class whether it has, or covers, enough people; bool (c,)."""
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
        asked, advice = self._asked
        return f"{self.name} asks for {asked}, but only {found:,} {what}; {advice}"


# Highest risk: nobody is linked with a larger chance.


@dataclass(frozen=True)
class HighestRisk(_OfEveryRecord):
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
    in_words: ClassVar[str] = "no published record is linked to the right person with a chance above {risk}"

    @property
    def least(self) -> int:
        """The k that every class needs."""
        return at_least(1.0 / self.risk)

    @property
    def _asked(self) -> tuple[str, str]:
        return f"risk = {self.risk:g}, one in {self.least}", "raise risk"

    def achieved(self, statistics: ClassStatistics) -> Sequence[Achieved]:
        """Return the largest risk of a class; 0 without classes."""
        [found] = super().achieved(statistics)
        return [Achieved("risk", 1.0 / found.value)]


# Average risk: how many of the published records an attacker links rightly, on average.


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


_Estimator = Literal["dankar", "pitman", "zayatz", "snb"]


class _NoUniques(WholeTableModel):
    """What both have in common: nobody is alone where classes have two records."""

    def sufficient(self) -> int:
        """Return 2."""
        return 2

    def stand_in(self, k: int) -> PrivacyModel:
        """Return k-anonymity."""
        return KAnonymity(k)


@dataclass(frozen=True)
class SampleUniques(_NoUniques):
    """At most a share of the published records is alone in its class.

    Guarantee: no more than `share` of the records can be told from all others by their quasi-identifying values. Of
    those which can, it promises nothing.

    Parameters
    ----------
    share
        From 0 to 1.
    """

    share: Annotated[float, Limit(0, 1)]

    name: ClassVar[str] = "sample-uniques"
    bounded: ClassVar[str] = "share"
    in_words: ClassVar[str] = "at most a share of {share} of the published records looks like no other"

    def most_alone(self, records: int) -> float:
        """Return `share`."""
        return self.share

    def figure_of(self, sizes: NDArray[np.int64], people: NDArray[np.int64] | None) -> float:
        """Return the share of records in classes of one."""
        return int(np.count_nonzero(sizes == 1)) / int(sizes.sum())  # never 0: no class is empty


@dataclass(frozen=True)
class PopulationUniques(_NoUniques):
    """At most a share of the population is estimated to be alone in it, by what is published.

    Guarantee: none about single people. It is a claim about a model of the population, estimated from the sizes of the
    published classes, for a table that is a random sample of it.

    Parameters
    ----------
    share
        From 0 to 1.
    fraction
        Records of the table per person of the population, above 0 to 1.
    estimator
        ``"pitman"``, ``"zayatz"``, ``"snb"`` (slide negative binomial), or ``"dankar"``, the rule that chooses among
        them; None is that. Where an estimator has no answer, the bound is not said to hold.

    Notes
    -----
    Estimates may rise when classes are merged, so that no search concludes from one generalization on another.

    References
    ----------
    As for :func:`sfumato.classes.population_uniqueness.population_uniqueness`.
    """

    share: Annotated[float, Limit(0, 1)]
    fraction: Share
    estimator: _Estimator | None = None

    name: ClassVar[str] = "population-uniques"
    bounded: ClassVar[str] = "share"
    steady: ClassVar[bool] = False
    in_words: ClassVar[str] = (
        "at most a share of {share} of the population is estimated to be told from all others, if the table is a "
        "random sample of it"
    )

    @property
    def caveat(self) -> str:
        """Say that it is an estimate."""
        return f"an estimate: it holds if the table is a random sample of {self.fraction:g} of the population"

    def most_alone(self, records: int) -> float | None:
        """Return it for Zayatz' estimate; the others may be small whatever is alone."""
        if self.estimator != "zayatz":
            return None
        return most_alone(self.share + TOLERANCE, records, self.fraction)

    def figure_of(self, sizes: NDArray[np.int64], people: NDArray[np.int64] | None) -> float:
        """Return the estimated share; 1 where there is no answer."""
        counts, estimators = SizeCounts.of(sizes), {"pitman": pitman, "zayatz": zayatz, "snb": slide_negative_binomial}
        found = estimators.get(self.estimator or "dankar", chosen_share)(counts, self.fraction)
        return 1.0 if found is None else float(found)


_Amount = Annotated[float, Limit(0)]
_FARTHEST = 10**9
"""So many times one amount may be another: classes would have to be that large."""


@dataclass(frozen=True)
class Profitability(_OfEveryRecord):
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
    in_words: ClassVar[str] = (
        "no record is published of which an attack pays (gain {gain}, cost {cost}) and costs more than the record is "
        "worth (loss {loss}, benefit {benefit})"
    )

    @property
    def least(self) -> int:
        """The k that every class needs."""
        deterring = at_least(self.gain / self.cost) if self.cost else math.inf if self.gain else 1
        bearable = math.floor(self.loss / self.benefit + 1e-9) + 1
        return int(max(1, deterring if self.attack is False else min(deterring, bearable)))

    @property
    def _asked(self) -> tuple[str, str]:
        return f"classes of {self.least:,}", "change the amounts"

    def sentence(self) -> str:
        """Say in plain English what it promises."""
        pays = f"gain {self.gain:g}, cost {self.cost:g}"
        return (
            f"no record is published of which an attack pays ({pays})" if self.attack is False else super().sentence()
        )

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
