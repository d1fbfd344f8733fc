"""Places of mutations: the same functions in two versions, one expression changed, and nothing else."""

from __future__ import annotations

import ast
from pathlib import Path

from mutations.places import drawn, mutable, mutated, standing

FIRST = '''
class Model:
    """A model."""

    def holds(self, sizes: list[int]) -> bool:
        """Tell whether it holds."""
        if not sizes:
            raise ValueError(f"no {1 + 1} classes")
        return min(sizes) >= self.k and len(sizes) + 2 > 1

    def changed(self) -> int:
        return 1


def twin(): return 2 + 3
'''
SECOND = """
class Model:
    def holds(self, sizes):  # Moved, without its docstring.
        if not sizes:
            raise ValueError(f"no {1 + 1} classes")
        return (min(sizes) >= self.k
                and len(sizes) + 2 > 1)

    def changed(self) -> int:
        return 2

def twin():
    return 2 + 3

class Other:
    def twin(self):
        return 2 + 3
"""


def versions(tmp_path: Path) -> tuple[Path, Path]:
    one, two = tmp_path / "one", tmp_path / "two"
    for path, text in ((one / "models" / "model.py", FIRST), (two / "kinds" / "model.py", SECOND)):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return one, two


def test_functions_stand_in_both_whatever_their_module_and_words(tmp_path: Path) -> None:
    one, two = versions(tmp_path)
    assert {name for name, _ in set(standing(one)) & set(standing(two))} == {"Model.holds", "twin"}


def test_each_place_changes_one_expression_in_either_version(tmp_path: Path) -> None:
    one, two = versions(tmp_path)
    places = drawn(one, two, 100, 1)
    # Words of errors are left alone.
    assert len(places) == len(set(places)) == 7 + 3
    assert drawn(one, two, 100, 1) == places != drawn(one, two, 100, 2)
    for place in places:
        told = set()
        for version in (one, two):
            path, text, what, lines = mutated(version, place)
            before, after = ast.dump(ast.parse(path.read_text())), ast.dump(ast.parse(text))
            assert before != after
            assert path.read_text().splitlines()[: lines.start - 1] == text.splitlines()[: lines.start - 1]
            told.add(what)
        assert len(told) == 1


def test_operators_become_their_neighbours() -> None:
    function = ast.parse("def f(a, b):\n    return a <= b or not -a // 3 is True\n").body[0]
    assert isinstance(function, ast.FunctionDef)
    assert [ast.unparse(after) for _, after in mutable(function)] == [
        "a <= b and (not -a // 3 is True)",
        "a < b",
        "-a // 3 is True",
        "-a // 3 is not True",
        "-a * 3",
        "a",
        "4",
        "False",
    ]
