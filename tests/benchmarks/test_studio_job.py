"""The studio is measured as a browser asks it."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.census import census

from benchmarks import studio_job


@pytest.mark.slow
def test_a_studio_is_asked_and_a_run_is_cancelled(tmp_path: Path) -> None:
    path, frame = tmp_path / "census.parquet", census(2_000)
    frame.write_parquet(path)
    census(studio_job.CLUSTERED).write_parquet(tmp_path / "larger.parquet")
    figures = [*studio_job._answers(path, frame, 0.05, 1), *studio_job._jobs(tmp_path / "larger.parquet")]
    assert len({figure.what for figure in figures}) == len(figures) == 8
    assert all(figure.value > 0 and figure.at_most and figure.bar == 1 for figure in figures)
