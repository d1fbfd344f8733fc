"""Changes of numbers: noise, rounding, bounds.

Noise addition: normal noise as wide as a share of the spread of numbers and dates, alone or correlated like them.

Rounding, and top and bottom coding: multiples of a base, and bounds for what lies beyond them.
"""

from __future__ import annotations

import math
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
    Floats,
    PresentCells,
    attribute_problems,
    draw_normal,
    draw_uniform,
    fitting_attributes,
    present_cells,
    publish_changed,
    refuse_misfits,
    refuse_overflow,
)
from sfumato.errors import InputError
from sfumato.models.protocol import PrivacyModel, Subject
from sfumato.options import Checked, Limit, Names
from sfumato.published import RandomizedTable
from sfumato.randomness import another
from sfumato.table.encoding import EncodedTable
from sfumato.table.schema import is_finite_number, plain_setting
from sfumato.table.table import Table

_FOLLOWS = 1e-12
"""The share of a column's variance below which the columns before it leave nothing open but rounding."""


@dataclass(frozen=True)
class Noise(Checked):
    """Add normal noise to numbers and dates.

    Parameters
    ----------
    amount
        Standard deviation of the noise, as a multiple of that of the attribute; above 0.
    correlated
        False: each attribute has noise of its own. True: the noise of all attributes is correlated as they are, so that
        correlations stay what they were on average.
    attributes
        Numbers and dates; None: every quasi-identifying one.
    rescaled
        Draw noisy numbers towards their mean, by √(1 + amount²), so that variances stay what they were on average; with
        correlated noise covariances stay, too.
    in_range
        Turn back what leaves the range of the original at its ends, by as much as it left. Means and variances change a
        little by that, more the more records lie near an end.
    exact
        Draw correlated noise that has nothing in common with the records, so that rescaled numbers have exactly their
        means and covariances, but for rounding; where numbers are missing, on average.

    Raises
    ------
    PolicyError
        With options that contradict each other.

    Notes
    -----
    *Guarantee.* None that is syntactic, and no differential privacy either. On average means stay; variances grow by
    the factor ``1 + amount²``, and with correlated noise covariances, too, so that dividing by it gives the original
    ones, unless numbers are rescaled. With `exact` that is so in every release. Whole numbers and dates are rounded;
    values may leave the range of the original, unless they are turned back. What is missing stays so.

    *Complexity.* O(a² n) for a attributes.

    *Source.* J. J. Kim, "A method for limiting disclosure in microdata based on random noise and transformation", 1986;
    R. Brand, "Microdata protection through noise addition", 2002.
    """

    name: ClassVar[str] = "noise"
    kind: ClassVar[str] = RandomizedTable.kind
    promises: ClassVar[Subject | None] = None

    amount: Annotated[float, Limit(0, above=True)] = 0.1
    correlated: bool = False
    attributes: Names | None = None
    rescaled: bool = False
    in_range: bool = False
    exact: bool = False

    def _mistakes(self) -> Iterator[str]:
        if self.exact and not (self.correlated and self.rescaled):
            yield "noise: exact keeps means and covariances of correlated, rescaled noise; set correlated and rescaled"
        if self.exact and self.in_range:
            yield "noise: numbers that are turned back have other means and covariances; leave exact or in_range out"

    def check(self, table: EncodedTable, models: Sequence[PrivacyModel]) -> None:
        """Raise PolicyError with every attribute that does not fit."""
        refuse_misfits(self.name, models, attribute_problems(self.name, table, self.attributes, MEASURED))

    def publish(self, problem: Problem, table: Table) -> Publication:
        """Add noise and shuffle the rows.

        Raises
        ------
        InputError
            When numbers are so large that noise would not fit them.
        """
        names = fitting_attributes(problem.table, self.attributes, MEASURED)
        columns = [present_cells(table.frame[name]) for name in names]
        values = np.column_stack([_with_gaps(cells) for cells in columns])
        draw = _exact_noise if self.exact else correlated_noise if self.correlated else plain_noise
        with np.errstate(over="ignore", invalid="ignore"):
            noise = draw(values, self.amount, problem.seed)
        changed = [self._noisy(cells, noise[cells.places, place]) for place, cells in enumerate(columns)]
        return publish_changed(table, dict(zip(names, changed, strict=True)), problem.seed)

    def _noisy(self, cells: PresentCells, noise: Floats) -> pl.Series:
        """Add noise to the numbers of a column."""
        refuse_overflow(cells, float(np.abs(noise).max(initial=0.0)))
        change = noise
        if self.rescaled and len(noise):
            # Rounded once, so that no order of the records and no processor changes it.
            away = cells.numbers - math.fsum(cells.numbers.tolist()) / len(noise)
            change = (away + noise) / math.sqrt(1 + self.amount**2) - away
        if self.in_range and len(noise):
            change = _turned_back(cells.numbers.astype(np.float64), change)
        moved = cells.numbers + (np.rint(change).astype(np.int64) if cells.is_whole else change)
        if self.in_range and len(noise):
            moved = np.clip(moved, cells.numbers.min(), cells.numbers.max())
        return cells.with_numbers(moved)


def _turned_back(numbers: Floats, change: Floats) -> Floats:
    """Fold what leaves the range of the numbers at its ends, until it is inside; return the change that is left."""
    low, width = float(numbers.min()), float(numbers.max() - numbers.min())
    if width == 0:
        return np.zeros_like(change)
    beyond = np.mod(numbers + change - low, 2 * width)
    folded: Floats = low + np.where(beyond > width, 2 * width - beyond, beyond) - numbers
    return folded


def _with_gaps(cells: PresentCells) -> Floats:
    full = np.full(len(cells.column), np.nan)
    full[cells.places] = cells.numbers
    return full


def plain_noise(values: Floats, amount: float, seed: int | None) -> Floats:
    """Draw normal noise for every column by itself, of `amount` deviations; variances grow by ``1 + amount²``."""
    drawn = draw_normal(values.size, seed).reshape(values.shape)
    return drawn * (amount * _deviations(values))


def correlated_noise(values: Floats, amount: float, seed: int | None) -> Floats:
    """Draw normal noise whose covariance is ``amount²`` times that of the columns.

    So correlations stay what they were on average, and every covariance grows by the factor ``1 + amount²``. They are
    measured on the records without a missing value; columns that vary only elsewhere get plain noise. Parameters and
    the shape of what is returned are those of :func:`plain_noise`.
    """
    drawn = draw_normal(values.size, seed).reshape(values.shape)
    complete = values[~np.isnan(values).any(axis=1)]
    if len(complete) < 2:
        return drawn * (amount * _deviations(values))
    scale = _deviations(values)
    divisor = np.where(scale > 0, scale, 1.0)
    centered = np.asfortranarray((complete - complete.mean(axis=0)) / divisor)
    root = _square_root(_covariance(centered), lone=scale > 0)
    noise = np.zeros_like(drawn)
    for direction, weights in enumerate(root.T):
        noise += drawn[:, direction, None] * weights
    return noise * (amount * scale)


def _exact_noise(values: Floats, amount: float, seed: int | None) -> Floats:
    """Draw correlated noise with exactly the covariance asked for, mean 0, and nothing in common with the columns."""
    # That is so over the records without a missing value; all others get :func:`correlated_noise`. Parameters and the
    # shape of what is returned are those of :func:`plain_noise`. Raises ``InputError`` when there are too few such
    # records: no more than twice as many as columns. What is drawn is freed from its mean, from what follows of it from
    # the columns, and from what its columns have in common, one column after the other; then it is correlated as the
    # columns are. Cost O(a² n).
    drawn = draw_normal(values.size, seed).reshape(values.shape)
    whole = ~np.isnan(values).any(axis=1)
    count, width = int(whole.sum()), values.shape[1]
    if count <= 2 * width:
        raise InputError(
            f"noise: exact needs more than {2 * width:,} records without a missing value for {width:,} columns, and "
            f"there are {count:,}; leave exact out, or columns"
        )
    scale = _deviations(values)
    centered = (values[whole] - values[whole].mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    free = _freed(np.column_stack([centered, drawn[whole] - drawn[whole].mean(axis=0)]))[:, width:]
    drawn[whole] = free
    root = _square_root(_covariance(np.asfortranarray(centered)), lone=scale > 0)
    noise = np.zeros_like(drawn)
    for direction, weights in enumerate(root.T):
        noise += drawn[:, direction, None] * weights
    return noise * (amount * scale)


def _freed(columns: Floats) -> Floats:
    """Free each column of mean 0, float64 (n, b), from those before it, and make its variance 1, or 0."""
    found = np.zeros_like(columns, order="F")
    for place, column in enumerate(columns.T):
        whole, rest = float((column * column).sum()), column.copy()
        # Twice, as the first time leaves what was rounded.
        for _ in range(2):
            for before in found[:, :place].T:
                rest = rest - before * ((before * rest).sum() / len(rest))
        left = float((rest * rest).sum())
        if left > _FOLLOWS * whole:
            found[:, place] = rest * np.sqrt(len(rest) / left)
    return found


def noise_root(centered: Floats) -> Floats:
    """Return the lower root, float64 (a, a), of the covariance of columns with mean 0, (n, a); alike on any machine."""
    return _square_root(_covariance(np.asfortranarray(centered)), lone=np.zeros(centered.shape[1], dtype=np.bool_))


# Sums and roots of a library for matrices differ in their last digits from processor to processor; these do not.


def _covariance(centered: Floats) -> Floats:
    columns = centered.T
    return np.array([[(one * other).sum() for other in columns] for one in columns]) / len(centered)


def _square_root(covariance: Floats, lone: NDArray[np.bool_]) -> Floats:
    """Return a lower root, by Cholesky's rule, of a matrix that may be singular: 0 for what follows from before."""
    # `lone` columns vary in records that are not complete alone: nothing is known of them, and they get noise of their
    # own.
    root = np.zeros_like(covariance)
    for column, whole in enumerate(np.diag(covariance).tolist()):
        if whole <= 0:
            root[column, column] = float(lone[column])
            continue
        rest = covariance[column:, column] - (root[column:, :column] * root[column, :column]).sum(axis=1)
        if rest[0] > _FOLLOWS * whole:
            root[column:, column] = rest / np.sqrt(rest[0])
    return root


def _deviations(values: Floats) -> Floats:
    """Return the standard deviation of what is present in each column, 0 where nothing is; no square overflows."""
    present = ~np.isnan(values)
    counts = np.maximum(present.sum(axis=0), 1)
    filled = np.where(present, values, 0.0)
    largest = np.maximum(np.abs(filled).max(axis=0, initial=0.0), np.finfo(np.float64).tiny)
    filled = filled / largest
    centered = np.where(present, filled - filled.sum(axis=0) / counts, 0.0)
    deviations: Floats = np.sqrt((centered**2).sum(axis=0) / counts) * largest
    return deviations


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
    """Round to multiples of `base`; unbiased: at random to the two around, the nearer more often; else to that."""
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
