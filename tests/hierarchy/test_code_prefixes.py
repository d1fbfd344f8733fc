"""Masked codes: labels, short codes, order, and bad input."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sfumato.errors import HierarchyError
from sfumato.hierarchy import Prefixes, hierarchy_from_policy, prefixes


def test_the_worked_case() -> None:
    tree = prefixes(3, 2, 0).build(pl.Series(["4711", "4712", "4720", "5000"]), name="zip")
    assert tree.paths == [
        ("4711", "471*", "47**", "*"),
        ("4712", "471*", "47**", "*"),
        ("4720", "472*", "47**", "*"),
        ("5000", "500*", "50**", "*"),
    ]


def test_codes_that_are_not_longer_than_what_is_kept_stay() -> None:
    tree = prefixes(3, 1).build(pl.Series(["47", "4711", "471", "4"]), name="zip")
    assert {path[0]: path[1:] for path in tree.paths} == {
        "4": ("4", "4", "*"),
        "47": ("47", "4*", "*"),
        "471": ("471", "4**", "*"),
        "4711": ("471*", "4***", "*"),
    }


def test_whole_numbers_keep_their_order() -> None:
    tree = prefixes(1).build(pl.Series([200, 19, 100, 101, 5]), name="code")
    assert tree.leaves == ("5", "19", "100", "101", "200")


def test_whole_numbers_read_as_floats_have_no_point() -> None:
    assert prefixes(2).build(pl.Series([4711.0, None]), name="code").levels[1].labels == ("47**",)


@given(st.lists(st.text("0123ab", min_size=1, max_size=6), min_size=1), st.sets(st.integers(0, 7), min_size=1))
@examples(80)
def test_a_masked_code_keeps_the_length_and_the_beginning(codes: list[str], keep: set[int]) -> None:
    falling = sorted(keep, reverse=True)
    tree = prefixes(*falling).build(pl.Series(codes), name="code")
    assert set(tree.leaves) == set(codes)
    for code, *labels, root in tree.paths:
        assert root == "*"
        for kept, label in zip(falling, labels, strict=False):
            if kept:
                assert len(label) == len(code)
                assert label.startswith(code[:kept])
                assert set(label[kept:]) <= {"*"}


@pytest.mark.parametrize("codes", [["471*", "4711"], ["47*1", "4711"], ["*", "4711"]])
def test_codes_that_look_masked_are_refused_without_being_shown(codes: list[str]) -> None:
    with pytest.raises(HierarchyError) as caught:
        prefixes(3, 2, 0).build(pl.Series(codes), name="zip")
    assert "47" not in str(caught.value)


@pytest.mark.parametrize("keep", [(), (2, 3), (2, 2), (-1,), (1.5,), (True,), ("2",)])
def test_numbers_of_characters_that_make_no_sense(keep: Any) -> None:
    with pytest.raises(HierarchyError):
        prefixes(*keep)


def test_zero_goes_without_saying() -> None:
    assert prefixes(3, 2) == prefixes(3, 2, 0) == Prefixes((3, 2))
    assert prefixes(0).build(pl.Series(["a", "b"]), name="x").height == 1
    assert hierarchy_from_policy(prefixes(3, 2).to_policy()) == prefixes(3, 2)
