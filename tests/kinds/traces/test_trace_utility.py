"""What published traces keep, against figures worked out by hand."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import polars as pl
import pytest

from sfumato.hierarchy import HierarchyTable
from sfumato.traces import TracePrivacy, anonymize_traces, read_traces, trace_utility


def released(rows: list[tuple[str, str, int]], k: int, tree: HierarchyTable | None = None):  # type: ignore[no-untyped-def]
    frame = pl.DataFrame(
        [(who, where, f"2026-03-02T{hour:02d}:00") for who, where, hour in rows],
        schema=["who", "where", "when"],
        orient="row",
    )
    traces = read_traces(frame, person="who", place="where", time="when", zone="UTC", hierarchy=tree)
    return traces, anonymize_traces(traces, TracePrivacy(k, 2), suppression_limit=0.5, seed=1)


def test_what_is_published_whole_is_kept_whole() -> None:
    rows = [(who, where, hour) for who in "abc" for where, hour in (("x", 8), ("y", 9))]
    found = trace_utility(*released(rows, 3), seed=1)
    assert found.to_dict() == {
        "people": 1, "points": 1, "places": 0, "hours": 0, "flows": 0, "lengths": 0, "sequences": 1,
        "counting": 0,
    }  # fmt: skip


def test_figures_of_points_that_were_left_out() -> None:
    rows = [(who, where, hour) for who in "abc" for where, hour in (("x", 8), ("y", 9))] + [("a", "z", 10)]
    traces, release = released(rows, 3)
    found = trace_utility(traces, release, seed=1)
    assert (release.loss.place_level, release.loss.time_level) == (0, 0)
    assert found.points == pytest.approx(6 / 7)
    # Places: 3/7, 3/7, 1/7 before; 1/2, 1/2 after. Flows: x to y three times, y to z once. Lengths: 3, 2, 2.
    assert found.places == found.hours == pytest.approx(1 / 7)
    assert found.flows == pytest.approx(1 / 4)
    assert found.lengths == pytest.approx(1 / 3)
    # Of the two sequences before, x then y and y then z (and x then z), one is left.
    assert found.sequences == pytest.approx(1 / 3)


def test_points_of_coarser_levels_count_for_all_below_alike() -> None:
    """Against sums by hand: p0 to p3 are places in two districts, hours of one day."""
    found = 0
    for seed in range(30):
        draw = random.Random(seed)
        rows = [(f"w{who}", f"p{draw.randrange(4)}", draw.randrange(6, 9)) for who in range(12) for _ in range(3)]
        traces, release = released(rows, 3, HierarchyTable(tuple((f"p{at}", f"d{at // 2}", "*") for at in range(4))))
        held = release.tables["traces"]
        if release.loss.place_level or release.loss.time_level or held["place"].str.starts_with("p").all():
            continue
        found += 1
        before = Counter[str]()
        for _, place, _ in {*rows}:
            before[place] += Fraction(1, len({*rows}))
        after, occurring = Counter[str](), {place for _, place, _ in rows}
        for place in held["place"]:
            below = {"d0": {"p0", "p1"}, "d1": {"p2", "p3"}, "*": occurring}.get(place, {place}) & occurring
            for one in below:
                after[one] += Fraction(1, len(held) * len(below))
        distance = sum(abs(before[place] - after[place]) for place in occurring) / 2
        assert trace_utility(traces, release, seed=1).places == pytest.approx(float(distance))
    assert found > 5
