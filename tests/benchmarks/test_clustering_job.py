"""The clustering benchmark on a tiny table; nothing here looks at a time."""

from __future__ import annotations

import polars as pl
import pytest
from benchmarks.clustering_job import EXACT_BARS, cost_of_blocks, distance_from_best, drawn, exact_runs, growth

import sfumato as sf

HIERARCHIES = {"age": sf.intervals(5, 10, 20), "sex": sf.flat(), "town": sf.flat()}


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    ages = [20 + number * 7 % 43 for number in range(120)]
    return pl.DataFrame({"age": ages, "sex": ["f", "m", "m"] * 40, "town": ["a", "b", "c", "d"] * 30})


def test_every_method_runs_in_one_piece(people):
    figures = list(exact_runs(people, HIERARCHIES))
    assert len(figures) == len(EXACT_BARS)
    assert all("NCP 0." in figure.detail for figure in figures)


def test_blocks_are_held_against_one_piece(people):
    assert all(0.5 < figure.value < 3 for figure in cost_of_blocks(people, HIERARCHIES, block=60))


def test_growth_is_a_ratio_of_runs(people):
    assert all(figure.value > 0 for figure in growth(people, HIERARCHIES, (60, 120)))


def test_drawn_records_have_values_of_the_table(people):
    more = drawn(people, 500)
    assert more.height == 500
    assert all(set(more[name]) <= set(people[name]) for name in people.columns)


def test_the_bound_is_below_what_is_reached(people, monkeypatch):
    monkeypatch.setattr(
        "benchmarks.clustering_job._best_methods", lambda: [("few steps", sf.KMember(loss="loss", refine=10))]
    )
    loss, ratio = distance_from_best(people, HIERARCHIES)
    assert 0 < loss.value < 1 <= ratio.value
