"""Which rows of a published frame are equal, text by text.

Letters: n rows, q columns, c groups of equal rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import group_records
from sfumato.kernels.grouping import first_records
from sfumato.models.checks import Check, Outcome
from sfumato.numbers import percent
from sfumato.parallel import each, worth_starting
from sfumato.table.distinct import as_categories

# The only promise that no recipient can recount: how many records were left out.


SUPPRESSION_PROMISE = "record suppression limit"


def suppression_check(limit: float) -> Check:
    """Return what a release alone can say about its suppression limit."""
    return Check(
        f"{SUPPRESSION_PROMISE} ({percent(limit)})",
        Outcome.UNDECIDABLE,
        detail="the number of original records is not part of the published table",
        required=False,
    )


_BLOCK = 1 << 15
"""Rows whose numbers are written at a time."""

_PIECE = 1 << 17
"""Rows whose texts are compared by one thread at a time."""


def group_rows(columns: Sequence[pl.Series]) -> tuple[NDArray[np.int32], int]:
    """Give equal rows the same number, in order of first appearance.

    Categories are compared by their numbers. Texts are first separated by length; then each is compared with that of
    the first row of its group, and the texts of groups in which some differ are numbered. So every text is read, most
    of them once, and the result is exact. `columns`: at least one: text, or anything whose values are numbers
    underneath, such as categories. A missing value is a value of its own. Returns: `class_of`: int32 (n,): number of
    each row's group. Cost O(n · q + bytes of text).
    """
    texts = [column for column in columns if column.dtype == pl.String]
    class_of, count = group_records(_numbered(columns))
    if not texts or not count:
        return class_of, count
    firsts = first_records(class_of, count)[class_of]
    refined = [numbers for column in texts if (numbers := _told_apart(column, class_of, count, firsts)) is not None]
    return group_records(np.column_stack([class_of, *refined])) if refined else (class_of, count)


def _told_apart(
    column: pl.Series, class_of: NDArray[np.int32], count: int, firsts: NDArray[np.integer]
) -> NDArray[np.int32] | None:
    """Give texts a number from 1 on in groups in which some differ, 0 elsewhere; None if none differ."""
    different = _differing(column, firsts)
    if not different.any():
        return None
    mixed = np.zeros(count, dtype=np.bool_)
    mixed[class_of[different]] = True
    rows = np.flatnonzero(mixed[class_of])
    numbers = np.zeros(len(column), dtype=np.int32)
    numbers[rows] = _numbers(as_categories([column[rows]])[0]) + np.uint32(1)
    return numbers


def _differing(column: pl.Series, firsts: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Tell which texts differ from the text of the row given for each, bool (n,)."""

    def compared(start: int) -> NDArray[np.bool_]:
        differs: NDArray[np.bool_] = (
            column.slice(start, _PIECE).ne_missing(column[firsts[start : start + _PIECE]]).to_numpy()
        )
        return differs

    starts = range(0, len(column), _PIECE)
    return np.concatenate(each(compared, starts, worth_starting(pl.thread_pool_size(), len(column))))


def _numbered(columns: Sequence[pl.Series]) -> NDArray[np.uint32]:
    """Give equal values of a column one number, the missing value too, and texts of equal length; uint32 (n, q)."""
    numbers = [_numbers(column) for column in columns]
    codes = np.empty((len(numbers[0]), len(numbers)), dtype=np.uint32)
    for start in range(0, len(codes), _BLOCK):
        # Block by block the row-major target stays in the cache while its columns are filled one after the other.
        for index, column in enumerate(numbers):
            codes[start : start + _BLOCK, index] = column[start : start + _BLOCK]
    return codes


def _numbers(column: pl.Series) -> NDArray[np.unsignedinteger]:
    numbers = column.str.len_bytes() if column.dtype == pl.String else column.to_physical()
    if numbers.has_nulls():
        highest = numbers.max()
        numbers = numbers.cast(pl.UInt32).fill_null(0 if highest is None else int(highest) + 1)  # type: ignore[arg-type]
    return numbers.to_numpy()
