"""How far masking moves numbers, and how many stay near their original; for the steward alone."""

from __future__ import annotations

import json
from math import sqrt

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from naive import masking as naive
from sfumato.anonymizers.randomization.columns import NEAR, NEAR_OUTLIER, masking_figures

CELL = st.one_of(st.none(), st.integers(-20, 20))
ROWS = st.lists(st.tuples(CELL, CELL, st.integers(-3, 3), st.integers(-3, 3)), min_size=4, max_size=20)


def columns_of(rows):
    before = [[row[place] for row in rows] for place in (0, 1)]
    after = [[None if row[place] is None else row[place] + row[2 + place] for row in rows] for place in (0, 1)]
    return before, after


def figures_of(before, after):
    names = [f"c{place}" for place in range(len(before))]
    frames = [
        pl.DataFrame(dict(zip(names, side, strict=True)), schema=dict.fromkeys(names, pl.Float64))
        for side in (before, after)
    ]
    return masking_figures(frames[0], {name: frames[1][name] for name in names})


@given(ROWS)
@examples(60)
def test_figures_are_those_of_the_twin(rows):
    before, after = columns_of(rows)
    for column in before:
        known = {value for value in column if value is not None}
        assume(len(known) > 1)
    assume(sum(None not in row[:2] for row in rows) > 1)
    found = figures_of(before, after)
    assert found["il1s"] == pytest.approx(naive.il1s(before, after))
    if "il1" in found:
        assert found["il1"] == pytest.approx(naive.il1(before, after))
    assert found["interval_risk"] == pytest.approx(naive.staying(before, after, [NEAR] * len(rows)))
    assert 0 <= found["mahalanobis_risk"] <= 1
    assert found["eigenvalue_loss"] >= 0


@given(st.lists(st.integers(-50, 50), min_size=3, max_size=20), st.integers(0, 60))
@examples(40)
def test_one_column_has_distances_in_deviations(numbers, percent):
    assume(len(set(numbers)) > 1)
    mean, scale = float(np.mean(numbers)), naive.deviation(numbers)
    # Every number moves by a share of what it may.
    widths = [NEAR_OUTLIER * ((number - mean) / scale) ** 2 for number in numbers]
    moved = [
        number + 2 * percent / 100 * width * scale * (1 - 1e-6) for number, width in zip(numbers, widths, strict=True)
    ]
    found = figures_of([numbers], [moved])
    wanted = naive.staying([numbers], [moved], [width + 1e-9 for width in widths])
    assert found["mahalanobis_risk"] == pytest.approx(wanted)
    assert found["mahalanobis_risk"] == (1.0 if percent <= 50 else pytest.approx(wanted))


def test_worked_by_hand():
    found = figures_of([[1, 2, 3, 4]], [[1, 2, 3, 6]])
    assert found["il1"] == pytest.approx(0.125)
    assert found["il1s"] == pytest.approx(0.5 / sqrt(2) / sqrt(1.25))
    assert found["interval_risk"] == 0.75
    assert found["eigenvalue_loss"] == pytest.approx(3.5 / 1.25 - 1)


def test_eigenvalues_of_columns_that_grow_by_a_tenth():
    numbers = [[1, 2, 3, 4], [1, -1, -1, 1]]
    found = figures_of(numbers, [[1.1 * value for value in column] for column in numbers])
    assert found["eigenvalue_loss"] == pytest.approx(0.21)
    assert found["il1"] == pytest.approx(0.1)


def test_nothing_moves():
    found = figures_of([[1, 2, None, 4], [5, 5, 6, 7]], [[1, 2, None, 4], [5, 5, 6, 7]])
    assert found == {"il1": 0, "il1s": 0, "eigenvalue_loss": 0, "interval_risk": 1, "mahalanobis_risk": 1}


def test_columns_that_tell_nothing_are_left_out():
    frame = pl.DataFrame({"town": ["ulm", "bonn"], "same": [3, 3], "gone": pl.Series([None, None], dtype=pl.Int64)})
    assert masking_figures(frame, {name: frame[name] for name in frame.columns}) == {}
    one = pl.DataFrame({"a": [1, None, 3], "b": [None, 2, 5]})
    assert set(masking_figures(one, {name: one[name] for name in one.columns})) == {"il1", "il1s"}


@pytest.mark.parametrize(
    "method", [sf.Noise(amount=0.2), sf.RankSwapping(), sf.Shuffling(), sf.Rounding(), sf.TopBottomCoding()]
)
def test_every_masking_of_numbers_tells_them_to_the_steward_alone(method, tmp_path):
    draw = np.random.default_rng(3)
    frame = pl.DataFrame({"age": draw.integers(18, 90, 300), "pay": draw.normal(2000, 500, 300).round(2)})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["pay"]))
    try:
        release = sf.anonymize(table, anonymizer=method, seed=1)
    except sf.PolicyError:
        # Some need to be told what to do with each column.
        pytest.skip("needs options")
    assert {"il1s", "eigenvalue_loss", "interval_risk", "mahalanobis_risk"} <= release.report.figures.keys()
    assert "il1s:" in str(release.report)
    release.save(tmp_path / "release")
    assert "il1s" not in json.dumps(json.loads((tmp_path / "release" / "report.json").read_text()))
    assert all("il1s" not in file.read_text() for file in (tmp_path / "release").iterdir())


def test_more_noise_leaves_fewer_near():
    draw = np.random.default_rng(3)
    frame = pl.DataFrame({"age": draw.normal(50, 10, 500)})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age"]))
    figures = [sf.anonymize(table, anonymizer=sf.Noise(amount=amount), seed=1).report.figures for amount in (0.02, 0.5)]
    assert figures[0]["interval_risk"] > 0.9 > 0.2 > figures[1]["interval_risk"]
    assert figures[0]["il1s"] < figures[1]["il1s"]
