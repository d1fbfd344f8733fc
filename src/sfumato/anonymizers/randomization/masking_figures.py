"""What masking did to numbers, record by record: how far they moved, and how many stayed near their original.

They compare each record with its own original, whom nobody finds in the shuffled rows of a release: so they are worked
out when it is made, for the steward.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NEAR = 0.05
"""Half the width of an interval around a number, in standard deviations of its column."""
NEAR_OUTLIER = 0.01
"""The same for each unit of a record's squared Mahalanobis distance from the mean."""
ROUNDING = 1e-9


def masking_figures(frame: pl.DataFrame, changed: Mapping[str, pl.Series]) -> dict[str, float]:
    """Compare changed columns of numbers and dates with the original ones.

    Parameters
    ----------
    frame
        The original.
    changed
        Columns by their names, whose rows are still those of the original. Others than numbers and dates are left out,
        as are numbers that do not vary.

    Returns
    -------
    dict
        Empty without such columns. Over cells with a value: ``il1``, the mean of |x − x'| / |x| where x is not 0;
        ``il1s``, the mean of |x − x'| / (√2 s), s the standard deviation of the original column. Over records with a
        value in each column: ``eigenvalue_loss``, Σ |λ − λ'| / Σ λ for the eigenvalues of both covariance matrices,
        sorted, of columns in units of s; ``interval_risk``, the share of records of which every number stayed within
        0.05 s; and ``mahalanobis_risk``, the same within 0.01 d² s, d being the record's Mahalanobis distance from the
        mean.

    Notes
    -----
    Mateo-Sanz, Sebé and Domingo-Ferrer, "Outlier protection in continuous microdata masking", PSD 2004, for IL1s; Templ
    and Meindl, "Robust statistics meets SDC: new disclosure risk measures for continuous microdata masking", PSD 2008,
    for both risks; their full texts were not at hand, and sdcMicro's documentation was followed. Departures: means over
    cells, where sdcMicro adds up; distances from the plain mean and covariance, not from robust ones. Cost O(n p²) for
    p columns.
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
    squared = np.einsum("ij,jk,ik->i", away, np.linalg.pinv(covariances[0], rcond=ROUNDING, hermitian=True), away)
    farthest = np.abs(after - before).max(axis=1) - ROUNDING
    return {
        "eigenvalue_loss": float(np.abs(spectra[0] - spectra[1]).sum()) / total if total > 0 else 0.0,
        "interval_risk": float(np.mean(farthest <= NEAR)),
        "mahalanobis_risk": float(np.mean(farthest <= NEAR_OUTLIER * squared)),
    }


def _relative(before: Floats, moved: Floats) -> dict[str, float]:
    """Return the mean change as a share of the number; nothing where all numbers are 0."""
    told = (before != 0) & ~np.isnan(moved)
    return {"il1": float(np.mean(moved[told] / np.abs(before[told])))} if told.any() else {}


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
