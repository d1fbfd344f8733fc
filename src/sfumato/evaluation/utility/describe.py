"""Describing the columns of a release of any kind, and regressions on them, beside those of its original."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import NormalDist
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import PolicyError, raise_all
from sfumato.evaluation.utility.joint import (
    Joint,
    Original,
    Rows,
    contingency_table,
    estimate_histogram,
    records_by_label,
)
from sfumato.evaluation.utility.measure import ReleaseView
from sfumato.evaluation.utility.queries import AttributeDomain, Bins, Floats, coarse, single_values
from sfumato.evaluation.utility.spreads import TIED, NumberSpread
from sfumato.notebook import card, notebook_section, notebook_table
from sfumato.numbers import counted, figure
from sfumato.progress import Progress, shown
from sfumato.published import Published
from sfumato.randomness import seed_problems
from sfumato.recoding import Recoding
from sfumato.release.release import Release
from sfumato.release.verify import refuse_swapped
from sfumato.table.reading import read_with
from sfumato.table.schema import Kind, Schema
from sfumato.table.table import Table

if TYPE_CHECKING:
    from sfumato.drawing import Drawing

_DIGITS = 6
_PLAIN_DIGITS = 12
"""Significant digits of texts, and of plain values: the last digits of sums hang on the order of the records."""

_Shown = float | str | None


@dataclass(frozen=True)
class NumberFigures:
    """Figures of the numbers, or dates as texts, of a column; a missing value has none.

    `deviation`: of the records themselves, of dates in days. `skewness`, `excess_kurtosis`: None if all are equal.
    `fifths`: share of the sum that each fifth of the records has, lowest first; None, as `gini`, for dates, and where a
    number is below 0 or all are. `geometric_mean`: None for dates, and from 0 down.
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
    """A column before and after: numbers in 10 bins at most, categories one by one, of many the 49 most frequent."""

    column: str
    kind: str
    before: Figures
    after: Figures
    distribution: tuple[ValueShare, ...]


@dataclass(frozen=True)
class ContingencyTable:
    """How often values, or bins, of two columns occur together, before and after; None is the missing one."""

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
    """A coefficient before and after, None where its column follows from others; and how far intervals overlap.

    The mean of the shares of both that lie in the other (Karr et al. 2006).
    """

    name: str
    before: Estimate | None
    after: Estimate | None
    overlap: float | None


@dataclass(frozen=True)
class RegressionKept:
    """A linear regression before and after, each of so many `records` without a missing value in its columns."""

    target: str
    on: tuple[str, ...]
    records_before: int
    records_after: int
    coefficients: tuple[Coefficient, ...]


@dataclass(frozen=True)
class Descriptives:
    """Columns of a release, and pairs of them, held against the original. It has values: it is for the data steward.

    * `kind`: kind of the release, as in ``release.json``.
    * `weights`: the column by which records were weighted.
    * `columns`: published ones.
    * `tables`: of the pairs that were asked for.
    * `regressions`: those that were asked for.
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

    def _repr_html_(self) -> str:
        """Show notebooks every column before and after."""
        tables = (
            notebook_section(
                column.column,
                notebook_table(("", "before", "after"), [*_figure_rows(column), *_share_rows(column)], (1, 2)),
            )
            for column in self.columns
        )
        note = f"{counted(self.published, 'record')}, made from {self.records:,}; for the data steward"
        return card("Columns before and after", note, *tables)

    def plot(self) -> Drawing:
        """Draw a histogram of every column, before and after. It shows values of the original.

        Raises
        ------
        PolicyError
            When matplotlib is not installed (``pip install 'sfumato[report]'``).
        """
        from sfumato.drawing import Drawing, bars, canvases

        most = max(len(column.distribution) for column in self.columns)
        rows = -(-len(self.columns) // 2)
        figure, places = canvases(rows, 2, width=10.8, height=rows * (1.2 + 0.24 * most))
        for axes, column in zip(places, self.columns, strict=False):
            sides = {
                "before": [each.before for each in column.distribution],
                "after": [each.after for each in column.distribution],
            }
            bars(axes, [_value(each.value) for each in column.distribution], sides, "records")
            axes.set_title(column.column, fontsize="medium", loc="left")
        for axes in places[len(self.columns) :]:
            axes.set_visible(False)
        return Drawing(figure)

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
        values = [getattr(each, name, None) for each in numbers]
        if any(each is not None for each in values):
            yield _row(title, values)
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


_NUMBER_BINS, _CATEGORIES = 10, 50


_MOST_NUMBERS = 256
"""Columns of more different numbers have no most frequent one."""


def describe(
    release: Release | Published | str | Path,
    original: Any,
    *,
    schema: Schema | None = None,
    columns: Sequence[str] | None = None,
    contingency: Sequence[tuple[str, str]] = (),
    regressions: Mapping[str, Sequence[str]] = MappingProxyType({}),
    weights: str | None = None,
    recoding: Recoding | None = None,
    seed: int | None = None,
    progress: Progress = shown,
) -> Descriptives:
    """Describe columns before and after publishing: figures, distributions, contingency tables.

    Parameters
    ----------
    release
        A release in memory, a release folder, or published tables of any kind.
    original
        The table that it was made from.
    schema
        The roles of the columns, where `original` is a file or a frame that was not read yet.
    columns
        Which quasi-identifying and sensitive columns; None takes all that are published.
    contingency
        Pairs of them: how often their values occur together.
    regressions
        A column of numbers → columns that explain it, by a linear regression on the original and on the release; see
        :func:`~sfumato.evaluation.utility.describe.regression`.
    weights
        A column of the original, and of the release, that says how many people each record stands for; every figure is
        then one of those people.
    recoding
        How a generalized table was published; None takes what a release says, else the defaults.
    seed
        For regressions on releases whose rows are no records: these are put together at random. None draws from the
        operating system.
    progress
        Called with (what, done, total).

    Returns
    -------
    Descriptives
        For the data steward: it has values of the original.

    Raises
    ------
    PolicyError
        With every column that is not there to be described.
    InputError
        When the release cannot be read against the original, or there are no such weights.

    Notes
    -----
    What a cell of the release stands for is the same as for queries: see
    :func:`~sfumato.evaluation.utility.answers.estimated_answers`. A range of whole numbers is spread over all of them,
    one of other numbers evenly, and figures follow from that. Quantiles are Hyndman and Fan's second definition. Cost
    O(n log n) for each column, one query for each bin of a pair.

    Examples
    --------
    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": [20, 21, 30, 39], "illness": ["flu", "cold", "flu", "flu"]})
    >>> table = sf.read_table(people, sf.Schema(quasi_identifying=["age"], sensitive=["illness"]))
    >>> [age] = sf.describe(sf.anonymize(table, sf.KAnonymity(2)), table, columns=["age"]).columns
    >>> age.before.numbers.mean, round(age.after.numbers.mean, 9)
    (27.5, 27.5)
    """
    refuse_swapped(original, "describe(release, original)")
    original = read_with(original, schema)
    problems: list[str] = (
        [] if isinstance(original, Table) else ["original: must be a table; read it with sfumato.read_table"]
    )
    if recoding is not None and not isinstance(recoding, Recoding):
        problems.append("recoding: must be a Recoding")
    raise_all(
        PolicyError, [*problems, *_form_problems(columns, contingency, regressions, weights), *seed_problems(seed)]
    )
    progress("reading", 0, 2)
    view = ReleaseView.of(release, Original.of(original, weights), recoding, weights)
    published = [name for name in view.domains if name in view.weighted.spreads]
    asked = published if columns is None else list(columns)
    named = [*asked, *(name for pair in contingency for name in pair)]
    named += [name for target, on in regressions.items() for name in (target, *on)]
    raise_all(PolicyError, _column_problems(named, regressions, {name: view.domains[name] for name in published}))
    progress("describing", 1, 2)
    before, after = view.original.weighted, view.weighted
    described = tuple(_column(view.domains[name], before, after) for name in asked)
    tables = tuple(_table(view.domains, pair, before, after) for pair in contingency)
    fits: list[RegressionKept] = []
    if regressions:
        sides = view.original.rows, view.rows(weights, seed)
        for target, on in regressions.items():
            fits.append(_regression(view.domains[target], [view.domains[name] for name in on], *sides))
    progress("describing", 2, 2)
    published_records = round(view.after.total)
    return Descriptives(
        view.published.kind, original.height, published_records, weights, described, tables, tuple(fits)
    )


def _column_problems(
    named: Sequence[str], targets: Iterable[str], published: Mapping[str, AttributeDomain]
) -> list[str]:
    problems = [
        f"column {name!r} is not a published quasi-identifying or sensitive column"
        for name in dict.fromkeys(named)
        if name not in published
    ]
    return problems + [
        f"regressions: column {name!r} has no numbers to explain"
        for name in targets
        if name in published and (published[name].numbers is None or not published[name].attribute.size)
    ]


def _form_problems(columns: object, pairs: object, regressions: object, weights: object) -> list[str]:
    problems = []
    fitting = isinstance(regressions, Mapping) and all(
        isinstance(target, str) and _is_names(on) and on and len({target, *on}) == len(on) + 1
        for target, on in regressions.items()
    )
    if not fitting:
        problems.append("regressions: must say for a column which other columns, each once, explain it")
    if columns is not None and not _is_names(columns):
        problems.append("columns: must be a list of column names")
    if isinstance(pairs, str) or not isinstance(pairs, Sequence) or not all(map(_is_pair, pairs)):
        problems.append("contingency: must be a list of pairs of two different column names")
    if weights is not None and not isinstance(weights, str):
        problems.append("weights: must be the name of a column")
    return problems


def _is_names(names: object) -> bool:
    return not isinstance(names, str) and isinstance(names, Sequence) and all(isinstance(name, str) for name in names)


def _is_pair(pair: object) -> bool:
    return isinstance(pair, Sequence) and _is_names(pair) and len(pair) == len(set(pair)) == 2


def _column(domain: AttributeDomain, before: Joint, after: Joint) -> ColumnDescription:
    bins = coarse(domain, _NUMBER_BINS, _CATEGORIES)
    sides = [_without_traces(estimate_histogram(joint, domain.name, bins)) for joint in (before, after)]
    shares = tuple(
        ValueShare(label, float(one), float(other))
        for label, one, other in zip(_bin_labels(domain, bins), *sides, strict=True)
        if label is not None or one > 0 or other > 0
    )
    return ColumnDescription(domain.name, _kind(domain), _figures(domain, before), _figures(domain, after), shares)


def _without_traces(counts: Floats) -> Floats:
    """Take what is left of sums that should be 0 for 0."""
    return np.where(counts > TIED * counts.sum(), counts, 0.0)


def _kind(domain: AttributeDomain) -> str:
    if domain.numbers is None:
        return "category"
    return "date" if domain.attribute.kind is Kind.DATE else "number"


def _figures(domain: AttributeDomain, joint: Joint) -> Figures:
    by_label = records_by_label(joint, domain.name)
    spread = joint.spreads[domain.name]
    missing = float(_without_traces(spread.tally(by_label, coarse(domain, 1, 1)))[-1])
    frequent = None
    if domain.attribute.size and (domain.numbers is None or domain.attribute.size <= _MOST_NUMBERS):
        bins = single_values(domain)
        counts = estimate_histogram(joint, domain.name, bins)[:-1]
        # The first of those that are equal but for the rounding of sums.
        frequent = _bin_labels(domain, bins)[int(np.argmax(counts >= counts.max() * (1 - TIED)))]
    numbers = None
    if domain.numbers is not None and (known := spread.numbers(by_label)).records > 0:
        numbers = _number_figures(domain, known)
    return Figures(float(by_label.sum()), missing, frequent, numbers)


def _number_figures(domain: AttributeDomain, spread: NumberSpread) -> NumberFigures:
    is_date = domain.attribute.kind is Kind.DATE
    second, third, fourth = spread.central_moments
    lower, median, upper = spread.quantiles([0.25, 0.5, 0.75])
    varies = not spread.is_constant and second > 0
    write = _day_of if is_date else float
    return NumberFigures(
        total=None if is_date else spread.total,
        mean=write(spread.mean),
        deviation=0.0 if spread.is_constant else second**0.5,
        skewness=third / second**1.5 if varies else None,
        excess_kurtosis=fourth / second**2 - 3 if varies else None,
        minimum=write(spread.ends[0]),
        lower_quartile=write(lower),
        median=write(median),
        upper_quartile=write(upper),
        maximum=write(spread.ends[1]),
        fifths=None if is_date else spread.fifths,
        gini=None if is_date else spread.gini,
        geometric_mean=None if is_date else spread.geometric_mean,
    )


def _table(
    domains: Mapping[str, AttributeDomain], pair: tuple[str, str], before: Joint, after: Joint
) -> ContingencyTable:
    bins = {name: coarse(domains[name], _NUMBER_BINS, _CATEGORIES) for name in pair}
    labels = [_bin_labels(domains[name], bins[name]) for name in pair]
    sides = [_without_traces(contingency_table(joint, *pair, bins=bins)) for joint in (before, after)]
    both: Floats = sides[0] + sides[1]
    rows = [place for place, label in enumerate(labels[0]) if label is not None or both[place].sum() > 0]
    across = [place for place, label in enumerate(labels[1]) if label is not None or both[:, place].sum() > 0]
    one, other = (tuple(map(tuple, side[np.ix_(rows, across)].tolist())) for side in sides)
    named = [tuple(own[place] for place in places) for own, places in zip(labels, (rows, across), strict=True)]
    return ContingencyTable((pair[0], pair[1]), named[0], named[1], one, other)


def _day_of(number: float) -> str:
    """Write the day in which a point in time lies, counted from 1970-01-01."""
    # Files may hold years that Python's dates do not know.
    return str(np.datetime64(int(np.floor(number + TIED)), "D"))


def _bin_labels(domain: AttributeDomain, bins: Bins) -> list[str | None]:
    """Name each bin, and last the one of missing values."""
    if bins.uppers is None:
        return [*_category_labels(domain, bins), None]
    assert domain.numbers is not None
    rising = np.unique(domain.numbers)
    lows = rising[np.searchsorted(np.searchsorted(bins.uppers, rising), np.arange(bins.count))]
    write = _day_of if domain.attribute.kind is Kind.DATE else _plain_number
    ends = [(write(low), write(high)) for low, high in zip(lows.tolist(), bins.uppers.tolist(), strict=True)]
    return [*(low if low == high else f"{low} to {high}" for low, high in ends), None]


def _plain_number(number: float) -> str:
    return figure(number, 12, grouped=False)


def _category_labels(domain: AttributeDomain, bins: Bins) -> list[str]:
    sizes = np.bincount(bins.bin_of[:-1], minlength=bins.count)
    named: list[str] = [f"{size} other values" for size in sizes.tolist()]
    for code, place in enumerate(bins.bin_of[:-1].tolist()):
        if sizes[place] == 1:
            named[place] = domain.texts[code]
    return named


_CONFIDENCE = 0.95


WIDTH = NormalDist().inv_cdf((1 + _CONFIDENCE) / 2)
"""Standard errors on each side of a coefficient."""


_ALIASED = 1e-7
"""A column of which less than this is left, once those before it are taken out, has no coefficient of its own."""


_EXACT = 1e-9
"""An interval that is narrower than this share of its coefficient is nothing but rounding."""


def _regression(target: AttributeDomain, on: Sequence[AttributeDomain], before: Rows, after: Rows) -> RegressionKept:
    """Regress a column of numbers on others, before and after."""
    # `on`: Numbers and dates count as they are; of categories each has a column of its own but the most frequent one.
    # `before`, `after`: Records of the original and of the release. A range is its middle, a category its share in a
    # cell; records with a missing value among the columns are left out.
    #
    # Weighted least squares. Intervals of 95 % by the sandwich estimator of variance, times n / (n − p), with the
    # quantile of the normal distribution: they hold for many records, unequal variances, and weights by unequal chances
    # to be drawn; strata and clusters of a survey are not known here. Cost O(n p²).
    names = ["(intercept)", *(name for domain in on for name in _names(domain))]
    sides = [_fitted(*_design(rows, target, on)) for rows in (before, after)]
    coefficients = tuple(
        Coefficient(name, one, other, _overlap(one, other))
        for name, one, other in zip(names, sides[0][0], sides[1][0], strict=True)
    )
    return RegressionKept(target.name, tuple(domain.name for domain in on), sides[0][1], sides[1][1], coefficients)


def _names(domain: AttributeDomain) -> list[str]:
    if domain.numbers is not None:
        return [domain.name]
    labels = _bin_labels(domain, coarse(domain, _NUMBER_BINS, _CATEGORIES))[:-1]
    return [f"{domain.name} = {label}" for place, label in enumerate(labels) if place != _usual(domain)]


def _usual(domain: AttributeDomain) -> int:
    """Return the bin of the most frequent category, the first of several."""
    bins = coarse(domain, _NUMBER_BINS, _CATEGORIES)
    return int(np.bincount(bins.bin_of[domain.codes], minlength=bins.count + 1)[: max(bins.count, 1)].argmax())


def _design(rows: Rows, target: AttributeDomain, on: Sequence[AttributeDomain]) -> tuple[Floats, Floats, Floats]:
    """Return the columns, with the intercept first, the target, and the weights, of records where all are known."""
    outcomes = rows.spreads[target.name].values()[rows.labels[target.name]]
    columns = np.hstack([np.ones((len(outcomes), 1)), *(_columns(rows, domain) for domain in on)])
    known = ~np.isnan(outcomes) & ~np.isnan(columns).any(axis=1)
    return columns[known], outcomes[known], rows.weights[known]


def _columns(rows: Rows, domain: AttributeDomain) -> Floats:
    """Return a column of numbers, or one for each category but the usual one; NaN where the value is missing."""
    spread, label_of = rows.spreads[domain.name], rows.labels[domain.name]
    if domain.numbers is not None:
        return spread.values()[label_of][:, None]
    shares = spread.histogram(coarse(domain, _NUMBER_BINS, _CATEGORIES))
    known = shares[:, :-1].sum(axis=1, keepdims=True)
    among = np.full((len(shares), shares.shape[1] - 1), np.nan)
    np.divide(shares[:, :-1], known, out=among, where=known > 0)
    found: Floats = np.delete(among, _usual(domain), axis=1)[label_of]
    return found


def _fitted(columns: Floats, outcomes: Floats, weights: Floats) -> tuple[list[Estimate | None], int]:
    """Return each coefficient with its interval, None if it is not determined; and the number of records."""
    root = np.sqrt(weights / weights.mean()) if len(weights) else weights
    scaled, goal = columns * root[:, None], outcomes * root
    kept, basis = _independent(scaled)
    found: list[Estimate | None] = [None] * columns.shape[1]
    freedom = len(goal) - len(kept)
    if freedom < 1:
        return found, len(goal)
    upper = basis.T @ scaled[:, kept]
    projected = basis.T @ goal
    values = np.linalg.solve(upper, projected)
    errors = goal - basis @ projected
    turned = np.linalg.solve(upper, basis.T * errors)
    spread = WIDTH * np.sqrt((turned**2).sum(axis=1) * len(goal) / freedom)
    for place, value, width in zip(kept, values.tolist(), spread.tolist(), strict=True):
        found[place] = Estimate(value, value - width, value + width)
    return found, len(goal)


def _independent(columns: Floats) -> tuple[list[int], Floats]:
    """Return which columns do not follow from those before them, and an orthonormal basis of them."""
    # They are taken in their order, so that what is left out does not depend on rounding.
    kept: list[int] = []
    basis = np.empty((len(columns), 0))
    for place, column in enumerate(columns.T):
        rest = column
        for _ in range(2):
            # The second time takes out what rounding left the first time.
            rest = rest - basis @ (basis.T @ rest)
        length = float(np.linalg.norm(rest))
        if length > _ALIASED * float(np.linalg.norm(column)):
            kept.append(place)
            basis = np.column_stack([basis, rest / length])
    return kept, basis


def _overlap(one: Estimate | None, other: Estimate | None) -> float | None:
    """Return the mean share of both intervals that lies in the other; None without two intervals that have a width."""
    if one is None or other is None:
        return None
    widths = [each.high - each.low for each in (one, other)]
    if any(width <= _EXACT * abs(each.value) for width, each in zip(widths, (one, other), strict=True)):
        return None
    common = max(min(one.high, other.high) - max(one.low, other.low), 0.0)
    return sum(common / width for width in widths) / 2
