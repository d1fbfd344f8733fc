"""No kernel is out of bounds on odd tables, and every loop ends; ``make bounds`` tries a hundred times as many."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bounds.guarded import kernels

TESTS = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["checked", "interpreted"])
def test_kernels_stay_within_bounds_on_odd_tables(way: str) -> None:
    """Interpreted it fails, too, where a kernel did not run."""
    env = {**os.environ, "SFUMATO_KERNELS": way, "PYTHONPATH": str(TESTS)}
    done = subprocess.run([sys.executable, "-m", "bounds", "1000"], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_kernels_say_why_their_loops_end() -> None:
    silent = []
    for name, kernel in kernels().items():
        (function,) = ast.parse(inspect.cleandoc(inspect.getsource(kernel.function))).body
        assert isinstance(function, ast.FunctionDef)
        if any(isinstance(node, ast.While) for node in ast.walk(function)):
            silent += [] if "Ends: " in (ast.get_docstring(function) or "") else [name]
    assert not silent
