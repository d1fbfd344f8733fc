"""Splitting a bucket of m-invariance into classes that have every value of the signature once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.series.growing import Axes, loss_of

Numbers = NDArray[np.int64]


def split(matrix: Numbers, codes: Numbers, axes: Axes) -> Iterator[Numbers]:
    """Cut a bucket in halves until one person of each value is left.

    Parameters
    ----------
    matrix
        int64 (values, height): the people of each value, −1 for counterfeits, at the end of a line.
    codes
        int64 (n, q)
    axes
        What codes lose.

    Yields
    ------
    numpy.ndarray
        int64 (values,): a class, −1 for a counterfeit. At least one of it is real, as one line has no counterfeits.

    Notes
    -----
    Every line is sorted along the attribute with which both halves lose least, the first of equal ones; counterfeits
    go right, where they lose nothing. Cost O(q n log n) for each halving.
    """
    waiting = [matrix]
    while waiting:
        block = waiting.pop()
        height = block.shape[1]
        if height == 1:
            yield block[:, 0]
            continue
        best, chosen = np.inf, block
        for attribute in range(codes.shape[1]):
            keys = np.where(block >= 0, codes[block, attribute], np.iinfo(np.int64).max)
            if keys[block >= 0].min() == keys[block >= 0].max():
                continue
            ordered = np.take_along_axis(block, np.argsort(keys, axis=1, kind="stable"), axis=1)
            cost = _loss(ordered[:, : height // 2], codes, axes) + _loss(ordered[:, height // 2 :], codes, axes)
            if cost < best:
                best, chosen = cost, ordered
        waiting += [chosen[:, height // 2 :], chosen[:, : height // 2]]


def _loss(block: Numbers, codes: Numbers, axes: Axes) -> float:
    rows = block[block >= 0]
    return len(rows) * loss_of(codes[rows], np.ones(len(rows), dtype=np.bool_), axes)
