"""No kernel is out of bounds on odd tables, and every loop ends; ``make bounds`` tries a hundred times as many."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
import textwrap
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


def test_kernels_say_why_their_loops_end_and_what_they_append_has_room() -> None:
    silent = []
    for name, kernel in kernels().items():
        function = _parsed(inspect.getsource(kernel.function))
        why = ast.get_docstring(function) or ""
        if any(isinstance(node, ast.While) for node in ast.walk(function)) and "Ends: " not in why:
            silent.append(f"{name} ends")
        if _appends(function) and "Capacity: " not in why:
            silent.append(f"{name} has room")
    assert not silent


def test_what_appends_is_told_from_what_sums() -> None:
    assert _appends(_parsed("def f(out, n):\n    for one in out:\n        out[n, 0] = one\n        n += 1"))
    assert not _appends(_parsed("def f(out, n):\n    for one in range(n):\n        out[one] += 1\n        n += 1"))


def _parsed(source: str) -> ast.FunctionDef:
    (function,) = ast.parse(textwrap.dedent(source)).body
    assert isinstance(function, ast.FunctionDef)
    return function


def _appends(function: ast.FunctionDef) -> bool:
    """Tell whether a function writes at a place that it counts up itself."""
    nodes = list(ast.walk(function))
    rising = {
        node.target.id
        for node in nodes
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name)
    }
    places = [node.slice for node in nodes if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)]
    return any(isinstance(name, ast.Name) and name.id in rising for place in places for name in ast.walk(place))
