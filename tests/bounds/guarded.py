"""Kernels that refuse an index below zero where none is meant, and count that they ran.

Python and numpy take an index below zero from the end, compiled code with bounds checked does so, too: the third way
to be out of bounds is seen by neither. Here every kernel is written anew: each index and each end of a slice that is
no constant passes a check first. ``values[-1]`` is meant, ``values[place]`` with ``place == -1`` is not.
"""

from __future__ import annotations

import ast
import inspect
import sys
from importlib import import_module
from pkgutil import walk_packages
from types import CodeType, FunctionType
from typing import Any

import numpy as np

import sfumato.kernels
from sfumato.kernels import jit

LOWERED = {
    "sfumato.anonymizers.mondrian": {"_FEWEST_RECORDS": 8, "_FEWEST_CLASSES": 2, "_CLASSES_MEANT": 2, "_APART_TASK": 8},
    "sfumato.kinds.ratings.make": {"_BLOCK": 8},
    "sfumato.evaluation.attacks.minimality": {"_SETTLING": 3, "_SWEEPS": 2},
    "sfumato.kernels.expected_loss": {"MOST": 8, "RUNS": 4, "BITMAP_CODES": 12, "PLANES": 1},
    "sfumato.kernels.mondrian.mondrian": {"SAMPLE": 16},
    "sfumato.kernels.point_tree": {"LEAF": 2},
    "sfumato.kernels.ratings.proximate": {"LEAF": 2},
    "sfumato.kernels.series.meeting": {"AT_ONCE": 8},
    "sfumato.published.checks.slice_layout": {"_RARE": 2},
}
"""Sizes from which on other kernels run, and what they are lowered to, by the module that defines them."""

LIMITS = {"sfumato.anonymizers.cell_suppression": {"_WORK_PER_RECORD": 300, "MOST_NODES": 1000}}
"""What searches may spend, much less than usual for every table: they end earlier, in the same kernels."""

_USUAL: dict[tuple[str, str], int] = {}

WHOLE = " on whole arrays"
"""Behind the name of a kernel that has another form where it is interpreted."""

_WRITTEN: dict[str, dict[str, FunctionType]] = {}

RAN: set[str] = set()
"""Names of the kernels that ran so far."""


class BelowZero(IndexError):
    """An index that is below zero though none is meant."""


def kernels() -> dict[str, jit.Kernel]:
    """Return every kernel of the program by its full name."""
    found = {}
    for module in walk_packages(sfumato.kernels.__path__, "sfumato.kernels."):
        for value in vars(import_module(module.name)).values():
            if isinstance(value, jit.Kernel):
                found[name_of(value)] = value
    return found


def name_of(kernel: jit.Kernel) -> str:
    return f"{kernel.__module__}.{kernel.__qualname__}"


def guard(*, whole: bool = False) -> None:
    """Write all kernels of this process anew; it must run them interpreted. whole : as forms on whole arrays."""
    jit._namespaces.clear()
    for name, kernel in kernels().items():
        if name not in _WRITTEN:
            forms = {name: guarded(kernel.function, name)}
            if kernel.python is not kernel.function:
                forms[name + WHOLE] = guarded(kernel.python, name + WHOLE)
            _WRITTEN[name] = forms
            # The names of a module are those that its kernels see, and theirs of each other.
            kernel.function.__globals__.update(_guarded_index=_guarded_index, _guarded_ran=RAN.add)
        forms = _WRITTEN[name]
        kernel.python = forms.get(name + WHOLE, forms[name]) if whole else forms[name]
        vars(kernel).pop("plain", None)


def names() -> set[str]:
    """Return the names of all kernels, and of their forms on whole arrays, once they are guarded."""
    return {name for forms in _WRITTEN.values() for name in forms}


def lower(is_low: bool) -> None:
    """Lower sizes from which on other kernels run, in all modules of their package, or set them back."""
    for origin, values in LOWERED.items():
        import_module(origin)
        package = origin.rpartition(".")[0]
        for name, low in values.items():
            usual = _USUAL.setdefault((origin, name), getattr(sys.modules[origin], name))
            for module in [each for key, each in sys.modules.items() if key.rpartition(".")[0] == package]:
                if vars(module).get(name) in (usual, low):
                    setattr(module, name, low if is_low else usual)
                    # Interpreted kernels see names as they were when the first one ran.
                    jit._namespaces.get(module.__name__, {})[name] = getattr(module, name)


def limit() -> None:
    """Let searches spend less."""
    for module, values in LIMITS.items():
        vars(import_module(module)).update(values)


def guarded(function: Any, name: str) -> FunctionType:
    """Return a function with every index checked."""
    lines, first = inspect.getsourcelines(function)
    tree = ast.parse("".join(lines))
    ast.increment_lineno(tree, first - 1)
    (definition,) = tree.body
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list = []
    definition.returns = None
    for argument in definition.args.args:
        argument.annotation = None
    _Checks().visit(definition)
    definition.body.insert(0, ast.parse(f"_guarded_ran({name!r})").body[0])
    code = compile(ast.fix_missing_locations(tree), inspect.getfile(function), "exec")
    (own,) = (part for part in code.co_consts if isinstance(part, CodeType))
    return FunctionType(own, function.__globals__, function.__name__, function.__defaults__)


class _Checks(ast.NodeTransformer):
    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        self.generic_visit(node)
        index = node.slice
        if isinstance(index, ast.Tuple):
            index.elts = [self._checked(part) for part in index.elts]
        else:
            node.slice = self._checked(index)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        if node.value:
            node.value = self.visit(node.value)
        return node

    def _checked(self, index: ast.expr) -> ast.expr:
        if isinstance(index, ast.Slice):
            index.lower, index.upper = (part and self._checked(part) for part in (index.lower, index.upper))
            return index
        if isinstance(index, ast.Constant) or (
            isinstance(index, ast.UnaryOp) and isinstance(index.operand, ast.Constant)
        ):
            return index
        return ast.copy_location(ast.Call(ast.Name("_guarded_index", ast.Load()), [index], []), index)


def _guarded_index(index: Any) -> Any:
    if isinstance(index, np.ndarray):
        if index.dtype.kind == "i" and (index < 0).any():
            raise BelowZero("an array of indexes holds one below zero")
    elif isinstance(index, slice):
        for end in (index.start, index.stop):
            _guarded_index(end)
    elif isinstance(index, list):
        _guarded_index(np.array(index))
    elif index is not None and index < 0:
        raise BelowZero(f"index {index} below zero")
    return index
