"""What is published stays as it is on file; ``python -m golden --write`` writes it down anew."""

from __future__ import annotations

import pytest

from golden.__main__ import on_file
from golden.runs import RUNS, Run, outcome


def test_the_file_has_every_run_and_no_other():
    assert set(on_file()) == {run.name for run in RUNS}


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_published_as_on_file(run: Run):
    wanted = on_file()[run.name]
    assert [outcome(run, threads) for threads in (1, 2)] == [wanted, wanted]
