"""What the figures of an attack say: that it succeeds, that it does no better than guessing, or neither."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.models import known_models
from sfumato.models.says import says
from sfumato.numbers import figure
from sfumato.rates import Rate

Verdict = Literal["succeeds", "no better", "undecided"]


IN_WORDS: dict[Verdict, str] = {
    "succeeds": "succeeds",
    "no better": "does no better than guessing",
    "undecided": "undecided",
}


RELEVANT = 0.05
"""Share of the people from which on an excess over guessing matters: "no better" excludes so much."""


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


def verdict_of(success: Rate, control: Rate | None = None, certainty: Certainty | None = None) -> Verdict:
    """Judge an attack by how often it was right.

    `success`: Over the people in the data, with the rate of guessing. `control`: Over people who are not in the data,
    if there is such a group. `certainty`: Of attacks that claim what the release leaves no doubt of.

    *Certainty* that was never wrong is a fact about the people in the data, all of whom were tried. The attack succeeds
    if anybody is told beyond what guessing is certain of, and else does no better; neither a control group nor an
    interval has a say. Certainty that was wrong for somebody was none: nobody can tell the others from them. It is
    judged like any other claim.

    *Nobody* about whom the attacker could say anything: no better. That, too, is a fact about the release.

    *Succeeds*: the low end of the 95 % interval lies above guessing and, if there is a control group, above the high
    end of its interval.

    *No better*: an excess of more than five of a hundred people is excluded over guessing, or over the control group.
    Over guessing: the high end of the interval lies at most so far above. Over the control group: that of Newcombe's
    (1998, method 10) interval of the difference does.

    *Errors*. The first: an attack that is as good as guessing succeeds; the second: one that is five of a hundred
    better does no better. Each takes one end of a 95 % interval: of many people the first happens in 2.5 of 100 cases,
    and the second never, as so many tell five of a hundred from nothing. Of few people Wilson's interval is not exact.
    Counted over all outcomes, for 5 to 800 people: the first is at most 9 of 100 where guessing is right for a tenth of
    the people or more, and up to 17 where for fewer; the second is at most 8 where guessing is right for eight in ten
    or fewer, and up to 16 where for more. Where a control group decides, the first is below 1.

    Examples
    --------
    >>> verdict_of(Rate(0, 10, 0.0)), verdict_of(Rate(0, 100, 0.0)), verdict_of(Rate(22, 22, 0.0))
    ('undecided', 'no better', 'succeeds')
    """
    if certainty is not None and certainty.holds:
        return "succeeds" if certainty.told else "no better"
    return _compared(success, control) if success.people else "no better"


def people_needed(success: Rate, control: Rate | None = None) -> int:
    """Return how many people would decide a verdict that is not one of certainty.

    Assumed is that the shares stay as they were observed, and that as many people are in the control group, if there
    is one. A control group without anybody to try the attack on is taken to do as well as guessing. The number is of
    people who count, e.g. of those about whom the attacker claims something. It says how many are likely to be enough,
    not that they will be: with shares near a border, the next sample may fall on either side.

    Without a control group the share p is told from guessing b by z² b (1 − b) ÷ (p − b)² people if p > b, and found to
    be no better by z² t (1 − t) ÷ (t − p)² people if p < t = b + 0.05, with z = 1.96: the fewer of the two. At most
    8,192, as an excess is either far enough from nothing or far enough from five of a hundred.

    Examples
    --------
    >>> people_needed(Rate(0, 10, 0.0)), people_needed(Rate(1, 14, 0.05))
    (73, 398)
    """
    told = None if control is None else control.share if control.people else success.baseline

    def decided(people: int) -> bool:
        other = None if told is None else Rate(told * people, people, success.baseline)
        return _compared(Rate(success.share * people, people, success.baseline), other) != "undecided"

    enough = 1
    while not decided(enough):
        enough *= 2
    few = enough // 2
    while enough - few > 1:
        middle = (few + enough) // 2
        few, enough = (few, middle) if decided(middle) else (middle, enough)
    return enough


def needed_in_words(exact: int, success: Rate, control: Rate | None, what: str = "people") -> str:
    """Say how many people would decide, to two digits rounded up, e.g. "about 73 people in place of 10 …"."""
    unit = 10 ** max(0, len(str(exact)) - 2)
    needed = -(-exact // unit) * unit
    about = f"about {figure(needed)}"
    missing = control is not None and control.people < exact
    if success.people >= exact and missing and control is not None:
        who = f"{about} {what} who are not in the data in place of {control.people:,}"
    else:
        who = f"{about} {what} in place of {success.people:,}" + (
            ", and as many who are not in the data," if missing else ""
        )
    return f"{who} would decide it, if the shares stay as they are"


def _compared(success: Rate, control: Rate | None) -> Verdict:
    low, high = success.interval
    if low > success.baseline and (control is None or low > control.interval[1]):
        return "succeeds"
    over_control = math.inf if control is None or not control.people else _highest_excess(success, control)
    return "no better" if min(high - success.baseline, over_control) <= RELEVANT else "undecided"


def _highest_excess(success: Rate, control: Rate) -> float:
    """Return the high end of Newcombe's 95 % interval of the difference of two shares."""
    up = success.interval[1] - success.share
    down = control.share - control.interval[0]
    return success.share - control.share + math.hypot(up, down)


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
