"""Which grain traces have, and which of their points are published, so that every demand holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import UnsatisfiableError
from sfumato.kernels.traces import (
    Demand,
    TraceRows,
    coarser_rows,
    fewest_left_out,
    grow_traces,
    rare_pairs,
    without_pairs,
)
from sfumato.kernels.types import Flags
from sfumato.kinds.traces.check import can_count, trace_rows
from sfumato.kinds.traces.traces import TracePrivacy, Traces
from sfumato.numbers import percent
from sfumato.progress import Progress

Levels = tuple[int, int]
"""A level of places and one of times."""
_SAMPLE = 2000
"""People whose losses are bounded before levels are tried."""
_MOST_PAIRS = 60_000_000
"""Pairs of points that clash, as many as are looked at."""
_NONE = np.zeros(0, dtype=np.int64)
_STEPS = 20_000_000
"""Steps that may be taken to lose less than the first choice does."""
_NEAR = 0.15
"""How much more than the best levels others may lose before coarser points are added."""


@dataclass(frozen=True, eq=False, repr=False)
class PointTable:
    """Traces, and the different pairs of a place and a time that occur in them, w of them."""

    traces: Traces
    places: NDArray[np.int64]  # (w,): the leaf of each pair
    times: NDArray[np.int64]
    counts: NDArray[np.int64]  # (w,): points of each pair
    pair_of: NDArray[np.int64]  # (z,)

    @classmethod
    def of(cls, traces: Traces) -> PointTable:
        """Find the pairs."""
        width = traces.time.node_of.shape[1]
        codes = traces.places.astype(np.int64) * width + traces.times
        room = traces.place.node_of.shape[1] * width
        if room <= 8 * len(codes):
            counts = np.bincount(codes, minlength=room)
            pairs = np.flatnonzero(counts)
            number_of = np.cumsum(counts > 0) - 1
            return cls(traces, pairs // width, pairs % width, counts[pairs], number_of[codes])
        pairs, pair_of, counts = np.unique(codes, return_inverse=True, return_counts=True)
        return cls(traces, pairs // width, pairs % width, counts, pair_of)

    def nodes(self, place_level: int, time_level: int) -> NDArray[np.int64]:
        """Return place node · times + time node of each pair."""
        place, time = self.traces.place, self.traces.time
        codes: NDArray[np.int64] = place.node_of[place_level][self.places].astype(np.int64)
        codes = codes * len(time.levels[time_level]) + time.node_of[time_level][self.times]
        return codes

    def losses(self, place_level: int, time_level: int) -> NDArray[np.float64]:
        """Return the loss of a point of each pair, if it stays."""
        where, when = self.traces.place.shares[place_level], self.traces.time.shares[time_level]
        losses: NDArray[np.float64] = 1 - (1 - where[self.places]) * (1 - when[self.times])
        return losses

    def all_levels(self) -> Iterator[Levels]:
        """Return every pair of levels."""
        for place in range(self.traces.place.height + 1):
            for time in range(self.traces.time.height + 1):
                yield place, time

    def least_loss(self, k: int, place_level: int, time_level: int) -> float:
        """Return a loss that no choice of points is below: doublets that too few points have are left out."""
        codes = np.unique(self.nodes(place_level, time_level), return_inverse=True)[1]
        is_rare = (np.bincount(codes, weights=self.counts) < k)[codes]
        losses = np.where(is_rare, 1.0, self.losses(place_level, time_level))
        return float((losses * self.counts).sum() / self.counts.sum())


@dataclass(frozen=True, eq=False, repr=False)
class Grain:
    """Traces at one level of places and one of times. Letters: n people, z points, y doublets of people."""

    place_level: int
    time_level: int
    losses: NDArray[np.float64]  # (z,): of each point, if it stays
    point_of: NDArray[np.int64]  # (z,): which of the y doublets of people each point becomes
    worth: NDArray[np.float64]  # (y,): what is kept with each doublet of a person
    rows: TraceRows

    @classmethod
    def of(cls, table: PointTable, place_level: int, time_level: int) -> Grain:
        """Write traces at a grain."""
        traces = table.traces
        nodes, losses = table.nodes(place_level, time_level), table.losses(place_level, time_level)
        kinds, codes = np.unique(nodes, return_inverse=True)
        starts, items, point_of = coarser_rows(traces.starts, codes.astype(np.int32)[table.pair_of])
        of_points = losses[table.pair_of]
        worth = (np.bincount(point_of, weights=1 - of_points, minlength=len(items)) + 1e-9).astype(np.float64)
        rows = trace_rows(starts, items, len(kinds), traces.value_starts, traces.values)
        return cls(place_level, time_level, of_points, point_of, worth, rows)

    def loss(self, alive: Flags) -> float:
        """Return the mean loss of a point."""
        return float(np.where(alive[self.point_of], self.losses, 1.0).mean())


@dataclass(frozen=True, eq=False, repr=False)
class Choice:
    """What is published of every point. Letters: z points, d doublets."""

    levels: Levels  # of most points
    item_of: NDArray[np.int64]  # (z,): the doublet of each point, −1 where it is left out
    doublets: NDArray[np.int64]  # (d, 4): level and node of the place, level and node of the time
    losses: NDArray[np.float64]  # (z,): of each point, 1 where it is left out

    @property
    def loss(self) -> float:
        """The mean loss of a point."""
        return float(self.losses.mean())

    def people(self, traces: Traces) -> NDArray[np.int64]:
        """Return the people of whom a point is published."""
        return np.unique(traces.owners[self.item_of >= 0])


@dataclass(frozen=True, eq=False, repr=False)
class Ladder:
    """Levels at which points may be published, the usual ones first, then such as lose more.

    A point stays at the first level at which it holds together with what is published already. What is known may then
    lie in several doublets of which somebody has one: whoever has the same ones still fits.
    """

    table: PointTable
    demand: Demand
    levels: tuple[Levels, ...]
    codes: tuple[NDArray[np.int64], ...]  # (w,) for each level: the doublet of each pair
    doublets: NDArray[np.int64]  # (d, 4)

    @classmethod
    def of(cls, table: PointTable, demand: Demand, usual: Levels, most: int) -> Ladder:
        """Take the usual levels and up to `most` coarser ones."""
        coarser = [
            (float((losses * table.counts).sum()), levels)
            for levels in table.all_levels()
            if levels[0] >= usual[0] and levels[1] >= usual[1] and levels != usual
            and (losses := table.losses(*levels)).min() < 1
        ]  # fmt: skip
        steps = (usual, *(levels for _, levels in sorted(coarser)[:most]))
        codes, doublets, count = [], [], 0
        for place, time in steps:
            kinds, code = np.unique(table.nodes(place, time), return_inverse=True)
            times = len(table.traces.time.levels[time])
            ones = np.ones(len(kinds), dtype=np.int64)
            doublets.append(np.stack([place * ones, kinds // times, time * ones, kinds % times], axis=1))
            codes.append(code + count)
            count += len(kinds)
        return cls(table, demand, steps, tuple(codes), np.concatenate(doublets))

    def choice(self, item_of: NDArray[np.int64]) -> Choice:
        """Return what is published of every point, and what it loses."""
        losses = np.ones(len(item_of))
        for levels, codes in zip(self.levels, self.codes, strict=True):
            here = item_of == codes[self.table.pair_of]
            losses = np.where(here, self.table.losses(*levels)[self.table.pair_of], losses)
        return Choice(self.levels[0], item_of, self.doublets, losses)

    def climb(self, item_of: NDArray[np.int64], random: np.random.Generator | None = None) -> NDArray[np.int64]:
        """Let points that are left out join where they hold, doublets of most of them first, or in random order."""
        traces = self.table.traces
        for codes in self.codes:
            gone = item_of < 0
            if not gone.any():
                break
            labels = np.where(gone, codes[self.table.pair_of], item_of)
            starts, items, point_of = coarser_rows(traces.starts, labels.astype(np.int32))
            rows = trace_rows(starts, items, len(self.doublets), traces.value_starts, traces.values)
            alive = np.zeros(len(items), dtype=np.bool_)
            alive[point_of[~gone]] = True
            waiting = np.bincount(labels[gone], minlength=len(self.doublets))
            order = np.argsort(-waiting, kind="stable") if random is None else random.permutation(len(waiting))
            _grow(rows, self.demand, order[waiting[order] > 0], ~alive, alive)
            item_of = np.where(alive[point_of], labels, item_of)
        return item_of

    def climb_again(self, item_of: NDArray[np.int64], rounds: int) -> Choice:
        """Take doublets away from everybody, which breaks nothing, and let all others join; keep what loses less."""
        best, random = self.choice(item_of), np.random.default_rng(0)
        for _ in range(rounds):
            held = np.unique(best.item_of[best.item_of >= 0])
            gone = random.choice(held, min(len(held), int(random.integers(1, 4))), replace=False)
            trial = self.choice(self.climb(np.where(np.isin(best.item_of, gone), -1, best.item_of), random))
            if trial.loss <= best.loss:
                best = trial
        return best


def _grow(rows: TraceRows, demand: Demand, order: NDArray[np.int64], wanted: Flags, alive: Flags) -> None:
    """Let points join until hardly any does."""
    while grow_traces(rows, demand, order, wanted, alive) > len(alive) // 1000:
        pass


def kept_points(grain: Grain, demand: Demand) -> Flags:
    """Choose the doublets of people that stay, so that every demand holds; bool (y,).

    First, of doublets that too few people have together, each person keeps those that clash least. They join doublet by
    doublet, those of most people first, each with as many people as hold together. Then all others may join.
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
        _grow(rows, demand, order, candidates, alive)
    return alive


def solve_traces(
    traces: Traces, model: TracePrivacy, allowed: list[Levels], limit: float, progress: Progress
) -> Choice:
    """Choose levels and points with little loss; at most a share `limit` of the people is left without a point.

    Where nothing is asked of values, points that were left out join at coarser levels. Raises ``UnsatisfiableError``
    when no levels do.
    """
    if model.c == 1:
        none = np.zeros(0, dtype=np.int32)
        traces = replace(traces, value_starts=np.zeros(traces.height + 1, dtype=np.int64), values=none, value_names=())
    demand = Demand(model.k, model.l, model.most(traces.height), len(traces.value_names) + 1)
    table = PointTable.of(traces)
    effort = _STEPS // (int((traces.sizes ** min(model.l, 2)).sum()) + 1)
    is_coarser = model.c == 1 and len(allowed) > 1
    found, least = list[tuple[float, Choice, Ladder]](), traces.height
    for _, grain, alive in _tried(table, demand, allowed, is_coarser and effort > 1, progress)[
        : max(1, min(effort, 6))
    ]:
        ladder = Ladder.of(table, demand, (grain.place_level, grain.time_level), min(max(2, effort), 12) * is_coarser)
        items = np.where(alive[grain.point_of], grain.rows.items[grain.point_of], -1).astype(np.int64)
        choice = ladder.choice(ladder.climb(items))
        gone = traces.height - len(choice.people(traces))
        least = min(least, gone)
        if gone <= limit * traces.height + 1e-9 and gone < traces.height:
            found.append((choice.loss, choice, ladder))
    found.sort(key=lambda one: one[0])
    for number, (_, choice, ladder) in enumerate(found[:2]):
        progress("keeping more points", number, len(found[:2]))
        better = ladder.climb_again(choice.item_of, min(effort, 300))
        if traces.height - len(better.people(traces)) <= limit * traces.height + 1e-9:
            found.append((better.loss, better, ladder))
    best = min(found, key=lambda one: one[0])[1] if found else None
    if best is None:
        reached = f"{percent(least / traces.height, 3)} of the people would be left without a point"
        raise UnsatisfiableError(f"{model} is not reached: {reached}; raise suppression-limit or C, or lower K or L")
    return best


def _tried(
    table: PointTable, demand: Demand, allowed: list[Levels], widely: bool, progress: Progress
) -> list[tuple[float, Grain, Flags]]:
    """Choose points at levels that may lose least; return losses, grains and points, the lowest loss first.

    Levels are looked at by what they lose at least; those that cannot lose less than the best are left, or, `widely`,
    not much more. What a coarser grain must leave out, a finer one must, too. The demand on values, which does not grow
    with levels, is never used to leave out any.
    """
    bounds = {levels: table.least_loss(demand.k, *levels) for levels in allowed}
    total, number = 2 * len(bounds), 0
    found: list[tuple[float, Grain, Flags]] = []
    grains: dict[Levels, Grain] = {}
    while bounds:
        levels = min(bounds, key=lambda at: (bounds[at], at))
        if found and bounds[levels] >= min(loss for loss, _, _ in found) + (_NEAR if widely else 0.0):
            break
        progress("looking at levels", number, total)
        number += 1
        grain = grains.pop(levels, None)
        if grain is not None:
            del bounds[levels]
            alive = kept_points(grain, demand)
            found.append((grain.loss(alive), grain, alive))
            continue
        grain = Grain.of(table, *levels)
        if not all(can_count(grain.rows, size, demand.width) for size in range(1, demand.known + 1)):
            del bounds[levels]
            continue
        # Looked at again when nothing else may lose less.
        floor, gone_at_least = _floors(grain, demand)
        bounds[levels], grains[levels] = max(bounds[levels], floor), grain
        for finer in bounds:
            if finer != levels and finer[0] <= levels[0] and finer[1] <= levels[1]:
                bounds[finer] = max(bounds[finer], gone_at_least)
    return sorted(found, key=lambda one: (one[0], one[1].place_level, one[1].time_level))


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
