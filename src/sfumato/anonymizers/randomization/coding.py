"""Top and bottom coding: numbers and dates beyond two bounds become the bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.anonymizers.protocol import Problem, Publication
from sfumato.anonymizers.randomization.cells import PresentCells, cells_of
from sfumato.anonymizers.randomization.choosing import (
    MEASURED,
    attribute_problems,
    fitting_attributes,
    refuse,
)
from sfumato.anonymizers.randomization.coarsening import bounds_of
from sfumato.anonymizers.randomization.publishing import publish_changed
from sfumato.errors import InputError
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import Subject
from sfumato.options import Checked, Limit, Names
from sfumato.published import RandomizedTable
from sfumato.settings import is_finite_number, plain
from sfumato.table.encoding import EncodedTable
from sfumato.table.table import Table

Bound = int | float | str


@dataclass(frozen=True)
class TopBottomCoding(Checked):
    """Publish what lies beyond two bounds as the bounds themselves.

    Parameters
    ----------
    bottom, top
        Share of the values that lie below and above the bounds at most, each from 0 to 0.5, where no bound is named.
    lowest, highest
        Bounds of single attributes, by name; dates as text in ISO form.
    attributes
        Numbers and dates; None: every quasi-identifying one.

    Notes
    -----
    *Guarantee.* None that is syntactic. A bound that is a share has at least that many records, and equal values stay
    equal; between the bounds nothing changes, and nothing is random but the order of the rows. What is missing stays
    missing.

    *Complexity.* O(n log n) for each attribute.

    *Source.* L. Willenborg, T. de Waal, "Elements of statistical disclosure control", 2001.
    """

    name: ClassVar[str] = "top-bottom-coding"
    kind: ClassVar[str] = RandomizedTable.kind
    promises: ClassVar[Subject | None] = None

    bottom: Annotated[float, Limit(0, 0.5)] = 0.05
    top: Annotated[float, Limit(0, 0.5)] = 0.05
    lowest: dict[str, Bound] = field(default_factory=dict)
    highest: dict[str, Bound] = field(default_factory=dict)
    attributes: Names | None = None

    def __post_init__(self) -> None:
        """Settle bounds as plain values, and check the options."""
        for option in ("lowest", "highest"):
            bounds = getattr(self, option)
            if isinstance(bounds, Mapping):
                object.__setattr__(self, option, {name: plain(bound) for name, bound in bounds.items()})
        super().__post_init__()

    def _mistakes(self) -> Iterator[str]:
        for option in ("lowest", "highest"):
            bounds = getattr(self, option)
            if not isinstance(bounds, dict) or not all(isinstance(name, str) for name in bounds):
                yield f"{self.name}: {option} must map names of attributes to bounds"
            elif not all(isinstance(bound, str) or is_finite_number(bound) for bound in bounds.values()):
                yield f"{self.name}: every {option} bound must be a finite number, or a date"

    def check(self, table: EncodedTable, models: Sequence[PrivacyModel]) -> None:
        """Raise PolicyError with every attribute that does not fit."""
        refuse(self.name, models, self._problems(table))

    def publish(self, problem: Problem, table: Table) -> Publication:
        """Code and shuffle the rows.

        Raises
        ------
        InputError
            When a bound is no value of its attribute, or the lower one lies above the upper one.
        """
        names = fitting_attributes(problem.table, self.attributes, MEASURED)
        changed = {name: self._coded(table.frame[name]) for name in names}
        return publish_changed(table, changed, problem.seed)

    def _problems(self, table: EncodedTable) -> Iterator[str]:
        yield from attribute_problems(self.name, table, self.attributes, MEASURED)
        coded = fitting_attributes(table, self.attributes, MEASURED)
        for name in dict.fromkeys((*self.lowest, *self.highest)):
            if name not in coded:
                yield f"{self.name}: attribute {name!r} has a bound and is not coded; name numbers and dates alone"

    def _coded(self, column: pl.Series) -> pl.Series:
        cells = cells_of(column)
        if not len(cells.numbers):
            return cells.column
        low, high = bounds_of(cells.numbers, self.bottom, self.top)
        low = _number(cells, self.lowest[column.name]) if column.name in self.lowest else low
        high = _number(cells, self.highest[column.name]) if column.name in self.highest else high
        if low > high:
            raise InputError(f"column {column.name!r}: its lowest bound lies above the highest")
        return cells.with_numbers(np.clip(cells.numbers, low, high))


def _number(cells: PresentCells, bound: Bound) -> Any:
    """Return a bound as a number of the column's type."""
    if cells.column.dtype == pl.Date:
        try:
            days = (date.fromisoformat(str(bound)) - date(1970, 1, 1)).days
        except ValueError:
            raise InputError(f"column {cells.column.name!r}: its bound is no date in ISO form") from None
        return np.int64(days)
    if isinstance(bound, str):
        raise InputError(f"column {cells.column.name!r}: its bound is no number")
    if cells.is_whole and (bound != int(bound) or abs(bound) >= 2**63):
        raise InputError(f"column {cells.column.name!r}: holds whole numbers, and its bound is none")
    return cells.numbers.dtype.type(bound)
