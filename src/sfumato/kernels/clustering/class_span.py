"""What a class that takes records in one by one spans and loses.

Letters: q attributes, M codes of all attributes together, m distinct records.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.clustering.class_loss import ClassLoss, range_loss, set_loss
from sfumato.kernels.clustering.ties import cell, upper_edge
from sfumato.kernels.jit import inlined
from sfumato.kernels.space import SET
from sfumato.kernels.types import Codes, Flags, Int32s, Int64s, int64


class Span(NamedTuple):
    """Ranges and value sets of one class; changed in place, emptied at no cost.

    Attributes
    ----------
    low, high : numpy.ndarray
        int64 (q,): smallest and largest code.
    distinct : numpy.ndarray
        int64 (q,): values of attributes without order or hierarchy.
    marks : numpy.ndarray
        int64 (M + 1,): which values these are: those with the newest mark, which is the last entry.
    """

    low: Int64s
    high: Int64s
    distinct: Int64s
    marks: Int64s


@inlined
def new_span(loss: ClassLoss) -> Span:
    """Return a span without records."""
    count = len(loss.kinds)
    return Span(
        np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.int64),
        np.zeros(loss.offsets[count] + 1, np.int64),
    )  # fmt: skip


@inlined
def open_with(codes: Codes, record: int, loss: ClassLoss, span: Span) -> None:
    """Forget what was collected and start with one record; codes : unsigned (m, q)."""
    span.marks[-1] += 1
    for attribute in range(len(loss.kinds)):
        code = int64(codes[record, attribute])
        span.low[attribute] = code
        span.high[attribute] = code
        span.distinct[attribute] = 1
        span.marks[loss.offsets[attribute] + code] = span.marks[-1]


@inlined
def widen(codes: Codes, record: int, loss: ClassLoss, span: Span) -> None:
    """Add one record."""
    for attribute in range(len(loss.kinds)):
        code = int64(codes[record, attribute])
        place = loss.offsets[attribute] + code
        if loss.kinds[attribute] != SET:
            span.low[attribute] = min(span.low[attribute], code)
            span.high[attribute] = max(span.high[attribute], code)
        elif span.marks[place] != span.marks[-1]:
            span.marks[place] = span.marks[-1]
            span.distinct[attribute] += 1


@inlined
def span_loss(loss: ClassLoss, span: Span) -> float:
    """Loss of each record of the class."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        if loss.kinds[attribute] == SET:
            total += set_loss(attribute, span.distinct[attribute], loss)
        else:
            total += range_loss(attribute, span.low[attribute], span.high[attribute], loss)
    return total


@inlined
def loss_with(codes: Codes, record: int, loss: ClassLoss, span: Span) -> float:
    """Loss of each record of the class with one record more."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        code = int64(codes[record, attribute])
        if loss.kinds[attribute] == SET:
            more = 0 if span.marks[loss.offsets[attribute] + code] == span.marks[-1] else 1
            total += set_loss(attribute, span.distinct[attribute] + more, loss)
        else:
            total += range_loss(attribute, min(span.low[attribute], code), max(span.high[attribute], code), loss)
    return total


@inlined
def take_nearest(
    codes: Codes, record_of: Int32s, rows: Int64s, members: int, size: int, bound: float, taken: Flags, loss: ClassLoss,
    span: Span,
) -> bool:  # fmt: skip
    """Let a class grow to `size` records by those of `rows` that make its loss smallest, the first among equals.

    record_of : int32 (n,); rows : int64; members : records of the class so far, which `span` describes; taken : bool,
    as long as `rows`, which of them it takes. Returns False as soon as the loss of each record exceeds `bound`, or when
    all rows are taken.
    """
    while members < size:
        members += 1
        found = -1
        best = int64(2**62)
        limit = np.inf
        for place in range(len(rows)):
            if not taken[place]:
                lost = members * loss_with(codes, int64(record_of[rows[place]]), loss, span)
                if lost < limit and cell(lost) < best:
                    found = place
                    best = cell(lost)
                    limit = upper_edge(best)
                    if best == cell(members * span_loss(loss, span)):
                        break
        if found < 0:
            return False
        taken[found] = True
        widen(codes, int64(record_of[rows[found]]), loss, span)
        if span_loss(loss, span) > bound:
            return False
    return True
