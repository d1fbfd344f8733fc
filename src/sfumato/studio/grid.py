"""Rows of a table as texts, a page at a time, for the grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from sfumato.hierarchy.specification import text_of
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
    height : int
        Number of rows.
    some : callable
        Returns the values of a column, from a row on, of so many rows.
    """

    names: tuple[str, ...]
    height: int
    some: Callable[[str, int, int], pl.Series]

    @classmethod
    def of_frame(cls, frame: pl.DataFrame) -> Sheet:
        """Show all columns of a frame."""
        return cls(tuple(frame.columns), frame.height, lambda name, start, count: frame[name].slice(start, count))

    def page(self, start: int, count: int, *, blank: bool = False) -> dict[str, Any]:
        """Return some rows as texts, None for missing values, with the number of all rows.

        Cost O(rows of the page), whatever the table's size.
        """
        start, count = max(0, start), max(0, min(count, MOST_ROWS))
        cells = [_texts(self.some(name, start, count), blank=blank) for name in self.names]
        return {
            "names": list(self.names),
            "height": self.height,
            "start": start,
            "rows": [list(row) for row in zip(*cells, strict=True)],
        }


def original_sheet(table: RawTable) -> Sheet:
    """Return the original as it is."""
    return Sheet(table.names, table.height, table.some)


def ordered(sheet: Sheet, names: Sequence[str]) -> Sheet:
    """Return a sheet with its columns in the order of others; columns of its own come last."""
    place = {name: at for at, name in enumerate(names)}
    return replace(sheet, names=tuple(sorted(sheet.names, key=lambda name: place.get(name, len(place)))))


def _texts(column: pl.Series, *, blank: bool) -> list[str | None]:
    if blank:
        return [BLANK] * len(column)
    texts = text_of(column)
    return [text if text is None or len(text) <= LONGEST else f"{text[:LONGEST]}…" for text in texts.to_list()]
