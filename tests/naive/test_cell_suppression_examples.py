"""The twins of cell suppression against cases by hand and against each other."""

from __future__ import annotations

import random

import pytest

from examples import seeds
from naive.cell_suppression import (
    STAR,
    cheapest,
    cheapest_by_strata,
    cheapest_for_combinations,
    cheapest_for_rows,
    every_combination_occurs,
    every_row_occurs,
    with_stars,
)


def test_a_star_is_a_value_of_its_own() -> None:
    records = [("a", "x"), ("a", "x"), ("a", "y")]
    found = cheapest_for_rows(records, 2)
    assert found is not None
    assert found[0] == 3  # one star would leave (a, *) alone, so all three lose their second value
    assert with_stars(records, found[1]) == [("a", STAR)] * 3
    assert every_row_occurs([("a", None), ("a", None)], 2)
    assert not every_row_occurs([("a", None), ("a", STAR)], 2)


def test_combinations_look_only_at_records_without_a_star() -> None:
    published = [("a", "x"), ("a", "x"), ("a", STAR)]
    assert every_combination_occurs(published, 2, 2)
    assert not every_row_occurs(published, 2)
    assert cheapest_for_combinations([("a", "x"), ("a", "x"), ("a", "y")], 2, 2)[0] == 1


def test_single_keys_may_be_frequent_where_pairs_are_not() -> None:
    records = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]
    assert every_combination_occurs(records, 2, 1)
    assert not every_combination_occurs(records, 2, 2)
    assert cheapest_for_combinations(records, 2, 1)[0] == 0
    assert cheapest_for_combinations(records, 2, 2)[0] == 4


def test_a_star_can_break_what_held() -> None:
    records = [("a", "x"), ("a", "x")]
    assert every_combination_occurs(records, 2, 2)
    assert not every_combination_occurs(with_stars(records, frozenset([(0, 0)])), 2, 1)


def test_weights_choose_the_attribute() -> None:
    records = [("a", "x"), ("b", "x"), ("a", "y"), ("b", "y")]
    for weights, attribute in [([1.0, 3.0], 0), ([3.0, 1.0], 1)]:
        found = cheapest_for_rows(records, 2, weights)
        assert found is not None
        assert found[0] == 4
        assert {own for _, own in found[1]} == {attribute}


def test_too_few_records() -> None:
    assert cheapest_for_rows([("a",)], 2) is None
    assert cheapest_for_rows([], 2) == (0.0, frozenset())
    assert cheapest_for_combinations([("a",)], 2, 1) == (1.0, frozenset([(0, 0)]))  # a star is no combination


def test_strata_are_tables_of_their_own() -> None:
    records = [("a",), ("b",), ("a",), ("b",)]
    assert cheapest_for_rows(records, 2) == (0.0, frozenset())
    assert cheapest_by_strata(records, [1, 1, 2, 2], 2) == (4.0, frozenset((row, 0) for row in range(4)))
    assert cheapest_by_strata(records, [1, 2, 1, 2], 2) == (0.0, frozenset())
    assert cheapest_by_strata(records, [1, 2, 2, 2], 2) is None


@pytest.mark.parametrize("seed", seeds(15))
def test_groupings_find_what_all_sets_of_stars_find(seed: int) -> None:
    rng = random.Random(seed)
    width = rng.choice([1, 2, 3])
    n = rng.randint(2, {1: 8, 2: 5, 3: 3}[width])
    records = [tuple(rng.choice("ab") for _ in range(width)) for _ in range(n)]
    weights = [float(rng.randint(1, 3)) for _ in range(width)]
    k = rng.randint(1, 3)
    by_groups = cheapest_for_rows(records, k, weights)
    by_stars = cheapest(records, lambda published: every_row_occurs(published, k), weights)
    assert (by_groups is None) == (by_stars is None)
    if by_groups and by_stars:
        assert by_groups[0] == by_stars[0]
        assert every_row_occurs(with_stars(records, by_groups[1]), k)


def test_eight_records_of_three_keys_take_no_time() -> None:
    rng = random.Random(0)
    records = [tuple(rng.choice("abc") for _ in range(3)) for _ in range(8)]
    found = cheapest_for_rows(records, 2)
    assert found is not None
    assert every_row_occurs(with_stars(records, found[1]), 2)
