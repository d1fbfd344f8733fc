"""Tables of every awkward kind, as hypothesis draws them, with what a reader must know to recount their releases."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import polars as pl
from hypothesis import strategies as st

import sfumato as sf
from guarantees.recount import Sensitive
from naive.models import text

ODD_TEXTS = ["a", "ä|b", "{x|y}", "*", "\\N", "[1..2]", 'q,"uo"te\nd', "日本語", "=1+1", "x\ry", "null", "0"]
TREE = {
    "flu": ("flu", "lungs", "organs", "*"),
    "cough": ("cough", "lungs", "organs", "*"),
    "ulcer": ("ulcer", "stomach", "organs", "*"),
    "rash": ("rash", "skin", "outside", "*"),
    "burn": ("burn", "skin", "outside", "*"),
}
GROUPS = sf.groups({"organs": {"lungs": ["flu", "cough"], "stomach": ["ulcer"]}, "outside": {"skin": ["rash", "burn"]}})
AGES = [-17, 0, 3, 18, 19, 21, 34, 90]


def interval_tree(numbers: list[int]) -> dict[str, tuple[str, ...]]:
    """The tree of ``intervals(10)``, by hand."""
    return {str(n): (str(n), f"[{n // 10 * 10}..{n // 10 * 10 + 10})", "*") for n in numbers}


@dataclass(frozen=True)
class Pool:
    """One kind of column: its values, its type, the hierarchies that fit it, and how it is read as sensitive."""

    values: list[Any]
    dtype: Any
    hierarchies: list[Any] = field(default_factory=list)
    ordered: bool = False
    trees: dict[int, Any] = field(default_factory=dict)
    """Tree of the hierarchy at that place, by the text of each value."""


POOLS = {
    "number": Pool(AGES, pl.Int64, [sf.intervals(10), sf.intervals(5, 10, 50)], True, {0: interval_tree(AGES)}),
    "float": Pool([0.0, -0.0, 0.1, -2.5, 1e-9, 1e9, math.nan, 3.0], pl.Float64, [sf.intervals(0.5, 5)], True),
    "big": Pool([2**62, 2**62 + 1, -(2**62), 7], pl.Int64, [], True),
    "date": Pool(
        [date(1970, 1, 1), date(1994, 5, 6), date(1994, 5, 7), date(2024, 2, 29)], pl.Date, [sf.dates()], True
    ),
    "truth": Pool([True, False], pl.Boolean, [sf.flat()]),
    "zip": Pool(["12345", "12399", "12999", "54321", "54322"], pl.String, [sf.prefixes(3, 1), sf.prefixes(0)]),
    "disease": Pool(list(TREE), pl.String, [GROUPS], trees={0: TREE}),
    "odd": Pool(ODD_TEXTS, pl.String),
    "constant": Pool(["same"], pl.String, [sf.flat()]),
    "level": Pool([5], pl.Int64, [sf.intervals(10)], True),
    "nothing": Pool([None], pl.String, [sf.flat()]),
    "no number": Pool([None], pl.Float64, [sf.intervals(2)], True),
}


@dataclass(frozen=True)
class Drawn:
    """A frame with roles, and its sensitive columns as a reader sees them."""

    frame: pl.DataFrame
    schema: sf.Schema
    quasi: tuple[str, ...]
    sensitive: dict[str, Sensitive]

    @property
    def original(self) -> dict[str, list[Any]]:
        """The columns as a reader of the original would count them: NaN is a missing value."""
        return {name: [plain(value) for value in self.frame[name].to_list()] for name in self.frame.columns}

    def __repr__(self) -> str:
        return f"Drawn({self.frame.to_dict(as_series=False)!r}, {self.schema!r})"


def plain(value: Any) -> Any:
    if isinstance(value, float):
        return None if math.isnan(value) else value + 0.0
    return value.isoformat() if isinstance(value, date) else value


@st.composite
def tables(draw: st.DrawFn, *, sensitive: int | None = None) -> Drawn:
    """Few distinct records, repeated: duplicates, skew, one huge class and single outsiders all occur."""
    kinds = draw(st.lists(st.sampled_from(list(POOLS)), min_size=1, max_size=4))
    secret = draw(st.lists(st.sampled_from(list(POOLS)), min_size=sensitive or 0, max_size=max(2, sensitive or 0)))
    chosen = {f"q{place}": kind for place, kind in enumerate(kinds)} | {f"s{i}": kind for i, kind in enumerate(secret)}
    rows = [draw(_record(tuple(chosen.values()))) for _ in range(draw(st.integers(1, 9)))]
    repeats = [draw(st.sampled_from([1, 1, 1, 2, 3, 5, 20])) for _ in rows]
    records = [row for row, times in zip(rows, repeats, strict=True) for _ in range(times)]
    records = draw(st.permutations(records)) if len(records) < 12 else records
    frame = pl.DataFrame(
        {
            name: pl.Series(name, [record[place] for record in records], dtype=POOLS[kind].dtype)
            for place, (name, kind) in enumerate(chosen.items())
        }
    ).with_columns(note=pl.int_range(pl.len()) % 3, id=pl.lit("nobody"))
    schema, known = draw(_roles(chosen))
    known = {name: replace(column, labels=_labels(column, frame[name])) for name, column in known.items()}
    return Drawn(frame, schema, tuple(name for name in chosen if name[0] == "q"), known)


def _labels(column: Sensitive, values: pl.Series) -> list[str]:
    """The labels that may be guarded: texts of what is no number or date, and what the tree has above them."""
    texts = {str(text(value)) for value in values.to_list() if value is not None}
    if column.tree is not None:
        return sorted({label for own in texts for label in column.tree[own]})
    return [] if column.ordered else sorted(texts)


def _record(kinds: tuple[str, ...]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.tuples(*(st.sampled_from([*POOLS[kind].values, POOLS[kind].values[0], None]) for kind in kinds))


@st.composite
def _roles(draw: st.DrawFn, chosen: dict[str, str]) -> tuple[sf.Schema, dict[str, Sensitive]]:
    settings, known = {}, {}
    for name, kind in chosen.items():
        pool = POOLS[kind]
        place = draw(st.integers(-1, len(pool.hierarchies) - 1))
        if name[0] == "s" and place not in pool.trees:
            place = -1
        weight = draw(st.sampled_from([1.0, 1.0, 0.5, 3.0])) if name[0] == "q" else 1.0
        settings[name] = sf.Attribute(hierarchy=pool.hierarchies[place] if place >= 0 else None, weight=weight)
        if name[0] == "s":
            known[name] = Sensitive(pool.ordered, pool.trees.get(place))
    schema = sf.Schema(
        identifying=["id"],
        quasi_identifying={name: setting for name, setting in settings.items() if name[0] == "q"},
        sensitive={name: setting for name, setting in settings.items() if name[0] == "s"},
        insensitive=["note"],
    )
    return schema, known
