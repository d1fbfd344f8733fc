"""Kinds of releases lie apart: the core finds them through its registry, and a checker of one never meets its maker."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import sfumato
from sfumato.release.description import OWN_KINDS
from structure.measure import Package

PACKAGE = Package()
ABOVE = {"cli", "comparison", "kinds", "papers", "studio"} | {
    "noisy_counts",
    "private_sample",
    "ratings",
    "sets",
    "traces",
}
"""Rooms that may import a kind, and the public addresses of kinds."""
CHECKERS = sorted(name for name in PACKAGE.modules if name.startswith("sfumato.kinds.") and name.endswith(".check"))


def is_maker(module: str) -> bool:
    return module.startswith("sfumato.anonymizers") or (
        module.startswith("sfumato.kinds.") and module.endswith(".make")
    )


def test_the_core_imports_no_kind() -> None:
    found = {
        (name, one.module)
        for name, imports in PACKAGE.imports.items()
        for one in imports
        if one.module.startswith("sfumato.kinds") and name.split(".")[1] not in ABOVE
    }
    assert found == set()


def test_one_line_of_the_core_names_traces() -> None:
    """Beside it the public address, the kernels, the studio's start page and the demo."""
    source = Path(sfumato.__file__).parent
    own = {source / "kinds" / "traces", source / "kernels", source / "cli", source / "traces.py"}
    lines = [
        line.strip()
        for path in sorted(source.rglob("*.py"))
        if not own & {path, *path.parents}
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"[\"'.]traces\b|\bTrace[A-Z]", line)
    ]
    assert lines == ['"traces": "sfumato.kinds.traces.check:TRACES",']


def test_every_kind_has_a_checker_that_the_registry_names() -> None:
    named = {place.partition(":")[0] for place in OWN_KINDS.places()}
    assert named == set(CHECKERS) - {"sfumato.kinds.private.check"}  # what two of them share
    assert {kind: OWN_KINDS[kind].name for kind in OWN_KINDS} == {kind: kind for kind in OWN_KINDS}


@pytest.mark.parametrize("checker", CHECKERS)
def test_a_checker_reaches_no_maker(checker: str) -> None:
    reached, waiting = {checker}, [checker]
    while waiting:
        # An import inside of a function counts, too.
        found = {one.module for one in PACKAGE.imports[waiting.pop()] if one.module in PACKAGE.modules}
        waiting += found - reached
        reached |= found
    assert {module for module in reached if is_maker(module)} == set()


def test_all_checkers_together_load_no_maker() -> None:
    program = "import sys\n" + "".join(f"import {checker}\n" for checker in CHECKERS) + "print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert set(CHECKERS) <= set(loaded)
    assert [module for module in loaded if is_maker(module)] == []
