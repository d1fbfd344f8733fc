"""Local recoding bottom-up: small classes join the class with which they lose least, large ones are cut.

Letters: n rows, m distinct records, q attributes, c classes.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.clustering.class_loss import ClassLoss, pair_loss
from sfumato.kernels.clustering.class_span import Span, new_span, open_with, take_nearest
from sfumato.kernels.clustering.local_classes import (
    CHUNK,
    LocalClasses,
    add_class,
    drop_class,
    least_with,
    rows_of,
    union_up_to,
)
from sfumato.kernels.clustering.ties import cell, upper_edge
from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.types import Codes, Int32s, Int64s, float64, int64


@kernel
def join_undersized(
    codes: Codes, record_of: Int32s, picks: Int64s, k: int, low: Int32s, high: Int32s, loss: ClassLoss,
    classes: LocalClasses,
) -> None:  # fmt: skip
    """Let the class of each picked row, if it has fewer than k records, join the one that makes the smallest loss.

    codes : unsigned (m, q); record_of : int32 (n,); picks : int64; low, high : int32, the boxes of all chunks of rows,
    see :func:`sfumato.kernels.clustering.local_classes.boxes_of`. What has 2 k records or more is cut. The loss of a
    class is that of all its records; the class with the lowest row goes first among equals. Cost O(c q) for each pick,
    most of it cut short, and O(k² q) for each cut.
    """
    span = new_span(loss)
    for row in picks:
        small = int64(classes.class_of[row])
        if classes.sizes[small] < k:
            near = _nearest(codes, record_of, small, low, high, loss, classes)
            if near < 0:
                break
            rows = rows_of(small, near, classes)
            drop_class(small, classes)
            drop_class(near, classes)
            _add_parts(codes, record_of, rows, k, loss, classes, span)


@inlined
def _nearest(
    codes: Codes, record_of: Int32s, small: int, low: Int32s, high: Int32s, loss: ClassLoss, classes: LocalClasses
) -> int:
    """Return the class to join; −1 when there is no other."""
    end = len(classes.sizes)
    # Rows lie near those that are like them: a good class to begin with leaves little to sum for the others.
    found = classes.after[small] if classes.after[small] != end else classes.before[small]
    if found == end:
        return -1
    best = cell(_lost(codes, record_of, small, found, np.inf, loss, classes))
    other = classes.before[small]
    if other != end:
        lost = _lost(codes, record_of, small, other, upper_edge(best), loss, classes)
        if lost < np.inf and cell(lost) <= best:
            found = other
            best = cell(lost)
    limit = upper_edge(best)
    for chunk in range(len(classes.alive)):
        start = chunk * CHUNK
        if best == 0 and start >= found:
            break
        if classes.alive[chunk] == 0:
            continue
        # Every class has the record that gives it its number, and that record lies in the box of its chunk.
        least = (classes.sizes[small] + 1) * least_with(small, low[chunk], high[chunk], loss, classes)
        if least > limit:
            continue
        for one in range(start, min(start + CHUNK, end)):
            if classes.sizes[one] > 0 and one != small:
                lost = _lost(codes, record_of, small, one, limit, loss, classes)
                if lost < np.inf and (cell(lost) < best or (cell(lost) == best and one < found)):
                    found = int64(one)
                    best = cell(lost)
                    limit = upper_edge(best)
    return int64(found)


@inlined
def _lost(
    codes: Codes, record_of: Int32s, first: int, second: int, limit: float, loss: ClassLoss, classes: LocalClasses
) -> float:
    size = classes.sizes[first] + classes.sizes[second]
    return float64(size * union_up_to(codes, record_of, first, second, limit / size, loss, classes))


@inlined
def _add_parts(
    codes: Codes, record_of: Int32s, rows: Int64s, k: int, loss: ClassLoss, classes: LocalClasses, span: Span
) -> None:
    """Cut off k records as long as there are 2 k: the lower end of the pair that loses most, and its nearest."""
    while len(rows) >= 2 * k:
        first = _lower_end(codes, record_of, rows, loss)
        taken = np.zeros(len(rows), np.bool_)
        taken[first] = True
        open_with(codes, int64(record_of[rows[first]]), loss, span)
        take_nearest(codes, record_of, rows, 1, k, np.inf, taken, loss, span)
        add_class(codes, record_of, rows[taken], loss, classes)
        rows = rows[~taken]
    add_class(codes, record_of, rows, loss, classes)


@inlined
def _lower_end(codes: Codes, record_of: Int32s, rows: Int64s, loss: ClassLoss) -> int:
    found = 0
    most = int64(-1)
    for first in range(len(rows)):
        for second in range(first + 1, len(rows)):
            apart = cell(2.0 * pair_loss(codes, int64(record_of[rows[first]]), int64(record_of[rows[second]]), loss))
            if apart > most:
                most = apart
                found = first
    return found
