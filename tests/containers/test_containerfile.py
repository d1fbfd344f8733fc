"""The steps of the Containerfile, run as plain commands of the user that it names, with its folders moved elsewhere.

Only what needs a registry is left out: pulling the base image, and pip. The package is found by its path instead.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from docs.pages import ROOT

INSTALLED = ("python -m venv", "pip install")


def instructions() -> list[tuple[str, str]]:
    """Return every instruction of the Containerfile with its words."""
    text = (ROOT / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines]


def words(kind: str) -> list[str]:
    return [said for name, said in instructions() if name == kind]


def test_the_image_is_small_and_not_roots() -> None:
    order = [name for name, _ in instructions()]
    assert words("FROM")[-1].endswith("-slim")
    assert order.index("USER") < len(order) - 1 - order[::-1].index("RUN"), "kernels belong to who runs"
    assert words("USER") == ["65534:65534"]
    assert json.loads(words("ENTRYPOINT")[0]) == ["sfumato"]
    copied = [name for said in words("COPY") if "--from" not in said for name in said.split()[:-1]]
    assert all((ROOT / name).exists() for name in copied)
    ignored = (ROOT / ".containerignore").read_text(encoding="utf-8").splitlines()
    assert {f"!{name}" for name in copied} <= set(ignored)
    assert ignored[0] == "*"


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can be another user")
def test_its_steps_run_as_its_user(tmp_path: Path) -> None:
    for parent in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        parent.chmod(0o755)
    commands = tmp_path / "bin"
    commands.mkdir()
    program = commands / "sfumato"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m sfumato "$@"\n')
    program.chmod(0o755)
    moved = {"/var/cache/sfumato": str(tmp_path / "cache"), "/data": str(tmp_path / "data")}
    settings = dict(said.split("=", 1) for said in words("ENV"))
    environment = {
        name: re.sub("|".join(moved), lambda match: moved[match[0]], said) for name, said in settings.items()
    }
    environment |= {"PATH": f"{commands}:{os.environ['PATH']}", "PYTHONPATH": str(Path(sf.__file__).parents[1])}
    user = words("USER")[0].split(":")
    as_user = ["setpriv", f"--reuid={user[0]}", f"--regid={user[1]}", "--clear-groups"]
    as_user += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    run: list[str] = []
    for name, said in instructions():
        run = as_user if name == "USER" else run
        if name == "RUN" and not any(step in said for step in INSTALLED):
            command = re.sub("|".join(moved), lambda match: moved[match[0]], said)
            subprocess.run([*run, "sh", "-ec", command], env=environment, cwd=tmp_path, check=True)
    cache = tmp_path / "cache"
    kernels = sorted(path for path in cache.rglob("*") if path.is_file())
    assert kernels
    frame = pl.DataFrame({"age": [20 + row % 60 for row in range(3000)], "ill": ["flu", "cold", "gout"] * 1000})
    frame.write_csv(tmp_path / "data" / "in.csv")
    for path in (cache, *cache.iterdir()):
        path.chmod(0o500)  # as with a root file system that cannot be written to
    line = "anonymize in.csv --quasi age --sensitive ill -k 3 --out out --json"
    done = subprocess.run(
        [*as_user, *json.loads(words("ENTRYPOINT")[0]), *line.split()],
        env=environment | {"SFUMATO_KERNELS": "compiled"},
        cwd=tmp_path / "data",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "compiling" not in done.stderr
    taken = json.loads(done.stdout)["kernels"]
    assert len(taken["read"]) > 5
    assert sum(taken["compiled"].values()) < 5, "what warming leaves out is small"
    assert sorted(path for path in cache.rglob("*") if path.is_file()) == kernels
