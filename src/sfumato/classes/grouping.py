"""Give equal records one number, or keep one of each with its weight."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.grouping import KEY_BITS, column_maxima, first_records, group_packed


def group_records(codes: NDArray[np.integer]) -> tuple[NDArray[np.int32], int]:
    """Give equal rows of `codes` the same number, in order of first appearance.

    Rows are packed into as few 64-bit keys as their bits fit into. All keys of a row are hashed together and compared
    in full, so that the result is exact at any width.

    Parameters
    ----------
    codes
        Non-negative integers of at most 32 bits (n, q), row-major, n below 2**31.

    Returns
    -------
    class_of : numpy.ndarray
        int32 (n,): number of each row's group.
    count : int
        Number of groups.

    Notes
    -----
    Cost O(n · q). Besides the result, memory is 16 to 32 bytes per distinct row, and 8 to 16 more for each key after
    the first.
    """
    bits = [int(maximum).bit_length() for maximum in column_maxima(codes)]
    runs = _runs(bits)
    shifts = [np.cumsum([0, *bits[start:stop]], dtype=np.int64)[:-1] for start, stop in runs]
    return group_packed(codes, np.array([stop for _, stop in runs], dtype=np.int64), np.concatenate(shifts))


def distinct_records(
    codes: NDArray[np.unsignedinteger],
) -> tuple[NDArray[np.unsignedinteger], NDArray[np.int64], NDArray[np.int32]]:
    """Collapse equal rows into one row with a weight.

    Parameters
    ----------
    codes
        Unsigned (n, q), row-major.

    Returns
    -------
    distinct : numpy.ndarray
        Same dtype (m, q): the distinct rows in order of first appearance.
    weights : numpy.ndarray
        int64 (m,): how often each occurs.
    record_of : numpy.ndarray
        int32 (n,): the distinct row of each row.
    """
    record_of, count = group_records(codes)
    weights = np.bincount(record_of, minlength=count).astype(np.int64, copy=False)
    return codes[first_records(record_of, count)], weights, record_of


def _runs(bits: list[int]) -> list[tuple[int, int]]:
    """Divide the columns into runs that fit into one key each: first column and the one after the last."""
    runs = []
    start = used = 0
    for column, width in enumerate(bits):
        if column > start and used + width > KEY_BITS:
            runs.append((start, column))
            start, used = column, 0
        used += width
    return [*runs, (start, len(bits))]
