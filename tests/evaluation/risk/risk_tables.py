"""Small tables for the tests of risk measures, as rows and as frames."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from hypothesis import strategies as st

Row = tuple[str | None, ...]


def tables(most: int = 14) -> st.SearchStrategy[list[Row]]:
    """Rows of 1 to 5 columns with few values, among them missing ones and stars."""
    cell = st.sampled_from(["a", "b", "c", "*", None])
    return st.integers(1, 5).flatmap(lambda width: st.lists(st.tuples(*[cell] * width), min_size=1, max_size=most))


def names(rows: Sequence[Row]) -> list[str]:
    return [f"c{place}" for place in range(len(rows[0]))]


def frame_of(rows: Sequence[Row]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=dict.fromkeys(names(rows), pl.String), orient="row")
