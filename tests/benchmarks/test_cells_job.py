"""The benchmark of cell suppression on a tiny table; nothing here looks at a time."""

from __future__ import annotations

import polars as pl
from benchmarks.cells_job import COUNTINGS, KEYS, compare


def test_the_stricter_the_counting_the_more_cells():
    frame = pl.DataFrame({name: [str(row // place % 4) for row in range(60)] for place, name in enumerate(KEYS, 3)})
    cells = [figure.value for figure in compare(frame, repeats=1) if figure.what.startswith("cells")]
    assert len(cells) == len(COUNTINGS)
    assert 0 < cells[1] <= cells[0]
