"""How long the review of a large file takes, beside reading it.

python -m benchmarks.review_job [RECORDS]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

import sfumato as sf

COLUMNS = 20


def people(records: int) -> pl.DataFrame:
    """Draw people: numbers, codes, dates, labels, keys and places, each four times."""
    draw = np.random.default_rng(7)
    days = np.datetime64("1940-01-01") + draw.integers(0, 25_000, records)
    kinds = {
        "age": lambda: draw.integers(18, 95, records),
        "income": lambda: np.round(draw.lognormal(10, 1, records), 2),
        "born": lambda: days,
        "job": lambda: np.array([f"occupation {i}" for i in range(300)])[draw.integers(0, 300, records)],
        "zip": lambda: np.char.zfill(draw.integers(1000, 99_999, records).astype(str), 5),
    }
    return pl.DataFrame({f"{name}{i}": make() for i in range(COLUMNS // len(kinds)) for name, make in kinds.items()})


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return seconds, and seconds of the processors."""
    begin, busy = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - begin, time.process_time() - busy


def main(records: int = 1_000_000) -> None:
    """Print what reading and reviewing take, and their ratio."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        frame = people(records)
        frame.write_csv(path)
        zips = [name for name in frame.columns if name.startswith("zip")]
        columns = {name: sf.Attribute(kind="categorical") if name in zips else None for name in frame.columns}
        schema = sf.Schema(quasi_identifying=columns)
        sf.review(frame.head(1000))
        read = timed(lambda: sf.read_table(path, schema))
        review = timed(lambda: sf.review(path))
        for what, (wall, busy) in (("reading", read), ("review", review)):
            print(f"{what} {records:,} × {COLUMNS}: {wall:.1f} s, {busy:.1f} CPU s")
        print(f"ratio {review[0] / read[0]:.2f}, of CPU {review[1] / read[1]:.2f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
