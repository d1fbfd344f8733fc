"""Plug-ins of installed packages are found by name, and only by name; broken ones are said to be so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from extending.made_plugins import install

SOURCE = str(Path(sf.__file__).parents[1])


@pytest.fixture(scope="module")
def place(tmp_path_factory: Any) -> Path:
    folder: Path = tmp_path_factory.mktemp("plugins")
    (folder / "installed").mkdir()
    install(folder / "installed")
    pl.DataFrame({"age": [20, 30, 40, 50] * 6, "ill": ["flu", "cold"] * 12}).write_csv(folder / "in.csv")
    return folder


def run(words: list[str], place: Path, *, plugged: bool = True) -> subprocess.CompletedProcess[str]:
    paths = [SOURCE, *([str(place / "installed")] if plugged else [])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "SFUMATO_KERNELS": "interpreted"}
    return subprocess.run(
        [sys.executable, *words], cwd=place, env=environment, capture_output=True, text=True, check=False
    )


def sfumato(line: str, place: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    return run(["-m", "sfumato", *line.split()], place, **more)


ROLES = "--quasi age --sensitive ill"


def test_the_command_line_finds_a_model_and_an_anonymizer(place: Path) -> None:
    line = f"anonymize in.csv {ROLES} --model even-classes:least=4 --anonymizer one-class --out release --quiet"
    done = sfumato(line, place)
    assert done.returncode == 0, done.stderr
    told = json.loads((place / "release" / "release.json").read_text())["models"]
    assert told == [{"name": "even-classes", "least": 4}]
    checked = sfumato("verify release", place)
    assert checked.returncode == 0, checked.stdout
    assert "holds: even-classes (least=4) (achieved least=24)" in checked.stdout
    without = sfumato("verify release", place, plugged=False)
    assert without.returncode == 1
    assert "even-classes (this version does not know the model)" in without.stdout


def test_a_broken_plugin_gives_a_sentence(place: Path) -> None:
    done = sfumato(f"anonymize in.csv {ROLES} --model broken --out never", place)
    assert done.returncode == 2
    assert "broken: the plug-in of the package 'made-plugins' cannot be loaded (ModuleNotFoundError)" in done.stderr
    assert "Traceback" not in done.stderr
    done = sfumato(f"anonymize in.csv {ROLES} --model wrong-name --out never", place)
    assert "has another name than its class" in done.stderr
    assert done.returncode == 2


def test_plugins_are_not_looked_for_without_need(place: Path) -> None:
    program = (
        "import sys, sfumato as sf, polars as pl\n"
        "frame = pl.read_csv('in.csv')\n"
        "schema = sf.Schema(quasi_identifying=['age'], sensitive=['ill'])\n"
        "sf.anonymize(frame, sf.KAnonymity(3), schema=schema)\n"
        "assert 'made_plugins_code' not in sys.modules and 'made_plugins_nowhere' not in sys.modules\n"
        "from sfumato.models import MODELS\n"
        "assert 'even-classes' not in list(MODELS)\n"
        "found = sf.compare(sf.read_table(frame, schema), anonymizers=['one-class', 'mondrian'], values=[3],\n"
        "                   metrics=['widest'], queries=0)\n"
        "assert found.means()['widest'].to_list() == [24.0, 6.0], found.means()\n"
        "assert 'made_plugins_code' in sys.modules\n"
    )
    done = run(["-c", program], place)
    assert done.returncode == 0, done.stderr


def test_the_imports_of_former_pages_go_on_working() -> None:
    """Pages on plug-ins have shown these lines; packages hold them."""
    with pytest.warns(DeprecationWarning, match=r"sfumato\.models\.reference"):
        former = import_module("sfumato.models.shares").largest_counts
    shown = {
        "sfumato.anonymizers.feasibility": ["feasible"],
        "sfumato.anonymizers.parts": ["solve_in_parts"],
        "sfumato.anonymizers.protocol": ["Anonymizer", "Problem", "SolvesParts"],
        "sfumato.classes.partition": ["Partition"],
        "sfumato.classes.statistics": ["SensitiveCounts", "class_statistics"],
        "sfumato.engines": ["LocalEngine"],
        "sfumato.kernels.predicates": ["ALPHA", "K_ANONYMITY"],
        "sfumato.models.protocol": ["Achieved", "Rule"],
        "sfumato.models.sensitive": ["SensitiveModel"],
        "sfumato.options": ["Limit"],
        "sfumato.release.anonymize": ["made"],
        "sfumato.release.task": ["Task"],
        "sfumato.table.encoding": ["EncodedTable", "encode"],
    }
    assert all(hasattr(import_module(module), name) for module, names in shown.items() for name in names)
    assert former is import_module("sfumato.models.reference").largest_counts
