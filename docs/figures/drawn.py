"""What scripts that measure with several seeds share: Adult's records, drawn, and what a release keeps."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl
from beliefs import COLUMNS, USED

import sfumato as sf
from sfumato import Release
from sfumato.table.table import Table

Figures = Mapping[str, float]
Line = tuple[str, Callable[[int], Figures]]
"""What is measured, and its figures with a seed; shares between 0 and 1, counts above."""

QUERIES = 1000
NUMBERS = ("age", "fnlwgt", "hours-per-week")


def complete(columns: Sequence[str]) -> pl.DataFrame:
    """Read both of Adult's files; records without a missing value in these columns."""
    folder = Path(os.environ["SFUMATO_DATA"]) / "adult"
    frame = pl.concat(
        pl.read_csv(folder / name, has_header=False, new_columns=COLUMNS, skip_lines=first, infer_schema=False)
        for name, first in (("adult.data", 0), ("adult.test", 1))
    )
    known = frame.select(pl.col(columns).str.strip_chars()).filter(pl.all_horizontal(pl.all() != "?"))
    return known.with_columns(pl.col(name).cast(pl.Int64) for name in columns if name in NUMBERS)


def parted(frame: pl.DataFrame, sensitive: Sequence[str], records: int, seed: int) -> tuple[Table, Table]:
    """Draw records to publish, and as many others, or all that are left, who are not in the data."""
    shuffled = frame.sample(fraction=1.0, seed=seed, shuffle=True)
    quasi = [name for name in frame.columns if name not in sensitive]
    schema = sf.Schema(quasi_identifying=quasi, sensitive=list(sensitive))
    return sf.read_table(shuffled[:records], schema), sf.read_table(shuffled[records : 2 * records], schema)


def adult(sensitive: str, records: int, seed: int) -> tuple[Table, Table]:
    """Draw records of a sensitive attribute and the others that are used: seven, or eight beside one that is not."""
    return parted(complete(tuple(dict.fromkeys((*USED, sensitive)))), [sensitive], records, seed)


def counts_off(release: Release, table: Table, seed: int) -> float:
    """Return the median relative error of random counts."""
    return kept(release, table, seed)["counts off"]


def kept(release: Release, table: Table, seed: int) -> Figures:
    """Return the median relative error of random counts, and the associations (φ²) that are left."""
    workload = sf.queries.query_workload(table, QUERIES, seed=seed)
    found = sf.measure_utility(release, table, workload=workload, classifiers=(), seed=seed)
    return {"counts off": found.queries["count"].median, "associations": found.correlations.kept}
