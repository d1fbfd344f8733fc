"""The choice of how each attribute is published, as a value that policies can hold, and intervals with round ends.

A *grid* is the sequence of bins of one step: numbers in 1, 2 or 5 times a power of ten, dates in days, weeks (from
Monday), months, quarters, half-years and years. A class is published as the bins that its values lie in, of the finest
grid on which these are at most four; of a declared grid they are at most two, and steps are closer (3, too).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from functools import partial
from itertools import count
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import Form, GeneralizedColumn, GeneralizedTable
from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.hierarchy.tree import Hierarchy
from sfumato.recoding.notation import STAR, exact_texts, range_texts, with_stars
from sfumato.table.distinct import FEW
from sfumato.table.encoding import EncodedAttribute, IntervalGrid
from sfumato.table.header import columns_of
from sfumato.table.schema import Kind, text_of

Numbers = NDArray[np.float64]
_Codes = NDArray[np.integer]
Indices = NDArray[np.int32]

MOST_BINS = 4
"""Most bins of an interval: finer ends disclose more about the values near them, coarser ends lose more."""

DECLARED_BINS = 2
"""The same of declared labels: that both of two bins have a value tells of single records next to nothing."""

_EPOCH = date(1970, 1, 1).toordinal()
_FINEST = 12
"""Decimal places below the width of the data that are worth distinguishing."""
_DIGITS = 15
"""Significant digits that a float always keeps."""
_MANTISSAS = (1, 2, 5)
_STEPS: Mapping[int, Sequence[int]] = {MOST_BINS: _MANTISSAS, DECLARED_BINS: (1, 2, 3, 5)}
"""First digits of steps, by the most bins of an interval."""
FIRST_DAY, LAST_DAY = date(1, 1, 1).toordinal() - _EPOCH, date(9999, 12, 31).toordinal() - _EPOCH
"""The days that can be written, counted from 1970-01-01."""


@dataclass(frozen=True)
class _Grid:
    """Bins of one step."""

    width: float  # at least that of the widest bin
    bin_of: Callable[[Numbers], Numbers]  # number of the bin that each value is in, float64 whole numbers
    start: Callable[[Numbers], Numbers]  # where each bin begins; it ends where the next one does


class _RoundedIntervals(NamedTuple):
    """Intervals on grids, one for each of g ranges of codes: float64 (g,) each."""

    first: Numbers
    """Where it begins."""
    second: Numbers
    """Where its second bin begins, or would begin."""
    last: Numbers
    """Where its last bin begins."""
    stop: Numbers
    """Where what follows it begins."""


def exactly_numbered(attribute: EncodedAttribute) -> bool:
    """Tell whether the codes stand for numbers that are all exact, that is, below 2⁵³."""
    numbers = attribute.numbers
    return numbers is not None and bool(len(numbers)) and float(np.abs(numbers).max()) < _LARGEST_EXACT


def roundable(attribute: EncodedAttribute) -> bool:
    """Tell whether intervals of the attribute are rounded: not from 2⁵³ on, nor where the domain is few bins.

    The whole domain as `MOST_BINS` of the finest grid, such as grades from 1 to 5, is categories in all but name:
    rounding would add half of the column to most intervals. Where the grid is settled already, they are whatever the
    domain is.
    """
    if not exactly_numbered(attribute) or attribute.size < 2:
        return False
    if attribute.rounding is not None:
        return True
    ends = np.array([attribute.domain_low, attribute.domain_low + attribute.domain_width])
    low, high = next(_grids(attribute)).bin_of(ends)
    return bool(high - low >= MOST_BINS)


def rounding_of(attribute: EncodedAttribute) -> IntervalGrid | None:
    """Return the grid that an attribute asks for, so that other values can be put on it; None without rounding."""
    if attribute.rounding is not None or not roundable(attribute):
        return attribute.rounding
    return IntervalGrid(_unit(attribute), _whole(attribute), *_shown_borders(attribute))


def with_declared_grid(attribute: EncodedAttribute) -> EncodedAttribute:
    """Return the attribute with the grid of declared labels settled, however few values it has."""
    if attribute.numbers is None or attribute.size < 2:
        return attribute
    known = attribute.rounding
    grid = known or IntervalGrid(_unit(attribute), _whole(attribute), *_shown_borders(attribute))
    return replace(attribute, rounding=replace(grid, bins=DECLARED_BINS))


def with_grid(attribute: EncodedAttribute) -> EncodedAttribute:
    """Return the attribute with its grid settled, so that it is not worked out from its values again."""
    grid = rounding_of(attribute)
    return attribute if grid is None else replace(attribute, rounding=grid)


def _rounded_intervals(
    attribute: EncodedAttribute, low: _Codes, high: _Codes, own: EncodedAttribute | None = None
) -> _RoundedIntervals:
    """Put ranges of values on the finest grid on which they touch no more bins than an interval may have."""
    # Bins have two units or more, as one would be an exact value. A unit is the largest of 1, 2, 5, 10 ... that divides
    # all values of `own`; for dates a day, a month or a year. The choice depends only on both values and the unit. O(g
    # · grids), and O(size).
    assert attribute.numbers is not None
    below, above = attribute.numbers[low], attribute.numbers[high]
    ends = _RoundedIntervals(*np.full((4, len(low)), np.nan))
    left, narrowest = np.arange(len(low)), float((above - below).min(initial=np.inf))
    settled = (own or attribute).rounding
    most = MOST_BINS if settled is None else settled.bins
    for grid in _grids(own or attribute):
        if not len(left):
            break
        if grid.width * most < narrowest:
            continue
        from_bin, to_bin = grid.bin_of(below[left]), grid.bin_of(above[left])
        fits = to_bin - from_bin < most
        now, bins = left[fits], (from_bin[fits], to_bin[fits])
        ends.first[now], ends.second[now] = grid.start(bins[0]), grid.start(bins[0] + 1)
        ends.last[now], ends.stop[now] = grid.start(bins[1]), grid.start(bins[1] + 1)
        left = left[~fits]
        narrowest = float((above[left] - below[left]).min(initial=np.inf))
    return ends


def rounded_ranges(
    attribute: EncodedAttribute, low: Indices, high: Indices, own: EncodedAttribute | None = None
) -> tuple[Indices, Indices]:
    """Widen ranges of several present values to all codes inside their intervals, int32 (g,) each; others stay."""
    own = own or attribute
    if not roundable(own):
        return low, high
    assert attribute.numbers is not None
    several = np.flatnonzero((low < high) & (high < attribute.size))
    ends = _rounded_intervals(attribute, low[several], high[several], own)
    low, high = low.copy(), high.copy()
    low[several] = np.searchsorted(attribute.numbers, ends.first, side="left")
    high[several] = np.searchsorted(attribute.numbers, ends.stop, side="left") - 1
    return low, high


def on_declared_grid(
    begin: Numbers, stop: Numbers, kind: Kind, domain: tuple[float, float] | None = None
) -> NDArray[np.bool_]:
    """Tell which intervals are one bin or two of any grid, but for what a declared domain cuts off."""
    found = np.zeros(len(begin), dtype=np.bool_)
    low, high = (FIRST_DAY, LAST_DAY + 1) if kind is Kind.DATE else (np.nan, np.nan)
    low, high = domain or (low, high)
    most = 2 * float(np.abs(np.concatenate([begin, stop])).max(initial=1.0))
    for grid in _calendar("D") if kind is Kind.DATE else _decimal(1, -_FINEST, _STEPS[DECLARED_BINS]):
        first, after = grid.bin_of(begin), grid.bin_of(np.minimum(stop, LAST_DAY) if kind is Kind.DATE else stop)
        full = grid.start(after) == stop
        begins, stops = (grid.start(first) == begin) | (begin == low), full | (stop == high)
        found |= begins & stops & (after - full - first < DECLARED_BINS)
        if grid.width > most:
            return found
    raise AssertionError


def outer_bins(attribute: EncodedAttribute, low: _Codes, high: _Codes) -> tuple[Numbers, Numbers]:
    """Return where the second bin of each interval begins, and where the last one does, float64 (g,) each."""
    intervals = _rounded_intervals(attribute, low, high)
    return intervals.second, intervals.last


def rounded_texts(
    attribute: EncodedAttribute, low: Indices, high: Indices, own: EncodedAttribute | None = None
) -> pl.Series:
    """Write ranges of codes: one value exactly, ``*`` where `high` is the missing value's, others with rounded ends.

    Whole numbers and dates are written closed, ``[30..35]``, other numbers ``[2.5..4.5)``. An interval never reaches
    beyond a domain that is declared wider than the data.
    """
    own = own or attribute
    if not roundable(own):
        return range_texts(attribute, low, high)
    several = np.flatnonzero((low < high) & (high < attribute.size))
    ends = _rounded_intervals(attribute, low[several], high[several], own)
    written = _written(own, *_inside_domain(own, ends.first, ends.stop))
    whole = (low < high) & (high == attribute.size)
    if attribute.size + len(low) <= FEW:
        return _few_rounded_texts(attribute, low, several, written, whole)
    return with_stars(exact_texts(attribute, low).scatter(several, written), whole)


def _few_rounded_texts(
    attribute: EncodedAttribute, low: Indices, several: NDArray[np.intp], written: pl.Series, whole: NDArray[np.bool_]
) -> pl.Series:
    interval_of = dict(zip(several.tolist(), written.to_list(), strict=True))
    starred = whole.tolist()
    texts = [
        STAR if starred[place] else interval_of.get(place, attribute.texts[code])
        for place, code in enumerate(low.tolist())
    ]
    return pl.Series(attribute.name, texts, dtype=pl.String)


def _written(attribute: EncodedAttribute, first: Numbers, stop: Numbers) -> pl.Series:
    closed = _whole(attribute)
    begin, end = _texts(attribute, first), _texts(attribute, stop - closed)
    if len(first) <= FEW:
        bracket = "]" if closed else ")"
        pairs = zip(begin.to_list(), end.to_list(), strict=True)
        return pl.Series([f"[{one}..{other}{bracket}" for one, other in pairs], dtype=pl.String)
    closing = pl.lit("]" if closed else ")")
    return pl.select(pl.concat_str(pl.lit("["), begin, pl.lit(".."), end, closing)).to_series()


def _inside_domain(attribute: EncodedAttribute, first: Numbers, stop: Numbers) -> tuple[Numbers, Numbers]:
    """Cut intervals off where a declared domain ends; an end of the data itself is a value, and is not shown."""
    assert attribute.numbers is not None
    if attribute.kind is Kind.DATE:
        # The range in which dates can be written: a bin of centuries may reach beyond it.
        first, stop = np.maximum(first, FIRST_DAY), np.minimum(stop, LAST_DAY + 1)
    low, high = _shown_borders(attribute)
    if low is not None:
        first = np.maximum(first, low)
    if _whole(attribute) and high is not None:
        stop = np.minimum(stop, high + 1)
    return first, stop


def _shown_borders(attribute: EncodedAttribute) -> tuple[float | None, float | None]:
    if attribute.rounding is not None:
        return attribute.rounding.low, attribute.rounding.high
    assert attribute.numbers is not None
    low, high = attribute.domain_low, attribute.domain_low + attribute.domain_width
    return low if low < attribute.numbers[0] else None, high if high > attribute.numbers[-1] else None


def _texts(attribute: EncodedAttribute, values: Numbers) -> pl.Series:
    if attribute.kind is Kind.DATE:
        return text_of(pl.Series(values.astype(np.int32)).cast(pl.Date))
    return text_of(pl.Series(values.astype(np.int64) if _whole(attribute) else values))


def _whole(attribute: EncodedAttribute) -> bool:
    numbers = attribute.numbers
    if attribute.kind is Kind.DATE or (attribute.rounding is not None and not attribute.rounding.whole):
        return attribute.kind is Kind.DATE
    return numbers is not None and bool((numbers == np.floor(numbers)).all())


def _grids(attribute: EncodedAttribute) -> Iterator[_Grid]:
    """Yield grids, the finest first, without end."""
    unit, bins = (_unit(attribute), MOST_BINS) if (own := attribute.rounding) is None else (own.unit, own.bins)
    return _calendar(unit) if isinstance(unit, str) else _decimal(*unit, _STEPS[bins])


def _unit(attribute: EncodedAttribute) -> str | tuple[int, int]:
    assert attribute.numbers is not None
    if attribute.kind is Kind.DATE:
        return _calendar_unit(attribute.numbers)
    return (_whole_unit if _whole(attribute) else _fraction_unit)(attribute.numbers)


def _decimal(mantissa: int, exponent: int, steps: Sequence[int]) -> Iterator[_Grid]:
    """Yield the grids whose step is at least twice the unit ``mantissa · 10 ** exponent``."""
    for decade in count():
        for step in steps:
            if step * 10**decade >= 2 * mantissa:
                yield _decimal_grid(step, exponent + decade)


def _decimal_grid(mantissa: int, exponent: int) -> _Grid:
    # Division by a power of ten is exact to the last digit; multiplication by a fraction is not.
    scale = 10.0 ** abs(exponent)

    def start(bins: Numbers) -> Numbers:
        multiples: Numbers = bins * mantissa * scale if exponent >= 0 else bins * mantissa / scale
        return multiples

    def bin_of(values: Numbers) -> Numbers:
        step = mantissa * scale
        bins: Numbers = np.floor(values / step if exponent >= 0 else values * scale / mantissa)
        bins -= start(bins) > values
        bins += start(bins + 1) <= values
        return bins

    return _Grid(mantissa * scale if exponent >= 0 else mantissa / scale, bin_of, start)


def _whole_unit(numbers: Numbers) -> tuple[int, int]:
    """Return the largest 1, 2 or 5 times a power of ten that divides all numbers: mantissa and exponent."""
    divisor = int(np.gcd.reduce(np.abs(numbers).astype(np.int64))) or 1
    exponent = 0
    while divisor % 10 ** (exponent + 1) == 0:
        exponent += 1
    rest = divisor // 10**exponent
    return (5 if rest % 5 == 0 else 2 if rest % 2 == 0 else 1), exponent


def _fraction_unit(numbers: Numbers) -> tuple[int, int]:
    """Return the power of ten of the last decimal place that is used and that floats distinguish: 1, exponent."""
    width = float(numbers[-1] - numbers[0]) or abs(float(numbers[0]))
    largest = float(np.abs(numbers).max())
    finest = int(min(max(_FINEST - np.floor(np.log10(width)), 0), _DIGITS - np.ceil(np.log10(largest)), 300))
    for places in range(1, min(finest, 15)):
        if (np.round(numbers, places) == numbers).all():
            return 1, -places
    return 1, -finest


def _calendar(unit: str) -> Iterator[_Grid]:
    """Yield days, weeks, months and years, starting with bins of two units or more."""
    if unit == "D":
        yield _day_grid(2, 0)
        yield _day_grid(7, 3)
        yield _month_grid(1)
    if unit != "Y":
        yield from (_month_grid(months) for months in (3, 6, 12))
    # Twelve months make one year, and ten years the first decade.
    yield from (_month_grid(12 * mantissa) for mantissa in (2, 5))
    decade = 10
    while True:
        yield from (_month_grid(12 * mantissa * decade) for mantissa in _MANTISSAS)
        decade *= 10


def _calendar_unit(days: Numbers) -> str:
    dates = days.astype(np.int64).astype("datetime64[D]")
    for unit in ("Y", "M"):
        if (dates.astype(f"datetime64[{unit}]").astype("datetime64[D]") == dates).all():
            return unit
    return "D"


def _day_grid(step: int, shift: int) -> _Grid:
    def bin_of(days: Numbers) -> Numbers:
        bins: Numbers = np.floor((days + shift) / step)
        return bins

    def start(bins: Numbers) -> Numbers:
        return bins * step - shift

    return _Grid(float(step), bin_of, start)


_YEAR_0 = 1970 * 12


def _month_grid(step: int) -> _Grid:
    """Make the grid of bins of this many months, counted from the year 0; so decades begin with a year ending in 0."""
    return _Grid(31.0 * step, partial(_month_bin, step), partial(_month_start, step))


def _month_bin(step: int, days: Numbers) -> Numbers:
    months = days.astype(np.int64).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    return ((months + _YEAR_0) // step).astype(np.float64)


def _month_start(step: int, bins: Numbers) -> Numbers:
    months = (bins * step).astype(np.int64) - _YEAR_0
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64).astype(np.float64)


_LARGEST_EXACT = 2.0**53
"""From this number on, floats do not distinguish neighbouring whole numbers."""


def of_occurring(attribute: EncodedAttribute, occurs: NDArray[np.bool_]) -> EncodedAttribute:
    """Return the attribute that a table with the codes that occur alone has; a declared domain stays."""
    if attribute.numbers is None:
        return attribute
    kept = np.flatnonzero(occurs[: attribute.size])
    numbers = attribute.numbers[kept]
    low, high = attribute.domain_low, attribute.domain_low + attribute.domain_width
    if len(numbers):
        low = numbers[0] if low == attribute.numbers[0] else low
        high = numbers[-1] if high == attribute.numbers[-1] else high
    return replace(
        attribute,
        labels=_labels(attribute, kept),
        numbers=numbers,
        has_missing=bool(occurs[attribute.size]),
        domain_low=float(low),
        domain_width=float(high - low),
    )


def written_like(attribute: EncodedAttribute, own: EncodedAttribute) -> EncodedAttribute:
    """Return the attribute with its values written as `own`, which has some of them, writes them."""
    if attribute.numbers is None or own.numbers is None:
        return attribute
    return replace(
        attribute, labels=attribute.labels.scatter(np.searchsorted(attribute.numbers, own.numbers), own.labels)
    )


def _labels(attribute: EncodedAttribute, kept: NDArray[np.intp]) -> pl.Series:
    """Write the kept values: whole numbers as such, where all of them are whole and exact."""
    assert attribute.numbers is not None
    numbers = attribute.numbers[kept]
    whole = (numbers == np.floor(numbers)) & (np.abs(numbers) < _LARGEST_EXACT)
    if attribute.kind is Kind.DATE or not whole.all():
        return attribute.labels[kept]
    return text_of(pl.Series(attribute.name, numbers.astype(np.int64)))


# Which kind of recoding a published table shows.


class RecodingKind(StrEnum):
    """Kinds of recoding, from the most rigid to the most flexible."""

    FULL_DOMAIN = "full-domain"
    SINGLE_DIMENSIONAL = "single-dimensional"
    MULTIDIMENSIONAL = "multidimensional"
    LOCAL = "local"


def recoding_kind(generalized: GeneralizedTable) -> RecodingKind:
    """Name the most rigid kind that the published records show, suppressed ones aside; O(n · q), by hashing.

    Full-domain: every attribute on one level of its hierarchy, or without one unchanged or alike everywhere;
    single-dimensional: equal original values of an attribute are published equally; multidimensional: equal records
    are; else local. As the thesis, 2.4.
    """
    if not generalized.aligned:
        raise InputError("the kind of recoding cannot be found from a published table, because its rows are shuffled")
    kept = np.flatnonzero(generalized.class_of >= 0)
    original = [pl.Series(f"original {index}", codes) for index, codes in enumerate(generalized.original.codes[kept].T)]
    images = [pl.Series(f"published {index}", image) for index, image in enumerate(_images(generalized, kept))]
    frame = pl.DataFrame([*original, *images])
    pairs = [(before.name, after.name) for before, after in zip(original, images, strict=True)]
    if all(_determines(frame, [before], [after]) for before, after in pairs):
        return RecodingKind.FULL_DOMAIN if _on_one_level(generalized) else RecodingKind.SINGLE_DIMENSIONAL
    befores, afters = [before for before, _ in pairs], [after for _, after in pairs]
    return RecodingKind.MULTIDIMENSIONAL if _determines(frame, befores, afters) else RecodingKind.LOCAL


def _images(generalized: GeneralizedTable, kept: NDArray[np.int64]) -> list[NDArray[np.int32]]:
    # Two generalized values with one label (as means may have) are one value to a recipient.
    return [
        _label_numbers(column.labels)[column.per_class][generalized.class_of[kept]] for column in generalized.columns
    ]


def _label_numbers(labels: pl.Series) -> NDArray[np.int32]:
    distinct = labels.unique(maintain_order=True)
    numbers = pl.int_range(len(distinct), eager=True, dtype=pl.Int32)
    return labels.replace_strict(distinct, numbers, return_dtype=pl.Int32).to_numpy()


def _determines(frame: pl.DataFrame, keys: Sequence[str], images: Sequence[str]) -> bool:
    return columns_of(frame, keys).n_unique() == columns_of(frame, [*keys, *images]).n_unique()


def _on_one_level(generalized: GeneralizedTable) -> bool:
    return all(
        _shares_a_level(column)
        if column.attribute.hierarchy is not None
        else column.count == 1 or not column.level.any()
        for column in generalized.columns
    )


def _shares_a_level(column: GeneralizedColumn) -> bool:
    """Tell whether the labels are on one level; a label that repeats on several levels is on all of them."""
    hierarchy = column.attribute.hierarchy
    assert hierarchy is not None
    # The missing value has no ancestor but the top, so it stays unchanged on every level below.
    nodes = (column.low < column.attribute.size) & ~column.unrestricted
    lowest = column.level[nodes].tolist()
    highest = [_highest(hierarchy, *node) for node in zip(column.low[nodes].tolist(), lowest, strict=True)]
    if column.unrestricted.any():
        return all(level == hierarchy.height for level in highest)
    return not lowest or max(lowest) <= min(highest)


def _highest(hierarchy: Hierarchy, leaf: int, level: int) -> int:
    """Return the highest level on which the leaf's label is that of `level`."""
    labels = [step.labels[node] for step, node in zip(hierarchy.levels, hierarchy.node_of[:, leaf], strict=True)]
    return max(place for place, label in enumerate(labels) if label == labels[level])


_Ends = Literal["rounded", "tight"]
Suppressed = Literal["remove", "star"]
_Labels = Literal["least", "declared"]
Average = Literal["mean", "median", "mode", "geometric-mean"]

_KEYS = ("numeric", "forms", "ends", "suppressed", "average", "labels")
_MOST_WITHOUT_GROUPS = 2
"""Values of a column whose sets are all of it, or one value."""


@dataclass(frozen=True)
class Recoding:
    """How a solution is published.

    Parameters
    ----------
    numeric
        Form of numbers and dates without a hierarchy: ``"interval"`` or ``"mean"``. Attributes with a hierarchy are
        published as the common ancestor, all others as value sets.
    forms
        The form of single attributes, which overrides these defaults. ``"interval"`` and ``"mean"`` need a number or
        date without a hierarchy, ``"ancestor"`` needs a hierarchy, ``"set"`` always works.
    ends
        Where intervals end. ``"rounded"``: at round numbers around the values of the class, so that no end is anybody's
        value (decision record 9). ``"tight"``: at its smallest and largest value, which loses less but discloses both
        to everybody. Anonymizers that decide themselves what is published also decide this.
    suppressed
        What happens to suppressed records: ``"remove"`` leaves them out, ``"star"`` publishes them as one class with
        ``*`` in every quasi-identifying column.
    average
        Which number the form ``"mean"`` publishes for a class: None, the same as ``"mean"``; ``"median"``, halfway
        between the two middle numbers of an even class; ``"mode"``, the most frequent number, of several the lowest;
        ``"geometric-mean"``, of numbers that are all above 0. Median and mode may be somebody's own number.
    labels
        What labels tell of their members. None, the same as ``"least"``: a label is the least that covers its class, so
        that every member of a set occurs, and both outer bins of an interval. ``"declared"``: nodes of hierarchies and
        declared groups, and one bin or two of a grid that the column's unit gives. No value sets, no means and no
        tight ends: a category of more than two values needs a hierarchy.

    Raises
    ------
    PolicyError
        With every wrong setting.
    """

    numeric: Form = Form.INTERVAL
    forms: Mapping[str, Form] = field(default_factory=dict)
    ends: _Ends = "rounded"
    suppressed: Suppressed = "remove"
    average: Average | None = None
    labels: _Labels | None = None

    def __post_init__(self) -> None:
        """Check every setting alone; :meth:`forms_of` checks what depends on the attributes."""
        problems: list[str] = []
        if self.numeric not in (Form.INTERVAL, Form.MEAN):
            problems.append("recoding, numeric: must be 'interval' or 'mean'")
        else:
            object.__setattr__(self, "numeric", Form(self.numeric))
        if self.ends not in ("rounded", "tight"):
            problems.append("recoding, ends: must be 'rounded' or 'tight'")
        if self.suppressed not in ("remove", "star"):
            problems.append("recoding, suppressed: must be 'remove' or 'star'")
        if self.average not in (None, *get_args(Average)):
            problems.append("recoding, average: must be 'mean', 'median', 'mode' or 'geometric-mean'")
        if self.average == "mean":
            object.__setattr__(self, "average", None)
        if self.labels not in (None, *get_args(_Labels)):
            problems.append("recoding, labels: must be 'least' or 'declared'")
        if self.labels == "least":
            object.__setattr__(self, "labels", None)
        if self.labels and self.ends == "tight":
            problems.append("recoding, ends: tight ends are values of the class; leave them out with declared labels")
        object.__setattr__(self, "forms", MappingProxyType(_checked_forms(self.forms, problems)))
        raise_all(PolicyError, problems)

    def __hash__(self) -> int:
        """Hash by value; the order of `forms` does not count."""
        forms = frozenset(self.forms.items())
        return hash((self.numeric, forms, self.ends, self.suppressed, self.average, self.labels))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as plain values: a mapping that nobody may change has no other way."""
        return Recoding.from_policy, (self.to_policy(),)

    def forms_of(self, attributes: Iterable[EncodedAttribute]) -> tuple[Form, ...]:
        """Return the form of each attribute.

        Raises
        ------
        PolicyError
            With every form that does not fit its attribute, and every name in `forms` that is not an attribute.
        """
        known = tuple(attributes)
        chosen = tuple(self.forms.get(attribute.name, self._default(attribute)) for attribute in known)
        unknown = set(self.forms) - {attribute.name for attribute in known}
        problems = [f"recoding, forms: {name!r} is not a quasi-identifying column" for name in sorted(unknown)]
        problems.extend(
            f"recoding, column {attribute.name!r}: {reason}"
            for attribute, form in zip(known, chosen, strict=True)
            if (reason := _misfit(attribute, form, self.average) or (self.labels and _undeclared(attribute, form)))
        )
        raise_all(PolicyError, problems)
        return chosen

    def to_policy(self) -> dict[str, Any]:
        """Return the choice as plain values; :meth:`from_policy` reads them back."""
        forms = {name: str(form) for name, form in self.forms.items()}
        plain = {"numeric": str(self.numeric), "forms": forms, "ends": self.ends, "suppressed": self.suppressed}
        chosen = {"average": self.average, "labels": self.labels}
        return plain | {name: value for name, value in chosen.items() if value is not None}

    @classmethod
    def from_policy(cls, values: Mapping[str, Any]) -> Recoding:
        """Build the choice from plain values; keys that are left out keep their default.

        Raises
        ------
        PolicyError
            For unknown keys and for every wrong setting.
        """
        unknown = [f"recoding: unknown key {key!r}; known are {', '.join(_KEYS)}" for key in values if key not in _KEYS]
        raise_all(PolicyError, unknown)
        return cls(**values)

    def _default(self, attribute: EncodedAttribute) -> Form:
        if attribute.hierarchy is not None:
            return Form.ANCESTOR
        if attribute.order is not None:
            return Form.INTERVAL
        return self.numeric if attribute.is_numeric else Form.SET


def _checked_forms(forms: object, problems: list[str]) -> dict[str, Form]:
    if not isinstance(forms, Mapping):
        problems.append("recoding, forms: must be a table of column name = form")
        return {}
    checked = {}
    for name, form in forms.items():
        try:
            checked[str(name)] = Form(form)
        except ValueError:
            problems.append(f"recoding, column {name!r}: the form must be one of {', '.join(Form)}")
    return checked


def _misfit(attribute: EncodedAttribute, form: Form, average: Average | None) -> str | None:
    if form is Form.ANCESTOR and attribute.hierarchy is None:
        return "the form 'ancestor' needs a hierarchy; give one, or choose another form"
    if form in (Form.INTERVAL, Form.MEAN) and not attribute.is_numeric:
        fitting = "'ancestor' or 'set'" if attribute.hierarchy is not None else "'set'"
        return f"the form {str(form)!r} needs numbers or dates without a hierarchy; choose {fitting}"
    if form is Form.MEAN and attribute.order is not None:
        return "ordered values have no mean; choose 'interval' or 'set'"
    if form is Form.MEAN and average == "geometric-mean" and not _has_logarithms(attribute):
        return "a geometric mean needs numbers that are all above 0; choose another average, or the form 'interval'"
    return None


def _undeclared(attribute: EncodedAttribute, form: Form) -> str | None:
    """Say why the form of an attribute has no declared labels."""
    if form is Form.MEAN:
        return "the mean of a class is made of its values; declared labels need the form 'interval'"
    if attribute.order is not None and attribute.hierarchy is None:
        return "ranges of an order end at values that occur; declared labels need a hierarchy, such as groups of yours"
    if form is Form.INTERVAL and not exactly_numbered(attribute) and attribute.size > 1:
        return "numbers of 2^53 or more have no grid; declared labels need a hierarchy here"
    if form is Form.SET and (attribute.domain_size > _MOST_WITHOUT_GROUPS or attribute.hierarchy is not None):
        return (
            "a set tells that its members occur; declared labels need a hierarchy: groups of yours, 'flat', "
            "or a draft of 'sfumato hierarchy', and no form 'set'"
        )
    return None


def _has_logarithms(attribute: EncodedAttribute) -> bool:
    numbers = attribute.numbers
    return attribute.kind is Kind.NUMERIC and numbers is not None and bool((numbers > 0).all())


TIGHT = Recoding(ends="tight")
"""Publishes exactly what classes have: for losses by which solutions are compared, and for the papers' figures."""
