"""How often an attacker is right about the people of whom they are surest: a curve instead of one average."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.evaluation.attacks.options import SURE
from sfumato.numbers import figure
from sfumato.rates import Rate

SHARES = (0.01, 0.05, 0.1, 0.25, 1.0)
"""Shares of the people, the surest first; 1 is everybody."""

DIGITS = 9
"""Beliefs that agree in so many decimals are equal."""

_NOBODY = "nobody"

NO_CONTROL = "there is no control group of people who were not in the data (control=, --control or --hold-out)"


@dataclass(frozen=True, eq=False, repr=False)
class Beliefs:
    """What an attacker believes of m people.

    Attributes
    ----------
    belief : numpy.ndarray
        float64 (m,): chance that the attacker gives to the value that they name.
    right : numpy.ndarray
        float64 (m,): chance that this value is right; 0 or 1 where one value is named.
    guessed : numpy.ndarray or None
        float64 (m,): chance that a guess about the person is right, if guesses differ by people.
    """

    belief: NDArray[np.float64]
    right: NDArray[np.float64]
    guessed: NDArray[np.float64] | None = None

    @property
    def people(self) -> int:
        """Return their number m."""
        return len(self.belief)

    @classmethod
    def joined(cls, parts: Sequence[Beliefs]) -> Beliefs:
        """Put the beliefs about all people together; `guessed` only if all parts have it."""
        guessed = [part.guessed for part in parts if part.guessed is not None]
        return cls(
            np.concatenate([part.belief for part in parts]),
            np.concatenate([part.right for part in parts]),
            np.concatenate(guessed) if len(guessed) == len(parts) else None,
        )

    def surest(self, count: int) -> tuple[NDArray[np.float64], int]:
        """Choose the `count` people of whom the attacker is surest.

        Returns
        -------
        tuple of numpy.ndarray and int
            float64 (m,): chance of each to be chosen, below 1 where people with one belief are more than places are
            left; and the number of these people, 0 if all of them are chosen. Cost O(m log m).
        """
        belief = np.round(self.belief, DIGITS)
        border = np.sort(belief)[self.people - count]
        above, at = belief > border, belief == border
        room, alike = count - int(above.sum()), int(at.sum())
        return above + at * (room / alike), alike if room < alike else 0

    def rate(self, chosen: NDArray[np.float64], guessing: float) -> Rate:
        """Score the people who are chosen, by their chances of being so, beside the better of two guesses."""
        count = round(float(chosen.sum()))
        by_person = float(chosen @ self.guessed) / count if self.guessed is not None and count else 0.0
        # Chances add up to whole numbers but for their last digits.
        return Rate(round(min(float(chosen @ self.right), count), DIGITS), count, max(guessing, by_person))


@dataclass(frozen=True)
class Look:
    """One point of a curve.

    Attributes
    ----------
    share : float or None
        Share of the people, the surest first; None for all whom the attacker believes above the promised bound.
    inside : Rate
        Over people in the data.
    control : Rate or None
        The same attacker over people who are not, the surest of them; None without a control group.
    population : Rate or None
        Somebody who has not seen the release but knows the people who are not in the data, over those in it of whom
        they themselves are surest; None if nobody was tried.
    same : Rate or None
        The same somebody over the people of `inside`.
    alike : int
        People with the same belief of whom only some find room, so that they count by chances; 0 if there are none.
    """

    share: float | None
    inside: Rate
    control: Rate | None = None
    population: Rate | None = None
    same: Rate | None = None
    alike: int = 0

    def named(self, bound: float | None) -> str:
        """Name it, e.g. ``"surest 5 %"``."""
        if self.share is None:
            return f"believed above {figure(100 * (bound or 0), 3)} %"
        return "everybody" if self.share == 1 else f"surest {figure(100 * self.share, 3)} %"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        beside = {name: getattr(self, name) for name in ("control", "population", "same")}
        return {
            "surest": self.share,
            "inside": self.inside.to_dict(),
            **{name: rate.to_dict() for name, rate in beside.items() if rate is not None},
            "alike": self.alike,
        }

    def line(self, bound: float | None) -> str:
        """Write it in one line."""
        told = f"{self.named(bound)}: {self.inside if self.inside.people else _NOBODY}"
        if self.control is not None:
            told += f"; of others {_counted(self.control)}"
        if self.population is not None and self.same is not None:
            told += f"; knowing only others {_share(self.population)}, of these people {_share(self.same)}"
        return told + (f"; {self.alike:,} are believed alike" if self.alike else "")


@dataclass(frozen=True)
class BeliefCurve:
    """How often an attacker is right, by how sure they are.

    Attributes
    ----------
    looks : tuple of Look
        The surest 1, 5, 10 and 25 %, everybody, and all who are believed above the bound, if one is promised.
    bound : float or None
        Chance that a promise of the release leaves an attacker, for each person.
    alone : str or None
        Why there is no such curve of people who are not in the data; None if there is one.
    judges : bool
        Whether the verdict is decided by the curve; not where claims that leave no doubt decide it.
    """

    looks: tuple[Look, ...]
    bound: float | None = None
    alone: str | None = None
    judges: bool = True

    @property
    def people(self) -> int:
        """Return the number of people in the data."""
        return max(look.inside.people for look in self.looks)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "bound": self.bound,
            "looks": [look.to_dict() for look in self.looks],
            "no_control": self.alone,
        }

    def lines(self) -> list[str]:
        """Write one line for each look."""
        head = "  right, the surest first" + ("" if self.alone is not None else "; others are not in the data") + ":"
        found = [head, *(f"    {look.line(self.bound)}" for look in self.looks)]
        return found if self.alone is None else [*found, f"    nobody to compare with: {self.alone}"]


def curve_of(
    inside: Beliefs,
    outside: Beliefs | None,
    population: Beliefs | None,
    *,
    guessing: tuple[float, float],
    bound: float | None,
    alone: str | None = None,
    judges: bool = True,
) -> BeliefCurve:
    """Draw the curve of an attacker beside what people who are not in the data show.

    Parameters
    ----------
    inside, outside
        Beliefs about people in the data, and about others; None or nobody if there are no others.
    population
        Beliefs about the people in the data of somebody who knows only the others.
    guessing
        Share of the people, of both groups, for whom the best guess without the release is right.
    bound
        Chance that a promise leaves an attacker.
    alone
        Why there are no others, if there cannot be any.
    judges
        Whether the curve decides the verdict.

    Notes
    -----
    *Who is surest* is told by the attacker's own belief, in each group by itself. Where people at the border are
    believed alike, the shares are those expected if chance decides who of them comes first. At least one person is the
    surest share of anybody.

    Cost O(m log m).
    """
    others = None if outside is None or not outside.people else outside
    rivals = _Rivals(inside, others, population, guessing)
    looks = [rivals.surest(share) for share in SHARES] if inside.people else []
    if bound is not None and inside.people:
        looks.append(rivals.above(bound))
    return BeliefCurve(tuple(looks), bound, (alone or NO_CONTROL) if others is None else None, judges)


@dataclass(frozen=True, eq=False, repr=False)
class _Rivals:
    """The attacker, the same on others, and who knows only the others; see `curve_of`."""

    inside: Beliefs
    others: Beliefs | None
    population: Beliefs | None
    guessing: tuple[float, float]

    def surest(self, share: float) -> Look:
        def choose(some: Beliefs) -> NDArray[np.float64]:
            return some.surest(_count(share, some))[0]

        return self._look(share, choose, self.inside.surest(_count(share, self.inside))[1])

    def above(self, bound: float) -> Look:
        return self._look(None, lambda some: (some.belief > bound + SURE).astype(np.float64), 0)

    def _look(self, share: float | None, choose: Callable[[Beliefs], NDArray[np.float64]], alike: int) -> Look:
        chosen, (guessing, of_others), known = choose(self.inside), self.guessing, self.population
        return Look(
            share,
            self.inside.rate(chosen, guessing),
            None if self.others is None else self.others.rate(choose(self.others), of_others),
            None if known is None else known.rate(choose(known), guessing),
            None if known is None else known.rate(chosen, guessing),
            alike,
        )


def _count(share: float, some: Beliefs) -> int:
    return max(1, math.ceil(share * some.people - SURE))


def _counted(rate: Rate) -> str:
    return rate.without_baseline if rate.people else _NOBODY


def _share(rate: Rate) -> str:
    return f"{100 * rate.share:.1f} %" if rate.people else _NOBODY
