"""Classes of rows that are merged and cut: ranges, sizes and members, each class under the number of its lowest row.

Letters: n rows, m distinct records, q attributes, M codes of all attributes together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.clustering.class_loss import ClassLoss, range_loss, set_loss
from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.space import SET
from sfumato.kernels.types import Codes, Int32s, Int64s, int64

CHUNK = 32
"""Neighbouring rows that are looked at together."""


class LocalClasses(NamedTuple):
    """Classes, changed in place; those that exist are linked in rising order.

    Attributes
    ----------
    low, high : numpy.ndarray
        int32 (n, q): smallest and largest code.
    distinct : numpy.ndarray
        int32 (n, q): values of attributes without order or hierarchy.
    sizes : numpy.ndarray
        int64 (n,): 0 where no class has the number.
    following : numpy.ndarray
        int64 (n,): the next member of the same class, −1 after the last; the first is the class's number.
    class_of : numpy.ndarray
        int32 (n,).
    after, before : numpy.ndarray
        int64 (n + 1,): next and previous class; entry n is both ends.
    alive : numpy.ndarray
        int64: classes with a number in each chunk of rows.
    marks : numpy.ndarray
        int64 (M + 1,): scratch; the last entry is the newest mark.
    """

    low: Int32s
    high: Int32s
    distinct: Int32s
    sizes: Int64s
    following: Int64s
    class_of: Int32s
    after: Int64s
    before: Int64s
    alive: Int64s
    marks: Int64s


@kernel
def no_classes(height: int, loss: ClassLoss) -> LocalClasses:
    """Return room for classes of `height` rows."""
    width = len(loss.kinds)
    ends = np.full(height + 1, -1, np.int64)
    ends[height] = height
    return LocalClasses(
        np.zeros((height, width), np.int32), np.zeros((height, width), np.int32), np.ones((height, width), np.int32),
        np.zeros(height, np.int64), np.full(height, -1, np.int64), np.full(height, -1, np.int32), ends, ends.copy(),
        np.zeros((height + CHUNK - 1) // CHUNK, np.int64), np.zeros(loss.offsets[width] + 1, np.int64),
    )  # fmt: skip


@kernel
def single_rows(codes: Codes, record_of: Int32s, loss: ClassLoss) -> LocalClasses:
    """Return every row as a class; codes : unsigned (m, q); record_of : int32 (n,)."""
    classes = no_classes(len(record_of), loss)
    for row in range(len(record_of)):
        add_class(codes, record_of, np.array([row]), loss, classes)
    return classes


@inlined
def add_class(codes: Codes, record_of: Int32s, rows: Int64s, loss: ClassLoss, classes: LocalClasses) -> None:
    """Add a class; rows : int64, rising. Cost O(members · q) and the way back to the class before it."""
    one = rows[0]
    before = one - 1
    while before >= 0 and classes.sizes[before] == 0:
        before -= 1
    if before < 0:
        before = len(classes.sizes)
    classes.before[one] = before
    classes.after[one] = classes.after[before]
    classes.before[classes.after[one]] = one
    classes.after[before] = one
    classes.sizes[one] = len(rows)
    classes.alive[one // CHUNK] += 1
    for place in range(len(rows)):
        classes.class_of[rows[place]] = one
        classes.following[rows[place]] = rows[place + 1] if place + 1 < len(rows) else -1
    for attribute in range(len(loss.kinds)):
        _measure(codes, record_of, rows, attribute, loss, classes)


@inlined
def _measure(
    codes: Codes, record_of: Int32s, rows: Int64s, attribute: int, loss: ClassLoss, classes: LocalClasses
) -> None:
    one = rows[0]
    low = int64(codes[record_of[one], attribute])
    high = low
    distinct = 0
    classes.marks[-1] += 1
    for row in rows:
        code = int64(codes[record_of[row], attribute])
        low = min(low, code)
        high = max(high, code)
        place = loss.offsets[attribute] + code
        if classes.marks[place] != classes.marks[-1]:
            classes.marks[place] = classes.marks[-1]
            distinct += 1
    classes.low[one, attribute] = low
    classes.high[one, attribute] = high
    classes.distinct[one, attribute] = distinct


@inlined
def drop_class(one: int, classes: LocalClasses) -> None:
    """Remove a class; its rows must be given to others at once."""
    classes.after[classes.before[one]] = classes.after[one]
    classes.before[classes.after[one]] = classes.before[one]
    classes.sizes[one] = 0
    classes.alive[one // CHUNK] -= 1


@inlined
def rows_of(first: int, second: int, classes: LocalClasses) -> Int64s:
    """Return the rows of two classes together, int64, rising; `second` may be −1."""
    size = classes.sizes[first] + (classes.sizes[second] if second >= 0 else 0)
    rows = np.empty(size, np.int64)
    count = 0
    for one in (first, second):
        row = one
        while row >= 0:
            rows[count] = row
            count += 1
            row = classes.following[row]
    rows.sort()
    return rows


@inlined
def own_loss(one: int, loss: ClassLoss, classes: LocalClasses) -> float:
    """Loss of each record of a class."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        if loss.kinds[attribute] == SET:
            total += set_loss(attribute, int64(classes.distinct[one, attribute]), loss)
        else:
            low, high = int64(classes.low[one, attribute]), int64(classes.high[one, attribute])
            total += range_loss(attribute, low, high, loss)
    return total


@inlined
def union_up_to(
    codes: Codes, record_of: Int32s, first: int, second: int, limit: float, loss: ClassLoss, classes: LocalClasses
) -> float:
    """Loss of each record of two classes as one; infinite when it is seen to exceed `limit`."""
    total = 0.0
    sets = False
    for attribute in range(len(loss.kinds)):
        if loss.kinds[attribute] == SET:
            sets = True
            continue
        low = min(classes.low[first, attribute], classes.low[second, attribute])
        high = max(classes.high[first, attribute], classes.high[second, attribute])
        total += range_loss(attribute, int64(low), int64(high), loss)
        if total > limit:
            return np.inf
    if sets:
        for attribute in range(len(loss.kinds)):
            if loss.kinds[attribute] == SET:
                total += set_loss(attribute, _together(codes, record_of, first, second, attribute, loss, classes), loss)
                if total > limit:
                    return np.inf
    return total


@inlined
def _together(
    codes: Codes, record_of: Int32s, first: int, second: int, attribute: int, loss: ClassLoss, classes: LocalClasses
) -> int:
    """Values of two classes together."""
    if classes.distinct[first, attribute] == 1 and classes.distinct[second, attribute] == 1:
        return 1 if classes.low[first, attribute] == classes.low[second, attribute] else 2
    distinct = 0
    classes.marks[-1] += 1
    for one in (first, second):
        row = one
        while row >= 0:
            place = loss.offsets[attribute] + int64(codes[record_of[row], attribute])
            if classes.marks[place] != classes.marks[-1]:
                classes.marks[place] = classes.marks[-1]
                distinct += 1
            row = classes.following[row]
    return distinct


@inlined
def least_with(small: int, low: Int32s, high: Int32s, loss: ClassLoss, classes: LocalClasses) -> float:
    """Lower bound on the loss of a class with a record whose codes lie within ``low .. high``; int32 (q,)."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        if loss.kinds[attribute] == SET:
            total += set_loss(attribute, int64(classes.distinct[small, attribute]), loss)
        else:
            start, stop = classes.low[small, attribute], classes.high[small, attribute]
            near = min(max(start, low[attribute]), high[attribute])
            total += range_loss(attribute, int64(min(start, near)), int64(max(stop, near)), loss)
    return total


@kernel
def boxes_of(codes: Codes, record_of: Int32s) -> tuple[Int32s, Int32s]:
    """Return the smallest and largest codes of each chunk of rows; two int32, chunks x q."""
    chunks = (len(record_of) + CHUNK - 1) // CHUNK
    low = np.full((chunks, codes.shape[1]), 2**31 - 1, np.int32)
    high = np.zeros((chunks, codes.shape[1]), np.int32)
    for row in range(len(record_of)):
        chunk = row // CHUNK
        for attribute in range(codes.shape[1]):
            code = np.int32(codes[record_of[row], attribute])
            low[chunk, attribute] = min(low[chunk, attribute], code)
            high[chunk, attribute] = max(high[chunk, attribute], code)
    return low, high
