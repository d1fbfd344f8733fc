"""What methods that randomize columns share: which attributes, numbers in and out, chance, and the published table.

Chance comes from the operating system, or from a seed for tests and studies: the state of a numpy generator can be
recovered from enough of its output, so privacy rests on none. What masking did to numbers is compared record by record,
each with its own original, whom nobody finds in the shuffled rows of a release: so that is worked out when it is made,
for the steward.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import sqrt
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Publication
from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.models import GENERALIZE
from sfumato.models.protocol import PrivacyModel
from sfumato.published import RandomizedTable
from sfumato.randomness import another, permutation
from sfumato.table.encoding import EncodedTable
from sfumato.table.header import columns_of
from sfumato.table.schema import Kind
from sfumato.table.table import Table

MEASURED = (Kind.NUMERIC, Kind.DATE)

CATEGORIES = (Kind.CATEGORICAL, Kind.BOOLEAN)

EVERY_KIND = tuple(Kind)

_FIRST_DAY, _LAST_DAY = ((end - date(1970, 1, 1)).days for end in (date.min, date.max))

Names = tuple[str, ...]

Floats = NDArray[np.float64]

_BITS = 53
"""Bits of a float64 between 0 and 1."""

NEAR = 0.05
"""Half the width of an interval around a number, in standard deviations of its column."""

NEAR_OUTLIER = 0.01
"""The same for each unit of a record's squared Mahalanobis distance from the mean."""

_ROUNDING = 1e-9

_NO_MODEL = (
    "No privacy model is enforced or could be recounted. Attack the release before it is given away, and see what a "
    "person risks."
)

_LAST = 1 << 20
"""Numbers of the choices that come after all choices of a method."""


def fitting_attributes(table: EncodedTable, names: Collection[str] | None, kinds: Sequence[Kind]) -> Names:
    """Return the attributes that were named; where none were, every quasi-identifying one of a fitting kind."""
    if names is not None:
        return tuple(names)
    return tuple(attribute.name for attribute in table.attributes if attribute.kind in kinds)


def attribute_problems(
    what: str, table: EncodedTable, names: Collection[str] | None, kinds: Sequence[Kind]
) -> Iterator[str]:
    """Name attributes that the table lacks or whose kind does not fit, and say when there are none."""
    kind_of = {attribute.name: attribute.kind for attribute in (*table.attributes, *table.sensitive)}
    fitting = " or ".join(kinds)
    for name in names or ():
        if name not in kind_of:
            yield f"{what}: there is no quasi-identifying or sensitive attribute {name!r}"
        elif kind_of[name] not in kinds:
            yield f"{what}: attribute {name!r} is {kind_of[name]}, and only {fitting} ones can be randomized by it"
    if not fitting_attributes(table, names, kinds):
        yield f"{what}: there is no quasi-identifying attribute that is {fitting}; name some, or take another method"


def refuse_misfits(what: str, models: Sequence[PrivacyModel], problems: Iterator[str]) -> None:
    """Raise PolicyError with every problem, and with every model: randomization promises none."""
    promised = [f"{model.name}: {what} enforces no privacy model; leave it out, or {GENERALIZE}" for model in models]
    raise_all(PolicyError, [*promised, *problems])


@dataclass(frozen=True, eq=False, repr=False)
class PresentCells:
    """The present cells of a column of numbers or dates (as days since 1970): not-a-number became missing."""

    column: pl.Series
    places: NDArray[np.int64]
    numbers: NDArray[Any]

    @property
    def is_whole(self) -> bool:
        """Whether values are whole numbers or dates."""
        return not self.column.dtype.is_float()

    def with_numbers(self, numbers: NDArray[Any]) -> pl.Series:
        """Return the column with other `numbers`; no date leaves the years 1 to 9999, as few programs read one."""
        if self.column.dtype == pl.Date and len(numbers) and (numbers.min() < _FIRST_DAY or numbers.max() > _LAST_DAY):
            raise InputError(
                f"column {self.column.name!r}: a changed date would leave the years 1 to 9999; make dates that stand "
                "for none, such as 9999-12-31, missing, or leave the column out"
            )
        full = np.zeros(len(self.column), dtype=self.numbers.dtype)
        full[self.places] = numbers
        absent = np.ones(len(full), dtype=np.bool_)
        absent[self.places] = False
        series = pl.Series(self.column.name, full)
        if absent.any():
            series = series.scatter(np.flatnonzero(absent), None)
        return series.cast(self.column.dtype)


def present_cells(column: pl.Series) -> PresentCells:
    """Take the present numbers out of a column of numbers or dates."""
    if column.dtype.is_float():
        column = column.fill_nan(None)
    places = np.flatnonzero(column.is_not_null().to_numpy())
    wide = pl.Float64 if column.dtype.is_float() else pl.Int64
    return PresentCells(column, places, column.drop_nulls().to_physical().cast(wide).to_numpy())


def refuse_overflow(cells: PresentCells, largest_change: float) -> None:
    """Raise InputError where whole numbers are so large that a change would not fit them."""
    largest = float(np.abs(cells.numbers.astype(np.float64)).max(initial=0.0))
    if not np.isfinite(largest + largest_change) or (cells.is_whole and largest + largest_change >= 2.0**63):
        raise InputError(f"column {cells.column.name!r}: its numbers are too large for this change")


def draw_bits(count: int, seed: int | None) -> NDArray[np.uint64]:
    """Return `count` random 64-bit numbers, uint64 (count,)."""
    if seed is not None:
        return np.random.default_rng(seed).integers(0, 1 << 64, count, dtype=np.uint64)
    return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


def draw_uniform(count: int, seed: int | None) -> Floats:
    """Return `count` numbers, evenly distributed over [0, 1); float64 (count,), multiples of 2⁻⁵³."""
    return (draw_bits(count, seed) >> np.uint64(64 - _BITS)).astype(np.float64) * 2.0**-_BITS


def draw_normal(count: int, seed: int | None) -> Floats:
    """Return `count` normal numbers by Box and Muller: a random direction, and an exponential squared radius."""
    half = (count + 1) // 2
    uniform = draw_uniform(2 * half, seed)
    radius = np.sqrt(-2.0 * _rounded_once(np.log1p, -uniform[:half]))
    angle = 2.0 * np.pi * uniform[half:]
    return np.concatenate([radius * _rounded_once(np.cos, angle), radius * _rounded_once(np.sin, angle)])[:count]


def _rounded_once(function: np.ufunc, values: Floats) -> Floats:
    """Compute with more digits than are returned: in 64 bits the last one differs between processors."""
    found: Floats = function(values.astype(np.longdouble)).astype(np.float64)
    return found


def publish_changed(
    table: Table, changed: Mapping[str, pl.Series], seed: int | None, notes: Sequence[str] = ()
) -> Publication:
    """Publish every record with the `changed` columns instead of its own."""
    share = _changed_share(table.frame, changed)
    published = _randomized(table, table.frame.with_columns(*changed.values()), seed)
    names = f"Randomized columns: {', '.join(changed)}."
    figures = {"changed_cells": share, **masking_figures(table.frame, changed)}
    return Publication(published, (_NO_MODEL, names, *notes), figures)


def publish_rows(table: Table, rows: NDArray[np.int64], seed: int | None) -> Publication:
    """Publish some records as they are; each stands for as many as were not drawn."""
    weight = table.height / len(rows)
    published = _randomized(table, table.frame[rows], seed, weight)
    note = f"{len(rows):,} of {table.height:,} records were drawn, and published with all their values."
    return Publication(published, (_NO_MODEL, note), {"drawn": len(rows)})


def _randomized(table: Table, frame: pl.DataFrame, seed: int | None, weight: float = 1.0) -> RandomizedTable:
    quasi, sensitive = tuple(table.schema.quasi_identifying), tuple(table.schema.sensitive)
    columns = (*quasi, *sensitive, *table.schema.insensitive)
    order = permutation(frame.height, another(seed, _LAST))
    return RandomizedTable(columns_of(frame, columns)[order], quasi, sensitive, weight)


def _changed_share(frame: pl.DataFrame, changed: Mapping[str, pl.Series]) -> float:
    if not changed:
        return 0.0
    shares = []
    for name, column in changed.items():
        before = frame[name].fill_nan(None) if frame[name].dtype.is_float() else frame[name]
        shares.append(1.0 - float(before.eq_missing(column).mean()))  # type: ignore[arg-type]
    return float(np.mean(shares))


def masking_figures(frame: pl.DataFrame, changed: Mapping[str, pl.Series]) -> dict[str, float]:
    """Compare changed columns of numbers and dates, in the original order, with those of `frame`; some may vary not.

    Over cells: ``il1``, the mean of |x − x'| / |x| where x is not 0; ``il1s``, of |x − x'| / (√2 s). Over records with
    a value in each column: ``eigenvalue_loss``, Σ |λ − λ'| / Σ λ of both covariances; ``interval_risk``, the share
    whose every number stayed within 0.05 s; ``mahalanobis_risk``, within 0.01 d² s, d the Mahalanobis distance from the
    mean. Cost O(n p²).

    Mateo-Sanz, Sebé and Domingo-Ferrer, "Outlier protection in continuous microdata masking", PSD 2004, for IL1s; Templ
    and Meindl, "Robust statistics meets SDC", PSD 2008, for both risks; their full texts were not at hand, and
    sdcMicro's documentation was followed. Departures: means over cells, where sdcMicro adds up; the plain mean and
    covariance, not robust ones.
    """
    pairs = [(_numbers(frame[name]), _numbers(column)) for name, column in changed.items()]
    both = [(one, other) for one, other in pairs if one is not None and other is not None and _varies(one)]
    if not both:
        return {}
    before, after = (np.column_stack(side) for side in zip(*both, strict=True))
    scale = np.array([_deviation(column) for column in before.T])
    moved = np.abs(after - before)
    whole = ~np.isnan(moved).any(axis=1)
    found = {**_relative(before, moved), "il1s": _mean(moved / (sqrt(2) * scale))}
    if whole.sum() < 2:
        return found
    return found | _together(before[whole] / scale, after[whole] / scale)


def _together(before: Floats, after: Floats) -> dict[str, float]:
    """Compare whole records, in units of standard deviations, float64 (n, p)."""
    covariances = [np.atleast_2d(np.cov(side.T, bias=True)) for side in (before, after)]
    spectra = [np.maximum(np.linalg.eigvalsh(covariance), 0.0) for covariance in covariances]
    total = float(spectra[0].sum())
    away = before - before.mean(axis=0)
    squared = np.einsum("ij,jk,ik->i", away, np.linalg.pinv(covariances[0], rcond=_ROUNDING, hermitian=True), away)
    farthest = np.abs(after - before).max(axis=1) - _ROUNDING
    return {
        "eigenvalue_loss": float(np.abs(spectra[0] - spectra[1]).sum()) / total if total > 0 else 0.0,
        "interval_risk": float(np.mean(farthest <= NEAR)),
        "mahalanobis_risk": float(np.mean(farthest <= NEAR_OUTLIER * squared)),
    }


def _relative(before: Floats, moved: Floats) -> dict[str, float]:
    """Return the mean change as a share of the number; 0, or so near that the share is no float, counts as nothing."""
    with np.errstate(over="ignore"):
        changes = moved / np.abs(np.where(before == 0, np.nan, before))
    comparable = np.isfinite(changes)
    return {"il1": float(np.mean(changes[comparable]))} if comparable.any() else {}


def _mean(cells: Floats) -> float:
    return float(np.nanmean(cells)) if not np.isnan(cells).all() else 0.0


def _numbers(column: pl.Series) -> Floats | None:
    """Return numbers and dates, float64 (n,), NaN where one is missing; None for other columns."""
    if not (column.dtype.is_numeric() or column.dtype == pl.Date):
        return None
    return column.to_physical().cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _varies(numbers: Floats) -> bool:
    known = numbers[~np.isnan(numbers)]
    return len(known) > 1 and bool(known.min() < known.max())


def _deviation(numbers: Floats) -> float:
    return float(np.std(numbers[~np.isnan(numbers)]))
