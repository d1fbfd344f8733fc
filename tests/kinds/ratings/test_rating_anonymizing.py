"""Anonymous ratings: decided by the definitions, counted from the tables, and against the plan and the best of all."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive.ratings as naive
import sfumato as sf
from examples import examples
from naive import rating_plan
from naive.surveys import records_of, surveys
from sfumato.kinds.ratings.make import shuffle_ratings
from sfumato.kinds.ratings.policy import Method
from sfumato.models.of_kinds import Group, Nulls

DATA = pytest.mark.skipif(
    "SFUMATO_DATA" not in os.environ, reason="SFUMATO_DATA does not name the folder of public data"
)
SMALL = [sf.Scale(1, 5), sf.Scale(0.5, 5, 0.5), sf.Scale(-10, 10)]
METHODS = get_args(Method)


def holds(release: sf.RatingRelease) -> bool:
    """The definitions, on nothing but the published ratings."""
    model, ratings = release.model, release.ratings
    settings = (model.k, model.epsilon, model.l, ratings.scale.span, model.group, model.nulls)
    return all(naive.satisfied(records_of(ratings), *settings))


def check_loss(before: sf.Ratings, release: sf.RatingRelease) -> None:
    """Count everything anew; a record that is left out has lost all."""
    old, new = records_of(before), records_of(release.ratings)
    published = dict(zip(release.origin.tolist(), new, strict=True))
    nothing = [None] * len(old[0][0])
    after = [published[place][0] if place in published else nothing for place in range(len(old))]
    assert all(published[place][1] == old[place][1] for place in published)
    told = rating_plan.loss([row for row, _ in old], after, before.scale.span)
    loss = release.loss
    assert (loss.changed, loss.removed, loss.invented) == told[:3]
    assert loss.charge == pytest.approx(told[3], abs=1e-12)
    assert loss.published == sum(rating is not None for row, _ in new for rating in row)
    assert loss.left_out == before.height - release.ratings.height


def check_reason(error: sf.UnsatisfiableError, ratings: sf.Ratings, model: sf.RatingAnonymity, keep: object) -> None:
    """Whether it was right to give up."""
    everybody = [row for _, row in records_of(ratings)]
    flat = [naive.deviation(list(column), model.nulls) < model.l for column in zip(*everybody, strict=True)]
    assert ratings.height < model.k or any(flat) or (keep and "lower keep" in str(error))


@examples(150)
@given(
    surveys(SMALL),
    st.integers(1, 5),
    st.integers(0, 4),
    st.sampled_from([0, 0.3, 0.5, 1, 2]),
    st.sampled_from(get_args(Group)),
    st.sampled_from(get_args(Nulls)),
    st.fixed_dictionaries(
        {
            "method": st.sampled_from(METHODS),
            "invent": st.booleans(),
            "keep": st.sampled_from([None, 1]),
            "suppression_limit": st.sampled_from([0, 0.2, 0.9]),
        }
    ),
)
def test_what_is_published_satisfies_the_definitions_and_the_loss_is_what_was_done(
    survey: tuple[sf.Ratings, list[naive.Record]],
    k: int,
    steps: int,
    l: float,  # noqa: E741
    group: Group,
    nulls: Nulls,
    options: dict[str, Any],
) -> None:
    ratings, _ = survey
    model = sf.RatingAnonymity(
        k, steps * ratings.scale.step, l if ratings.sensitive.any() else 0, group=group, nulls=nulls
    )
    try:
        release = sf.anonymize_ratings(ratings, model, seed=1, threads=1, **options)
    except sf.UnsatisfiableError as error:
        check_reason(error, ratings, model, options["keep"])
        return
    assert holds(release)
    check_loss(ratings, release)
    assert options["invent"] or release.loss.invented == 0
    assert release.loss.left_out <= options["suppression_limit"] * ratings.height
    assert sorted(set(release.origin.tolist())) == sorted(release.origin.tolist())


def codes_of(ratings: sf.Ratings) -> list[rating_plan.Codes]:
    scale = ratings.scale
    return [
        [None if rating is None else round((rating - scale.low) / scale.step) for rating in row]
        for row, _ in records_of(ratings)
    ]


@examples(120)
@given(surveys(SMALL), st.integers(1, 5), st.integers(0, 4), st.booleans())
def test_the_plan_is_the_plan(survey: tuple[sf.Ratings, list[naive.Record]], k: int, steps: int, invent: bool) -> None:
    ratings, _ = survey
    if ratings.height < k:
        return
    model = sf.RatingAnonymity(k, steps * ratings.scale.step)
    release = sf.anonymize_ratings(ratings, model, method="plan", invent=invent, seed=3)
    before = codes_of(shuffle_ratings(ratings, 3).ratings)
    untouched = sf.check_ratings(ratings, model).holds
    scale = ratings.scale
    reach = min(steps, scale.size - 1)
    expected = before if untouched else rating_plan.plan(before, k, reach, scale.size, invent)
    assert codes_of(release.ratings) == expected


@examples(60)
@given(
    st.lists(st.lists(st.sampled_from([None, 0, 1, 2, 4]), min_size=3, max_size=3), min_size=4, max_size=7),
    st.integers(2, 3),
    st.integers(0, 2),
    st.booleans(),
)
def test_no_groups_cost_less_than_the_best_of_all_partitions(
    rows: list[rating_plan.Codes], k: int, steps: int, invent: bool
) -> None:
    ratings = survey_of(rows)
    model = sf.RatingAnonymity(k, steps)
    if sf.check_ratings(ratings, model).holds:
        return
    best = rating_plan.least_cost(rows, k, steps, 5, invent)
    # Balls may cost less than groups; trimmed ones may not.
    model = replace(model, group="trimmed")
    for method in METHODS:
        release = sf.anonymize_ratings(ratings, model, method=method, invent=invent, seed=1)
        assert release.loss.total >= best - 1e-9


def survey_of(rows: list[rating_plan.Codes]) -> sf.Ratings:
    columns = [pl.Series(f"q{place}", column, dtype=pl.Float64) for place, column in enumerate(zip(*rows, strict=True))]
    return sf.read_ratings(pl.DataFrame(columns), form="wide", scale=(0, 4))


def test_groups_are_often_the_best_of_all_partitions() -> None:
    drawn = np.random.default_rng(5)
    found = []
    for seed in range(25):
        rows = [[int(c) if c >= 0 else None for c in row] for row in drawn.integers(-1, 5, (7, 4))]
        best = rating_plan.least_cost(rows, 2, 1, 5, False)
        model = sf.RatingAnonymity(2, 1, group="trimmed")
        release = sf.anonymize_ratings(survey_of(rows), model, seed=seed)
        found.append(release.loss.total / best)
    assert sum(ratio == 1 for ratio in found) >= 15
    assert sum(found) / len(found) < 1.05


def test_changes_that_nobody_needs_are_taken_back() -> None:
    """Around 1 there are 0 and 2, who need not be proximate to each other."""
    ratings = survey_of([[0], [2], [3], [4], [2], [2], [1]])
    balls = sf.anonymize_ratings(ratings, sf.RatingAnonymity(3, 1), seed=1)
    trimmed = sf.anonymize_ratings(ratings, sf.RatingAnonymity(3, 1, group="trimmed"), seed=1)
    assert holds(balls)
    assert balls.loss.total < trimmed.loss.total


TABLE_1 = pl.DataFrame(
    {
        "issue 1": [6, 1, 2, 1, 2],
        "issue 2": [1, 6, 5, None, None],
        "issue 3": [None, None, None, 5, 6],
        "s": [6, 1, 1, 1, 5],
    }
)


def table_1() -> sf.Ratings:
    return sf.read_ratings(TABLE_1, form="wide", scale=(1, 6), sensitive="s")


def test_table_1_by_removing_nothing() -> None:
    """t1 needs one of t2 and t3 within 1: t3 is 4 away on both issues, so that 3 + 3 is the least that does it."""
    release = sf.anonymize_ratings(table_1(), sf.RatingAnonymity(2, 1), seed=1)
    loss = release.loss
    assert (loss.removed, loss.invented, loss.total) == (0, 0, 6)
    assert loss.charge == pytest.approx(6 / (5 * 3 * 6))
    assert loss.share == pytest.approx(6 / (10 * 6))
    assert loss.issues["change"].to_list() == [3, 3, 0]
    assert sorted(release.ratings.scale.values()[release.ratings.codes][release.ratings.issues == 3]) == [1, 1, 1, 5, 6]
    # All three within 1 of each other: 4 + 4.
    everybody = sf.anonymize_ratings(table_1(), sf.RatingAnonymity(2, 1, group="trimmed"), seed=1)
    assert everybody.loss.issues["change"].to_list() == [4, 4, 0]


def test_table_1_with_sensitive_ratings_that_deviate() -> None:
    release = sf.anonymize_ratings(table_1(), sf.RatingAnonymity(2, 1, 2), seed=1)
    assert release.satisfaction.largest_l is not None
    assert release.satisfaction.largest_l >= 2
    assert release.loss.total == 8
    assert holds(release)


def test_ratings_that_satisfy_the_model_stay_as_they_are() -> None:
    ratings = sf.read_ratings(TABLE_1[1:], form="wide", scale=(1, 6), sensitive="s")
    for method in METHODS:
        release = sf.anonymize_ratings(ratings, sf.RatingAnonymity(2, 1), method=method)
        assert release.loss.total == 0
        assert release.notes == ("nothing was changed: the ratings satisfy the model as they are",)
        assert sorted(map(str, records_of(release.ratings))) == sorted(map(str, records_of(ratings)))
    everything = sf.anonymize_ratings(table_1(), sf.RatingAnonymity(5, 6, 2))
    assert everything.loss.share == 0


def test_without_inventing_only_what_all_rated_stays() -> None:
    rows: list[rating_plan.Codes] = [[1, 2, 3], [1, 2, None], [1, None, 3]]
    removed = sf.anonymize_ratings(survey_of(rows), sf.RatingAnonymity(3, 0)).loss
    assert (removed.removed, removed.invented, removed.published) == (4, 0, 3)
    invented = sf.anonymize_ratings(survey_of(rows), sf.RatingAnonymity(3, 0), invent=True)
    assert (invented.loss.removed, invented.loss.invented, invented.loss.published) == (0, 2, 9)
    assert {tuple(row) for row in codes_of(invented.ratings)} == {(1, 2, 3)}


def test_a_record_that_costs_the_others_too_much_is_left_out() -> None:
    rows: list[rating_plan.Codes] = [[1, 2, 3, 4]] * 3 + [[None, None, None, 0]]
    everybody = sf.anonymize_ratings(survey_of(rows), sf.RatingAnonymity(3, 0))
    assert everybody.loss.removed == 9
    without = sf.anonymize_ratings(survey_of(rows), sf.RatingAnonymity(3, 0), suppression_limit=0.25)
    assert (without.loss.left_out, without.loss.removed, without.ratings.height) == (1, 1, 3)
    assert sorted(without.origin.tolist()) == [0, 1, 2]


def sparse(users: int, films: int, seed: int, sensitive: object = ()) -> sf.Ratings:
    drawn = np.random.default_rng(seed)
    rated = drawn.random((users, films)) < 4 / np.arange(5, films + 5)
    who, what = rated.nonzero()
    frame = pl.DataFrame({"u": who, "film": what, "stars": drawn.integers(1, 6, len(who)), "when": np.arange(len(who))})
    return sf.read_ratings(frame, scale=(1, 5), sensitive=sensitive, time="when")


def test_issues_that_are_to_stay_stay_and_lose_less() -> None:
    ratings, model = sparse(120, 60, 1), sf.RatingAnonymity(3, 1)
    kept = sf.anonymize_ratings(ratings, model, keep=10, seed=1)
    anyhow = sf.anonymize_ratings(ratings, model, seed=1)
    assert kept.kept_loss is not None
    assert anyhow.kept_loss is None
    assert len(kept.kept) == 10
    assert set(kept.kept) == {ratings.names[place] for place in np.argsort(-ratings.raters, kind="stable")[:10]}
    assert kept.kept_loss.issues["published"].min() >= 3
    assert kept.kept_loss.share <= anyhow.loss.of(kept.kept).share
    assert kept.loss.share >= anyhow.loss.share


@pytest.mark.slow
def test_groups_lose_less_than_the_plan() -> None:
    for seed in range(3):
        ratings, model = sparse(150, 80, seed, sensitive=["0"]), sf.RatingAnonymity(3, 1, 0.8)
        for invent in (False, True):
            groups, plan = (
                sf.anonymize_ratings(ratings, model, method=method, invent=invent, seed=1) for method in METHODS
            )
            assert groups.loss.charge < 0.9 * plan.loss.charge


def test_the_order_of_the_input_shows_in_nothing() -> None:
    """With a seed, whatever the order of records and issues; with another seed or none, in another order."""
    ratings = sparse(40, 20, 2)
    rows = ratings.to_frame().drop("time")
    shuffled = sf.read_ratings(rows.sample(fraction=1, shuffle=True, seed=4), scale=(1, 5))
    model = sf.RatingAnonymity(3, 1)
    for method in METHODS:
        one = sf.anonymize_ratings(ratings, model, method=method, seed=7)
        other = sf.anonymize_ratings(shuffled, model, method=method, seed=7)
        assert one.to_frame().equals(other.to_frame())
        assert one.ratings.names == tuple(sorted(ratings.names))
    drawn = [tuple(sf.anonymize_ratings(ratings, model).origin.tolist()) for _ in range(2)]
    assert drawn[0] != drawn[1]


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.kinds.ratings import make as grouping

    monkeypatch.setattr(grouping, "_BLOCK", 50)
    ratings, model = sparse(230, 40, 3), sf.RatingAnonymity(3, 1)
    told: list[tuple[str, int, int]] = []
    one = sf.anonymize_ratings(ratings, model, seed=1, threads=1, progress=lambda *words: told.append(words))
    two = sf.anonymize_ratings(ratings, model, seed=1, threads=2)
    assert one.to_frame().equals(two.to_frame())
    assert [done for what, done, _ in told if what == "grouping records"] == [1, 2, 3, 4, 5]
    monkeypatch.undo()
    whole = sf.anonymize_ratings(ratings, model, seed=1)
    assert whole.loss.share <= one.loss.share * 1.02


def test_blocks_that_do_not_deviate_enough_by_themselves_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.kinds.ratings import make as grouping

    monkeypatch.setattr(grouping, "_BLOCK", 8)
    drawn = np.random.default_rng(1)
    likes = np.repeat([0, 1], 20)
    frame = pl.DataFrame(
        {
            "a": [1 if like else None for like in likes],
            "b": [None if like else 2 for like in likes],
            "c": drawn.integers(1, 6, 40),
            "s": 1 + 4 * likes,
        }
    )
    ratings = sf.read_ratings(frame, form="wide", scale=(1, 5), sensitive="s")
    release = sf.anonymize_ratings(ratings, sf.RatingAnonymity(2, 1, 1), seed=1)
    assert holds(release)
    check_loss(ratings, release)


def test_times_are_dropped_unless_asked_for() -> None:
    ratings, model = sparse(30, 12, 5), sf.RatingAnonymity(3, 1)
    assert sf.anonymize_ratings(ratings, model).ratings.times is None
    release = sf.anonymize_ratings(ratings, model, times=True, seed=1)
    before = {row[1:]: row[0] for row in ratings.to_frame().select("record", "issue", "time").rows()}
    for record, issue, time in release.to_frame().select("record", "issue", "time").rows():
        assert before[issue, time] - 1 == release.origin[record - 1]
    assert any("times" in note for note in release.notes)


def test_a_report_tells_nothing_about_single_issues_and_records() -> None:
    ratings = sparse(60, 30, 6, sensitive=["0"])
    release = sf.anonymize_ratings(ratings, sf.RatingAnonymity(3, 1, 0.5), keep=5, suppression_limit=0.1, seed=1)
    told = release.to_dict()
    assert told["kept_issues"] == 5
    assert told["satisfaction"]["holds"] is True  # type: ignore[index]
    assert set(told["loss"]) == set(told["kept_loss"])  # type: ignore[call-overload]
    assert "issue" not in str(told["loss"]).replace("'issues'", "")
    assert str(release).startswith("(3, 1, 0.5)-anonymity of ratings holds: ")
    assert "on the 5 issues that were to stay" in str(release)
    assert repr(release) == f"RatingRelease((3, 1, 0.5)-anonymity of ratings, {release.ratings!r})"
    assert repr(release.loss) == f"RatingLoss({release.loss})"
    with pytest.raises(sf.InputError, match="there is no issue 'x'"):
        release.loss.of(["x"])


def test_a_release_that_does_not_hold_cannot_be_made() -> None:
    release = sf.anonymize_ratings(table_1(), sf.RatingAnonymity(2, 1), seed=1)
    other = sf.check_ratings(table_1(), sf.RatingAnonymity(2, 1))
    fields = (release.loss, release.kept, release.method, release.origin)
    with pytest.raises(sf.VerificationError):
        sf.RatingRelease(table_1(), release.satisfaction, *fields)
    with pytest.raises(sf.VerificationError):
        sf.RatingRelease(other.question.ratings, other, *fields)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "best"}, "method must be one of groups, plan"),
        ({"invent": "yes"}, "invent must be true or false"),
        ({"times": 2}, "times must be true or false"),
        ({"keep": 0}, "keep must be a whole number"),
        ({"keep": 2.5}, "keep must be a whole number"),
        ({"keep": 4}, "only 3 issues that are not sensitive"),
        ({"suppression_limit": 1}, "suppression_limit must be a number"),
        ({"suppression_limit": float("nan")}, "suppression_limit must be a number"),
        ({"suppression_limit": "a"}, "suppression_limit must be a number"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"seed": True}, "seed must be a whole number"),
        ({"times": True}, "times were not read"),
        ({"threads": 0}, "threads"),
    ],
)
def test_wrong_settings(options: dict[str, Any], message: str) -> None:
    with pytest.raises(sf.PolicyError, match=message):
        sf.anonymize_ratings(table_1(), sf.RatingAnonymity(2, 1), **options)


def test_all_wrong_settings_are_told_at_once() -> None:
    with pytest.raises(sf.PolicyError) as caught:
        sf.anonymize_ratings(TABLE_1, "k", method="x", invent=1, keep="a", suppression_limit=-1, seed=0.5)  # type: ignore[arg-type]
    assert len(caught.value.problems) == 7
    with pytest.raises(sf.PolicyError, match="no issue is sensitive"):
        sf.anonymize_ratings(table_1().with_sensitive([]), sf.RatingAnonymity(2, 1, 1))
    with pytest.raises(sf.PolicyError, match="invented ratings have no times"):
        sf.anonymize_ratings(sparse(9, 4, 1), sf.RatingAnonymity(2, 1), times=True, invent=True)


def test_what_cannot_be_satisfied_says_what_to_relax() -> None:
    with pytest.raises(sf.UnsatisfiableError, match="5 records, fewer than k = 6; lower k"):
        sf.anonymize_ratings(table_1(), sf.RatingAnonymity(6, 1))
    with pytest.raises(
        sf.UnsatisfiableError, match=r"deviates by 2\.22711 only, less than l = 2\.5; lower l, or choose"
    ):
        sf.anonymize_ratings(table_1(), sf.RatingAnonymity(2, 1, 2.5))
    rare = survey_of([[1, None, 1], [1, None, 2], [1, 2, None], [1, None, 2]])
    with pytest.raises(sf.UnsatisfiableError, match="1 issue that should stay would lose all ratings"):
        sf.anonymize_ratings(rare, sf.RatingAnonymity(2, 1), keep=3)
    lenient = sf.anonymize_ratings(rare, sf.RatingAnonymity(2, 1), keep=3, method="plan", seed=1)
    assert any("should stay lost all ratings" in note for note in lenient.notes)


def films(sensitive: object = ()) -> sf.Ratings:
    path = Path(os.environ["SFUMATO_DATA"]) / "ml-latest-small" / "ratings.csv.gz"
    return sf.read_ratings(path, scale=(0.5, 5, 0.5), sensitive=sensitive)


@pytest.mark.slow
@DATA
def test_films_with_the_most_rated_kept_lose_less_than_by_the_plan() -> None:
    ratings = films("356")
    model = sf.RatingAnonymity(3, 1, 0.5)
    groups, plan = (sf.anonymize_ratings(ratings, model, method=method, keep=50, seed=1) for method in METHODS)
    assert groups.kept_loss is not None
    assert plan.kept_loss is not None
    assert groups.loss.share < 0.9
    assert groups.kept_loss.share < 0.5 < plan.kept_loss.share
    assert groups.loss.share < plan.loss.share
    assert groups.loss.invented == plan.loss.invented == 0


@pytest.mark.slow
@DATA
def test_a_survey_of_personality_can_be_published() -> None:
    path = Path(os.environ["SFUMATO_DATA"]) / "bfi" / "bfi.csv"
    answers = pl.read_csv(path, null_values="NA")[:900]
    ratings = sf.read_ratings(answers, form="wide", issues=["[ACENO]?"], scale=(1, 6), sensitive=["N?"])
    model = sf.RatingAnonymity(5, 2, 0.5)
    groups, plan = (sf.anonymize_ratings(ratings, model, method=method, seed=1) for method in METHODS)
    assert groups.loss.share < 0.9 * plan.loss.share
