"""Numbers of records that are partly known as ranges, as one distribution, and the figures of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.evaluation.utility.domains import Floats

Places = NDArray[np.integer]

MOST_WHOLE_NUMBERS = 2**20
"""Whole numbers over a wider range than this are spread as other numbers are."""

TIED = 1e-9
"""Shares that are closer than this are equal: sums of floats must not decide which number a quantile is."""

_SHORT = 1e-3
"""Half the length of a range over its middle, below which its mean logarithm is taken from a series."""


class Pieces(NamedTuple):
    """Ranges of numbers with the records in each; a range without length is a point.

    Attributes
    ----------
    low, high : numpy.ndarray
        float64 (p,): closed ends.
    records : numpy.ndarray
        float64 (p,).
    """

    low: Floats
    high: Floats
    records: Floats


@dataclass(frozen=True, eq=False, repr=False)
class NumberSpread:
    """Numbers of records: rising ranges that do not overlap, each evenly filled.

    Attributes
    ----------
    pieces : Pieces
        Those with records, by rising ends. None, if no record has a number.
    """

    pieces: Pieces

    @property
    def records(self) -> float:
        """Records with a number."""
        return float(self.pieces.records.sum())

    @property
    def total(self) -> float:
        """Sum of all numbers."""
        return float((self.pieces.records * self._middles).sum())

    @property
    def mean(self) -> float:
        """Mean number."""
        return self.total / self.records

    @property
    def geometric_mean(self) -> float | None:
        """Return the geometric mean; None where a number may be 0 or below."""
        low, high, records = self.pieces
        if not len(low) or low[0] <= 0:
            return None
        half = (high - low) / (high + low)
        # Mean of log(1 + x) for x from −half to half; the closed form is a small difference where it is short.
        wide = np.where(half < _SHORT, 0.5, half)
        closed = ((1 + wide) * np.log1p(wide) - (1 - wide) * np.log1p(-wide)) / (2 * wide) - 1
        around = np.where(half < _SHORT, -(half**2) / 6 * (1 + 0.3 * half**2), closed)
        return float(np.exp((records * (np.log(self._middles) + around)).sum() / self.records))

    @property
    def ends(self) -> tuple[float, float]:
        """Lowest and highest number."""
        return float(self.pieces.low[0]), float(self.pieces.high[-1])

    @property
    def is_constant(self) -> bool:
        """Tell whether there is but one number."""
        return self.ends[0] == self.ends[1]

    @cached_property
    def central_moments(self) -> tuple[float, float, float]:
        """Return the second, third and fourth central moment."""
        low, high, records = self.pieces
        away, squared = self._middles - self.mean, (high - low) ** 2
        second = away**2 + squared / 12
        third = away**3 + away * squared / 4
        fourth = away**4 + away**2 * squared / 2 + squared**2 / 80
        found = [float((records * each).sum()) / self.records for each in (second, third, fourth)]
        return found[0], found[1], found[2]

    def quantiles(self, shares: Sequence[float]) -> list[float]:
        """Return the numbers that these shares of the records do not exceed.

        Between two numbers, where the share is met exactly, it is halfway (Hyndman and Fan's second definition).
        """
        low, high, records = self.pieces
        steps = np.cumsum(records) / self.records
        found = []
        for share in shares:
            place = min(int(np.searchsorted(steps, share - TIED)), len(steps) - 1)
            if abs(steps[place] - share) <= TIED and place + 1 < len(steps):
                found.append(float(high[place] + low[place + 1]) / 2)
                continue
            before = steps[place - 1] if place else 0.0
            part = min(max((share - before) / (steps[place] - before), 0.0), 1.0)
            found.append(float(low[place] + part * (high[place] - low[place])))
        return found

    def share_of_lowest(self, shares: Sequence[float]) -> list[float]:
        """Return which part of a sum above 0 those records have whose numbers are lowest (the Lorenz curve)."""
        low, high, records = self.pieces
        steps, sums = np.cumsum(records), np.cumsum(records * self._middles)
        found = []
        for share in shares:
            place = min(int(np.searchsorted(steps, share * steps[-1])), len(steps) - 1)
            before = steps[place - 1] if place else 0.0
            part = min(max((share * steps[-1] - before) / records[place], 0.0), 1.0)
            taken = records[place] * (part * low[place] + part**2 * (high[place] - low[place]) / 2)
            found.append(float(((sums[place - 1] if place else 0.0) + taken) / sums[-1]))
        return found

    @property
    def fifths(self) -> tuple[float, ...] | None:
        """Return the part of the sum that each fifth of the records has, lowest first; None below 0 or for a sum of 0.

        The last over the first is the quintile share ratio S80/S20.
        """
        if not self._can_be_shared:
            return None
        curve = [0.0, *self.share_of_lowest([0.2, 0.4, 0.6, 0.8]), 1.0]
        return tuple(np.diff(curve).tolist())

    @property
    def gini(self) -> float | None:
        """Return Gini's coefficient, from 0 (all alike) to below 1; None below 0 or for a sum of 0."""
        if not self._can_be_shared:
            return None
        low, high, records = self.pieces
        sums = records * self._middles
        before = np.cumsum(sums) - sums
        under = float((records * (before + records * (low / 2 + (high - low) / 6))).sum())
        return max(1.0 - 2.0 * under / (self.records * self.total), 0.0)

    @property
    def _middles(self) -> Floats:
        middles: Floats = (self.pieces.low + self.pieces.high) / 2
        return middles

    @property
    def _can_be_shared(self) -> bool:
        return len(self.pieces.low) > 0 and self.ends[0] >= 0 and self.ends[1] > 0


def number_spread(pieces: Pieces, *, whole: bool) -> NumberSpread:
    """Put ranges that may overlap into rising ones that do not.

    Parameters
    ----------
    pieces
        p ranges.
    whole
        Whether a range stands for the whole numbers in it, all alike; else it is filled evenly.

    Notes
    -----
    Cost O(p log p), and as many steps as whole numbers lie between the ends.
    """
    held = pieces.records > 0
    low, high, records = (each[held] for each in pieces)
    points = low == high
    if not len(low):
        return NumberSpread(Pieces(low, high, records))
    if whole and high.max() - low.min() < MOST_WHOLE_NUMBERS:
        numbers, filled = _whole_numbers(low, high, records)
        return NumberSpread(Pieces(numbers, numbers, filled))
    at, place = np.unique(low[points], return_inverse=True)
    filled = np.bincount(place, records[points], len(at)).astype(np.float64)
    exact = Pieces(at, at, filled)
    ranges = _filled(Pieces(low[~points], high[~points], records[~points]), at)
    joined = Pieces(*(np.concatenate(each) for each in zip(exact, ranges, strict=True)))
    order = np.lexsort((joined.high, joined.low))
    return NumberSpread(Pieces(*(each[order] for each in joined)))


def _whole_numbers(low: Floats, high: Floats, records: Floats) -> tuple[Floats, Floats]:
    """Return the whole numbers that occur, and the records at each."""
    first = low.min()
    starts, stops = (low - first).astype(np.int64), (high - first).astype(np.int64) + 1
    filled, covered = _layers(starts, stops, records / (stops - starts), int(stops.max()) + 1)
    places = np.flatnonzero(covered)
    numbers: Floats = first + places
    return numbers, filled[places]


def _filled(ranges: Pieces, at: Floats) -> Pieces:
    """Cut ranges at each other's ends and at points, and add up what covers each part."""
    if not len(ranges.low):
        return ranges
    ends = np.unique(np.concatenate([ranges.low, ranges.high, at]))
    starts, stops = np.searchsorted(ends, ranges.low), np.searchsorted(ends, ranges.high)
    filled, covered = _layers(starts, stops, ranges.records / (ranges.high - ranges.low), len(ends))
    places = np.flatnonzero(covered)
    return Pieces(ends[places], ends[places + 1], filled[places] * (ends[places + 1] - ends[places]))


def _layers(starts: Places, stops: Places, heights: Floats, count: int) -> tuple[Floats, Places]:
    """Add heights from their starts up to before their stops; return the sum, and how many cover each place."""
    sums = np.cumsum(np.bincount(starts, heights, count) - np.bincount(stops, heights, count))
    covered = np.cumsum(np.bincount(starts, minlength=count) - np.bincount(stops, minlength=count))
    return sums, covered
