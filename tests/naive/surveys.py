"""Made-up surveys for hypothesis, as ratings and as plain lists."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from hypothesis import strategies as st

import sfumato as sf
from naive.ratings import Record, Row

SCALES = [sf.Scale(1, 5), sf.Scale(0.5, 5, 0.5), sf.Scale(-10, 10), sf.Scale(-10, 10, 0.05)]


@st.composite
def surveys(draw: st.DrawFn, scales: Sequence[sf.Scale] = SCALES) -> tuple[sf.Ratings, list[Record]]:
    """Few distinct ratings and few sets of rated issues, so that there are neighbours of every kind."""
    scale = draw(st.sampled_from(scales))
    used = draw(st.lists(st.integers(0, scale.size - 1), min_size=1, max_size=4))
    width, hidden = draw(st.integers(1, 4)), draw(st.integers(0, 2))
    masks = draw(st.lists(st.lists(st.booleans(), min_size=width, max_size=width), min_size=1, max_size=3))
    values = scale.values()

    def row(cells: list[bool]) -> list[float | None]:
        return [float(values[draw(st.sampled_from(used))]) if cell else None for cell in cells]

    records: list[Record] = []
    for _ in range(draw(st.integers(1, 25))):
        records.append((row(draw(st.sampled_from(masks))), row([draw(st.integers(0, 3)) > 0 for _ in range(hidden)])))
    names = [f"{'o' if place < width else 's'}{place}" for place in range(width + hidden)]
    columns = list(zip(*(shown + secret for shown, secret in records), strict=True))
    frame = pl.DataFrame(
        {name: pl.Series(column, dtype=pl.Float64) for name, column in zip(names, columns, strict=True)}
    )
    ratings = sf.read_ratings(frame, form="wide", scale=scale, sensitive=["s*"] if hidden else [])
    return ratings, records


def records_of(ratings: sf.Ratings) -> list[Record]:
    """Ratings as plain lists, issues in the order of their names."""
    names = sorted(ratings.names)
    hidden = dict(zip(ratings.names, ratings.sensitive.tolist(), strict=True))
    given: list[dict[str, float]] = [{} for _ in range(ratings.height)]
    for record, issue, rating in ratings.to_frame().select("record", "issue", "rating").rows():
        given[record - 1][issue] = rating

    def row(cells: dict[str, float], wanted: bool) -> Row:
        return [cells.get(name) for name in names if hidden[name] == wanted]

    return [(row(cells, False), row(cells, True)) for cells in given]
