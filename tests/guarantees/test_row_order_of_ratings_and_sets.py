"""The order of records decides nothing of ratings and sets either: of releases, of attacks, and of who is held out."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples

seeds = st.integers(0, 10**6)


def ratings_of(frame: pl.DataFrame) -> sf.Ratings:
    return sf.read_ratings(frame, scale=(1, 3), sensitive=["s"], time="time")


def rated(seed: int) -> pl.DataFrame:
    """So few issues and ratings that people are alike in all but the times."""
    drawn = np.random.default_rng(seed)
    count = int(drawn.integers(12, 40))
    rows = [
        (f"u{person}", issue, int(drawn.integers(1, 4)), int(drawn.integers(0, 9)))
        for person in range(count)
        for issue in ("c", "a", "b", "s")
        if issue == "c" or drawn.random() < 0.5
    ]
    return pl.DataFrame(rows, schema=["user", "issue", "rating", "time"], orient="row")


def moved(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    return frame.sample(fraction=1, shuffle=True, seed=seed)


def as_held(ratings: sf.Ratings) -> list[list[Any]]:
    """Return what records hold, sorted."""
    groups = ratings.to_frame().group_by("record").agg(pl.struct(pl.exclude("record")))
    return sorted(sorted(map(tuple, (row.values() for row in held))) for held in groups.to_series(1).to_list())


@given(seeds)
@examples(30)
def test_who_is_held_out_does_not_depend_on_the_order_of_ratings(seed: int) -> None:
    frame = rated(seed)
    one, other = (sf.hold_out_ratings(ratings_of(each), 0.3, seed=5) for each in (frame, moved(frame, seed)))
    assert [as_held(part) for part in one] == [as_held(part) for part in other]


@given(seeds)
@examples(30)
def test_released_times_do_not_depend_on_the_order_of_ratings(seed: int) -> None:
    frame = rated(seed)
    one, other = (
        sf.anonymize_ratings(ratings_of(each), sf.RatingAnonymity(2, 1), times=True, seed=5).to_frame()
        for each in (frame, moved(frame, seed))
    )
    assert one.equals(other)


@given(seeds)
@examples(20)
def test_times_that_are_not_published_change_nothing(seed: int) -> None:
    frame = rated(seed)
    others = frame.with_columns(time=pl.col("time").reverse())
    one, other = (
        sf.anonymize_ratings(ratings_of(each), sf.RatingAnonymity(2, 1), seed=5).to_frame() for each in (frame, others)
    )
    assert one.equals(other)


@pytest.mark.parametrize(
    "time",
    [
        pl.duration(days="time"),
        pl.date(2020, 1, 1 + pl.col("time")),
        pl.col("time").cast(pl.String).cast(pl.Categorical),
        pl.col("time") > 3,
        pl.lit(None),
    ],
    ids=str,
)
def test_times_of_any_type(time: pl.Expr) -> None:
    frame = rated(1).with_columns(time=time)
    one, other = (
        sf.anonymize_ratings(ratings_of(each), sf.RatingAnonymity(2, 1), times=True, seed=5).to_frame()
        for each in (frame, moved(frame, 2))
    )
    assert one.rows() == other.rows()


@pytest.mark.parametrize("issues", ["any", "rare"])
@given(seeds)
@example(58)  # people with equal ratings were told apart by times in the attack, and not in the release
@example(180)
@examples(20)
def test_attacks_on_ratings_do_not_depend_on_their_order(issues: Any, seed: int) -> None:
    def attacked(turned: bool) -> dict[str, Any]:
        frame, others = rated(seed), rated(seed + 1)
        ratings, control = (ratings_of(moved(each, seed) if turned else each) for each in (frame, others))
        release = sf.anonymize_ratings(ratings, sf.RatingAnonymity(2, 1), seed=5)
        told = {"known": 2, "error": 1.0, "issues": issues, "victims": 7, "seed": 3}
        alone = sf.attack_ratings(ratings, release, **told)
        return {
            "alone": alone.to_dict(),
            "control": sf.attack_ratings(ratings, release, control=control, **told).to_dict(),
        }

    assert attacked(False) == attacked(True)


@pytest.mark.parametrize("beside", [False, True])
@given(seeds)
@examples(20)
def test_attacks_on_sets_do_not_depend_on_their_order(beside: bool, seed: int) -> None:
    drawn = np.random.default_rng(seed)
    count = int(drawn.integers(8, 30))
    frame = pl.DataFrame(
        [
            (f"u{person}", item, person % 3)
            for person in range(count)
            for item in "dcba"
            if item == "d" or drawn.random() < 0.5
        ],
        schema=["person", "item", "ward"],
        orient="row",
    )
    schema = sf.Schema(quasi_identifying=["ward"]) if beside else None

    def attacked(frame: pl.DataFrame) -> dict[str, Any]:
        sets = sf.read_sets(frame, schema=schema)
        release = sf.anonymize_sets(sets, sf.KmAnonymity(2, 1), seed=5)
        return sf.attack_sets(sets, release, known=1, victims=5, seed=3).to_dict()

    assert attacked(frame) == attacked(moved(frame, seed))
