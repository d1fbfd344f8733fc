"""No kernel is out of bounds on odd tables, and every loop ends; ``make bounds`` tries a hundred times as many."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeGuard

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


@pytest.mark.parametrize(
    "body",
    [
        "for one in out:\n  out[n, 0] = one\n  n += 1",
        "for one in out:\n  out[n] = one\n  n = n + 1",
        "for one in out:\n  out[ends[one]] = one\n  ends[one] += 1",
        "place = ends[0]\n ends[0] += 1\n out[place] = 1",
        "out[n] = 1\n return n + 1",
    ],
)
def test_what_appends_is_known(body: str) -> None:
    assert _appends(_parsed(f"def f(out, ends, n):\n {body}"))


@pytest.mark.parametrize(
    "body",
    [
        "for one in range(n):\n  out[one] += 1\n  n += 1",
        "for one in range(n):\n  ends[out[one]] += 1",
        "for one in range(n):\n  out[one] = one\n  n = max(n, out[one + 1])",
        "out[n] = 1\n return n - 1",
    ],
)
def test_what_sums_does_not_append(body: str) -> None:
    assert not _appends(_parsed(f"def f(out, ends, n):\n {body}"))


def _parsed(source: str) -> ast.FunctionDef:
    (function,) = ast.parse(textwrap.dedent(source)).body
    assert isinstance(function, ast.FunctionDef)
    return function


def _appends(function: ast.FunctionDef) -> bool:
    """Tell whether a function writes at a place that it counts up itself: a name, or an entry of an array."""
    nodes = list(ast.walk(function))
    rising = {
        ast.unparse(node.target) for node in nodes if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add)
    }
    rising |= {name for node in nodes if isinstance(node, ast.Assign) for name in _counted(node, rising)}
    results = [node.value for node in nodes if isinstance(node, ast.Return)]
    rising |= {ast.unparse(each.left) for each in results if _is_sum_of_name(each)}
    stores = [node for node in nodes if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)]
    return any(ast.unparse(part) in rising for store in stores for part in _places(store.slice))


def _counted(node: ast.Assign, rising: set[str]) -> Iterator[str]:
    """Yield names that become themselves and more, or an entry that is counted up."""
    for target in node.targets:
        pairs = [(target, node.value)]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = list(zip(target.elts, node.value.elts, strict=True))
        for name, value in pairs:
            if isinstance(name, ast.Name):
                is_entry = isinstance(value, ast.Subscript) and ast.unparse(value) in rising
                if is_entry or _is_sum_of_name(value, name.id):
                    yield name.id


def _is_sum_of_name(node: Any, name: str = "") -> TypeGuard[ast.BinOp]:
    is_sum = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and isinstance(node.left, ast.Name)
    return is_sum and name in ("", node.left.id)


def _places(index: ast.AST) -> Iterator[ast.AST]:
    """Yield what is in an index, but not what is in an index inside it: there it is read."""
    yield index
    if not isinstance(index, ast.Subscript):
        for part in ast.iter_child_nodes(index):
            yield from _places(part)
