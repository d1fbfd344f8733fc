"""What is published stays as it is on file, and is the same whatever the order of the input and the threads.

``python -m golden --write`` writes the file down anew.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from golden.__main__ import on_file
from golden.runs import RUNS, TABLES, Run, kept_of, rows_of

NOT_YET: dict[str, str] = {}
"""Settings whose releases still depend on the order of the input, with the reason."""


LONG = ("KMember", "KACA", "CAAT", "OKA", "KMeans", "SBC", "MDAV", "VMDAV", "UtilityRecoding")
"""Of these the larger table takes up to a minute; every run of the tests has the smaller one."""


def is_long(run: Run) -> bool:
    return run.table == "town" and run.setting.startswith(LONG)


RUNS_BY_LENGTH = [pytest.param(run, marks=pytest.mark.slow if is_long(run) else (), id=run.name) for run in RUNS]


def test_the_file_has_every_run_and_no_other():
    assert set(on_file()) == {run.name for run in RUNS}


@pytest.mark.parametrize("run", RUNS_BY_LENGTH)
def test_published_as_on_file_whatever_the_order_and_the_threads(run: Run):
    frame = TABLES[run.table][0]
    other = moved(frame, 3) if run.table == "town" else chunks_in_another_order(frame)
    one, two = of_run(run, frame, 1), of_run(run, other, 2)
    if isinstance(one, type) or isinstance(two, type):
        assert on_file()[run.name] == {"refused": one.__name__}
        assert one is two
        return
    assert kept_of(one) == on_file()[run.name]
    assert (published(one) == published(two)) == (run.setting not in NOT_YET)


def of_run(run: Run, frame: pl.DataFrame, threads: int) -> sf.Release | type[sf.SfumatoError]:
    """The release, or which error refuses it."""
    try:
        return run.release(frame, threads)
    except sf.SfumatoError as error:
        return type(error)


def published(release: sf.Release) -> dict[str, Counter[str]]:
    """The published rows of every table, whatever their order, and the report."""
    return {name: Counter(rows) for name, rows in rows_of(release).items()} | {"report": Counter([str(release.report)])}


def moved(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    return frame[np.random.default_rng(seed).permutation(frame.height)]


def chunks_in_another_order(frame: pl.DataFrame) -> pl.DataFrame:
    third = frame.height // 3
    return pl.concat([frame[2 * third :], frame[:third], frame[third : 2 * third]], rechunk=False)
