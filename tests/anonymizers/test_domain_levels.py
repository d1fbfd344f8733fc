"""Levels of attributes as tables over codes."""

from __future__ import annotations

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.anonymizers.full_domain.levels import (
    domain_levels,
    full_domain_classes,
    lattice_of,
    notes_on,
    without_classes,
)
from sfumato.hierarchy.level_table import HierarchyTable
from sfumato.recoding import RecodingKind, recode, recoding_kind
from sfumato.table.encoding import EncodedTable, encode

TOWNS = HierarchyTable((("a", "ab", "*"), ("b", "ab", "*"), ("c", "c", "*")))
JOBS = HierarchyTable((("x", "any"), ("y", "any")))


def table() -> EncodedTable:
    frame = pl.DataFrame({"age": [20, 30, 20, None], "town": ["a", "b", None, "a"], "job": ["x", "y", "x", "x"]})
    schema = sf.Schema(quasi_identifying={"age": None, "town": TOWNS, "job": JOBS})
    return encode(sf.read_table(frame, schema))


def published(levels: tuple[int, ...]) -> list[list[str | None]]:
    encoded = table()
    class_of, count, regions = full_domain_classes(encoded, domain_levels(encoded), levels)
    generalized = recode(encoded, without_classes(class_of, np.ones(count, dtype=bool), regions))
    assert recoding_kind(generalized) is RecodingKind.FULL_DOMAIN
    return [column.labels.gather(column.per_class[class_of]).to_list() for column in generalized.columns]


def test_heights_and_counts():
    domains = domain_levels(table())
    assert lattice_of(domains).heights == (1, 2, 1)
    assert [domain.counts.tolist() for domain in domains] == [[3, 1], [4, 3, 1], [2, 1]]


def test_the_missing_value_stays_by_itself_below_the_top():
    assert published((0, 0, 0)) == [["20", "30", "20", None], ["a", "b", None, "a"], ["x", "y", "x", "x"]]
    assert published((0, 1, 0))[1] == ["ab", "ab", None, "ab"]
    assert published((1, 2, 1)) == [["*"] * 4, ["*"] * 4, ["any"] * 4]


def test_attributes_without_a_hierarchy_are_named():
    assert [("'age'" in note, "'town'" in note) for note in notes_on(domain_levels(table()))] == [(True, False)]


def test_suppressed_classes_leave_with_their_regions():
    encoded = table()
    class_of, count, regions = full_domain_classes(encoded, domain_levels(encoded), (1, 1, 1))
    solution = without_classes(class_of, np.bincount(class_of) > 1, regions, ("said",))
    assert (count, solution.count, solution.suppressed, solution.notes) == (2, 1, 1, ("said",))
    assert solution.regions is not None
    assert len(solution.regions.low) == 1
