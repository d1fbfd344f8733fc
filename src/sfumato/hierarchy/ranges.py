"""Intervals of numbers, and of dates.

Intervals of numbers: of equal width or with given borders, on one or more nested levels.

Arithmetic is exact: values, widths and borders are scaled by one power of ten and compared as whole numbers. So 0.3 is
the left border of the fourth bin of width 0.1 and not, by rounding, a member of the third.

Dates by month, quarter, year and decade.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any, Literal

import polars as pl

from sfumato.errors import HierarchyError, raise_all
from sfumato.hierarchy.tree import ROOT, Hierarchy, HierarchySpecification, hierarchy_from_paths, listed_values, text_of


def intervals(
    *steps: Number | Sequence[Number], width: Number | None = None, start: Number = 0, open_ends: bool = False
) -> HierarchySpecification:
    """Describe a hierarchy of half-open intervals ``[a..b)`` over numbers, topped by ``*``.

    A value on a border belongs to the interval on its right.

    Parameters
    ----------
    *steps
        From fine to coarse: either widths, each a multiple of the one before (``intervals(5, 10, 20)``), or lists of
        rising borders, each a subset of the one before (``intervals([18, 30, 45, 65], [18, 65])``).
    width
        The same as a single width: ``intervals(width=10)``.
    start
        A border of the equal-width intervals; borders lie at ``start + i · width`` for every whole ``i``. They do not
        depend on the data, so they disclose nothing about the smallest and largest value.
    open_ends
        With borders: add an interval below the first border (``<18``) and one from the last on (``>=65``). Without it,
        values outside the borders are an error.

    Returns
    -------
    HierarchySpecification
        For a schema, as the hierarchy of a numeric attribute.

    Raises
    ------
    HierarchyError
        Listing every contradiction between the steps.

    Examples
    --------
    >>> import polars as pl
    >>> ages = intervals(5, 10).build(pl.Series([21, 29, 30]), name="age")
    >>> ages.levels[1].labels
    ('[20..25)', '[25..30)', '[30..35)')
    """
    given = steps if width is None else (*steps, width)
    widths = tuple(step for step in given if isinstance(step, (int, float)))
    borders = tuple(tuple(step) for step in given if isinstance(step, Sequence) and not isinstance(step, str))
    if len(widths) + len(borders) < len(given):
        raise HierarchyError("intervals: every step must be a width or a list of borders")
    return Intervals(widths=widths, borders=borders, start=start, open_ends=open_ends)


@dataclass(frozen=True)
class Intervals:
    """The description that :func:`intervals` returns; it has either widths or borders.

    Attributes
    ----------
    widths : tuple of numbers
        Widths of nested equal-width intervals, from fine to coarse.
    borders : tuple of tuples of numbers
        Lists of rising borders, from fine to coarse.
    start : number
        A border of the equal-width intervals.
    open_ends : bool
        Whether values outside the borders have intervals of their own.
    """

    widths: tuple[Number, ...] = ()
    borders: tuple[tuple[Number, ...], ...] = ()
    start: Number = 0
    open_ends: bool = False

    def __post_init__(self) -> None:
        """Normalize the numbers and check them against each other; one list of borders may be given alone."""
        if isinstance(self.borders, (list, tuple)) and any(_is_number(border) for border in self.borders):
            object.__setattr__(self, "borders", (self.borders,))
        raise_all(HierarchyError, _type_problems(self))
        object.__setattr__(self, "widths", tuple(_plain(width) for width in self.widths))
        object.__setattr__(self, "borders", tuple(tuple(_plain(value) for value in line) for line in self.borders))
        object.__setattr__(self, "start", _plain(self.start))
        problems = _choice_problems(self) or [*_width_problems(self.widths), *_border_problems(self)]
        raise_all(HierarchyError, problems)

    def build(self, values: pl.Series, *, name: str) -> Hierarchy:
        """Build the hierarchy over the distinct numbers of `values`, leaves in rising order; O(levels · n)."""
        what = f"hierarchy of {name!r}"
        distinct = listed_values(values, what)
        if not (distinct.dtype.is_integer() or distinct.dtype.is_float()):
            raise HierarchyError(f"{what}: intervals need a column of numbers; declare its kind as numeric")
        numbers = distinct.to_list()
        check_finite(numbers, what)
        scale = _DecimalScale.fitting(
            [*numbers, *self.widths, *(value for line in self.borders for value in line), self.start]
        )
        places = [scale.whole(number) for number in numbers]
        raise_all(HierarchyError, self._outside_problems(places, scale, what))
        columns = [[label(place) for place in places] for label in self._labelers(scale)]
        paths = list(zip(text_of(distinct).to_list(), *columns, [ROOT] * len(places), strict=True))
        return hierarchy_from_paths(paths, name=what)

    def to_policy(self) -> Mapping[str, Any]:
        """Return the description as plain values."""
        if self.widths:
            return {"kind": "intervals", "widths": list(self.widths), "start": self.start}
        return {"kind": "intervals", "borders": [list(line) for line in self.borders], "open-ends": self.open_ends}

    def _labelers(self, scale: _DecimalScale) -> list[Callable[[int], str]]:
        start = scale.whole(self.start)
        return [
            *(_equal_width_label(scale.whole(width), start, scale) for width in self.widths),
            *(_border_label([scale.whole(value) for value in line], scale) for line in self.borders),
        ]

    def _outside_problems(self, places: list[int], scale: _DecimalScale, what: str) -> list[str]:
        if not self.borders or self.open_ends:
            return []
        first, last = scale.whole(self.borders[0][0]), scale.whole(self.borders[0][-1])
        below, above = sum(place < first for place in places), sum(place >= last for place in places)
        if not below and not above:
            return []
        return [
            f"{what}: {below} value(s) lie below the first border and {above} on or above the last one; "
            "add borders, or set open_ends"
        ]


def _equal_width_label(width: int, start: int, scale: _DecimalScale) -> Callable[[int], str]:
    def label(place: int) -> str:
        low = (place - start) // width * width + start
        return f"[{scale.text(low)}..{scale.text(low + width)})"

    return label


def _border_label(borders: list[int], scale: _DecimalScale) -> Callable[[int], str]:
    texts = [scale.text(border) for border in borders]
    inner = [f"[{low}..{high})" for low, high in pairwise(texts)]
    labels = [f"<{texts[0]}", *inner, f">={texts[-1]}"]
    return lambda place: labels[bisect_right(borders, place)]


def _plain(number: Number) -> Number:
    """Write whole numbers as int (64 bits: what a policy file holds), so that equal descriptions have equal texts."""
    whole = isinstance(number, int) or (number.is_integer() and abs(number) < 2.0**63)
    return int(number) if whole else float(number)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_border_list(line: object) -> bool:
    return isinstance(line, (list, tuple)) and all(_is_number(value) for value in line)


def _type_problems(given: Intervals) -> list[str]:
    problems = []
    if not isinstance(given.widths, (list, tuple)) or not all(_is_number(width) for width in given.widths):
        problems.append("intervals: widths must be a list of finite numbers")
    if not isinstance(given.borders, (list, tuple)) or not all(_is_border_list(line) for line in given.borders):
        problems.append("intervals: borders must be lists of finite numbers, one list a level")
    if not _is_number(given.start):
        problems.append("intervals: start must be a finite number")
    if not isinstance(given.open_ends, bool):
        problems.append("intervals: open_ends must be true or false")
    return problems


def _choice_problems(given: Intervals) -> list[str]:
    if bool(given.widths) == bool(given.borders):
        return ["intervals: give either widths, such as 5, 10, 20, or lists of borders, such as [18, 30, 65]"]
    if given.widths and given.open_ends:
        return ["intervals: open_ends is for borders only; equal widths cover every value"]
    if given.borders and given.start != 0:
        return ["intervals: start is for widths only; leave it out with borders"]
    return []


def _width_problems(widths: Sequence[Number]) -> list[str]:
    if any(width <= 0 for width in widths):
        return ["intervals: every width must be above 0"]
    scale = _DecimalScale.fitting(widths)
    wholes = [scale.whole(width) for width in widths]
    pairs = list(pairwise(wholes))
    return [
        f"intervals: width {level + 1} must be a multiple of width {level}, and larger"
        for level, (fine, coarse) in enumerate(pairs, 1)
        if coarse % fine or coarse <= fine
    ]


def _border_problems(given: Intervals) -> list[str]:
    problems = []
    fewest = 1 if given.open_ends else 2
    for level, line in enumerate(given.borders, 1):
        if len(line) < fewest:
            problems.append(f"intervals: border list {level} needs at least {fewest} border(s)")
        if any(low >= high for low, high in pairwise(line)):
            problems.append(f"intervals: border list {level} must rise")
    for level, (fine, coarse) in enumerate(zip(given.borders, given.borders[1:], strict=False), 1):
        if not set(coarse) < set(fine):
            problems.append(
                f"intervals: border list {level + 1} must hold some of the borders of list {level}, no others"
            )
        elif coarse and not given.open_ends and (coarse[0], coarse[-1]) != (fine[0], fine[-1]):
            problems.append(f"intervals: border list {level + 1} must keep the first and last border, or set open_ends")
    return problems


Number = int | float


@dataclass(frozen=True)
class _DecimalScale:
    """Finite numbers as exact whole numbers of ``10 ** -decimals``."""

    decimals: int  # digits behind the point, 0 or more

    @classmethod
    def fitting(cls, numbers: Iterable[Number]) -> _DecimalScale:
        """Choose the smallest scale on which all of `numbers` are whole."""
        exponents = (_decimal(number).as_tuple().exponent for number in numbers if not isinstance(number, int))
        return cls(max((-exponent for exponent in exponents if isinstance(exponent, int) and exponent < 0), default=0))

    def whole(self, number: Number) -> int:
        """Scale up a number on whose decimals the scale was fitted."""
        if isinstance(number, int):
            return number * int(10**self.decimals)
        return int(_decimal(number).scaleb(self.decimals))

    def text(self, whole: int) -> str:
        """Write a scaled number as a plain decimal, without a point where it is whole."""
        before, after = divmod(abs(whole), 10**self.decimals)
        digits = f"{after:0{self.decimals}d}".rstrip("0") if after else ""
        return f"{'-' if whole < 0 else ''}{before}{'.' if digits else ''}{digits}"


def check_finite(numbers: Iterable[Number], what: str) -> None:
    """Raise a :class:`~sfumato.errors.HierarchyError` for `what` that counts the numbers that are not finite."""
    endless = sum(not math.isfinite(number) for number in numbers)
    if endless:
        raise HierarchyError(f"{what}: {endless} value(s) are not finite numbers; make them missing")


def _decimal(number: float) -> Decimal:
    """Read a float as the shortest decimal that names it, which is what its text shows."""
    return Decimal(repr(number))


# Masked codes: the first characters of a postal code, a diagnosis or an occupation code.


_MASK = "*"


Rest = Literal["each", "one"]


def prefixes(*keep: int, rest: Rest = "each", mark: str | None = None) -> HierarchySpecification:
    """Describe a hierarchy that keeps fewer and fewer leading characters of a code.

    Every other character is written ``*``, so that the length stays visible: with 3, 2, 0 the code ``4711`` becomes
    ``471*``, ``47**`` and ``*``. Codes that are not longer than what is kept stay as they are.

    Parameters
    ----------
    *keep
        Numbers of characters kept, falling. The last level is always ``*``, as if 0 had been given.
    rest
        ``"one"`` writes one ``*`` for whatever follows, for codes of several lengths: with 3 and 1, ``E11`` and
        ``E11.9`` become ``E11*`` and ``E*``. Codes that are shorter than what is kept stay as they are.
    mark
        What parts a code, such as ``"."``: parts are counted in place of characters, and `rest` is ``"one"``.
        With 3, 2, 1, ``10.0.3.4`` becomes ``10.0.3.*``, ``10.0.*`` and ``10.*``.

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
    return Prefixes(keep, rest, mark)


@dataclass(frozen=True)
class Prefixes:
    """The description that :func:`prefixes` returns.

    Attributes
    ----------
    keep : tuple of int
        Numbers of characters kept, or of parts, falling; the last is 0.
    rest : str
        Whether ``*`` stands for each character that is not kept, or one for all.
    mark : str or None
        What parts a code; None: characters are counted.
    """

    keep: tuple[int, ...]
    rest: Rest = "each"
    mark: str | None = None

    def __post_init__(self) -> None:
        """Check the numbers and let them end in 0."""
        raise_all(HierarchyError, [*_keep_problems(self.keep), *_rest_problems(self.rest, self.mark)])
        object.__setattr__(self, "keep", (*(digits for digits in self.keep if digits), 0))

    def build(self, values: pl.Series, *, name: str) -> Hierarchy:
        """Build the hierarchy over the distinct texts of `values`; one with a ``*`` would be ambiguous."""
        what = f"hierarchy of {name!r}"
        codes = text_of(listed_values(values, what)).to_list()
        return hierarchy_from_paths(
            [(code, *(self._label(code, count) for count in self.keep)) for code in codes], name=what
        )

    def _label(self, code: str, count: int) -> str:
        if not count:
            return ROOT
        if self.mark is not None:
            parts = code.split(self.mark)
            return code if len(parts) <= count else self.mark.join((*parts[:count], _MASK))
        if self.rest == "one":
            return code if len(code) < count else code[:count] + _MASK
        return code[:count] + _MASK * (len(code) - count)

    def to_policy(self) -> Mapping[str, Any]:
        """Return the description as plain values."""
        more = {"rest": "one"} if self.rest == "one" else {}
        return {"kind": "prefixes", "keep": list(self.keep), **more, **({"mark": self.mark} if self.mark else {})}


def _rest_problems(rest: object, mark: object) -> list[str]:
    problems = [] if rest in ("each", "one") else ["prefixes: rest must be 'each' or 'one'"]
    if mark is not None and (not isinstance(mark, str) or len(mark) != 1 or mark.isalnum() or mark == _MASK):
        problems.append("prefixes: mark must be one character that parts codes, such as '.'")
    return problems


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
        """Build the hierarchy over the distinct dates of `values`, leaves in calendar order."""
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
