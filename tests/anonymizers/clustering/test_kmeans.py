"""k-means anonymity against its plain twin, the soccer paper's example and trends, and every model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from anonymizers.clustering.numbers_tables import encoded, people, solve
from examples import examples
from naive.kmeans import kmeans as twin
from sfumato.anonymizers.clustering.numeric import Scale, classes_from, numeric_records, numeric_space
from sfumato.anonymizers.feasibility import feasible
from sfumato.anonymizers.protocol import Anonymizer, Problem
from sfumato.classes.statistics import class_statistics
from sfumato.metrics import discernibility, normalized_certainty_penalty
from sfumato.models.protocol import PrivacyModel
from sfumato.recoding import recode
from sfumato.table.encoding import EncodedTable

PLAYERS = [(176, 70), (177, 71), (169, 64), (170, 63), (188, 80), (183, 78), (180, 77)]


def from_rows(
    points: Sequence[Sequence[float]],
    beginning: Sequence[int],
    models: Sequence[PrivacyModel],
    secret: Sequence[str] | None = None,
    scale: Scale = "none",
) -> list[set[int]]:
    """Classes that come from given first rows."""
    table = encoded(points, secret)
    (start,) = feasible(Problem(table, models, seed=1))
    records = numeric_records(start, numeric_space(table, scale, "ranks", name="k-means"))
    place_of = np.empty(len(points), dtype=np.int64)
    place_of[records.rows] = records.owners
    class_of, count = classes_from(records, place_of[list(beginning)])
    return [set(records.rows[class_of == number].tolist()) for number in range(count)]


def test_the_soccer_example_from_rows_1_3_5():
    assert from_rows(PLAYERS, [0, 2, 4], [sf.KAnonymity(2)]) == [{0, 1, 6}, {2, 3}, {4, 5}]


def test_the_soccer_example_from_rows_5_6_7_merges_the_small_cluster():
    assert from_rows(PLAYERS, [4, 5, 6], [sf.KAnonymity(2)]) == [{4, 5, 6}, {0, 1, 2, 3}]


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[tuple[int, ...]], int, list[int]]:
    q = draw(st.integers(1, 3))
    # In the order of their values, which is the order that settles ties here.
    points = sorted(draw(st.lists(st.tuples(*[st.integers(0, 12)] * q), min_size=2, max_size=45)))
    k = draw(st.integers(1, min(5, len(points))))
    beginning = draw(st.permutations(range(len(points))))[: len(points) // k]
    return points, k, beginning


@given(cases())
@examples(80)
def test_equals_the_plain_twin_row_by_row(case):
    points, k, beginning = case
    expected = [set(members) for members in twin(points, k, beginning)]
    found = from_rows(points, beginning, [sf.KAnonymity(k)])
    # Twin classes in the order of their centres; equal records stand for each other.
    values = [[sorted(points[record] for record in members) for members in side] for side in (expected, found)]
    assert values[1] == values[0]


@given(cases(), st.data())
@examples(40)
def test_other_models_merge_as_in_the_twin(case, data):
    points, k, beginning = case
    distinct = sorted(set(points))  # equal records would be ordered at random
    beginning = list(dict.fromkeys(place for place in beginning if place < len(distinct)))[: len(distinct) // 2]
    if not beginning:
        beginning = [0]
    secret = data.draw(st.lists(st.sampled_from("xy"), min_size=len(distinct), max_size=len(distinct)))
    if len(set(secret)) < 2:
        return
    ok = lambda members: len({secret[record] for record in members}) > 1  # noqa: E731
    k = min(2, len(distinct))
    expected = [set(members) for members in twin(distinct, k, beginning, ok=ok)]
    assert from_rows(distinct, beginning, [sf.KAnonymity(k), sf.DistinctLDiversity(2)], secret) == expected


@pytest.mark.parametrize("scale", ["minmax", "zscore"])
def test_scales_are_those_of_the_twin(scale):
    points = np.random.default_rng(4).normal(size=(60, 2)) * [1, 100]
    points = points[np.lexsort(points.T[::-1])].tolist()
    expected = [set(members) for members in twin(points, 4, range(0, 60, 4), scale=scale)]
    assert from_rows(points, range(0, 60, 4), [sf.KAnonymity(4)], scale=scale) == expected


@pytest.mark.parametrize("beginning", ["random", "k-means++"])
@pytest.mark.parametrize("k", [1, 2, 7, 300])
def test_every_class_has_k_records_and_equal_records_stay_together(beginning, k):
    points = people(300)
    partition = solve(encoded(points.tolist()), [sf.KAnonymity(k)], sf.KMeans(start=beginning))
    assert partition.sizes.min() >= k
    class_of: dict[tuple[float, ...], int] = {}
    for point, number in zip(map(tuple, points), partition.class_of, strict=True):
        assert class_of.setdefault(point, number) == number


@pytest.mark.slow
def test_threads_change_nothing_and_several_starts_never_lose():
    table = encoded(np.random.default_rng(1).normal(size=(9000, 3)).tolist())
    one, two = (solve(table, [sf.KAnonymity(5)], sf.KMeans(), threads=threads) for threads in (1, 2))
    assert one.class_of.tolist() == two.class_of.tolist()
    small = encoded(people(200).tolist())
    (start,) = feasible(Problem(small, [sf.KAnonymity(4)], seed=3))
    records = numeric_records(start, numeric_space(small, "minmax", "ranks", name="k-means"))
    errors = []
    for starts in (1, 2, 6):
        solution = solve(small, [sf.KAnonymity(4)], sf.KMeans(starts=starts), seed=3)
        errors.append(records.squared_error(solution.class_of[records.rows], solution.count))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[0]


def test_rounds_are_reported():
    calls: list[tuple[str, int, int]] = []
    table = encoded(people(200).tolist())
    sf.KMeans().solve(Problem(table, [sf.KAnonymity(4)], seed=3, progress=lambda *said: calls.append(said)))
    done = [call[1] for call in calls if call[0] == "clustering"]
    assert done[0] == 0
    assert done == sorted(done)
    assert calls[-1][1] == calls[-1][2]


def test_every_model_holds_after_merging():
    draw = np.random.default_rng(2)
    secret = draw.choice(list("abcd"), 400, p=[0.55, 0.3, 0.1, 0.05]).tolist()
    models = [sf.KAnonymity(3), sf.TCloseness(0.15), sf.EntropyLDiversity(2)]
    table = encoded(people(400).tolist(), secret)
    solution = solve(table, models, sf.KMeans())
    statistics = class_statistics(solution.class_of, solution.count, table.sensitive_codes, table.sensitive)
    assert solution.count > 1
    assert all(model.holds(statistics).all() for model in models)


def loss(table: EncodedTable, k: int, anonymizer: Anonymizer) -> tuple[float, float]:
    """Discernibility and normalized NCP, means over some beginnings."""
    found = []
    for seed in range(5):
        generalized = recode(table, solve(table, [sf.KAnonymity(k)], anonymizer, seed=seed))
        found.append((discernibility(generalized), normalized_certainty_penalty(generalized)))
    return tuple(np.mean(found, axis=0))


@pytest.mark.slow
def test_the_soccer_trends():
    """DM and NCP rise with k, and for small k the DM is below that of Mondrian with the paper's cuts.

    Those cut at the median alone, and heights and weights repeat.
    """
    table = encoded(people(2000).tolist())
    paper = sf.KMeans(scale="none")
    by_k = [loss(table, k, paper) for k in (2, 4, 8, 16, 32)]
    for figures in zip(*by_k, strict=True):
        assert list(figures) == sorted(figures)
    mondrian = sf.Mondrian(split_rule="median")
    for k in (2, 3, 5):
        assert loss(table, k, paper)[0] < loss(table, k, mondrian)[0]


@pytest.mark.parametrize("anonymizer", [sf.KMeans(), sf.KMeans(start="k-means++"), sf.MDAV(), sf.VMDAV()])
def test_odd_tables_end_in_a_right_answer(anonymizer):
    for points in (
        [[1.0, 2.0]] * 10_000,  # identical
        [[1.0, None]] * 20,  # constant, and nothing at all
        [[None, None]] * 5,
        [[float(i), f"category {i}"] for i in range(3000)],  # one category per record
        [[1e70, 1.0], [-1e70, 2.0], [1e-300, 3.0], [0.0, 4.0]] * 4,
        [[2.0**62, 1.0], [-(2.0**62), 1.0]] * 5,
    ):
        solution = solve(encoded(points), [sf.KAnonymity(5)], anonymizer)
        assert solution.sizes.min() >= 5
        assert solution.suppressed == 0
    with pytest.raises(sf.UnsatisfiableError):
        solve(encoded([[1.0], [2.0]]), [sf.KAnonymity(3)], anonymizer)


def test_options_are_checked_all_at_once():
    with pytest.raises(sf.PolicyError) as caught:
        sf.KMeans(start="best", starts=0, scale="log", categories="x", max_iterations=1.5, tolerance=-1, block_size=1)  # type: ignore[arg-type]
    assert len(caught.value.problems) == 7
    with pytest.raises(sf.PolicyError) as caught:
        sf.VMDAV(gamma=float("nan"), categories="x")  # type: ignore[arg-type]
    assert len(caught.value.problems) == 2


@pytest.mark.slow
def test_blocks_are_reported_and_classes_hold():
    table = encoded(np.random.default_rng(1).normal(size=(4000, 2)).tolist())
    for anonymizer in (sf.KMeans(block_size=500), sf.MDAV(block_size=500), sf.VMDAV(block_size=500)):
        solution = solve(table, [sf.KAnonymity(5)], anonymizer)
        assert solution.sizes.min() >= 5
        assert "blocks" in solution.notes[0]
