"""The nine real hierarchies of the Adult table, as the field uses them."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from sfumato.hierarchy import HierarchyTable, draft_hierarchy, hierarchy_from_policy, read_hierarchy, write_hierarchy

DATA = os.environ.get("SFUMATO_DATA")
pytestmark = pytest.mark.skipif(not DATA, reason="SFUMATO_DATA names no folder with the Adult data")

NODES = {
    "age": [100, 20, 10, 5, 1],
    "education": [16, 5, 3, 1],
    "marital-status": [7, 2, 1],
    "native-country": [41, 5, 1],
    "occupation": [14, 3, 1],
    "race": [5, 1],
    "salary-class": [2, 1],
    "sex": [2, 1],
    "workclass": [8, 3, 1],
}


@pytest.fixture(scope="module")
def adult() -> pl.DataFrame:
    return pl.read_csv(Path(DATA or "") / "adult" / "arx_adult.csv", separator=";")


def hierarchy_file(attribute: str) -> Path:
    return Path(DATA or "") / "adult" / "hierarchies" / f"adult_hierarchy_{attribute}.csv"


@pytest.mark.parametrize("attribute", NODES)
def test_it_covers_its_column(adult: pl.DataFrame, attribute: str) -> None:
    tree = read_hierarchy(hierarchy_file(attribute)).build(adult[attribute], name=attribute)
    assert [len(level.labels) for level in tree.levels] == NODES[attribute]
    assert set(adult[attribute].cast(pl.String)) <= set(tree.leaves)


def test_ages_are_numbered_as_they_rise(adult: pl.DataFrame) -> None:
    tree = read_hierarchy(hierarchy_file("age")).build(adult["age"], name="age")
    assert list(tree.leaves) == [str(age) for age in range(1, 101)]
    assert [leaf for leaf, *labels in tree.paths if labels[0] == "20-24"] == ["21", "22", "23", "24", "25"]


@pytest.mark.parametrize("attribute", NODES)
def test_it_survives_writing_and_policies(adult: pl.DataFrame, attribute: str, tmp_path: Path) -> None:
    table = read_hierarchy(hierarchy_file(attribute))
    tree = table.build(adult[attribute], name=attribute)
    write_hierarchy(tree, tmp_path / "copy.csv")
    assert read_hierarchy(tmp_path / "copy.csv").build(adult[attribute], name=attribute) == tree
    assert hierarchy_from_policy(table.to_policy()) == table
    assert hierarchy_from_policy(HierarchyTable(table.rows).to_policy()) == table


@pytest.mark.parametrize("attribute", NODES)
def test_it_can_be_drafted(adult: pl.DataFrame, attribute: str, tmp_path: Path) -> None:
    tree = draft_hierarchy(adult[attribute])
    assert set(tree.leaves) == set(adult[attribute].cast(pl.String))
    write_hierarchy(tree, tmp_path / "draft.csv")
    assert read_hierarchy(tmp_path / "draft.csv").build(adult[attribute], name=attribute) == tree
