"""What is kept of anonymous ratings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive.recommending as naive
import sfumato as sf
from examples import examples
from sfumato.kinds.ratings.measure import KnownRatings, errors, predict_ratings


@examples(60)
@given(
    st.dictionaries(st.tuples(st.integers(0, 7), st.integers(0, 5)), st.integers(1, 5), min_size=1, max_size=40),
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 5)), min_size=1, max_size=6),
)
def test_predictions_are_what_every_rating_by_itself_says(
    given_ratings: dict[tuple[int, int], int], wanted: list[tuple[int, int]]
) -> None:
    known = [(user, issue, float(value)) for (user, issue), value in given_ratings.items()]
    asked = sorted(set(wanted) - set(given_ratings), key=lambda pair: pair[1])
    if not asked:
        return
    found = predict_ratings(arrays(known), arrays([(*pair, 0.0) for pair in asked]), 8, 6)
    expected = [naive.predicted(known, *pair) for pair in asked]
    assert found["deviations"].tolist() == pytest.approx([first for first, _ in expected], abs=1e-9)
    assert found["neighbours"].tolist() == pytest.approx([second for _, second in expected], abs=1e-9)
    assert found["mean"][0] == pytest.approx(sum(value for _, _, value in known) / len(known))


def arrays(ratings: list[naive.Rating]) -> KnownRatings:
    users, issues, values = (np.array(column) for column in zip(*ratings, strict=True))
    return KnownRatings(users.astype(np.int64), issues.astype(np.int64), values.astype(np.float64))


def test_errors_of_predictions_on_the_scale() -> None:
    rmse, mae = errors(np.array([7.0, 2.0, 1.0]), np.array([5.0, 2.0, 4.0]), 1, 5)
    assert (rmse, mae) == (pytest.approx(3**0.5), 1)


def likes(users: int = 300, films: int = 25, seed: int = 1) -> sf.Ratings:
    """People of two tastes, who like every other film."""
    drawn = np.random.default_rng(seed)
    who, what = (drawn.random((users, films)) < 0.8).nonzero()
    stars = np.clip(3 + np.where((who + what) % 2, 2, -2) + drawn.integers(-1, 2, len(who)), 1, 5)
    return sf.read_ratings(pl.DataFrame({"u": who, "film": [f"f{i}" for i in what], "stars": stars}), scale=(1, 5))


def error_of(kept: sf.RatingUtility, method: str, learned_from: str) -> float:
    rows = kept.recommenders.filter(pl.col("method") == method, pl.col("learned_from") == learned_from)
    return float(rows["rmse"].item())


@pytest.mark.slow
def test_neighbours_know_tastes_that_deviations_do_not() -> None:
    ratings = likes()
    release = sf.anonymize_ratings(ratings, sf.RatingAnonymity(2, 4), seed=1)
    kept = sf.rating_utility(ratings, release, seed=1)
    for learned_from in ("original", "release"):
        assert error_of(kept, "neighbours", learned_from) < 0.7 * error_of(kept, "deviations", learned_from)
    assert error_of(kept, "neighbours", "original") < error_of(kept, "neighbours", "release")
    assert kept.held_out == len(ratings.issues) // 10


def test_a_release_that_changes_nothing_keeps_everything() -> None:
    ratings = likes(60, 12)
    release = sf.anonymize_ratings(ratings, sf.RatingAnonymity(2, 5), seed=2)
    kept = sf.rating_utility(ratings, release, seed=1)
    assert (kept.mean_difference, kept.distance, kept.published_issues) == (0, 0, 12)
    assert kept.correlation_difference == pytest.approx(0, abs=1e-9)
    for method in ("mean", "deviations", "neighbours"):
        assert error_of(kept, method, "release") == pytest.approx(error_of(kept, method, "original"))


def test_issues_and_correlations_are_those_of_the_tables() -> None:
    ratings = likes(200, 10)
    release = sf.anonymize_ratings(ratings, sf.RatingAnonymity(4, 1), seed=1)
    kept = sf.rating_utility(ratings, release, seed=1)
    wide = [one.to_frame().pivot("issue", index="record", values="rating") for one in (ratings, release.ratings)]
    for issue, count, published, mean, new_mean, distance in kept.issues.rows():
        before, after = (frame[issue].drop_nulls() for frame in wide)
        assert (count, published) == (len(before), len(after))
        assert (mean, new_mean) == (pytest.approx(before.mean()), pytest.approx(after.mean()))
        shares = [[(column == stars).mean() for stars in range(1, 6)] for column in (before, after)]
        assert distance == pytest.approx(sum(abs(a - b) for a, b in zip(*shares, strict=True)) / 2)
    assert kept.correlations.height == 45
    for one, other, *correlations in kept.correlations.rows():
        for frame, found in zip(wide, correlations, strict=True):
            both = frame.select(one, other).drop_nulls()
            assert found == pytest.approx(np.corrcoef(both[one], both[other])[0, 1])
    assert kept.to_dict()["published_correlations"] == 45


def test_what_is_not_published_is_null_and_counted() -> None:
    ratings = likes(40, 6)
    loner = pl.DataFrame({"u": [99], "film": ["rare"], "stars": [5]})
    frame = ratings.to_frame().select(u="record", film="issue", stars=pl.col("rating").cast(pl.Int64))
    ratings = sf.read_ratings(pl.concat([frame, loner]), scale=(1, 5))
    release = sf.anonymize_ratings(ratings, sf.RatingAnonymity(3, 1), suppression_limit=0.1, seed=1)
    kept = sf.rating_utility(ratings, release, seed=1)
    row = kept.issues.filter(pl.col("issue") == "rare").row(0)
    assert row[1:] == (1, 0, 5.0, None, None)
    assert kept.published_issues < kept.issues.height
    assert "issues published" in str(kept)
    assert repr(kept).startswith("RatingUtility(")


def test_nothing_published_is_nothing_learned() -> None:
    frame = pl.DataFrame({"u": [1, 2, 3], "film": ["a", "b", "c"], "stars": [1, 2, 5]})
    ratings = sf.read_ratings(frame, scale=(1, 5))
    kept = sf.rating_utility(ratings, sf.anonymize_ratings(ratings, sf.RatingAnonymity(3, 1)), seed=1)
    assert (kept.mean_difference, kept.distance, kept.correlation_difference) == (None, None, None)
    # One rating is held out, and all that is known is the middle of the scale.
    assert kept.held_out == 1
    assert error_of(kept, "neighbours", "release") in (1, 2)
    assert "nothing to compare" in str(kept)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"held_out": 0}, "held_out must be"),
        ({"held_out": 1}, "held_out must be"),
        ({"held_out": None}, "held_out must be"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_wrong_settings_of_utility(options: dict[str, Any], message: str) -> None:
    ratings = likes(20, 4)
    release = sf.anonymize_ratings(ratings, sf.RatingAnonymity(2, 1), seed=1)
    with pytest.raises(sf.PolicyError, match=message):
        sf.rating_utility(ratings, release, **options)
    with pytest.raises(sf.PolicyError, match="not made from these"):
        sf.rating_utility(likes(21, 4), release)
    with pytest.raises(sf.PolicyError) as caught:
        sf.rating_utility(release, ratings)  # type: ignore[arg-type]
    assert len(caught.value.problems) == 2


@pytest.mark.slow
@pytest.mark.skipif("SFUMATO_DATA" not in os.environ, reason="SFUMATO_DATA does not name the folder of public data")
def test_films_can_be_predicted_from_their_release() -> None:
    path = Path(os.environ["SFUMATO_DATA"]) / "ml-latest-small" / "ratings.csv.gz"
    ratings = sf.read_ratings(path, scale=(0.5, 5, 0.5))
    release = sf.anonymize_ratings(ratings, sf.RatingAnonymity(3, 1), keep=50, seed=1)
    kept = sf.rating_utility(ratings, release, seed=1)
    # The original reaches what is known of these ratings, about 0.87.
    assert error_of(kept, "neighbours", "original") < error_of(kept, "deviations", "original") < 0.89
    assert error_of(kept, "deviations", "release") < error_of(kept, "mean", "release")
