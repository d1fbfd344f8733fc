"""k-map: every published record fits k people of the population."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics, PresenceFound, as_one_class
from sfumato.kernels.predicates import K_ANONYMITY, K_MAP, PRESENCE
from sfumato.models.protocol import TOLERANCE, Achieved, CheckedModel, Rule
from sfumato.numbers import figure
from sfumato.options import Limit, Share

_Estimate = Literal["poisson", "zero-truncated-poisson"]

_SIGNIFICANCE = 0.05
_MOST = 10_000
"""Up to which k the achieved one is looked for, where it is estimated."""


@dataclass(frozen=True)
class KMap(CheckedModel):
    """Every class covers at least `k` people of the population, or is so large that it very likely does.

    Guarantee: an attacker who has a register of the population, and does not know who is in the table, finds at least
    `k` people of the register who fit a record; so the record is theirs with a chance of ``1/k`` each, as far as the
    register tells. It assumes that the register is the attacker's, or smaller. Who knows that a person is in the table
    compares with the records alone, of which there may be a single one: that is for k-anonymity.

    Parameters
    ----------
    k
        Fewest people, a whole number ≥ 1.
    estimate
        None counts people in a table of the population, which whoever makes or recounts the release hands in.
        ``"poisson"`` and ``"zero-truncated-poisson"`` estimate instead: a class is large enough when, if only `k`
        people of the population were like it, a sample of them would be that large with a chance of `significance` at
        most. That is a claim about a model of the population, which is taken to be sampled at random, not a count.
    fraction
        Records of the table per person of the population, above 0 to 1; with an estimate only.
    significance
        Chance of taking a class for large enough that is not, above 0 to 1; None is 0.05. With an estimate only.

    Notes
    -----
    *Counting.* Where whole domains are generalized, people are counted who have the published values. Elsewhere a
    search knows only how many people have exactly the values of a record, and counts these for the class that the
    record is in: the class covers them, and perhaps others, so that it errs on the safe side. Records and people with
    equal values share them evenly. What is reported is counted on the published table.

    *Estimating.* People like a class are Poisson distributed in the sample with mean ``k · fraction``; the class size
    asked for is the smallest f with P(F < f) ≥ 1 − `significance`, the distribution without 0 for the truncated form,
    and `k` at most: people in the table are people of the population.

    References
    ----------
    L. Sweeney, "k-anonymity: a model for protecting privacy", 2002. K. El Emam, F. K. Dankar, "Protecting privacy using
    k-anonymity", JAMIA 15(5), 2008, for the estimates; the mean of ``k · fraction`` is ARX's reading of it.
    """

    k: Annotated[int, Limit(1)]
    estimate: _Estimate | None = None
    fraction: Share | None = None
    significance: Share | None = None

    name: ClassVar[str] = "k-map"
    in_words: ClassVar[str] = "every record looks like at least {k} people of the population in what others may know"
    one_record_each: ClassVar[bool] = True
    lasting: ClassVar[bool] = True
    speaks_of: ClassVar = frozenset({"classes"})

    @property
    def needs_population(self) -> bool:
        """Whether people are counted, not estimated."""
        return self.estimate is None

    @property
    def survives_suppression(self) -> bool:
        """Return True: a class covers whom it covers, whatever else is left out."""
        return True

    @property
    def class_size(self) -> int:
        """Records that a class must have: 1, unless its people are estimated from them."""
        return 1 if self.estimate is None else self.needed_size

    @property
    def needed_size(self) -> int:
        """The class size that an estimate asks for."""
        assert self.fraction is not None
        mean, certain = self.k * self.fraction, 1.0 - (self.significance or _SIGNIFICANCE)
        # Without the sample that has nobody of the class.
        first = 0 if self.estimate == "poisson" else 1
        whole = 1.0 if first == 0 else -math.expm1(-mean)
        size, reached = first, 0.0
        while reached < certain and size < self.k:
            reached += math.exp(size * math.log(mean) - mean - math.lgamma(size + 1)) / whole
            size += 1
        return max(1, size)

    @property
    def caveat(self) -> str:
        """Say that an estimate is one."""
        if self.estimate is None:
            return ""
        return f"an estimate: it holds if the table is a random sample of {self.fraction:g} of the population"

    def sentence(self) -> str:
        """Say in plain English what it promises."""
        sentence = super().sentence()
        return sentence if self.estimate is None else f"{sentence}, as a model of the population estimates it"

    def least_class_size(self) -> int:
        """Return the class size that an estimate asks for, else 1."""
        return self.class_size

    def holds(self, statistics: ClassStatistics) -> NDArray[np.bool_]:
        """Tell for each class whether it covers, or stands for, `k` people; bool (c,)."""
        if self.estimate is not None:
            return statistics.sizes >= self.needed_size
        return people_covered(statistics) >= self.k

    def achieved(self, statistics: ClassStatistics) -> Sequence[Achieved]:
        """Return the largest `k` that holds; infinite without classes."""
        if not statistics.count:
            return [Achieved("k", math.inf)]
        if self.estimate is None:
            return [Achieved("k", float(people_covered(statistics).min()))]
        return [Achieved("k", float(self._estimated(int(statistics.sizes.min()))))]

    def rules(self, attributes: Sequence[str]) -> Sequence[Rule]:
        """Return one rule, on people or on sizes."""
        return [Rule(K_MAP, None, self.k) if self.estimate is None else Rule(K_ANONYMITY, None, self.needed_size)]

    def explain(self, statistics: ClassStatistics) -> str | None:
        """Say that there are too few people in the population, or records in the table, or None."""
        if self.estimate is not None:
            if statistics.height >= self.needed_size:
                return None
            return (
                f"{self.name} asks for classes of {self.needed_size}, by which k = {self.k} is estimated, but there "
                f"are only {statistics.height} record(s); lower k"
            )
        people = int(people_covered(statistics).sum())
        if people >= self.k:
            return None
        return (
            f"{self.name} asks for k = {self.k}, but only {people} person(s) of the population are known to be "
            "covered; lower k"
        )

    def _estimated(self, size: int) -> int:
        """Return the largest k for which classes of `size` are large enough, by bisection: sizes asked for rise."""
        low, high = 0, _MOST
        while low < high:
            middle = (low + high + 1) // 2
            asked = KMap(middle, self.estimate, self.fraction, self.significance).needed_size
            low, high = (middle, high) if asked <= size else (low, middle - 1)
        return low

    def _mistakes(self) -> Iterator[str]:
        if self.estimate is not None and self.fraction is None:
            yield f"{self.name}: an estimate needs the sampling fraction; give it, or leave the estimate out"
        if self.estimate is None and (self.fraction is not None or self.significance is not None):
            yield f"{self.name}: fraction and significance belong to an estimate; name one, or leave them out"


def people_covered(statistics: ClassStatistics) -> NDArray[np.int64]:
    """Return the people of the population whom each class covers, int64 (c,); ``ValueError`` without a population."""
    if statistics.population is None:
        raise ValueError("no population is known")
    return statistics.population


# δ-presence: the release hardly tells whether somebody of the population is in the table.


@dataclass(frozen=True)
class DeltaPresence(CheckedModel):
    """Everybody of the population is in the table with a chance from `delta_min` to `delta_max`, as the release tells.

    Guarantee: somebody who has a register of the population and sees the release believes of each person in it, with a
    chance from `delta_min` to `delta_max`, that they are in the table. It assumes that the register is the attacker's,
    and that all people whom a class covers are equally likely to be behind its records. It says nothing to who knows
    more of the sample than its size, such as who was asked.

    Parameters
    ----------
    delta_max
        Largest chance, above 0 to 1.
    delta_min
        Smallest chance, from 0 to `delta_max`; None is 0. Above 0, everybody of the population has to be covered by a
        published class.

    Notes
    -----
    The chance of a person is the sum, over the classes that cover them, of records ÷ people covered. While classes are
    sought they are taken to share nobody; what is published is recounted person by person.

    References
    ----------
    M. E. Nergiz, M. Atzori, C. Clifton, "Hiding the presence of individuals from shared databases", SIGMOD 2007.
    """

    delta_max: Annotated[float, Limit(0, 1, above=True)]
    delta_min: Annotated[float, Limit(0, 1)] | None = None

    name: ClassVar[str] = "delta-presence"
    speaks_of: ClassVar = frozenset({"classes"})
    in_words: ClassVar[str] = (
        "whoever has a register of the population believes of nobody, with a chance above {delta_max}, that they "
        "are in the table"
    )
    one_record_each: ClassVar[bool] = True
    lasting: ClassVar[bool] = False

    @property
    def needs_population(self) -> bool:
        """Return True: people are counted."""
        return True

    @property
    def covers_everybody(self) -> bool:
        """Whether no person of the population may be outside of all classes."""
        return bool(self.delta_min)

    @property
    def survives_suppression(self) -> bool:
        """Return True: a class covers whom it covers, and other classes tell less when they are gone."""
        return True

    def sentence(self) -> str:
        """Say in plain English what it promises."""
        low = f", and of everybody with at least {figure(self.delta_min)}" if self.delta_min else ""
        return super().sentence() + low

    def holds(self, statistics: ClassStatistics) -> NDArray[np.bool_]:
        """Tell for each class whether the chances of the people whom it covers are within the bounds; bool (c,)."""
        found = _presence(statistics)
        if self.covers_everybody and found.outside:
            return np.zeros(statistics.count, dtype=np.bool_)
        verdict: NDArray[np.bool_] = found.high <= self.delta_max + TOLERANCE
        return verdict & (found.low >= (self.delta_min or 0.0) - TOLERANCE)

    def achieved(self, statistics: ClassStatistics) -> Sequence[Achieved]:
        """Return the largest and the smallest chance; without classes nobody is in the table, for all that is told."""
        found = _presence(statistics)
        low = 0.0 if found.outside or not statistics.count else float(found.low.min())
        return [Achieved("delta_min", low), Achieved("delta_max", float(found.high.max(initial=0.0)))]

    def rules(self, attributes: Sequence[str]) -> Sequence[Rule]:
        """Return the rule on the largest chance; the smallest one is for searches that know whom a class covers."""
        return [Rule(PRESENCE, None, self.delta_max)]

    def explain(self, statistics: ClassStatistics) -> str | None:
        """Say that the table is too large, or too small, a part of the population, or None."""
        whole = as_one_class(statistics)
        if self.holds(whole).all():
            return None
        share = whole.height / int(people_covered(whole)[0])  # never 0: it holds the table's people
        return (
            f"{self.name} asks for chances up to {self.delta_max:g}"
            + (f" and from {self.delta_min:g}" if self.delta_min else "")
            + f", but {whole.height} records among the {int(people_covered(whole)[0])} people known to be covered make "
            f"{share:.6g}; relax it, or give a larger population"
        )

    def _mistakes(self) -> Iterator[str]:
        low = self.delta_min
        if isinstance(low, (int, float)) and isinstance(self.delta_max, (int, float)) and low > self.delta_max:
            yield f"{self.name}: delta_min must not be above delta_max"


def _presence(statistics: ClassStatistics) -> PresenceFound:
    """Return what was found person by person, or what follows if classes share nobody."""
    if statistics.presence is not None:
        return statistics.presence
    share = statistics.sizes / people_covered(statistics)
    return PresenceFound(share, share, 0)
