"""Hierarchies in policies: every kind comes back, every wrong key is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sfumato.errors import PolicyError
from sfumato.hierarchy import (
    HIERARCHY_KINDS,
    HierarchySpecification,
    HierarchyTable,
    dates,
    flat,
    groups,
    hierarchy_from_policy,
    intervals,
    prefixes,
)

DESCRIBED: dict[str, HierarchySpecification] = {
    "intervals": intervals(5, 10, start=2),
    "prefixes": prefixes(3, 1),
    "dates": dates("quarter", "decade"),
    "groups": groups({"g": {"h": ["a", "b"]}, "i": ["c"]}),
    "table": HierarchyTable((("a", "g", "*"), ("b", "g", "*"))),
    "flat": flat(),
}


def is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_plain(inside) for key, inside in value.items())
    if isinstance(value, list):
        return all(map(is_plain, value))
    return type(value) in (str, int, float, bool)


def test_every_kind_has_a_case() -> None:
    assert {*DESCRIBED, "file"} == set(HIERARCHY_KINDS)


@pytest.mark.parametrize("kind", DESCRIBED)
def test_every_description_survives(kind: str) -> None:
    described = DESCRIBED[kind]
    assert isinstance(described, HierarchySpecification)
    policy = dict(described.to_policy())
    assert policy["kind"] == kind
    assert is_plain(policy)
    assert hierarchy_from_policy(policy) == described


def test_a_file_is_found_from_the_folder_of_the_policy(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a|g\nb|g\n")
    policy = {"kind": "file", "path": "x.csv", "separator": "|"}
    described = hierarchy_from_policy(policy, tmp_path)
    assert described == HierarchyTable((("a", "g"), ("b", "g")))
    assert described.to_policy() == policy


@given(
    st.lists(st.integers(2, 4), min_size=1, max_size=4), st.integers(1, 999), st.integers(0, 3), st.integers(-99, 99)
)
@examples(60)
def test_any_nested_widths_survive(factors: list[int], first: int, decimals: int, start: int) -> None:
    wholes = [first]
    for factor in factors:
        wholes.append(wholes[-1] * factor)
    described = intervals(*(float(f"{whole}e-{decimals}") for whole in wholes), start=start)
    assert hierarchy_from_policy(described.to_policy()) == described


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("intervals", ["a hierarchy must be a table of keys"]),
        ({}, ["kind: must be one of intervals, prefixes"]),
        ({"kind": "forest"}, ["kind: must be one of"]),
        ({"kind": ["flat"]}, ["kind: must be one of"]),
        (
            {"kind": "prefixes", "kept": [1], "deep": 2},
            ["kept: is not a key", "deep: is not a key", "keep: is missing"],
        ),
        ({"kind": "flat", "rows": []}, ["rows: is not a key of kind flat; its keys are none"]),
        ({"kind": "file", "path": "x.csv", "folder": "/"}, ["folder: is not a key"]),
        ({"kind": "file", "path": 5}, ["path of a hierarchy file must be text"]),
        ({"kind": "file", "path": "absent.csv"}, ["absent.csv: cannot be read"]),
        ({"kind": "table", "rows": [["a", "x", "*"], ["a", "", "*"]]}, ["are empty", "repeat an original value"]),
        ({"kind": "intervals", "widths": ["5"], "start": "0"}, ["widths must be", "start must be"]),
        ({"kind": "intervals", "widths": 5}, ["widths must be a list"]),
        ({"kind": "dates", "units": "month"}, ["name units"]),
        ({"kind": "groups", "members": [["a"]]}, ["must be a list of values or a mapping"]),
    ],
)
def test_every_mistake_is_named(policy: Any, said: list[str], tmp_path: Path) -> None:
    with pytest.raises(PolicyError) as caught:
        hierarchy_from_policy(policy, tmp_path)
    assert len(caught.value.problems) == len(said)
    for problem, part in zip(caught.value.problems, said, strict=True):
        assert part in problem
