"""In a locale that knows ASCII alone, files and columns with other letters work as anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

PLAIN = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
PROGRAMS = (["-m", "sfumato"], ["-c", "from sfumato.cli import main; main()"])
pytestmark = pytest.mark.skipif(
    sys.platform in ("win32", "darwin"), reason="the encoding of file names follows no locale there"
)


def said(folder: Path, program: Sequence[str], words: Sequence[str | bytes], **environment: str) -> tuple[int, str]:
    told = {**os.environ, **PLAIN, **environment}
    command = [sys.executable, *program, *words]
    done = subprocess.run(command, env=told, cwd=folder, capture_output=True, check=False)
    return done.returncode, (done.stdout + done.stderr).decode()


@pytest.mark.parametrize(
    ("program", "encoding", "shown"),
    [(PROGRAMS[0], {}, "für-andere"), (PROGRAMS[1], {"PYTHONIOENCODING": "ascii"}, r"f\xfcr-andere")],
)
def test_umlauts_in_names(program: list[str], encoding: dict[str, str], shown: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"größe": [150 + row % 4 for row in range(40)], "fuß": ["schön", "weiß"] * 20})
    frame.write_csv(tmp_path / "männer.csv")
    asked = ["--quasi", "größe", "--sensitive", "fuß", "-k", "3"]
    code, told = said(tmp_path, program, ["anonymize", "männer.csv", *asked, "--out", "für-andere"], **encoding)
    assert code == 0, told
    assert f"Release   {shown}" in told
    code, told = said(tmp_path, program, ["verify", "für-andere"], **encoding)
    assert code == 0, told
    assert (tmp_path / "für-andere" / "data.csv").read_text(encoding="utf-8").startswith("größe,fuß")
    # The same words in Latin-1 are no UTF-8 anywhere.
    latin = [word.encode("latin-1") for word in asked]
    code, told = said(tmp_path, program, ["anonymize", "männer.csv", *latin, "--out", "x"], **encoding)
    assert code == 2
    assert "a name or a value is no text in UTF-8" in told


def test_a_program_that_uses_the_library_is_told(tmp_path: Path) -> None:
    lines = [
        "import polars as pl, sfumato as sf",
        "table = sf.read_table(pl.DataFrame({'age': [1, 1, 1]}), sf.Schema(quasi_identifying=['age']))",
        "sf.anonymize(table, sf.KAnonymity(2)).save('gr\\u00f6\\u00dfe')",
    ]
    code, told = said(tmp_path, ["-c", "\n".join(lines)], [])
    assert code == 1
    assert "letters that this system does not write in file names; set LC_ALL=C.UTF-8" in told
