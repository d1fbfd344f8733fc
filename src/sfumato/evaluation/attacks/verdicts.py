"""Whether an attack succeeds: a curve of how often it is right about those of whom it is surest, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.models import known_models
from sfumato.models.protocol import says
from sfumato.numbers import figure
from sfumato.rates import CONFIDENCE, Rate, interval_ends

Verdict = Literal["succeeds", "no better", "undecided"]


IN_WORDS: dict[Verdict, str] = {
    "succeeds": "succeeds",
    "no better": "does no better than guessing",
    "undecided": "undecided",
}


RELEVANT = 0.05
"""Share of the people from which on an excess over guessing matters: "no better" excludes so much."""


TENTH, AMONG_FEW = 0.1, 0.1
"""The smallest share of the people that a resistance is judged by, and which excess over the bar matters there."""


SURE = 1e-9
"""Shares this close are equal: they are quotients of counts."""


@dataclass(frozen=True)
class Certainty:
    """What came of claims that leave no doubt.

    `told`: People about whom the release leaves one answer, the true one, where guessing leaves several. `wrong`:
    People about whom it seemed to leave one, which is wrong, e.g. because their record was left out.
    """

    told: int
    wrong: int = 0

    @classmethod
    def of(cls, made: NDArray[np.bool_], right: NDArray[np.float64], several: NDArray[np.bool_]) -> Certainty:
        """Count claims, (m,) each: whether one is made, the chance that it is right, and whether guessing is unsure."""
        true = right >= 1
        return cls(int((made & true & several).sum()), int((made & ~true).sum()))

    @property
    def holds(self) -> bool:
        """Tell whether it was never wrong."""
        return not self.wrong


def allowed_guess(models: Sequence[Mapping[str, Any]], sensitive: str) -> float | None:
    """Return the chance of guessing a sensitive value correctly that the promises of a release allow.

    Probabilistic l-diversity says that a class or bucket discloses nobody's value with a chance above 1/l,
    alpha-k-anonymity with none above alpha. Other models say nothing about that chance: distinct l-diversity counts
    values, however rare.

    `models`: Name and parameters of every promise. Result: The smallest chance that is promised; None if no promise is
    about it.

    Examples
    --------
    >>> allowed_guess([{"name": "probabilistic-l-diversity", "l": 4}], "disease")
    0.25
    """
    chances = [says(model).allowed_guess(sensitive) for model in known_models(models)]
    return min((chance for chance in chances if chance is not None), default=None)


SHARES = (0.01, 0.05, 0.1, 0.25, 1.0)
"""Shares of the people, the surest first; 1 is everybody."""


_DIGITS = 9
"""Beliefs that agree in so many decimals are equal."""


_NOBODY = "nobody"


_NO_CONTROL = "there is no control group of people who were not in the data (control=, --control or --hold-out)"


_NOTHING = 1e-12


_MOST_PEOPLE = 1 << 30
"""People beyond whom nobody asks how many would decide."""


@dataclass(frozen=True, eq=False, repr=False)
class Beliefs:
    """What an attacker believes of m people: chance given to the value named, that it is right, and of a guess."""

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

        Result: float64 (m,): chance of each to be chosen, below 1 where people with one belief are more than places are
        left; and the number of these people, 0 if all of them are chosen. Cost O(m log m).
        """
        belief = np.round(self.belief, _DIGITS)
        border = np.sort(belief)[self.people - count]
        above, at = belief > border, belief == border
        room, alike = count - int(above.sum()), int(at.sum())
        return above + at * (room / alike), alike if room < alike else 0

    def rate(self, chosen: NDArray[np.float64], guessing: float) -> Rate:
        """Score the people who are chosen, by their chances of being so, beside the better of two guesses."""
        count = round(float(chosen.sum()))
        by_person = float(chosen @ self.guessed) / count if self.guessed is not None and count else 0.0
        # Chances add up to whole numbers but for their last digits.
        return Rate(round(min(float(chosen @ self.right), count), _DIGITS), count, max(guessing, by_person))


@dataclass(frozen=True)
class CurvePoint:
    """One point of a curve.

    `share`: Share of the people, the surest first; None for all whom the attacker believes above the promised bound.
    `control`: The same attacker over people who are not, the surest of them; None without a control group.
    `population`: Somebody who has not seen the release but knows the people who are not in the data, over those in it
    of whom they themselves are surest; None if nobody was tried. `same`: The same somebody over the people of `inside`.
    `alike`: People with the same belief of whom only some find room, so that they count by chances; 0 if there are
    none. `beside_own`: Whether the attacker must beat `population` in place of `same`: one who has learnt from the
    others gains by knowing of whom to be sure.
    """

    share: float | None
    inside: Rate
    control: Rate | None = None
    population: Rate | None = None
    same: Rate | None = None
    alike: int = 0
    beside_own: bool = False

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
        sentence = f"{self.named(bound)}: {self.inside if self.inside.people else _NOBODY}"
        if self.control is not None:
            sentence += f"; of others {_counted(self.control)}"
        if self.population is not None and self.same is not None:
            sentence += f"; knowing only others {_share(self.population)}, of these people {_share(self.same)}"
        return sentence + (f"; {self.alike:,} are believed alike" if self.alike else "")


@dataclass(frozen=True)
class BeliefCurve:
    """How often an attacker is right, by how sure they are.

    `looks`: The surest 1, 5, 10 and 25 %, everybody, and all who are believed above the bound, if one is promised.
    `bound`: Chance that a promise of the release leaves an attacker, for each person. `alone`: Why there is no such
    curve of people who are not in the data; None if there is one. `claims`: Whether the attacker also claims something
    of some people, whom the verdict looks at, too.
    """

    looks: tuple[CurvePoint, ...]
    bound: float | None = None
    alone: str | None = None
    claims: bool = False

    @property
    def people(self) -> int:
        """Return the number of people in the data."""
        return max(look.inside.people for look in self.looks)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {"bound": self.bound, "looks": [look.to_dict() for look in self.looks], "no_control": self.alone}

    def lines(self) -> list[str]:
        """Write one line for each look."""
        head = "  right, the surest first" + ("" if self.alone is not None else "; others are not in the data") + ":"
        found = [head, *(f"    {look.line(self.bound)}" for look in self.looks)]
        return found if self.alone is None else [*found, f"    nobody to compare with: {self.alone}"]


def draw_curve(
    inside: Beliefs,
    outside: Beliefs | None,
    population: Beliefs | None,
    *,
    guessing: tuple[float, float],
    bound: float | None,
    alone: str | None = None,
    claims: bool = False,
    beside_own: bool = False,
) -> BeliefCurve:
    """Draw the curve of an attacker beside what people who are not in the data show.

    `inside`, `outside`: Beliefs about people in the data, and about others; None or nobody if there are no others.
    `population`: Beliefs about the people in the data of somebody who knows only the others. `guessing`: Share of the
    people, of both groups, for whom the best guess without the release is right. `bound`: Chance that a promise leaves
    an attacker. `alone`: Why there are no others, if there cannot be any. `claims`: Whether the attacker also claims
    something of some people. `beside_own`: See `CurvePoint`.

    *Who is surest* is told by the attacker's own belief, in each group by itself. Where people at the border are
    believed alike, the shares are those expected if chance decides who of them comes first. At least one person is the
    surest share of anybody.

    Cost O(m log m).
    """
    others = None if outside is None or not outside.people else outside
    rivals = _Rivals(inside, others, population, guessing, beside_own)
    looks = [rivals.surest(share) for share in SHARES] if inside.people else []
    if bound is not None and inside.people:
        looks.append(rivals.above(bound))
    return BeliefCurve(tuple(looks), bound, (alone or _NO_CONTROL) if others is None else None, claims)


@dataclass(frozen=True, eq=False, repr=False)
class _Rivals:
    """The attacker, the same on others, and who knows only the others; see `draw_curve`."""

    inside: Beliefs
    others: Beliefs | None
    population: Beliefs | None
    guessing: tuple[float, float]
    beside_own: bool = False

    def surest(self, share: float) -> CurvePoint:
        def choose(some: Beliefs) -> NDArray[np.float64]:
            return some.surest(_count(share, some))[0]

        return self._look(share, choose, self.inside.surest(_count(share, self.inside))[1])

    def above(self, bound: float) -> CurvePoint:
        return self._look(None, lambda some: (some.belief > bound + SURE).astype(np.float64), 0)

    def _look(self, share: float | None, choose: Callable[[Beliefs], NDArray[np.float64]], alike: int) -> CurvePoint:
        chosen, (guessing, of_others), known = choose(self.inside), self.guessing, self.population
        return CurvePoint(
            share,
            self.inside.rate(chosen, guessing),
            None if self.others is None else self.others.rate(choose(self.others), of_others),
            None if known is None else known.rate(choose(known), guessing),
            None if known is None else known.rate(chosen, guessing),
            alike,
            self.beside_own,
        )


def _count(share: float, some: Beliefs) -> int:
    return max(1, math.ceil(share * some.people - SURE))


def _counted(rate: Rate) -> str:
    return rate.without_baseline if rate.people else _NOBODY


def _share(rate: Rate) -> str:
    return f"{100 * rate.share:.1f} %" if rate.people else _NOBODY


def judging_curve(success: Rate, control: Rate | None, curve: BeliefCurve | None) -> BeliefCurve:
    """Return all shares that a verdict looks at: those of the curve and of claims, or everybody who was tried."""
    if curve is not None and not curve.claims:
        return curve
    tried = CurvePoint(1.0, success, control)
    return BeliefCurve((tried,)) if curve is None else replace(curve, looks=(*curve.looks, tried))


def curve_verdict(curve: BeliefCurve) -> Verdict:
    """Judge an attacker by all points of their curve.

    *Succeeds*: at some look the excess is certain over guessing and, if there is a control group, over the same
    attacker on these people, who are not in the data, and over what somebody who knows only them says of the people of
    the look.

    *No better*: at every look a relevant excess is excluded over one of the three, and at none the low end of the
    interval is above all of them. Relevant are five of a hundred people among everybody, and among a share f of them
    five of a hundred ÷ √f: in the surest tenth 16 of a hundred people, who are 1.6 of a hundred of all. So every look
    takes about the same number of people to decide.

    *Errors.* The chance of one end of a 95 % interval, 2.5 of 100, is divided by the number of looks. Guessing is
    exceeded where as many right guesses have a smaller binomial chance, which is exact, as the surest are few, and
    the interval lies above it. So all looks together call no attack a success in more than 2.5 of 100 cases that is
    right about each person, independent of the others, with the chance of a guess. Intervals are Wilson's; those of
    differences are Newcombe's (1998, method 10). Where the control group has nobody at a look, it explains nothing.

    Examples
    --------
    >>> [curve_verdict(judging_curve(Rate(*one, 0.0), None, None)) for one in ((0, 10), (0, 100), (22, 22))]
    ['undecided', 'no better', 'succeeds']
    """
    if not any(look.inside.people for look in curve.looks):
        return "no better"
    tail = _tail(curve)
    if any(_exceeds(look, look.inside.baseline, tail) for look in curve.looks):
        return "succeeds"
    return "no better" if all(_excluded(look, curve.people, tail) for look in curve.looks) else "undecided"


def verdict_in_words(verdict: Verdict, curve: BeliefCurve, *, is_certain: bool = False) -> str:
    """Say if the surest alone decide, and if more than guessing is reached, and people outside show as much."""
    tail, everybody = _tail(curve), [look for look in curve.looks if look.share == 1][-1:]
    lows = (interval_ends(look.inside, tail)[0] - look.inside.baseline for look in curve.looks)
    if verdict == "no better" and any(low > 0 for low in lows):
        return "tells no more than people outside do"
    among = not is_certain and not any(_exceeds(look, look.inside.baseline, tail) for look in everybody)
    return "succeeds among the surest" if verdict == "succeeds" and among else IN_WORDS[verdict]


def exceeds_promise(curve: BeliefCurve, allowed: float) -> bool:
    """Tell whether at some look the excess is certain over what is promised, and over what others show."""
    tail = _tail(curve)
    return any(_exceeds(look, max(allowed, look.inside.baseline), tail) for look in curve.looks)


def resistance_verdict(curve: BeliefCurve, allowed: float | None) -> Verdict:
    """Judge whether a release withstands an attacker: *no better* where it does, at every point of the curve.

    An excess that is certain at any look is a success, over guessing or what a promise allows, and over what others
    show. Where none is, one of more than five of a hundred must be excluded among everybody, and of more than ten among
    smaller shares down to a tenth; below a tenth there are too few to ask for it. So this asks for more people than
    :func:`curve_verdict`. `allowed`: None where no promise is about it.

    Examples
    --------
    >>> [resistance_verdict(judging_curve(Rate(*one, 0.3), None, None), 0.5) for one in ((500, 1000), (600, 1000))]
    ['no better', 'succeeds']
    """
    least, tail = allowed or 0.0, _tail(curve)
    if exceeds_promise(curve, least):
        return "succeeds"
    wide = [look for look in curve.looks if look.inside.people >= TENTH * curve.people]
    margins = (RELEVANT if look.inside.people == curve.people else AMONG_FEW for look in wide)
    excluded = (_over(look, tail, least) <= margin for look, margin in zip(wide, margins, strict=True))
    return "no better" if all(excluded) else "undecided"


def people_to_decide(curve: BeliefCurve, verdict: Callable[[BeliefCurve], Verdict] = curve_verdict) -> int:
    """Return about how many people would decide it, if shares stay and as many people are in the control group."""
    enough = 1
    while verdict(_scaled(curve, enough)) == "undecided" and enough < _MOST_PEOPLE:
        enough *= 2
    few = enough // 2
    while enough - few > 1:
        middle = (few + enough) // 2
        few, enough = (few, middle) if verdict(_scaled(curve, middle)) != "undecided" else (middle, enough)
    return enough


def needed_in_words(exact: int, curve: BeliefCurve, what: str = "people") -> str:
    """Say how many people would decide, to two digits rounded up, e.g. "about 73 people in place of 10 …"."""
    unit = 10 ** max(0, len(str(exact)) - 2)
    about = f"about {figure(-(-exact // unit) * unit)} {what}"
    others = max((look.control.people for look in curve.looks if look.control is not None), default=exact)
    if curve.people >= exact and others < exact:
        who = f"{about} who are not in the data in place of {others:,}"
    else:
        missing = ", and as many who are not in the data," if others < exact else ""
        who = f"{about} in place of {curve.people:,}{missing}"
    return f"{who} would decide it, if the shares stay as they are"


def chance_of_as_many(rate: Rate, share: float) -> float:
    """Return the binomial chance of at least as many successes, if each has the chance `share`.

    Parts of a success, which ties leave, are dropped. Cost O(successes beyond the expected ones) at most.

    Examples
    --------
    >>> chance_of_as_many(Rate(2, 2, 0.0), 0.5), round(chance_of_as_many(Rate(60, 100, 0.0), 0.5), 4)
    (0.25, 0.0284)
    """
    n, some = rate.people, math.floor(rate.successes + SURE)
    if some <= n * share or share >= 1:
        return 1.0
    if share <= 0:
        return 0.0
    ways = math.lgamma(n + 1) - math.lgamma(some + 1) - math.lgamma(n - some + 1)
    term = math.exp(ways + some * math.log(share) + (n - some) * math.log1p(-share))
    total = term
    # Beyond what is expected, every term is smaller than the one before.
    while some < n and term > total * _NOTHING:
        term *= (n - some) / (some + 1) * share / (1 - share)
        some, total = some + 1, total + term
    return min(1.0, total)


def _tail(curve: BeliefCurve) -> float:
    return (1 - CONFIDENCE) / 2 / max(1, len(curve.looks))


def _exceeds(look: CurvePoint, bar: float, tail: float) -> bool:
    """Tell whether so many are not by chance, with low ends above a bar, and of differences to others above 0."""
    if interval_ends(look.inside, tail)[0] <= bar or chance_of_as_many(look.inside, bar) > tail:
        return False
    return all(-_highest(other, look.inside, tail) > 0 for other in _shown_by_others(look))


def _excluded(look: CurvePoint, people: int, tail: float) -> bool:
    """Tell whether a relevant excess is excluded, over guessing or over what others show."""
    if not look.inside.people:
        return True
    relevant = RELEVANT / math.sqrt(look.inside.people / people)
    low, others = interval_ends(look.inside, tail)[0], _shown_by_others(look)
    bar = max([look.inside.baseline, *(interval_ends(other, tail)[1] for other in others)])
    return _over(look, tail, 0.0) <= relevant and low <= bar


def _over(look: CurvePoint, tail: float, allowed: float) -> float:
    """Return the high end of the excess over guessing and what is allowed, or over what others show if that is less."""
    high = interval_ends(look.inside, tail)[1] - max(look.inside.baseline, allowed)
    return min([high, *(_highest(look.inside, other, tail) for other in _shown_by_others(look))])


def _shown_by_others(look: CurvePoint) -> list[Rate]:
    shown = (look.control, look.population if look.beside_own else look.same)
    return [rate for rate in shown if rate is not None and rate.people]


def _highest(one: Rate, other: Rate, tail: float) -> float:
    """Return the high end of the interval of the difference of two shares."""
    up, down = interval_ends(one, tail)[1] - one.share, other.share - interval_ends(other, tail)[0]
    return one.share - other.share + math.hypot(up, down)


def _scaled(curve: BeliefCurve, people: int) -> BeliefCurve:
    """Return the curve of so many people, in the data and beside it, with the same shares."""
    outside = max((look.control.people for look in curve.looks if look.control is not None), default=0)

    def grown(rate: Rate, all_of_them: int) -> Rate:
        count = math.ceil(rate.people / max(1, all_of_them) * people)
        return Rate(rate.share * count, count, rate.baseline)

    looks = tuple(
        replace(
            look,
            inside=grown(look.inside, curve.people),
            control=None if look.control is None else grown(look.control, outside),
            population=None if look.population is None else grown(look.population, curve.people),
            same=None if look.same is None else grown(look.same, curve.people),
        )
        for look in curve.looks
    )
    return replace(curve, looks=looks)
