"""Columns with all levels of their declared hierarchies, for private samples. Nothing here is read off the data."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.private.domains import Bins, DeclaredColumn, borders_of, of_bins
from sfumato.errors import PolicyError, SfumatoError
from sfumato.hierarchy import Hierarchy, Intervals
from sfumato.hierarchy.tree import ROOT
from sfumato.published.checks.private.sampling import WHOLE
from sfumato.published.private import Domain
from sfumato.table.schema import Attribute, Kind

Codes = NDArray[np.int64]
MOST_VALUES = 100_000


class Ladder:
    """A column, its cells on level 0, and what each of them is on every level up to ``*``.

    Parameters
    ----------
    name
    kind
        How the column was read.
    attribute
        What the schema declares. Numbers need intervals as hierarchy, or `bins`; texts a domain or a hierarchy that
        lists their values.
    bins
        Borders of bins of numbers, or how many of equal width the declared range falls into; they have two levels.

    Raises
    ------
    PolicyError
        When no domain is declared, or settings contradict each other.

    Attributes
    ----------
    name : str
    weight : float
    labels : list of tuple of str
        Of each level.
    node_of : numpy.ndarray
        int64 (levels, cells + 1): the node of each cell; the last cell is that of missing values, and of texts outside
        of the domain. It stays a node of its own below the top.
    """

    def __init__(self, name: str, kind: Kind, attribute: Attribute, bins: Bins | None) -> None:
        self.name, self.weight = name, attribute.weight
        self._declared: DeclaredColumn | None = None
        self._cuts: NDArray[np.float64] | None = None
        try:
            starts = self._numbers(kind, attribute, bins) if kind is Kind.NUMERIC else None
            if starts is None:
                starts = self._texts(kind, attribute)
        except SfumatoError as error:
            named = [problem if name in problem else f"column {name!r}: {problem}" for problem in error.problems]
            raise PolicyError(*named) from None
        cells = len(self.labels[0])
        self.node_of = np.empty((len(self.labels), cells + 1), dtype=np.int64)
        for level, first in enumerate(starts):
            self.node_of[level, :cells] = np.repeat(np.arange(len(first) - 1), np.diff(first))
            self.node_of[level, cells] = 0 if level == self.height else len(first) - 1

    @property
    def height(self) -> int:
        """The top level, on which everything is ``*``."""
        return len(self.labels) - 1

    def domain(self, level: int) -> Domain:
        """Return what may be published on a level."""
        return Domain(self.labels[level], None, missing=level < self.height)

    def codes(self, column: pl.Series) -> Codes:
        """Return the cell of each value on level 0, int64 (n,)."""
        if self._declared is not None:
            return self._declared.codes(column)
        numbers = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
        cells = np.searchsorted(np.asarray(self._cuts), numbers, side="right").astype(np.int64)
        return np.where(np.isnan(numbers), len(self.labels[0]), cells)

    def kept(self, objective: str) -> Codes:
        """Return what a record keeps of each cell on each level, int64 like `node_of`, at most WHOLE.

        ``"loss"``: the share of the domain that the node leaves out; ``"precision"``: the levels that are left.
        """
        levels = np.arange(self.height + 1)
        if objective == "precision":
            left = (self.height - levels) * WHOLE // max(self.height, 1)
            return np.repeat(left[:, None], self.node_of.shape[1], axis=1)
        cells = len(self.labels[0])
        sizes = np.array([np.bincount(row[:cells], minlength=cells + 1)[row] for row in self.node_of])
        sizes[:-1, cells] = 1
        kept: Codes = np.where(sizes < cells, (cells - sizes) * WHOLE // max(cells - 1, 1), 0)
        kept[self.height] = 0
        return kept

    def _texts(self, kind: Kind, attribute: Attribute) -> list[Sequence[int]]:
        self._declared = DeclaredColumn(self.name, kind, attribute, None, None, complete=False)
        if self._declared.tree is not None:
            return self._tree(self._declared.tree, 0)
        return self._flat(self._declared.domain.labels)

    def _numbers(self, kind: Kind, attribute: Attribute, bins: Bins | None) -> list[Sequence[int]] | None:
        if bins is not None:
            borders = borders_of(bins, attribute, kind)
            self._cuts = np.array(borders[1:-1], dtype=np.float64)
            return self._flat(of_bins(borders, missing=True).labels)
        if not isinstance(attribute.hierarchy, Intervals):
            return None
        cells, self._cuts = _cells_of(attribute.hierarchy, attribute)
        # One number of each finest interval stands for it: its levels are those of the whole interval.
        return self._tree(attribute.hierarchy.build(pl.Series(cells), name=self.name), 1)

    def _tree(self, tree: Hierarchy, lowest: int) -> list[Sequence[int]]:
        """Take the levels of a hierarchy from `lowest` on; starts count the nodes of the lowest one."""
        fine = {start: place for place, start in enumerate(tree.levels[lowest].starts)}
        levels = list(tree.levels[lowest:])
        self.labels = [level.labels for level in levels]
        starts: list[Sequence[int]] = [[fine[start] for start in level.starts] for level in levels]
        if len(self.labels[-1]) > 1:
            self.labels.append((ROOT,))
            starts.append([0, len(self.labels[0])])
        return starts

    def _flat(self, labels: tuple[str, ...]) -> list[Sequence[int]]:
        self.labels = [labels, (ROOT,)]
        return [list(range(len(labels) + 1)), [0, len(labels)]]


def _cells_of(given: Intervals, attribute: Attribute) -> tuple[list[float], NDArray[np.float64]]:
    """Return a number in each finest interval, and the borders between them. Values beyond the ends are in the ends."""
    if given.borders:
        line = [float(border) for border in given.borders[0]]
        if given.open_ends:
            return [line[0] - 1, *line], np.array(line)
        return line[:-1], np.array(line[1:-1])
    ends = attribute.domain
    if ends is None:
        raise PolicyError("has intervals of a width but no range; declare its domain, low and high, or give borders")
    width, start = Fraction(str(given.widths[0])), Fraction(str(given.start))
    low, high = ((Fraction(str(end)) - start) // width for end in ends)
    if high - low >= MOST_VALUES:
        raise PolicyError(f"has more than {MOST_VALUES:,} intervals; take wider ones")
    line = [float(start + place * width) for place in range(low, high + 1)]
    return line, np.array(line[1:])
