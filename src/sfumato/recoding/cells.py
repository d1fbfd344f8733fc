"""Published cells as numbers: what a recipient may compute with, read from the labels alone.

Nothing here sees an original: a cell says what its label says, and a ``*`` says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import Form
from sfumato.errors import PolicyError
from sfumato.recoding.notation import CELLS, STAR, Cells
from sfumato.recoding.parsing import split_set, written_ends
from sfumato.table.schema import Kind

Domain = Mapping[str, Sequence[Any]]
"""For columns, what a ``*`` may stand for: the lowest and the highest number or date, or every value of a category."""

_CODE = r"(^|[{|])[+-]?0[0-9]"
"""How numbers begin that are names: 04711."""
_BELOW, _FROM = r"^<(.+)$", r"^>=(.+)$"
_BETWEEN = r"\[(.+)\.\.(.+)\]$"
_WHOLE = 2.0**53
"""From here on a float does not hold every whole number."""
_DECIMALS = re.compile(r"\d[.](\d+)")
_UNIT = re.compile(r"(\d{4})(?:-(\d\d)|-Q([1-4])|(?<=0)s)?$")
"""Months, quarters, years and decades, as :func:`sfumato.dates` labels them."""


@dataclass(frozen=True, eq=False, repr=False)
class CellColumn:
    """A published column of n records with g distinct labels."""

    name: str
    kind: Kind  # numeric or date, where every label is one or a range of some; else categorical
    form: Form | None  # None: published as it is
    labels: pl.Series  # strings (g,), distinct; null is the missing value
    label_of: NDArray[np.int64]  # (n,): the label of each record
    low: NDArray[np.float64]  # (g,): ends of what each label says, days of dates; NaN where it says nothing
    high: NDArray[np.float64]
    order: tuple[str, ...] | None = None  # of ordered texts all values, the lowest first; empty: not known

    @property
    def is_number(self) -> bool:
        """Whether the column has numbers or dates."""
        return self.kind is not Kind.CATEGORICAL

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """(g,): which label is the missing value."""
        return self.labels.is_null().to_numpy()

    @cached_property
    def members(self) -> tuple[frozenset[str | None] | None, ...]:
        """(g,): the values that each label of a category may stand for; None: any, or those below an unknown node."""
        plain = self.form in (None, Form.SET)
        if self.order is not None:
            return tuple(self._between(label) for label in self.labels.to_list())
        return tuple(
            None if label == STAR or not (plain or label is None) else frozenset(_members(label, self.form))
            for label in self.labels.to_list()
        )

    def _between(self, label: str | None) -> frozenset[str | None] | None:
        """Return the ordered texts that a label covers; None: any."""
        ends = re.match(_BETWEEN, label or "", re.DOTALL)
        if label == STAR or (ends and not self.order):
            return None
        places = {text: place for place, text in enumerate(self.order or ())}
        if not ends or not {ends[1], ends[2]} <= set(places):
            return None if ends else frozenset([label])
        return frozenset((self.order or ())[places[ends[1]] : places[ends[2]] + 1])

    @cached_property
    def decimals(self) -> int:
        """Return the most digits after the point that a label shows."""
        return _digits_shown(label or "" for label in self.labels.to_list())


def _digits_shown(texts: Iterable[str]) -> int:
    return max((len(digits) for text in texts for digits in _DECIMALS.findall(text)), default=0)


def _members(label: str | None, form: Form | None) -> list[str | None]:
    return [label] if form is None else split_set(label)


def read_cells(
    column: pl.Series, *, form: Form | None = None, hierarchy: str = "", kind: Kind | None = None
) -> CellColumn:
    """Read a published column. `hierarchy`: kind of the hierarchy that its labels are nodes of. Cost O(n + g)."""
    texts = column.cast(pl.String)
    labels = texts.unique(maintain_order=True)
    numbers = pl.int_range(len(labels), eager=True, dtype=pl.Int64)
    label_of = texts.replace_strict(labels, numbers, return_dtype=pl.Int64).to_numpy()
    silent = (labels.is_null() | labels.eq_missing(STAR)).to_numpy()
    given = (Kind.DATE,) if hierarchy == "dates" else (kind,) if kind else (Kind.NUMERIC, Kind.DATE)
    is_node = form is Form.ANCESTOR and hierarchy not in ("intervals", "dates")
    for each in () if is_node or silent.all() else given:
        low, high = _ends(labels, each, hierarchy)
        codes = each is Kind.NUMERIC and labels.str.contains(_CODE).any()
        if each is not Kind.CATEGORICAL and not codes and not np.isnan(low[~silent]).any():
            return CellColumn(column.name, each, form, labels, label_of, low, high)
    nothing = np.full(len(labels), np.nan)
    return CellColumn(column.name, Kind.CATEGORICAL, form, labels, label_of, nothing, nothing)


def _ends(labels: pl.Series, kind: Kind, hierarchy: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if kind is Kind.CATEGORICAL:
        return np.full(len(labels), np.nan), np.full(len(labels), np.nan)
    low, high, _ = written_ends(labels, kind)
    low, high = low.copy(), high.copy()
    for place in np.flatnonzero(np.isnan(low)).tolist():
        low[place], high[place] = _unusual_ends(labels[place], kind, hierarchy)
    return low, high


def _unusual_ends(label: str | None, kind: Kind, hierarchy: str) -> tuple[float, float]:
    """Read a set of numbers, an interval with an open end, or a unit of the calendar; NaN for everything else."""
    if label is None or label == STAR:
        return np.nan, np.nan
    if hierarchy == "dates":
        return _unit_ends(label)
    if label.startswith("{"):
        lows, highs, _ = written_ends(pl.Series(split_set(label), dtype=pl.String), kind)
        return (np.nan, np.nan) if np.isnan(lows).any() else (float(lows.min()), float(highs.max()))
    if hierarchy == "intervals" and (found := re.match(_BELOW, label)):
        return -np.inf, float(written_ends(pl.Series([found[1]]), kind)[0][0])
    if hierarchy == "intervals" and (found := re.match(_FROM, label)):
        return float(written_ends(pl.Series([found[1]]), kind)[0][0]), np.inf
    return np.nan, np.nan


def _unit_ends(label: str) -> tuple[float, float]:
    found = _UNIT.match(label)
    if found is None:
        return np.nan, np.nan
    year, month, quarter = int(found[1]), int(found[2] or 0), int(found[3] or 0)
    first = month or (3 * quarter - 2 if quarter else 1)
    months = 1 if month else 3 if quarter else 120 if label.endswith("s") else 12
    # Months since the year 0; the day before the next unit begins is the last of this one.
    ends = [12 * year + first - 1, 12 * year + first - 1 + months]
    days = [np.datetime64(f"{end // 12:04}-{end % 12 + 1:02}-01").astype(np.int64) for end in ends]
    return float(days[0]), float(days[1] - 1)


def in_form(
    frame: pl.DataFrame, columns: Sequence[CellColumn], cells: Cells, domain: Domain, seed: int | None
) -> pl.DataFrame:
    """Return a published frame with some columns in another form; the others stay as they are.

    Raises ``PolicyError`` when the form is unknown or `domain` does not fit a column. Without `seed` draws are random.
    """
    if cells not in CELLS:
        raise PolicyError(f"cells must be one of {', '.join(CELLS)}")
    check_domain(domain, columns)
    if cells == "label":
        return frame
    if cells == "bounds":
        ends = {f"{column.name}_{end}" for column in columns if column.is_number for end in ("low", "high")}
        if taken := sorted(ends & set(frame.columns)):
            raise PolicyError(f"bounds: there is a column {taken[0]!r} already; rename it")
    rng, made = np.random.default_rng(seed), {column.name: column for column in columns}
    found = list[pl.Series]()
    for column in frame:
        cell = made.get(column.name)
        if cell is None or not (cell.is_number or cells == "drawn"):
            found.append(column)
        elif cells == "drawn":
            found.append(_drawn(cell, domain.get(cell.name), rng))
        else:
            found += _numbers(cell, cells, domain.get(cell.name))
    return pl.DataFrame(found)


def check_domain(domain: Domain, columns: Sequence[CellColumn]) -> None:
    """Raise PolicyError where a declared domain names no published column, or is none."""
    by_name = {column.name: column for column in columns}
    for name, values in domain.items():
        column = by_name.get(name)
        if column is None:
            raise PolicyError("domain: names a column that is not published")
        if not isinstance(values, (list, tuple)) or not values:
            raise PolicyError(f"domain of column {name!r}: give the lowest and the highest value, or all of a category")
        if column.is_number and (len(values) != 2 or np.isnan(domain_ends(column, values)).any()):
            raise PolicyError(f"domain of column {name!r}: give two values, the lowest and the highest")
        low, high = domain_ends(column, values) if column.is_number else (0.0, 0.0)
        ends = np.concatenate([column.low, column.high])
        known = ends[np.isfinite(ends)]
        if column.is_number and (low > high or (known < low).any() or (known > high).any()):
            raise PolicyError(f"domain of column {name!r}: published cells lie outside of it; declare a wider one")


def domain_ends(column: CellColumn, values: Sequence[Any]) -> tuple[float, float]:
    """Return the ends of the declared domain of a number or date, dates in days."""
    low, high, _ = written_ends(pl.Series([str(value) for value in values]), column.kind)
    return float(low[0]), float(high[-1])


def filled_ends(column: CellColumn, values: Sequence[Any] | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of each label (g,), with the declared domain in the place of ``*`` and of open ends."""
    if values is None:
        return column.low, column.high
    low, high = domain_ends(column, values)
    star = column.labels.eq_missing(STAR).to_numpy()
    return np.maximum(np.where(star, low, column.low), low), np.minimum(np.where(star, high, column.high), high)


def _typed(column: CellColumn, numbers: NDArray[np.float64], name: str) -> pl.Series:
    """Return days as dates; where labels show whole numbers, and these are some, as whole numbers."""
    found = pl.Series(name, numbers).fill_nan(None)
    if column.kind is Kind.DATE:
        return found.round().cast(pl.Int32).cast(pl.Date)
    known = numbers[~np.isnan(numbers)]
    is_whole = column.decimals == 0 and bool((known == np.rint(known)).all() and (np.abs(known) < _WHOLE).all())
    return found.cast(pl.Int64) if is_whole else found


def _numbers(column: CellColumn, cells: Cells, values: Sequence[Any] | None) -> list[pl.Series]:
    low, high = (ends[column.label_of] for ends in filled_ends(column, values))
    unbounded = ~(np.isfinite(low) & np.isfinite(high))
    if cells == "midpoint":
        # Half a step of the digits that the ends show; a float may miss it, and not every file holds such a one.
        digits = max(column.decimals, _digits_shown(map(str, values or ()))) + 1
        middle = low if column.form is Form.MEAN else np.clip(np.round((low + high) / 2, digits), low, high)
        middle = np.where(unbounded, np.nan, middle)
        found = _typed(column, middle, column.name)
        # Whether some middles lie between whole numbers shall not decide of the type.
        return [found if found.dtype == pl.Date else found.cast(pl.Float64)]
    low, high = (np.where(np.isfinite(end), end, np.nan) for end in (low, high))
    if cells == "bounds":
        return [_typed(column, low, f"{column.name}_low"), _typed(column, high, f"{column.name}_high")]
    ends = pl.DataFrame([_typed(column, low, "low"), _typed(column, high, "high")])
    return [ends.select(pl.struct("low", "high").alias(column.name)).to_series()]


def _drawn(column: CellColumn, values: Sequence[Any] | None, rng: np.random.Generator) -> pl.Series:
    """Draw one value from each cell: evenly from its range, or from its members; null where nobody knows a range."""
    if column.form is Form.MEAN:
        return _typed(column, column.low[column.label_of], column.name)
    chance = rng.random(len(column.label_of))
    if not column.is_number:
        return _drawn_members(column, values, chance)
    low, high = (ends[column.label_of] for ends in filled_ends(column, values))
    known = np.isfinite(low) & np.isfinite(high)
    low, high = np.where(known, low, 0.0), np.where(known, high, 0.0)
    half_open = (column.labels.str.ends_with(")").fill_null(False).to_numpy())[column.label_of]
    step = 1.0 if column.kind is Kind.DATE else 10.0**-column.decimals
    # Steps of the grid on which the column's ends lie; the upper one of a half-open interval is none of it.
    steps = np.maximum(np.rint((high - low) / step) + np.where(half_open, 0, 1), 1)
    drawn = low + np.floor(chance * steps) * step
    # A declared domain may have more digits than the labels.
    rounded = np.clip(np.round(drawn, column.decimals), low, high)
    return _typed(column, np.where(known, rounded, np.nan), column.name)


def _drawn_members(column: CellColumn, values: Sequence[Any] | None, chance: NDArray[np.float64]) -> pl.Series:
    declared = None if values is None else sorted(map(str, values))
    choices = [
        declared if found is None else sorted(found, key=lambda value: (value is None, value or ""))
        for found in column.members
    ]
    cells = [
        None if choices[label] is None else choices[label][int(part * len(choices[label]))]
        for label, part in zip(column.label_of.tolist(), chance.tolist(), strict=True)
    ]
    return pl.Series(column.name, cells, dtype=pl.String)
