"""Types of the published records: those that were left out leave no trace in them.

A column of a text file gets its type and its kind from all of its values. One that is left out may be the only one that
has a fraction, or is no number; the others would then be published as 5.0 instead of 5, or as categories.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import PolicyError, VerificationError, raise_all
from sfumato.published import PublishedTable
from sfumato.published.checks.generalized import Verification
from sfumato.table.schema import Attribute, Kind, Schema, text_of
from sfumato.table.table import Table
from sfumato.table.texts import parse_texts


@dataclass(frozen=True, eq=False)
class OwnTypes:
    """A published table with the types that reading it alone gives, and the kinds of sensitive columns that differ."""

    published: PublishedTable
    kinds: Mapping[str, Kind]


def own_types(published: PublishedTable, table: Table) -> OwnTypes:
    """Give columns that were read from text the types of what is published, where somebody was left out.

    Labels of generalized values stay, and kinds that were declared, or that a hierarchy over texts rests on.
    `published`: as it would be published. `table`: the original table. Cost O(n) for each column whose type changes,
    else that of its distinct values.
    """
    if published.data.height == table.height:
        return OwnTypes(published, {})
    kinds: dict[str, Kind] = {}
    columns = []
    for column in published.data:
        is_label = column.name in published.quasi_identifying and isinstance(column.dtype, pl.Enum)
        if column.name in table.from_text and not is_label:
            column, kind = own_values(column, table.kinds[column.name], table.schema.sensitive.get(column.name))
            if kind is not table.kinds[column.name]:
                kinds[column.name] = kind
        columns.append(column)
    return OwnTypes(replace(published, data=pl.DataFrame(columns)), kinds)


class ReadFromText(Protocol):
    """A table, in memory or not, some of whose columns got their kinds from texts."""

    @property
    def schema(self) -> Schema:
        """The roles."""
        ...

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Kind of every quasi-identifying and sensitive column."""
        ...

    @property
    def from_text(self) -> Collection[str]:
        """Columns that were read from text."""
        ...


def only_by_the_left_out(table: ReadFromText, texts: Callable[[str], pl.Series]) -> list[str]:
    """Name the quasi-identifying columns that are categories only because of records that are left out.

    Their classes were made of categories, so that they cannot be published as numbers or dates after all. `table`: the
    original table. `texts`: the values of a column that its published records have, each once.
    """
    found = []
    for name, attribute in table.schema.quasi_identifying.items():
        undeclared = attribute.kind is None and attribute.hierarchy is None and name in table.from_text
        undeclared = undeclared and table.kinds[name] is Kind.CATEGORICAL
        if undeclared and parse_texts(texts(name), None, (), strip=False).kind is not Kind.CATEGORICAL:
            found.append(
                f"column {name!r}: is categorical only by records that are left out, and a reader would see that; "
                "declare its kind, or say which texts stand for missing values"
            )
    return found


def kept_texts(table: Table, kept: NDArray[np.bool_]) -> Callable[[str], pl.Series]:
    """Return what gives the values that the published ones of the records, bool (n,), have in a column."""
    return lambda name: text_of(table.frame[name].filter(pl.Series(kept)).unique())


def counted_as_read(was: Mapping[str, Kind], count: Callable[[], Verification]) -> Verification:
    """Recount with the kinds that a reader finds; ask for a kind where a promise hangs on one that is no more there.

    `was`: the kinds that columns had in the original table and have no more. Raises ``PolicyError``: naming the columns
    whose kind has to be declared. Raises ``VerificationError`` where the promise is broken for another reason: never
    expected.
    """
    try:
        return count()
    except (PolicyError, VerificationError):
        raise_all(
            PolicyError,
            [
                f"column {name!r}: is {kind} only by records that are left out, and a promise hangs on "
                "that; declare its kind"
                for name, kind in was.items()
            ],
        )
        raise


def own_values(column: pl.Series, kind: Kind, sensitive: Attribute | None) -> tuple[pl.Series, Kind]:
    """Return a column as reading its published values alone gives it, and its kind.

    `kind`: that of all its values, the left out ones among them. `sensitive`: what was declared of a sensitive column;
    None for others, whose kind stays.
    """
    own_kind = kind if sensitive is None or sensitive.hierarchy is not None else sensitive.kind
    found = parse_texts(text_of(column.unique()), own_kind, (), strip=False)
    if found.kind is kind and (kind is Kind.CATEGORICAL or found.values.dtype == column.dtype):
        return column, kind
    values = parse_texts(text_of(column), own_kind, (), strip=False).values
    return (values.cast(pl.String) if found.kind is Kind.CATEGORICAL else values).alias(column.name), found.kind
