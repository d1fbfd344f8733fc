"""Matching buckets of records and fakes, and how well they tell them apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.slicing import fakes, matching_buckets
from published.checks.slices.eight_records import AGE, DISEASE, SEX, ZIP, eight_records
from sfumato.anonymizers.slicing.membership import area_under_curve, membership_disclosure
from sfumato.published.checks.slice_layout import layout_of
from sfumato.table.encoding import encode

EIGHT = list(zip(AGE, SEX, ZIP, DISEASE, strict=True))
BUCKETS = [EIGHT[:4], EIGHT[4:]]
PLAIN = (("age", "sex"), ("zip", "disease"))
SHARED = (("age", "sex"), ("sex", "zip"), ("disease",))
PLACES = {"age": 0, "sex": 1, "zip": 2, "disease": 3}
scores = st.lists(st.integers(0, 6), min_size=1, max_size=20)


@pytest.mark.parametrize("columns", [PLAIN, SHARED])
def test_eight_records(columns) -> None:
    table = encode(eight_records())
    layout = layout_of(table, columns, [])
    bucket_of = np.array([0] * 4 + [1] * 4)
    found = membership_disclosure(layout, table, columns, bucket_of, 2, seed=1)
    places = [tuple(PLACES[name] for name in column) for column in columns]
    expected = [len(matching_buckets(record, BUCKETS, places, 3)) for record in EIGHT]
    assert sorted(found.originals) == sorted(expected)
    open_places = [tuple(place for place in column if place != 3) for column in places]
    possible = [column for column in open_places if column]
    made_up = fakes([[record[:3] for record in bucket] for bucket in BUCKETS], possible)
    assert bool(len(found.fakes)) == bool(made_up)
    assert (found.fakes >= 1).all()


def test_there_may_be_no_fakes() -> None:
    table = encode(eight_records())
    columns = (("age", "sex", "zip"), ("disease",))
    layout = layout_of(table, columns, [])
    found = membership_disclosure(layout, table, columns, np.zeros(8, dtype=np.int64), 1, seed=1)
    assert len(found.fakes) == 0
    assert found.figures == {"mean_matching_buckets": 1.0, "fakes": 0.0}


@given(scores, scores)
def test_area_counts_pairs(higher: list[int], lower: list[int]) -> None:
    area, (low, high) = area_under_curve(np.array(higher), np.array(lower))
    pairs = [(a > b) + (a == b) / 2 for a in higher for b in lower]
    assert area == pytest.approx(sum(pairs) / len(pairs))
    assert 0 <= low <= area + 1e-12
    assert area - 1e-12 <= high <= 1


@given(st.integers(0, 10_000))
def test_intervals_cover_about_as_often_as_they_say(seed: int) -> None:
    """Of scores that tell nothing, four runs in a row outside a 95% interval are one in 160,000."""
    draw = np.random.default_rng(seed)
    missed = 0
    for _ in range(4):
        _, (low, high) = area_under_curve(draw.integers(0, 9, 60), draw.integers(0, 9, 60))
        missed += not low <= 0.5 <= high
    assert missed < 4


def test_nothing_to_compare() -> None:
    assert area_under_curve(np.array([1]), np.array([], dtype=np.int64)) == (0.5, (0.0, 1.0))
