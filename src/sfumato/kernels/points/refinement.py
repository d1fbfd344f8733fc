"""Improving classes of points: records move and change places, by simulated annealing, under the squared error.

Letters: n records, m distinct ones, c classes, d coordinates. Proposals are those of
:mod:`sfumato.kernels.clustering.refinement`, but that no class is dissolved or founded.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.clustering.class_loss import ClassLoss
from sfumato.kernels.clustering.class_members import NOBODY, Members, class_holds, join, leave, new_members
from sfumato.kernels.clustering.refinement import Schedule, Surroundings, companion, draw, slack
from sfumato.kernels.jit import borrowing, sized
from sfumato.kernels.predicates import RuleArrays
from sfumato.kernels.types import Codes, Floats, Int32s, float64, int64


@sized(lambda *arguments: 60.0 * arguments[9].steps)
def anneal_points(
    points: Floats, codes: Codes, values: Codes, record_of: Int32s, class_of: Int32s, count: int, around: Surroundings,
    k: int, ruled: bool, schedule: Schedule, loss: ClassLoss, rules: RuleArrays,
) -> None:  # fmt: skip
    """Make the proposals of a schedule.

    points : float64 (m, d). Everything else as in :func:`sfumato.kernels.clustering.refinement.anneal`; `loss` decides
    nothing. class_of : int32 (n,), changed in place.
    """
    members = new_members(codes, values, record_of, class_of, count, loss, rules)
    sums = np.zeros((count, points.shape[1]))
    for one in range(len(record_of)):
        for axis in range(points.shape[1]):
            sums[class_of[one], axis] += points[record_of[one], axis]
    state = np.empty(1, np.int64)
    state[0] = schedule.seed
    warm = float64(schedule.warm)
    warmth = warm
    for step in range(schedule.steps):
        if step % 256 == 0:
            # of numpy, as made above; steps are never 0 in here
            warmth = warm * (schedule.cold / warm) ** (step / schedule.steps)
        one = draw(state, len(record_of))
        allowed = slack(state, warmth)
        other = companion(one, around, members, state)
        if other == NOBODY or members.class_of[other] == members.class_of[one]:
            continue
        if not (
            _move(one, int64(members.class_of[other]), k, allowed, ruled, points, sums, rules, members)
            or _move(other, int64(members.class_of[one]), k, allowed, ruled, points, sums, rules, members)
        ):
            third = members.heads[members.class_of[other]]
            for _ in range(draw(state, members.sizes[members.class_of[other]])):
                third = members.after[third]
            _swap(one, third, allowed, ruled, points, sums, rules, members)


@borrowing
def _move(
    one: int, there: int, k: int, allowed: float, ruled: bool, points: Floats, sums: Floats, rules: RuleArrays,
    members: Members,
) -> bool:  # fmt: skip
    """Move a record to a class, if its own can spare it and the squared error grows by less than `allowed`."""
    here = int64(members.class_of[one])
    own = members.sizes[here]
    others = members.sizes[there]
    if own <= k or own < 2:
        return False
    record = members.record_of[one]
    more = 0.0
    for axis in range(points.shape[1]):
        place = points[record, axis]
        left = sums[here, axis] - place
        grown = sums[there, axis] + place
        more += sums[here, axis] * sums[here, axis] / own - left * left / (own - 1)
        more += sums[there, axis] * sums[there, axis] / others - grown * grown / (others + 1)
    if more >= allowed:
        return False
    if ruled and not (
        class_holds(here, one, NOBODY, rules, members) and class_holds(there, NOBODY, one, rules, members)
    ):
        return False
    _transfer(one, there, points, sums, members)
    return True


@borrowing
def _swap(
    one: int, other: int, allowed: float, ruled: bool, points: Floats, sums: Floats, rules: RuleArrays, members: Members
) -> None:
    """Let two records change places, if the squared error grows by less than `allowed`."""
    here = int64(members.class_of[one])
    there = int64(members.class_of[other])
    more = 0.0
    for axis in range(points.shape[1]):
        step = points[members.record_of[other], axis] - points[members.record_of[one], axis]
        own = sums[here, axis] + step
        others = sums[there, axis] - step
        more += (sums[here, axis] * sums[here, axis] - own * own) / members.sizes[here]
        more += (sums[there, axis] * sums[there, axis] - others * others) / members.sizes[there]
    if more >= allowed:
        return
    if ruled and not (class_holds(here, one, other, rules, members) and class_holds(there, other, one, rules, members)):
        return
    _transfer(one, there, points, sums, members)
    _transfer(other, here, points, sums, members)


@borrowing
def _transfer(one: int, there: int, points: Floats, sums: Floats, members: Members) -> None:
    here = int64(members.class_of[one])
    record = members.record_of[one]
    for axis in range(points.shape[1]):
        sums[here, axis] -= points[record, axis]
        sums[there, axis] += points[record, axis]
    leave(one, members)
    join(one, there, members)
