"""Making traces private: a level of places and one of times for all points, and points of some people left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError, UnsatisfiableError, VerificationError, raise_all
from sfumato.kernels.traces import Demand, TraceRows, fewest_left_out, grow_traces, rare_pairs, without_pairs
from sfumato.kernels.types import Flags
from sfumato.kinds.traces.check import PublishedTraces, can_count, trace_rows, trace_verification
from sfumato.kinds.traces.policy import TracePolicy
from sfumato.kinds.traces.release import TraceRelease
from sfumato.kinds.traces.traces import TracePrivacy, Traces, order_traces
from sfumato.numbers import counted, percent
from sfumato.options import Limit, Seed, check_arguments
from sfumato.progress import Progress, shown
from sfumato.randomness import permutation

_SAMPLE = 2000
"""People whose losses are bounded before levels are tried."""
_MOST_PAIRS = 60_000_000
"""Pairs of points that clash, as many as are looked at."""
_NONE = np.zeros(0, dtype=np.int64)
_TRIES = 20_000_000
"""Steps that a search for more points may take, in all."""


@dataclass(frozen=True)
class TraceLoss:
    """What publishing cost.

    The loss of a point is 1 − (1 − share of the places that its published place covers) · (1 − share of the time that
    its published time covers), and 1 where it is left out. Points of one person in one finest cell and time are one.

    Attributes
    ----------
    people, people_left_out : int
        Before; and those of whom no point is left.
    points, points_left_out : int
        Before; and those that are not published.
    place_level, time_level : int
        Levels of all places and times; 0 is the finest.
    mean : float
        The loss of a point, on average.
    generalization : float
        What it would be if no point were left out.
    """

    people: int
    people_left_out: int
    points: int
    points_left_out: int
    place_level: int
    time_level: int
    mean: float
    generalization: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return vars(self).copy()

    def __str__(self) -> str:
        """Return the totals in a line."""
        gone = f"{percent(self.points_left_out / self.points, 3)} of {counted(self.points, 'point')} left out"
        people = f", {counted(self.people_left_out, 'person')} without any" if self.people_left_out else ""
        return f"information loss {percent(self.mean, 3)}: {gone}{people}"


@dataclass(frozen=True, eq=False, repr=False)
class Grain:
    """Traces at one level of places and one of times. Letters: n people, z points, y doublets of people."""

    place_level: int
    time_level: int
    losses: NDArray[np.float64]  # (z,): of each point, if it stays
    point_of: NDArray[np.int64]  # (z,): which of the y doublets of people each point becomes
    labels: NDArray[np.int64]  # (d,): place node · times + time node of each doublet
    worth: NDArray[np.float64]  # (y,): what is kept with each doublet of a person
    rows: TraceRows

    @classmethod
    def of(cls, traces: Traces, place_level: int, time_level: int) -> Grain:
        """Write traces at a grain."""
        nodes, losses = node_codes(traces, place_level, time_level), point_losses(traces, place_level, time_level)
        kinds, items = np.unique(nodes, return_inverse=True)
        keys, point_of = np.unique(traces.owners * len(kinds) + items, return_inverse=True)
        owners, codes = keys // len(kinds), (keys % len(kinds)).astype(np.int32)
        starts = np.append(0, np.cumsum(np.bincount(owners, minlength=traces.height))).astype(np.int64)
        worth = (np.bincount(point_of, weights=1 - losses, minlength=len(keys)) + 1e-9).astype(np.float64)
        rows = trace_rows(starts, codes, len(kinds), traces.value_starts, traces.values)
        return cls(place_level, time_level, losses, point_of, kinds, worth, rows)

    def loss(self, alive: Flags) -> float:
        """Return the mean loss of a point."""
        return float(np.where(alive[self.point_of], self.losses, 1.0).mean())


def node_codes(traces: Traces, place_level: int, time_level: int) -> NDArray[np.int64]:
    """Return place node · times + time node of each point."""
    place, time = traces.place, traces.time
    codes: NDArray[np.int64] = place.node_of[place_level][traces.places].astype(np.int64) * len(time.levels[time_level])
    codes += time.node_of[time_level][traces.times]
    return codes


def point_losses(traces: Traces, place_level: int, time_level: int) -> NDArray[np.float64]:
    """Return the loss of each point that stays."""
    where, when = traces.place.shares[place_level], traces.time.shares[time_level]
    losses: NDArray[np.float64] = 1 - (1 - where[traces.places]) * (1 - when[traces.times])
    return losses


def lowest_loss(traces: Traces, k: int, place_level: int, time_level: int) -> float:
    """Return a loss that no choice of points is below: those of doublets that too few points have are left out."""
    nodes, losses = node_codes(traces, place_level, time_level), point_losses(traces, place_level, time_level)
    kinds = len(traces.place.levels[place_level]) * len(traces.time.levels[time_level])
    if kinds > 8 * len(nodes):
        nodes = np.unique(nodes, return_inverse=True)[1]
    return float(np.where(np.bincount(nodes)[nodes] < k, 1.0, losses).mean())


def kept_points(grain: Grain, demand: Demand) -> Flags:
    """Choose the doublets of people that stay, so that every demand holds; bool (y,).

    First, of doublets that too few people have together, each person keeps those that clash least. They join doublet by
    doublet, those of most people first, each with as many people as hold together. Then all others may join. In small
    tables single doublets are taken away again and others join first, as long as this keeps more.
    """
    rows, everyone = grain.rows, np.ones(len(grain.worth), dtype=np.bool_)
    wanted = everyone
    if demand.known > 1:
        asked = np.ones(len(rows.starts) - 1, dtype=np.bool_)
        low, high = rare_pairs(rows, demand.k, asked, _MOST_PAIRS)
        wanted = without_pairs(rows.starts, low, high, grain.worth)
    alive = np.zeros(len(grain.worth), dtype=np.bool_)
    order = np.argsort(-np.bincount(rows.items[wanted], minlength=len(rows.bounds) - 1), kind="stable")
    for candidates in (wanted, everyone):
        while grow_traces(rows, demand, order, candidates, alive):
            pass
    steps = int((np.diff(rows.starts) ** min(demand.known, 2)).sum()) + 1
    return _searched(grain, demand, alive, min(_TRIES // steps, 400))


def _searched(grain: Grain, demand: Demand, alive: Flags, rounds: int) -> Flags:
    """Take doublets away from everybody, which breaks nothing, and let others join first; keep what is worth more."""
    rows, random = grain.rows, np.random.default_rng(0)
    kinds, everyone = len(rows.bounds) - 1, np.ones(len(alive), dtype=np.bool_)
    best = float(grain.worth[alive].sum())
    for _ in range(rounds):
        trial = alive.copy()
        gone = random.choice(kinds, min(kinds, int(random.integers(1, 4))), replace=False)
        trial[np.isin(rows.items, gone)] = False
        order = random.permutation(kinds)
        order = np.concatenate([order[~np.isin(order, gone)], gone])
        while grow_traces(rows, demand, order, everyone, trial):
            pass
        worth = float(grain.worth[trial].sum())
        if worth >= best:
            alive, best = trial, worth
    return alive


def _left_out(grain: Grain, alive: Flags) -> int:
    """Count the people of whom nothing is left."""
    rows = grain.rows
    owners = np.repeat(np.arange(len(rows.starts) - 1), np.diff(rows.starts))
    return len(rows.starts) - 1 - len(np.unique(owners[alive]))


def solve_traces(traces: Traces, model: TracePrivacy, policy: TracePolicy, progress: Progress) -> tuple[Grain, Flags]:
    """Choose levels and points with little loss, within the limit of people left out.

    Levels are looked at by what they lose at least; those that cannot lose less than the best are left. What a coarser
    grain must leave out, a finer one must, too: no choice of levels is left for the demand on values, which does not
    grow with them. Raises ``UnsatisfiableError`` when no levels do.
    """
    if model.c == 1:
        # Nothing is asked of values.
        none = np.zeros(0, dtype=np.int32)
        traces = replace(traces, value_starts=np.zeros(traces.height + 1, dtype=np.int64), values=none, value_names=())
    demand = Demand(model.k, model.l, model.most(traces.height), len(traces.value_names) + 1)
    bounds = {levels: lowest_loss(traces, model.k, *levels) for levels in _levels(traces, policy)}
    may_leave = int(policy.suppression_limit * traces.height + 1e-9)
    best: tuple[float, Grain, Flags] | None = None
    least = traces.height
    for number, levels in enumerate(sorted(bounds, key=lambda at: (bounds[at], at), reverse=True)):
        progress("looking at levels", number, len(bounds))
        if best is not None and bounds[levels] >= best[0]:
            continue
        grain = Grain.of(traces, *levels)
        if not all(can_count(grain.rows, size, demand.width) for size in range(1, model.l + 1)):
            continue
        floor, gone_at_least = _floors(grain, demand)
        for finer in bounds:
            if finer != levels and finer[0] <= levels[0] and finer[1] <= levels[1]:
                bounds[finer] = max(bounds[finer], gone_at_least)
        if best is not None and floor >= best[0]:
            continue
        alive = kept_points(grain, demand)
        gone = _left_out(grain, alive)
        least = min(least, gone)
        loss = grain.loss(alive)
        if gone <= may_leave and alive.any() and (best is None or loss < best[0]):
            best = loss, grain, alive
    if best is None:
        reached = f"{percent(least / traces.height, 3)} of the people would be left without a point"
        raise UnsatisfiableError(f"{model} is not reached: {reached}; raise suppression-limit or C, or lower K or L")
    return best[1], best[2]


def _levels(traces: Traces, policy: TracePolicy) -> Iterator[tuple[int, int]]:
    change = policy.change
    for place in range(traces.place.height + 1) if change.place_level is None else (change.place_level,):
        for time in range(traces.time.height + 1) if change.time_level is None else (change.time_level,):
            yield place, time


def _floors(grain: Grain, demand: Demand) -> tuple[float, float]:
    """Return, of some people, the loss and the share of points left out that no choice of points is below."""
    rows, people = grain.rows, len(grain.rows.starts) - 1
    asked = np.zeros(people, dtype=np.bool_)
    asked[:: max(1, people // _SAMPLE)] = True
    is_rare = np.diff(rows.bounds)[rows.items] < demand.k
    pairs = rare_pairs(rows, demand.k, asked, _MOST_PAIRS) if demand.known > 1 else (_NONE, _NONE)
    owners = np.repeat(np.arange(people), np.diff(rows.starts))
    points = np.bincount(grain.point_of, minlength=len(owners)).astype(np.float64)
    whole = np.bincount(owners, weights=points, minlength=people)[asked].sum()
    found = []
    for worth in (grain.worth, points):
        fair = np.where(is_rare, 0.0, worth)
        kept = np.bincount(owners, weights=fair, minlength=people) - fewest_left_out(rows.starts, *pairs, fair)
        found.append(float(1 - kept[asked].sum() / whole))
    return found[0], found[1]


@check_arguments
def anonymize_traces(
    traces: Traces,
    model: TracePolicy | TracePrivacy,
    *,
    suppression_limit: Annotated[float, Limit(0, 1, below=True)] | None = None,
    seed: Seed = None,
    progress: Progress | None = None,
) -> TraceRelease:
    """Publish coarser places and times, and leave points out, so that who knows a few points finds many people.

    Parameters
    ----------
    traces
        As :func:`sfumato.traces.read_traces` returns them.
    model
        What is to hold; or the policy that says it with all else.
    suppression_limit
        Share of the people of whom no point may be left; None takes that of the policy, or 0.05.
    seed
        For tests and studies: the same traces, in any order, and seed give the same release. None draws the order of
        the people from the operating system's randomness.
    progress
        Called with what is being done, how much is done and the total.

    Returns
    -------
    TraceRelease
        Recounted from what is published.

    Raises
    ------
    PolicyError
        With every setting that is none, or that a policy says otherwise.
    UnsatisfiableError
        When there are fewer people than K, or too many people would be left out.

    Notes
    -----
    Guarantee: that of :class:`sfumato.traces.TracePrivacy`. People without a point are left out, values and all.
    """
    if isinstance(model, TracePolicy):
        policy = model
        if suppression_limit not in (None, policy.suppression_limit):
            raise PolicyError("suppression_limit: the policy says another one than the call; say it in one place")
    else:
        policy = TracePolicy.of(model, traces, 0.05 if suppression_limit is None else suppression_limit)
    wanted = policy.to_model()
    raise_all(PolicyError, _unfitting(traces, policy, wanted))
    if traces.height < wanted.k:
        raise UnsatisfiableError(f"there are {counted(traces.height, 'person')}, fewer than K = {wanted.k}; lower it")
    told = progress or shown
    ordered, origin = order_traces(traces)
    grain, alive = solve_traces(ordered, wanted, policy, told)
    told("verifying", 1, 1)
    published, people = _published(ordered, grain, alive, seed)
    verification = trace_verification(published, [wanted])
    if not verification.ok:
        raise VerificationError("the traces break their promise; nothing is published. Please report this")
    loss = TraceLoss(
        people=traces.height,
        people_left_out=traces.height - len(people),
        points=len(traces.places),
        points_left_out=int(np.count_nonzero(~alive[grain.point_of])),
        place_level=grain.place_level,
        time_level=grain.time_level,
        mean=grain.loss(alive),
        generalization=float(grain.losses.mean()),
    )
    return TraceRelease(published, wanted, verification, loss, origin[people], _notes(traces, grain), policy)


def _published(
    traces: Traces, grain: Grain, alive: Flags, seed: int | None
) -> tuple[PublishedTraces, NDArray[np.int64]]:
    """Write doublets by their labels, people in random order; return the people as well."""
    rows = grain.rows
    owners = np.repeat(np.arange(traces.height), np.diff(rows.starts))[alive]
    there = np.unique(owners)
    people = there[permutation(len(there), seed)]
    names, times = traces.place.levels[grain.place_level], traces.time.levels[grain.time_level]
    codes = np.unique(rows.items[alive])
    labels = [(names[code // len(times)], times[code % len(times)]) for code in grain.labels[codes].tolist()]
    order = sorted(range(len(labels)), key=labels.__getitem__)
    item_of = np.zeros(len(grain.labels), dtype=np.int64)
    item_of[codes[order]] = np.arange(len(codes))
    place_of = np.zeros(traces.height, dtype=np.int64)
    place_of[people] = np.arange(len(people))
    keys = np.sort(place_of[owners] * len(codes) + item_of[rows.items[alive]])
    starts = np.append(0, np.cumsum(np.bincount(keys // len(codes)))).astype(np.int64)
    shown = traces.take(people)
    value_codes = np.unique(shown.values)
    value_names = [traces.value_names[code] for code in value_codes.tolist()]
    by_name = (
        np.argsort(np.argsort(np.array(value_names, dtype=object))) if value_names else np.zeros(0, dtype=np.int64)
    )
    value_of = np.zeros(len(traces.value_names) + 1, dtype=np.int64)
    value_of[value_codes] = by_name
    held = np.repeat(np.arange(len(people)), np.diff(shown.value_starts)) * (len(value_names) + 1)
    values = (np.sort(held + value_of[shown.values]) % (len(value_names) + 1)).astype(np.int32)
    return PublishedTraces(
        starts,
        (keys % len(codes)).astype(np.int32),
        tuple(labels[place] for place in order),
        traces.is_grid,
        traces.zone,
        traces.sensitive,
        shown.value_starts,
        values,
        tuple(sorted(value_names)),
        {} if traces.is_grid else _broader(traces, grain.place_level),
    ), people


def _broader(traces: Traces, level: int) -> dict[str, str]:
    """Return the next coarser place of every published one and of all above it."""
    found: dict[str, str] = {}
    for low, high in zip(range(level, traces.place.height), range(level + 1, traces.place.height + 1), strict=True):
        pairs = np.unique(traces.place.node_of[[low, high]], axis=1).T
        names = ((traces.place.levels[low][a], traces.place.levels[high][b]) for a, b in pairs.tolist())
        found |= {one: other for one, other in names if one != other}
    return dict(sorted(found.items()))


def _unfitting(traces: Traces, policy: TracePolicy, model: TracePrivacy) -> Iterator[str]:
    """Return a sentence for every setting that does not fit the traces."""
    if policy.traces.zone != traces.zone or policy.traces.sensitive != traces.sensitive:
        yield "traces: the policy says another zone or sensitive column than was read; read them with the policy"
    if model.c < 1 and traces.sensitive is None:
        yield "c: is about sensitive values, and there are none; name their column, or leave it out"
    if traces.sensitive in ("trace", "place", "time"):
        yield f"sensitive: a column named {traces.sensitive!r} is of the release itself; rename it"
    for name, axis, level in (
        ("place-level", traces.place, policy.change.place_level),
        ("time-level", traces.time, policy.change.time_level),
    ):
        if level is not None and level > axis.height:
            yield f"change.{name}: is {level}, and the coarsest is {axis.height}"


def _notes(traces: Traces, grain: Grain) -> tuple[str, ...]:
    place, time = traces.place.levels[grain.place_level], traces.time.levels[grain.time_level]
    return (
        f"places are of level {grain.place_level} of {traces.place.height}: {counted(len(place), 'place')}",
        f"times are of level {grain.time_level} of {traces.time.height}: {counted(len(time), 'time')}",
    )
