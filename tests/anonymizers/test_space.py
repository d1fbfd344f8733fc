"""Attributes as the flat arrays of the kernels."""

from __future__ import annotations

from datetime import date
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.anonymizers.layout import space_of
from sfumato.kernels.types import NUMERIC, SET, TREE, Space
from sfumato.table.encoding import encode

TREE_SPEC = sf.groups({"organs": {"lungs": ["flu", "cold"], "stomach": ["ulcer"]}, "skin": ["rash", "burn"]})


def space(columns: dict[str, list[Any]], **settings: Any) -> Space:
    schema = sf.Schema(quasi_identifying={name: settings.get(name) for name in columns})
    return space_of(encode(sf.read_table(pl.DataFrame(columns), schema)).attributes)


def test_kinds_offsets_and_weights_are_in_declared_order():
    found = space(
        {"age": [3, 1, 2, 2, 1], "job": list("abaac"), "ill": ["flu", "cold", "rash", "burn", "flu"]},
        ill=sf.Attribute(hierarchy=TREE_SPEC, weight=3.0),
    )
    assert found.kinds.tolist() == [NUMERIC, SET, TREE]
    assert found.offsets.tolist() == [0, 3, 6, 11]
    assert found.weights.tolist() == [1.0, 1.0, 3.0]
    assert found.sizes.tolist() == [3.0, 3.0, 5.0]


def test_numbers_stand_where_they_are_and_others_at_their_codes():
    found = space({"age": [10, 40, 20], "job": list("abc")})
    assert found.positions.tolist() == [10.0, 20.0, 40.0, 0.0, 1.0, 2.0]
    assert found.scales.tolist() == [30.0, 2.0]


def test_dates_are_numbers_and_a_declared_domain_is_the_scale():
    found = space(
        {"born": [date(1970, 1, 2), date(1970, 1, 11)], "age": [5, 6]},
        born=sf.Attribute(kind="date"),
        age=sf.Attribute(domain=(0, 100)),
    )
    assert found.positions.tolist() == [1.0, 10.0, 5.0, 6.0]
    assert found.scales.tolist() == [9.0, 100.0]


def test_a_missing_number_stands_one_whole_range_above_the_highest():
    found = space({"age": [10, 30, None], "level": [7, 7, None], "none": pl.Series([None] * 3, dtype=pl.Int64)})
    assert found.positions.tolist() == [10.0, 30.0, 50.0, 7.0, 8.0, 1.0]
    assert found.scales.tolist() == [20.0, 1.0, 1.0]


def test_a_constant_has_no_width():
    found = space({"age": [5, 5], "job": ["a", "a"]})
    assert found.scales.tolist() == [0.0, 0.0]


def test_trees_are_rows_with_parents_first():
    found = space({"ill": ["flu", "cold", "rash", "burn", "ulcer"]}, ill=TREE_SPEC)
    assert found.tree_starts.tolist() == [0, len(found.tree_low)]
    for row, parent in enumerate(found.tree_parent.tolist()):
        assert parent < row
        low, high = (0, 5) if parent < 0 else (found.tree_low[parent], found.tree_high[parent])
        assert low <= found.tree_low[row] < found.tree_high[row] <= high
        assert (found.tree_low[row], found.tree_high[row]) != (low, high)
    assert sorted(zip(found.tree_low.tolist(), found.tree_high.tolist(), strict=True)) == sorted(
        [(0, 3), (0, 2), (2, 3), (3, 5), (0, 1), (1, 2), (3, 4), (4, 5)]
    )


def test_what_each_step_of_a_tree_saves_adds_up_to_the_whole_loss():
    found = space({"ill": ["flu", "cold", "rash", "burn", "ulcer"]}, ill=TREE_SPEC)
    for row in range(len(found.tree_low)):
        if found.tree_high[row] - found.tree_low[row] > 1:
            continue
        saved, node = 0.0, row
        while node >= 0:
            saved += found.tree_drop[node]
            node = int(found.tree_parent[node])
        assert saved == pytest.approx(1.0)


def test_trees_of_several_attributes_do_not_mix():
    found = space(
        {"a": ["flu", "cold", "rash"], "age": [1, 2, 3], "b": ["burn", "flu", "cold"]}, a=TREE_SPEC, b=TREE_SPEC
    )
    first, second = found.tree_starts[1], found.tree_starts[2]
    assert found.tree_starts.tolist() == [0, first, first, len(found.tree_low)]
    assert all(parent < first for parent in found.tree_parent[:first])
    assert all(parent < 0 or parent >= second for parent in found.tree_parent[first:])
