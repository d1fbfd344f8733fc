"""What divides by zero divides alike, compiled or not: numpy's numbers give inf or nan, Python's would raise."""

import ast
from pathlib import Path

import numpy as np
import pytest

from sfumato.kernels import jit
from sfumato.kernels.predicates import PROBABILISTIC, RuleArrays
from sfumato.kernels.slices.groups import SlicingArrays
from sfumato.kernels.slices.search import vector_holds

KERNELS = Path(jit.__file__).parent
MAKERS = {"kernel", "linear", "sized", "inlined", "borrowing"}
RAISING = {"log", "log2", "sqrt"}  # of math
PROOFS = ("# never ", "# of numpy")
"""Comments that say why a divisor is not 0, why `math` may have its argument, or why the number is one of numpy."""


def kernels():
    for path in sorted(KERNELS.rglob("*.py")):
        lines = path.read_text().splitlines()
        for node in ast.walk(ast.parse("\n".join(lines))):
            if isinstance(node, ast.FunctionDef) and any(name_of(maker) in MAKERS for maker in node.decorator_list):
                yield path.relative_to(KERNELS), lines, node


def name_of(maker):
    maker = maker.func if isinstance(maker, ast.Call) else maker
    return getattr(maker, "id", None)


def is_not_zero(value):
    """Tell whether it is a number other than 0, a constant, or at least 1 by its form."""
    if isinstance(value, ast.Constant):
        return value.value != 0
    if isinstance(value, ast.Name):
        return value.id.lstrip("_").isupper()
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        return is_not_zero(value.left) and is_not_zero(value.right)
    return (
        isinstance(value, ast.Call)
        and getattr(value.func, "id", "") == "max"
        and any(isinstance(argument, ast.Constant) and argument.value >= 1 for argument in value.args)
    )


def is_numpy(value, function):
    """Tell whether it is a number of numpy: an element of an array, made so, or reckoned with such a number."""
    if isinstance(value, ast.BinOp):
        return is_numpy(value.left, function) or is_numpy(value.right, function)
    if isinstance(value, ast.UnaryOp):
        return is_numpy(value.operand, function)
    if isinstance(value, ast.Subscript):
        return not (isinstance(value.value, ast.Attribute) and value.value.attr == "shape")
    if isinstance(value, ast.Call):
        return ast.unparse(value.func) in ("int64", "float64", "np.float64", "np.log", "np.sqrt")
    if isinstance(value, ast.Name):
        given = [
            node.value
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
            and any(isinstance(target, ast.Name) and target.id == value.id for target in node.targets)
        ]
        return bool(given) and all(not isinstance(one, ast.Name) and is_numpy(one, function) for one in given)
    return False


def unproved(function, lines):
    """List the divisions, and calls of `math`, that might raise where compiled code goes on."""
    for node in ast.walk(ast.Module(function.body, [])):
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod):
            above, below = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
            safe = is_not_zero(below) or is_numpy(above, function) or is_numpy(below, function)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in {f"math.{name}" for name in RAISING}:
            safe = is_not_zero(node.args[0])
        else:
            continue
        said = any(proof in line for proof in PROOFS for line in lines[max(0, node.lineno - 2) : node.lineno])
        if not safe and not said:
            yield f"{node.lineno} {function.name}: {ast.unparse(node)}"


def test_every_division_is_numpys_or_proved():
    found = [f"{path}:{line}" for path, lines, function in kernels() for line in unproved(function, lines)]
    assert not found, "\n".join(found)


def nothing(dtype, *shape):
    return np.zeros(shape or 0, dtype)


# Where numba is switched off there is one way only.
@pytest.mark.parametrize("way", ["interpreted"] if jit.setting() == "interpreted" else ["interpreted", "compiled"])
def test_a_vector_without_any_value_keeps_no_rule(way):
    rules = RuleArrays(
        codes=np.array([PROBABILISTIC]), attributes=np.zeros(1, np.int64), first=np.array([2.0]), second=np.zeros(1),
        offsets=np.zeros(2, np.int64), totals=nothing(np.int64), total=0, tree_offsets=np.zeros(2, np.int64),
        parents=nothing(np.int64), weights=nothing(float), scratch_size=0,
    )  # fmt: skip
    slicing = SlicingArrays(nothing(np.int32, 1, 1), -np.ones(1, np.int64), nothing(np.int32, 1, 1), rules, np.ones(1))
    with jit.always(way):
        assert not vector_holds(nothing(float), slicing, 0.0, nothing(float))
