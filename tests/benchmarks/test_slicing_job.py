"""The slicing benchmark on a tiny table; nothing here looks at a time."""

from __future__ import annotations

import polars as pl
from benchmarks.slicing_job import PROTECTIONS, QUASI, SENSITIVE, drawn, measure

FRAME = pl.DataFrame(
    {
        name: [f"{name} {number // (place + 1) % (place + 2)}" for number in range(120)]
        for place, name in enumerate(QUASI)
    }
).with_columns(pl.Series(SENSITIVE, [f"job {number % 10}" for number in range(120)]))


def test_both_checks_are_timed_and_grown():
    figures = list(measure(FRAME, (100, 200), 1))
    assert len(figures) == 2 * len(PROTECTIONS)
    assert all(figure.value > 0 for figure in figures)
    assert "buckets" in figures[0].detail


def test_drawn_records_are_records():
    more = drawn(FRAME, 300)
    assert more.height == 300
    assert more.join(FRAME, on=FRAME.columns, how="anti").is_empty()
