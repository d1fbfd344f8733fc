"""Equal records: number them alike, or keep one of each with its weight."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.grouping import KEY_BITS, column_maxima, first_records, group_packed


def group_records(codes: NDArray[np.integer]) -> tuple[NDArray[np.int32], int]:
    """Give equal rows of `codes` the same number, in order of first appearance.

    Rows are packed into one 64-bit key where the bits of all columns fit; otherwise the columns are grouped in as few
    runs as fit and the group numbers of the runs are grouped again, so that the result is exact at any width.

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
    Cost O(n · q). Besides the result, memory is about 24 bytes per distinct row.
    """
    bits = [int(maximum).bit_length() for maximum in column_maxima(codes)]
    if sum(bits) <= KEY_BITS:
        shifts = np.cumsum([0, *bits], dtype=np.int64)[:-1]
        return group_packed(codes, shifts)
    parts = [group_records(np.ascontiguousarray(codes[:, start:stop]))[0] for start, stop in _runs(bits)]
    return group_records(np.column_stack(parts))


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
    # Group numbers have at most 31 bits, so two of them always fit in the next round, and the rounds come to an end.
    runs = []
    start = used = 0
    for column, width in enumerate(bits):
        if column > start and used + width > KEY_BITS:
            runs.append((start, column))
            start, used = column, 0
        used += width
    return [*runs, (start, len(bits))]
