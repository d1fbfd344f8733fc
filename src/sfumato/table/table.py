"""A table of people and its schema, checked against each other."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from sfumato.table.schema import Kind, Schema


@dataclass(frozen=True, eq=False)
class Table:
    """A frame whose columns all have a role and a kind; identifying columns are already gone.

    Build it with :func:`sfumato.read_table`.

    Attributes
    ----------
    frame : polars.DataFrame
        Quasi-identifying, sensitive and insensitive columns, in the order of the source. Numeric columns are Int64 or
        Float64, dates Date, booleans Boolean, categorical columns Categorical; nulls are missing values.
    schema : Schema
        The roles; ``others="keep"`` columns have become insensitive here.
    kinds : dict of str to Kind
        Kind of every quasi-identifying and sensitive column, as declared or as read off the column.
    source : str
        What messages call the table: the file's name, or ``"table"``.
    """

    frame: pl.DataFrame
    schema: Schema
    kinds: dict[str, Kind]
    source: str = "table"

    @property
    def height(self) -> int:
        """Number of records."""
        return self.frame.height
