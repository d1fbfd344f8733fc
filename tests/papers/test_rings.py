"""Rings beside classes: losses, candidates, and who is found, against plain loops."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.anonymizers.clustering.greedy import KMember
from sfumato.anonymizers.protocol import Problem
from sfumato.metrics.losses import normalized_certainty_penalty
from sfumato.models import KAnonymity
from sfumato.papers import rings
from sfumato.recoding import TIGHT
from sfumato.recoding.recode import recode
from sfumato.table.encoding import encode
from sfumato.table.reading import read_table
from sfumato.table.schema import Schema


def table_of(rng, height):
    columns = {
        "age": rng.integers(20, 60, height),
        "town": rng.choice(["a", "b", "c", "d"], height),
        "sex": rng.choice(["f", "m"], height),
        "ill": rng.choice(["p", "q", "r"], height),
    }
    return encode(
        read_table(pl.DataFrame(columns), Schema(quasi_identifying=["age", "town", "sex"], sensitive=["ill"]))
    )


def naive_cost(covered, sizes):
    cost = 0.0
    for place, size in enumerate(sizes):
        own = {record[place] for record in covered}
        cost += (len(own) / size if len(own) > 1 else 0.0) if size else max(own) - min(own)
    return cost


def naive_found(values, k):
    """List every assignment of rows to people that the algorithm may have made, and what is left of them."""
    size = len(values)
    found = []
    for shift in range(k):
        # Row j has the value of whoever stands `shift` places on.
        shown = [values[(row + shift) % size] for row in range(size)]
        for known in range(size):
            left = {
                tuple((row + other) % size for row in range(size))
                for other in range(k)
                if shown[(known - other) % size] == values[known]
            }
            found.append(
                sum(len({world[row] for world in left}) == 1 for row in range(size)) - 1 if len(left) == 1 else 0
            )
    return sum(found) / len(found)


@pytest.mark.parametrize("seed", range(5))
def test_rings_and_classes_by_plain_loops(seed):
    rng = np.random.default_rng(seed)
    table, k = table_of(rng, 40), int(rng.integers(2, 5))
    points, sizes = rings.points_of(table), rings.sizes_of(table)
    class_of = KMember().solve(Problem(table, [KAnonymity(2 * k)], seed=seed)).class_of
    total = 0.0
    for number in range(class_of.max() + 1):
        members = np.flatnonzero(class_of == number)
        ring = rings.ring_of(members, points, sizes)
        rows = rings.covered_rows(ring, k)
        assert sorted(ring) == sorted(members)
        assert all(len({*row}) == k for row in rows)
        assert {person: int((rows == person).sum()) for person in ring} == dict.fromkeys(ring, k)
        expected = [naive_cost(points[row].tolist(), sizes) for row in rows]
        assert rings.costs_of(points[rows], sizes) == pytest.approx(expected)
        total += len(members) * rings.costs_of(points[members][None], sizes)[0]
        values = table.sensitive_codes[ring, 0]
        assert rings.found_beside_one(values, k) == pytest.approx(naive_found(values.tolist(), k))
    recoded = recode(table, KMember().solve(Problem(table, [KAnonymity(2 * k)], seed=seed)), TIGHT)
    assert total / (40 * 3) == pytest.approx(normalized_certainty_penalty(recoded))


def test_all_different_values_tell_everything_and_equal_ones_nothing():
    assert rings.found_beside_one(np.arange(6), 3) == 5
    assert rings.found_beside_one(np.zeros(6, dtype=np.int64), 3) == 0


def test_rows_alike_are_counted():
    points = np.array([[0.0], [0.0], [0.5], [1.0]])
    assert rings.fewest_alike(points[rings.covered_rows(np.arange(4), 4)], (0,)) == 4
    assert rings.fewest_alike(points[rings.covered_rows(np.arange(4), 2)], (0,)) == 1
