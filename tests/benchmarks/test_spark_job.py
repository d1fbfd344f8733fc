"""The benchmark of the Spark engine on a small census; nothing here looks at a time."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.census import QUASI_IDENTIFYING
from benchmarks.spark_job import compare, write_rising


@pytest.mark.slow
def test_both_engines_publish_the_same(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    pytest.importorskip("pysail")
    path = tmp_path / "census.parquet"
    write_rising(2000, path)
    ratio, tables = compare(path, QUASI_IDENTIFYING, repeats=1)
    assert ratio.value > 0
    assert tables.value == 1
