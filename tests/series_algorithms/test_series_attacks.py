"""The plain attacks on a series, against plain twins."""

from collections import Counter

import numpy as np

from naive.release_worlds import pair_counts
from series_algorithms.small_releases import drawn_series, released
from sfumato.kernels import jit
from sfumato.series.recount import intersect, subtract, trace


def test_intersection_of_any_number_of_releases():
    draw = np.random.default_rng(8)
    for _ in range(100):
        releases, tables = [], []
        for _ in range(int(draw.integers(1, 5))):
            rows = list(zip(draw.integers(0, 3, 14).tolist(), draw.integers(0, 4, 14).tolist(), strict=True))
            tables.append(rows)
            releases.append(released(rows, [[{0}]] * 3))
        classes = draw.integers(-1, 3, (6, len(tables)))
        found = intersect(releases, classes)
        for person, labels in enumerate(classes.tolist()):
            left = None
            for rows, label in zip(tables, labels, strict=True):
                if label >= 0:
                    there = Counter(value for other, value in rows if other == label)
                    left = there if left is None else left & there
            assert found.rows[person] == sum((left or {}).values())
            assert found.values[person] == len(left or {})


def test_difference_shows_the_newcomers_of_a_class():
    older = released([(0, 0)] * 3 + [(1, 1)] * 3, [[{0, 1}], [{2, 3}]])
    newer = released([(0, 0)] * 3 + [(0, 2), (1, 1), (1, 1), (2, 1), (2, 0)], [[{0, 1}], [{2}], [{3}]])
    found = subtract(older, newer)
    assert found.narrowed.rows[found.group_of].tolist() == [1, 1, 1]
    assert found.narrowed.values[found.group_of].tolist() == [1, 1, 1]


def test_rows_are_traced_as_in_all_worlds():
    draw = np.random.default_rng(2)
    with jit.always("interpreted"):
        for _ in range(200):
            older, newer, ranged, width = drawn_series(draw, False)
            sets = set(range(width)) - ranged
            both, _ = pair_counts(older, newer)
            found = trace(released(*older, sets), released(*newer, sets))
            onward = Counter((label, value) for label, _, value in both)
            back = Counter((label, value) for _, label, value in both)
            assert found.onward.tolist() == [onward[row] for row in older[0]]
            assert found.back.tolist() == [back[row] for row in newer[0]]
