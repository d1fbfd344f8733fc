"""A table as points in a numeric space: what numeric methods can measure, and what becomes of everything else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.table.encoding import EncodedAttribute, EncodedTable
from sfumato.table.kinds import is_measured
from sfumato.table.schema import Kind

Scale = Literal["minmax", "zscore", "none"]
Categories = Literal["ranks", "one-hot", "refuse"]


MOST_CATEGORIES = 64
"""Categories of one attribute that become coordinates of their own at most."""

APART = 2.0
"""Distance of a missing value from the numbers of its attribute, in ranges: further than any two of them."""

Axis = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class NumericSpace:
    """The coordinates of every value.

    Attributes
    ----------
    axes : tuple of numpy.ndarray
        float64 (codes, d_j) for each attribute: the coordinates of each code, the missing value's last. d_j is 0 for an
        attribute that does not vary.
    notes : tuple of str
        What became of the attributes that are no numbers.
    """

    axes: tuple[Axis, ...]
    notes: tuple[str, ...]

    def points(self, codes: NDArray[np.unsignedinteger]) -> NDArray[np.float64]:
        """Place records, unsigned (m, q), in the space; float64 (m, d), d >= 1."""
        columns = [axis[codes[:, place]] for place, axis in enumerate(self.axes)]
        points = np.concatenate([np.zeros((len(codes), 0)), *columns], axis=1)
        return points if points.shape[1] else np.zeros((len(codes), 1))


def numeric_space(table: EncodedTable, scale: Scale, categories: Categories, *, name: str) -> NumericSpace:
    """Give every value of a table its coordinates.

    Numbers and dates (days) are one coordinate each, also under a hierarchy. So are categories as ranks: the order of a
    hierarchy's leaves, else falling frequency. A missing value has the mean of its attribute, and in a coordinate of
    its own it lies two ranges away from everything that is present. Each coordinate is multiplied by the root of the
    attribute's weight.

    Parameters
    ----------
    table
        The whole table: blocks of it are placed in the same space.
    scale
        ``"minmax"``: each attribute has range 1. ``"zscore"``: standard deviation 1. ``"none"``: numbers as they are.
    categories
        ``"ranks"``; ``"one-hot"``: a coordinate for each category, any two at distance 1 (with ``"zscore"``: the
        attribute has variance 1 as a whole); ``"refuse"``.
    name
        Of the anonymizer, for messages.

    Raises
    ------
    PolicyError
        When categories are refused, or too many for coordinates of their own; all such columns are named.
    """
    unmeasured = [attribute for attribute in table.attributes if not is_measured(attribute.kind)]
    if unmeasured and categories == "refuse":
        raise PolicyError(_refusal(name, unmeasured))
    occurrences = [
        np.bincount(table.codes[:, place], minlength=attribute.size + 1)
        for place, attribute in enumerate(table.attributes)
    ]
    if categories == "one-hot":
        _check_width(name, table.attributes, occurrences)
    axes = []
    for attribute, counts in zip(table.attributes, occurrences, strict=True):
        as_numbers = is_measured(attribute.kind) or categories == "ranks"
        axis = _axis(_values(attribute), counts, scale) if as_numbers else _indicators(counts, scale)
        axes.append(axis * math.sqrt(attribute.weight))
    return NumericSpace(tuple(axes), _notes(unmeasured, categories))


def _refusal(name: str, unmeasured: Sequence[EncodedAttribute]) -> str:
    names = ", ".join(attribute.name for attribute in unmeasured)
    return (
        f"{name}: measures numbers and dates; these columns hold categories: {names}; set categories to ranks or "
        "one-hot, or choose another anonymizer"
    )


def _check_width(name: str, attributes: Sequence[EncodedAttribute], occurrences: Sequence[NDArray[np.int64]]) -> None:
    wide = [
        f"{attribute.name} ({np.count_nonzero(counts):,})"
        for attribute, counts in zip(attributes, occurrences, strict=True)
        if not is_measured(attribute.kind) and np.count_nonzero(counts) > MOST_CATEGORIES
    ]
    if wide:
        raise PolicyError(
            f"{name}: categories=one-hot makes one coordinate for each category, {MOST_CATEGORIES} for a column at "
            f"most; more are in {', '.join(wide)}; set categories to ranks"
        )


def _notes(unmeasured: Sequence[EncodedAttribute], categories: Categories) -> tuple[str, ...]:
    if not unmeasured:
        return ()
    names = ", ".join(attribute.name for attribute in unmeasured)
    how = "by rank on a line" if categories == "ranks" else "with a coordinate for each category"
    return (f"The method measures numbers; categories were placed {how}: {names}.",)


def _values(attribute: EncodedAttribute) -> NDArray[np.float64]:
    """Return the number behind each code, float64 (size,)."""
    if attribute.numbers is not None:
        return attribute.numbers
    if is_measured(attribute.kind) and attribute.size:
        read = _read(attribute.labels, attribute.kind)
        if read.null_count() == 0:
            return read.to_numpy()
    return np.arange(attribute.size, dtype=np.float64)


def _read(labels: pl.Series, kind: Kind) -> pl.Series:
    """Read the leaves of a hierarchy over numbers or dates."""
    if kind is Kind.DATE:
        labels = labels.str.to_date("%Y-%m-%d", strict=False).to_physical()
    return labels.cast(pl.Float64, strict=False)


def _axis(values: NDArray[np.float64], counts: NDArray[np.int64], scale: Scale) -> Axis:
    present = counts[:-1] > 0
    if not present.any():
        return np.zeros((len(counts), 0))
    low, high = float(values[present].min()), float(values[present].max())
    mean = float(values @ counts[:-1]) / float(counts[:-1].sum())
    if scale == "minmax":
        shift, divisor = low, high - low
    else:
        records = int(counts[:-1].sum())
        deviation = math.sqrt(float((values - mean) ** 2 @ counts[:-1]) / max(1, records - 1))
        shift, divisor = (mean, deviation) if scale == "zscore" else (0.0, 1.0)
    if low == high:
        return _apart(np.zeros(len(values)), 0.0, counts, 1.0)
    divisor = divisor or 1.0
    return _apart((values - shift) / divisor, (mean - shift) / divisor, counts, (high - low) / divisor)


def _apart(scaled: NDArray[np.float64], mean: float, counts: NDArray[np.int64], width: float) -> Axis:
    """Add the missing value: its place among the others, and the coordinate that tells it from them."""
    columns = [np.append(scaled, mean)] if scaled.any() or mean else []
    if counts[-1]:
        columns.append(np.append(np.zeros(len(scaled)), APART * width))
    return np.column_stack([np.zeros((len(counts), 0)), *columns])


def _indicators(counts: NDArray[np.int64], scale: Scale) -> Axis:
    occurring = np.flatnonzero(counts)
    if len(occurring) < 2:
        return np.zeros((len(counts), 0))
    shares = counts / counts.sum()
    height = math.sqrt(0.5) if scale != "zscore" else 1.0 / math.sqrt(1.0 - float(shares @ shares))
    axis = np.zeros((len(counts), len(occurring)))
    axis[occurring, np.arange(len(occurring))] = height
    return axis
