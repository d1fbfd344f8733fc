"""Help for classes of fewer than k records: take the missing ones from another class, or merge with it.

Letters: n rows, m distinct records, q attributes, c classes.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.clustering.class_loss import ClassLoss
from sfumato.kernels.clustering.class_span import Span, new_span, open_with, span_loss, take_nearest, widen
from sfumato.kernels.clustering.local_classes import (
    LocalClasses,
    add_class,
    drop_class,
    least_with,
    no_classes,
    own_loss,
    rows_of,
    union_up_to,
)
from sfumato.kernels.clustering.ties import cell, upper_edge
from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.types import Codes, Flags, Int32s, Int64s, int64


@kernel
def listed(codes: Codes, record_of: Int32s, rows: Int64s, starts: Int64s, loss: ClassLoss) -> LocalClasses:
    """Return the classes whose rows are ``rows[starts[i] : starts[i + 1]]``; rows : int64 (n,), starts : (c + 1,)."""
    classes = no_classes(len(rows), loss)
    lowest = np.empty(len(starts) - 1, np.int64)
    for place in range(len(lowest)):
        lowest[place] = rows[starts[place] : starts[place + 1]].min()
    # Rising, so that the class before is never far.
    for place in np.argsort(lowest):
        members = rows[starts[place] : starts[place + 1]].copy()
        members.sort()
        add_class(codes, record_of, members, loss, classes)
    return classes


@kernel
def help_undersized(
    codes: Codes, record_of: Int32s, low: int, high: int, k: int, loss: ClassLoss, classes: LocalClasses
) -> None:
    """Help the classes whose lowest rows are ``low .. high-1``, in this order, until they have k records.

    codes : unsigned (m, q); record_of : int32 (n,). Of all classes that can spare the missing records, and of all
    classes to merge with, the one that makes the loss rise least; taking goes before merging among equals, then the
    class with the lowest row. A class that is helped grows, so that it is at most k times; one that is alone stays as
    it is. Cost O(q n k) for each class in the worst case.
    """
    span = new_span(loss)
    for one in range(low, high):
        while 0 < classes.sizes[one] < k:
            small = int64(one)
            found, best = _cheapest_merger(codes, record_of, small, loss, classes)
            found, taken = _cheapest_donor(codes, record_of, small, k, found, best, loss, classes, span)
            if found < 0:
                break
            rows = rows_of(found, int64(-1), classes)
            own = rows_of(small, int64(-1), classes)
            drop_class(small, classes)
            drop_class(found, classes)
            if len(taken) > 0:
                add_class(codes, record_of, rows[~taken], loss, classes)
                rows = rows[taken]
            both = np.concatenate((own, rows))
            both.sort()
            add_class(codes, record_of, both, loss, classes)


@inlined
def _cheapest_merger(
    codes: Codes, record_of: Int32s, small: int, loss: ClassLoss, classes: LocalClasses
) -> tuple[int, int]:
    end = len(classes.sizes)
    found = int64(-1)
    best = int64(2**62)
    limit = np.inf
    one = classes.after[end]
    while one != end:
        if one != small:
            own = classes.sizes[one] * own_loss(one, loss, classes)
            size = classes.sizes[small] + classes.sizes[one]
            union = size * union_up_to(codes, record_of, small, one, (limit + own) / size, loss, classes)
            if union < np.inf and cell(union - own) < best:
                found = one
                best = cell(union - own)
                limit = upper_edge(best)
        one = classes.after[one]
    return found, best


@inlined
def _cheapest_donor(
    codes: Codes, record_of: Int32s, small: int, k: int, found: int, best: int, loss: ClassLoss, classes: LocalClasses,
    span: Span,
) -> tuple[int, Flags]:  # fmt: skip
    """Return the class that gives, and which of its rows, bool; or `found` and nothing when merging is cheaper."""
    end = len(classes.sizes)
    giving = np.zeros(0, np.bool_)
    size = classes.sizes[small]
    donor = classes.after[end]
    while donor != end:
        if donor != small and classes.sizes[donor] >= 2 * k - size:
            own = classes.sizes[donor] * own_loss(donor, loss, classes)
            bound = (upper_edge(best) + own) / k
            if least_with(small, classes.low[donor], classes.high[donor], loss, classes) <= bound:
                rows = rows_of(donor, int64(-1), classes)
                taken = np.zeros(len(rows), np.bool_)
                _span_of(codes, record_of, small, loss, classes, span)
                if take_nearest(codes, record_of, rows, size, k, bound, taken, loss, span):
                    rise = k * span_loss(loss, span) - own
                    rise += _rest_loss(codes, record_of, rows, taken, loss, span)
                    # Taking goes before merging.
                    if cell(rise) < best or (cell(rise) == best and len(giving) == 0):
                        best = cell(rise)
                        found = donor
                        giving = taken
        donor = classes.after[donor]
    return found, giving


@inlined
def _span_of(codes: Codes, record_of: Int32s, one: int, loss: ClassLoss, classes: LocalClasses, span: Span) -> None:
    open_with(codes, int64(record_of[one]), loss, span)
    row = classes.following[one]
    while row >= 0:
        widen(codes, int64(record_of[row]), loss, span)
        row = classes.following[row]


@inlined
def _rest_loss(codes: Codes, record_of: Int32s, rows: Int64s, taken: Flags, loss: ClassLoss, span: Span) -> float:
    """Loss of the rows that are not taken, all of them together."""
    count = 0
    for place in range(len(rows)):
        if not taken[place]:
            record = int64(record_of[rows[place]])
            if count == 0:
                open_with(codes, record, loss, span)
            else:
                widen(codes, record, loss, span)
            count += 1
    return count * span_loss(loss, span)
