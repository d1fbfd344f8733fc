"""The distinct values of a column, and for each record which of them it has: all that encoding looks at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.parallel import each, worth_starting

# Texts in text order.


FEW = 1 << 14
"""Up to this many texts, plain Python costs less than the fixed costs of the frame library."""

_PLAIN = (pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Date, pl.Datetime, pl.Time, pl.Null)


def is_plain(dtype: pl.DataType) -> bool:
    """Tell whether values of a type are numbers, texts, dates or the like, which can be compared and published."""
    return dtype.is_numeric() or isinstance(dtype, _PLAIN)


def text_order(texts: pl.Series) -> NDArray[np.int64]:
    """Order distinct texts, none missing, by code points, and return their places; int64 (d,). Cost O(d log d)."""
    if len(texts) > FEW:
        # The bytes of UTF-8 have the same order as code points.
        return texts.arg_sort().to_numpy().astype(np.int64)
    known: list[str] = texts.to_list()
    return np.array(sorted(range(len(known)), key=known.__getitem__), dtype=np.int64)


def dense_ranks(texts: pl.Series) -> NDArray[np.int64]:
    """Return numbers of texts in text order: 0 for the missing one, equal ones alike; int64 (n,). O(n log n)."""
    if len(texts) > FEW:
        return texts.rank("dense").fill_null(0).to_numpy().astype(np.int64)
    known: list[str | None] = texts.to_list()
    rank_of = {text: rank for rank, text in enumerate(sorted({text for text in known if text is not None}), start=1)}
    return np.array([0 if text is None else rank_of[text] for text in known], dtype=np.int64)


_FEW_VALUES = 1 << 12
"""Up to this many distinct values, a binary search per record is faster than sorting the whole column."""

_PIECE = 1 << 17
"""Records of a column whose texts are numbered by one thread at a time."""

_HEAD = 10_000
"""Records at the beginning of a column that tell whether its texts repeat."""


@dataclass(frozen=True, eq=False, repr=False)
class Distinct:
    """A column split into its values and its records. Letters: n records, d distinct values, r raw numbers."""

    values: pl.Series  # length d: numbers and dates rising, text in text order, false before true; no missing value
    counts: NDArray[np.int64]  # (d,): records that have each value, ≥ 1
    # Integers (n,): a number for the value of each record, ``0 .. r-1``, in no particular order.
    raw: NDArray[np.integer]
    # (r,): position in `values` behind each raw number; d for the missing value and for raw numbers that do not occur
    rank_of: NDArray[np.int64]
    missing: int  # records without a value

    def first_record(self, chosen: NDArray[np.bool_]) -> int:
        """Return the row number (from 1) of the first record whose value is `chosen`, bool (d,). Cost O(n)."""
        return int(np.argmax(np.append(chosen, False)[self.rank_of][self.raw])) + 1


@dataclass(frozen=True, eq=False, repr=False)
class _Numbered:
    """Whole numbers or floats of a column, numbered: `keys`, rising, occur under the raw numbers `present`."""

    raw: NDArray[np.integer]
    size: int
    present: NDArray[np.int64]
    keys: NDArray[np.generic]
    counts: NDArray[np.int64]
    missing: int


def distinct_of(column: pl.Series) -> Distinct:
    """Split a column of any kind that a table may hold; NaN counts as missing.

    Cost O(n) for categories, booleans, dates and integers of a narrow range; O(n log d) otherwise.
    """
    if column.dtype == pl.String:
        column = column.cast(private_categorical())
    if isinstance(column.dtype, (pl.Categorical, pl.Enum)):
        return _of_categories(column)
    if column.dtype.is_float():
        # Adding zero makes one value of 0.0 and -0.0.
        numbered = _by_search(column.fill_nan(None) + 0.0)
    else:
        physical = column.cast(pl.UInt8) if column.dtype == pl.Boolean else column.to_physical()
        numbered = _by_offset(physical) if _is_narrow(physical) else _by_search(physical)
    values = pl.Series(column.name, numbered.keys).cast(column.dtype)
    return _ordered(numbered, values, np.arange(len(values)))


def private_categorical() -> pl.Categorical:
    """Return a type whose categories are numbered for one column alone, so that its numbers are dense."""
    return pl.Categorical(pl.Categories.random(namespace="sfumato"))


def as_categories(columns: Sequence[pl.Series]) -> list[pl.Series]:
    """Turn columns of text into private categories, in pieces, on as many threads as polars has.

    Cost O(bytes of text). If several threads assign the numbers of the texts, the numbers differ from run to run.
    """
    dtypes = [private_categorical() for _ in columns]
    parts = [
        (column.slice(start, _PIECE), dtype)
        for column, dtype in zip(columns, dtypes, strict=True)
        for start in range(0, max(len(column), 1), _PIECE)
    ]
    threads = worth_starting(pl.thread_pool_size(), max(map(len, columns), default=0))
    pieces = iter(each(lambda part: part[0].cast(part[1]), parts, threads))
    # In one chunk each: frames align the chunks of their columns, and would copy long texts for that.
    return [pl.concat(islice(pieces, max(1, -(-len(column) // _PIECE))), rechunk=True) for column in columns]


def as_categories_where_few(columns: Sequence[pl.Series]) -> list[pl.Series]:
    """Turn columns of text into private categories, unless nearly every value seems to be distinct; others stay."""
    few = [place for place, column in enumerate(columns) if column.dtype == pl.String and repeats(column)]
    turned = dict(zip(few, as_categories([columns[place] for place in few]), strict=True))
    return [turned.get(place, column) for place, column in enumerate(columns)]


def repeats(column: pl.Series) -> bool:
    """Tell whether texts seem to repeat: more than half of those at the beginning."""
    head = column.head(_HEAD)
    return len(head) < _HEAD or head.n_unique() <= _HEAD // 2


def texts_of(column: pl.Series) -> pl.Series:
    """Return texts of a column of categories, each that occurs at least once, in no particular order.

    The cost is that of finding the highest number if categories are private, or numbered as densely; else O(n).
    """
    physical = column.to_physical()
    highest = _bounds(physical)[1]
    if highest >= len(column):
        return column.unique().cast(pl.String)
    numbers = pl.Series(column.name, np.arange(highest + 1), dtype=physical.dtype)
    try:
        return numbers.cat.to(column.dtype).cast(pl.String)
    except pl.exceptions.ComputeError:
        # A number below the highest was never given out.
        return column.unique().cast(pl.String)


def _of_categories(column: pl.Series) -> Distinct:
    physical = column.to_physical()
    # Categories shared with other frames may have numbers far larger than this column needs.
    numbered = _by_offset(physical) if _is_narrow(physical) else _by_search(physical)
    texts = pl.Series(column.name, numbered.keys, dtype=physical.dtype).cat.to(column.dtype).cast(pl.String)
    order = text_order(texts)
    return _ordered(numbered, texts[order], order)


def _ordered(numbered: _Numbered, values: pl.Series, order: NDArray[np.int64]) -> Distinct:
    rank_of = np.full(numbered.size, len(values), dtype=np.int64)
    rank_of[numbered.present[order]] = np.arange(len(values))
    return Distinct(values, numbered.counts[order], numbered.raw, rank_of, numbered.missing)


def _bounds(numbers: pl.Series) -> tuple[int, int]:
    """Return the lowest and the highest whole number; ``(0, -1)`` when all are missing."""
    low, high = numbers.min(), numbers.max()
    return (0, -1) if low is None else (int(low), int(high))  # type: ignore[arg-type]


def _is_narrow(numbers: pl.Series) -> bool:
    low, high = _bounds(numbers)
    return high - low <= 2 * len(numbers) + _FEW_VALUES


def _by_offset(numbers: pl.Series) -> _Numbered:
    """Identify whole numbers by their distance from the lowest; the missing value comes last."""
    low, high = _bounds(numbers)
    span = high - low + 1
    offsets = numbers if low == 0 else numbers.cast(pl.Int64) - low
    if numbers.null_count():
        offsets = offsets.cast(pl.Int64).fill_null(span)
    raw = offsets.to_numpy()
    counts = np.bincount(raw, minlength=span + 1)
    present = np.flatnonzero(counts[:span])
    return _Numbered(raw, span + 1, present, present + low, counts[present], int(counts[span]))


def _by_search(numbers: pl.Series) -> _Numbered:
    """Identify any numbers by their rank; the missing value comes last."""
    known = numbers.drop_nulls()
    keys = known.unique().sort().to_numpy()
    if len(keys) <= _FEW_VALUES:
        ranks = np.searchsorted(keys, known.to_numpy())
    else:
        ranks = np.unique(known.to_numpy(), return_inverse=True)[1]
    raw = np.full(len(numbers), len(keys), dtype=np.uint32)
    raw[numbers.is_not_null().to_numpy()] = ranks
    counts = np.bincount(ranks, minlength=len(keys))
    return _Numbered(raw, len(keys) + 1, np.arange(len(keys)), keys, counts, len(numbers) - len(known))
