"""Curves of beliefs: against random orders of ties, by hand, and how their verdicts err."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from evaluation.attacks.inference_tables import all_starred, as_it_is, bucketized, people, target
from examples import examples
from sfumato.evaluation.attacks.attribute_disclosure import Homogeneity
from sfumato.evaluation.attacks.definetti import DeFinetti
from sfumato.evaluation.attacks.learners import AttributeInference
from sfumato.evaluation.attacks.protocol import AttackResult
from sfumato.evaluation.attacks.verdicts import (
    SHARES,
    BeliefCurve,
    Beliefs,
    CurvePoint,
    chance_of_as_many,
    curve_verdict,
    draw_curve,
    exceeds_promise,
    judging_curve,
    people_to_decide,
)
from sfumato.rates import Rate, interval_ends


@st.composite
def beliefs(draw: st.DrawFn, most: int = 30) -> Beliefs:
    """Few different beliefs, so that most are tied."""
    told = draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1)), min_size=1, max_size=most))
    belief, right = np.array(told, dtype=np.float64).T
    return Beliefs(belief / 4, right)


def curve(inside: Beliefs, outside: Beliefs | None = None, *, bound: float | None = None) -> BeliefCurve:
    return draw_curve(inside, outside, None, guessing=(0.1, 0.1), bound=bound)


def spread(rights: np.ndarray, generator: np.random.Generator) -> Beliefs:
    """People of whom the attacker is surer the further they are in front."""
    return Beliefs(np.linspace(1, 0, len(rights)), (generator.random(len(rights)) < rights).astype(np.float64))


class TestTies:
    @examples(100)
    @given(beliefs(), st.integers(1, 30))
    def test_shares_are_those_of_all_orders(self, some: Beliefs, count: int) -> None:
        """Of tied people, any may come first: the exact mean over all sets of people who find room."""
        count = min(count, some.people)
        chosen, alike = some.surest(count)
        border = sorted(some.belief)[-count]
        above, at = some.right[some.belief > border], some.right[some.belief == border]
        expected = above.sum() + at.mean() * (count - len(above))
        assert some.rate(chosen, 0.0).successes == pytest.approx(expected)
        assert chosen.sum() == pytest.approx(count)
        assert alike == (len(at) if len(at) > count - len(above) else 0)

    def test_a_random_order_reaches_them_on_average(self) -> None:
        generator = np.random.default_rng(1)
        some = Beliefs(np.repeat([0.5, 0.25], [10, 30]), (np.arange(40) % 3 == 0).astype(np.float64))
        drawn = []
        for _ in range(4000):
            order = generator.permutation(40)
            first = order[np.argsort(-some.belief[order], kind="stable")[:16]]
            drawn.append(some.right[first].sum())
        assert some.rate(some.surest(16)[0], 0.0).successes == pytest.approx(np.mean(drawn), abs=0.05)

    def test_rounding_makes_no_order(self) -> None:
        some = Beliefs(np.array([1 / 3, 1 - 2 / 3, 0.1 + 0.2 + 1 / 30]), np.array([1.0, 0.0, 0.0]))
        assert some.surest(1) == (pytest.approx([1 / 3, 1 / 3, 1 / 3]), 3)

    @examples(50)
    @given(beliefs(), st.integers(0, 2**32))
    def test_the_order_of_people_decides_nothing(self, some: Beliefs, seed: int) -> None:
        order = np.random.default_rng(seed).permutation(some.people)
        other = Beliefs(some.belief[order], some.right[order])
        for one, two in zip(curve(some, bound=0.5).looks, curve(other, bound=0.5).looks, strict=True):
            assert one.inside.successes == pytest.approx(two.inside.successes)


class TestLooks:
    def test_by_hand(self) -> None:
        """Of 20 people the surest 1 % and 5 % are one, 10 % two, 25 % five; 0.5 is not above the bound of one half."""
        some = Beliefs(np.linspace(1, 0.05, 20), (np.arange(20) < 3).astype(np.float64))
        found = curve(some, bound=0.5)
        assert [look.share for look in found.looks] == [*SHARES, None]
        assert [(look.inside.successes, look.inside.people) for look in found.looks] == [
            (1, 1),
            (1, 1),
            (2, 2),
            (3, 5),
            (3, 20),
            (3, 10),
        ]

    def test_guesses_about_a_person_count_where_they_are_better(self) -> None:
        some = Beliefs(np.array([0.9, 0.8, 0.1, 0.1]), np.ones(4), np.array([1.0, 0.0, 0.0, 0.0]))
        found = curve(some)
        assert [look.inside.baseline for look in found.looks] == [1.0, 1.0, 1.0, 1.0, 0.25]

    def test_nobody(self) -> None:
        nobody = Beliefs(np.empty(0), np.empty(0))
        assert curve_verdict(curve(nobody)) == "no better"
        one = curve(Beliefs(np.ones(1), np.ones(1)), nobody, bound=0.5)
        assert one.alone is not None
        assert curve_verdict(one) == "undecided"

    def test_without_a_control_group_it_says_why(self) -> None:
        assert "there is no control group" in curve(Beliefs(np.ones(3), np.ones(3))).lines()[-1]
        given = draw_curve(Beliefs(np.ones(3), np.ones(3)), None, None, guessing=(0, 0), bound=None, alone="nobody is.")
        assert given.to_dict()["no_control"] == "nobody is."

    def test_goes_into_json(self) -> None:
        generator = np.random.default_rng(1)
        found = curve(spread(np.full(50, 0.5), generator), spread(np.full(20, 0.5), generator), bound=0.5)
        told = json.loads(json.dumps(found.to_dict()))
        assert told["bound"] == 0.5
        assert [look["surest"] for look in told["looks"]] == [*SHARES, None]
        assert told["looks"][2]["control"]["people"] == 2


class TestIntervals:
    def test_of_the_literature(self) -> None:
        """Newcombe (1998), table I, method 3: 81 of 263, 15 of 148, 0 of 20, 1 of 29."""
        expected = {
            (81, 263): (0.2553, 0.3662),
            (15, 148): (0.0624, 0.1605),
            (0, 20): (0, 0.1611),
            (1, 29): (0.0061, 0.1718),
        }
        for (some, people_), (low, high) in expected.items():
            found = interval_ends(Rate(some, people_, 0), 0.025)
            assert found == (pytest.approx(low, abs=2e-4), pytest.approx(high, abs=2e-4))

    def test_of_certainty(self) -> None:
        assert interval_ends(Rate(10, 10, 0), 0.025)[1] == 1
        assert interval_ends(Rate(0, 10, 0), 0.025)[0] == 0
        assert interval_ends(Rate(0, 0, 0), 0.025) == (0, 1)


class TestChances:
    @examples(100)
    @given(st.integers(1, 60), st.integers(0, 60), st.floats(0.001, 0.999))
    def test_against_the_sum_over_all_outcomes(self, people_: int, some: int, share: float) -> None:
        some = min(some, people_)
        found = chance_of_as_many(Rate(some, people_, 0), share)
        if some <= people_ * share:
            assert found == 1
        else:
            terms = (
                math.comb(people_, each) * share**each * (1 - share) ** (people_ - each)
                for each in range(some, people_ + 1)
            )
            assert found == pytest.approx(sum(terms), rel=1e-9)

    def test_borders(self) -> None:
        assert chance_of_as_many(Rate(1, 10, 0), 0.0) == 0
        assert chance_of_as_many(Rate(10, 10, 0), 1.0) == 1
        assert chance_of_as_many(Rate(0, 10, 0), 0.0) == 1
        # A part of a success is no success.
        assert chance_of_as_many(Rate(1.99, 2, 0), 0.5) == 1
        assert 0 < chance_of_as_many(Rate(600_000, 1_000_000, 0), 0.599) < 0.05

    @pytest.mark.parametrize("guessed", [0.03, 0.25, 0.9])
    def test_looks_err_no_more_than_they_may(self, guessed: float) -> None:
        """Each look of its own, over all outcomes: at most 2.5 of 100, divided by six."""
        for people_ in range(1, 200):
            outcomes = np.array([math.comb(people_, each) for each in range(people_ + 1)], dtype=np.float64)
            some = np.arange(people_ + 1)
            chances = outcomes * guessed**some * (1 - guessed) ** (people_ - some)
            called = [chance_of_as_many(Rate(each, people_, 0), guessed) <= 0.025 / 6 for each in some.tolist()]
            assert chances[called].sum() <= 0.025 / 6 + 1e-12


class TestVerdicts:
    def test_the_surest_tenth_is_enough(self) -> None:
        """A tenth is told always, the others never: 10 % on average, as by guessing."""
        some = Beliefs(np.linspace(1, 0, 2000), (np.arange(2000) < 200).astype(np.float64))
        assert some.right.mean() == 0.1
        assert curve_verdict(curve(some)) == "succeeds"
        assert exceeds_promise(curve(some, bound=0.5), 0.5)

    def test_a_success_is_above_guessing_in_its_interval(self) -> None:
        """47 of 50 at 119 of 150: exactly reckoned it is no chance of five looks, but the interval begins at 79.2 %."""
        told = (np.arange(200) >= 3) & (np.arange(200) < 50)
        some = Beliefs(np.linspace(1, 0, 200), told.astype(np.float64), np.full(200, 119 / 150))
        assert chance_of_as_many(Rate(47, 50, 0), 119 / 150) < 0.005
        assert curve_verdict(curve(some)) == "undecided"

    def test_what_the_population_tells_is_no_success(self) -> None:
        """As often among the surest of the others."""
        told = (np.arange(20_000) % 10 < np.linspace(10, 0, 20_000)).astype(np.float64)
        some = Beliefs(np.linspace(1, 0, 20_000), told)
        assert curve_verdict(curve(some)) == "succeeds"
        assert curve_verdict(curve(some, some)) == "no better"
        assert not exceeds_promise(curve(some, some, bound=0.5), 0.5)
        assert exceeds_promise(curve(some, bound=0.5), 0.5)

    def test_what_others_tell_of_the_same_people(self) -> None:
        """Whoever knows only others is as often right about the attacker's surest, or about other people."""
        some = Beliefs(np.linspace(1, 0, 4000), (np.arange(4000) < 1000).astype(np.float64))
        for known, verdict in ((some.right, "no better"), (some.right[::-1], "succeeds")):
            other = Beliefs(known.copy(), known.copy())
            found = draw_curve(some, None, other, guessing=(0.1, 0.1), bound=0.5)
            assert curve_verdict(found) == verdict
            assert [look.population.share for look in found.looks[:4] if look.population] == [1, 1, 1, 1]

    def test_a_control_group_with_nobody_above_the_bound_explains_nothing(self) -> None:
        sure, doubtful = Beliefs(np.full(300, 0.9), np.ones(300)), Beliefs(np.full(300, 0.1), np.ones(300))
        assert not exceeds_promise(curve(sure, doubtful), 0.5)
        assert exceeds_promise(curve(sure, doubtful, bound=0.5), 0.5)

    @pytest.mark.parametrize("people_", [5, 40])
    def test_few_people_are_undecided(self, people_: int) -> None:
        some = Beliefs(np.linspace(1, 0, people_), np.zeros(people_))
        assert curve_verdict(curve(some)) == "undecided"

    @examples(40)
    @given(beliefs(), beliefs())
    def test_so_many_decide(self, inside: Beliefs, outside: Beliefs) -> None:
        found = curve(inside, outside, bound=0.5)
        if curve_verdict(found) == "undecided":
            assert people_to_decide(found) > 1

    def test_as_many_as_are_said_to_decide_do(self) -> None:
        some = Beliefs(np.linspace(1, 0, 100), (np.arange(100) % 10 == 9).astype(np.float64))
        needed = people_to_decide(curve(some))
        more = Beliefs(np.linspace(1, 0, 2 * needed), (np.arange(2 * needed) % 10 == 9).astype(np.float64))
        assert 100 < needed < 2000
        assert curve_verdict(curve(more)) == "no better"

    @pytest.mark.parametrize("others", [False, True])
    @pytest.mark.parametrize("claims", [False, True])
    def test_permuted_truth_seldom_succeeds(self, others: bool, claims: bool) -> None:
        """Of 1,000 releases of noise at most 5 % are called a success."""
        generator = np.random.default_rng([others, claims])
        found = [noise(generator, others, claims).verdict for _ in range(1000)]
        assert found.count("succeeds") <= 50

    def test_no_headline_contradicts_what_stands_below(self) -> None:
        """500 outcomes, from noise to what is told of a few or of all, with others who show some of it or none."""
        generator = np.random.default_rng(39)
        verdicts = set()
        for place in range(500):
            result = noise(generator, place % 2 == 0, place % 3 == 0, told=generator.choice([0, 0.02, 0.1, 0.5]))
            looks = judging_curve(result.success, result.control, result.curve).looks
            tail = 0.025 / len(looks)
            above = [interval_ends(look.inside, tail)[0] > look.inside.baseline for look in looks if look.inside.people]
            if result.headline == "does no better than guessing":
                assert not any(above)
            if result.verdict == "succeeds":
                assert any(above)
            assert (result.people_needed is None) == (result.verdict != "undecided")
            verdicts.add(result.headline)
        assert len(verdicts) >= 3


def noise(generator: np.random.Generator, others: bool, claims: bool, told: float = 0.0) -> AttackResult:
    """Name values at random, of a truth that is permuted but for the surest share that is `told`."""
    values = generator.dirichlet(np.ones(int(generator.integers(2, 8))))

    def drawn(people_: int, told: float) -> tuple[Beliefs, Rate, float]:
        truth, named = (generator.choice(len(values), people_, p=values) for _ in range(2))
        belief = np.round(generator.random(people_), int(generator.integers(1, 4)))
        named = np.where(belief > 1 - told, truth, named)
        right, usual = (named == truth).astype(np.float64), float((truth == values.argmax()).mean())
        claimed = belief > 0.9
        of_claims = Rate(float(right[claimed].sum()), int(claimed.sum()), usual)
        return Beliefs(belief, right), of_claims if claims else Rate(right.sum(), people_, usual), usual

    people_ = int(generator.integers(20, 3000))
    inside, success, usual = drawn(people_, told)
    outside, control, usual_of_others = drawn(people_, told * generator.choice([0, 1]))
    found = draw_curve(inside, outside if others else None, None, guessing=(usual, usual_of_others), bound=None)
    if claims:
        found = replace(found, claims=True)
    return AttackResult("some", "nothing", "who", success, control if others else None, curve=found)


class TestOfAttacks:
    def test_a_result_is_judged_by_its_curve(self) -> None:
        some = Beliefs(np.linspace(1, 0, 2000), (np.arange(2000) < 200).astype(np.float64))
        result = AttackResult("some", "nothing", "who", Rate(200, 2000, 0.1), allowed=0.5, curve=curve(some, bound=0.5))
        assert result.verdict == "succeeds"
        assert not result.is_allowed
        assert "surest 10 %: 200 of 200" in str(result)
        assert result.to_dict()["curve"]["looks"][2]["inside"]["share"] == 1
        # What is claimed of some people is looked at beside the surest.
        claimed = replace(result, success=Rate(30, 30, 0.1), curve=curve(Beliefs(np.ones(2000), np.zeros(2000))))
        assert claimed.verdict == "no better"
        assert replace(claimed, curve=replace(claimed.curve, claims=True)).verdict == "succeeds"

    def test_what_others_show_is_no_guess(self) -> None:
        """Above guessing, but so it is among others: the headline says so, and not that guessing does as well."""
        told = (np.arange(20_000) % 10 < np.linspace(10, 0, 20_000)).astype(np.float64)
        some = Beliefs(np.linspace(1, 0, 20_000), told)
        result = AttackResult("some", "nothing", "who", Rate(told.sum(), 20_000, 0.1), curve=curve(some, some))
        assert (result.verdict, result.headline) == ("no better", "tells no more than people outside do")
        assert str(result).startswith("some: tells no more than people outside do\n")

    @pytest.mark.parametrize("attack", [DeFinetti(), AttributeInference()])
    def test_beliefs_are_of_those_who_are_named(self, attack: sf.evaluation.attacks.protocol.Attack) -> None:
        original, control = people(600, 1, linked=True), people(300, 2, linked=True)
        (told,) = attack.play(target(bucketized(original, 6), original, control))
        assert told.curve is not None
        everybody = told.curve.looks[SHARES.index(1.0)]
        assert everybody.inside.successes == pytest.approx(told.success.successes)
        assert everybody.control is not None
        assert told.control is not None
        assert everybody.control.successes == pytest.approx(told.control.successes)
        assert told.curve.looks[3].inside.share > told.success.share
        assert everybody.population is not None
        assert everybody.population.share > 0.7
        assert everybody.population == everybody.same

    def test_who_is_surest_is_right_more_often_where_something_is_told(self) -> None:
        generator = np.random.default_rng(1)
        strength = np.repeat([0.95, 0.5], 600)
        frame = pl.DataFrame(
            {
                "age": np.where(generator.random(1200) < 0.5, 1, 2) + np.repeat([0, 2], 600),
                "person": np.arange(1200),
            }
        ).with_columns(sick=pl.Series(generator.random(1200) < strength))
        frame = frame.select(
            "age", disease=pl.when((pl.col("age") % 2 == 1) == pl.col("sick")).then(pl.lit("a")).otherwise(pl.lit("b"))
        )
        table = sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["disease"]))
        (told,) = DeFinetti().play(target(bucketized(table, 2), table))
        assert told.curve is not None
        tenth, everybody = told.curve.looks[2].inside, told.curve.looks[4].inside
        assert tenth.share > 0.9 > everybody.share
        assert told.curve.alone is not None

    def test_certainty_decides_homogeneity(self) -> None:
        original = people(60, 1)
        (sure,) = Homogeneity().play(target(as_it_is(original), original))
        (none,) = Homogeneity().play(target(all_starred(original), original))
        # Nobody is told for certain; what is believed of sixty people decides nothing.
        assert (sure.verdict, none.verdict) == ("succeeds", "undecided")
        assert sure.curve is not None
        assert none.curve is not None
        assert sure.curve.looks[0].inside.share == 1
        assert none.curve.looks[0].alike == 60

    def test_looks_are_named(self) -> None:
        assert CurvePoint(0.05, Rate(1, 2, 0)).named(None) == "surest 5 %"
        assert CurvePoint(None, Rate(0, 0, 0)).line(1 / 3) == "believed above 33.3 %: nobody"
