"""What published traces keep: points, people, counts of places, flows between them, hours, and answers to counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.kinds.traces.grain import Axis
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
    in common. Places and times are taken at the levels of most of the release. A point of a coarser level counts for
    all places and times below it that occur in the original, alike; flows and sequences leave it out.

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
class _Labels:
    """Labels of places, or of times, and the nodes of one level that each stands for."""

    sizes: NDArray[np.int64]  # (labels,)
    nodes: NDArray[np.int64]  # those of each label, one label after the other
    of_points: NDArray[np.int64]  # (z,): the label of each point

    @classmethod
    def of(cls, axis: Axis, level: int, labels: Sequence[str], of_points: NDArray[np.int64]) -> _Labels:
        """Look for labels of any level; what stands above the level stands for all below it that occur."""
        asked = {*labels}
        leaves = {
            name: np.flatnonzero(nodes == node)
            for names, nodes in zip(axis.levels[::-1], axis.node_of[::-1], strict=True)
            for node, name in enumerate(names)
            if name in asked
        }
        found = [np.unique(axis.node_of[level][leaves[name]]).astype(np.int64) for name in labels]
        return cls(np.array([len(each) for each in found]), np.concatenate(found), of_points)

    @classmethod
    def plain(cls, nodes: NDArray[np.int64]) -> _Labels:
        """Take nodes as they are."""
        count = int(nodes.max()) + 1
        return cls(np.ones(count, dtype=np.int64), np.arange(count), nodes)

    @property
    def is_node(self) -> NDArray[np.bool_]:
        """Tell of each point whether it is of one node."""
        exact: NDArray[np.bool_] = (self.sizes == 1)[self.of_points]
        return exact

    def first(self) -> NDArray[np.int64]:
        """Return the first node of each point."""
        starts = np.cumsum(self.sizes) - self.sizes
        nodes: NDArray[np.int64] = self.nodes[starts[self.of_points]]
        return nodes

    def counts(self, width: int) -> NDArray[np.float64]:
        """Return how many points each node has; those of several nodes count for each alike."""
        points = np.bincount(self.of_points, minlength=len(self.sizes)) / self.sizes
        weights = np.repeat(points, self.sizes).astype(np.float64)
        return np.bincount(self.nodes, weights=weights, minlength=width).astype(np.float64)

    def shares(self, asked: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return of each point which share of its nodes is asked for."""
        held = np.add.reduceat(asked[self.nodes].astype(np.float64), np.cumsum(self.sizes) - self.sizes) / self.sizes
        shares: NDArray[np.float64] = held[self.of_points]
        return shares


@dataclass(frozen=True, eq=False, repr=False)
class _Seen:
    """Points of people, and those that are of one place and time of a level, in the order of their times."""

    holders: NDArray[np.int64]  # (z,): of all points
    where: _Labels
    when: _Labels
    owners: NDArray[np.int64]  # (y,): of those of one place and time, each once
    places: NDArray[np.int64]
    times: NDArray[np.int64]

    @classmethod
    def of(cls, holders: NDArray[np.int64], where: _Labels, when: _Labels) -> _Seen:
        """Take each doublet of a person once, and sort."""
        exact = where.is_node & when.is_node
        rows = np.unique(np.stack([holders, when.first(), where.first()])[:, exact], axis=1)
        return cls(holders, where, when, rows[0], rows[2], rows[1])

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

    def people(self, places: NDArray[np.bool_], times: NDArray[np.bool_]) -> float:
        """Count the people who were at some of the places at some of the times, by chance where that is not told."""
        elsewhere = 1 - self.where.shares(places) * self.when.shares(times)
        starts = np.flatnonzero(np.diff(self.holders, prepend=-1))
        return float((1 - np.multiply.reduceat(elsewhere, starts)).sum())


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
    places, times = len(before.where.sizes), len(before.when.sizes)
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
        places=_distance(before.where.counts(places), after.where.counts(places)),
        hours=_distance(before.when.counts(times), after.when.counts(times)),
        flows=_distance(*_tallies(before.flows, after.flows)),
        lengths=_distance(*_tallies(np.bincount(before.holders), np.bincount(after.holders))),
        sequences=len(frequent & after.frequent(shown)) / len(frequent) if frequent else 1.0,
        counting=float(np.median(errors)),
    )


def _before(traces: Traces, release: TraceRelease) -> _Seen:
    place, time = traces.place.node_of[release.loss.place_level], traces.time.node_of[release.loss.time_level]
    nodes = np.stack([traces.owners, place[traces.places], time[traces.times]]).astype(np.int64)
    owners, where, when = np.unique(nodes, axis=1)
    return _Seen.of(owners, _Labels.plain(where), _Labels.plain(when))


def _after(traces: Traces, release: TraceRelease) -> _Seen:
    """Return what is published, as nodes of the levels of most points."""
    shown, loss = release.published, release.loss
    owners = np.repeat(np.arange(shown.height), np.diff(shown.starts))
    axes = (traces.place, loss.place_level), (traces.time, loss.time_level)
    found = []
    for (axis, level), labels in zip(axes, zip(*shown.doublets, strict=True), strict=True):
        names, number = np.unique(np.array(labels, dtype=object), return_inverse=True)
        found.append(_Labels.of(axis, level, names.tolist(), number[shown.items]))
    return _Seen.of(owners, *found)


def _tallies(one: NDArray[np.int64], other: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how often each number occurs in both."""
    kinds, codes = np.unique(np.concatenate([one, other]), return_inverse=True)
    low, high = (
        np.bincount(part, minlength=len(kinds)).astype(float) for part in (codes[: len(one)], codes[len(one) :])
    )
    return low, high


def _distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return half the sum of the differences of two distributions."""
    if not one.any() or not other.any():
        return float(one.any() != other.any())
    return float(np.abs(one / one.sum() - other / other.sum()).sum() / 2)
