"""Rounding: numbers and dates become multiples of a base."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from sfumato.anonymizers.protocol import Problem, Publication
from sfumato.anonymizers.randomization.cells import cells_of, refuse_overflow
from sfumato.anonymizers.randomization.choosing import MEASURED, attribute_problems, fitting_attributes, refuse
from sfumato.anonymizers.randomization.coarsening import rounded
from sfumato.anonymizers.randomization.publishing import publish_changed
from sfumato.errors import InputError
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import Subject
from sfumato.options import Checked, Limit
from sfumato.published import RandomizedTable
from sfumato.randomness import another
from sfumato.table.encoding import EncodedTable
from sfumato.table.table import Table

_POSITIVE = Limit(0, above=True)


@dataclass(frozen=True)
class Rounding(Checked):
    """Round numbers and dates to multiples of a base.

    Parameters
    ----------
    base
        Above 0, in the unit of the attribute; for dates days, counted from 1970-01-01. One number for every
        quasi-identifying number and date, or a mapping from the name of an attribute to its base; others stay.
    unbiased
        True: up or down at random, to the nearer multiple the more often, so that means stay what they were. False: to
        the nearer multiple.

    Notes
    -----
    *Guarantee.* None that is syntactic: a value that is rare stays rare after rounding. What is missing stays missing.

    *Complexity.* O(n) for each attribute.

    *Source.* L. Willenborg, T. de Waal, "Elements of statistical disclosure control", 2001.
    """

    name: ClassVar[str] = "rounding"
    kind: ClassVar[str] = RandomizedTable.kind
    promises: ClassVar[Subject | None] = None

    base: float | dict[str, float] = 10.0
    unbiased: bool = True

    def _mistakes(self) -> Iterator[str]:
        if isinstance(self.base, dict) and not (self.base and all(isinstance(name, str) for name in self.base)):
            yield f"{self.name}: base must name at least one attribute"
        bases = list(self.base.values()) if isinstance(self.base, dict) else [self.base]
        if not all(_POSITIVE.takes(base) for base in bases):
            yield f"{self.name}: base must be a number above 0, or one for each attribute"

    def check(self, table: EncodedTable, models: Sequence[PrivacyModel]) -> None:
        """Raise PolicyError with every attribute that does not fit."""
        refuse(self.name, models, attribute_problems(self.name, table, self._named, MEASURED))

    def publish(self, problem: Problem, table: Table) -> Publication:
        """Round and shuffle the rows.

        Raises
        ------
        InputError
            When numbers are so large that the next multiple would not fit them, or whole ones have a base that is not.
        """
        names = fitting_attributes(problem.table, self._named, MEASURED)
        changed = {name: self._rounded(table.frame[name], place, problem.seed) for place, name in enumerate(names)}
        return publish_changed(table, changed, problem.seed)

    @property
    def _named(self) -> tuple[str, ...] | None:
        return tuple(self.base) if isinstance(self.base, dict) else None

    def _rounded(self, column: pl.Series, place: int, seed: int | None) -> pl.Series:
        base = self.base[column.name] if isinstance(self.base, dict) else self.base
        cells = cells_of(column)
        if cells.is_whole and base != int(base):
            raise InputError(f"column {column.name!r}: holds whole numbers or dates, and its base must be whole, too")
        refuse_overflow(cells, float(base))
        return cells.with_numbers(rounded(cells.numbers, base, unbiased=self.unbiased, seed=another(seed, place)))
