"""Explicit groups and the flat hierarchy."""

from __future__ import annotations

from datetime import date
from typing import Any

import polars as pl
import pytest

from sfumato.errors import HierarchyError
from sfumato.hierarchy import flat, groups, hierarchy_from_policy

WORK = {
    "employed": {"public": ["city", "state"], "private": ["company"]},
    "not employed": ["retired", "in school"],
    "unknown": ["unknown"],
}


def test_a_ragged_tree_repeats_its_smallest_groups() -> None:
    tree = groups(WORK).build(pl.Series(["state", "retired", None]), name="work")
    assert tree.paths == [
        ("city", "public", "employed", "*"),
        ("state", "public", "employed", "*"),
        ("company", "private", "employed", "*"),
        ("retired", "not employed", "not employed", "*"),
        ("in school", "not employed", "not employed", "*"),
        ("unknown", "unknown", "unknown", "*"),
    ]


def test_a_shallow_branch_repeats_its_smallest_group_not_its_largest() -> None:
    tree = groups({"a": {"b": {"c": ["1"]}}, "d": {"e": ["2"]}}).build(pl.Series(["2"]), name="x")
    assert tree.paths == [("1", "c", "b", "a", "*"), ("2", "e", "e", "d", "*")]


def test_numbers_match_by_value_and_come_in_order() -> None:
    tree = groups({"high": [40, "50.0"], "low": [30.0, 1]}).build(pl.Series([50, 1, 30]), name="age")
    assert tree.leaves == ("1", "30", "40", "50")
    assert tree.levels[1].labels == ("low", "high")


def test_numbers_whose_groups_interleave_are_still_ranges_of_codes() -> None:
    tree = groups({"odd": [1, 3], "even": [2, 4]}).build(pl.Series([1.0, 2.0, 3.0]), name="x")
    assert tree.leaves == ("1", "3", "2", "4")


def test_booleans_and_dates_are_written_as_text() -> None:
    assert groups({"yes": [True], "no": [False]}).build(pl.Series([True]), name="x").leaves == ("true", "false")
    assert groups({"then": [date(1994, 5, 6)]}).build(pl.Series([date(1994, 5, 6)]), name="x").leaves == ("1994-05-06",)


def test_missed_values_are_counted_never_shown() -> None:
    with pytest.raises(HierarchyError) as caught:
        groups(WORK).build(pl.Series(["city", "pirate", " State", "Retired"]), name="work")
    assert "3 of 4 distinct value(s) are not in it (2 of them differ only in spaces" in str(caught.value)
    assert not any(text in str(caught.value).lower() for text in ("city", "pirate", "retired"))


@pytest.mark.parametrize(
    ("members", "problems"),
    [
        ({}, 1),
        ([], 1),
        ("secret", 1),
        ({"secret": []}, 1),
        ({"secret": {}}, 1),
        ({"secret": "value"}, 1),
        ({"secret": None, 5: ["secret"]}, 2),
        ({"secret": [None, ["x"]]}, 1),
        ({"g": ["secret"], "h": ["secret"]}, 1),
        ({"g": {"secret": ["a"]}, "h": {"secret": ["b"]}}, 1),
        ({"g": ["secret", "a"], "secret": ["b"]}, 1),
        ({"*": ["secret"], "h": ["b"]}, 1),
        ({"": ["secret"], "h": ["b"]}, 1),
    ],
)
def test_mappings_that_are_no_tree(members: Any, problems: int) -> None:
    with pytest.raises(HierarchyError) as caught:
        groups(members)
    assert len(caught.value.problems) == problems
    assert "secret" not in str(caught.value)


def test_endless_nesting_is_refused() -> None:
    members: Any = ["a"]
    for _ in range(5000):
        members = {"g": members}
    with pytest.raises(HierarchyError, match="nested in each other"):
        groups(members)


def test_descriptions_are_equal_by_value_and_do_not_follow_the_caller() -> None:
    mine: dict[str, Any] = {"g": ["a"], "h": ["b"]}
    described = groups(mine)
    mine["g"].append("c")
    assert described == groups({"h": ["b"], "g": ["a"]})
    assert hash(described) == hash(groups({"h": ["b"], "g": ["a"]}))
    assert described != groups(mine)
    assert hierarchy_from_policy(groups(WORK).to_policy()) == groups(WORK)


def test_flat_has_two_levels() -> None:
    tree = flat().build(pl.Series(["b", "a", "b", None]).cast(pl.Categorical), name="sex")
    assert tree.paths == [("a", "*"), ("b", "*")]
    assert flat().build(pl.Series([10, 9]), name="n").leaves == ("9", "10")
    assert flat() == hierarchy_from_policy(flat().to_policy())


@pytest.mark.parametrize("values", [["", "a"], ["*", "a"]])
def test_flat_refuses_values_that_cannot_be_published(values: list[str]) -> None:
    with pytest.raises(HierarchyError):
        flat().build(pl.Series(values), name="sex")
