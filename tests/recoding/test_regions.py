"""Regions that an anonymizer chose, as published values."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from recoding.small_tables import as_if_many
from sfumato.classes.partition import Partition, Regions
from sfumato.errors import PolicyError
from sfumato.hierarchy.level_table import HierarchyTable
from sfumato.recoding import Recoding, RecodingKind, recode, recode_as_published, recoding_kind
from sfumato.table.encoding import EncodedTable, encode

PATHS = [("a", "ab", "*"), ("b", "ab", "*"), ("c", "c", "*")]


@pytest.fixture(params=["few", "many"], autouse=True)
def how_many(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "many":
        as_if_many(monkeypatch)


def table() -> EncodedTable:
    frame = pl.DataFrame({"age": [20, 30, 40, None], "job": ["x", "y", "x", "z"], "town": ["a", "b", "c", "a"]})
    hierarchy = HierarchyTable(tuple(PATHS))
    schema = sf.Schema(quasi_identifying={"age": None, "job": None, "town": hierarchy})
    return encode(sf.read_table(frame, schema))


def regions(rows: list[list[tuple[int, int, int]]]) -> Regions:
    low, high, level = np.moveaxis(np.array(rows, dtype=np.int32), 2, 0)
    return Regions(low, high, level)


def labels(encoded: EncodedTable, partition: Partition) -> list[list[str | None]]:
    generalized = recode(encoded, partition)
    return [column.labels.gather(column.per_class).to_list() for column in generalized.columns]


def test_a_region_is_published_whole_whatever_the_class_has():
    encoded = table()
    wide = regions([[(0, 2, 0), (0, 1, 0), (0, 1, 1)], [(3, 3, 0), (2, 2, 0), (0, 3, 2)]])
    partition = Partition(np.array([0, 0, 0, 1], dtype=np.int32), 2, regions=wide)
    age, job, town = labels(encoded, partition)
    assert age == ["[20..40]", None]
    assert job == ["{x|y}", "z"]
    assert town == ["ab", "*"]
    generalized = recode(encoded, partition)
    assert generalized.columns[2].level.tolist() == [1, 2]
    assert generalized.columns[2].leaves.tolist() == [2, 3]


def test_the_whole_domain_is_a_star_in_every_kind_of_column():
    encoded = table()
    stars = regions([[(0, 3, 0), (0, 3, 0), (0, 3, 2)]])
    partition = Partition(np.zeros(4, dtype=np.int32), 1, regions=stars)
    assert labels(encoded, partition) == [["*"], ["*"], ["*"]]
    assert all(column.unrestricted.all() for column in recode(encoded, partition).columns)
    assert recoding_kind(recode(encoded, partition)) is RecodingKind.FULL_DOMAIN


def test_a_node_that_repeats_counts_on_its_lowest_level():
    encoded = table()
    repeated = regions([[(0, 3, 0), (0, 3, 0), (2, 2, 1)]])
    column = recode(encoded, Partition(np.zeros(4, dtype=np.int32), 1, regions=repeated)).columns[2]
    assert (column.labels.to_list(), column.level.tolist()) == (["c"], [0])


def test_classes_with_equal_regions_become_one():
    encoded = table()
    twice = regions([[(0, 3, 0), (0, 3, 0), (0, 3, 2)]] * 2)
    merged = recode_as_published(encoded, Partition(np.array([0, 1, 0, 1], dtype=np.int32), 2, regions=twice))
    assert merged.sizes.tolist() == [4]


def test_regions_follow_their_classes_when_one_is_suppressed():
    two = regions([[(0, 0, 0)] * 3, [(1, 1, 0)] * 3])
    partition = Partition(np.array([0, 1, 1, -1], dtype=np.int32), 2, regions=two)
    left = partition.renumbered(np.array([-1, 0], dtype=np.int32), 1)
    assert left.class_of.tolist() == [-1, 0, 0, -1]
    assert left.regions is not None
    assert left.regions.low.tolist() == [[1, 1, 1]]


def test_other_forms_are_refused():
    encoded = table()
    stars = regions([[(0, 3, 0), (0, 3, 0), (0, 3, 2)]])
    with pytest.raises(PolicyError) as caught:
        recode(
            encoded,
            Partition(np.zeros(4, dtype=np.int32), 1, regions=stars),
            Recoding(numeric="mean", forms={"town": "set"}),
        )
    # A mean follows from the records of a class.
    assert ["town" in problem for problem in caught.value.problems] == [True]


@pytest.mark.parametrize("shapes", [((2, 3), (2, 3), (2, 2)), ((3,), (3,), (3,))])
def test_regions_of_unequal_shape_are_refused(shapes):
    with pytest.raises(ValueError, match="regions"):
        Regions(*(np.zeros(shape, dtype=np.int32) for shape in shapes))


def test_a_partition_needs_a_region_for_each_class():
    with pytest.raises(ValueError, match="region"):
        Partition(np.zeros(2, dtype=np.int32), 1, regions=regions([[(0, 0, 0)], [(0, 0, 0)]]))
