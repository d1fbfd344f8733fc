"""Classes of rows that are merged and cut: ranges, sizes and members, each class under the number of its lowest row.

Letters: n rows, m distinct records, q attributes, M codes of all attributes together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.clustering.class_members import ClassLoss, cell, pair_loss, range_loss, set_loss, upper_edge
from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.types import SET, Codes, Flags, Int32s, Int64s, float64, int64

# What a class that takes records in one by one spans and loses.
#
# Letters: q attributes, M codes of all attributes together, m distinct records.


class Span(NamedTuple):
    """Ranges and value sets of one class; changed in place, emptied at no cost."""

    # `low`, `high`: (q,): smallest and largest code
    low: Int64s
    high: Int64s
    distinct: Int64s  # (q,): values of attributes without order or hierarchy
    marks: Int64s  # (M + 1,): which values these are: those with the newest mark, which is the last entry


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
    all rows are taken. Ends: each round adds a member.
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


CHUNK = 32
"""Neighbouring rows that are looked at together."""


class LocalClasses(NamedTuple):
    """Classes, changed in place; those that exist are linked in rising order."""

    # `low`, `high`: (n, q): smallest and largest code
    low: Int32s
    high: Int32s
    distinct: Int32s  # (n, q): values of attributes without order or hierarchy
    sizes: Int64s  # (n,): 0 where no class has the number
    following: Int64s  # (n,): the next member of the same class, −1 after the last; the first is the class's number
    class_of: Int32s  # (n,)
    # `after`, `before`: (n + 1,): next and previous class; entry n is both ends
    after: Int64s
    before: Int64s
    alive: Int64s  # classes with a number in each chunk of rows
    marks: Int64s  # (M + 1,): scratch; the last entry is the newest mark


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
    """Add a class; rows : int64, rising. O(members · q) and the way back to the class before. Ends: rows fall."""
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
def class_rows(first: int, second: int, classes: LocalClasses) -> Int64s:
    """Return the rows of two classes, int64, rising; `second` may be −1. Ends: once each. Capacity: their sizes."""
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
def single_class_loss(one: int, loss: ClassLoss, classes: LocalClasses) -> float:
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
    """Values of two classes together. Ends: the list has each member once."""
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


# Local recoding bottom-up: small classes join the class with which they lose least, large ones are cut.
#
# Letters: n rows, m distinct records, q attributes, c classes.


@kernel
def join_undersized(
    codes: Codes, record_of: Int32s, picks: Int64s, k: int, low: Int32s, high: Int32s, loss: ClassLoss,
    classes: LocalClasses,
) -> None:  # fmt: skip
    """Let the class of each picked row, if it has fewer than k records, join the one that makes the smallest loss.

    codes : unsigned (m, q); record_of : int32 (n,); picks : int64; low, high : int32, the boxes of all chunks of rows,
    see :func:`sfumato.kernels.clustering.utility_recoding.boxes_of`. What has 2 k records or more is cut. The loss of a
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
            rows = class_rows(small, near, classes)
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
    """Cut off k of 2 k records: the low end of the pair that loses most, and its nearest. Ends: rows get fewer."""
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


# Local recoding top-down: a class is halved around two records far apart, as long as it has 2 k of them.
#
# Letters: n rows, m distinct records, q attributes, c classes.


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
    Ends: each round halves a range or is done with one. Capacity: ranges that wait or are done have rows, and share
    none.
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
    """Move the first side to the front, both in order; returns how many they are. Capacity: a row has one side."""
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


# Help for classes of fewer than k records: take the missing ones from another class, or merge with it.
#
# Letters: n rows, m distinct records, q attributes, c classes.


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
    it is. Cost O(q n k) for each class in the worst case. Ends: each round makes the class grow or is its last.
    """
    span = new_span(loss)
    for one in range(low, high):
        while 0 < classes.sizes[one] < k:
            small = int64(one)
            found, best = _cheapest_merger(codes, record_of, small, loss, classes)
            found, taken = _cheapest_donor(codes, record_of, small, k, found, best, loss, classes, span)
            if found < 0:
                break
            rows = class_rows(found, int64(-1), classes)
            own = class_rows(small, int64(-1), classes)
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
    """Find the class to merge with. Ends: the list has each class once."""
    end = len(classes.sizes)
    found = int64(-1)
    best = int64(2**62)
    limit = np.inf
    one = classes.after[end]
    while one != end:
        if one != small:
            own = classes.sizes[one] * single_class_loss(one, loss, classes)
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
    """Return the giving class and its rows, bool; `found` and none if merging is cheaper. Ends: classes occur once."""
    end = len(classes.sizes)
    giving = np.zeros(0, np.bool_)
    size = classes.sizes[small]
    donor = classes.after[end]
    while donor != end:
        if donor != small and classes.sizes[donor] >= 2 * k - size:
            own = classes.sizes[donor] * single_class_loss(donor, loss, classes)
            bound = (upper_edge(best) + own) / k
            if least_with(small, classes.low[donor], classes.high[donor], loss, classes) <= bound:
                rows = class_rows(donor, int64(-1), classes)
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
    """Describe a class. Ends: the list has each member once."""
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
