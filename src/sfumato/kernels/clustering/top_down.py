"""Local recoding top-down: a class is halved around two records far apart, as long as it has 2 k of them.

Letters: n rows, m distinct records, q attributes, c classes.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.clustering.class_loss import ClassLoss, pair_loss
from sfumato.kernels.clustering.class_span import Span, loss_with, new_span, open_with, span_loss, widen
from sfumato.kernels.clustering.ties import cell
from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.types import Codes, Int32s, Int64s, int64

SCANS = 6
"""Looks for a record further away."""


@kernel
def halved(codes: Codes, record_of: Int32s, order: Int64s, k: int, loss: ClassLoss) -> tuple[Int64s, Int64s]:
    """Halve classes, beginning with all rows, until none of 2 k records or more has records that differ.

    codes : unsigned (m, q); record_of : int32 (n,); order : int64 (n,), all rows in the order in which they choose
    sides. Returns the rows with those of each class together, int64 (n,), and where each class starts, int64 (c + 1,).
    Sides may have fewer than k records; a class with an empty side is not halved, so that the ranges that wait, and
    those that are done, are at most n. Cost O(q) for each record of each class that is halved: O(q n log n) where
    halves are about equal, O(q n²) where single records are split off.
    """
    rows = order.copy()
    spare = np.empty(len(rows), np.int64)
    starts = np.zeros(len(rows) + 1, np.int64)
    waiting = np.empty(len(rows) + 1, np.int64)
    first_side, second_side = new_span(loss), new_span(loss)
    count = 0
    low = int64(0)
    waiting[0] = len(rows)
    left = 1
    # The ends of the ranges that wait, the nearest on top; each begins where the one above it ends.
    while left > 0:
        high = waiting[left - 1]
        middle = high
        if high - low >= 2 * k and _differ(codes, record_of, rows[low:high]):
            middle = low + _halve(codes, record_of, rows[low:high], spare, loss, first_side, second_side)
        if low < middle < high:
            waiting[left] = middle
            left += 1
        else:
            starts[count] = low
            count += 1
            low = high
            left -= 1
    starts[count] = len(rows)
    return rows, starts[: count + 1].copy()


@inlined
def _differ(codes: Codes, record_of: Int32s, rows: Int64s) -> bool:
    one = record_of[rows[0]]
    for row in rows:
        for attribute in range(codes.shape[1]):
            if codes[record_of[row], attribute] != codes[one, attribute]:
                return True
    return False


@inlined
def _halve(
    codes: Codes, record_of: Int32s, rows: Int64s, spare: Int64s, loss: ClassLoss, first_side: Span, second_side: Span
) -> int:
    """Move the first side to the front; rows of each side keep their order. Returns how many they are."""
    one, other = _ends(codes, record_of, rows, loss)
    open_with(codes, int64(record_of[rows[one]]), loss, first_side)
    open_with(codes, int64(record_of[rows[other]]), loss, second_side)
    sizes = np.ones(2, np.int64)
    lost = np.zeros(2)
    stays = 0
    goes = 0
    for place in range(len(rows)):
        record = int64(record_of[rows[place]])
        second = place == other
        if place not in (one, other):
            first_loss = loss_with(codes, record, loss, first_side)
            second_loss = loss_with(codes, record, loss, second_side)
            # (size + 1) · new loss − size · old loss, in the way that rounds least.
            first_rise = sizes[0] * (first_loss - lost[0]) + first_loss
            second_rise = sizes[1] * (second_loss - lost[1]) + second_loss
            second = cell(second_rise) < cell(first_rise)
            if second:
                widen(codes, record, loss, second_side)
                lost[1] = span_loss(loss, second_side)
                sizes[1] += 1
            else:
                widen(codes, record, loss, first_side)
                lost[0] = span_loss(loss, first_side)
                sizes[0] += 1
        if second:
            spare[goes] = rows[place]
            goes += 1
        else:
            rows[stays] = rows[place]
            stays += 1
    for place in range(goes):
        rows[stays + place] = spare[place]
    return stays


@inlined
def _ends(codes: Codes, record_of: Int32s, rows: Int64s, loss: ClassLoss) -> tuple[int, int]:
    """Return the places of two rows far apart: from the first to the furthest, from there to the furthest ..."""
    one, other = 0, 0
    most = int64(-1)
    for _ in range(SCANS):
        far = 0
        apart = int64(-1)
        for place in range(len(rows)):
            if place != other:
                lost = pair_loss(codes, int64(record_of[rows[place]]), int64(record_of[rows[other]]), loss)
                if cell(2.0 * lost) > apart:
                    apart = cell(2.0 * lost)
                    far = place
        if one != other and apart <= most:
            break
        one, other = other, far
        most = apart
    return one, other
