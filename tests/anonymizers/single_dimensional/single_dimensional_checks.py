"""Tables with trees, and plain checks of single-dimensional solutions: recounted from the records, one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymizers.protocol import Anonymizer, Problem
from sfumato.classes.partition import Partition
from sfumato.classes.statistics import class_statistics
from sfumato.models.protocol import PrivacyModel
from sfumato.recoding import recode
from sfumato.recoding.choice import RecodingKind, recoding_kind
from sfumato.table.encoding import EncodedAttribute, EncodedTable, encode

TREE = {"low": {"lower": ["v0", "v1"], "upper": ["v2"]}, "high": ["v3", "v4", "v5"]}
Range = tuple[int, int]


@st.composite
def tables(draw: st.DrawFn) -> EncodedTable:
    """Numbers, a tree, categories without one, missing values, and a sensitive column."""
    n = draw(st.integers(2, 40))
    place = draw(st.lists(st.sampled_from(["v0", "v1", "v2", "v3", "v5", None]), min_size=n, max_size=n))
    number = draw(st.lists(st.sampled_from([1, 2, 3, 5, 8, 13, None]), min_size=n, max_size=n))
    word = draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n))
    disease = draw(st.lists(st.sampled_from("xyz"), min_size=n, max_size=n))
    return encoded(place, number, word, disease)


def encoded(place: Sequence[Any], number: Sequence[Any], word: Sequence[Any], disease: Sequence[Any]) -> EncodedTable:
    frame = pl.DataFrame(
        {
            "place": pl.Series(place, dtype=pl.String),
            "number": pl.Series(number, dtype=pl.Int64),
            "word": pl.Series(word, dtype=pl.String),
            "disease": pl.Series(disease, dtype=pl.String),
        }
    )
    quasi = {"place": sf.groups(TREE), "number": None, "word": None}
    return encode(sf.read_table(frame, sf.Schema(quasi_identifying=quasi, sensitive=["disease"])))


def solve(
    table: EncodedTable, models: Sequence[PrivacyModel], anonymizer: Anonymizer, limit: int = 0, **settings: Any
) -> Partition:
    return anonymizer.solve(Problem(table, models, limit, **settings))


def check(table: EncodedTable, models: Sequence[PrivacyModel], partition: Partition, limit: int) -> None:
    """Every class satisfies every model, the kind is single-dimensional, suppression stays within the limit."""
    assert partition.suppressed <= limit
    assert every_class_holds(table, models, partition.class_of)
    assert recoding_kind(recode(table, partition)) in (RecodingKind.SINGLE_DIMENSIONAL, RecodingKind.FULL_DOMAIN)
    regions = partition.regions
    assert regions is not None
    kept = partition.class_of >= 0
    own = partition.class_of[kept]
    assert np.all(regions.low[own] <= table.codes[kept])
    assert np.all(table.codes[kept] <= regions.high[own])


def every_class_holds(table: EncodedTable, models: Sequence[PrivacyModel], class_of: np.ndarray[Any, Any]) -> bool:
    used, numbers = np.unique(class_of[class_of >= 0], return_inverse=True)
    dense = np.full(len(class_of), -1, dtype=np.int32)
    dense[class_of >= 0] = numbers
    statistics = class_statistics(dense, len(used), table.sensitive_codes, table.sensitive)
    return all(bool(model.holds(statistics).all()) for model in models)


@dataclass(frozen=True)
class Cut:
    """The ranges that each attribute is published as."""

    ranges: tuple[frozenset[Range], ...]

    def replaced(self, attribute: int, node: Range, parts: Sequence[Range]) -> Cut:
        ranges = list(self.ranges)
        ranges[attribute] = (ranges[attribute] - {node}) | set(parts)
        return Cut(tuple(ranges))

    def class_of(self, table: EncodedTable) -> np.ndarray[Any, Any]:
        """The cell of each record, by the ranges that its codes lie in."""
        keys = [
            tuple(
                next(low for low, high in ranges if low <= code <= high)
                for ranges, code in zip(self.ranges, row, strict=True)
            )
            for row in table.codes.tolist()
        ]
        numbers = {key: place for place, key in enumerate(sorted(set(keys)))}
        return np.array([numbers[key] for key in keys], dtype=np.int32)


def cut_of(table: EncodedTable, partition: Partition) -> Cut:
    """Read the ranges off the classes; nothing may be suppressed."""
    regions = partition.regions
    assert regions is not None
    return Cut(
        tuple(
            frozenset(zip(regions.low[:, column].tolist(), regions.high[:, column].tolist(), strict=True))
            for column in range(len(table.attributes))
        )
    )


Parts = Callable[[EncodedAttribute, Range], list[list[Range]]]


def allowable(table: EncodedTable, models: Sequence[PrivacyModel], cut: Cut, parts: Parts) -> list[tuple[int, Range]]:
    """Every region that can still be cut somehow, tried one by one."""
    return [
        (column, node)
        for column, ranges in enumerate(cut.ranges)
        for node in ranges
        for pieces in parts(table.attributes[column], node)
        if every_class_holds(table, models, cut.replaced(column, node, pieces).class_of(table))
    ]


def subtree_parts(attribute: EncodedAttribute, node: Range) -> list[list[Range]]:
    """Children of a node; single values for a category without a tree; every cut in two for numbers."""
    low, high = node
    missing = [(attribute.size, attribute.size)] if high == attribute.size and attribute.has_missing else []
    last = min(high, attribute.size - 1)
    if low == high:
        return []
    if attribute.is_numeric:
        cuts = [[(low, middle), (middle + 1, last)] for middle in range(low, last)]
        alone = [[(low, last), *missing]] if missing else []
        return [[*cut, *missing] for cut in cuts] + alone
    if attribute.hierarchy is None:
        return [[*((code, code) for code in range(low, last + 1)), *missing]]
    for level in reversed(attribute.hierarchy.levels):
        starts = [start for start in level.starts if low <= start <= last]
        if len(starts) > 1:
            return [[*zip(starts, [start - 1 for start in starts[1:]] + [last], strict=True), *missing]]
    return [[(low, last), *missing]] if missing else []


def range_parts(attribute: EncodedAttribute, node: Range) -> list[list[Range]]:
    """As `subtree_parts`, but categories without a tree are cut into ranges like numbers."""
    if attribute.hierarchy is not None or attribute.is_numeric:
        return subtree_parts(attribute, node)
    low, high = node
    last = min(high, attribute.size - 1)
    missing = [(attribute.size, attribute.size)] if high == attribute.size and attribute.has_missing else []
    return [[(low, middle), (middle + 1, last), *missing] for middle in range(low, last)]
