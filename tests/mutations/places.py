"""Places that can be mutated: one operator or constant of a function that stands in two versions of the package.

A function *stands in both* where a function of the same qualified name (its classes and its own name, whatever its
module) has the same body in both, docstrings, comments, annotations and layout aside. A name and body that two
functions of one version share is left out. Functions are looked for in ``published``, ``models`` and ``anonymizers`` of
the first version; in the second they may have moved.
"""

from __future__ import annotations

import ast
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDERS = ("published", "models", "anonymizers")
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Place:
    """One expression of a function: the how-manieth that can be mutated, counted from 0."""

    function: str
    body: str
    number: int


@dataclass(frozen=True)
class Standing:
    """A function in one version."""

    path: Path
    node: Function


@cache
def standing(source: Path, folders: tuple[str, ...] = (".",)) -> dict[tuple[str, str], Standing]:
    """Return the functions of a package by qualified name and body; what two share is left out."""
    found: dict[tuple[str, str], Standing] = {}
    often: Counter[tuple[str, str]] = Counter()
    for path in sorted(path for folder in folders for path in (source / folder).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        # Bodies are made alike in a tree of their own: the other keeps what stands in the file.
        for (name, node), (_, bare) in zip(functions(ast.parse(text)), functions(ast.parse(text)), strict=True):
            key = (name, normal_body(bare))
            often[key] += 1
            found[key] = Standing(path, node)
    return {key: one for key, one in found.items() if often[key] == 1}


def functions(tree: ast.AST, before: str = "") -> Iterator[tuple[str, Function]]:
    """Yield every function with its classes and name; functions inside functions belong to these."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function):
            yield before + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{before}{node.name}.")
        elif isinstance(node, (ast.If, ast.Try)):
            yield from functions(node, before)


def normal_body(function: Function) -> str:
    """Take docstrings and annotations from a function, and return as text what it does: arguments and statements."""
    for node in ast.walk(function):
        if isinstance(node, Function):
            node.returns, node.decorator_list = None, node.decorator_list if node is not function else []
            if isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant):
                node.body = node.body[1:] or [ast.Pass()]
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Name("object")
    return ast.dump(function)


def mutable(function: Function) -> list[tuple[ast.expr, ast.expr]]:
    """Return the expressions of a function's statements that can be mutated, and what each becomes."""
    found = []
    for statement in function.body:
        for node in _expressions(statement):
            changed = _changed(node)
            if changed is not None:
                found.append((node, changed))
    return found


def _expressions(node: ast.AST) -> Iterator[ast.expr]:
    """Yield expressions in order, but not those of annotations and of formatted text, which say words."""
    if isinstance(node, (ast.JoinedStr, ast.Raise)):
        return
    if isinstance(node, ast.expr):
        yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _expressions(child)


def _changed(node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        return ast.Compare(node.left, [COMPARISONS[type(node.ops[0])](), *node.ops[1:]], node.comparators)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)
    if isinstance(node, ast.BoolOp):
        return ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        return node.operand
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return ast.Constant(not node.value)
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return ast.Constant(node.value + 1)
    return None


def drawn(first: Path, second: Path, count: int, seed: int) -> list[Place]:
    """Draw places of functions that stand in both versions; the same ones whichever version is mutated later."""
    one, two = standing(first, FOLDERS), standing(second)
    both = [key for key in one if key in two]
    places = [Place(*key, number) for key in sorted(both) for number in range(len(mutable(one[key].node)))]
    return random.Random(seed).sample(places, min(count, len(places)))


def mutated(source: Path, place: Place) -> tuple[Path, str, str, range]:
    """Return the file of a place, its text after the mutation, what was done, and the lines of the function."""
    stands = standing(source)[place.function, place.body]
    before, after = mutable(stands.node)[place.number]
    lines = stands.path.read_bytes().splitlines(keepends=True)
    assert before.end_lineno is not None
    assert before.end_col_offset is not None
    start = sum(map(len, lines[: before.lineno - 1])) + before.col_offset
    end = sum(map(len, lines[: before.end_lineno - 1])) + before.end_col_offset
    whole = b"".join(lines)
    # Brackets keep the order of operators; line breaks of what stood there are gone.
    text = whole[:start] + f"({ast.unparse(after)})".encode() + whole[end:]
    told = f"{ast.unparse(before)}  →  {ast.unparse(after)}"
    reach = range(before.lineno, before.end_lineno + 1)
    return stands.path, text.decode(), told, reach
