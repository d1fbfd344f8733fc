"""The paper's Table 1 and the figures that follow from it."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.kinds.ratings.check import SEARCHES

R = 6
TABLE_1 = pl.DataFrame(
    {
        "issue 1": [6, 1, 2, 1, 2],
        "issue 2": [1, 6, 5, None, None],
        "issue 3": [None, None, None, 5, 6],
        "issue 4": [6, 1, 1, 1, 5],
    }
)
EVERY_SEARCH = pytest.mark.parametrize("search", SEARCHES)


def read(rows: list[int] | None = None) -> sf.Ratings:
    frame = TABLE_1 if rows is None else TABLE_1[rows]
    return sf.read_ratings(frame, form="wide", scale=(1, R), sensitive="issue 4")


def around(epsilon: float, search: str, rows: list[int] | None = None, **settings: str) -> list[tuple[int, float]]:
    model = sf.RatingAnonymity(1, epsilon, 0.001, **settings)
    measures = sf.check_ratings(read(rows), model, search=search).measures
    return [
        (size, round(spread, 4))
        for size, spread in zip(measures.sizes.tolist(), measures.spreads.tolist(), strict=True)
    ]


@EVERY_SEARCH
def test_balls_of_table_1(search: str) -> None:
    assert around(1, search) == [(1, 0), (2, 0), (2, 0), (2, 2), (2, 2)]
    assert around(4, search) == [(2, 2.5), (2, 0), (3, 2.357), (2, 2), (2, 2)]
    assert around(5, search) == [(3, 2.357)] * 3 + [(2, 2)] * 2
    assert around(6, search) == [(5, 2.2271)] * 5


@EVERY_SEARCH
def test_trimmed_groups_of_table_1(search: str) -> None:
    assert around(4, search, group="trimmed") == [(2, 2.5), (2, 0), (1, 0), (2, 2), (2, 2)]
    assert around(1, search, group="trimmed") == around(1, search)
    assert around(6, search, group="trimmed") == [(5, 2.2271)] * 5


@EVERY_SEARCH
def test_verdicts_on_table_1(search: str) -> None:
    def holds(rows: list[int], *model: float) -> bool:
        return sf.check_ratings(read(rows), sf.RatingAnonymity(*model), search=search).holds

    everybody = list(range(5))
    assert not holds(everybody, 2, 1)
    assert holds([1, 2, 3, 4], 2, 1)
    assert not holds([1, 2, 3, 4], 2, 1, 1e-9)
    assert holds([3, 4], 2, 1, 2)
    assert not holds([3, 4], 2, 1, 2.0001)
    assert holds(everybody, 5, R, 2.227)
    assert not holds(everybody, 5, R - 0.01, 0)


@EVERY_SEARCH
def test_witnesses_say_why(search: str) -> None:
    answer = sf.check_ratings(read(), sf.RatingAnonymity(2, 1, 1), search=search)
    assert [(w.record, w.around, w.reasons, w.spread, w.issue) for w in answer.witnesses()] == [
        (1, 1, ("few", "flat"), 0, "issue 4"),
        (2, 2, ("flat",), 0, "issue 4"),
        (3, 2, ("flat",), 0, "issue 4"),
    ]
    assert (answer.records, answer.satisfied, answer.too_few, answer.too_flat) == (5, 2, 1, 3)
    assert answer.failures().rows() == [
        (1, 1, True, True, 0, "issue 4"),
        (2, 2, False, True, 0, "issue 4"),
        (3, 2, False, True, 0, "issue 4"),
    ]
    assert str(answer) == (
        "(2, 1, 1)-anonymity of ratings does not hold: 2 of 5 records satisfied (40%)\n"
        "  1 record with fewer than 2 within 1\n"
        "  3 records around which a sensitive issue deviates by less than 1\n"
        "  record 1: 1 record around it, 'issue 4' deviates by 0\n"
        "  record 2: 2 records around it, 'issue 4' deviates by 0\n"
        "  record 3: 2 records around it, 'issue 4' deviates by 0"
    )


@EVERY_SEARCH
def test_how_far_table_1_goes(search: str) -> None:
    def ask(k: int, epsilon: float, l: float, rows: list[int] | None = None) -> sf.Satisfaction:  # noqa: E741
        return sf.check_ratings(read(rows), sf.RatingAnonymity(k, epsilon, l), search=search)

    assert ask(2, 1, 0).largest_k == 1
    assert ask(2, 5, 2).largest_k == 2
    assert ask(2, 1, 1).largest_k is None
    assert ask(2, 5, 0).largest_l == 2
    assert ask(2, 1, 0).largest_l is None
    assert ask(2, 1, 0).smallest_epsilon == 4
    assert ask(2, 1, 1).smallest_epsilon == 5
    assert ask(5, 1, 1).smallest_epsilon == 6
    assert ask(6, 1, 1).smallest_epsilon is None
    assert ask(2, 0, 2, [3, 4]).smallest_epsilon == 1
    # t2 alone deviates by nothing at ε = 4, and everybody at ε = 6 by 2.2271, less than 2.3 asks for.
    assert ask(3, 1, 2.3, [0, 1, 2]).smallest_epsilon == 5
    assert ask(1, 1, 2.3).smallest_epsilon is None


@EVERY_SEARCH
def test_the_curve_of_table_1(search: str) -> None:
    answer = sf.check_ratings(read(), sf.RatingAnonymity(2, 1, 1), search=search)
    curve = answer.curve([1, 2, 3, 5], [1, 4, 6])
    assert curve.columns == ["epsilon", "k", "l", "satisfied", "share"]
    assert curve["satisfied"].to_list() == [2, 2, 0, 0, 4, 4, 1, 0, 5, 5, 5, 5]
    assert curve["share"][0] == 0.4
    assert answer.curve()["epsilon"].unique().sort().to_list() == [0, 1, 2, 3, 4, 5, 6]


@EVERY_SEARCH
@pytest.mark.parametrize(("nulls", "spread"), [("skip", 2.0), ("g", 1.6330), ("literal", 2.3805)])
def test_three_readings_of_the_deviation(search: str, nulls: str, spread: float) -> None:
    frame = pl.DataFrame({"o": [1, 1, 1], "s": [1, 5, None]})
    ratings = sf.read_ratings(frame, form="wide", scale=(1, 5), sensitive="s")
    measures = sf.check_ratings(ratings, sf.RatingAnonymity(1, 0, 1, nulls=nulls), search=search).measures
    assert measures.spreads.tolist() == pytest.approx([spread] * 3, abs=5e-5)


@EVERY_SEARCH
def test_a_chain_in_balls_and_trimmed(search: str) -> None:
    ratings = sf.read_ratings(pl.DataFrame({"o": [1, 2, 3]}), form="wide")

    def sizes(group: str) -> list[int]:
        model = sf.RatingAnonymity(3, 1, group=group)
        return sf.check_ratings(ratings, model, search=search).measures.sizes.tolist()

    assert sizes("ball") == [2, 3, 2]
    assert sizes("trimmed") == [2, 1, 2]


@EVERY_SEARCH
def test_half_stars_and_negative_scales_have_their_own_r(search: str) -> None:
    stars = pl.DataFrame({"o": [0.5, 5.0, None], "p": [1.0, 1.0, 1.0]})
    half = sf.read_ratings(stars, form="wide", scale=(0.5, 5, 0.5))

    def sizes(ratings: sf.Ratings, epsilon: float) -> list[int]:
        model = sf.RatingAnonymity(3, epsilon)
        return sf.check_ratings(ratings, model, search=search).measures.sizes.tolist()

    assert [sizes(half, epsilon) for epsilon in (4.4, 4.5, 4.9, 5)] == [[1, 1, 1], [2, 2, 1], [2, 2, 1], [3, 3, 3]]
    wide = sf.read_ratings(pl.DataFrame({"o": [-10, 10, None], "p": [0, 0, 0]}), form="wide", scale=(-10, 10))
    assert [sizes(wide, epsilon) for epsilon in (19, 20, 21)] == [[1, 1, 1], [2, 2, 1], [3, 3, 3]]


@EVERY_SEARCH
def test_users_without_ratings_are_records_with_the_empty_set(search: str) -> None:
    frame = pl.DataFrame({"o": [None, 3, None], "p": [None, None, None], "s": [1, 2, 5]}, schema_overrides={"p": int})
    ratings = sf.read_ratings(frame, form="wide", scale=(1, 5), sensitive="s")
    answer = sf.check_ratings(ratings, sf.RatingAnonymity(2, 1, 2), search=search)
    assert answer.measures.sizes.tolist() == [2, 1, 2]
    assert [witness.record for witness in answer.witnesses()] == [2]


def test_a_reach_of_r_is_said() -> None:
    assert sf.check_ratings(read(), sf.RatingAnonymity(2, 5.9)).notes() == []
    (note,) = sf.check_ratings(read(), sf.RatingAnonymity(2, 6)).notes()
    assert "reaches r = 6" in note


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"l": -1}, "l must be"),
        ({"epsilon": -0.5}, "epsilon must be"),
        ({"epsilon": float("nan")}, "epsilon must be"),
        ({"k": 0}, "k must be"),
        ({"k": 2.5}, "k must be"),
        ({"group": "clique"}, "group must be one of ball, trimmed"),
        ({"nulls": "zero"}, "nulls must be one of skip, g, literal"),
    ],
)
def test_models_that_cannot_be(settings: dict[str, object], words: str) -> None:
    with pytest.raises(sf.PolicyError, match=words):
        sf.RatingAnonymity(**{"k": 2, "epsilon": 1, **settings})


def test_questions_that_cannot_be() -> None:
    with pytest.raises(sf.PolicyError) as caught:
        sf.check_ratings(TABLE_1, 5, search="fast")
    assert len(caught.value.problems) == 3
    nothing_sensitive = read().with_sensitive([])
    with pytest.raises(sf.PolicyError, match="no issue is sensitive"):
        sf.check_ratings(nothing_sensitive, sf.RatingAnonymity(2, 1, 1))
    with pytest.raises(sf.PolicyError, match="threads"):
        sf.check_ratings(read(), sf.RatingAnonymity(2, 1), threads=0)
    with pytest.raises(sf.PolicyError, match="k must be"):
        sf.check_ratings(read(), sf.RatingAnonymity(2, 1)).curve([0])
    with pytest.raises(sf.PolicyError, match="ks"):
        sf.check_ratings(read(), sf.RatingAnonymity(2, 1)).curve([])


def test_no_answer_tells_who_anybody_is() -> None:
    frame = pl.DataFrame({"u": ["geheim1", "geheim2", "geheim3"], "i": ["x", "x", "y"], "r": [1, 5, 3]})
    ratings = sf.read_ratings(frame, sensitive="y")
    answer = sf.check_ratings(ratings, sf.RatingAnonymity(2, 1, 1))
    told = [ratings, answer, answer.question, answer.measures, answer.to_dict(), answer.failures(), answer.curve()]
    assert "geheim" not in " ".join(f"{thing!r} {thing}" for thing in told)
