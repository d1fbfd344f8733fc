"""Improving classes: a few neighbouring ones are thrown together and built anew, under a loss of points or of ranges.

Letters: n records, m distinct ones, d coordinates, q attributes, c places for classes, s sensitive attributes that some
rule looks at, g classes thrown together, p records of theirs that may move.

Points are judged by the squared error. With coordinates counted from anywhere, a class loses the sum of its squared
norms less the squared norm of its sum over its size. The first is the same however records are shared out; so what is
searched for is a larger second, and a move or an exchange costs a few numbers once all products of two records, and of
a record and a class, are known.

Ranges and sets are judged by what they lose, times the records of the class. Of each range the outermost code and the
one after it are known, so that a class without a member or with another costs O(q).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.clustering.class_members import NOBODY, ClassLoss, range_loss, set_loss
from sfumato.kernels.clustering.refinement import Schedule, Surroundings, companion, draw, slack
from sfumato.kernels.jit import borrowing, inlined, sized
from sfumato.kernels.predicates import RuleArrays, holds
from sfumato.kernels.types import SET, Codes, Floats, Int32s, Int64s, float64, int64

MOST = 5
"""Classes that are thrown together at most, two at least."""

FREE = 256
"""Records that may move at most; of larger classes a part may, and the rest stays."""

LONGEST, _AROUND = 6, 4
"""Classes of a chain at most; nearest ones that a record may go on to."""

_CHAINS, _WORTH = 3, 12
"""Tries of which one is a chain; records that may be shared out in the time of it."""

_PLACES = 64
"""Classes that are built at most."""

_GAIN = 1e-10
"""What counts as better, as a share of all squared norms: no rounding may make a search endless."""

_LEAST = 1e-9
"""The same of ranges, in units of loss."""

_BEYOND = 2**40
"""Above every code."""


class _Table(NamedTuple):
    """All classes; changed in place."""

    points: Floats  # (m, d)
    values: Int32s  # (m, s): sensitive values, as the rules number them
    record_of: Int32s  # (n,)
    class_of: Int32s  # (n,)
    heads: Int64s  # (c,): first member, −1 in an empty class
    after: Int64s  # (n,): next member of the same class, −1 at the end
    sizes: Int64s  # (c,): the first `used` are not empty
    means: Floats  # (c, d)
    gaps: Floats  # (c,): scratch: squared distance to the class that all starts from
    counts: Int64s  # (v,): scratch, all zero between calls
    scratch: Floats  # scratch of the rules


class _Pool(NamedTuple):
    """Classes that are thrown together, and how their records are shared out."""

    classes: Int64s  # where they are in the table, and where those that are built go
    records: Int64s  # (n,): first the p that may move, then those that stay
    labels: Int64s  # (n,): class of each, counted from 0; −1: none yet
    places: Floats  # (p, d): coordinates of those that may move, from the mean of the first class
    products: Floats  # (p, p)
    pulls: Floats  # (p, g): product of each with the sum of each class; squared distances to its members in between
    sums: Floats  # (g, d)
    norms: Floats  # (g,): squared norm of the sum
    sizes: Int64s  # (g,)
    chain: Int64s  # (LONGEST,): records that pass on, in turn


@sized(lambda *arguments: 1500.0 * arguments[7].steps)  # a record that is shared out costs as so many elements
def rebuild(
    points: Floats, values: Int32s, record_of: Int32s, class_of: Int32s, count: int, k: int, ruled: bool,
    schedule: Schedule, rules: RuleArrays,
) -> int:  # fmt: skip
    """Build classes anew until as many records were shared out as a schedule has steps; returns how many classes.

    points : float64 (m, d); values : int32 (m, s); record_of : int32 (n,); class_of : int32 (n,), ``0 .. count-1``, all
    occur, changed in place. What makes the squared error grow is taken now and then, as the schedule says, in shares of
    what a record of the classes at hand loses, so that far ones do not set the measure. Every class satisfies every
    rule all the time. Ends: every round counts as a step at least.
    """
    table, pool = _table(points, values, record_of, class_of, count, k, rules), _pool(points, len(record_of))
    used = count
    state = np.empty(1, np.int64)
    state[0] = schedule.seed
    warm = float64(schedule.warm)
    done = 0
    while done < schedule.steps:
        # never 0: the loop is entered with steps
        warmth = warm * (schedule.cold / warm) ** (done / schedule.steps)
        one = draw(state, len(record_of))
        if not ruled and draw(state, _CHAINS) == 0:
            done += _WORTH
            _pass_on(one, used, k, warmth, table, pool, state)
            continue
        thrown, free, everybody = _throw_together(one, used, table, pool, state)
        done += max(1, free)
        squares, before = _measure(thrown, everybody, table, pool)
        allowed = slack(state, warmth * max(0.0, squares - before) / max(1, everybody))
        built = thrown
        if free == everybody and (not ruled or draw(state, 2) == 0):
            built = _build(thrown, free, k, ruled, rules, table, pool, state)
            if built == 0:
                continue
        else:
            _shuffle(free, everybody, ruled, rules, table, pool, state)
        _measure(built, everybody, table, pool)
        _pull(built, free, pool)
        after = _improve(built, free, everybody, k, ruled, _GAIN * squares, rules, table, pool)
        if after > before - allowed and abs(after - before) > _GAIN * squares:
            used = _take(thrown, built, everybody, used, table, pool)
    return used


@inlined
def _table(
    points: Floats, values: Int32s, record_of: Int32s, class_of: Int32s, count: int, k: int, rules: RuleArrays
) -> _Table:
    """List the members of all classes."""
    # never 0: k is 1 or more
    height, room = len(record_of), max(count, len(record_of) // k) + MOST + _PLACES
    table = _Table(
        points, values, record_of, class_of, np.full(room, NOBODY, np.int64), np.full(height, NOBODY, np.int64),
        np.zeros(room, np.int64), np.zeros((room, points.shape[1])), np.zeros(room),
        np.zeros(len(rules.totals), np.int64), np.zeros(rules.scratch_size),
    )  # fmt: skip
    for one in range(height):
        _enter(one, int64(class_of[one]), table)
    for place in range(count):
        _settle(place, table)
    return table


@inlined
def _pool(points: Floats, height: int) -> _Pool:
    width, most = points.shape[1], min(FREE, height)
    return _Pool(
        np.zeros(MOST + _PLACES, np.int64), np.zeros(height, np.int64), np.zeros(height, np.int64),
        np.zeros((most, width)), np.zeros((most, most)), np.zeros((most, MOST + _PLACES)),
        np.zeros((MOST + _PLACES, width)), np.zeros(MOST + _PLACES), np.zeros(MOST + _PLACES, np.int64),
        np.zeros(LONGEST, np.int64),
    )  # fmt: skip


@borrowing
def _enter(one: int, place: int, table: _Table) -> None:
    """Add a record to a class; its mean holds a sum until the class is settled."""
    table.after[one] = table.heads[place]
    table.heads[place] = one
    table.class_of[one] = place
    table.sizes[place] += 1
    record = table.record_of[one]
    for axis in range(table.points.shape[1]):
        table.means[place, axis] += table.points[record, axis]


@borrowing
def _settle(place: int, table: _Table) -> None:
    for axis in range(table.points.shape[1]):
        table.means[place, axis] /= table.sizes[place]


@borrowing
def _empty(place: int, table: _Table) -> None:
    table.heads[place] = NOBODY
    table.sizes[place] = 0
    table.means[place] = 0.0


@borrowing
def _throw_together(one: int, used: int, table: _Table, pool: _Pool, state: Int64s) -> tuple[int, int, int]:
    """Pool the class of a record and some near it; returns how many classes, free records, and records.

    Capacity: MOST classes are wanted at most, and `classes` has more places.
    """
    first = int64(table.class_of[one])
    for place in range(used):
        gap = 0.0
        for axis in range(table.points.shape[1]):
            gap += (table.means[place, axis] - table.means[first, axis]) ** 2
        table.gaps[place] = gap
    table.gaps[first] = np.inf
    pool.classes[0] = first
    thrown, everybody = 1, int64(table.sizes[first])
    wanted = 2 + draw(state, MOST - 1)
    for _ in range(used - 1):
        if thrown == wanted:
            break
        nearest = first
        for place in range(used):
            if table.gaps[place] < table.gaps[nearest]:
                nearest = place
        if nearest == first or (thrown > 1 and everybody + table.sizes[nearest] > FREE):
            break
        table.gaps[nearest] = np.inf
        if draw(state, 3) > 0:
            pool.classes[thrown] = nearest
            thrown += 1
            everybody += table.sizes[nearest]
    free = _list(thrown, FREE if everybody <= FREE else FREE // 2, table, pool, state)
    _multiply(first, free, table, pool)
    return thrown, free, everybody


@borrowing
def _list(thrown: int, share: int, table: _Table, pool: _Pool | _Ranges, state: Int64s) -> int:
    """List the records of the pool, up to a share of each class as free; returns how many those are.

    Capacity: each record is in one class, and `records` and `labels` have a place for each. At most FREE are free:
    where all members are more, the classes are two at most, and half of FREE are free of each.
    """
    free, stays = 0, 0
    for label in range(thrown):
        free += min(share, table.sizes[pool.classes[label]])
    moves = 0
    for label in range(thrown):
        size = table.sizes[pool.classes[label]]
        start = draw(state, size) if size > share else 0
        one = table.heads[pool.classes[label]]
        for place in range(size):
            if (place - start) % size < share:
                pool.records[moves], pool.labels[moves] = one, label
                moves += 1
            else:
                pool.records[free + stays], pool.labels[free + stays] = one, label
                stays += 1
            one = table.after[one]
    return free


@borrowing
def _multiply(first: int, free: int, table: _Table, pool: _Pool) -> None:
    """Place the free records around the mean of the first class, and find their products."""
    width = table.points.shape[1]
    for place in range(free):
        record = table.record_of[pool.records[place]]
        for axis in range(width):
            pool.places[place, axis] = table.points[record, axis] - table.means[first, axis]
        for other in range(place + 1):
            product = 0.0
            for axis in range(width):
                product += pool.places[place, axis] * pool.places[other, axis]
            pool.products[place, other] = product
            pool.products[other, place] = product


@borrowing
def _measure(count: int, everybody: int, table: _Table, pool: _Pool) -> tuple[float, float]:
    """Find the sums and sizes of the classes; returns all squared norms, and the squared norms of sums over sizes."""
    width = table.points.shape[1]
    pool.sums[:count] = 0.0
    pool.sizes[:count] = 0
    first = pool.classes[0]
    squares, total = 0.0, 0.0
    for place in range(everybody):
        label = pool.labels[place]
        pool.sizes[label] += 1
        record = table.record_of[pool.records[place]]
        for axis in range(width):
            step = table.points[record, axis] - table.means[first, axis]
            pool.sums[label, axis] += step
            squares += step * step
    for label in range(count):
        norm = 0.0
        for axis in range(width):
            norm += pool.sums[label, axis] * pool.sums[label, axis]
        pool.norms[label] = norm
        total += norm / pool.sizes[label]
    return squares, total


@borrowing
def _pull(count: int, free: int, pool: _Pool) -> None:
    """Multiply each free record with the sum of each class."""
    for place in range(free):
        for label in range(count):
            product = 0.0
            for axis in range(pool.places.shape[1]):
                product += pool.places[place, axis] * pool.sums[label, axis]
            pool.pulls[place, label] = product


@borrowing
def _build(
    thrown: int, free: int, k: int, ruled: bool, rules: RuleArrays, table: _Table, pool: _Pool, state: Int64s
) -> int:
    """Share all records out anew: a record and those nearest to it, then the next; returns how many classes, or 0.

    Ends: a record that is added has no class before, and there is one less of those.
    """
    nobody = int64(NOBODY)
    highest = min(free // k, _PLACES)  # never 0: k is 1 or more
    lowest = 1 if ruled else min(highest, (free + 2 * k - 2) // (2 * k - 1))
    count = thrown if draw(state, 3) > 0 else thrown + draw(state, 3) - 1
    count = max(lowest, min(highest, count))
    pool.labels[:free] = NOBODY
    seed, left = draw(state, free), free
    for label in range(count):
        _grow(label, seed, k, free, pool)
        left -= k
        while ruled and left > 0 and not _label_holds(label, nobody, nobody, free, rules, table, pool):
            _add_nearest(label, free, pool)
            left -= 1
        if label + 1 == count or left < k:
            count = label + 1
            break
        seed = _next_seed(label, free, draw(state, 2) == 0, draw(state, left), pool)
    _share_out(count, free, pool)
    for label in range(count if ruled else 0):
        if not _label_holds(label, nobody, nobody, free, rules, table, pool):
            return 0
    return count


@borrowing
def _grow(label: int, seed: int, k: int, free: int, pool: _Pool) -> None:
    """Make a class of a record and the nearest without a class."""
    pool.sizes[label] = 0
    for place in range(free):
        pool.pulls[place, label] = 0.0
    _add(label, seed, free, pool)
    for _ in range(k - 1):
        _add_nearest(label, free, pool)


@borrowing
def _add(label: int, one: int, free: int, pool: _Pool) -> None:
    pool.labels[one] = label
    pool.sizes[label] += 1
    for place in range(free):
        gap = pool.products[place, place] + pool.products[one, one] - 2.0 * pool.products[place, one]
        pool.pulls[place, label] += gap


@borrowing
def _add_nearest(label: int, free: int, pool: _Pool) -> None:
    nearest = NOBODY
    for place in range(free):
        if pool.labels[place] == NOBODY and (
            nearest == NOBODY or pool.pulls[place, label] < pool.pulls[nearest, label]
        ):
            nearest = place
    _add(label, nearest, free, pool)


@borrowing
def _next_seed(label: int, free: int, far: bool, skipped: int, pool: _Pool) -> int:
    """Return the record without a class that is furthest from one, or the one after so many others."""
    found = NOBODY
    for place in range(free):
        if pool.labels[place] != NOBODY:
            continue
        if not far and skipped == 0:
            return place
        skipped -= 1
        if found == NOBODY or pool.pulls[place, label] > pool.pulls[found, label]:
            found = place
    return found


@borrowing
def _share_out(count: int, free: int, pool: _Pool) -> None:
    """Let those without a class join the nearest."""
    for place in range(free):
        if pool.labels[place] == NOBODY:
            nearest = 0
            for label in range(1, count):
                here, there = pool.pulls[place, label], pool.pulls[place, nearest]
                if here * pool.sizes[nearest] < there * pool.sizes[label]:
                    nearest = label
            pool.labels[place] = nearest


@borrowing
def _shuffle(
    free: int, everybody: int, ruled: bool, rules: RuleArrays, table: _Table, pool: _Pool, state: Int64s
) -> None:
    """Let a few pairs of records change places, where the rules allow it."""
    for _ in range(1 + draw(state, 3)):
        one, other = draw(state, free), draw(state, free)
        here, there = pool.labels[one], pool.labels[other]
        if here != there and (not ruled or _change_holds(one, there, other, everybody, rules, table, pool)):
            pool.labels[one], pool.labels[other] = there, here


@borrowing
def _change_holds(
    one: int, there: int, other: int, everybody: int, rules: RuleArrays, table: _Table, pool: _Pool | _Ranges
) -> bool:
    """Tell whether two classes satisfy all rules when a record goes there, and another (−1: nobody) comes back."""
    return _label_holds(pool.labels[one], one, other, everybody, rules, table, pool) and _label_holds(
        there, other, one, everybody, rules, table, pool
    )


@borrowing
def _label_holds(
    label: int, out: int, into: int, everybody: int, rules: RuleArrays, table: _Table, pool: _Pool | _Ranges
) -> bool:
    """Tell whether a class without `out` and with `into` (−1: nobody) satisfies all rules."""
    size = 0
    for place in range(everybody):
        if place == into or (pool.labels[place] == label and place != out):
            size += 1
            record = table.record_of[pool.records[place]]
            for column in range(len(rules.offsets) - 1):
                table.counts[rules.offsets[column] + table.values[record, column]] += 1
    satisfied = holds(size, table.counts, rules, table.scratch)
    table.counts[:] = 0
    return satisfied


@borrowing
def _improve(
    count: int, free: int, everybody: int, k: int, ruled: bool, least: float, rules: RuleArrays, table: _Table,
    pool: _Pool,
) -> float:  # fmt: skip
    """Make moves and exchanges that gain `least`; returns squared norms over sizes. Ends: the gain is bounded."""
    better = True
    while better:
        better = False
        for one in range(free):
            if _move(one, count, everybody, k, ruled, least, rules, table, pool, free) or _exchange(
                one, free, everybody, ruled, least, rules, table, pool
            ):
                better = True
    total = 0.0
    for label in range(count):
        total += pool.norms[label] / pool.sizes[label]
    return total


@borrowing
def _move(
    one: int, count: int, everybody: int, k: int, ruled: bool, least: float, rules: RuleArrays, table: _Table,
    pool: _Pool, free: int,
) -> bool:  # fmt: skip
    """Move a record to the class where that gains most."""
    nobody = int64(NOBODY)
    here, own = pool.labels[one], pool.products[one, one]
    size = pool.sizes[here]
    if size <= k or size < 2:
        return False
    left = pool.norms[here] - 2.0 * pool.pulls[one, here] + own
    cost = pool.norms[here] / size - left / (size - 1)
    most, found = cost + least, NOBODY
    for there in range(count):
        grown = (pool.norms[there] + 2.0 * pool.pulls[one, there] + own) / (pool.sizes[there] + 1)
        gain = grown - pool.norms[there] / pool.sizes[there]
        if (
            there != here
            and gain > most
            and (not ruled or _change_holds(one, there, nobody, everybody, rules, table, pool))
        ):
            most, found = gain, there
    if found == NOBODY:
        return False
    pool.norms[here] = left
    pool.norms[found] += 2.0 * pool.pulls[one, found] + own
    pool.sizes[here] -= 1
    pool.sizes[found] += 1
    pool.labels[one] = found
    for place in range(free):
        pool.pulls[place, here] -= pool.products[place, one]
        pool.pulls[place, found] += pool.products[place, one]
    return True


@borrowing
def _exchange(
    one: int, free: int, everybody: int, ruled: bool, least: float, rules: RuleArrays, table: _Table, pool: _Pool
) -> bool:
    """Let a record and a later one change places, where that gains most."""
    here, own = pool.labels[one], pool.products[one, one]
    most, found, own_change, other_change = least, NOBODY, 0.0, 0.0
    for other in range(one + 1, free):
        there = pool.labels[other]
        if there == here:
            continue
        apart = own + pool.products[other, other] - 2.0 * pool.products[one, other]
        change = 2.0 * (pool.pulls[other, here] - pool.pulls[one, here]) + apart
        back = 2.0 * (pool.pulls[one, there] - pool.pulls[other, there]) + apart
        gain = change / pool.sizes[here] + back / pool.sizes[there]
        if gain > most and (not ruled or _change_holds(one, there, other, everybody, rules, table, pool)):
            most, found, own_change, other_change = gain, other, change, back
    if found == NOBODY:
        return False
    there = pool.labels[found]
    pool.norms[here] += own_change
    pool.norms[there] += other_change
    pool.labels[one], pool.labels[found] = there, here
    for place in range(free):
        change = pool.products[place, found] - pool.products[place, one]
        pool.pulls[place, here] += change
        pool.pulls[place, there] -= change
    return True


@borrowing
def _take(thrown: int, built: int, everybody: int, used: int, table: _Table, pool: _Pool | _Ranges) -> int:
    """Put what was built into the table; returns how many classes there are then."""
    for label in range(thrown):
        _empty(pool.classes[label], table)
    for label in range(thrown, built):
        pool.classes[label] = used
        used += 1
    for place in range(everybody):
        _enter(pool.records[place], pool.classes[pool.labels[place]], table)
    for label in range(built):
        _settle(pool.classes[label], table)
    for _ in range(built, thrown):
        # The highest empty place first, so that the last class is never one of them.
        highest = built
        for label in range(built, thrown):
            if pool.classes[label] > pool.classes[highest]:
                highest = label
        used -= 1
        _rename(used, pool.classes[highest], table)
        pool.classes[highest] = NOBODY
    return used


@borrowing
def _pass_on(one: int, used: int, k: int, warmth: float, table: _Table, pool: _Pool, state: Int64s) -> None:
    """Let a record go to a near class, one from there to the next, and so on, where all that together saves.

    The last one stays where it goes, or comes back to the first class, if that has nobody to spare. Each class of a
    chain is met once, so that what it loses is known exactly. Capacity: LONGEST classes and one, MOST and more places.
    """
    first = int64(table.class_of[one])
    size = table.sizes[first]
    if size == 1:
        return
    lost, member = 0.0, table.heads[first]
    while member != NOBODY:
        lost += _gap_to(member, first, table)
        member = table.after[member]
    least = slack(state, warmth * lost / size)
    spare = size > k
    pool.chain[0], pool.classes[0] = one, first
    own = _gap_to(one, first, table)
    total = -own * size / (size - 1) if spare else -own
    length, target = 0, first
    for depth in range(LONGEST):
        hand = pool.chain[depth]
        for place in range(used):
            table.gaps[place] = _gap_to(hand, place, table)
        back = total + table.gaps[first] - _gap(hand, one, table) / size
        if not spare and depth > 0 and back < least:
            least, length = back, depth + 1
        for label in range(depth + 1):
            table.gaps[pool.classes[label]] = np.inf
        found, there, cost, home, staying = _go_on(hand, used, table, state)
        if spare and total + staying < least:
            least, length, target = total + staying, depth + 1, home
        if found == NOBODY or depth + 1 == LONGEST:
            break
        total += cost
        pool.chain[depth + 1], pool.classes[depth + 1] = found, there
    if length > 0:
        _follow(length, spare, target, used, table, pool, state)


@borrowing
def _go_on(hand: int, used: int, table: _Table, state: Int64s) -> tuple[int, int, float, int, float]:
    """Return whom a record replaces, in which class, at what cost, and the same of the class where it can just stay."""
    found, there, cost = NOBODY, int64(0), np.inf
    home, staying = int64(0), np.inf
    for _ in range(_AROUND):
        nearest = int64(np.argmin(table.gaps[:used]))
        gap, size = table.gaps[nearest], table.sizes[nearest]
        if gap == np.inf:
            break
        table.gaps[nearest] = np.inf
        # never 0: no class is empty
        wider = gap * size / (size + 1)
        if wider < staying:
            home, staying = nearest, wider
        member = table.heads[nearest] if draw(state, 3) > 0 else int64(NOBODY)
        while member != NOBODY:
            # never 0: `member` is in it
            change = gap - _gap_to(member, nearest, table) - _gap(hand, member, table) / size
            if change < cost:
                found, there, cost = member, nearest, change
            member = table.after[member]
    return found, there, cost, home, staying


@borrowing
def _follow(length: int, spare: bool, target: int, used: int, table: _Table, pool: _Pool, state: Int64s) -> None:
    """Move the records of a chain. Capacity: each record is in one class."""
    classes = length
    if spare:
        pool.classes[length] = target
        classes = length + 1
    everybody = _list(classes, len(pool.records), table, pool, state)
    for place in range(everybody):
        for step in range(length):
            if pool.records[place] == pool.chain[step]:
                pool.labels[place] = step + 1 if step + 1 < classes else 0
    _take(classes, classes, everybody, used, table, pool)


@borrowing
def _gap_to(one: int, place: int, table: _Table) -> float:
    """Squared distance of a record to the mean of a class."""
    gap, record = 0.0, table.record_of[one]
    for axis in range(table.points.shape[1]):
        gap += (table.points[record, axis] - table.means[place, axis]) ** 2
    return gap


@borrowing
def _gap(one: int, other: int, table: _Table) -> float:
    gap, record, near = 0.0, table.record_of[one], table.record_of[other]
    for axis in range(table.points.shape[1]):
        gap += (table.points[record, axis] - table.points[near, axis]) ** 2
    return gap


@borrowing
def _rename(last: int, place: int, table: _Table) -> None:
    """Move the last class to an empty place. Ends: the list has each member once."""
    if last == place:
        return
    table.heads[place], table.sizes[place] = table.heads[last], table.sizes[last]
    for axis in range(table.points.shape[1]):
        table.means[place, axis] = table.means[last, axis]
    one = table.heads[place]
    while one != NOBODY:
        table.class_of[one] = place
        one = table.after[one]
    _empty(last, table)


class _Ranges(NamedTuple):
    """Classes that are thrown together, under a loss of ranges and sets; all their records may move."""

    classes: Int64s  # where they are in the table, and where those that are built go
    records: Int64s  # (n,)
    labels: Int64s  # (n,): class of each, counted from 0; −1: none yet
    codes: Int64s  # (p, q)
    equal: Int64s  # (p, g, q): where values make sets: members of each class with the code of each record
    # `low`, `high`: (2, g, q): the outermost code and the one after it, which is the same where two members have it;
    # where values make sets `low` first holds how many there are
    low: Int64s
    high: Int64s
    sizes: Int64s  # (g,)
    lost: Floats  # (g,): loss of each record of a class
    costs: Floats  # (p,): the same of the class without each of its members; of one that grows, with each other record


@sized(lambda *arguments: 2500.0 * arguments[7].steps)  # a record that is shared out costs as so many elements
def rebuild_ranges(
    codes: Codes, record_of: Int32s, class_of: Int32s, count: int, around: Surroundings, k: int, ruled: bool,
    schedule: Schedule, loss: ClassLoss, values: Int32s, rules: RuleArrays,
) -> int:  # fmt: skip
    """Do as :func:`rebuild` with what ranges and sets of values lose; returns how many classes there are then.

    codes : unsigned (m, q); the others as there. Classes of more than FREE records together stay as they are.
    Ends: every round counts as a step at least.
    """
    table = _table(np.zeros((len(codes), 0)), values, record_of, class_of, count, k, rules)
    pool = _ranges(codes, len(record_of))
    used = count
    state = np.empty(1, np.int64)
    state[0] = schedule.seed
    warm = float64(schedule.warm)
    done = 0
    while done < schedule.steps:
        # never 0: the loop is entered with steps
        warmth = warm * (schedule.cold / warm) ** (done / schedule.steps)
        thrown, free = _throw_near(draw(state, len(record_of)), codes, around, table, pool, state)
        done += max(1, free)
        if thrown < 2:
            continue
        before = _measure_ranges(thrown, free, loss, pool)
        allowed = slack(state, warmth * before / max(1, free))
        built = _build_ranges(thrown, free, k, ruled, loss, rules, table, pool, state)
        if built > 0:
            _measure_ranges(built, free, loss, pool)
            if _improve_ranges(built, free, k, ruled, loss, rules, table, pool) < before + allowed:
                used = _take(thrown, built, free, used, table, pool)
    return used


@inlined
def _ranges(codes: Codes, height: int) -> _Ranges:
    width, most, places = codes.shape[1], min(FREE, height), MOST + 1
    return _Ranges(
        np.zeros(places, np.int64), np.zeros(height, np.int64), np.zeros(height, np.int64),
        np.zeros((most, width), np.int64), np.zeros((most, places, width), np.int64),
        np.zeros((2, places, width), np.int64), np.zeros((2, places, width), np.int64), np.zeros(places, np.int64),
        np.zeros(places), np.zeros(most),
    )  # fmt: skip


@borrowing
def _throw_near(
    one: int, codes: Codes, around: Surroundings, table: _Table, pool: _Ranges, state: Int64s
) -> tuple[int, int]:
    """Pool the class of a record and classes of records near it, or near those; returns how many classes and records.

    Capacity: MOST classes are wanted at most, and `classes` has more places; FREE records, or no second class.
    """
    pool.classes[0] = int64(table.class_of[one])
    thrown, everybody = 1, int64(table.sizes[pool.classes[0]])
    wanted = 2 + draw(state, MOST - 1)
    for _ in range(4 * wanted):
        other = companion(one, around, table.record_of, state)
        if other == NOBODY:
            continue
        place = int64(table.class_of[other])
        known = False
        for label in range(thrown):
            known = known or pool.classes[label] == place
        if known or everybody + table.sizes[place] > FREE:
            continue
        pool.classes[thrown] = place
        thrown += 1
        everybody += table.sizes[place]
        if thrown == wanted:
            break
        if draw(state, 2) == 0:
            one = other
    if thrown < 2:
        return 1, 0
    free = _list(thrown, FREE, table, pool, state)
    for place in range(free):
        record = table.record_of[pool.records[place]]
        for attribute in range(codes.shape[1]):
            pool.codes[place, attribute] = int64(codes[record, attribute])
    return thrown, free


@borrowing
def _measure_ranges(count: int, free: int, loss: ClassLoss, pool: _Ranges) -> float:
    """Measure all classes; returns what all records lose."""
    pool.sizes[:] = 0
    for place in range(free):
        pool.sizes[pool.labels[place]] += 1
    for attribute in range(len(loss.kinds)):
        for place in range(free if loss.kinds[attribute] == SET else 0):
            for label in range(count):
                pool.equal[place, label, attribute] = 0
            for other in range(free):
                if pool.codes[other, attribute] == pool.codes[place, attribute]:
                    pool.equal[place, pool.labels[other], attribute] += 1
    total = 0.0
    for label in range(count):
        _measure_range(label, free, loss, pool)
        total += pool.sizes[label] * pool.lost[label]
    return total


@borrowing
def _measure_range(label: int, free: int, loss: ClassLoss, pool: _Ranges) -> None:
    """Find the outermost codes of a class, and what it loses with and without each member."""
    nobody = int64(NOBODY)
    _clear(label, 0, loss, pool)
    for place in range(free):
        for attribute in range(len(loss.kinds) if pool.labels[place] == label else 0):
            code = pool.codes[place, attribute]
            if loss.kinds[attribute] == SET:
                first = True
                for other in range(place):
                    first = first and not (pool.labels[other] == label and pool.codes[other, attribute] == code)
                pool.low[0, label, attribute] += 1 if first else 0
            else:
                _widen(label, attribute, code, pool)
    for place in range(NOBODY, free):
        if place == NOBODY or (pool.labels[place] == label and pool.sizes[label] > 1):
            cost = _cost(label, place, nobody, loss, pool)
            if place == NOBODY:
                pool.lost[label] = cost
            else:
                pool.costs[place] = cost


@borrowing
def _clear(label: int, free: int, loss: ClassLoss, pool: _Ranges) -> None:
    """Empty a class; the first `free` records forget how many of it are as they are."""
    for attribute in range(len(loss.kinds)):
        pool.low[:, label, attribute] = 0 if loss.kinds[attribute] == SET else _BEYOND
        pool.high[:, label, attribute] = -1
        for place in range(free):
            pool.equal[place, label, attribute] = 0


@borrowing
def _widen(label: int, attribute: int, code: int, pool: _Ranges) -> None:
    if code < pool.low[0, label, attribute]:
        pool.low[1, label, attribute] = pool.low[0, label, attribute]
        pool.low[0, label, attribute] = code
    elif code < pool.low[1, label, attribute]:
        pool.low[1, label, attribute] = code
    if code > pool.high[0, label, attribute]:
        pool.high[1, label, attribute] = pool.high[0, label, attribute]
        pool.high[0, label, attribute] = code
    elif code > pool.high[1, label, attribute]:
        pool.high[1, label, attribute] = code


@borrowing
def _cost(label: int, out: int, into: int, loss: ClassLoss, pool: _Ranges) -> float:
    """Loss of each record of a class without `out` and with `into` (−1: nobody); somebody must be in it."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        low, high = pool.low[0, label, attribute], pool.high[0, label, attribute]
        if loss.kinds[attribute] == SET:
            if out != NOBODY and pool.equal[out, label, attribute] == 1:
                low -= 1
            if into != NOBODY:
                alone = pool.equal[into, label, attribute] == 0
                if out != NOBODY and pool.codes[out, attribute] == pool.codes[into, attribute]:
                    alone = pool.equal[into, label, attribute] == 1
                low += 1 if alone else 0
            total += set_loss(attribute, low, loss)
            continue
        if out != NOBODY:
            code = pool.codes[out, attribute]
            low = pool.low[1, label, attribute] if code == low else low
            high = pool.high[1, label, attribute] if code == high else high
        if into != NOBODY:
            code = pool.codes[into, attribute]
            low, high = min(low, code), max(high, code)
        if low < high:
            total += range_loss(attribute, low, high, loss)
    return total


@borrowing
def _build_ranges(
    thrown: int, free: int, k: int, ruled: bool, loss: ClassLoss, rules: RuleArrays, table: _Table, pool: _Ranges,
    state: Int64s,
) -> int:  # fmt: skip
    """Share all records out anew, to a class more or less or as many; returns how many classes, or 0.

    Ends: a record that is added has no class before, and there is one less of those. Capacity: one class more than were
    thrown together, MOST and one.
    """
    nobody = int64(NOBODY)
    # never 0: k is 1 or more
    count = max(1, min(free // k, thrown + draw(state, 3) - 1))
    pool.labels[:free] = NOBODY
    start, left = draw(state, free), free
    seed = start
    for label in range(count):
        _clear(label, free, loss, pool)
        pool.sizes[label] = 0
        size = 0
        _assign(label, seed, 0.0, free, loss, pool)
        while size < left:
            size += 1
            nearest, furthest = _outermost(label, start, free, loss, pool)
            if size >= k and (not ruled or _label_holds(label, nobody, nobody, free, rules, table, pool)):
                seed = furthest
                break
            if nearest != NOBODY:
                _assign(label, nearest, pool.costs[nearest], free, loss, pool)
        left -= size
        if left < k:
            count = label + 1
            break
        if draw(state, 2) == 0:
            seed = start
            while pool.labels[seed] != NOBODY:
                seed = seed + 1 if seed + 1 < free else 0
    return _share_ranges(count, free, ruled, loss, rules, table, pool)


@borrowing
def _outermost(label: int, start: int, free: int, loss: ClassLoss, pool: _Ranges) -> tuple[int, int]:
    """Return the records without a class with which one loses least and most; from a place on, the first of equals."""
    nobody = int64(NOBODY)
    nearest, furthest = NOBODY, NOBODY
    for step in range(free):
        place = start + step if start + step < free else start + step - free
        if pool.labels[place] == NOBODY:
            cost = _cost(label, nobody, place, loss, pool)
            pool.costs[place] = cost
            if nearest == NOBODY or cost < pool.costs[nearest]:
                nearest = place
            if furthest == NOBODY or cost > pool.costs[furthest]:
                furthest = place
    return nearest, furthest


@borrowing
def _assign(label: int, one: int, lost: float, free: int, loss: ClassLoss, pool: _Ranges) -> None:
    """Add a record to a class that is built, and which then loses so much."""
    pool.labels[one] = label
    pool.sizes[label] += 1
    pool.lost[label] = lost
    for attribute in range(len(loss.kinds)):
        code = pool.codes[one, attribute]
        if loss.kinds[attribute] == SET:
            pool.low[0, label, attribute] += 1 if pool.equal[one, label, attribute] == 0 else 0
            for place in range(free):
                if pool.codes[place, attribute] == code:
                    pool.equal[place, label, attribute] += 1
        else:
            _widen(label, attribute, code, pool)


@borrowing
def _share_ranges(
    count: int, free: int, ruled: bool, loss: ClassLoss, rules: RuleArrays, table: _Table, pool: _Ranges
) -> int:
    """Let those without a class join the one that makes all lose least; returns how many classes, or 0."""
    nobody = int64(NOBODY)
    for place in range(free):
        if pool.labels[place] == NOBODY:
            least, found, lost = np.inf, nobody, 0.0
            for label in range(count):
                size = pool.sizes[label]
                cost = _cost(label, nobody, place, loss, pool)
                if (size + 1) * cost - size * pool.lost[label] < least:
                    least, found, lost = (size + 1) * cost - size * pool.lost[label], label, cost
            _assign(found, place, lost, free, loss, pool)
    for label in range(count if ruled else 0):
        if not _label_holds(label, nobody, nobody, free, rules, table, pool):
            return 0
    return count


@borrowing
def _improve_ranges(
    count: int, free: int, k: int, ruled: bool, loss: ClassLoss, rules: RuleArrays, table: _Table, pool: _Ranges
) -> float:
    """Make moves and exchanges that save _LEAST; returns what all lose. Ends: what falls so is never below 0."""
    better = True
    while better:
        better = False
        for one in range(free):
            if pool.lost[pool.labels[one]] > 0.0 and pool.sizes[pool.labels[one]] > 1:
                better = better | _change_ranges(one, count, free, k, ruled, loss, rules, table, pool)
    total = 0.0
    for label in range(count):
        total += pool.sizes[label] * pool.lost[label]
    return total


@borrowing
def _change_ranges(
    one: int, count: int, free: int, k: int, ruled: bool, loss: ClassLoss, rules: RuleArrays, table: _Table,
    pool: _Ranges,
) -> bool:  # fmt: skip
    """Move a record to another class, or let it change places with a record there, where that saves most."""
    nobody = int64(NOBODY)
    here = pool.labels[one]
    size = pool.sizes[here]
    saved = size * pool.lost[here] - (size - 1) * pool.costs[one]
    most, found, target = _LEAST, nobody, nobody
    for there in range(count if size > k else 0):
        if there != here:
            before = pool.sizes[there] * pool.lost[there]
            gain = saved + before - (pool.sizes[there] + 1) * _cost(there, nobody, one, loss, pool)
            if gain > most and (not ruled or _change_holds(one, there, nobody, free, rules, table, pool)):
                most, target = gain, there
    for other in range(free if target == NOBODY else 0):
        there = pool.labels[other]
        back = pool.sizes[there]
        # At most what both classes save when a record leaves them.
        gain = size * (pool.lost[here] - pool.costs[one]) + back * (pool.lost[there] - pool.costs[other])
        if there == here or back == 1 or gain <= most:
            continue
        gain = size * pool.lost[here] + back * pool.lost[there] - size * _cost(here, one, other, loss, pool)
        if gain > most:
            gain -= back * _cost(there, other, one, loss, pool)
            if gain > most and (not ruled or _change_holds(one, there, other, free, rules, table, pool)):
                most, found, target = gain, other, there
    if target == NOBODY:
        return False
    _relabel(one, target, free, loss, pool)
    if found != NOBODY:
        _relabel(found, here, free, loss, pool)
    for label in (here, target):
        _measure_range(label, free, loss, pool)
    return True


@borrowing
def _relabel(one: int, there: int, free: int, loss: ClassLoss, pool: _Ranges) -> None:
    """Put a record into another class; both are measured later."""
    here = pool.labels[one]
    pool.labels[one] = there
    pool.sizes[here] -= 1
    pool.sizes[there] += 1
    for attribute in range(len(loss.kinds)):
        for place in range(free if loss.kinds[attribute] == SET else 0):
            if pool.codes[place, attribute] == pool.codes[one, attribute]:
                pool.equal[place, here, attribute] -= 1
                pool.equal[place, there, attribute] += 1
