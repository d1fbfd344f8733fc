"""Verdicts of attacks, and which promises say how often an attacker may guess rightly."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from examples import examples
from sfumato.evaluation.attacks.play import Attacks
from sfumato.evaluation.attacks.protocol import AttackResult
from sfumato.evaluation.attacks.verdicts import (
    RELEVANT,
    Certainty,
    Verdict,
    allowed_guess,
    judging_curve,
    needed_in_words,
    people_to_decide,
)
from sfumato.rates import Rate

SIZES = (*range(5, 48), 72, 84, 105, 129, 176, 258, 400, 800)
"""With the numbers of people at which Wilson's interval errs most."""


def result(success: Rate, control: Rate | None = None, certainty: Certainty | None = None) -> AttackResult:
    return AttackResult("some", "nothing", "who were found", success, control, certainty=certainty)


def verdict_of(success: Rate, control: Rate | None = None, certainty: Certainty | None = None) -> Verdict:
    return result(success, control, certainty).verdict


def people_needed(success: Rate, control: Rate | None = None) -> int:
    return people_to_decide(judging_curve(success, control, None))


def needed(success: Rate, control: Rate | None, what: str = "people") -> str:
    return needed_in_words(people_needed(success, control), judging_curve(success, control, None), what)


@st.composite
def rates(draw: st.DrawFn) -> Rate:
    people = draw(st.integers(1, 3000))
    return Rate(draw(st.integers(0, people)), people, draw(st.floats(0, 1)))


@st.composite
def close_calls(draw: st.DrawFn) -> Rate:
    """Few people, and guessing that does about as well: mostly undecided."""
    people = draw(st.integers(4, 150))
    some = draw(st.integers(0, people))
    guessed = min(max(some / people - draw(st.floats(-0.04, 0.08)), 0.01), 0.9)
    return Rate(some, people, guessed)


class TestByHand:
    """Wilson's 95 % intervals: 0 of 10 is 0 to 27.8 %, 1 of 14 is 1.3 to 31.5 %, 0 of 100 is 0 to 3.7 %."""

    @pytest.mark.parametrize(
        ("success", "verdict"),
        [
            (Rate(22, 22, 0.0), "succeeds"),
            (Rate(0, 10, 0.0), "undecided"),
            (Rate(0, 100, 0.0), "no better"),
            # 72 people: 0 to 5.07 %; 73: 0 to 4.999 %.
            (Rate(0, 72, 0.0), "undecided"),
            (Rate(0, 73, 0.0), "no better"),
            (Rate(1, 14, 0.0), "succeeds"),
            (Rate(1, 14, 0.05), "undecided"),
            (Rate(1, 14, 0.3), "no better"),
            # Nothing is five of a hundred above 96 %.
            (Rate(3, 3, 0.96), "no better"),
            (Rate(0, 0, 0.0), "no better"),
        ],
    )
    def test_without_a_control_group(self, success: Rate, verdict: str) -> None:
        assert verdict_of(success) == verdict

    def test_twenty_two_of_twenty_two_beside_a_control_group(self) -> None:
        """1 of 1 is 20.7 to 100 %: the group is too small to say, where the release does not say it for certain."""
        told, one = Rate(22, 22, 0.0), Rate(1, 1, 0.0)
        assert verdict_of(told, one) == "undecided"
        # Nobody outside of whom anything could be said explains nothing.
        assert verdict_of(told, Rate(0, 0, 0.0)) == "succeeds"
        assert verdict_of(told, one, Certainty(22)) == "succeeds"
        assert verdict_of(told, one, Certainty(21, wrong=1)) == "undecided"
        assert verdict_of(told, one, Certainty(0)) == "no better"
        # 0 of 22 is 0 to 14.9 %, and 22 of 22 are 85.1 to 100 %.
        assert verdict_of(told, Rate(0, 22, 0.0)) == "succeeds"

    def test_as_often_as_outside(self) -> None:
        """Newcombe: 500 of 1,000 beside 500 of 1,000 differ by −4.4 to 4.4 %; of 100 each by −13.4 to 13.4 %."""
        assert verdict_of(Rate(500, 1000, 0.1), Rate(500, 1000, 0.1)) == "no better"
        assert verdict_of(Rate(50, 100, 0.1), Rate(50, 100, 0.1)) == "undecided"
        assert verdict_of(Rate(500, 1000, 0.1), Rate(400, 1000, 0.1)) == "succeeds"
        assert verdict_of(Rate(500, 1000, 0.1)) == "succeeds"

    def test_what_guessing_reaches_is_no_better_whatever_the_control_group(self) -> None:
        assert verdict_of(Rate(500, 1000, 0.5), Rate(0, 1, 0.5)) == "no better"

    def test_the_people_who_would_decide(self) -> None:
        # 1.96² · .05 · .95 ÷ .05² = 72.99.
        assert people_needed(Rate(0, 10, 0.0)) == 73
        assert people_needed(Rate(1, 14, 0.05)) == 546
        assert needed(Rate(0, 10, 0.0), None) == (
            "about 73 people in place of 10 would decide it, if the shares stay as they are"
        )
        assert needed(Rate(1, 14, 0.05), None, "records").startswith("about 550 records in place of 14 would")

    def test_who_is_missing_of_both_groups(self) -> None:
        few = Rate(22, 22, 0.0)
        assert verdict_of(few, Rate(3, 4, 0.0)) == "undecided"
        assert people_needed(few, Rate(3, 4, 0.0)) == 16
        assert needed(few, Rate(3, 4, 0.0)).startswith("about 16 people who are not in the data in place of 4 would")
        assert ", and as many who are not in the data, would" in needed(Rate(6, 10, 0.5), Rate(3, 5, 0.5))


class TestProperties:
    @examples(200)
    @given(rates())
    def test_no_better_never_leaves_much_above_guessing(self, success: Rate) -> None:
        verdict = verdict_of(success)
        low, high = success.interval
        assert (verdict == "no better") == (high <= success.baseline + RELEVANT and low <= success.baseline)
        # The binomial chance that decides is a little stricter than the interval.
        assert verdict != "succeeds" or low > success.baseline

    @examples(200)
    @given(rates(), rates())
    def test_no_better_beside_a_control_group(self, success: Rate, control: Rate) -> None:
        verdict = verdict_of(success, control)
        over = min(success.interval[1] - success.baseline, success.share - control.share)
        assert verdict != "no better" or over <= RELEVANT
        assert verdict != "succeeds" or success.share > max(success.baseline, control.share if control.people else 0)

    @examples(200)
    @given(close_calls())
    def test_so_many_decide_and_one_less_does_not(self, success: Rate) -> None:
        assume(verdict_of(success) == "undecided")
        needed, share = people_needed(success), success.share

        def verdict(people: int) -> str:
            return verdict_of(Rate(share * people, people, success.baseline))

        assert needed <= 16384
        assert (verdict(needed) != "undecided", verdict(needed - 1)) == (True, "undecided")

    @examples(100)
    @given(close_calls(), st.integers(0, 40))
    def test_so_many_decide_beside_a_control_group(self, success: Rate, people: int) -> None:
        control = Rate(people * success.baseline, people, success.baseline)
        assume(people > 0)
        assume(verdict_of(success, control) == "undecided")
        needed = people_needed(success, control)
        assert needed <= 8192
        scaled = [Rate(each.share * needed, needed, success.baseline) for each in (success, control)]
        assert verdict_of(*scaled) != "undecided"


def chances(people: int, share: float) -> np.ndarray:
    """Binomial chances of 0 .. n."""
    tries = np.arange(people + 1)
    ways = [math.lgamma(people + 1) - math.lgamma(some + 1) - math.lgamma(people - some + 1) for some in tries]
    return np.exp(np.array(ways) + tries * math.log(share) + (people - tries) * math.log1p(-share))


class TestErrors:
    @pytest.mark.parametrize(
        ("guessed", "first", "second"),
        [
            (0.001, 0.025, 0.03),
            (0.03, 0.025, 0.03),
            (0.1, 0.025, 0.03),
            (0.2, 0.025, 0.04),
            (0.5, 0.025, 0.05),
            (0.8, 0.025, 0.08),
            (0.94, 0.025, 0.16),
        ],
    )
    def test_over_all_outcomes(self, guessed: float, first: float, second: float) -> None:
        """First: as good as guessing, and succeeds. Second: five of a hundred better, and "no better"."""
        for people in SIZES:
            verdicts = np.array([verdict_of(Rate(some, people, guessed)) for some in range(people + 1)])
            assert chances(people, guessed)[verdicts == "succeeds"].sum() <= first
            assert chances(people, guessed + RELEVANT)[verdicts == "no better"].sum() <= second

    def test_of_many_people_the_first_is_one_end_of_an_interval(self) -> None:
        verdicts = np.array([verdict_of(Rate(some, 20_000, 0.3)) for some in range(20_001)])
        assert chances(20_000, 0.3)[verdicts == "succeeds"].sum() == pytest.approx(0.025, abs=0.002)
        # So many tell five of a hundred from nothing.
        assert chances(20_000, 0.35)[verdicts == "no better"].sum() < 1e-9

    @pytest.mark.parametrize("people", [30, 200, 1000])
    def test_beside_a_control_group(self, people: int) -> None:
        """4,000 draws: as good as on people outside, or five of a hundred better than on them."""
        draw = np.random.default_rng(people)

        def share(inside: float, outside: float, wrong: str) -> float:
            pairs = zip(draw.binomial(people, inside, 4000), draw.binomial(people, outside, 4000), strict=True)
            found = [verdict_of(Rate(int(one), people, 0.1), Rate(int(two), people, 0.1)) for one, two in pairs]
            return found.count(wrong) / len(found)

        assert share(0.4, 0.4, "succeeds") <= 0.03
        assert share(0.45, 0.4, "no better") <= 0.035


class TestHowItIsShown:
    def test_text_and_plain_values(self) -> None:
        told = result(Rate(0, 10, 0.0))
        assert str(told).startswith("some: undecided\n")
        assert "about 73 people in place of 10 would decide it" in str(told)
        plain = json.loads(json.dumps(told.to_dict()))
        assert (plain["verdict"], plain["succeeds"], plain["people_needed"]) == ("undecided", False, 73)
        assert (plain["certainty"], plain["unplayed"]) == (None, None)
        sure = result(Rate(22, 22, 0.0), Rate(1, 1, 0.0), Certainty(22)).to_dict()
        assert (sure["verdict"], sure["succeeds"], sure["certainty"]) == ("succeeds", True, {"told": 22, "wrong": 0})
        assert sure["people_needed"] is None

    def test_what_a_promise_allows_is_said_of_what_is_undecided(self) -> None:
        told = replace(result(Rate(2, 10, 0.1)), allowed=0.2)
        assert str(told).startswith("some: undecided; the release's promises allow 20 %\n")
        assert "allow" not in str(replace(result(Rate(0, 100, 0.0)), allowed=0.2))

    def test_what_was_not_played_is_no_verdict(self) -> None:
        told = replace(result(Rate(0, 0, 0.0)), unplayed="it takes too long", notes=("another", "it takes too long"))
        lines = str(told).splitlines()
        assert lines[0] == "some: not played, because it takes too long"
        assert lines[2:] == ["  note: another"]
        played = Attacks("x", 10, None, (told,))
        assert (told.verdict, told.is_undecided, told.people_needed) == ("undecided", False, None)
        assert (played.undecided, played.succeeding) == ((), ())
        assert "undecided" not in str(played)

    def test_undecided_results_are_counted(self) -> None:
        one = result(Rate(0, 10, 0.0))
        within = replace(result(Rate(2, 10, 0.1)), allowed=0.2)
        played = Attacks("x", 10, None, (one, within, result(Rate(0, 100, 0.0))))
        assert played.undecided == (one, within)
        assert played.unsettled == (one,)
        assert played.to_dict()["undecided"] == 2
        assert "0 succeed, 0 of them beyond what the release promises; 2 undecided\n" in str(played)


@pytest.mark.parametrize(
    ("models", "allowed"),
    [
        ([], None),
        ([{"name": "k-anonymity", "k": 5}], None),
        ([{"name": "distinct-l-diversity", "l": 4}], None),
        ([{"name": "probabilistic-l-diversity", "l": 4}], 0.25),
        ([{"name": "probabilistic-l-diversity", "l": 4, "attribute": "income"}], None),
        ([{"name": "probabilistic-l-diversity", "l": 2.5, "attribute": "disease"}], 0.4),
        ([{"name": "alpha-k-anonymity", "alpha": 0.3, "k": 2}, {"name": "probabilistic-l-diversity", "l": 2}], 0.3),
    ],
)
def test_the_smallest_promise_about_the_attribute(models: list[dict[str, object]], allowed: float | None) -> None:
    assert allowed_guess(models, "disease") == allowed
