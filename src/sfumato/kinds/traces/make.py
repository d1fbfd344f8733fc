"""Making traces private: a level of places and one of times for all points, and points of some people left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import comb, inf
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError, SfumatoError, UnsatisfiableError, VerificationError, raise_all
from sfumato.kernels.clustering.refinement import Schedule
from sfumato.kernels.traces import (
    Demand,
    Ladder,
    TraceRows,
    anneal_traces,
    coarser_rows,
    fewest_left_out,
    grow_traces,
    points_by_doublet,
    violating_sets,
    without_sets,
)
from sfumato.kernels.types import Flags
from sfumato.kinds.traces.check import PublishedTraces, can_count, trace_rows, trace_verification, wishes_hold
from sfumato.kinds.traces.policy import TracePolicy
from sfumato.kinds.traces.population import (
    Crowd,
    Rows,
    among_population,
    numbers_of,
    population_of,
    unfitting_population,
)
from sfumato.kinds.traces.release import TraceRelease
from sfumato.kinds.traces.traces import TracePrivacy, Traces, order_traces, points_of_people
from sfumato.numbers import counted, percent
from sfumato.options import Limit, Seed, check_arguments
from sfumato.progress import Progress, shown
from sfumato.randomness import hashed, permutation
from sfumato.table.reading import population_problems

Levels = tuple[int, int]
"""A level of places and one of times."""
_SAMPLE = 2000
"""People whose losses are bounded before levels are tried."""
_MOST_SETS = 60_000_000
"""Sets of points that break a demand, as many as are looked at."""
_NONE = np.zeros(0, dtype=np.int64)
_STEPS = 20_000_000
"""Steps that may be taken to lose less than the first choice does."""
_MOST_POINTS = 10_000
"""Points of one person: of more, hardly any could be published, and pairs of them cost most of the work."""
_MOVES = 1_000_000
"""Moves between levels that are tried for one ladder, at most; of a small table, 300 for each point."""
_MOVED = 3_000_000_000
"""Combinations that all moves for one ladder look at, at most."""
_HELD = 2_000_000
"""Points of a table of which several grains are held in memory at once."""
_MOST_MOVED = 500_000
"""Points of a table in which they are moved: beyond, two moves for each would not be left."""
_FEW_RUNGS, _RUNGS, _ROUNDS = 12, 30, 100
"""Levels tried at first of small tables, levels that points are moved between, and how often doublets are taken away
from everybody afterwards."""
_WARMTH, _CHARGES = (0.1, 0.02), (0.3, 10.0)
"""How much more loss a move may cost, in points, and the charge for a person of a rare combination: first and last."""
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
class TraceChoice:
    """What is published of every point. Letters: z points, d doublets."""

    levels: Levels  # of most points
    item_of: NDArray[np.int64]  # (z,): the doublet of each point, −1 where it is left out
    doublets: NDArray[np.int64]  # (d, 4): level and node of the place, level and node of the time
    losses: NDArray[np.float64]  # (z,): of each point, 1 where it is left out

    @property
    def loss(self) -> float:
        """The mean loss of a point."""
        return float(self.losses.mean())

    def beside(self, dropped: Flags) -> TraceChoice:
        """Return the choice for these points and such as were dropped before; bool (all points,)."""
        if not dropped.any():
            return self
        items, losses = np.full(len(dropped), -1, dtype=np.int64), np.ones(len(dropped))
        items[~dropped], losses[~dropped] = self.item_of, self.losses
        return replace(self, item_of=items, losses=losses)

    def people(self, traces: Traces) -> NDArray[np.int64]:
        """Return the people of whom a point is published."""
        return np.flatnonzero(np.bincount(traces.owners[self.item_of >= 0], minlength=traces.height))


@dataclass(frozen=True, eq=False, repr=False)
class TraceLadder:
    """Levels at which points may be published, the usual first; a point stays at the first that holds together.

    What is known may then lie in several doublets of which somebody has one: whoever has the same ones still fits.
    """

    table: PointTable
    demand: Demand
    levels: tuple[Levels, ...]
    codes: tuple[NDArray[np.int64], ...]  # (w,) for each level: the doublet of each pair
    doublets: NDArray[np.int64]  # (d, 4)
    crowd: Crowd | None = None  # who is counted instead

    @classmethod
    def of(cls, table: PointTable, demand: Demand, usual: Levels, most: int, crowd: Crowd | None = None) -> TraceLadder:
        """Take the usual levels and up to `most` coarser ones, those that lose least."""
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
        return cls(table, demand, steps, tuple(codes), np.concatenate(doublets), crowd)

    def only(self, levels: list[Levels]) -> TraceLadder:
        """Return the ladder with some of its levels; doublets keep their numbers."""
        kept = [at for at, level in enumerate(self.levels) if level in levels]
        codes = tuple(self.codes[at] for at in kept)
        return replace(self, levels=tuple(self.levels[at] for at in kept), codes=codes)

    def choice(self, item_of: NDArray[np.int64]) -> TraceChoice:
        """Return what is published of every point, and what it loses."""
        rung = np.full(len(self.doublets) + 1, len(self.levels))
        for number, codes in enumerate(self.codes):
            rung[codes] = number
        each = np.array([*(self.table.losses(*levels) for levels in self.levels), np.ones(len(self.table.counts))])
        losses = each[rung[item_of], self.table.pair_of]
        counts = np.bincount(item_of[item_of >= 0], minlength=len(self.doublets))
        most = max(self.levels, key=lambda at: counts[(self.doublets[:, ::2] == at).all(axis=1)].sum())
        return TraceChoice(most, item_of, self.doublets, losses)

    def climb(self, item_of: NDArray[np.int64], random: np.random.Generator | None = None) -> NDArray[np.int64]:
        """Let points that are left out join where they hold, doublets of most of them first, or in random order."""
        item_of = item_of.copy()
        traces, owners = self.table.traces, self.table.traces.owners
        points = np.arange(len(item_of))
        for number, codes in enumerate(self.codes):
            held, first, last = item_of[points], codes.min(), codes.max()
            if not (held < 0).any():
                break
            # Of this level's doublets nobody else has one, so that nothing else is counted.
            touched = np.zeros(traces.height, dtype=np.bool_)
            touched[owners[points[(held < 0) | ((held >= first) & (held <= last))]]] = True
            people, here = np.flatnonzero(touched), points[touched[owners[points]]]
            part, left = traces.take(people), item_of[here] < 0
            labels = np.where(left, codes[self.table.pair_of[here]], item_of[here])
            starts, items, point_of = coarser_rows(part.starts, labels.astype(np.int32))
            rows = trace_rows(starts, items, len(self.doublets), part.value_starts, part.values)
            alive = np.zeros(len(items), dtype=np.bool_)
            alive[point_of[~left]] = True
            waiting = np.bincount(labels[left], minlength=len(self.doublets))
            order = np.argsort(-waiting, kind="stable") if random is None else random.permutation(len(waiting))
            demand, wanted, stays = self.demand._replace(needs=self.demand.needs[people]), ~alive, alive
            if self.crowd is not None:
                rows = among_population((starts, items.astype(np.int64)), self._crowd_rows(items), len(waiting), _NONE)
                others = np.zeros(len(rows.items) - len(items), dtype=np.bool_)
                wanted, stays = np.append(wanted, others), np.append(alive, ~others)
            _grow(rows, demand, order[waiting[order] > 0], wanted, stays)
            alive = stays[: len(items)]
            item_of[here] = np.where(alive[point_of], labels, item_of[here])
            if not number:
                # Whoever has doublets of the first level alone is not looked at again.
                apart = np.zeros(traces.height, dtype=np.bool_)
                apart[owners[(item_of < first) | (item_of > last)]] = True
                points = np.flatnonzero(apart[owners])
        return item_of

    def _crowd_rows(self, items: NDArray[np.int32]) -> Rows:
        """Return the people of the population by these doublets."""
        assert self.crowd is not None
        asked, found = np.zeros(len(self.doublets) + 1, dtype=np.bool_), []
        asked[items] = True
        for levels, codes in zip(self.levels, self.codes, strict=True):
            first, last = int(codes.min()), int(codes.max()) + 1
            if asked[first:last].any():
                times = len(self.table.traces.time.levels[levels[1]])
                _, place, _, time = self.doublets[first:last].T
                item = self.crowd.doublets(levels, times, place * times + time)
                found.append(np.where((item >= 0) & asked[item + first], item + first, -1))
        return self.crowd.rows(found, len(self.doublets))

    def annealed(self, choice: TraceChoice) -> TraceChoice:
        """Move points of a choice between all levels, and let those stay that hold together."""
        traces, demand, table = self.table.traces, self.demand, self.table
        points, levels = len(traces.places), len(self.levels)
        codes = np.concatenate([code[table.pair_of] for code in self.codes])
        losses = np.concatenate([table.losses(*at)[table.pair_of] for at in self.levels])
        everything = np.array([0, len(codes)], dtype=np.int64)
        bounds, members, _ = points_by_doublet(everything, codes.astype(np.int32), len(self.doublets))
        words = (hashed(np.arange(1, len(self.doublets) + 1, dtype=np.uint64)) >> np.uint64(1)).astype(np.int64)
        ladder = Ladder(traces.starts, traces.owners, codes, losses, bounds, members % points, words)
        number = {at: level for level, at in enumerate(self.levels)}
        former = [number.get((place, time), levels) for place, time in choice.doublets[:, ::2].tolist()]
        level_of = np.append(np.array(former, dtype=np.int64), levels)[choice.item_of]
        room = sum(comb(int(size), part) for size in traces.sizes for part in range(1, demand.known + 1))
        counts = np.zeros(1 << min(max(4 * room, 16).bit_length(), 24), dtype=np.int32)
        # A move looks at what else the person has, in sets of fewer than L.
        each = sum(int(size) * sum(comb(int(size), part) for part in range(demand.known)) for size in traces.sizes)
        moves = min(_MOVES, 300 * points, _MOVED * points // each)
        schedule = Schedule(moves, _WARMTH[0], _WARMTH[1], 1)
        anneal_traces(ladder, level_of, demand.known, demand.k, schedule, np.array(_CHARGES), counts)
        labels = np.append(codes, np.full(points, -1, dtype=np.int64))[level_of * points + np.arange(points)]
        return self.choice(self.climb(self.holding(labels)))

    def holding(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Take such of these doublets, −1 for none, as hold together, those of most people first."""
        traces, none = self.table.traces, len(self.doublets)
        starts, items, point_of = coarser_rows(traces.starts, np.where(labels < 0, none, labels).astype(np.int32))
        rows = trace_rows(starts, items, none + 1, traces.value_starts, traces.values)
        alive, wanted = np.zeros(len(items), dtype=np.bool_), items < none
        order = np.argsort(-np.bincount(items[wanted], minlength=none), kind="stable")
        _grow(rows, self.demand, order, wanted, alive)
        return np.where(alive[point_of], labels, -1)

    def climb_again(self, item_of: NDArray[np.int64], rounds: int) -> TraceChoice:
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


def _without_violations(grain: Grain, demand: Demand) -> tuple[Flags, bool]:
    """Leave points out of sets of up to L doublets that too few people have; bool (y,), and whether none stays."""
    # Such sets are looked for by size, among the points that are left: of each, one goes. That makes other doublets
    # rarer, so that it begins anew, L times at most.
    rows, stays = grain.rows, np.ones(len(grain.worth), dtype=np.bool_)
    everybody, people_only = np.ones(len(rows.starts) - 1, dtype=np.bool_), demand._replace(width=1)
    # A doublet that too few have goes from everybody; where wishes differ, from some, and is rarer for others.
    have_wishes = bool((demand.needs > demand.k).any())
    for _ in range(demand.known if len(rows.items) <= _HELD else 1):
        found = 0
        for size in range(1, demand.known + 1):
            sets = violating_sets(rows, people_only, stays, everybody, size, _NONE, _MOST_SETS)
            if len(sets):
                stays &= without_sets(rows.starts, sets, size, grain.worth)
            found += len(sets) * (size > 1 or have_wishes)
        if not found:
            return stays, True
    return stays, False


def kept_points(grain: Grain, demand: Demand) -> Flags:
    """Choose the doublets of people that stay, so that every demand holds; bool (y,).

    First each person leaves out points of minimal sets that too few people have. What is left joins doublet by doublet,
    those of most people first, each with as many people as hold together. Then all others may join.
    """
    rows = grain.rows
    wanted, holds = _without_violations(grain, demand)
    stays = wanted if holds and demand.width == 1 else np.zeros(len(wanted), dtype=np.bool_)
    everyone = np.ones(len(wanted), dtype=np.bool_)
    order = np.argsort(-np.bincount(rows.items[wanted], minlength=len(rows.bounds) - 1), kind="stable")
    for candidates in (wanted, everyone):
        _grow(rows, demand, order, candidates, stays)
    return stays


def solve_traces(
    traces: Traces, model: TracePrivacy, allowed: list[Levels], limit: float, progress: Progress
) -> TraceChoice:
    """Choose levels and points with little loss; at most a share `limit` of the people is left without a point.

    Without a demand on values, points left out join at coarser levels.
    """
    if model.c == 1:
        none = np.zeros(0, dtype=np.int32)
        traces = replace(traces, value_starts=np.zeros(traces.height + 1, dtype=np.int64), values=none, value_names=())
    needs = np.full(traces.height, model.k) if traces.wished_k is None else np.maximum(traces.wished_k, model.k)
    demand = Demand(model.k, model.l, model.most(traces.height), len(traces.value_names) + 1, needs)
    table = PointTable.of(traces)
    effort = _STEPS // (int((traces.sizes ** min(model.l, 2)).sum()) + 1)
    is_coarser = model.c == 1 and len(allowed) > 1
    found, least = list[tuple[float, TraceChoice, TraceLadder]](), inf
    may_leave = limit * traces.height + 1e-9
    likely = _tried(table, demand, allowed, is_coarser and effort > 1, may_leave, progress)
    for _, grain, alive in likely[: max(1, min(effort, 6))]:
        usual = grain.place_level, grain.time_level
        items = np.where(alive[grain.point_of], grain.rows.items[grain.point_of], -1).astype(np.int64)
        ladder = TraceLadder.of(table, demand, usual, (_FEW_RUNGS if effort > _FEW_RUNGS else _RUNGS) * is_coarser)
        choice = ladder.choice(ladder.climb(items))
        gone = traces.height - len(choice.people(traces))
        least = min(least, gone if choice.loss < 1 else inf)
        if gone <= may_leave and choice.loss < 1:
            found.append((choice.loss, choice, ladder))
    found.sort(key=lambda one: one[0])
    for number, (_, choice, ladder) in enumerate(found[:2]):
        progress("moving points between levels", number, len(found[:2]))
        if len(ladder.levels) > 1 and len(choice.item_of) <= _MOST_MOVED:
            finest = min(place for place, _ in allowed), min(time for _, time in allowed)
            wide = TraceLadder.of(table, demand, finest, _RUNGS)
            moved = wide.annealed(choice)
            # Each ladder numbers doublets in its own way: a choice is ever read with its own.
            if moved.loss < choice.loss:
                choice, ladder = moved, wide
        progress("keeping more points", number, len(found[:2]))
        better = ladder.climb_again(choice.item_of, min(effort, _ROUNDS))
        if traces.height - len(better.people(traces)) <= may_leave:
            found.append((better.loss, better, ladder))
    best = min(found, key=lambda one: one[0])[1] if found else None
    if best is None:
        raise _unreached(model, least / traces.height)
    return best


def solve_among(
    traces: Traces, model: TracePrivacy, allowed: list[Levels], limit: float, population: Traces
) -> TraceChoice:
    """Choose levels and points so that every combination is that of K people of a population.

    What others publish changes nothing then, so that everybody takes the best of several ways: from some levels on to
    coarser ones. Where values count, all take the same levels, and then what their shares allow.
    """
    needs = np.full(traces.height, model.k)
    values = len(traces.value_names) * (model.c < 1)
    demand = Demand(model.k, model.l, model.most(traces.height), values + 1, needs)
    table = PointTable.of(traces)
    places, times = (
        np.array([numbers_of(of, labels).max(axis=0) for labels in axis.levels])
        for of, axis in ((population.place, traces.place), (population.time, traces.time))
    )
    crowd = Crowd.of(population, places, times)
    finest = min(place for place, _ in allowed), min(time for _, time in allowed)
    most = table.traces.place.node_of.shape[0] * table.traces.time.node_of.shape[0] * (len(allowed) > 1)
    whole = TraceLadder.of(table, demand, finest, most, crowd)
    effort = _STEPS // (int((population.sizes ** min(model.l, 2)).sum() + (traces.sizes ** min(model.l, 2)).sum()) + 1)
    starts = sorted(allowed, key=lambda at: (float((table.losses(*at) * table.counts).sum()), at))
    choices = []
    for start in starts[:: max(1, len(starts) // max(1, min(effort, _FEW_RUNGS)))]:
        kept = [level for level in whole.levels if level[0] >= start[0] and level[1] >= start[1]]
        ladder = whole.only([start] if values else kept)
        items = ladder.climb(np.full(len(traces.places), -1, dtype=np.int64))
        if values:
            free = demand._replace(k=1, needs=np.ones(traces.height, dtype=np.int64))
            items = replace(whole, demand=free, crowd=None).holding(items)
        choices.append(whole.choice(items))
    best = min(choices, key=lambda one: one.loss)
    if not values:
        owned = [np.bincount(traces.owners, weights=one.losses, minlength=traces.height) for one in choices]
        which = np.argmin(owned, axis=0)[traces.owners]
        best = whole.choice(np.array([one.item_of for one in choices])[which, np.arange(len(which))])
    gone = traces.height - len(best.people(traces))
    if gone > limit * traces.height + 1e-9 or best.loss == 1:
        raise _unreached(model, gone / traces.height if best.loss < 1 else inf)
    return best


def _unreached(model: TracePrivacy, gone: float) -> UnsatisfiableError:
    """Say why nothing is published: the least share of people without a point, infinite where nobody keeps one."""
    why = (
        "no level that was tried leaves anything of places and times"
        if gone == inf
        else f"{percent(gone, 3)} of the people would keep no point"
    )
    return UnsatisfiableError(f"{model} is not reached: {why}; raise suppression-limit or C, or lower K or L")


def _tried(
    table: PointTable, demand: Demand, allowed: list[Levels], widely: bool, may_leave: float, progress: Progress
) -> list[tuple[float, Grain, Flags]]:
    """Choose points at levels that may lose least; return losses, grains and points, the lowest loss first."""
    # Losses of choices that leave out more than `may_leave` people count 1 more, so that they come last. Levels are
    # looked at by what they lose at least; those that cannot lose less than the best are left, or, `widely`, not much
    # more. What a coarser grain must leave out, a finer one must, too. The demand on values, which does not grow with
    # levels, is never used to leave out any.
    bounds = {levels: table.least_loss(demand.k, *levels) for levels in allowed}
    total, number = 2 * len(bounds), 0
    found: list[tuple[float, Grain, Flags]] = []
    grains, looked_at, is_large = dict[Levels, Grain](), set[Levels](), len(table.pair_of) > _HELD
    while bounds:
        levels = min(bounds, key=lambda at: (bounds[at], at))
        if found and bounds[levels] >= min(loss for loss, _, _ in found) + (_NEAR if widely else 0.0):
            break
        progress("looking at levels", number, total)
        number += 1
        grain = grains.pop(levels, None) or Grain.of(table, *levels)
        if levels in looked_at:
            del bounds[levels]
            alive = kept_points(grain, demand)
            owners = np.repeat(np.arange(table.traces.height), np.diff(grain.rows.starts))
            gone = table.traces.height - len(np.unique(owners[alive]))
            found.append((grain.loss(alive) + (gone > may_leave), grain, alive))
            found.sort(key=lambda one: (one[0], one[1].place_level, one[1].time_level))
            del found[1 if is_large else len(found) :]
            continue
        if not all(can_count(grain.rows, size, demand.width) for size in range(1, demand.known + 1)):
            del bounds[levels]
            continue
        # Looked at again when nothing else may lose less.
        floor, gone_at_least = _floors(grain, demand)
        bounds[levels] = max(bounds[levels], floor)
        looked_at.add(levels)
        grains = {levels: grain} if is_large else {**grains, levels: grain}
        for finer in bounds:
            if finer != levels and finer[0] <= levels[0] and finer[1] <= levels[1]:
                bounds[finer] = max(bounds[finer], gone_at_least)
    return found


def _floors(grain: Grain, demand: Demand) -> tuple[float, float]:
    """Return, of some people, the loss and the share of points left out that no choice of points is below."""
    rows, people = grain.rows, len(grain.rows.starts) - 1
    asked = np.zeros(people, dtype=np.bool_)
    asked[:: max(1, people // _SAMPLE)] = True
    is_rare = np.diff(rows.bounds)[rows.items] < demand.k
    everything = np.ones(len(rows.items), dtype=np.bool_)
    people_only = demand._replace(width=1)
    pairs = violating_sets(rows, people_only, everything, asked, 2, _NONE, _MOST_SETS) if demand.known > 1 else _NONE
    owners = np.repeat(np.arange(people), np.diff(rows.starts))
    points = np.bincount(grain.point_of, minlength=len(owners)).astype(np.float64)
    whole = np.bincount(owners, weights=points, minlength=people)[asked].sum()
    found = []
    for worth in (grain.worth, points):
        fair = np.where(is_rare, 0.0, worth)
        kept = np.bincount(owners, weights=fair, minlength=people) - fewest_left_out(rows.starts, pairs, 2, fair)
        found.append(float(1 - kept[asked].sum() / whole))
    return found[0], found[1]


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
    other_levels : int
        Points that are published at other levels than these.
    """

    people: int
    people_left_out: int
    points: int
    points_left_out: int
    place_level: int
    time_level: int
    mean: float
    other_levels: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return vars(self).copy()

    def __str__(self) -> str:
        """Return the totals in a line."""
        gone = f"{percent(self.points_left_out / self.points, 3)} of {counted(self.points, 'point')} left out"
        people = f", {counted(self.people_left_out, 'person')} without any" if self.people_left_out else ""
        share = percent(self.other_levels / self.points, 3)
        coarser = f", {share} at other levels than most" if self.other_levels else ""
        return f"information loss {percent(self.mean, 3)}: {gone}{coarser}{people}"


@check_arguments
def anonymize_traces(
    traces: Traces,
    model: TracePolicy | TracePrivacy,
    *,
    suppression_limit: Annotated[float, Limit(0, 1, below=True)] | None = None,
    seed: Seed = None,
    progress: Progress | None = None,
    population: Traces | None = None,
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
    population
        Traces of everybody who might be in `traces`, where the model speaks of a population, read at the same grain;
        None reads the file that the policy names.

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
    Guarantee: that of :class:`sfumato.traces.TracePrivacy`. Where people wished for a K of their own, every combination
    of up to L doublets of theirs fits as many people; that is counted here, and cannot be recounted from the release.
    People without a point are left out, values and all.
    """
    if isinstance(model, TracePolicy):
        policy = model
        if suppression_limit not in (None, policy.suppression_limit):
            raise PolicyError("suppression_limit: the policy says another one than the call; say it in one place")
    else:
        policy = TracePolicy.of(model, traces, 0.05 if suppression_limit is None else suppression_limit)
    wanted = policy.to_model()
    raise_all(PolicyError, _unfitting(traces, policy, wanted))
    everybody = _population(traces, policy, wanted, population)
    if everybody is None and traces.height < wanted.k:
        there = f"there {'is' if traces.height == 1 else 'are'} {counted(traces.height, 'person')}"
        raise UnsatisfiableError(f"{there}, fewer than K = {wanted.k}; lower it")
    told = progress or shown
    ordered, origin = order_traces(traces)
    homes = ordered.home_points()
    if isinstance(model, TracePolicy):
        raise_all(PolicyError, _unanswered(ordered, homes, policy))
    is_dropped = homes if policy.change.homes == "drop" else np.zeros(len(homes), dtype=np.bool_)
    levels, limit = _levels(traces, policy), policy.suppression_limit
    asked = ordered.without(is_dropped)
    if everybody is None:
        choice = solve_traces(asked, wanted, levels, limit, told)
    else:
        choice = solve_among(asked, wanted, levels, limit, everybody)
    choice = choice.beside(is_dropped)
    told("verifying", 1, 1)
    published, people = _published(ordered, choice, seed)
    verification = trace_verification(published, [wanted], everybody)
    wished = None if everybody is not None or ordered.wished_k is None else ordered.wished_k[people]
    if not verification.ok or not (wished is None or wishes_hold(published, wanted.l, wished)):
        raise VerificationError("the traces break their promise; nothing is published. Please report this")
    loss = _loss(traces, choice, len(people))
    notes = (*_notes(traces, choice, _homes_left(ordered, choice, homes)), *_wishes_said(traces, wanted))
    return TraceRelease(published, wanted, verification, loss, origin[people], notes, policy)


def _population(traces: Traces, policy: TracePolicy, model: TracePrivacy, population: Traces | None) -> Traces | None:
    """Return the population that a call hands in or a policy names, where the model speaks of one."""
    if model.among is None:
        if population is not None or policy.population is not None:
            raise PolicyError('population: K people of it are promised by model.among = "population"; say so, too')
        return None
    if population is None and policy.population is None:
        raise PolicyError("population: the model speaks of people of a population; give the traces of them")
    if population is None:
        try:
            population = population_of(policy, policy.population)
        except SfumatoError as error:
            raise population_problems(error) from None
    if wrong := unfitting_population(population, traces.zone, traces.height):
        raise wrong
    return population


def _unanswered(traces: Traces, homes: Flags, policy: TracePolicy) -> Iterator[str]:
    """Ask whether nights at home are to be published, where there are such."""
    people = len(np.unique(traces.owners[homes]))
    if people and policy.change.homes is None:
        yield (
            f"homes: {people:,} of {counted(traces.height, 'person')} are in one place on most nights, which is "
            'likely their home; say "keep", or "drop" to leave out these points'
        )


def _homes_left(traces: Traces, choice: TraceChoice, homes: Flags) -> int:
    """Count the people of whom such a point is published."""
    return len(np.unique(traces.owners[homes & (choice.item_of >= 0)]))


def _wishes_said(traces: Traces, model: TracePrivacy) -> Iterator[str]:
    """Say how many people wished for more than is promised to all."""
    if traces.wished_k is None:
        return
    more = traces.wished_k[traces.wished_k > model.k]
    if len(more):
        yield (
            f"{counted(len(more), 'person')} with a wish for a K above {model.k}, {int(more.max()):,} at most, which "
            "holds; nobody can recount it from the release, which does not say who wished"
        )


def _levels(traces: Traces, policy: TracePolicy) -> list[tuple[int, int]]:
    """Return the pairs of levels that a policy lets be tried."""
    place, time = policy.change.place_level, policy.change.time_level
    places = range(traces.place.height + 1) if place is None else (place,)
    return list(product(places, range(traces.time.height + 1) if time is None else (time,)))


def _loss(traces: Traces, choice: TraceChoice, people: int) -> TraceLoss:
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
        other_levels=int(np.count_nonzero(stays & ~main)),
    )


def _published(traces: Traces, choice: TraceChoice, seed: int | None) -> tuple[PublishedTraces, NDArray[np.int64]]:
    """Write doublets by their labels, people in random order; return the people as well."""
    there = choice.people(traces)
    people = there[permutation(len(there), seed)]
    stays = choice.item_of >= 0
    codes = np.flatnonzero(np.bincount(choice.item_of[stays]))
    place, time = traces.place.levels, traces.time.levels
    # Nodes of several levels may have one label, where they are one.
    label_of = [(place[p][a], time[t][b]) for p, a, t, b in choice.doublets[codes].tolist()]
    labels = sorted(set(label_of))
    number = {label: item for item, label in enumerate(labels)}
    item_of = np.full(len(choice.doublets) + 1, -1, dtype=np.int32)
    item_of[codes] = [number[label] for label in label_of]
    bounds, points = points_of_people(traces.starts, people)
    # Points that are left out have no label, and become none.
    starts, items, _ = coarser_rows(bounds, item_of[choice.item_of[points]])
    published = PublishedTraces(
        starts,
        items,
        tuple(labels),
        traces.is_grid,
        traces.zone,
        traces.sensitive,
        *_values(traces.take(people)),
        {} if traces.is_grid else _broader(traces, int(choice.doublets[codes, 0].min())),
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
    long = int(np.count_nonzero(traces.sizes > _MOST_POINTS))
    if long:
        yield (
            f"{counted(long, 'person')} with more than {_MOST_POINTS:,} points; read them with larger cells or longer "
            "hours, or leave them out"
        )
    if (policy.traces.wished_k is None) != (traces.wished_k is None) and policy.traces.person is not None:
        yield "traces: the policy says another column of wishes than was read; read them with the policy"
    if policy.traces.zone != traces.zone or policy.traces.sensitive != traces.sensitive:
        yield "traces: the policy says another zone or sensitive column than was read; read them with the policy"
    if model.among is not None and traces.wished_k is not None:
        yield "traces.wished-k: is about people who are published; leave it out, or model.among"
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


def _notes(traces: Traces, choice: TraceChoice, homes: int) -> tuple[str, ...]:
    place, time = (axis.levels[level] for axis, level in zip((traces.place, traces.time), choice.levels, strict=True))
    return (
        f"places are of level {choice.levels[0]} of {traces.place.height}: {counted(len(place), 'place')}",
        f"times are of level {choice.levels[1]} of {traces.time.height}: {counted(len(time), 'time')}",
        *([f"{counted(homes, 'person')} with a published point where they are on most nights"] if homes else []),
    )
