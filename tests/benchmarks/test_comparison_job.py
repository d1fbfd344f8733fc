"""The benchmark of comparisons on a tiny table; nothing here looks at a time."""

from __future__ import annotations

import polars as pl
from benchmarks.adult import QUASI_IDENTIFYING
from benchmarks.comparison_job import compared

FRAME = pl.DataFrame(
    {
        name: [f"{name} {number // (place + 1) % (place + 2)}" for number in range(80)]
        for place, name in enumerate(QUASI_IDENTIFYING)
    }
)


def test_nothing_is_done_twice():
    busy, fresh, written, again = compared(FRAME, ["mondrian", "mdav"], [2, 5, 10, 20])
    assert busy.value > 0
    assert fresh.value > 0
    assert written.text == "8 of 8"
    assert again.value > 0
