"""What a curve of beliefs says: that an attack succeeds, that it does no better than guessing, or neither."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

from sfumato.evaluation.attacks.belief_curve import BeliefCurve, Look
from sfumato.evaluation.attacks.options import SURE
from sfumato.evaluation.attacks.verdicts import RELEVANT, Verdict
from sfumato.rates import CONFIDENCE, Rate


def curve_verdict(curve: BeliefCurve) -> Verdict:
    """Judge an attacker by all points of their curve.

    Returns
    -------
    "succeeds", "no better" or "undecided"

    Notes
    -----
    *Succeeds*: at some look the excess is certain over guessing and, if there is a control group, over the same
    attacker on these people, who are not in the data, and over what somebody who knows only them says of the people of
    the look.

    *No better*: at every look a relevant excess is excluded over one of the three. Relevant are five of a hundred
    people among everybody, and among a share f of them five of a hundred ÷ √f: in the surest tenth 16 of a hundred
    people, who are 1.6 of a hundred of all. So every look takes about the same number of people to decide.

    *Errors.* The chance of one end of a 95 % interval, 2.5 of 100, is divided by the number of looks. Guessing is
    exceeded where as many right guesses have a smaller binomial chance, which is exact, as the surest are few: so all
    looks together call no attack a success in more than 2.5 of 100 cases that is right about each person, independent
    of the others, with the chance of a guess. Intervals are Wilson's with correction for continuity; those of
    differences are Newcombe's (1998, method 11). Where the control group has nobody at a look, which can happen above
    the bound alone, it explains nothing.
    """
    if not curve.looks:
        return "no better"
    tail = _tail(curve)
    if any(_exceeds(look, look.inside.baseline, tail) for look in curve.looks):
        return "succeeds"
    return "no better" if all(_excluded(look, curve.people, tail) for look in curve.looks) else "undecided"


def exceeds_promise(curve: BeliefCurve, allowed: float) -> bool:
    """Tell whether at some look the excess is certain over what is promised, and over what others show."""
    tail = _tail(curve)
    return any(_exceeds(look, max(allowed, look.inside.baseline), tail) for look in curve.looks)


def people_to_decide(curve: BeliefCurve) -> int:
    """Return about how many people would decide it, if shares stay and as many people are in the control group."""
    enough = 1
    while curve_verdict(_scaled(curve, enough)) == "undecided":
        enough *= 2
    few = enough // 2
    while enough - few > 1:
        middle = (few + enough) // 2
        few, enough = (few, middle) if curve_verdict(_scaled(curve, middle)) != "undecided" else (middle, enough)
    return enough


def ends(rate: Rate, tail: float) -> tuple[float, float]:
    """Return Wilson's interval with correction for continuity, with a chance of `tail` beyond each end.

    Examples
    --------
    >>> tuple(round(end, 4) for end in ends(Rate(81, 263, 0.0), 0.025))
    (0.2535, 0.3682)
    """
    n, p = rate.people, rate.share
    if not n:
        return 0.0, 1.0
    z = -NormalDist().inv_cdf(tail)
    middle, scale = 2 * n * p + z * z, 2 * (n + z * z)
    spread = z * z - 1 / n + 4 * n * p * (1 - p)
    low = (middle - 1 - z * math.sqrt(max(0.0, spread + 4 * p - 2))) / scale
    high = (middle + 1 + z * math.sqrt(max(0.0, spread - 4 * p + 2))) / scale
    return (max(0.0, low) if rate.successes > 0 else 0.0), (min(1.0, high) if rate.successes < n else 1.0)


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


_NOTHING = 1e-12


def _tail(curve: BeliefCurve) -> float:
    return (1 - CONFIDENCE) / 2 / max(1, len(curve.looks))


def _exceeds(look: Look, bar: float, tail: float) -> bool:
    """Tell whether so many are not by chance, at a bar, and the low ends of differences to what others show above 0."""
    if not look.inside.people or chance_of_as_many(look.inside, bar) > tail:
        return False
    return all(-_highest(other, look.inside, tail) > 0 for other in _shown_by_others(look))


def _excluded(look: Look, people: int, tail: float) -> bool:
    """Tell whether a relevant excess is excluded, over guessing or over what others show."""
    if not look.inside.people:
        return True
    relevant = RELEVANT / math.sqrt(look.inside.people / people)
    over = [_highest(look.inside, other, tail) for other in _shown_by_others(look)]
    return min([ends(look.inside, tail)[1] - look.inside.baseline, *over]) <= relevant


def _shown_by_others(look: Look) -> list[Rate]:
    return [rate for rate in (look.control, look.same) if rate is not None and rate.people]


def _highest(one: Rate, other: Rate, tail: float) -> float:
    """Return the high end of the interval of the difference of two shares."""
    up, down = ends(one, tail)[1] - one.share, other.share - ends(other, tail)[0]
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
            same=None if look.same is None else grown(look.same, curve.people),
        )
        for look in curve.looks
    )
    return replace(curve, looks=looks)
