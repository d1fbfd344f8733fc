"""Small tables for the tests of recoding and metrics: plain values beside the library's own view of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from importlib import import_module
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st

from naive import metrics as naive
from sfumato.classes.partition import GeneralizedTable, Partition
from sfumato.hierarchy import HierarchyTable
from sfumato.recoding import TIGHT, Recoding, recode
from sfumato.table.encoding import EncodedAttribute, EncodedTable, encode
from sfumato.table.reading import read_table
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.table import Table

# Ragged: `south` stands alone under its parent, `sea` repeats on two levels. The root has a name of its own, so that it
# can be told from a cell that mixes missing and present values.
ZONES = {
    "n1": ("n1", "north", "land", "anywhere"),
    "n2": ("n2", "north", "land", "anywhere"),
    "n3": ("n3", "north", "land", "anywhere"),
    "s1": ("s1", "south", "land", "anywhere"),
    "sea": ("sea", "sea", "sea", "anywhere"),
    "isle": ("isle", "islands", "islands", "anywhere"),
}
STARRED = {leaf: (*path[:-1], "*") for leaf, path in ZONES.items()}
NASTY = ["*", "{", "{a|b}", "\\", "\\N", "a|b", "a", "", "[1..2]", "Ärger", "a\\", "1"]
POOLS: Mapping[str, Sequence[Any]] = {
    "age": [3, 10, 25, 26, 90, -4],
    "income": [0.25, 1.5, 1000000.5, -2.75, 7.125],
    "born": [date(1969, 12, 31), date(1990, 1, 1), date(1990, 1, 2), date(2020, 2, 29)],
    "zone": list(ZONES),
    "word": NASTY,
}
KINDS = {
    "age": Kind.NUMERIC,
    "income": Kind.NUMERIC,
    "born": Kind.DATE,
    "zone": Kind.CATEGORICAL,
    "word": Kind.CATEGORICAL,
}
FORMS = {"age": "interval", "income": "interval", "born": "interval", "zone": "ancestor", "word": "set"}


def as_if_many(patch: pytest.MonkeyPatch) -> None:
    """Have texts written as where there are many."""
    recoding = [f"recoding.{name}" for name in ("notation", "choice", "regions", "recode")]
    for module in (*recoding, "classes.partition", "table.distinct"):
        patch.setattr(import_module(f"sfumato.{module}"), "FEW", -1)


@dataclass(frozen=True)
class SmallTable:
    """Plain columns and the class of each record (−1: suppressed, no class empty)."""

    columns: Mapping[str, Sequence[Any]]
    class_of: Sequence[int]
    attributes: Mapping[str, Attribute]
    tree: Mapping[str, Sequence[str]]

    @property
    def classes(self) -> list[list[int]]:
        count = max(self.class_of, default=-1) + 1
        return [[index for index, owner in enumerate(self.class_of) if owner == number] for number in range(count)]

    @property
    def table(self) -> Table:
        return small_table(self.columns, self.attributes)

    @property
    def partition(self) -> Partition:
        return Partition(np.array(self.class_of, dtype=np.int32), len(self.classes))

    def encoded(self) -> EncodedTable:
        return encode(self.table)

    def recoded(self, recoding: Recoding | None = None) -> GeneralizedTable:
        return recode(self.encoded(), self.partition, recoding or TIGHT)

    def twins(self) -> dict[str, naive.Attribute]:
        return {
            name: naive.Attribute(
                column,
                tree=self.tree if name == "zone" else None,
                domain=self.attributes[name].domain,
                weight=self.attributes[name].weight,
                categorical=KINDS[name] is Kind.CATEGORICAL,
            )
            for name, column in self.columns.items()
        }


def small_table(columns: Mapping[str, Sequence[Any]], attributes: Mapping[str, Attribute]) -> Table:
    types = {Kind.CATEGORICAL: pl.Categorical, Kind.DATE: pl.Date}
    series = []
    for name, values in columns.items():
        plain = pl.Float64 if name == "income" else pl.Int64
        series.append(pl.Series(name, values, dtype=types.get(KINDS[name], plain)))
    return Table(pl.DataFrame(series), Schema(quasi_identifying=attributes), {name: KINDS[name] for name in columns})


def attributes_of(names: Sequence[str], tree: Mapping[str, Sequence[str]]) -> dict[str, Attribute]:
    zone = Attribute(kind=Kind.CATEGORICAL, hierarchy=HierarchyTable(tuple(tuple(path) for path in tree.values())))
    return {name: zone if name == "zone" else Attribute(kind=KINDS[name]) for name in names}


@st.composite
def small_tables(
    draw: st.DrawFn, *, names: Sequence[str] = tuple(POOLS), missing: bool = True, tree: Any = ZONES
) -> SmallTable:
    """Up to 14 records in up to five classes; few distinct values, so that classes repeat them."""
    height = draw(st.integers(1, 14))
    owners = draw(st.lists(st.integers(-1, 4), min_size=height, max_size=height).filter(lambda o: max(o) >= 0))
    numbers = {owner: number for number, owner in enumerate(sorted({owner for owner in owners if owner >= 0}))}
    columns = {}
    for name in names:
        pool = draw(st.lists(st.sampled_from(POOLS[name]), min_size=1, max_size=5))
        cells = st.sampled_from([*pool, None] if missing and draw(st.booleans()) else pool)
        columns[name] = draw(st.lists(cells, min_size=height, max_size=height))
        # A column without a single value is a case of its own.
        if all(value is None for value in columns[name]):
            columns[name][0] = pool[0]
    attributes = attributes_of(names, tree)
    weights = draw(st.lists(st.sampled_from([1.0, 0.5, 3.0]), min_size=len(names), max_size=len(names)))
    weighted = {name: replace(attributes[name], weight=weight) for name, weight in zip(names, weights, strict=True)}
    return SmallTable(columns, [numbers.get(owner, -1) for owner in owners], weighted, tree)


def attribute_of(values: list[object], domain: tuple[Any, Any] | None = None) -> EncodedAttribute:
    """Encode a single column."""
    setting = None if domain is None else Attribute(domain=domain)
    table = read_table(pl.DataFrame({"x": values}), Schema(quasi_identifying={"x": setting}))
    return encode(table).attributes[0]
