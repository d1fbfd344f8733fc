"""Descriptive statistics of columns before and after publishing, as one value for the data steward."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sfumato.numbers import counted, figure

_DIGITS = 6
_PLAIN_DIGITS = 12
"""Significant digits of texts, and of plain values: the last digits of sums hang on the order of the records."""

_Shown = float | str | None


@dataclass(frozen=True)
class NumberFigures:
    """Figures of the numbers, or dates, of a column; a missing value has none.

    `total`: Sum of all numbers; None for dates. `mean`, `minimum`, `lower_quartile`, `median`, `upper_quartile`,
    `maximum`: Dates are texts such as ``2026-03-31``. `deviation`: Standard deviation of the records themselves
    (divided by their number), of dates in days. `skewness`, `excess_kurtosis`: None if all numbers are equal. `fifths`:
    Share of the sum that each fifth of the records has, lowest first. None for dates, where a number is below 0, and
    where all are 0. `gini`: Gini's coefficient; None as `fifths`. `geometric_mean`: None for dates, and where a number
    is 0 or below.
    """

    total: float | None
    mean: float | str
    deviation: float
    skewness: float | None
    excess_kurtosis: float | None
    minimum: float | str
    lower_quartile: float | str
    median: float | str
    upper_quartile: float | str
    maximum: float | str
    fifths: tuple[float, ...] | None
    gini: float | None
    geometric_mean: float | None = None


@dataclass(frozen=True)
class Figures:
    """Figures of a column, on one side.

    `records`: With weights, people; those with a missing value are among them. `most_frequent`: The most frequent
    value, of equally frequent ones the first. None for columns of over 256 different numbers, and without any value.
    `numbers`: None for categories, and without any value.
    """

    records: float
    missing: float
    most_frequent: str | None
    numbers: NumberFigures | None


@dataclass(frozen=True)
class ValueShare:
    """How many records have a value, or one of some values, before and after; `value` None is the missing one."""

    value: str | None
    before: float
    after: float


@dataclass(frozen=True)
class ColumnDescription:
    """A column before and after.

    `column`, `kind`: Its name, and ``"number"``, ``"date"`` or ``"category"``. `distribution`: Numbers in at most 10
    bins of about equal frequency; categories one by one, all but the 49 most frequent of more than 50 together.
    """

    column: str
    kind: str
    before: Figures
    after: Figures
    distribution: tuple[ValueShare, ...]


@dataclass(frozen=True)
class ContingencyTable:
    """How often values of two columns occur together.

    `rows`, `across`: Values, or bins, of the first and of the second; None is the missing one. `before`, `after`:
    Records of each row, across the second column.
    """

    columns: tuple[str, str]
    rows: tuple[str | None, ...]
    across: tuple[str | None, ...]
    before: tuple[tuple[float, ...], ...]
    after: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Estimate:
    """A coefficient and its confidence interval of 95 %."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Coefficient:
    """A coefficient before and after.

    `name`: ``(intercept)``, a column, or a column and its value. `before`, `after`: None where it is not determined:
    its column follows from others, as one that is ``*`` everywhere does. `overlap`: Mean of the shares of both
    intervals that lie in the other (Karr et al. 2006), from 0 to 1. None without two intervals.
    """

    name: str
    before: Estimate | None
    after: Estimate | None
    overlap: float | None


@dataclass(frozen=True)
class RegressionKept:
    """A linear regression before and after.

    `records_before`, `records_after`: Records without a missing value among these columns.
    """

    target: str
    on: tuple[str, ...]
    records_before: int
    records_after: int
    coefficients: tuple[Coefficient, ...]


@dataclass(frozen=True)
class Descriptives:
    """Columns of a release, and pairs of them, held against the original. It has values: it is for the data steward.

    Attributes
    ----------
    kind : str
        Kind of the release, as in ``release.json``.
    records, published : int
        Records of the original, and in the release.
    weights : str or None
        The column by which records were weighted.
    columns : tuple of ColumnDescription
        Published ones.
    tables : tuple of ContingencyTable
        Of the pairs that were asked for.
    regressions : tuple of RegressionKept
        Those that were asked for.
    """

    kind: str
    records: int
    published: int
    weights: str | None
    columns: tuple[ColumnDescription, ...]
    tables: tuple[ContingencyTable, ...] = ()
    regressions: tuple[RegressionKept, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        plain: dict[str, Any] = _plain(asdict(self))
        return plain

    def __repr__(self) -> str:
        """Count the columns; what they hold are values of the table."""
        return f"Descriptives({counted(len(self.columns), 'column')}, {counted(len(self.tables), 'contingency table')})"

    def __str__(self) -> str:
        """Write a page for people."""
        by = "" if self.weights is None else f", by weights {self.weights!r}"
        lines = [
            f"{self.kind.replace('-', ' ')} of {counted(self.published, 'record')}, made from {self.records:,}{by}"
        ]
        for column in self.columns:
            rows = [*_figure_rows(column), *_share_rows(column)]
            lines += ["", *_aligned([(column.column, "before", "after"), *rows])]
        for table in self.tables:
            lines += ["", f"{table.columns[0]} by {table.columns[1]}, before > after", *_grid(table)]
        for fit in self.regressions:
            lines += ["", *_regression_lines(fit)]
        return "\n".join(lines)


_NAMES = {
    "total": "total",
    "mean": "mean",
    "geometric_mean": "geometric mean",
    "deviation": "standard deviation",
    "skewness": "skewness",
    "excess_kurtosis": "excess kurtosis",
    "minimum": "minimum",
    "lower_quartile": "lower quartile",
    "median": "median",
    "upper_quartile": "upper quartile",
    "maximum": "maximum",
    "gini": "Gini",
}


def _figure_rows(column: ColumnDescription) -> Iterator[tuple[str, str, str]]:
    sides = column.before, column.after
    yield _row("records", [side.records for side in sides])
    if any(side.missing for side in sides):
        yield _row("missing", [side.missing for side in sides])
    if any(side.most_frequent is not None for side in sides):
        yield _row("most frequent", [side.most_frequent for side in sides])
    numbers = [side.numbers for side in sides]
    for name, title in _NAMES.items():
        told = [getattr(each, name, None) for each in numbers]
        if any(each is not None for each in told):
            yield _row(title, told)
    fifths = [(each.fifths if each else None) or (None,) * 5 for each in numbers]
    for place, pair in enumerate(zip(*fifths, strict=True), start=1):
        if any(each is not None for each in pair):
            yield _row(f"share of fifth {place}", pair)


def _share_rows(column: ColumnDescription) -> Iterator[tuple[str, str, str]]:
    for each in column.distribution:
        yield _row(f"  {_value(each.value)}", [each.before, each.after])


def _regression_lines(fit: RegressionKept) -> list[str]:
    records = f"{fit.records_before:,} and {fit.records_after:,} records, 95% intervals"
    head = f"{fit.target} on {', '.join(fit.on)}: {records}"
    rows = [
        (each.name, _interval(each.before), _interval(each.after), _show(each.overlap)) for each in fit.coefficients
    ]
    return [head, *_aligned([("", "before", "after", "overlap"), *rows])]


def _interval(estimate: Estimate | None) -> str:
    if estimate is None:
        return "not determined"
    low, value, high = (figure(each, _DIGITS) for each in (estimate.low, estimate.value, estimate.high))
    return f"{value} ({low} to {high})"


def _row(title: str, told: Sequence[_Shown]) -> tuple[str, str, str]:
    before, after = map(_show, told)
    return title, before, after


def _show(value: _Shown) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else figure(value, _DIGITS)


def _value(value: str | None) -> str:
    return "(missing)" if value is None else value


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Write rows of cells, the first column from the left, others from the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [f"{row[0]:<{widths[0]}}", *(f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    ]


def _grid(table: ContingencyTable) -> list[str]:
    cells = [
        [f"{figure(one, 4)} > {figure(other, 4)}" for one, other in zip(*pair, strict=True)]
        for pair in zip(table.before, table.after, strict=True)
    ]
    heads = ["", *(_value(value) for value in table.across)]
    return _aligned([heads, *([_value(value), *row] for value, row in zip(table.rows, cells, strict=True))])


def _plain(value: Any) -> Any:
    """Round floats, and turn tuples into lists."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    return float(f"{value:.{_PLAIN_DIGITS}g}") if isinstance(value, float) else value
