"""Making traces private: a level of places and one of times for all points, and points of some people left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError, UnsatisfiableError, VerificationError, raise_all
from sfumato.kinds.traces.check import PublishedTraces, trace_verification
from sfumato.kinds.traces.policy import TracePolicy
from sfumato.kinds.traces.release import TraceRelease
from sfumato.kinds.traces.solve import Choice, solve_traces
from sfumato.kinds.traces.traces import TracePrivacy, Traces, order_traces
from sfumato.numbers import counted, percent
from sfumato.options import Limit, Seed, check_arguments
from sfumato.progress import Progress, shown
from sfumato.randomness import permutation


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
    coarser : int
        Points that are published at coarser levels than these.
    """

    people: int
    people_left_out: int
    points: int
    points_left_out: int
    place_level: int
    time_level: int
    mean: float
    coarser: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return vars(self).copy()

    def __str__(self) -> str:
        """Return the totals in a line."""
        gone = f"{percent(self.points_left_out / self.points, 3)} of {counted(self.points, 'point')} left out"
        people = f", {counted(self.people_left_out, 'person')} without any" if self.people_left_out else ""
        coarser = f", {percent(self.coarser / self.points, 3)} coarser than others" if self.coarser else ""
        return f"information loss {percent(self.mean, 3)}: {gone}{coarser}{people}"


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
    choice = solve_traces(ordered, wanted, _levels(traces, policy), policy.suppression_limit, told)
    told("verifying", 1, 1)
    published, people = _published(ordered, choice, seed)
    verification = trace_verification(published, [wanted])
    if not verification.ok:
        raise VerificationError("the traces break their promise; nothing is published. Please report this")
    loss = _loss(traces, choice, len(people))
    return TraceRelease(published, wanted, verification, loss, origin[people], _notes(traces, choice), policy)


def _levels(traces: Traces, policy: TracePolicy) -> list[tuple[int, int]]:
    """Return the pairs of levels that a policy lets be tried."""
    place, time = policy.change.place_level, policy.change.time_level
    places = range(traces.place.height + 1) if place is None else (place,)
    return list(product(places, range(traces.time.height + 1) if time is None else (time,)))


def _loss(traces: Traces, choice: Choice, people: int) -> TraceLoss:
    stays = choice.item_of >= 0
    main = (choice.doublets[:, ::2] == choice.levels).all(axis=1)[choice.item_of]
    return TraceLoss(
        people=traces.height,
        people_left_out=traces.height - people,
        points=len(traces.places),
        points_left_out=int(np.count_nonzero(~stays)),
        place_level=choice.levels[0],
        time_level=choice.levels[1],
        mean=choice.loss,
        coarser=int(np.count_nonzero(stays & ~main)),
    )


def _published(traces: Traces, choice: Choice, seed: int | None) -> tuple[PublishedTraces, NDArray[np.int64]]:
    """Write doublets by their labels, people in random order; return the people as well."""
    there = choice.people(traces)
    people = there[permutation(len(there), seed)]
    stays = choice.item_of >= 0
    codes = np.unique(choice.item_of[stays])
    place, time = traces.place.levels, traces.time.levels
    # Nodes of several levels may have one label, where they are one.
    label_of = [(place[p][a], time[t][b]) for p, a, t, b in choice.doublets[codes].tolist()]
    labels = sorted(set(label_of))
    number = {label: item for item, label in enumerate(labels)}
    item_of = np.zeros(len(choice.doublets), dtype=np.int64)
    item_of[codes] = [number[label] for label in label_of]
    place_of = np.zeros(traces.height, dtype=np.int64)
    place_of[people] = np.arange(len(people))
    keys = np.unique(place_of[traces.owners[stays]] * len(labels) + item_of[choice.item_of[stays]])
    starts = np.append(0, np.cumsum(np.bincount(keys // len(labels)))).astype(np.int64)
    published = PublishedTraces(
        starts,
        (keys % len(labels)).astype(np.int32),
        tuple(labels),
        traces.is_grid,
        traces.zone,
        traces.sensitive,
        *_values(traces.take(people)),
        {} if traces.is_grid else _broader(traces, choice.levels[0]),
    )
    return published, people


def _values(traces: Traces) -> tuple[NDArray[np.int64], NDArray[np.int32], tuple[str, ...]]:
    """Return the sensitive values of people, numbered by name; values that nobody has are not named."""
    codes = np.unique(traces.values)
    names = [traces.value_names[code] for code in codes.tolist()]
    rank = np.zeros(len(traces.value_names) + 1, dtype=np.int64)
    rank[codes] = sorted(range(len(names)), key=sorted(range(len(names)), key=names.__getitem__).__getitem__)
    owners = np.repeat(np.arange(traces.height), np.diff(traces.value_starts))
    values = np.sort(owners * (len(names) + 1) + rank[traces.values]) % (len(names) + 1)
    return traces.value_starts, values.astype(np.int32), tuple(sorted(names))


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


def _notes(traces: Traces, choice: Choice) -> tuple[str, ...]:
    place, time = (axis.levels[level] for axis, level in zip((traces.place, traces.time), choice.levels, strict=True))
    return (
        f"places are of level {choice.levels[0]} of {traces.place.height}: {counted(len(place), 'place')}",
        f"times are of level {choice.levels[1]} of {traces.time.height}: {counted(len(time), 'time')}",
    )
