"""What the first release of a series fixes for all others: columns, kinds, types, and the grids of rounded ends.

It is the steward's: it says things of the values that no release shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import polars as pl

from sfumato.errors import InputError, raise_all
from sfumato.policy.columns import policy_columns
from sfumato.policy.policy import Policy
from sfumato.recoding.ends import rounding_of
from sfumato.table.encoding import EncodedTable, IntervalGrid
from sfumato.table.schema import Attribute, Kind, Schema, text_of
from sfumato.table.table import Table

TEXT = "text"
_TEXTS = (pl.String, pl.Categorical, pl.Enum)


@dataclass(frozen=True)
class Frozen:
    """What every later table has to have in common with the first one."""

    header: tuple[str, ...]  # all columns of the first table, those that were dropped, too
    kinds: Mapping[str, str]  # of every quasi-identifying and sensitive column
    types: Mapping[str, str]  # of every published column of the table, with ``"text"`` for any text
    insensitive: tuple[str, ...]
    # on which intervals of numbers and dates end; others join when they are first rounded
    grids: Mapping[str, IntervalGrid] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table, header: Sequence[str]) -> Self:
        """Take it from the first table."""
        kinds = {name: str(kind) for name, kind in table.kinds.items()}
        types = {column.name: _type(column) for column in table.frame}
        return cls(tuple(header), kinds, types, tuple(table.schema.insensitive))

    def settled(self, policy: Policy) -> Policy:
        """Return a policy that reads every later table like the first one."""
        schema = policy.to_schema()
        columns = policy_columns(
            Schema(
                identifying=schema.identifying,
                quasi_identifying=self._with_kinds(schema.quasi_identifying),
                sensitive=self._with_kinds(schema.sensitive),
                insensitive=self.insensitive,
                others="drop",
                person=schema.person,
                wished_k=schema.wished_k,
                wished_l=schema.wished_l,
                key_form=schema.key_form,
                publish=schema.publish,
                accept=schema.accept,
            )
        )
        return policy.model_copy(update={"columns": columns})

    def _with_kinds(self, attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
        return {name: replace(attribute, kind=Kind(self.kinds[name])) for name, attribute in attributes.items()}

    def typed(self, table: Table) -> Table:
        """Return a table with the column types of the first; ``InputError`` with every column that cannot have it."""
        raise_all(InputError, self._of_other_types(table))
        return replace(table, frame=pl.DataFrame([_as(column, self.types[column.name]) for column in table.frame]))

    def _of_other_types(self, table: Table) -> Iterator[str]:
        for column in table.frame:
            found, expected = _type(column), self.types[column.name]
            if found != expected and not _fits(column, expected):
                yield (
                    f"column {column.name!r} holds {_in_words(found)}, and {_in_words(expected)} in the series so far; "
                    "convert it"
                )

    def on_grids(self, encoded: EncodedTable) -> EncodedTable:
        """Return codes whose intervals end on the grids of the series."""
        attributes = tuple(replace(each, rounding=self.grids.get(each.name)) for each in encoded.attributes)
        return replace(encoded, attributes=attributes)

    def with_grids(self, encoded: EncodedTable) -> Frozen:
        """Return it with the grids of attributes that have none yet."""
        found = {each.name: rounding for each in encoded.attributes if (rounding := rounding_of(each)) is not None}
        return replace(self, grids={**found, **self.grids})

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "header": list(self.header),
            "kinds": dict(self.kinds),
            "types": dict(self.types),
            "insensitive": list(self.insensitive),
            "grids": {name: grid.to_dict() for name, grid in self.grids.items()},
        }

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """Build it from plain values, or raise KeyError, TypeError or ValueError."""
        grids = {name: IntervalGrid.of(grid) for name, grid in values["grids"].items()}
        header, insensitive = tuple(values["header"]), tuple(values["insensitive"])
        return cls(header, dict(values["kinds"]), dict(values["types"]), insensitive, grids)


def _type(column: pl.Series) -> str:
    return TEXT if isinstance(column.dtype, _TEXTS) else str(column.dtype)


def _fits(column: pl.Series, dtype: str) -> bool:
    """Tell whether values may be written as the first table has them: whole numbers as others, anything as text."""
    empty = column.null_count() == len(column) and dtype in _NAMED
    return empty or dtype == TEXT or (dtype == str(pl.Float64) and column.dtype.is_integer())


def _as(column: pl.Series, dtype: str) -> pl.Series:
    if _type(column) == dtype:
        return column
    if dtype == TEXT:
        return text_of(column).alias(column.name)
    return column.cast(_NAMED[dtype])


_NAMED: dict[str, pl.DataType] = {str(dtype): dtype() for dtype in (pl.Int64, pl.Float64, pl.Boolean, pl.Date)}


def _in_words(type: str) -> str:
    words = {str(pl.Int64): "whole numbers", str(pl.Float64): "numbers with fractions", TEXT: "text"}
    return words.get(type, type.lower())
