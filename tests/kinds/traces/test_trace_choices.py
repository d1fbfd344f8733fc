"""Which points stay: against every choice of points, and against every set that breaks a demand."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from fractions import Fraction
from itertools import product
from statistics import median
from typing import Any

import numpy as np
import polars as pl
import pytest

from naive import traces as naive
from sfumato.errors import UnsatisfiableError
from sfumato.kernels.traces import Demand, count_known, grow_traces, part_keys, violating_sets
from sfumato.kinds.traces.check import trace_rows
from sfumato.kinds.traces.make import PointTable
from sfumato.traces import TraceGrain, TracePrivacy, Traces, anonymize_traces, read_traces


def minimal_sets(rows: Any, demand: Demand) -> list[Any]:
    """List the points of people whose doublets break a demand, of which no part does: a table for each size."""
    everything, everybody = np.ones(len(rows.items), dtype=np.bool_), np.ones(len(rows.starts) - 1, dtype=np.bool_)
    smaller, found = np.zeros(0, dtype=np.int64), list[np.ndarray]()
    for size in range(1, demand.known + 1):
        sets = violating_sets(rows, demand, everything, everybody, size, smaller, 60_000_000)
        found.append(sets.reshape(-1, size))
        smaller = np.sort(np.append(smaller, part_keys(sets, size))) if size < demand.known else smaller
    return found


def numbered(traces: Sequence[naive.Trace], values: Sequence[naive.Values]):  # type: ignore[no-untyped-def]
    sizes = [len(trace) for trace in traces]
    starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
    items = np.array([item for trace in traces for item in sorted(trace)], dtype=np.int32)
    value_starts = np.append(0, np.cumsum([len(held) for held in values])).astype(np.int64)
    codes = np.array([value for held in values for value in sorted(held)], dtype=np.int32)
    return trace_rows(starts, items, 6, value_starts, codes)


def needs_of(traces: Sequence[naive.Trace], k: int):  # type: ignore[no-untyped-def]
    return np.full(len(traces), k)


def drawn(draw: random.Random) -> tuple[list[naive.Trace], list[naive.Values]]:
    people = draw.randrange(2, 9)
    traces = [frozenset(draw.sample(range(6), draw.randrange(1, 5))) for _ in range(people)]
    return traces, [frozenset(draw.sample(range(3), draw.randrange(3))) for _ in range(people)]


@pytest.mark.parametrize("block", range(10))
def test_whatever_stays_holds_every_demand(block: int) -> None:
    for seed in range(100):
        draw = random.Random(1000 * block + seed)
        traces, values = drawn(draw)
        k, known, share = draw.choice((1, 2, 3)), draw.choice((1, 2, 3, 4)), draw.choice((1.0, 0.5, 0.75))
        rows = numbered(traces, values)
        demand = Demand(k, known, TracePrivacy(k, known, share).most(len(traces)), 4, needs_of(traces, k))
        alive = np.zeros(len(rows.items), dtype=np.bool_)
        everyone = np.ones(len(alive), dtype=np.bool_)
        while grow_traces(rows, demand, np.array(draw.sample(range(6), 6)), everyone, alive):
            pass
        kept = [
            frozenset(rows.items[low:high][alive[low:high]].tolist())
            for low, high in zip(rows.starts[:-1], rows.starts[1:], strict=True)
        ]
        assert naive.is_private(kept, values, k, known, Fraction(share))
        if share == 1.0:
            # No single point could have stayed as well.
            for person, trace in enumerate(traces):
                for item in trace - kept[person]:
                    more = [held | {item} if number == person else held for number, held in enumerate(kept)]
                    assert not naive.is_private(more, values, k, known)


@pytest.mark.parametrize("known", [1, 2, 3, 4])
def test_the_minimal_violations_are_those_of_looking_at_every_set(known: int) -> None:
    """Each of them is listed once for everybody who has it; without a demand on values, and with one."""
    several = 0
    for seed in range(60):
        draw = random.Random(1000 * known + seed)
        traces, values = drawn(draw)
        k, share = 2 + seed % 4 // 2, (1.0, 0.5, 0.75)[seed % 3]
        if seed % 2:
            # One person has L doublets, of which enough have all but one, whichever.
            whole = frozenset(range(known))
            traces += [whole, *(whole - {item} for item in range(known) for _ in range(k) if known > 1)]
            values += [frozenset(draw.sample(range(3), 1)) for _ in traces[len(values) :]]
        rows = numbered(traces, values)
        demand = Demand(k, known, TracePrivacy(k, known, share).most(len(traces)), 4, needs_of(traces, k))
        owner = np.repeat(np.arange(len(traces)), np.diff(rows.starts))
        sets = [points for of_size in minimal_sets(rows, demand) for points in of_size]
        assert all(len({*owner[points]}) == 1 for points in sets)
        found = [(owner[points[0]], frozenset(rows.items[points].tolist())) for points in sets]
        minimal = naive.minimal_violations(traces, values, k, known, Fraction(share))
        assert sorted(found, key=repr) == sorted(
            ((person, one) for one in minimal for person, trace in enumerate(traces) if one <= trace), key=repr
        )
        several += any(len(one) == known for one in minimal)
    assert several > 9


def test_no_combination_is_counted_twice_or_left() -> None:
    traces, values = drawn(random.Random(4))
    rows = numbered(traces, values)
    demand = Demand(2, 4, TracePrivacy(2, 4).most(len(traces)), 4, needs_of(traces, 2))
    known = naive.known_sets(traces, 4)
    counted = [count_known(rows, size, demand)[0] for size in range(1, 5)]
    assert counted == [sum(len(each) == size for each in known) for size in range(1, 5)]


def tiny(draw: random.Random, most: int) -> Traces:
    people, points = (4, 2) if most < 3 else (3, 3)
    rows = [
        (person, place, f"2026-03-02T{hour:02d}:00")
        for person in range(people)
        for place, hour in {(draw.choice("abb"), draw.choice((0, 0, 12))) for _ in range(points)}
    ]
    frame = pl.DataFrame(rows, schema=["who", "where", "when"], orient="row")
    return read_traces(frame, person="who", place="where", time="when", zone="UTC", grain=TraceGrain(hours=12))


def lowest_loss(traces: Traces, k: int, known: int) -> float:
    """Try every choice of a level, or none, for each point on its own."""
    table = PointTable.of(traces)
    levels = list(table.all_levels())
    nodes = [[(at, node) for node in table.nodes(*at)[table.pair_of].tolist()] for at in levels]
    losses = [table.losses(*at)[table.pair_of].tolist() for at in levels]
    owners, best = traces.owners.tolist(), 1.0
    for world in product(range(len(levels) + 1), repeat=len(owners)):
        loss = sum(1.0 if at == len(levels) else losses[at][point] for point, at in enumerate(world)) / len(owners)
        if loss >= best - 1e-12:
            continue
        held = [set[Hashable]() for _ in range(traces.height)]
        for point, at in enumerate(world):
            if at < len(levels):
                held[owners[point]].add(nodes[at][point])
        if naive.is_private([frozenset(trace) for trace in held], [frozenset()] * len(held), k, known):
            best = loss
    return best


def test_little_more_is_lost_than_must_be() -> None:
    """Levels are free for each point, also in what the loss is compared with."""
    ratios = []
    for seed in range(36):
        known = 1 + seed % 3
        traces = tiny(random.Random(seed), known)
        try:
            release = anonymize_traces(traces, TracePrivacy(2, known), suppression_limit=0.9, seed=1)
        except UnsatisfiableError:
            continue
        best = lowest_loss(traces, 2, known)
        ratios.append(release.loss.mean / best if best else 1.0 + release.loss.mean)
    assert len(ratios) > 24
    assert median(ratios) <= 1.1
    assert min(ratios) >= 1.0
