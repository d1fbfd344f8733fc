"""The comparison of slicing and overlapping slicing on a tiny table; nothing here says who wins."""

from __future__ import annotations

import polars as pl
import pytest
from benchmarks.answers_job import compare as compare_kinds
from benchmarks.overlapping_data import Example, diagnosis_group
from benchmarks.overlapping_job import AUC, COMPARED, KEPT, compare

NAMES = ("age", "sex", "town", "job", "school", "car")
FRAME = pl.DataFrame(
    {
        name: [f"{name} {(number + number % 7 * place) // (place + 1) % (place + 2)}" for number in range(120)]
        for place, name in enumerate(NAMES)
    }
).with_columns(disease=pl.Series([f"disease {number * 7 % 10}" for number in range(120)]))


@pytest.fixture(scope="module")
def figures():
    return list(compare(Example("tiny", FRAME, "disease", "town", 2), (1, 2), 20))


def test_everything_is_compared(figures):
    for way in COMPARED:
        assert any(figure.what.endswith(f"{way} − plain") for figure in figures)
    about = [figure for figure in figures if KEPT in figure.what]
    assert all("of 2 seeds" in figure.detail for figure in about)
    assert len(about) == len(COMPARED) - 1  # the original keeps everything, and is not asked


def test_lower_is_better_where_it_is(figures):
    for figure in figures:
        if AUC in figure.what and "better in 2" in figure.detail:
            assert figure.value < 0
        if KEPT in figure.what and "better in 2" in figure.detail:
            assert figure.value > 0


def test_kinds_are_asked_the_same_queries():
    table = Example("tiny", FRAME, "disease", "town", 2).drawn(1)
    found = list(compare_kinds(table, 2, (1, 2), 20))
    assert len(found) == 6
    assert all(figure.value >= 0 for figure in found)


@pytest.mark.parametrize(
    ("code", "group"),
    [
        ("250.83", "diabetes"), ("414", "circulatory"), ("785", "circulatory"), ("786.5", "respiratory"),
        ("789", "other"), ("V57", "other"), ("E909", "other"), ("?", "?"), ("153", "neoplasms"), ("999", "injury"),
    ],
)  # fmt: skip
def test_diagnoses_are_grouped(code, group):
    assert diagnosis_group(code) == group
