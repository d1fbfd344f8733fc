"""The Adult data: its complete records, and any number of records drawn from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

QUASI_IDENTIFYING = (
    "age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country",
)  # fmt: skip

_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "salary-class",
)  # fmt: skip

_CHANGED = 0.15
"""Share of the cells of drawn records that come from another record."""


def read_adult(path: Path) -> pl.DataFrame:
    """Return the records without a question mark: 30 162 of ``adult.data``, 15 060 of ``adult.test``."""
    frame = pl.read_csv(path, has_header=False, new_columns=_COLUMNS, comment_prefix="|")
    frame = frame.with_columns(pl.col(pl.String).str.strip_chars())
    return frame.filter(~pl.any_horizontal(pl.col(pl.String) == "?"))


def write_drawn(adult: pl.DataFrame, rows: int, path: Path, seed: int = 2026) -> None:
    """Write records drawn with replacement as CSV; some cells of each are exchanged for those of other records."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, adult.height, rows)
    columns = []
    for name in QUASI_IDENTIFYING:
        changed = rng.random(rows) < _CHANGED
        records = np.where(changed, rng.integers(0, adult.height, rows), drawn)
        column = adult[name]
        text = column.dtype == pl.String
        columns.append((column.cast(pl.Enum(column.unique().sort())) if text else column).gather(records))
    part = path.with_name(path.name + ".part")
    pl.DataFrame(columns).write_csv(part)
    part.replace(path)
