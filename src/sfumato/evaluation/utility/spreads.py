"""How the records under a published label are spread over original values: evenly, because the label says no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.generalized import ValueSets
from sfumato.evaluation.utility.bins import Bins
from sfumato.evaluation.utility.domains import Domain, Floats
from sfumato.evaluation.utility.number_spread import NumberSpread, Pieces, number_spread
from sfumato.evaluation.utility.queries import Predicate, Range

EVERYTHING = (-np.inf, np.inf)


class AttributeSpread(Protocol):
    """The labels of one published attribute, g of them."""

    @property
    def count(self) -> int:
        """Number of labels."""
        ...

    def share(self, predicate: Predicate | None) -> Floats:
        """Return the share of each label's records that satisfy a predicate, (g,); None: that are not missing."""
        ...

    def moment(self, predicate: Predicate | None) -> Floats:
        """Return the mean over each label's records of their number, 0 if it does not satisfy, (g,)."""
        ...

    def histogram(self, bins: Bins) -> Floats:
        """Return the share of each label's records in each bin, (g, b + 1); missing values are the last."""
        ...

    def tally(self, counts: Floats, bins: Bins) -> Floats:
        """Return the expected records in each bin, (b + 1,), from those under each label, (g,)."""
        ...

    def values(self) -> Floats:
        """Return the mean number under each label, NaN for missing, (g,)."""
        ...

    def numbers(self, counts: Floats) -> NumberSpread:
        """Return how the numbers of the records under each label, (g,), are distributed; missing ones are left out."""
        ...

    def ends(self) -> tuple[Floats, Floats]:
        """Return the lowest and the highest number under each label, NaN for missing, (g,) each."""
        ...

    def draw(self, label_of: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.generic]:
        """Draw an original value for each record with a label: numbers (NaN: missing), or codes."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class CodeSpread:
    """Labels that stand for some original values, all equally likely: sets, nodes, exact values.

    Attributes
    ----------
    domain : Domain
    members : Members
        Codes under each of g labels.
    divisor : numpy.ndarray
        float64 (g,): values that a label stands for. More than its codes if a declared domain has values that do not
        occur.
    """

    domain: Domain
    members: ValueSets
    divisor: Floats

    @property
    def count(self) -> int:
        """Number of labels."""
        return len(self.divisor)

    def share(self, predicate: Predicate | None) -> Floats:
        """Divide matching values by all values."""
        return self.mean(self.domain.matching(predicate))

    def moment(self, predicate: Predicate | None) -> Floats:
        """Sum of the matching numbers over all values."""
        numbers = self.domain.numbers
        assert numbers is not None
        return self.mean(self.domain.matching(predicate) * np.append(numbers, 0.0))

    def histogram(self, bins: Bins) -> Floats:
        """Values in each bin over all values."""
        inside = bins.bin_of == np.arange(bins.count + 1)[:, None]
        return np.column_stack([self.mean(each) for each in inside.astype(np.float64)])

    def tally(self, counts: Floats, bins: Bins) -> Floats:
        """Divide the records under a label among its values."""
        sizes = np.diff(self.members.starts)
        shared = np.repeat(counts / self.divisor, sizes)
        return np.bincount(bins.bin_of[self.members.codes], shared, bins.count + 1).astype(np.float64)

    def values(self) -> Floats:
        """Mean number of the values that are not missing."""
        known, means = self.share(None), np.full(self.count, np.nan)
        np.divide(self.moment(None), known, out=means, where=known > 0)
        return means

    def numbers(self, counts: Floats) -> NumberSpread:
        """Divide the records under a label among those of its values that occur."""
        assert self.domain.numbers is not None
        sizes = np.diff(self.members.starts)
        known = self.members.codes < len(self.domain.numbers)
        at = self.domain.numbers[self.members.codes[known]]
        return number_spread(Pieces(at, at, np.repeat(counts / sizes, sizes)[known]), whole=self.domain.is_whole)

    def ends(self) -> tuple[Floats, Floats]:
        """Extremes of the numbers; a missing value among them does not count."""
        numbers = self.domain.numbers
        assert numbers is not None
        first = self.members.starts[:-1]
        low = np.minimum.reduceat(np.append(numbers, np.inf)[self.members.codes], first)
        high = np.maximum.reduceat(np.append(numbers, -np.inf)[self.members.codes], first)
        missing = low > high
        return np.where(missing, np.nan, low), np.where(missing, np.nan, high)

    def draw(self, label_of: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.generic]:
        """Draw one of a label's codes, or its number if there is one."""
        starts = self.members.starts[label_of]
        sizes = self.members.starts[label_of + 1] - starts
        codes = self.members.codes[starts + rng.integers(0, sizes)]
        numbers = self.domain.numbers
        drawn: NDArray[np.generic] = codes if numbers is None else np.append(numbers, np.nan)[codes]
        return drawn

    def mean(self, of_code: Floats) -> Floats:
        """Return the mean of a figure of each code, (size + 1,), over each label's values."""
        sums: Floats = np.add.reduceat(of_code[self.members.codes], self.members.starts[:-1])
        return sums / self.divisor


@dataclass(frozen=True, eq=False, repr=False)
class IntervalSpread:
    """Labels that stand for intervals of numbers; a single number is an interval without length.

    Whole numbers: every whole number in ``[a..b]`` is equally likely, whether it occurs or not. Others: evenly over the
    length.

    Attributes
    ----------
    low, high : numpy.ndarray
        float64 (g,): closed ends; both NaN for the missing value.
    whole : bool
        Whether only whole numbers occur.
    """

    low: Floats
    high: Floats
    whole: bool

    @property
    def count(self) -> int:
        """Number of labels."""
        return len(self.low)

    def share(self, predicate: Predicate | None) -> Floats:
        """Overlap over length; for whole numbers, both counted in numbers."""
        return self._overlap(predicate)[0]

    def moment(self, predicate: Predicate | None) -> Floats:
        """Share times the middle of the overlap."""
        share, first, last = self._overlap(predicate)
        return share * np.where(share > 0, (first + last) / 2, 0.0)

    def histogram(self, bins: Bins) -> Floats:
        """Share between successive upper ends of bins; values beyond the last belong to it."""
        assert bins.uppers is not None
        below = [self._overlap(Range("", -np.inf, upper))[0] for upper in bins.uppers[:-1]]
        known = self.share(None)
        cumulated = np.column_stack([np.zeros(self.count), *below, known][: bins.count + 1])
        return np.column_stack([np.diff(cumulated, axis=1), 1.0 - known])

    def tally(self, counts: Floats, bins: Bins) -> Floats:
        """Count up to each upper end; values beyond the last belong to it."""
        assert bins.uppers is not None
        below = [float(counts @ self._overlap(Range("", -np.inf, upper))[0]) for upper in bins.uppers[:-1]]
        known = float(counts @ self.share(None))
        return np.append(np.diff([0.0, *below, known][: bins.count + 1]), counts.sum() - known)

    def values(self) -> Floats:
        """Middle of each interval."""
        return (self.low + self.high) / 2

    def numbers(self, counts: Floats) -> NumberSpread:
        """Fill each interval with its records."""
        known = ~np.isnan(self.low)
        return number_spread(Pieces(self.low[known], self.high[known], counts[known]), whole=self.whole)

    def ends(self) -> tuple[Floats, Floats]:
        """Both ends."""
        return self.low, self.high

    def draw(self, label_of: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.generic]:
        """Draw evenly from the interval."""
        low, high = self.low[label_of], self.high[label_of]
        if self.whole:
            drawn: Floats = np.minimum(np.floor(low + rng.random(len(low)) * (high - low + 1)), high)
            return drawn
        between: Floats = low + rng.random(len(low)) * (high - low)
        return between

    def _overlap(self, predicate: Predicate | None) -> tuple[Floats, Floats, Floats]:
        """Return the share of each interval inside a range, and both ends of what is inside."""
        low, high = predicate.bounds if isinstance(predicate, Range) else EVERYTHING
        if not self.whole:
            first, last = np.maximum(self.low, low), np.minimum(self.high, high)
            length = self.high - self.low
            inside = np.where(first <= last, 1.0, 0.0)
            share = np.divide(last - first, length, out=inside.copy(), where=length > 0)
            return np.where(inside > 0, share, 0.0), first, last
        first, last = np.maximum(self.low, np.ceil(low)), np.minimum(self.high, np.floor(high))
        share = np.where(first <= last, (last - first + 1) / (self.high - self.low + 1), 0.0)
        return share, first, last
