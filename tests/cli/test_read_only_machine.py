"""On a machine where nothing can be written but the release, commands work: there is no home, and no cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf

NOBODY = 65534
PROGRAM = "from sfumato.cli import main; main()"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder that nobody may write to but the user without a home."""
    folder = tmp_path / "place"
    folder.mkdir()
    pl.DataFrame({"age": [20 + i % 6 for i in range(60)], "ill": ["flu", "cold"] * 30}).write_csv(folder / "in.csv")
    if os.geteuid() == 0:
        for parent in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
            parent.chmod(0o755)
        os.chown(folder, NOBODY, NOBODY)
    return folder


def as_nobody() -> list[str]:
    """How to start a program that may read everything and write nothing; root alone can be anybody."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("there is no setpriv to give up root's rights with")
    may = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *may]


@pytest.mark.skipif(sys.platform != "linux", reason="users are changed in another way there")
@pytest.mark.parametrize("home", [None, "/proc/nothing", "relative"])
def test_commands_work_without_a_home(home, place):
    source = str(Path(sf.__file__).parents[1])
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    environment = kept | {"PYTHONPATH": source, "PYTHONDONTWRITEBYTECODE": "1"} | ({"HOME": home} if home else {})
    words = "anonymize in.csv --quasi age --sensitive ill -k 3 --out out"
    for line in (words, "verify out", "risk in.csv --quasi age"):
        command = [*as_nobody(), sys.executable, "-c", PROGRAM, *line.split()]
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (line, done.stderr)
        assert "fault" not in done.stderr
