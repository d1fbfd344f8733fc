"""Real runs are killed before every request to the file system; one command brings all that belongs together.

A library that is loaded before the C library counts the requests, of Python and of what it calls alike.
"""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import sfumato as sf
from kills import driver
from sfumato.cli.app import app
from sfumato.kinds.private.ledger import PrivacyLedger
from sfumato.series.private_files import cipher_of

COMPILER = shutil.which("cc")
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or COMPILER is None, reason="requests are counted on Linux, by a library that cc compiles"
)
KILLED = -9

SERIES = ("start", "refused", "append", "wait", "grow", "withdraw", "republish", "encrypt", "other-key")
SPARK = ("spark", "workers")
BESIDE = ("new", "overwrite", "disk", "new-disk", *SPARK)
"""Flows whose audit file lies beside the release."""
PAID = ("counts", "sample", "new-ledger")
DATABASES = {"sqlite": "sqlite", "duckdb": "duckdb", "new-sqlite": "sqlite", "new-duckdb": "duckdb"}
DATABASES |= dict.fromkeys(("postgresql", "new-postgresql"), "postgresql")
NAMED = {
    **dict.fromkeys(BESIDE, ("out", "out.audit.json")),
    "hand-over": ("out", "out-receipt.html"),
    "policy": ("policy.toml",),
    "parquet": ("out", "private/who.json"),
    **dict.fromkeys(("ratings", "sets"), ("out",)),
    **dict.fromkeys(("counts", "sample"), ("out", "private/budget.json")),
    "new-ledger": ("private/budget.json",),
    **dict.fromkeys(DATABASES, ("private/who.json",)),
    **dict.fromkeys(SERIES, ("s", "s.ledger")),
}
"""Flow → what `settle` may be given."""
UNTOLD = ("policy",)
"""What verify cannot be given."""


class Killer:
    """A process that runs flows in children, which die where they are told to."""

    def __init__(self, base: Path) -> None:
        shim, here = base / "shim.so", Path(__file__).parent
        subprocess.run([str(COMPILER), "-shared", "-fPIC", "-o", shim, here / "shim.c", "-ldl"], check=True)
        paths = os.pathsep.join([str(Path(sf.__file__).parents[1]), str(here.parent)])
        with (base / "said.txt").open("w") as said:
            self.process = subprocess.Popen(
                [sys.executable, here / "driver.py"],
                env={**os.environ, "PYTHONPATH": paths, "LD_PRELOAD": str(shim)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
            )
        self.base = base

    def run(self, flow: str, place: Path, at: int = -1) -> tuple[int, int, str]:
        """Run a flow; return how it ended, how many requests it made, and before which it died."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([flow, str(place), at, driver.SERVER[0]]), file=self.process.stdin, flush=True)
        code, count, last = json.loads(self.process.stdout.readline())
        return code, count, last


class Flow:
    """What is there before a flow, and after one that nobody kills."""

    def __init__(self, killer: Killer, name: str) -> None:
        self.killer, self.name = killer, name
        self.before = killer.base / name / "before"
        driver.prepare(name, self.before)
        after = self.place("after")
        code, self.requests, _ = killer.run(name, after)
        assert code == 0, (killer.base / "said.txt").read_text()[-2000:]
        self.states = [names(self.before), names(after)]
        if name in ("start", "refused"):
            # A series of no release is one, with which append goes on.
            self.states.append({"private", "s", "s/series.json", "s.ledger", "s.ledger/ledger.json", "s.ledger/lock"})

    def place(self, name: str) -> Path:
        """Return a folder with what is there before."""
        place = self.before.with_name(name)
        if "postgresql" in self.name:
            driver.prepare(self.name, place)
        else:
            shutil.copytree(self.before, place)
        return place

    def killed(self, at: int, again: bool) -> tuple[Path, str]:
        """Kill a run in a folder of its own; return that, and before what it died."""
        place = self.place(f"{at}{'again' if again else ''}")
        code, _, last = self.killer.run(self.name, place, at)
        assert code == KILLED, code
        return place, last


@pytest.fixture
def flow(request: pytest.FixtureRequest, killer: Killer) -> Flow:
    name = str(request.param)
    if "postgresql" in name:
        driver.SERVER[0] = request.getfixturevalue("postgresql").url()
    if name in SPARK:
        pytest.importorskip("pyspark", reason="the client of Spark is not installed; pip install 'sfumato[spark]'")
        pytest.importorskip("pysail", reason="Sail is not installed; pip install pysail")
    return Flow(killer, name)


@pytest.fixture(scope="session")
def killer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Killer]:
    pytest.importorskip("opendp", reason="OpenDP is not installed; pip install 'sfumato[dp]'")
    made = Killer(tmp_path_factory.mktemp("kills"))
    yield made
    made.process.communicate()


def names(place: Path) -> set[str]:
    """Return the names of all that is there; numbers that are drawn do not count."""
    found = (os.path.relpath(path, place) for path in place.rglob("*"))
    return {re.sub(r"-[0-9a-f]{8}$", "-*", name) for name in found}


def bytes_of(place: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path): (path.read_bytes() if path.is_file() else b"", path.stat().st_mtime_ns) for path in place.rglob("*")
    }


def sfumato(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def key_words(place: Path) -> list[Path | str]:
    """Return the words that give the key of a ledger, if it is encrypted."""
    ledger = place / "s.ledger" / "ledger.json"
    stored = ledger.read_bytes() if ledger.exists() else b""
    keys = (place / "private" / name for name in ("key", "other"))
    return [word for key in keys if key.exists() and cipher_of(key).name in stored for word in ("--ledger-key", key)]


def verified(flow: str, place: Path) -> tuple[int, str]:
    """Verify what is published with what is private, and see that nothing is written."""
    before, audit = bytes_of(place), audit_of(flow, place)
    words: list[Any] = ["verify", place / "out"]
    if flow in DATABASES:
        url, schema = driver.place_in(DATABASES[flow], place)
        words = ["verify", f"{url}{'&' if '?' in str(url) else '?'}schema={schema}", "--audit", audit]
    elif audit.exists() and flow != "hand-over":
        words += ["--audit", audit]
    elif flow in SERIES:
        words = ["verify", place / "s", "--ledger", place / "s.ledger", *key_words(place)]
    code, said = sfumato(*words)
    if flow in PAID:
        said += sfumato("budget", place / "private" / "budget.json")[1]
    assert bytes_of(place) == before
    return code, said


def audit_of(flow: str, place: Path) -> Path:
    return place / ("out.audit.json" if flow in BESIDE else "private/who.json")


def is_published(flow: str, place: Path) -> bool:
    if DATABASES.get(flow) == "postgresql":
        url, schema = driver.place_in("postgresql", place)
        return sfumato("verify", url, "--schema", schema)[0] == 0
    return (place / ("held.db" if flow in DATABASES else "s" if flow in SERIES else "out")).exists()


def is_consistent(flow: str, place: Path) -> bool:
    """Tell whether what is published and what is private belong together, or neither is there."""
    if flow in PAID:
        return is_paid(place)
    if flow == "policy":
        return sf.Policy.from_file(place / "policy.toml").to_models()[0] in (sf.KAnonymity(3), sf.KAnonymity(4))
    private = place / "s.ledger" if flow in SERIES else audit_of(flow, place)
    if flow == "hand-over":
        private = place / "out-receipt.html"
        assert not private.exists() or private.stat().st_mode == (place / "made" / "release.json").stat().st_mode
    if not is_published(flow, place):
        return not private.exists()
    if flow in SERIES and not (place / "s" / "0001").exists():
        return private.exists()
    return (private.exists() or flow in ("ratings", "sets")) and verified(flow, place)[0] == 0


def is_paid(place: Path) -> bool:
    """Tell whether the ledger holds all that the release in the folder says was spent up to it."""
    if not (place / "private" / "budget.json").exists():
        return not (place / "out").exists()
    spent = PrivacyLedger.read(place / "private" / "budget.json").spent
    if not (place / "out").exists():
        return True
    said = json.loads((place / "out" / "release.json").read_text())["structure"]["series"]
    return (spent.release, spent.epsilon) >= (said["release"], said["epsilon"]) and verified("counts", place)[0] == 0


def check(flow: Flow, at: int, *, again: bool) -> None:
    """Kill a run, look at what lies there, and bring it to its end by one command."""
    place, last = flow.killed(at, again)
    given_away = {f"{top}/" for top in ("out", "s")}
    inside = {name for name in names(place) if any(name.startswith(top) for top in given_away)}
    assert any(inside <= state for state in flow.states), (last, inside)
    holders = [path for ending in ("part", "spill") for path in place.rglob(f".*.{ending}")]
    assert all(path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600) for path in holders), last
    code, said = verified(flow.name, place)
    left = names(place) not in flow.states
    published = any(name.endswith(("release.json", "held.db")) for name in names(place))
    assert "sfumato settle" in said or not (left or (code == 1 and published)) or flow.name in UNTOLD, (last, said)
    if again:
        # Who had got through is refused, or does the same once more.
        flow.killer.run(flow.name, place)
    else:
        settled(flow, place, at, last)
    states = [*flow.states, *([names(place)] if again and flow.name == "republish" else [])]
    assert names(place) in states, (last, sorted(names(place)))
    assert is_consistent(flow.name, place), last
    shutil.rmtree(place)


def settled(flow: Flow, place: Path, at: int, last: str) -> None:
    """Give one command what a steward has: the folder, the private file, or what verify names."""
    left = names(place) not in flow.states
    choices = [place / name for name in NAMED[flow.name]]
    # A ledger of budgets is written before the release is; each is brought to its end by itself.
    number = int("/private" in last) if flow.name in PAID else at
    named = choices[number % len(choices)]
    words = [named, *key_words(place)]
    told = re.search(r"sfumato settle (.*) finishes it", verified(flow.name, place)[1])
    if told is not None and (at % 3 == 0 or flow.name == "parquet"):
        words = [*shlex.split(told[1])]
    code, said = sfumato("settle", *words)
    assert code == 0, (last, said)
    assert "interrupted here; " in said or ("no run was interrupted" in said and not left), (last, said)
    assert "no run was interrupted" in sfumato("settle", *words)[1], last


@pytest.mark.parametrize("flow", driver.RUNS, indirect=True)
def test_a_kill_leaves_what_one_command_brings_together(flow: Flow) -> None:
    for number, at in enumerate(sorted(random.Random(flow.name).sample(range(flow.requests), 2))):
        check(flow, at, again=number % 2 == 1)


@pytest.mark.slow
@pytest.mark.parametrize("flow", driver.RUNS, indirect=True)
def test_every_kill_leaves_what_one_command_brings_together(flow: Flow) -> None:
    problems = []
    for at in range(flow.requests):
        # A server is started for each run on Spark, which takes longer than all else.
        for again in (at % 2 == 1,) if flow.name in SPARK else (False, True):
            try:
                check(flow, at, again=again)
            except AssertionError as error:
                problems.append(f"{at} {'again' if again else 'settle'}: {str(error)[:700]}")
    assert not problems, "\n".join([f"{len(problems)} problems of {flow.requests} requests", *problems[:8]])
