"""Rounding, and top and bottom coding: multiples of a base, and bounds for what lies beyond them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Any, ClassVar, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem, Publication
from sfumato.anonymizers.randomization.columns import (
    MEASURED,
    PresentCells,
    attribute_problems,
    draw_uniform,
    fitting_attributes,
    present_cells,
    publish_changed,
    refuse_misfits,
    refuse_overflow,
)
from sfumato.errors import InputError
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import Subject
from sfumato.options import Checked, Limit, Names
from sfumato.published import RandomizedTable
from sfumato.randomness import another
from sfumato.settings import is_finite_number, plain_setting
from sfumato.table.encoding import EncodedTable
from sfumato.table.table import Table

_POSITIVE = Limit(0, above=True)

_Numbers = TypeVar("_Numbers", NDArray[np.int64], NDArray[np.float64])

_Bound = int | float | str


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
        refuse_misfits(self.name, models, attribute_problems(self.name, table, self._named, MEASURED))

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
        cells = present_cells(column)
        if cells.is_whole and base != int(base):
            raise InputError(f"column {column.name!r}: holds whole numbers or dates, and its base must be whole, too")
        refuse_overflow(cells, float(base))
        return cells.with_numbers(rounded(cells.numbers, base, unbiased=self.unbiased, seed=another(seed, place)))


def rounded(values: _Numbers, base: float, *, unbiased: bool, seed: int | None) -> _Numbers:
    """Round to multiples of `base`.

    * `values`: int64 or float64 (n,), none missing.
    * `base`: above 0; a whole number where values are.
    * `unbiased`: True: to one of the two multiples around a value, at random and the nearer one the more often, so that
      expected values stay what they were. False: to the nearer one, upwards from the middle.
    * `seed`: None draws from the operating system.

    Returns: of the type of `values`.
    """
    step = values.dtype.type(base)
    below = np.floor_divide(values, step)
    above = (values - below * step) / float(base)
    threshold = 1.0 - draw_uniform(len(values), seed) if unbiased else np.full(len(values), 0.5)
    result: _Numbers = ((below + (above >= threshold)) * step).astype(values.dtype)
    return result


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
    lowest: dict[str, _Bound] = field(default_factory=dict)
    highest: dict[str, _Bound] = field(default_factory=dict)
    attributes: Names | None = None

    def __post_init__(self) -> None:
        """Settle bounds as plain values, and check the options."""
        for option in ("lowest", "highest"):
            bounds = getattr(self, option)
            if isinstance(bounds, Mapping):
                object.__setattr__(self, option, {name: plain_setting(bound) for name, bound in bounds.items()})
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
        refuse_misfits(self.name, models, self._problems(table))

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
        cells = present_cells(column)
        if not len(cells.numbers):
            return cells.column
        low, high = code_bounds(cells.numbers, self.bottom, self.top)
        low = _number(cells, self.lowest[column.name]) if column.name in self.lowest else low
        high = _number(cells, self.highest[column.name]) if column.name in self.highest else high
        if low > high:
            raise InputError(f"column {column.name!r}: its lowest bound lies above the highest")
        return cells.with_numbers(np.clip(cells.numbers, low, high))


def _number(cells: PresentCells, bound: _Bound) -> Any:
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


def code_bounds(values: NDArray[np.generic], bottom: float, top: float) -> tuple[Any, Any]:
    """Return the values that have a share `bottom` of all values, 0 or above, below them and `top` above, or less."""
    ordered = np.sort(values)
    last = len(ordered) - 1
    low = min(int(bottom * len(ordered) + 1e-9), last)
    high = max(last - int(top * len(ordered) + 1e-9), low)
    return ordered[low], ordered[high]
