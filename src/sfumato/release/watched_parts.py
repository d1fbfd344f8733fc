"""The parts of a table on their way to files: cells that begin like a formula are counted, escaped or refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import polars as pl

from sfumato.engines.disk.publishing import PublishedColumns
from sfumato.errors import PolicyError
from sfumato.release.formulas import (
    Formulas,
    cells_like_formulas,
    frames_without_formulas,
    names_like_formulas,
    values_like_formulas,
)


class NumberedParts(Protocol):
    """A table whose parts come as numbers of what they publish."""

    @property
    def columns(self) -> PublishedColumns:
        """What the numbers stand for."""
        ...

    def numbers(self) -> Iterator[pl.DataFrame]:
        """Yield the numbers of each part, once."""
        ...


class WatchedParts:
    """Counts the cells of parts that begin like a formula, and does what is to be done about them.

    Parameters
    ----------
    published
        The parts.
    formulas
        What is to be done; :func:`sfumato.anonymize_on_disk` says it.
    count
        How many parts there are.

    Raises
    ------
    PolicyError
        When formulas are to be escaped, and there are several parts.
    """

    def __init__(self, published: NumberedParts, formulas: Formulas, count: int) -> None:
        if formulas == "escape" and count > 1:
            raise PolicyError(
                "formulas: cells are escaped where a release is one part, and this one has several; keep or refuse them"
            )
        self._published, self._formulas = published, formulas
        self.columns = published.columns
        self.count = count
        self.cells: dict[str, int] = dict.fromkeys(names_like_formulas(self.columns.names), 1)
        self.escaped = False

    def numbers(self) -> Iterator[pl.DataFrame]:
        """Yield every part as numbers of what it publishes."""
        begins = values_like_formulas(self.columns.values)
        for numbers in self._published.numbers():
            of_values = {name: column for name, column in self._named(numbers) if name in self.columns.values}
            as_they_are = pl.DataFrame([column for name, column in self._named(numbers) if name not in of_values])
            found = cells_like_formulas([as_they_are], names=False)
            found |= {name: int(begins[name][of_values[name].to_numpy()].sum()) for name in begins}
            for name, count in found.items():
                self.cells[name] = self.cells.get(name, 0) + count
            if self._formulas == "refuse" and any(self.cells.values()):
                frames_without_formulas({"data": self.columns.frame(numbers)}, "refuse")
            yield numbers

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield every part as it is to be written."""
        for numbers in self.numbers():
            tables = {"data": self.columns.frame(numbers)}
            without = frames_without_formulas(tables, self._formulas) if self._formulas == "escape" else tables
            self.escaped |= without is not tables
            yield without["data"]

    def _named(self, numbers: pl.DataFrame) -> Iterator[tuple[str, pl.Series]]:
        for name, column in zip(self.columns.names, numbers.get_columns(), strict=True):
            yield name, column.alias(name)
