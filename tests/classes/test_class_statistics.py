"""Class statistics: who is counted, how values are numbered, and merging all classes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
from hypothesis import given

from examples import examples
from models.small_tables import HIERARCHY, Column, memberships, statistics_of
from sfumato.classes.statistics import as_one_class, class_statistics
from sfumato.hierarchy.tree import hierarchy_from_paths
from sfumato.table.encoding import EncodedAttribute
from sfumato.table.schema import Kind


@given(drawn=memberships())
@examples(60)
def test_counts_are_those_of_the_records_that_are_not_suppressed(drawn: tuple[list[int], list[int | None]]) -> None:
    class_of, picks = drawn
    leaves = tuple(None if pick is None else HIERARCHY.leaves[pick] for pick in picks)
    statistics = statistics_of(class_of, Column("s", Kind.CATEGORICAL, leaves, HIERARCHY))
    counts = statistics.sensitive["s"]
    published = [(owner, leaf) for owner, leaf in zip(class_of, leaves, strict=True) if owner >= 0]

    assert statistics.sizes.tolist() == [class_of.count(owner) for owner in range(statistics.count)]
    assert counts.leaf_of is not None
    names = [None if leaf < 0 else HIERARCHY.leaves[leaf] for leaf in counts.leaf_of.tolist()]
    assert dict(zip(names, counts.totals.tolist(), strict=True)) == Counter(leaf for _, leaf in published)
    for owner in range(statistics.count):
        mine = slice(counts.starts[owner], counts.starts[owner + 1])
        found = {names[value]: count for value, count in zip(counts.values[mine], counts.counts[mine], strict=True)}
        assert found == Counter(leaf for its, leaf in published if its == owner)
        assert (np.diff(counts.values[mine]) > 0).all()


def test_measured_values_are_numbered_by_size_whatever_the_hierarchy_says() -> None:
    numbers = hierarchy_from_paths([("100", "*"), ("5", "*"), ("-2.5", "*")])
    counts = statistics_of([0, 0, 0, 0], Column("s", Kind.NUMERIC, ("5", "100", "-2.5", None), numbers)).sensitive["s"]
    assert counts.leaf_of is not None
    assert counts.leaf_of.tolist() == [2, 1, 0, -1]

    days = hierarchy_from_paths([("2020-01-02", "*"), ("1999-12-31", "*")])
    dates = statistics_of([0, 0], Column("s", Kind.DATE, ("1999-12-31", "2020-01-02"), days)).sensitive["s"]
    assert dates.leaf_of is not None
    assert dates.leaf_of.tolist() == [1, 0]


def test_categories_keep_the_order_of_their_codes() -> None:
    attribute = EncodedAttribute("s", Kind.CATEGORICAL, pl.Series(["b", "a", "z"]), None, None, False, 0.0, 3)
    codes = np.array([[2], [0], [0]], dtype=np.uint8)
    counts = class_statistics(np.array([0, 0, 1], dtype=np.int32), 2, codes, [attribute]).sensitive["s"]
    assert counts.totals.tolist() == [2, 1]
    assert counts.values.tolist() == [0, 1, 0]
    assert counts.leaf_of is None


def test_several_attributes_are_counted_side_by_side() -> None:
    first = Column("a", Kind.CATEGORICAL, ("x", "y", "x"))
    second = Column("b", Kind.NUMERIC, (3, 3, None))
    statistics = statistics_of([0, 1, -1], first, second)
    assert list(statistics.sensitive) == ["a", "b"]
    assert statistics.sensitive["a"].totals.tolist() == [1, 1]
    assert statistics.sensitive["b"].totals.tolist() == [2]


def test_one_class_holds_everything_that_the_classes_held() -> None:
    statistics = statistics_of([0, 1, 1, -1], Column("a", Kind.CATEGORICAL, ("x", "y", "x", "z")))
    whole = as_one_class(statistics)
    assert whole.sizes.tolist() == [3]
    assert whole.sensitive["a"].counts.tolist() == whole.sensitive["a"].totals.tolist() == [2, 1]
    assert whole.sensitive["a"].starts.tolist() == [0, 2]


def test_a_table_without_sensitive_attributes_has_sizes() -> None:
    statistics = statistics_of([0, 1, 1])
    assert statistics.sizes.tolist() == [1, 2]
    assert dict(statistics.sensitive) == {}
