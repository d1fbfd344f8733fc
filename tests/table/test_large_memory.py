"""Sizes of memory: how they are written, and what a file would take."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.table.large.memory import LEAST, estimated_need, free_memory, memory_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4GB", 4 * 10**9),
        (" 1.5 gb ", 1_500_000_000),
        ("2GiB", 2 << 30),
        ("512MiB", 512 << 20),
        ("300000000", 3 * 10**8),
    ],
)
def test_sizes(text: str, size: int):
    assert memory_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "4 apples", "-4GB", "1e9", "4GBs", "nan"])
def test_what_is_no_size(text: str):
    with pytest.raises(sf.PolicyError, match="must be a size such as 4GB"):
        memory_size(text)


def test_less_than_any_run_takes():
    with pytest.raises(sf.PolicyError, match="at least 256MiB"):
        memory_size("100MB")


def test_estimates_grow_with_the_table_however_well_it_is_packed(tmp_path: Path):
    for rows in (1_000, 2_000):
        frame = pl.DataFrame({"a": [1] * rows, "b": ["same"] * rows})
        frame.write_parquet(tmp_path / f"{rows}.parquet")
        frame.write_csv(tmp_path / f"{rows}.csv")
    for ending in ("parquet", "csv"):
        one, two = (estimated_need([tmp_path / f"{rows}.{ending}"]) - LEAST for rows in (1_000, 2_000))
        assert 0 < one < two
    assert estimated_need([tmp_path / "2000.parquet"]) - LEAST == 2 * (
        estimated_need([tmp_path / "1000.parquet"]) - LEAST
    )


def test_free_memory_is_some():
    free = free_memory()
    assert free is None or free > 0
