"""What a recipient computes from a release without the original, each figure with the bounds that must hold."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import Form
from sfumato.errors import InputError, PolicyError
from sfumato.published import Published, PublishedTable
from sfumato.published.protocol import named
from sfumato.recoding.cells import CellColumn, Domain, check_domain, filled_ends, in_form, read_cells
from sfumato.recoding.choice import Recoding
from sfumato.recoding.notation import STAR, Cells
from sfumato.release.agreement import PublishedPolicy
from sfumato.release.release import Release, as_pandas
from sfumato.release.verify import read_release
from sfumato.table.schema import Kind

_Floats = NDArray[np.float64]
_Where = Mapping[str, Any]
Number = float | datetime.date

_SLACK = 1e-12
"""Share of a sum by which rounding may miss it."""


@dataclass(frozen=True)
class Figure:
    """A figure of the published people, and the ends between which it must lie.

    Attributes
    ----------
    estimate : float or datetime.date
        What comes out where every value lies in the middle of its cell, or is each member of it with the same chance.
    low, high : float or datetime.date
        The figure of the original values of these people lies between them, whatever these are inside their cells.
    records : int
        Records that the figure is about.
    unbounded : int
        Records left out, because their cell says nothing: ``*`` without a declared domain, or an open end.
    missing : int
        Records left out, because the value is missing.
    """

    estimate: Number
    low: Number
    high: Number
    records: int
    unbounded: int = 0
    missing: int = 0

    def __str__(self) -> str:
        """Say the figure, its bounds and what it is about in one line."""
        left = [
            f"{count:,} {word}"
            for count, word in ((self.unbounded, "without bounds"), (self.missing, "missing"))
            if count
        ]
        apart = f"; left out: {', '.join(left)}" if left else ""
        return f"{_text(self.estimate)} (from {_text(self.low)} to {_text(self.high)}; {self.records:,} records{apart})"

    def _repr_html_(self) -> str:
        """Show notebooks the figure, its bounds and what was left out."""
        from sfumato.notebook import card, notebook_table

        left = {"without bounds": self.unbounded, "missing": self.missing}
        rows = [[_text(self.estimate), _text(self.low), _text(self.high), *map(str, left.values())]]
        heads = ("estimate", "at least", "at most", *left)
        return card("Figure", f"{self.records:,} records", notebook_table(heads, rows, range(len(heads))))


def _text(value: Number) -> str:
    return value.isoformat() if isinstance(value, datetime.date) else f"{value:.6g}"


@dataclass(frozen=True, eq=False, repr=False)
class _Values:
    """Numbers of some records: ends of each, an estimate, and how many records were left out."""

    low: _Floats
    high: _Floats
    middle: _Floats
    rows: NDArray[np.bool_]  # (n,): which records of the table they are of
    unbounded: int
    missing: int


@dataclass(frozen=True, eq=False, repr=False)
class _Group:
    """Records that meet conditions: (n,) each."""

    surely: NDArray[np.bool_]  # whatever their values are inside their cells
    maybe: NDArray[np.bool_]  # for some of these values, those above included
    chance: _Floats  # that they do, where each value of a cell has the same chance

    @property
    def is_sure(self) -> bool:
        """Whether nothing is in doubt."""
        return bool((self.surely == self.maybe).all())


@dataclass(frozen=True, eq=False, repr=False)
class OpenRelease:
    """A release as its recipient has it; made by :func:`sfumato.open_release`.

    Attributes
    ----------
    data : polars.DataFrame
        The published table, labels as text.
    quasi_identifying, sensitive : tuple of str
        Columns of each role; every other column is published as it is.
    recoding : Recoding
        How the table was published, as its policy says.

    Notes
    -----
    Every bound follows from the published cells alone, taken one by one: an interval ``[a..b]`` holds the value, a set
    holds it among its members, a class mean is the mean of its class up to the digits it is written with. Bounds speak
    of the published people: nothing is known of people who were left out. Every row is one record; where people have
    several, each counts with all of theirs. A ``*`` says nothing; such records are
    counted as `unbounded` and left out of the figure, unless `domain` declares what there may be.
    """

    data: pl.DataFrame
    quasi_identifying: tuple[str, ...]
    sensitive: tuple[str, ...]
    recoding: Recoding = field(default_factory=Recoding)
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    domain: Domain = field(default_factory=dict)

    def __repr__(self) -> str:
        """Count records and columns."""
        return f"OpenRelease({self.data.height:,} records; {', '.join(self.data.columns)})"

    def _repr_html_(self) -> str:
        """Show notebooks the columns and their roles; for the published values ask for ``data``."""
        from sfumato.notebook import card, notebook_table

        roles = {
            **dict.fromkeys(self.quasi_identifying, "quasi-identifying"),
            **dict.fromkeys(self.sensitive, "sensitive"),
        }
        rows = [[name, roles.get(name, "as it is")] for name in self.data.columns]
        return card(
            "Release, as its recipient has it",
            f"{self.data.height:,} records",
            notebook_table(("column", "role"), rows),
        )

    @cached_property
    def columns(self) -> dict[str, CellColumn]:
        """Every published column as numbers or sets of values, by name."""
        return {name: self._column(name) for name in self.data.columns}

    def _column(self, name: str) -> CellColumn:
        setting = self.settings.get(name, {})
        kind = setting.get("kind")
        hierarchy = setting.get("hierarchy")
        node = str(hierarchy.get("kind")) if isinstance(hierarchy, Mapping) else "file" if hierarchy else ""
        form, is_set = self._form(name, node), bool(self.data[name].cast(pl.String).str.starts_with("{").any())
        if form is Form.SET and name not in self.recoding.forms and not is_set:
            # Nobody said that it is a set, and no label is one: numbers and dates have this form, if they are any.
            form = self.recoding.numeric
        elif form is Form.SET and name not in self.recoding.forms:
            kind = "categorical"
        read_as = "categorical" if kind == "ordered" else kind
        column = read_cells(
            self.data[name],
            form=form,
            hierarchy=node,
            kind=Kind(read_as) if read_as in ("numeric", "date", "categorical") else None,
        )
        if kind == "ordered":
            return replace(column, form=None, order=tuple(map(str, self.domain.get(name, ()))))
        return column if column.is_number or form is not self.recoding.numeric else replace(column, form=Form.SET)

    def _form(self, name: str, hierarchy: str) -> Form | None:
        if name not in self.quasi_identifying:
            return None
        return self.recoding.forms.get(name, Form.ANCESTOR if hierarchy else Form.SET)

    # Tables.

    def to_polars(self, *, cells: Cells = "label", seed: int | None = None) -> pl.DataFrame:
        """Return the published table with its quasi-identifying cells in one form.

        Parameters
        ----------
        cells
            ``"label"``: text, as published. ``"bounds"``: two columns, ``NAME_low`` and ``NAME_high``. ``"interval"``:
            a struct of both. ``"midpoint"``: the middle, the mean of a class as it is. ``"drawn"``: one value drawn
            evenly from each cell. Categories have numbers in no form but the last; a ``*`` is null unless `domain`
            declares the column.
        seed
            Of the draws; None draws anew each time.

        Notes
        -----
        Draws read the published labels and the declared domain alone, so that they tell nothing that the release does
        not. Drawn values are nobody's; a table of them promises nothing by itself.

        Raises
        ------
        PolicyError
            When the form is unknown.
        """
        own = [column for name, column in self.columns.items() if name in self.quasi_identifying]
        return in_form(
            self.data,
            own,
            cells,
            {name: values for name, values in self.domain.items() if name in self.quasi_identifying},
            seed,
        )

    def to_pandas(self, *, cells: Cells = "label", seed: int | None = None) -> Any:
        """Return the same as a pandas frame; intervals are those of pandas, closed at both ends.

        Raises
        ------
        PolicyError
            As :meth:`to_polars`; also where pandas is not installed.
        """
        frame = self.to_polars(cells=cells, seed=seed)
        ranges = [column for column in frame if isinstance(column.dtype, pl.Struct)]
        made = as_pandas(frame.drop(column.name for column in ranges), {})
        if ranges:
            import pandas as pd
        for column in ranges:
            ends = [column.struct.field(end).to_pandas() for end in ("low", "high")]
            made[column.name] = pd.arrays.IntervalArray.from_arrays(*ends, closed="both")
        return made[list(frame.columns)]

    # Figures.

    def mean(self, column: str, *, by: str | None = None, where: _Where | None = None) -> Figure | pl.DataFrame:
        """Return the mean of a column of numbers or dates.

        Parameters
        ----------
        column
            Its name.
        by
            A column of categories: one mean for each of its values, as a frame with the columns of that name,
            ``estimate``, ``low``, ``high``, ``least`` and ``most`` (records that the group has at least and at most).
        where
            Only records that meet conditions; see :meth:`count`.

        Returns
        -------
        Figure or polars.DataFrame
            The ends are exact: some values inside the cells have them as their mean. Of class means the mean of all
            records, and of groups that are made of whole classes, is known up to the digits of the means.

        Raises
        ------
        InputError
            When there is no such column, or it holds nothing to compute with.

        Notes
        -----
        A record that may or may not belong to a group counts in the way that moves the end farthest. Cost O(n log n)
        for each group.
        """
        values = self._values(column, of_means=True)
        if by is None:
            return self._mean_of(column, values, self._group(where or {}))
        rows = []
        for value in self._groups(by):
            group = self._group({**(where or {}), by: value})
            figure = self._mean_of(column, values, group)
            least, most = (int((each & values.rows).sum()) for each in (group.surely, group.maybe))
            ends = {"estimate": figure.estimate, "low": figure.low, "high": figure.high}
            rows.append({by: value, **ends, "least": least, "most": most})
        return pl.DataFrame(rows, infer_schema_length=None)

    def _mean_of(self, name: str, values: _Values, group: _Group) -> Figure:
        if self.columns[name].form is Form.MEAN and not self._is_whole_classes(group):
            raise InputError(
                f"column {name!r} holds class means: a mean of part of a class is not bounded; "
                "group by a quasi-identifying column that is published exactly, or by none"
            )
        sure, possible = group.surely[values.rows], (group.maybe & ~group.surely)[values.rows]
        count = int(sure.sum() + possible.sum())
        if not count:
            return self._figure(name, (math.nan, math.nan, math.nan), 0, values)
        low = _least_mean(values.low[sure], values.low[possible])
        high = -_least_mean(-values.high[sure], -values.high[possible])
        weights = group.chance[values.rows]
        estimate = float(np.average(values.middle, weights=weights)) if weights.any() else (low + high) / 2
        slack = _SLACK * float(np.maximum(np.abs(values.low), np.abs(values.high)).max())
        return self._figure(name, (min(max(estimate, low), high), low - slack, high + slack), count, values)

    def quantile(self, column: str, share: float = 0.5) -> Figure:
        """Return the smallest value that at least a `share` of the records do not exceed; 0.5 is the median.

        Raises
        ------
        InputError
            As :meth:`mean`; also for class means, which say nothing of a quantile.
        PolicyError
            When `share` is not above 0 and at most 1.

        Notes
        -----
        The ends are exact where cells are intervals. Cost O(n log n).
        """
        if not 0 < share <= 1:
            raise PolicyError("share must be above 0 and at most 1")
        values = self._values(column)
        if not len(values.low):
            return self._figure(column, (math.nan,) * 3, 0, values)
        place = max(math.ceil(share * len(values.low) - 1e-9) - 1, 0)
        found = [float(np.partition(each, place)[place]) for each in (values.middle, values.low, values.high)]
        return self._figure(column, (found[0], found[1], found[2]), len(values.low), values)

    def count(self, where: _Where | None = None) -> Figure:
        """Return how many published records meet all conditions.

        Parameters
        ----------
        where
            Column → what its value must be: a value, a list of values, or for numbers and dates ``(low, high)``, both
            included.

        Returns
        -------
        Figure
            The lower end counts records whose cells leave no doubt, the upper one those whose cells allow it. Both are
            exact; a ``*`` allows everything.

        Raises
        ------
        InputError
            When there is no such column, or it is published as nodes of a hierarchy that may hold each other.
        """
        group = self._group(where or {})
        ends = int(group.surely.sum()), int(group.maybe.sum())
        return Figure(float(group.chance.sum()), *ends, self.data.height)

    def counts(self, column: str) -> pl.DataFrame:
        """Return :meth:`count` for each value of a column of categories: ``estimate``, ``low`` and ``high``."""
        return self.cross_table(column)

    def cross_table(self, *columns: str) -> pl.DataFrame:
        """Return :meth:`count` for each combination of values of some columns that may occur.

        Raises
        ------
        InputError
            As :meth:`count`; also for columns of numbers that are no categories: give :meth:`count` ranges of them.
        """
        if not columns:
            raise InputError("cross_table: name one column or more")
        groups = [self._groups(name) for name in columns]
        rows = []
        for values in _products(groups):
            where = dict(zip(columns, values, strict=True))
            figure = self.count(where)
            if figure.high:
                rows.append({**where, "estimate": figure.estimate, "low": figure.low, "high": figure.high})
        return pl.DataFrame(rows, infer_schema_length=None)

    def regression(self, target: str, on: Sequence[str]) -> pl.DataFrame:
        """Fit a linear regression by least squares, and bound its coefficients.

        Parameters
        ----------
        target
            A column of numbers or dates (days).
        on
            Columns of numbers or dates that explain it. One may be generalized; of several, none.

        Returns
        -------
        polars.DataFrame
            One row a coefficient, ``(intercept)`` first: ``term``, ``estimate`` at the middle of every cell, ``low``,
            ``high`` and ``width``. Ends are exact where every explaining column is published exactly; else outer ones:
            the coefficient lies between them, and they may be wider than it needs. They are infinite where all people
            may have one value of the column.

        Raises
        ------
        InputError
            As :meth:`mean`; where a column holds class means, or several explain and one of them is generalized:
            neither is bounded.

        Notes
        -----
        Records with a missing cell or a ``*`` in any of the columns are left out, whatever `domain` declares: behind a
        ``*`` the value may be missing, and nobody knows whether the record would count.
        Cost O(n · p²), with one generalized column O(n) some hundred times.
        """
        names = [on] if isinstance(on, str) else list(on)
        values = {name: self._values(name, declared=False) for name in dict.fromkeys([target, *names])}
        rows = np.logical_and.reduce([each.rows for each in values.values()])
        low, high, middle = (
            {name: getattr(each, end)[rows[each.rows]] for name, each in values.items()}
            for end in ("low", "high", "middle")
        )
        loose = [name for name in names if (low[name] < high[name]).any()]
        if loose and len(names) > 1:
            raise InputError(
                f"regression on several columns: {named(loose)} {'is' if len(loose) == 1 else 'are'} generalized, and "
                "no bound is known; explain by one column"
            )
        if rows.sum() <= len(names) + 1:
            raise InputError("regression: too few records have a bounded value in every column")
        design = np.column_stack([np.ones(int(rows.sum())), *(middle[name] for name in names)])
        if np.linalg.matrix_rank(design) < design.shape[1]:
            raise InputError("regression: a column is constant, or follows from the others; leave it out")
        solution = np.linalg.pinv(design)
        estimate = solution @ middle[target]
        if loose:
            from sfumato.release.slopes import slope_bounds  # only a regression on one column needs it

            ends = slope_bounds(low[names[0]], high[names[0]], low[target], high[target])
        else:
            # Linear in the target: each record counts with the end that moves the coefficient farthest.
            terms = [(row * low[target], row * high[target]) for row in solution]
            ends = [(float(np.minimum(*pair).sum()), float(np.maximum(*pair).sum())) for pair in terms]
        slack = 1e-9 * np.abs(solution) @ np.maximum(np.abs(low[target]), np.abs(high[target]))
        return pl.DataFrame(
            [
                {"term": term, "estimate": float(value), "low": down - more, "high": up + more, "width": up - down}
                for term, value, (down, up), more in zip(
                    ["(intercept)", *names], estimate, ends, slack.tolist(), strict=True
                )
            ]
        )

    # What figures are made of.

    def _find(self, name: str) -> CellColumn:
        if name not in self.columns:
            raise InputError(f"there is no column {name!r}; the release has {named(self.data.columns)}")
        return self.columns[name]

    def _values(self, name: str, *, of_means: bool = False, declared: bool = True) -> _Values:
        column = self._find(name)
        if column.labels.is_in([STAR]).fill_null(True).all():
            raise InputError(f"column {name!r}: every cell is * or missing, and says nothing of a figure")
        if not column.is_number:
            raise InputError(
                f"column {name!r} is no column of numbers or dates; count its values with counts({name!r})"
            )
        low, high = filled_ends(column, self.domain.get(name) if declared else None)
        middle = (low + high) / 2
        if column.form is Form.MEAN:
            if not of_means or self.recoding.average is not None:
                word = self.recoding.average or "mean"
                raise InputError(f"column {name!r} holds the {word} of each class: this figure is not bounded by it")
            # A mean is written with as many digits as the column shows, or more.
            error = 0.5 * (1.0 if column.kind is Kind.DATE else 10.0**-column.decimals)
            low, high = low - error, high + error
        rows = (np.isfinite(low) & np.isfinite(high))[column.label_of]
        missing = int(column.missing[column.label_of].sum())
        low, high, middle = (each[column.label_of][rows] for each in (low, high, middle))
        return _Values(low, high, middle, rows, int((~rows).sum()) - missing, missing)

    def _figure(self, name: str, ends: tuple[float, float, float], records: int, values: _Values) -> Figure:
        estimate, low, high = ends
        if self.columns[name].kind is Kind.DATE and records:
            return Figure(
                _day(round(estimate)),
                _day(math.floor(low + 1e-6)),
                _day(math.ceil(high - 1e-6)),
                records,
                values.unbounded,
                values.missing,
            )
        return Figure(estimate, low, high, records, values.unbounded, values.missing)

    def _groups(self, name: str) -> list[str | None]:
        """Return every value that a record may have in a column of categories, missing last."""
        column = self._find(name)
        if column.is_number and (column.low < column.high).any():
            raise InputError(
                f"column {name!r} holds ranges of numbers; count one range with count({{{name!r}: (low, high)}})"
            )
        self._refuse_nodes(column)
        found = {value for members in self._members(column) if members is not None for value in members}
        found |= {str(value) for value in self.domain.get(name, ())} if not column.is_number else set()
        return sorted(found, key=lambda value: (value is None, value or ""))

    def _members(self, column: CellColumn) -> Sequence[frozenset[str | None] | None]:
        if column.is_number:
            return [
                None if math.isnan(low) and label is not None else frozenset([label])
                for label, low in zip(column.labels.to_list(), column.low.tolist(), strict=True)
            ]
        return column.members

    def _refuse_nodes(self, column: CellColumn) -> None:
        if column.form is Form.ANCESTOR and not column.is_number and len(column.labels) > 1:
            raise InputError(
                f"column {column.name!r} is published as nodes of a hierarchy, which may hold each other: counts of "
                "single values are not bounded"
            )

    def _group(self, where: _Where) -> _Group:
        surely, maybe = np.ones(self.data.height, bool), np.ones(self.data.height, bool)
        chance = np.ones(self.data.height)
        for name, wanted in where.items():
            column = self._find(name)
            sure, possible, part = (each[column.label_of] for each in self._share_of_labels(column, wanted))
            surely, maybe, chance = surely & sure, maybe & possible, chance * part
        return _Group(surely, maybe, chance)

    def _share_of_labels(self, column: CellColumn, wanted: Any) -> tuple[NDArray[np.bool_], NDArray[np.bool_], _Floats]:
        """Return of each label whether it surely and possibly meets a condition, and with which chance."""
        if column.is_number and isinstance(wanted, tuple):
            return _in_range(column, wanted, filled_ends(column, self.domain.get(column.name)))
        self._refuse_nodes(column)
        values = {None if value is None else str(value) for value in (wanted if isinstance(wanted, list) else [wanted])}
        if column.is_number and (column.low < column.high).any():
            raise InputError(f"column {column.name!r} holds ranges of numbers; give a range (low, high)")
        declared = self.domain.get(column.name)
        everything = None if declared is None or column.is_number else frozenset(map(str, declared)) | {None}
        members = [everything if found is None else found for found in self._members(column)]
        sure = np.array([found is not None and found <= values for found in members])
        possible = np.array([found is None or bool(found & values) for found in members])
        part = np.array([0.5 if found is None else len(found & values) / len(found) for found in members])
        return sure, possible, part

    def _is_whole_classes(self, group: _Group) -> bool:
        """Tell whether a group is made of whole classes, so that the sum of their means is that of their values."""
        if not group.is_sure:
            return False
        keys = self.data.select(self.quasi_identifying).with_columns(pl.Series("*", group.surely))
        return bool(keys.group_by(self.quasi_identifying).agg(pl.col("*").n_unique())["*"].max() == 1)


def _in_range(
    column: CellColumn, wanted: tuple[Any, ...], ends: tuple[_Floats, _Floats]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], _Floats]:
    if len(wanted) != 2:
        raise PolicyError("a range is (low, high)")
    asked = read_cells(pl.Series("range", [str(end) for end in wanted]), kind=column.kind)
    if not asked.is_number:
        raise PolicyError(
            f"a range of column {column.name!r} is two {'dates' if column.kind is Kind.DATE else 'numbers'}"
        )
    first, last = asked.low[asked.label_of[0]], asked.high[asked.label_of[1]]
    low, high = ends
    # Behind a star the value may be missing, too, whatever its domain is.
    star = column.labels.eq_missing(STAR).to_numpy()
    half_open = column.labels.str.ends_with(")").fill_null(False).to_numpy()
    below = np.where(half_open, high <= first, high < first)
    sure = ~star & (first <= low) & (high <= last)
    possible = np.isnan(low) | (~below & (low <= last))
    width = np.where(high > low, high - low, 1.0)
    part = np.clip((np.minimum(high, last) - np.maximum(low, first)) / width, 0.0, 1.0)
    return sure, possible & ~column.missing, np.where(np.isnan(low), 0.5, np.where(sure, 1.0, np.nan_to_num(part)))


def _least_mean(sure: _Floats, possible: _Floats) -> float:
    """Return the least mean of all sure values and any of the possible ones; of none at all, of one possible."""
    sums = float(sure.sum()) + np.concatenate([[0.0], np.cumsum(np.sort(possible))])
    counts = len(sure) + np.arange(len(possible) + 1)
    return float((sums[counts > 0] / counts[counts > 0]).min())


def _products(groups: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = [()]
    for values in groups:
        found = [(*start, value) for start in found for value in values]
    return found


def _day(days: float) -> datetime.date:
    return datetime.date(1970, 1, 1) + datetime.timedelta(days=days)


def open_release(release: Release | str | Path, *, domain: Domain | None = None) -> OpenRelease:
    """Open a release as its recipient has it, to compute with: means, counts, quantiles, cross tables, regressions.

    Parameters
    ----------
    release
        The folder of a release, the URL of one in a database, or a release in memory. Nothing of the original is read.
        Nothing is recounted either: :func:`sfumato.verify` first.
    domain
        For columns, what a ``*`` may stand for: ``(lowest, highest)`` of numbers and dates, every value of a category.

    Returns
    -------
    OpenRelease
        See there for what its bounds mean.

    Raises
    ------
    InputError
        When there is no release, or it is no table of records, one row each, whose cells bound single values; or rows
        of it are counterfeits.
    PolicyError
        When `domain` does not fit.
    VerificationError
        When the release is damaged.

    Examples
    --------
    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": [20, 21, 30, 39], "cost": [1.0, 2.0, 3.0, 6.0]})
    >>> schema = sf.Schema(quasi_identifying=["age"], sensitive=["cost"])
    >>> opened = sf.open_release(sf.anonymize(people, sf.KAnonymity(2), schema=schema, seed=1))
    >>> print(opened.mean("cost"))
    3 (from 3 to 3; 4 records)
    >>> figure = opened.mean("age")
    >>> figure.low <= people["age"].mean() <= figure.high
    True
    """
    opened = read_release(release)
    return open_published(opened.published, opened.policy, domain or {})


def open_published(published: Published, policy: PublishedPolicy, domain: Domain) -> OpenRelease:
    """Open a published table; see :func:`open_release`."""
    if not isinstance(published, PublishedTable):
        raise InputError(
            f"is a release of the kind {published.kind}: no row of it is a record, so that no figure of records is "
            "bounded; its tables are files of the folder"
        )
    if published.counterfeits is not None:
        raise InputError(
            f"has counterfeit records, which no figure can leave out; column {published.counterfeits!r} counts them in "
            "each class"
        )
    found = OpenRelease(
        published.data,
        published.quasi_identifying,
        published.sensitive,
        policy.recoding(),
        _settings(policy),
        dict(domain),
    )
    check_domain(found.domain, list(found.columns.values()))
    return found


def _settings(policy: PublishedPolicy) -> dict[str, Mapping[str, Any]]:
    """Return what a policy says of each quasi-identifying column; nothing where it is a list of names."""
    columns = policy.content.get("columns", {})
    given = columns.get("quasi-identifying", {}) if isinstance(columns, Mapping) else {}
    entries = given.items() if isinstance(given, Mapping) else ()
    return {name: entry for name, entry in entries if isinstance(entry, Mapping)}
