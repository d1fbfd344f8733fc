"""MDAV and V-MDAV against their plain twins and the published losses; what becomes of other models and of blocks."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive.mdav
import sfumato as sf
from anonymizers.clustering.numbers_tables import classes_of, encoded, people, solve
from examples import examples
from sfumato.classes.statistics import class_statistics
from sfumato.kernels.point_clusters import mdav, v_mdav
from sfumato.metrics import normalized_certainty_penalty
from sfumato.metrics.losses import squared_error
from sfumato.recoding import recode
from sfumato.table.encoding import encode

REAL = pytest.mark.skipif("SFUMATO_DATA" not in os.environ, reason="needs the real tables: set SFUMATO_DATA")


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    """Distinct points in the order of their values, their weights, and k; whole numbers, so that ties are ties."""
    q = draw(st.integers(1, 4))
    points = sorted(draw(st.sets(st.tuples(*[st.integers(0, 9)] * q), min_size=1, max_size=40)))
    weights = draw(st.lists(st.sampled_from([1, 1, 1, 2, 3, 12]), min_size=len(points), max_size=len(points)))
    return np.array(points, dtype=np.float64), np.array(weights), draw(st.integers(1, min(6, sum(weights))))


@given(cases(), st.sampled_from([0.0, 0.2, 1.1, 5.0]))
@examples(120)
def test_weighted_points_equal_the_twins_row_by_row(case, gamma):
    points, weights, k = case
    rows = np.repeat(points, weights, axis=0).tolist()
    starts = np.concatenate([[0], np.cumsum(weights)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(naive.mdav, "standardized", np.array)  # z-scores would be inexact
        expected = [sorted(members) for members in naive.mdav.mdav(rows, k)]
        varying = [sorted(members) for members in naive.mdav.v_mdav(rows, k, gamma)]
    assert classes_of(*mdav(points, starts, k)) == expected
    assert classes_of(*v_mdav(points, starts, k, gamma)) == varying


@pytest.mark.parametrize("k", [2, 5])
def test_whole_runs_equal_the_twins(k):
    points = np.random.default_rng(k).normal(size=(150, 3)) * [1, 10, 100]
    points = points[np.lexsort(points.T[::-1])].tolist()
    for anonymizer, classes in (
        (sf.MDAV(), naive.mdav.mdav(points, k)),
        (sf.VMDAV(gamma=1.1), naive.mdav.v_mdav(points, k, 1.1)),
    ):
        solution = solve(encoded(points), [sf.KAnonymity(k)], anonymizer)
        assert classes_of(solution.class_of, solution.count) == [sorted(members) for members in classes]


@REAL
@pytest.mark.parametrize(
    ("file", "k", "loss"),
    [
        ("casc_census/Census.csv", 3, 5.6922),
        ("casc_census/Census.csv", 5, 9.0884),
        ("casc_tarragona/Tarragona.csv", 3, 16.9326),
        ("casc_tarragona/Tarragona.csv", 5, 22.4619),
    ],
)
def test_the_published_losses(file, k, loss):
    path = Path(os.environ["SFUMATO_DATA"]) / file
    frame = pl.read_csv(path).cast(pl.Float64)
    table = encode(sf.read_table(frame, sf.Schema(quasi_identifying=frame.columns)))
    solution = solve(table, [sf.KAnonymity(k)], sf.MDAV())
    assert squared_error(recode(table, solution)) == pytest.approx(loss, abs=1e-3)
    varying = solve(table, [sf.KAnonymity(k)], sf.VMDAV())
    assert squared_error(recode(table, varying)) < 1.2 * loss


@pytest.mark.parametrize("anonymizer", [sf.MDAV(), sf.VMDAV(gamma=0), sf.VMDAV(gamma=3)])
@pytest.mark.parametrize("k", [1, 2, 5, 50, 101])
def test_sizes(anonymizer, k):
    solution = solve(encoded(people(101).tolist()), [sf.KAnonymity(k)], anonymizer)
    assert solution.sizes.min() >= k
    if isinstance(anonymizer, sf.MDAV):
        assert sorted(solution.sizes)[:-1] == [k] * (101 // k - 1)
    if anonymizer == sf.VMDAV(gamma=3) and 1 < k < 50:
        assert solution.sizes.max() >= 2 * k - 1


@pytest.mark.parametrize("anonymizer", [sf.MDAV(), sf.VMDAV()])
def test_every_model_holds_after_merging(anonymizer):
    draw = np.random.default_rng(2)
    secret = draw.choice(list("abcd"), 400, p=[0.55, 0.3, 0.1, 0.05]).tolist()
    models = [sf.KAnonymity(3), sf.TCloseness(0.2), sf.ProbabilisticLDiversity(1.5)]
    table = encoded(people(400).tolist(), secret)
    solution = solve(table, models, anonymizer)
    statistics = class_statistics(solution.class_of, solution.count, table.sensitive_codes, table.sensitive)
    assert solution.count > 1
    assert all(model.holds(statistics).all() for model in models)


@pytest.mark.parametrize("anonymizer", [sf.KMeans(), sf.MDAV(), sf.VMDAV()])
def test_left_out_records_are_covered_by_the_nearest_class(anonymizer):
    secret = ["x"] * 260 + ["y"] * 140
    table = encoded(people(400).tolist(), secret)
    problem = sf.anonymizers.Problem(table, [sf.ProbabilisticLDiversity(2)], 200, seed=1)
    solution = anonymizer.solve(problem)
    assert 0 < solution.suppressed <= 200
    assert (solution.covered_by >= 0).all()
    sizes = class_statistics(solution.class_of, solution.count, table.sensitive_codes, table.sensitive)
    assert sf.ProbabilisticLDiversity(2).holds(sizes).all()


@pytest.mark.slow
def test_blocks_cost_little():
    table = encoded(np.random.default_rng(1).normal(size=(6000, 2)).tolist())
    whole, blocks = (
        normalized_certainty_penalty(recode(table, solve(table, [sf.KAnonymity(5)], sf.MDAV(block_size=size))))
        for size in (0, 1000)
    )
    assert whole < blocks < 1.1 * whole
