"""No kernel is out of bounds on odd tables, and every loop ends; ``make bounds`` tries a hundred times as many."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["checked", "interpreted"])
def test_kernels_stay_within_bounds_on_odd_tables(way: str) -> None:
    """Interpreted it fails, too, where a kernel did not run."""
    env = {**os.environ, "SFUMATO_KERNELS": way, "PYTHONPATH": str(TESTS)}
    done = subprocess.run([sys.executable, "-m", "bounds", "1000"], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
