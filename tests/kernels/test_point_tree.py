"""The tree of boxes against a look at every point, while points go and move; merging against counting by hand."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sfumato.kernels.point_clusters import assign_points, move_centres, spread_start
from sfumato.kernels.point_tree import (
    farthest,
    nearest_items,
    nearest_point,
    nearest_records,
    plant_points,
    refit,
)


@st.composite
def clouds(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, d = draw(st.integers(1, 120)), draw(st.integers(1, 4))
    points = generator.integers(0, draw(st.sampled_from([1, 3, 1000])) + 1, (m, d)).astype(np.float64)
    return points, generator.integers(0, 4, m), generator


@given(clouds())
@examples(80)
def test_searches_find_what_a_look_at_all_finds(cloud):
    points, weights, generator = cloud
    tree = plant_points(points, weights)
    for _ in range(6):
        query = generator.integers(-2, 8, points.shape[1]).astype(np.float64)
        apart = ((points - query) ** 2).sum(axis=1)
        there = np.flatnonzero(weights)
        assert tree.weights[0] == weights.sum()
        if len(there):
            assert np.allclose(tree.sums[0], (points * weights[:, None]).sum(axis=0))
            by_distance = there[np.lexsort((there, apart[there]))]
            assert nearest_point(query, np.inf, len(points), tree, -1) == (by_distance[0], apart[by_distance[0]])
            assert farthest(query, tree) == there[np.lexsort((there, -apart[there]))][0]
            others = by_distance[1:]
            skipping = nearest_point(query, np.inf, len(points), tree, by_distance[0])[0]
            assert skipping == (others[0] if len(others) else len(points))
            wanted = int(generator.integers(1, weights.sum() + 3))
            items, distances = np.empty(wanted + 1, np.int64), np.empty(wanted + 1)
            found = nearest_records(query, wanted, tree, items, distances)
            enough = int(np.searchsorted(np.cumsum(weights[by_distance]), wanted)) + 1
            assert items[:found].tolist() == by_distance[:enough].tolist()
        gone = int(generator.integers(0, len(points)))
        weights[gone] = tree.left[tree.places[gone]] = generator.integers(0, 2)
        points[gone] = tree.points[tree.places[gone]] = generator.integers(0, 5, points.shape[1])
        refit(gone, tree)


@given(clouds(), st.integers(1, 30))
@examples(60)
def test_points_find_the_nearest_centre_after_every_move(cloud, count):
    points, weights, generator = cloud
    centres = points[generator.integers(0, len(points), count)].copy()
    home, apart, moves = np.full(len(points), -1, np.int32), np.empty(len(points)), np.ones(count)
    for _ in range(6):
        every = plant_points(centres, np.ones(count, np.int64))
        moved = plant_points(centres, (moves > 0).astype(np.int64))
        assign_points(points, 0, len(points), every, moved, home, apart)
        distances = ((points[:, None] - centres[None]) ** 2).sum(axis=2)
        assert home.tolist() == distances.argmin(axis=1).tolist()
        before = centres.copy()
        moves = move_centres(points, weights + 1, home, centres)
        for number in range(count):
            mine = home == number
            expected = np.average(points[mine], axis=0, weights=weights[mine] + 1) if mine.any() else before[number]
            assert np.allclose(centres[number], expected)


@given(clouds(), st.integers(1, 40))
@examples(60)
def test_spread_starts_are_different_points_as_far_as_there_are_any(cloud, count):
    points, weights, generator = cloud
    weights += 1
    chosen = spread_start(points, weights, generator.random(count))
    assert len(chosen) == min(count, len(np.unique(points, axis=0)))
    assert len(np.unique(points[chosen], axis=0)) == len(chosen)


def test_spread_starts_prefer_what_is_far():
    points = np.array([[0.0], [0.1], [100.0]])
    both = [
        sorted(spread_start(points, np.array([50, 50, 1]), np.random.default_rng(seed).random(2))) for seed in range(50)
    ]
    assert sum(2 in chosen for chosen in both) >= 49


def test_nearest_items():
    tree = plant_points(np.array([[0.0], [5.0], [9.0]]), np.ones(3, np.int64))
    assert nearest_items(np.array([[1.0], [2.5], [8.0]]), tree).tolist() == [0, 0, 2]


PLAIN = """
import numpy as np
from sfumato.kernels.point_tree import merge_classes
from sfumato.kernels.point_clusters import spread_start
from sfumato.kernels.point_clusters import mdav, v_mdav
from sfumato.kernels.predicates import K_ANONYMITY, RuleArrays
none, zero = np.zeros(0, np.int64), np.zeros(1, np.int64)
rules = RuleArrays(zero + K_ANONYMITY, zero - 1, zero + 4.0, zero * 1.0, zero, none, 40, zero, none, none * 1.0, 1)
points = np.random.default_rng(3).normal(size=(40, 2))
starts = np.arange(41)
class_of = (np.arange(40) // 3).astype(np.int32)
count = merge_classes(points, np.arange(40), np.zeros((40, 0), np.uint8), class_of, 14, False, 4, rules)
chosen = spread_start(points, np.ones(40, np.int64), np.random.default_rng(1).random(9))
found = [mdav(points, starts, 3)[0], v_mdav(points, starts, 3, 1.1)[0], class_of, chosen]
print(count, [part.tolist() for part in found])
"""


def test_plain_python_does_the_same():
    outputs = []
    for switch in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": switch}
        done = subprocess.run(
            [sys.executable, "-c", PLAIN], env=environment, capture_output=True, text=True, check=True
        )
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
    assert outputs[0].startswith(("6 ", "7 ", "8 ", "9 "))
