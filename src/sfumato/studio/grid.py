"""Rows of a table as texts, a page at a time, for the grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from sfumato.hierarchy.text import text_of
from sfumato.table.raw_table import RawTable

MOST_ROWS, LONGEST = 500, 10_000
"""Rows of a page, and characters of a cell, at most."""
BLANK = "•••"


@dataclass(frozen=True, eq=False, repr=False)
class Sheet:
    """Columns that can be shown.

    Attributes
    ----------
    names : tuple of str
    columns : sequence of polars.Series
    """

    names: tuple[str, ...]
    columns: Sequence[pl.Series]

    @property
    def height(self) -> int:
        """Number of rows."""
        return len(self.columns[0]) if self.columns else 0

    def page(self, start: int, count: int, *, blank: bool = False) -> dict[str, Any]:
        """Return some rows as texts, None for missing values, with the number of all rows.

        Cost O(rows of the page), whatever the table's size.
        """
        start, count = max(0, start), max(0, min(count, MOST_ROWS))
        cells = [_texts(column.slice(start, count), blank=blank) for column in self.columns]
        return {
            "names": list(self.names),
            "height": self.height,
            "start": start,
            "rows": [list(row) for row in zip(*cells, strict=True)],
        }

    def row(self, number: int) -> dict[str, Any]:
        """Return the values of one row, from 1."""
        return {name: column[number - 1] for name, column in zip(self.names, self.columns, strict=True)}


def original_sheet(table: RawTable) -> Sheet:
    """Return the original as it is."""
    return Sheet(table.names, [table.texts(name) for name in table.names])


def ordered(sheet: Sheet, names: Sequence[str]) -> Sheet:
    """Return a sheet with its columns in the order of others; columns of its own come last."""
    place = {name: at for at, name in enumerate(names)}
    order = sorted(range(len(sheet.names)), key=lambda at: place.get(sheet.names[at], len(place) + at))
    return Sheet(tuple(sheet.names[at] for at in order), [sheet.columns[at] for at in order])


def _texts(column: pl.Series, *, blank: bool) -> list[str | None]:
    if blank:
        return [BLANK] * len(column)
    texts = text_of(column)
    return [text if text is None or len(text) <= LONGEST else f"{text[:LONGEST]}…" for text in texts.to_list()]
