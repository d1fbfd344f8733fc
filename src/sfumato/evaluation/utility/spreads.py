"""How records under a published label are spread over original values: evenly, because the label says no more.

What each label of a column may stand for, and numbers that are partly known as ranges, as one distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import Form, ValueSets
from sfumato.evaluation.utility.queries import AttributeDomain, Bins, Floats, Predicate, Range
from sfumato.recoding.notation import STAR
from sfumato.recoding.parsing import Coverage, midpoints, parse, written_ends
from sfumato.table.distinct import distinct_of
from sfumato.table.schema import text_of

_EVERYTHING = (-np.inf, np.inf)


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

    `members`: Codes under each of g labels. `divisor`: float64 (g,): values that a label stands for. More than its
    codes if a declared domain has values that do not occur.
    """

    domain: AttributeDomain
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
class _IntervalSpread:
    """Labels that stand for intervals of numbers; a single number is an interval without length.

    Whole numbers: every whole number in ``[a..b]`` is equally likely, whether it occurs or not. Others: evenly over the
    length. `low`, `high`: float64 (g,): closed ends; both NaN for the missing value.
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
        low, high = predicate.bounds if isinstance(predicate, Range) else _EVERYTHING
        if not self.whole:
            first, last = np.maximum(self.low, low), np.minimum(self.high, high)
            length = self.high - self.low
            inside = np.where(first <= last, 1.0, 0.0)
            share = np.divide(last - first, length, out=inside.copy(), where=length > 0)
            return np.where(inside > 0, share, 0.0), first, last
        first, last = np.maximum(self.low, np.ceil(low)), np.minimum(self.high, np.floor(high))
        share = np.where(first <= last, (last - first + 1) / (self.high - self.low + 1), 0.0)
        return share, first, last


@dataclass(frozen=True, eq=False, repr=False)
class LabelReading:
    """How a kind of release writes the values of an attribute.

    `exact_first`: Whether an original value is always itself, even if it looks like the notation. False if such an
    exact value is escaped. `points`: Whether numbers may differ from the original ones: means, noise.
    """

    form: Form
    exact_first: bool = False
    points: bool = False


def default_reading(domain: AttributeDomain, *, points: bool = False) -> LabelReading:
    """Return how an attribute is written if exact and generalized values are mixed."""
    attribute = domain.attribute
    plain = Form.INTERVAL if attribute.is_numeric else Form.SET
    return LabelReading(plain if attribute.hierarchy is None else Form.ANCESTOR, exact_first=True, points=points)


def read_labels(
    columns: Sequence[pl.Series], domain: AttributeDomain, reading: LabelReading
) -> tuple[AttributeSpread, list[NDArray[np.int32]], int]:
    """Read all published columns of one attribute together.

    Result: What its g distinct labels stand for, which of them each cell of each column has, int32, and how many cells
    cannot be read. Cost O(cells), and once per distinct label.
    """
    texts, codes = _numbered(columns)
    spread, readable = _spread(texts, domain, reading)
    lost = sum(int(np.count_nonzero(~readable[label_of])) for label_of in codes)
    return spread, codes, lost


def original_spread(domain: AttributeDomain) -> AttributeSpread:
    """Return what the codes of the original stand for: the values themselves. The missing value is the last label."""
    if domain.attribute.is_measured:
        assert domain.numbers is not None
        numbers = np.append(domain.numbers, np.nan)
        return _IntervalSpread(numbers, numbers, domain.is_whole)
    size = domain.attribute.size + 1
    return CodeSpread(domain, ValueSets(np.arange(size + 1), np.arange(size, dtype=np.int32)), np.ones(size))


def _numbered(columns: Sequence[pl.Series]) -> tuple[pl.Series, list[NDArray[np.int32]]]:
    """Return the distinct texts of all columns together, and which of them each cell has."""
    if len(columns) == 1 and isinstance(columns[0].dtype, (pl.String, pl.Categorical, pl.Enum)):
        return _numbered_alone(columns[0])
    parts, texts = [], []
    for column in columns:
        distinct = distinct_of(column)
        parts.append(distinct.rank_of[distinct.raw])
        texts.append(text_of(distinct.values).cast(pl.String).extend_constant(None, 1))
    together = pl.concat([text.alias("label") for text in texts])
    labels = together.unique(maintain_order=True)
    places = pl.int_range(len(labels), eager=True, dtype=pl.Int32)
    numbers = together.replace_strict(labels, places, return_dtype=pl.Int32).to_numpy()
    starts = np.cumsum([0, *(len(text) for text in texts)])
    codes = [numbers[start:][part] for start, part in zip(starts, parts, strict=False)]
    return labels, codes


def _numbered_alone(column: pl.Series) -> tuple[pl.Series, list[NDArray[np.int32]]]:
    """Do the same for one column of texts, whose distinct values are already distinct texts."""
    distinct = distinct_of(column)
    texts = distinct.values.cast(pl.String).alias("label")
    return texts.extend_constant(None, 1), [distinct.rank_of[distinct.raw].astype(np.int32)]


def _spread(
    labels: pl.Series, domain: AttributeDomain, reading: LabelReading
) -> tuple[AttributeSpread, NDArray[np.bool_]]:
    if reading.points and domain.numbers is not None:
        return _points(labels, domain)
    if not domain.attribute.is_measured or reading.form is Form.SET:
        return _codes(labels, domain, reading)
    return _intervals(labels, domain, reading)


def _points(labels: pl.Series, domain: AttributeDomain) -> tuple[AttributeSpread, NDArray[np.bool_]]:
    """Read numbers as they are, intervals as their middle; ``*`` is the whole domain."""
    low = midpoints(labels, domain.attribute.kind).copy()
    high = low.copy()
    star = labels.eq_missing(STAR).to_numpy()
    low[star], high[star] = _whole_domain(domain)
    # A point has no length, and a mean need not be whole: ranges of whole numbers would round it away.
    return _IntervalSpread(low, high, False), np.isfinite(low) | labels.is_null().to_numpy()


def _intervals(
    labels: pl.Series, domain: AttributeDomain, reading: LabelReading
) -> tuple[AttributeSpread, NDArray[np.bool_]]:
    coverage = parse(labels, domain.attribute, reading.form)
    # A recipient knows only what lies between the ends, inside the domain; which values occur there is the
    # steward's knowledge.
    low, high, half_open = written_ends(labels, domain.attribute.kind)
    low, high = low.copy(), high - (half_open & domain.is_whole)
    inside = _whole_domain(domain)
    low, high = np.clip(low, *inside), np.clip(high, *inside)
    star = labels.eq_missing(STAR).to_numpy()
    low[star], high[star] = _whole_domain(domain)
    return _IntervalSpread(low, high, domain.is_whole), coverage.readable | labels.is_null().to_numpy()


def _codes(
    labels: pl.Series, domain: AttributeDomain, reading: LabelReading
) -> tuple[AttributeSpread, NDArray[np.bool_]]:
    coverage = parse(labels, domain.attribute, reading.form)
    sets = _members(coverage, domain.attribute.size)
    readable = coverage.readable | labels.is_null().to_numpy()
    texts = labels.to_list()
    star = np.array([label == STAR for label in texts], dtype=np.bool_)
    exact = domain.code_of if reading.exact_first else {}
    missing = np.array([domain.attribute.size], dtype=np.int32)
    for place, label in enumerate(texts):
        if label is None or not readable[place]:
            sets[place] = missing
        elif star[place]:
            sets[place] = np.arange(domain.attribute.size, dtype=np.int32)
        if label in exact:
            sets[place], readable[place], star[place] = np.array([exact[label]], dtype=np.int32), True, False
    sizes = np.array([len(codes) for codes in sets])
    members = ValueSets(np.concatenate([[0], np.cumsum(sizes)]), np.concatenate(sets).astype(np.int32))
    divisor = np.where(star, max(_domain_values(domain), domain.attribute.size), sizes).astype(np.float64)
    return CodeSpread(domain, members, divisor), readable


def _members(coverage: Coverage, missing: int) -> list[NDArray[np.int32]]:
    if coverage.members is not None:
        starts = coverage.members.starts
        codes = np.where(coverage.members.codes < 0, missing, coverage.members.codes)
        return [codes[start:stop] for start, stop in pairwise(starts)]
    return [
        np.arange(low, high + 1, dtype=np.int32)
        for low, high in zip(coverage.low.tolist(), coverage.high.tolist(), strict=True)
    ]


def _domain_values(domain: AttributeDomain) -> int:
    """Count the values of the whole domain, including declared ones that do not occur, without the missing one."""
    attribute = domain.attribute
    return attribute.domain_size - (attribute.has_missing and attribute.hierarchy is None)


def _whole_domain(domain: AttributeDomain) -> tuple[float, float]:
    """Return the ends of ``*``: those of the declared domain, else of the data."""
    attribute = domain.attribute
    if attribute.is_measured:
        return attribute.domain_low, attribute.domain_low + attribute.domain_width
    numbers: Floats | None = domain.numbers
    assert numbers is not None
    return float(numbers.min()), float(numbers.max())


Places = NDArray[np.integer]


MOST_WHOLE_NUMBERS = 2**20
"""Whole numbers over a wider range than this are spread as other numbers are."""


TIED = 1e-9
"""Shares that are closer than this are equal: sums of floats must not decide which number a quantile is."""


_SHORT = 1e-3
"""Half the length of a range over its middle, below which its mean logarithm is taken from a series."""


class Pieces(NamedTuple):
    """Ranges of numbers (a point has no length): closed ends `low`, `high`, and the `records` in each, float64 (p,)."""

    low: Floats
    high: Floats
    records: Floats


@dataclass(frozen=True, eq=False, repr=False)
class NumberSpread:
    """Records by rising ranges that do not overlap, evenly filled: `pieces`, with records; None without numbers."""

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

    `pieces`: p ranges. `whole`: Whether a range stands for the whole numbers in it, all alike; else it is filled
    evenly. Cost O(p log p), and as many steps as whole numbers lie between the ends.
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
