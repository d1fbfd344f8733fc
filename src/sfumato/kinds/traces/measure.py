"""What published traces keep: points, people, counts of places, flows between them, hours, and answers to counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.kinds.traces.release import TraceRelease
from sfumato.kinds.traces.traces import Traces
from sfumato.numbers import percent
from sfumato.options import Count, Seed, check_arguments

_MOST_FREQUENT = 50
"""Sequences that are called the most frequent ones."""
_MOST_PEOPLE = 5_000
"""People whose sequences are looked at."""


@dataclass(frozen=True)
class TraceUtility:
    """What is kept of traces; made by :func:`sfumato.traces.trace_utility`. For the steward.

    Distances are half the sums of the differences of two distributions: 0 where they agree, 1 where they have nothing
    in common. Places and times are taken at the levels of most of the release.

    Attributes
    ----------
    people, points : float
        Shares that are published.
    places, hours : float
        Distances of how often people are at each place, and at each time.
    flows : float
        Distance of how often people go from one place to the next that is published of them.
    lengths : float
        Distance of how many doublets people have.
    sequences : float
        Share of the most frequent sequences, a doublet and a later one of the same person, that are still among the
        most frequent ones; of at most 5,000 people.
    counting : float
        Median error of random counts of people, at some places at some times, relative to the true count.
    """

    people: float
    points: float
    places: float
    hours: float
    flows: float
    lengths: float
    sequences: float
    counting: float

    def to_dict(self) -> dict[str, float]:
        """Return plain values, for JSON."""
        return vars(self).copy()

    def __str__(self) -> str:
        """Return a line for each figure."""
        kept = f"Kept         {percent(self.people, 3)} of the people, {percent(self.points, 3)} of the points"
        names = {"places": "Places", "hours": "Times", "flows": "Flows", "lengths": "Lengths"}
        lines = [f"{name:<13}distance {percent(getattr(self, key), 3)}" for key, name in names.items()]
        lines.append(f"Sequences    {percent(self.sequences, 3)} of the most frequent are so still")
        return "\n".join([kept, *lines, f"Counts       median error {percent(self.counting, 3)}"])


@dataclass(frozen=True, eq=False, repr=False)
class _Seen:
    """Points of people at one grain, in the order of their times. Letters: y points."""

    owners: NDArray[np.int64]
    places: NDArray[np.int64]
    times: NDArray[np.int64]

    def __post_init__(self) -> None:
        """Take each doublet of a person once, and sort."""
        rows = np.unique(np.stack([self.owners, self.times, self.places]), axis=1)
        for name, row in zip(("owners", "times", "places"), rows, strict=True):
            object.__setattr__(self, name, row)

    @property
    def flows(self) -> NDArray[np.int64]:
        """From where to where people go from one time to their next; places below 2³¹."""
        follows = (self.owners[1:] == self.owners[:-1]) & (self.times[1:] > self.times[:-1])
        moves: NDArray[np.int64] = (self.places[:-1] << 31 | self.places[1:])[follows]
        return moves

    def frequent(self, owners: NDArray[np.int64]) -> set[tuple[int, ...]]:
        """Return the sequences of two doublets that most of some people have, :data:`_MOST_FREQUENT` of them."""
        here = np.isin(self.owners, owners)
        whose, where, when = self.owners[here], self.places[here], self.times[here]
        doublets, codes = np.unique(np.stack([when, where]), axis=1, return_inverse=True)
        pairs, step = [], 1
        while step < len(whose) and (same := whose[step:] == whose[:-step]).any():
            later = same & (when[step:] > when[:-step])
            pairs.append(codes[:-step][later] * doublets.shape[1] + codes[step:][later])
            step += 1
        kinds, counts = np.unique(np.concatenate([*pairs, np.zeros(0, dtype=np.int64)]), return_counts=True)
        most = kinds[np.argsort(-counts, kind="stable")[:_MOST_FREQUENT]]
        width = max(doublets.shape[1], 1)
        return {(*doublets[:, one // width].tolist(), *doublets[:, one % width].tolist()) for one in most.tolist()}

    def people(self, places: NDArray[np.bool_], times: NDArray[np.bool_]) -> int:
        """Count the people who were at some of the places at some of the times."""
        return len(np.unique(self.owners[places[self.places] & times[self.times]]))


@check_arguments
def trace_utility(original: Traces, release: TraceRelease, *, queries: Count = 200, seed: Seed = None) -> TraceUtility:
    """Measure what a release keeps of the traces that it was made from.

    Parameters
    ----------
    original
        The traces that the release was made from.
    release
        As :func:`sfumato.traces.anonymize_traces` returns it.
    queries
        Counts that are drawn: people at a tenth of the places during a run of a tenth of the times.
    seed
        For tests and studies.

    Returns
    -------
    TraceUtility

    Raises
    ------
    PolicyError
        When the release was made from other traces.
    """
    if len(release.origin) and int(release.origin.max()) >= original.height:
        raise PolicyError("release: was made from other traces")
    before, after = _before(original, release), _after(original, release)
    places, times = int(before.places.max()) + 1, int(before.times.max()) + 1
    random = np.random.default_rng(seed)
    errors = []
    for _ in range(queries):
        where = random.random(places) < 0.1
        first = int(random.integers(times))
        when = (np.arange(times) >= first) & (np.arange(times) <= first + times // 10)
        true = before.people(where, when)
        errors.append(abs(after.people(where, when) - true) / max(true, 1))
    shown = random.permutation(release.published.height)[:_MOST_PEOPLE]
    asked = random.permutation(original.height)[:_MOST_PEOPLE]
    if original.height <= _MOST_PEOPLE:
        shown, asked = np.arange(release.published.height), np.arange(original.height)
    frequent = before.frequent(asked)
    return TraceUtility(
        people=release.published.height / original.height,
        points=1 - release.loss.points_left_out / release.loss.points,
        places=_distance(before.places, after.places),
        hours=_distance(before.times, after.times),
        flows=_distance(before.flows, after.flows),
        lengths=_distance(np.bincount(before.owners), np.bincount(after.owners)),
        sequences=len(frequent & after.frequent(shown)) / len(frequent) if frequent else 1.0,
        counting=float(np.median(errors)),
    )


def _before(traces: Traces, release: TraceRelease) -> _Seen:
    place, time = traces.place.node_of[release.loss.place_level], traces.time.node_of[release.loss.time_level]
    return _Seen(traces.owners, place[traces.places].astype(np.int64), time[traces.times].astype(np.int64))


def _after(traces: Traces, release: TraceRelease) -> _Seen:
    """Return what is published at the levels of most points; coarser points are left out here."""
    shown, loss = release.published, release.loss
    number = [
        {label: node for node, label in enumerate(axis.levels[level])}
        for axis, level in ((traces.place, loss.place_level), (traces.time, loss.time_level))
    ]
    places = np.array([number[0].get(place, -1) for place, _ in shown.doublets], dtype=np.int64)
    times = np.array([number[1].get(time, -1) for _, time in shown.doublets], dtype=np.int64)
    owners = np.repeat(np.arange(shown.height), np.diff(shown.starts))
    usual = ((places >= 0) & (times >= 0))[shown.items]
    return _Seen(owners[usual], places[shown.items[usual]], times[shown.items[usual]])


def _distance(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """Return half the sum of the differences of how often numbers occur."""
    if not len(one) or not len(other):
        return float(len(one) != len(other))
    kinds, codes = np.unique(np.concatenate([one, other]), return_inverse=True)
    shares = [np.bincount(part, minlength=len(kinds)) / len(part) for part in (codes[: len(one)], codes[len(one) :])]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)
