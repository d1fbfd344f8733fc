"""What published traces keep, against figures worked out by hand."""

from __future__ import annotations

import polars as pl
import pytest

from sfumato.traces import TracePrivacy, anonymize_traces, read_traces, trace_utility


def released(rows: list[tuple[str, str, int]], k: int):  # type: ignore[no-untyped-def]
    frame = pl.DataFrame(
        [(who, where, f"2026-03-02T{hour:02d}:00") for who, where, hour in rows],
        schema=["who", "where", "when"],
        orient="row",
    )
    traces = read_traces(frame, person="who", place="where", time="when", zone="UTC")
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
