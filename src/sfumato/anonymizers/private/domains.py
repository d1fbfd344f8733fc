"""The domain of each column as it was declared, and records as cells of it. Nothing here is read off the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import PolicyError, SfumatoError
from sfumato.hierarchy import Groups, Hierarchy, HierarchyTable, Intervals
from sfumato.hierarchy.text import number_of, text_of, value_text
from sfumato.published.bucketized import COUNT
from sfumato.published.private import MOST_CELLS, NOISY, Domain
from sfumato.settings import is_finite_number
from sfumato.table.schema import Attribute, Kind

Bins = int | Sequence[float]
Codes = NDArray[np.int64]


class DeclaredColumn:
    """A column with its declared domain, and how values fall into it.

    Parameters
    ----------
    name
    kind
        How the column was read.
    attribute
        What the schema declares.
    bins
        Borders of bins of numbers, or how many of equal width the declared range falls into.
    level
        Which level of the hierarchy is counted; None or 0: its leaves.
    complete
        Whether the column has no cell for missing values.

    Raises
    ------
    PolicyError
        When no domain is declared, or settings contradict each other.

    Attributes
    ----------
    name : str
    domain : Domain
    tree : Hierarchy or None
        Of texts that have one.
    """

    tree: Hierarchy | None = None

    def __init__(
        self, name: str, kind: Kind, attribute: Attribute, bins: Bins | None, level: int | None, *, complete: bool
    ) -> None:
        self.name, self._kind = name, kind
        self._code_of: Mapping[str, int] = {}
        try:
            self.domain = self._declared(attribute, bins, level, missing=not complete)
        except SfumatoError as error:
            raise PolicyError(*(f"column {name!r}: {problem}" for problem in error.problems)) from None

    def codes(self, column: pl.Series) -> Codes:
        """Return the cell of each value, int64 (n,); -1 for those that have none."""
        outside = len(self.domain.labels) if self.domain.missing else -1
        if self.domain.borders is not None:
            return self._binned(column, outside)
        texts = text_of(column)
        found = texts.replace_strict(
            list(self._code_of), list(self._code_of.values()), default=outside, return_dtype=pl.Int64
        )
        return found.fill_null(outside).to_numpy()

    def _binned(self, column: pl.Series, outside: int) -> Codes:
        numbers = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
        inner = np.array(self.domain.borders or (), dtype=np.float64)[1:-1]
        codes = np.searchsorted(inner, numbers, side="right").astype(np.int64)
        return np.where(np.isnan(numbers), outside, codes)

    def _declared(self, attribute: Attribute, bins: Bins | None, level: int | None, *, missing: bool) -> Domain:
        if self.name in (NOISY, COUNT):
            raise PolicyError("is the name of a column of the release; rename that of the table")
        if bins is None and level and isinstance(attribute.hierarchy, Intervals) and attribute.hierarchy.borders:
            steps = attribute.hierarchy.borders
            if not 1 <= level <= len(steps):
                raise PolicyError(f"level must be from 1 to {len(steps)}, those of its hierarchy with bins")
            bins, level = steps[level - 1], None
        if bins is not None:
            if level is not None:
                raise PolicyError("has bins and a level; leave one of them out")
            return of_bins(borders_of(bins, attribute, self._kind), missing=missing)
        if self._kind is Kind.DATE:
            raise PolicyError("is a date, which has no bins here; give the table a column of years, or of months")
        return self._of_values(attribute, level, missing=missing)

    def _of_values(self, attribute: Attribute, level: int | None, *, missing: bool) -> Domain:
        values = _values(attribute, self._kind)
        if values is None:
            raise PolicyError(
                "its domain would have to be read off the data, which tells of people; declare it: a domain that lists "
                "the values, a hierarchy that lists them, or bins of numbers"
            )
        written = [_canonical(value, self._kind) for value in values]
        if attribute.hierarchy is None:
            if level:
                raise PolicyError("has a level but no hierarchy; give it one, or leave the level out")
            self._code_of = {value: place for place, value in enumerate(written)}
            return _of_labels(tuple(written), missing=missing)
        self.tree = attribute.hierarchy.build(_series(written, self._kind), name=self.name)
        return self._of_level(self.tree, level or 0, missing=missing)

    def _of_level(self, tree: Hierarchy, level: int, *, missing: bool) -> Domain:
        if not 0 <= level <= tree.height:
            raise PolicyError(f"level must be from 0 to {tree.height}, those of its hierarchy")
        self._code_of = dict(zip(tree.leaves, tree.node_of[level].tolist(), strict=True))
        return _of_labels(tree.levels[level].labels, missing=missing)


def _of_labels(labels: tuple[str, ...], *, missing: bool) -> Domain:
    if any(not label.strip() or label != label.strip() for label in labels):
        raise PolicyError("its domain lists an empty value, or one with blanks around it; take them away")
    if len(set(labels)) < len(labels):
        raise PolicyError("its domain lists a value twice; list it once")
    return Domain(labels, None, missing)


def of_bins(borders: Sequence[float], *, missing: bool) -> Domain:
    """Return the domain of bins with these borders."""
    ends = [value_text(float(border)) for border in borders]
    labels = [f"[{low}..{high})" for low, high in pairwise(ends)]
    labels[-1] = labels[-1][:-1] + "]"
    return Domain(tuple(labels), tuple(float(border) for border in borders), missing)


def borders_of(bins: Bins, attribute: Attribute, kind: Kind) -> list[float]:
    """Return the borders that are given, or that divide the declared range; PolicyError where there are none."""
    if kind is not Kind.NUMERIC:
        raise PolicyError("has bins but is no column of numbers; declare it as numeric, or leave the bins out")
    if isinstance(bins, int) and not isinstance(bins, bool):
        if not 1 <= bins <= MOST_CELLS:
            raise PolicyError(f"bins must be from 1 to {MOST_CELLS:,}, or a list of borders")
        ends = attribute.domain
        if ends is None:
            raise PolicyError("has a number of bins but no range that they divide; declare its domain, low and high")
        low, high = (Fraction(end) for end in ends)
        return [float(low + (high - low) * step / bins) for step in range(bins + 1)]
    listed: list[float] = list(bins) if isinstance(bins, Sequence) and not isinstance(bins, str) else []
    if len(listed) < 2 or not all(is_finite_number(border) for border in listed):
        raise PolicyError("bins must be a whole number, or a list of at least two borders, each a finite number")
    if not all(low < high for low, high in pairwise(listed)):
        raise PolicyError("borders of bins must rise")
    return [float(border) for border in listed]


def _values(attribute: Attribute, kind: Kind) -> list[str] | None:
    """Return the values that are declared, as text; None if none are."""
    if attribute.domain is not None and all(isinstance(value, str) for value in attribute.domain):
        return [str(value) for value in attribute.domain]
    if isinstance(attribute.hierarchy, HierarchyTable):
        return [row[0] for row in attribute.hierarchy.rows]
    if isinstance(attribute.hierarchy, Groups):
        return list(_members(attribute.hierarchy.members))
    return ["false", "true"] if kind is Kind.BOOLEAN else None


def _members(group: Any) -> Iterator[str]:
    for inner in group.values() if isinstance(group, Mapping) else group:
        if isinstance(inner, str):
            yield inner
        else:
            yield from _members(inner)


def _canonical(value: str, kind: Kind) -> str:
    """Write a declared value as values of the column are written."""
    if kind is Kind.BOOLEAN:
        return value.lower()
    number = number_of(value) if kind is Kind.NUMERIC else None
    return value if number is None else value_text(number)


def _series(values: Sequence[str], kind: Kind) -> pl.Series:
    numbers = [number_of(value) for value in values] if kind is Kind.NUMERIC else [None]
    if all(number is not None for number in numbers):
        return pl.Series(numbers, strict=False)
    return pl.Series(values, dtype=pl.String)
