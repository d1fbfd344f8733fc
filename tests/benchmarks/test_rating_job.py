"""The benchmarks of ratings run on tiny ones; nothing here looks at a time."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from benchmarks.ratings_data import bootstrapped, long_tailed
from benchmarks.results import SkippedJob
from benchmarks.settings import Settings

import sfumato as sf
from benchmarks import rating_anonymizing_job, rating_attack_job, rating_job


def test_made_up_ratings_have_long_tails():
    ratings = long_tailed(400, 500, 20_000)
    assert ratings.height == 400
    assert 0.7 * 20_000 < len(ratings.issues) < 1.3 * 20_000
    counts, raters = np.diff(ratings.starts), np.sort(ratings.raters)[::-1]
    assert counts.min() >= 10
    assert counts.max() > 2 * np.median(counts)
    assert raters[:50].sum() > 1.5 * raters[-250:].sum()


def test_drawn_records_stay_on_the_scale_and_near_the_survey():
    survey = pl.DataFrame({"a": [1, 6, None], "b": [3, 3, 4]})
    drawn = bootstrapped(survey, 500, moved=0.5)
    assert drawn.height == 500
    assert (drawn["a"].min(), drawn["a"].max()) == (1, 6)
    assert set(drawn["a"].drop_nulls().unique()) == {1, 2, 5, 6}
    assert 0 < drawn["a"].null_count() < 500
    assert drawn["b"].null_count() == 0


def test_searches_are_held_against_each_other():
    ratings = long_tailed(60, 50, 1500).with_sensitive(["1"])
    figures = list(rating_job.against_the_papers(ratings, sf.RatingAnonymity(2, 1, 1), repeats=1))
    assert [figure.bar for figure in figures] == [rating_job.FASTER_BAR, None]
    assert all("same answer" in figure.detail for figure in figures)


def test_growth_on_a_survey():
    survey = pl.DataFrame({f"{trait}1": [1, 6, 3, 4] for trait in "ACENO"})
    figures = list(rating_job.growth(survey, "tiny", sf.RatingAnonymity(2, 1), (40, 80)))
    assert [figure.bar for figure in figures] == [rating_job.GROWTH_BAR, 1]


def test_shapes_are_decided_in_a_process_of_their_own():
    time, memory = rating_job.decide("tiny", (300, 40, 7000), 10, 4)
    assert "300 users" in time.detail
    assert 0 < memory.value < 4


def test_without_its_data_the_job_says_so(tmp_path):
    with pytest.raises(SkippedJob, match="SFUMATO_DATA"):
        list(rating_job.run_public(Settings(folder=tmp_path, data=None)))


def test_anonymous_ratings_against_the_plan():
    ratings = long_tailed(80, 120, 2500).with_sensitive(["1"])
    figures = list(rating_anonymizing_job.compared("small", ratings, sf.RatingAnonymity(3, 1, 0.5), {}, keep=6))
    assert [figure.verdict for figure in figures] == ["met", "met", "", ""]
    assert figures[0].value < 1


def test_attacks_before_and_after():
    ratings = long_tailed(60, 80, 1500)
    figures = list(rating_attack_job.before_and_after(ratings, sf.RatingAnonymity(3, 1), 5))
    assert len(figures) == len(rating_attack_job.CASES)
    assert all(figure.value < 1 for figure in figures)
    (many,) = rating_attack_job.on_many(ratings, 20)
    assert "20 victims among 60 users" in many.detail
