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
from sfumato.cli.app import COMMANDS, GROUPS

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
    for line in (words, "verify out", "risk in.csv --quasi age")[: 1 if home else 3]:
        succeeds(line, place, environment)


def succeeds(line: str, place: Path, environment: dict[str, str]) -> None:
    """Run a command line as nobody; whatever it says, it is done."""
    command = [*as_nobody(), sys.executable, "-c", PROGRAM, *line.split()]
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (line, done.stderr)
    assert "fault in this program" not in done.stderr
    assert all(line.startswith("sfumato: ") for line in done.stderr.splitlines()), done.stderr


EVERY = {
    "demo": ["demo --patients 300 --out demo"],
    "budget": ["budget spent --total-epsilon 2"],
    "anonymize": [
        "anonymize in.csv --quasi age --sensitive ill -k 3 --out out --save-policy policy.toml",
        "anonymize in.csv --kind sets -k 2 -m 1 --out sets-out",
        "anonymize where.csv --kind traces --person who --place where --time when --zone UTC -k 2 -l 1 --homes keep "
        "--out traces-out --forms traces-forms",
        "anonymize in.csv --kind private-marginals --quasi age,ill --bins age=0:100:5 --domain ill=flu,cold "
        "--epsilon 1 --ledger spent --out dp",
    ],
    "review": ["review in.csv"],
    "init": ["init in.csv --out first.toml"],
    "verify": ["verify out", "verify sets-out", "verify traces-out"],
    "settle": ["settle out"],
    "sign": ["sign --new-key own.key", "sign out --key own.key"],
    "help": ["help k-anonymity"],
    "measure": [
        "measure in.csv out",
        "measure in.csv out --what utility --queries 20",
        "measure in.csv out --what columns",
    ],
    "risk": ["risk in.csv --quasi age"],
    "check": [
        "check in.csv --quasi age --sensitive ill",
        "check ratings.csv --kind ratings -k 2 --epsilon 1",
        "check in.csv --kind sets -m 1",
        "check where.csv --kind traces --person who --place where --time when --zone UTC -l 2",
    ],
    "policy": ["policy check policy.toml"],
    "correlation": ["correlation in.csv --quasi age,ill"],
    "attack": [
        "attack out --original in.csv --attack linkage --policy policy.toml",
        "attack where.csv --kind traces --person who --place where --time when --zone UTC --known 2 --noise 0.1",
    ],
    "compare": ["compare in.csv --policy policy.toml --anonymizers mondrian -k 2,3 --out compared"],
    "lattice": ["lattice in.csv --policy policy.toml"],
    "report": ["report out --edition public --out report.html"],
    "evidence": [
        "evidence init --policy policy.toml --out recipient.toml",
        "evidence write out --edition public --out evidence.html",
        "evidence task out --original in.csv --control in.csv --out task --key task.json",
        "evidence score task/answers.csv --key task.json",
    ],
    "hierarchy": ["hierarchy in.csv age --out age.csv"],
    "series": [
        "series start monthly people.csv --policy series.toml --key name",
        "verify monthly",
        "series show monthly",
    ],
}
"""Command or group → lines that use it, in an order in which they find what they need."""


def test_every_command_is_tried() -> None:
    # Papers need tables that are downloaded, compiling takes minutes (the Containerfile's test does that), the studio
    # serves until it is ended.
    assert {*EVERY} == {*COMMANDS, *GROUPS} - {"reproduce", "warm", "studio"}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="users are changed in another way there")
def test_every_command_works_without_a_home(place):
    ratings = "\n".join(f"{person},{film},{1 + film % 5}" for person in range(6) for film in range(3))
    (place / "where.csv").write_text("who,where,when\nann,north,2026-03-02T08:00\nbob,north,2026-03-02T08:30\n")
    (place / "ratings.csv").write_text(f"user,item,rating\n{ratings}\n")
    people = "\n".join(f"p{number},{20 + number % 6},{'flu' if number % 2 else 'cold'}" for number in range(60))
    (place / "people.csv").write_text(f"name,age,ill\n{people}\n")
    (place / "series.toml").write_text(
        'models = [{ name = "k-anonymity", k = 3 }]\n'
        '[columns]\nidentifying = ["name"]\nquasi-identifying = ["age"]\nsensitive = ["ill"]\n'
    )
    source = str(Path(sf.__file__).parents[1])
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": source, "SFUMATO_KERNELS": "interpreted"}
    for lines in EVERY.values():
        for line in lines:
            succeeds(line, place, environment)
