"""δ-presence: the release hardly tells whether somebody of the population is in the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics, PresenceFound, as_one_class
from sfumato.kernels.predicates import PRESENCE
from sfumato.models.k_map import people_of
from sfumato.models.protocol import TOLERANCE, Achieved, Rule
from sfumato.models.says import CheckedModel
from sfumato.numbers import figure
from sfumato.options import Limit


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
        share = whole.height / int(people_of(whole)[0])  # never 0: it holds the table's people
        return (
            f"{self.name} asks for chances up to {self.delta_max:g}"
            + (f" and from {self.delta_min:g}" if self.delta_min else "")
            + f", but {whole.height} records among the {int(people_of(whole)[0])} people known to be covered make "
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
    share = statistics.sizes / people_of(statistics)
    return PresenceFound(share, share, 0)
