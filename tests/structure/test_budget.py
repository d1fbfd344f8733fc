"""The package stays as small as it is: ``budget.json`` holds what each figure may be at most.

Whoever raises a number says in the commit's message why. ``python tests/structure/measure.py`` prints today's figures.
"""

from __future__ import annotations

import json
from pathlib import Path

from structure.measure import Package, figures

BUDGET = json.loads(Path(__file__).with_name("budget.json").read_text(encoding="utf-8"))


def test_the_package_keeps_to_its_budget() -> None:
    """All figures in one test: they are measured together."""
    measured = figures(Package())
    numbers = {name: value[-1] if isinstance(value, list) else value for name, value in measured.items()}
    limits = {name: most for name, most in BUDGET.items() if name != "rooms"}
    assert [f"{name}: {numbers[name]}, at most {most}" for name, most in limits.items() if numbers[name] > most] == []
    rooms = measured["rooms"]
    assert set(rooms) == set(BUDGET["rooms"]), "a new room needs a budget, and a line in the README"
    wide = {
        room: figure
        for room, figure in rooms.items()
        if any(number > most for number, most in zip(figure, BUDGET["rooms"][room], strict=True))
    }
    assert wide == {}, f"modules and lines of code: {wide}, at most {[BUDGET['rooms'][room] for room in wide]}"


def test_a_larger_package_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "src" / "sfumato"
    home.mkdir(parents=True)
    (home / "__init__.pyi").write_text("from sfumato.one import f as f\n")
    (home / "__init__.py").write_text("")
    (home / "one.py").write_text(
        '"""One."""\nfrom sfumato.two import g\n\n\ndef f(a, b):\n    """Do."""\n    return g\n'
    )
    (home / "two.py").write_text("from sfumato.three import f as g\n")
    (home / "three.py").write_text("# why\ndef f(): ...\n\n\ndef _f(): ...\n")
    package = Package(tmp_path)
    assert package.single_importer() == ["sfumato.three", "sfumato.two"]
    assert package.longest_chain() == ["sfumato.one", "sfumato.two", "sfumato.three"]
    assert package.repeated_names() == {"f": 2}
    assert package.widest_function() == ("sfumato.one.f", 2)
    assert [len(module.code_lines) for module in package.modules.values()] == [0, 3, 2, 1]
    assert [len(module.docstring_lines) for module in package.modules.values()] == [0, 2, 0, 0]
