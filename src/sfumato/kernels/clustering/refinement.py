"""Improving a partition: records move and change places, classes are dissolved and founded, by simulated annealing.

Letters: n records, m distinct ones, c classes, q attributes, s sensitive attributes that some rule looks at, g near
records of each distinct record.

What is kept low is the sum over all records of their class's loss. A proposal that makes it grow is accepted now and
then, the more rarely the colder it is; every accepted proposal leaves all its classes satisfying every rule.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sfumato.kernels.clustering.class_members import (
    NOBODY,
    ClassLoss,
    Members,
    changed_loss,
    class_holds,
    enter_class,
    go,
    join,
    measure_class,
    new_members,
)
from sfumato.kernels.jit import borrowing, kernel, sized
from sfumato.kernels.predicates import RuleArrays
from sfumato.kernels.types import Codes, Int32s, Int64s, float64, int64

_MULTIPLIER = 48271
_MODULUS = 2147483647


RATE = 16
"""Moves and exchanges for one attempt to dissolve or found a class."""


class Surroundings(NamedTuple):
    """Where proposals are looked for."""

    starts: Int64s  # (m + 1,): records ``starts[i] .. starts[i+1]-1`` are equal to the distinct record i.
    near: Int32s  # (m, g): near distinct records of each, nearest first, −1 where there are no more


class Log(NamedTuple):
    """Records that were moved for a proposal, each at most once, with the classes that they came from."""

    # `records`, `classes`: (n,)
    records: Int64s
    classes: Int64s


class Schedule(NamedTuple):
    """How long is searched, and how boldly."""

    steps: int  # proposals
    # `warm`, `cold`: how much more loss is accepted with probability 1/e at the start and at the end
    warm: float
    cold: float
    seed: int  # 1 .. 2**31 − 2.


@borrowing
def draw(state: Int64s, below: int) -> int:
    """Return a number from 0 to below − 1; state : int64 (1,)."""
    state[0] = (state[0] * _MULTIPLIER) % _MODULUS
    return int64(state[0] % below)


@borrowing
def slack(state: Int64s, warmth: float) -> float:
    """How much a proposal may make the loss grow."""
    state[0] = (state[0] * _MULTIPLIER) % _MODULUS
    # never 0: no power of the multiplier is a multiple of the prime
    return -warmth * math.log(state[0] / _MODULUS) - 1e-12


@sized(lambda *arguments: 130.0 * arguments[8].steps)  # a proposal costs as much as so many elements of an array
def anneal(
    codes: Codes, values: Codes, record_of: Int32s, class_of: Int32s, count: int, around: Surroundings, k: int,
    ruled: bool, schedule: Schedule, loss: ClassLoss, rules: RuleArrays,
) -> None:  # fmt: skip
    """Make the proposals of a schedule.

    codes : unsigned (m, q); values : unsigned (m, s); record_of : int32 (n,); class_of : int32 (n,), changed in place;
    count : one more than the largest class number that may be used, more than n / k; some classes may become empty.
    """
    members = new_members(codes, values, record_of, class_of, count, loss, rules)
    log = Log(np.empty(len(record_of), np.int64), np.empty(len(record_of), np.int64))
    state = np.empty(1, np.int64)
    state[0] = schedule.seed
    empty = _empty_class(members, 0)
    steps, warm = schedule.steps, float64(schedule.warm)
    warmth = warm
    for step in range(steps):
        if step % 256 == 0:
            # of numpy, as made above; steps are never 0 in here
            warmth = warm * (schedule.cold / warm) ** (step / steps)
        one = draw(state, len(record_of))
        allowed = slack(state, warmth)
        # Few proposals in a small table: which kinds they are must not depend on where the count starts.
        kind = (step + schedule.seed) % (2 * RATE)
        if kind in (0, RATE):
            if kind == 0:
                _dissolve(int64(members.class_of[one]), allowed, around, ruled, loss, rules, members, log, state)
            else:
                if empty != NOBODY and members.sizes[empty] > 0:
                    empty = _empty_class(members, empty)
                if empty != NOBODY:
                    _found(one, empty, k, allowed, around, ruled, loss, rules, members, log, state)
            continue
        other = companion(one, around, members.record_of, state)
        if other != NOBODY and members.class_of[other] != members.class_of[one]:
            _exchange(one, other, k, allowed, ruled, loss, rules, members, state)


@kernel
def total_loss(
    codes: Codes, values: Codes, record_of: Int32s, class_of: Int32s, count: int, loss: ClassLoss, rules: RuleArrays
) -> float:
    """Sum the losses of all records; arrays as in :func:`anneal`."""
    members = new_members(codes, values, record_of, class_of, count, loss, rules)
    total = 0.0
    for place in range(count):
        total += members.sizes[place] * members.lost[place]
    return total


@borrowing
def _empty_class(members: Members, start: int) -> int:
    """Find a class without members, the next one from `start` on; −1 when there is none."""
    count = len(members.sizes)
    for step in range(count):
        place = (start + step) % count  # never 0 in here
        if members.sizes[place] == 0:
            return place
    return NOBODY


@borrowing
def companion(one: int, around: Surroundings, record_of: Int32s, state: Int64s) -> int:
    """Draw a record that is near or equal to `one`; −1 where there is none. record_of : int32 (n,)."""
    record = int64(record_of[one])
    place = draw(state, around.near.shape[1] + 1)
    if place > 0:
        record = int64(around.near[record, place - 1])
        if record == NOBODY:
            return NOBODY
    return _one_of(record, around, state)


@borrowing
def _one_of(record: int, around: Surroundings, state: Int64s) -> int:
    """Draw one of the equal records that make up a distinct one; −1 when none of them is here."""
    first = around.starts[record]
    count = around.starts[record + 1] - first
    return first + draw(state, count) if count > 0 else NOBODY


@borrowing
def _exchange(
    one: int, other: int, k: int, allowed: float, ruled: bool, loss: ClassLoss, rules: RuleArrays, members: Members,
    state: Int64s,
) -> None:  # fmt: skip
    """Move `one` to the class of `other`, or `other` to that of `one`, or let `one` and a third change places."""
    here = int64(members.class_of[one])
    there = int64(members.class_of[other])
    if members.lost[here] == 0.0 and members.lost[there] == 0.0:
        return
    own = members.sizes[here] * members.lost[here]
    others = members.sizes[there] * members.lost[there]
    if members.sizes[here] > k and _move(one, there, allowed + own + others, ruled, loss, rules, members):
        return
    if members.sizes[there] > k and _move(other, here, allowed + own + others, ruled, loss, rules, members):
        return
    if members.sizes[here] == 1 or members.sizes[there] == 1:
        return
    third = members.heads[there]
    for _ in range(draw(state, members.sizes[there])):
        third = members.after[third]
    if third == other:
        return
    cost = members.sizes[there] * changed_loss(there, third, one, loss, members)
    if cost >= allowed + own + others:
        return
    cost += members.sizes[here] * changed_loss(here, one, third, loss, members)
    if cost >= allowed + own + others:
        return
    if ruled and not (class_holds(here, one, third, rules, members) and class_holds(there, third, one, rules, members)):
        return
    _transfer(one, there, loss, members)
    _transfer(third, here, loss, members)


@borrowing
def _move(one: int, there: int, most: float, ruled: bool, loss: ClassLoss, rules: RuleArrays, members: Members) -> bool:
    """Move a record if both classes together then lose less than `most` and satisfy every rule."""
    here = int64(members.class_of[one])
    cost = (members.sizes[there] + 1) * changed_loss(there, NOBODY, one, loss, members)
    if cost >= most:
        return False
    cost += (members.sizes[here] - 1) * changed_loss(here, one, NOBODY, loss, members)
    if cost >= most:
        return False
    if ruled and not (
        class_holds(here, one, NOBODY, rules, members) and class_holds(there, NOBODY, one, rules, members)
    ):
        return False
    _transfer(one, there, loss, members)
    return True


@borrowing
def _transfer(one: int, there: int, loss: ClassLoss, members: Members) -> None:
    go(one, loss, members)
    if members.heads[there] == NOBODY:
        join(one, there, members)
        measure_class(there, loss, members)
    else:
        enter_class(one, there, loss, members)


@borrowing
def _dissolve(
    place: int, allowed: float, around: Surroundings, ruled: bool, loss: ClassLoss, rules: RuleArrays,
    members: Members, log: Log, state: Int64s,
) -> None:  # fmt: skip
    """Hand members to the classes around, if that costs less.

    Ends: each round hands one over or is the last. Capacity: a member moves once; `log` has a place for each record.
    """
    most = allowed + members.sizes[place] * members.lost[place]
    moved = 0
    cost = 0.0
    while members.heads[place] != NOBODY and cost < most:
        one = members.heads[place]
        found = NOBODY
        least = most - cost
        for near in range(around.near.shape[1] + 1):
            record = int64(members.record_of[one]) if near == 0 else around.near[members.record_of[one], near - 1]
            if record == NOBODY:
                break
            other = _one_of(record, around, state)
            there = int64(members.class_of[other]) if other != NOBODY else NOBODY
            if there == NOBODY or there in (place, found):
                continue
            size = members.sizes[there]
            grown = (size + 1) * changed_loss(there, NOBODY, one, loss, members) - size * members.lost[there]
            if grown < least and (not ruled or class_holds(there, NOBODY, one, rules, members)):
                least = grown
                found = there
        if found == NOBODY:
            break
        log.records[moved] = one
        log.classes[moved] = place
        moved += 1
        cost += least
        _transfer(one, found, loss, members)
    if members.heads[place] != NOBODY or cost >= most:
        _undo(moved, loss, members, log)


@borrowing
def _found(
    one: int, place: int, k: int, allowed: float, around: Surroundings, ruled: bool, loss: ClassLoss,
    rules: RuleArrays, members: Members, log: Log, state: Int64s,
) -> None:  # fmt: skip
    """Found a class of `one` and near records that can be spared, if it saves. Capacity: k records move, once."""
    moved = 0
    saved = 0.0
    record = int64(members.record_of[one])
    for near in range(around.near.shape[1] + 1):
        candidate = record if near == 0 else int64(around.near[record, near - 1])
        if candidate == NOBODY or moved == k:
            break
        first = around.starts[candidate]
        # As many equal records as the class can take show all there is to see.
        for other in range(first, min(first + 2 * k, around.starts[candidate + 1])):
            if moved == k:
                break
            here = int64(members.class_of[other])
            if here == place or members.sizes[here] <= k:
                continue
            if ruled and not class_holds(here, other, NOBODY, rules, members):
                continue
            size = members.sizes[here]
            saved += size * members.lost[here] - (size - 1) * changed_loss(here, other, NOBODY, loss, members)
            log.records[moved] = other
            log.classes[moved] = here
            moved += 1
            _transfer(other, place, loss, members)
    pays = moved == k and members.sizes[place] * members.lost[place] - saved < allowed
    if not pays or (ruled and not class_holds(place, NOBODY, NOBODY, rules, members)):
        _undo(moved, loss, members, log)


@borrowing
def _undo(moved: int, loss: ClassLoss, members: Members, log: Log) -> None:
    """Put the records of a proposal back, the last first."""
    for step in range(moved - 1, -1, -1):
        _transfer(log.records[step], log.classes[step], loss, members)
