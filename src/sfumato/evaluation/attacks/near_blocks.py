"""Blocks of nearby published classes, so that a search for the nearest class can skip whole blocks.

Letters: c classes, d attributes with points, s attributes with labels, b blocks.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.linking.nearest_classes import Blocks

LARGEST = 96
"""Most classes of a block."""

MOST_LABELS = 8
"""Most labels of a block that are used for a bound."""


def blocks_of(points: NDArray[np.float64], labels: NDArray[np.int32]) -> tuple[NDArray[np.int64], Blocks]:
    """Put classes into blocks.

    Parameters
    ----------
    points
        float64 (c, d); infinite for a value that is far from every other.
    labels
        int32 (c, s).

    Returns
    -------
    order : numpy.ndarray
        int64 (c,): the classes, block after block.
    blocks : Blocks
        In this order.

    Notes
    -----
    Classes are halved repeatedly, at the median of the attribute that brings most of them together. Cost O((d + s)
    · c · log² c).
    """
    order, starts = _halved(points, labels)
    points, labels = points[order], labels[order]
    finite = np.isfinite(points)
    firsts = starts[:-1]
    held, held_labels = _held(labels, starts)
    return order, Blocks(
        starts,
        np.ascontiguousarray(points.T),
        np.ascontiguousarray(labels.T),
        # A value that is far from every other is at the greatest distance in any case.
        np.minimum.reduceat(np.where(finite, points, np.inf), firsts, axis=0),
        np.maximum.reduceat(np.where(finite, points, -np.inf), firsts, axis=0),
        ~np.logical_or.reduceat(finite, firsts, axis=0),
        held,
        held_labels,
    )


def _halved(points: NDArray[np.float64], labels: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    columns = [*np.nan_to_num(points, posinf=2.0).T, *labels.T]
    waiting, done = [np.arange(len(points))], []
    while waiting:
        rows = waiting.pop()
        if len(rows) <= LARGEST:
            done.append(rows)
            continue
        kinds = [place < points.shape[1] for place in range(len(columns))]
        halves = [_halves(column[rows], measured) for column, measured in zip(columns, kinds, strict=True)]
        order = max(halves, key=lambda half: half[0])[1]
        middle = len(rows) // 2
        waiting += [rows[order[middle:]], rows[order[:middle]]]
    starts = np.cumsum([0, *(len(rows) for rows in done)]).astype(np.int64)
    return np.concatenate(done), starts


def _halves(values: NDArray[np.generic], measured: bool) -> tuple[float, NDArray[np.int64]]:
    """Return how much nearer to each other values are after halving, and the order for it."""
    order = np.argsort(values, kind="stable")
    middle = len(order) // 2
    inside = [_spread(values[part], measured) for part in (order[:middle], order[middle:])]
    return _spread(values, measured) - (inside[0] + inside[1]) / 2, order


def _spread(values: NDArray[np.generic], measured: bool) -> float:
    if measured:
        return float(np.std(values.astype(np.float64)))
    shares = np.unique(values, return_counts=True)[1] / len(values)
    return float(1 - (shares**2).sum())


def _held(labels: NDArray[np.int32], starts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    lists = []
    for start, stop in pairwise(starts.tolist()):
        for column in labels[start:stop].T:
            different = np.unique(column)
            lists.append(different if len(different) <= MOST_LABELS else different[:0])
    held = np.cumsum([0, *(len(one) for one in lists)]).astype(np.int64)
    return held, np.concatenate([*lists, np.zeros(0, dtype=np.int32)]).astype(np.int32)
