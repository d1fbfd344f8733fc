"""Kernels of cell suppression on tables small enough for plain Python: invariants of the search, and the proof."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from naive.cell_suppression import cheapest_for_rows
from sfumato.anonymizers.cell_suppression import (
    DistinctRows,
    Patterns,
    StarAssignment,
    distinct_in_order,
    least_costs,
    nothing_assigned,
    patterns_of,
    proof,
    search_stars,
)
from sfumato.kernels.starring import Assigned, anneal_stars, descend, first_assignment, group_members

tables = st.integers(1, 3).flatmap(
    lambda q: st.lists(st.tuples(*[st.integers(0, 2)] * q), min_size=1, max_size=14).map(
        lambda rows: np.array(rows, dtype=np.uint8)
    )
)


def prepared(codes: np.ndarray, k: int) -> tuple[DistinctRows, Patterns, Assigned]:
    distinct = distinct_in_order(codes)
    width = codes.shape[1]
    patterns = patterns_of(distinct, np.ones(width), np.ones(width, dtype=np.bool_), k)
    return distinct, patterns, nothing_assigned(len(distinct.weights), patterns)


def cost_of(assigned: Assigned, patterns: Patterns) -> float:
    return float((assigned.counts.sum(axis=0) * patterns.choices.cost).sum())


def check(distinct: DistinctRows, patterns: Patterns, assigned: Assigned) -> None:
    """Everybody has a pattern, sizes are what they say, and no group is open with fewer than k records."""
    assert assigned.counts.sum(axis=1).tolist() == distinct.weights.tolist()
    assert assigned.counts.min() >= 0
    sizes = np.zeros(len(assigned.sizes), dtype=np.int64)
    for record, pattern in zip(*np.nonzero(assigned.counts), strict=True):
        sizes[patterns.choices.group_of[record, pattern]] += assigned.counts[record, pattern]
    assert sizes.tolist() == assigned.sizes.tolist()
    assert all(size == 0 or size >= patterns.choices.k for size in sizes)


@given(tables, st.integers(1, 4))
@examples(40)
def test_every_step_leaves_an_assignment_and_says_what_it_changed(codes: np.ndarray, k: int) -> None:
    k = min(k, len(codes))
    distinct, patterns, assigned = prepared(codes, k)
    first_assignment(distinct.weights, patterns.choices, assigned)
    check(distinct, patterns, assigned)
    start = cost_of(assigned, patterns)
    change = descend(patterns.choices, assigned, 10_000)
    check(distinct, patterns, assigned)
    assert change <= 0
    assert math.isclose(cost_of(assigned, patterns), start + change, abs_tol=1e-9)
    restless = np.arange(len(distinct.weights))
    gained = anneal_stars(patterns.choices, assigned, restless, 1.0, 0.1, int(assigned.work[0]) + 300)
    check(distinct, patterns, assigned)
    assert gained <= 0
    assert math.isclose(cost_of(assigned, patterns), start + change + gained, abs_tol=1e-9)
    assert cost_of(assigned, patterns) >= (least_costs(patterns) * distinct.weights).sum() - 1e-9


@given(tables.filter(lambda codes: len(codes) <= 7), st.integers(1, 3))
@examples(25)
def test_the_proof_costs_what_the_plain_twin_does(codes: np.ndarray, k: int) -> None:
    k = min(k, len(codes))
    distinct, patterns, assigned = prepared(codes, k)
    first_assignment(distinct.weights, patterns.choices, assigned)
    started = cost_of(assigned, patterns)
    expected = cheapest_for_rows([tuple(row) for row in codes.tolist()], k)
    assert expected is not None
    proven = proof(distinct, patterns, StarAssignment(assigned.counts, started, 0.0))
    assert proven.proven
    assert proven.cost == expected[0]
    assert proven.counts.sum(axis=1).tolist() == distinct.weights.tolist()
    assert (proven.counts.sum(axis=0) * patterns.choices.cost).sum() == expected[0]


def test_the_search_is_the_same_every_time() -> None:
    codes = np.random.default_rng(0).integers(0, 3, (12, 3)).astype(np.uint8)
    distinct, patterns, _ = prepared(codes, 2)
    one, two = (search_stars(distinct, patterns) for _ in range(2))
    assert np.array_equal(one.counts, two.counts)


def test_members_of_groups() -> None:
    starts, members = group_members(np.array([[0, 2], [-1, 2], [1, -1]], dtype=np.int32), 3)
    assert starts.tolist() == [0, 1, 2, 4]
    assert members.tolist() == [0, 2, 0, 1]
