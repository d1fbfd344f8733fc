"""Dates by month, quarter, year and decade."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import polars as pl

from sfumato.errors import HierarchyError, raise_all
from sfumato.hierarchy.specification import HierarchySpecification, listed_values, text_of
from sfumato.hierarchy.tree import ROOT, Hierarchy, hierarchy_from_paths

# Masked codes: the first characters of a postal code, a diagnosis or an occupation code.


_MASK = "*"


def prefixes(*keep: int) -> HierarchySpecification:
    """Describe a hierarchy that keeps fewer and fewer leading characters of a code.

    Every other character is written ``*``, so that the length stays visible: with 3, 2, 0 the code ``4711`` becomes
    ``471*``, ``47**`` and ``*``. Codes that are not longer than what is kept stay as they are.

    Parameters
    ----------
    Numbers of characters kept, falling. The last level is always ``*``, as if 0 had been given.

    Returns
    -------
    HierarchySpecification
        For a schema, as the hierarchy of a categorical or whole-number attribute. Read codes as text if a
        leading zero matters.

    Raises
    ------
    HierarchyError
        When the numbers are not whole, negative, or do not fall.

    Examples
    --------
    >>> import polars as pl
    >>> prefixes(3, 2).build(pl.Series(["4711", "4750"]), name="zip").paths
    [('4711', '471*', '47**', '*'), ('4750', '475*', '47**', '*')]
    """
    return Prefixes(keep)


@dataclass(frozen=True)
class Prefixes:
    """The description that :func:`prefixes` returns.

    Attributes
    ----------
    keep : tuple of int
        Numbers of characters kept, falling; the last is 0.
    """

    keep: tuple[int, ...]

    def __post_init__(self) -> None:
        """Check the numbers and let them end in 0."""
        raise_all(HierarchyError, _keep_problems(self.keep))
        object.__setattr__(self, "keep", (*(digits for digits in self.keep if digits), 0))

    def build(self, values: pl.Series, *, name: str) -> Hierarchy:
        """Build the hierarchy over the distinct texts of `values`; numbers and texts keep their order.

        Raises
        ------
        HierarchyError
            When codes hold a ``*`` so that a masked code would be ambiguous.
        """
        what = f"hierarchy of {name!r}"
        codes = text_of(listed_values(values, what)).to_list()
        return hierarchy_from_paths(
            [(code, *(_masked(code, digits) for digits in self.keep)) for code in codes], name=what
        )

    def to_policy(self) -> Mapping[str, Any]:
        """Return the description as plain values."""
        return {"kind": "prefixes", "keep": list(self.keep)}


def _masked(code: str, digits: int) -> str:
    return code[:digits] + _MASK * (len(code) - digits) if digits else ROOT


def _keep_problems(keep: object) -> list[str]:
    if not isinstance(keep, (list, tuple)) or not keep:
        return ["prefixes: name how many characters each level keeps, such as 3, 2, 0"]
    if not all(isinstance(digits, int) and not isinstance(digits, bool) and digits >= 0 for digits in keep):
        return ["prefixes: the numbers of characters kept must be whole numbers, 0 or more"]
    if any(fine <= coarse for fine, coarse in pairwise(keep)):
        return ["prefixes: the numbers of characters kept must fall, such as 3, 2, 0"]
    return []


def _quarter(day: str) -> str:
    return f"{day[:-6]}-Q{(int(day[-5:-3]) + 2) // 3}"


# Each unit reads its label off an ISO day; from fine to coarse.
_UNITS: dict[str, Callable[[str], str]] = {
    "day": lambda day: day,
    "month": lambda day: day[:-3],
    "quarter": _quarter,
    "year": lambda day: day[:-6],
    "decade": lambda day: day[:-7] + "0s",
}
_ISO_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"


def dates(*units: str) -> HierarchySpecification:
    """Describe a hierarchy of calendar units over dates, topped by ``*``.

    Parameters
    ----------
    *units
        From fine to coarse, any of ``"month"`` (``1994-05``), ``"quarter"`` (``1994-Q2``), ``"year"`` (``1994``) and
        ``"decade"`` (``1990s``); ``"day"`` is level 0 and may be left out. None given: month, year, decade.

    Returns
    -------
    HierarchySpecification
        For a schema, as the hierarchy of a date attribute, or of texts such as ``1994-05-06``.

    Raises
    ------
    HierarchyError
        When a unit is unknown or the units do not rise.

    Examples
    --------
    >>> import polars as pl
    >>> dates("month", "year", "decade").build(pl.Series(["1994-05-06"]), name="born").paths
    [('1994-05-06', '1994-05', '1994', '1990s', '*')]
    """
    return Dates(units or ("month", "year", "decade"))


@dataclass(frozen=True)
class Dates:
    """The description that :func:`dates` returns.

    Attributes
    ----------
    units : tuple of str
        Calendar units from fine to coarse, without the day, which is level 0.
    """

    units: tuple[str, ...]

    def __post_init__(self) -> None:
        """Check the units and drop the day."""
        raise_all(HierarchyError, _unit_problems(self.units))
        object.__setattr__(self, "units", tuple(unit for unit in self.units if unit != "day"))

    def build(self, values: pl.Series, *, name: str) -> Hierarchy:
        """Build the hierarchy over the distinct dates of `values`, leaves in calendar order.

        Raises
        ------
        HierarchyError
            When the values are neither dates nor ISO texts (those that are not are counted).
        """
        what = f"hierarchy of {name!r}"
        days = _days(listed_values(values, what), what)
        paths = [(day, *(_UNITS[unit](day) for unit in self.units), ROOT) for day in days]
        return hierarchy_from_paths(paths, name=what)

    def to_policy(self) -> Mapping[str, Any]:
        """Return the description as plain values."""
        return {"kind": "dates", "units": list(self.units)}


def is_iso_day(texts: pl.Series) -> pl.Series:
    """Tell which texts are days of the calendar written as ``1994-05-06``."""
    return texts.str.contains(_ISO_DAY) & texts.str.to_date("%Y-%m-%d", strict=False).is_not_null()


def _days(distinct: pl.Series, what: str) -> list[str]:
    if distinct.dtype == pl.Date:
        return text_of(distinct).to_list()
    if distinct.dtype != pl.String:
        raise HierarchyError(f"{what}: calendar units need a column of dates; declare its kind as date")
    bad = int((~is_iso_day(distinct)).sum())
    if bad:
        raise HierarchyError(f"{what}: {bad} value(s) are not dates such as 1994-05-06; write them in this form")
    return distinct.to_list()


def _unit_problems(units: object) -> list[str]:
    if not isinstance(units, (list, tuple)):
        return [f"dates: name units among {', '.join(_UNITS)}"]
    known = list(_UNITS)
    unknown = [number for number, unit in enumerate(units, 1) if unit not in known]
    if unknown:
        return [f"dates: unit {number} is none of {', '.join(known)}" for number in unknown]
    places = [known.index(unit) for unit in units]
    if any(fine >= coarse for fine, coarse in pairwise(places)):
        return ["dates: the units must rise, such as month, year, decade"]
    return []
