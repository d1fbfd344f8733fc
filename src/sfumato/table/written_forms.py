"""How numbers and dates are written in a text file, as a user declares it: ``decimal=","``, ``dates="dd.mm.yyyy"``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from sfumato.errors import InputError, raise_all
from sfumato.table.date_forms import date_form
from sfumato.table.number_forms import NumberForm

Strays = Literal["missing"]
DECIMALS = (".", ",")
THOUSANDS = (".", ",", " ", "'")


@dataclass(frozen=True)
class WrittenForm:
    """How values are written; None and empty say nothing, and the values themselves are asked.

    Parameters
    ----------
    decimal
        ``"."`` or ``","``, before the fraction.
    thousands
        ``"."``, ``","``, ``" "`` (no-break blanks too) or ``"'"`` between groups of three digits.
    unit
        What stands before or after every number, such as ``"€"``, ``"%"`` or ``"kg"``; it is dropped.
    dates
        Forms of dates, timestamps or times; see :func:`~sfumato.table.date_forms.date_form`. One form, or several.
    strays
        ``"missing"`` makes a missing value of every text that is no number or date, in a column of numbers or dates.

    Raises
    ------
    InputError
        With every setting that cannot be used.
    """

    decimal: str | None = None
    thousands: str | None = None
    unit: str | None = None
    dates: str | Sequence[str] | None = None
    strays: Strays | None = None

    def __post_init__(self) -> None:
        """Check the settings against each other."""
        dates = self.dates
        listed = () if dates is None else (dates,) if isinstance(dates, str) else dates
        if isinstance(listed, (list, tuple)) and all(isinstance(form, str) for form in listed):
            object.__setattr__(self, "dates", tuple(listed))
        raise_all(InputError, [*self._number_problems(), *_date_problems(listed)])

    def _number_problems(self) -> Iterator[str]:
        if self.decimal is not None and self.decimal not in DECIMALS:
            yield "decimal must be '.' or ','"
        if self.thousands is not None and self.thousands not in THOUSANDS:
            yield "thousands must be '.', ',', ' ' or \"'\""
        if self.thousands is not None and self.thousands == self.decimal:
            yield "thousands must differ from decimal"
        unit = self.unit
        if unit is not None and (not isinstance(unit, str) or not unit.strip() or any(map(str.isdigit, unit))):
            yield "unit must be a text without digits, for example '€'"
        if self.strays not in (None, "missing"):
            yield "strays must be 'missing'"

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms of dates."""
        return tuple(self.dates or ())

    @property
    def is_numeric(self) -> bool:
        """Whether something is said about numbers."""
        return not (self.decimal is None and self.thousands is None and self.unit is None)

    @cached_property
    def number(self) -> NumberForm:
        """How numbers are written; with nothing said, with a point and no separators."""
        decimal = self.decimal or ("," if self.thousands == "." else ".")
        return NumberForm(decimal, self.thousands, None if self.unit is None else self.unit.strip())

    def over(self, general: WrittenForm) -> WrittenForm:
        """Return this form of a column, with what it leaves open taken from that of the whole file."""
        if self.is_numeric or not general.is_numeric:
            return replace(self, dates=self.dates or general.dates)
        return replace(general, dates=self.dates or general.dates, strays=self.strays)


def _date_problems(forms: object) -> Iterator[str]:
    if not isinstance(forms, (list, tuple)) or not all(isinstance(form, str) for form in forms):
        yield "dates must be the form of dates, for example 'dd.mm.yyyy', or a list of forms"
        return
    for form in forms:
        try:
            date_form(form)
        except InputError as error:
            yield from error.problems


PLAIN = WrittenForm()
"""Numbers with a decimal point, dates in ISO form."""
