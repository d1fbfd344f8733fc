"""How strongly attributes hang together: the mean-square contingency coefficient of every pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.dealt import ColumnSource
from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.numbers import figure
from sfumato.table.distinct import Distinct
from sfumato.table.schema import Schema, is_measured

Discretization = Literal["equal-frequency", "equal-width"]

_DISCRETIZATIONS: tuple[Discretization, ...] = ("equal-frequency", "equal-width")

BINS = 10

_SHADES = " ·░▒▓█"

_CELL = 44

_LETTER = 7


@dataclass(frozen=True, eq=False, repr=False)
class Correlation:
    """Mean-square contingency coefficients φ² of all pairs of attributes.

    Attributes
    ----------
    attributes : tuple of str
        Length a.
    values : numpy.ndarray
        float64 (a, a), symmetric, from 0 (independent) to 1 (one attribute decides the other); 1 on the diagonal.
    sizes : tuple of int
        Categories of each attribute after discretization, the missing value among them.
    """

    attributes: tuple[str, ...]
    values: NDArray[np.float64]
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        """Check the shapes, and freeze the coefficients."""
        count = len(self.attributes)
        values = np.array(self.values, dtype=np.float64)
        if values.shape != (count, count) or len(self.sizes) != count:
            raise InputError(f"correlation: {count} attributes need {count} × {count} coefficients and {count} sizes")
        values.setflags(write=False)
        object.__setattr__(self, "values", values)

    @property
    def distances(self) -> NDArray[np.float64]:
        """Distance ``1 - φ²`` of every pair; float64 (a, a)."""
        return 1.0 - self.values

    def of(self, first: str, second: str) -> float:
        """Return the coefficient of one pair."""
        return float(self.values[self.attributes.index(first), self.attributes.index(second)])

    def _repr_html_(self) -> str:
        """Show notebooks the coefficients."""
        from sfumato.notebook import card, notebook_table

        rows = [
            [name, *(f"{value:.3f}" for value in row)] for name, row in zip(self.attributes, self.values, strict=True)
        ]
        table = notebook_table(("", *self.attributes), rows, range(1, len(self.attributes) + 1))
        return card("Correlation", "mean-square contingency φ²", table)

    def to_frame(self) -> pl.DataFrame:
        """Return a frame with one row for each attribute, whose name is in the column ``attribute``."""
        columns = {name: self.values[:, place] for place, name in enumerate(self.attributes)}
        return pl.DataFrame({"attribute": list(self.attributes), **columns})

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {"attributes": list(self.attributes), "values": self.values.tolist(), "sizes": list(self.sizes)}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Self:
        """Put together what :meth:`to_dict` wrote."""
        try:
            return cls(tuple(plain["attributes"]), np.array(plain["values"], np.float64), tuple(plain["sizes"]))
        except (KeyError, TypeError, ValueError):
            raise InputError("correlation: needs attributes, values and sizes as to_dict writes them") from None

    def draw(self) -> str:
        """Draw it as text: the darker a field, the stronger the pair."""
        return _heat_map_text(self.attributes, self.values)

    def to_svg(self) -> str:
        """Draw it as an SVG figure that loads nothing from elsewhere."""
        return _heat_map_svg(self.attributes, self.values)

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def __repr__(self) -> str:
        """Name the attributes."""
        return f"Correlation({', '.join(self.attributes)})"

    def __str__(self) -> str:
        """Write it as a table of three digits."""
        rows = [["", *self.attributes]]
        for name, line in zip(self.attributes, self.values, strict=True):
            rows.append([name, *(figure(value, 3) for value in line)])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(_aligned(row, widths) for row in rows)


def correlation(
    table: Any,
    attributes: Sequence[str] | None = None,
    *,
    bins: int = BINS,
    discretization: Discretization = "equal-frequency",
    schema: Schema | None = None,
) -> Correlation:
    """Measure how strongly every pair of attributes hangs together.

    ``φ² = Σ (f_ij − f_i f_j)² / (f_i f_j) / (min(d_1, d_2) − 1)`` over the shares ``f`` of values and of pairs of
    values; 0 where an attribute is constant.

    Parameters
    ----------
    table
        From :func:`sfumato.read_table`; with `schema` anything that it reads.
    attributes
        Names; None takes every quasi-identifying and sensitive attribute, in the order of the schema.
    bins
        Numbers and dates of more distinct values than this are put into so many bins, 2 or more: many rare values make
        any two attributes look dependent.
    discretization
        ``"equal-frequency"``: bins of about as many records each; equal values stay together. ``"equal-width"``: bins
        of equal width from the lowest to the highest value.
    schema
        The roles of the columns, where `table` is a file or a frame that was not read yet.

    Returns
    -------
    Correlation

    Raises
    ------
    PolicyError
        With every unknown attribute or option.

    Notes
    -----
    A missing value is a category of its own. Categories and booleans are taken as they are. Cost O(a² n) for a
    attributes and n records; memory O(n) whatever the number of values.

    *Sources.* Li, Li, Zhang, Molloy, "Slicing: a new approach for privacy preserving data publishing", TKDE 2012, by
    way of the slicing paper with marginal publication, whose printed formula is garbled.
    """
    if schema is not None:
        from sfumato.table.reading import read_with

        table = read_with(table, schema)
    known = [*table.schema.quasi_identifying, *table.schema.sensitive]
    names = known if attributes is None else list(attributes)
    problems = discretization_problems("correlation", bins, discretization)
    problems.extend(f"correlation: there is no attribute {name!r}" for name in names if name not in known)
    raise_all(PolicyError, problems)
    numbered = [_categories(table, name, bins, discretization) for name in names]
    values = np.eye(len(names))
    for first in range(len(names)):
        for second in range(first):
            values[first, second] = values[second, first] = mean_square_contingency(*numbered[first], *numbered[second])
    return Correlation(tuple(names), values, tuple(size for _, size in numbered))


def discretization_problems(what: str, bins: object, discretization: object) -> list[str]:
    """Say what is wrong with the options of discretization."""
    problems = []
    if not isinstance(bins, int) or isinstance(bins, bool) or bins < 2:
        problems.append(f"{what}: bins must be a whole number, 2 or above")
    if discretization not in _DISCRETIZATIONS:
        problems.append(f"{what}: discretization must be one of {', '.join(_DISCRETIZATIONS)}")
    return problems


def mean_square_contingency(
    first: NDArray[np.integer], first_size: int, second: NDArray[np.integer], second_size: int
) -> float:
    """Return φ² of two columns of categories ``0 .. size-1``, every one of which occurs.

    As the shares expected under independence add up to 1 like those found, only pairs of values that occur have to be
    visited: ``Σ (f − e)²/e = Σ f²/e − 1``.
    """
    smaller = min(first_size, second_size)
    if smaller < 2:
        return 0.0
    pairs, counts = _pair_counts(first.astype(np.int64) * second_size + second, first_size * second_size)
    margins = np.bincount(first)[pairs // second_size] * np.bincount(second)[pairs % second_size].astype(np.float64)
    chi_square = float(np.sum(counts.astype(np.float64) ** 2 / margins)) - 1.0
    return min(max(chi_square / (smaller - 1), 0.0), 1.0)


def _pair_counts(keys: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the keys that occur and how often; by counting where that takes no more memory than the records."""
    if size > 4 * len(keys) + 1024:
        return np.unique(keys, return_counts=True)
    counts = np.bincount(keys, minlength=size)
    present = np.flatnonzero(counts)
    return present, counts[present]


def _categories(
    table: ColumnSource, name: str, bins: int, discretization: Discretization
) -> tuple[NDArray[np.unsignedinteger], int]:
    """Return the category of each record and how many there are; the missing value comes last."""
    distinct = table.distinct(name)
    present = len(distinct.values)
    category_of = np.arange(present)
    if is_measured(table.kinds[name]) and present > bins:
        category_of = _binned(distinct, bins, discretization)
    used = int(category_of.max(initial=-1)) + 1
    category_of = np.append(category_of, used)[distinct.rank_of].astype(np.min_scalar_type(used))
    return category_of[distinct.raw], used + (distinct.missing > 0)


def _binned(distinct: Distinct, bins: int, discretization: Discretization) -> NDArray[np.int64]:
    """Return the bin of each distinct value, int64 (d,), without bins that nobody is in."""
    if discretization == "equal-frequency":
        before = np.cumsum(distinct.counts) - distinct.counts
        raw = before * bins // distinct.counts.sum()
    else:
        numbers = distinct.values.to_physical().cast(pl.Float64).to_numpy()
        shares = (numbers - numbers[0]) / (numbers[-1] - numbers[0])
        raw = np.minimum((shares * bins).astype(np.int64), bins - 1)
    return np.unique(raw, return_inverse=True)[1].astype(np.int64)


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    head, *cells = row
    return "  ".join(
        [head.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))]
    )


def _heat_map_text(names: Sequence[str], values: NDArray[np.float64]) -> str:
    """Draw one line for each name; fields are shaded from blank (0) to full (1), two letters wide.

    Examples
    --------
    >>> print(_heat_map_text(["a", "b"], np.array([[1.0, 0.5], [0.5, 1.0]])))
    a  ██▒▒
    b  ▒▒██
    """
    width = max((len(name) for name in names), default=0)
    shades = np.ceil(np.clip(values, 0, 1) * (len(_SHADES) - 1)).astype(int)
    lines = ["".join(2 * _SHADES[shade] for shade in line) for line in shades]
    return "\n".join(f"{name:<{width}}  {line}".rstrip() for name, line in zip(names, lines, strict=True))


def _heat_map_svg(names: Sequence[str], values: NDArray[np.float64]) -> str:
    """Draw squares whose blue deepens with the share, which is written into them."""
    left = _LETTER * max((len(name) for name in names), default=0) + 12
    top, side = left, _CELL * len(names)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + side + 4} {top + side + 4}" '
        'font-family="sans-serif" font-size="12">'
    ]
    for place, name in enumerate(names):
        middle = place * _CELL + _CELL // 2
        parts.append(f'<text x="{left - 6}" y="{top + middle + 4}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<text transform="translate({left + middle + 4} {top - 6}) rotate(-90)">{escape(name)}</text>')
    for row, line in enumerate(values):
        parts.extend(_field(left + column * _CELL, top + row * _CELL, value) for column, value in enumerate(line))
    return "\n".join([*parts, "</svg>"])


def _field(x: int, y: int, value: float) -> str:
    ink = "#fff" if value > 0.5 else "#000"
    return (
        f'<rect x="{x}" y="{y}" width="{_CELL - 1}" height="{_CELL - 1}" fill="#1f4e9c" fill-opacity="{value:.3f}" '
        f'stroke="#ccc"/><text x="{x + _CELL // 2}" y="{y + _CELL // 2 + 4}" text-anchor="middle" fill="{ink}">'
        f"{figure(value, 2)}</text>"
    )
