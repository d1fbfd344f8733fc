"""A run is killed before every change that it makes to a file: folder and ledger agree afterwards, and both are whole.

Kills are injected by audit hooks, which the interpreter calls before each thing that it asks of the system. Programs
are forked before they have worked with tables, as threads do not survive that.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import sfumato as sf
from series.tables import SCHEMA, chain_is_whole, people, write_csv

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked there")

PROGRAM = """
import os, shutil, signal, sys
from pathlib import Path
import sfumato as sf
import sfumato.series.append, sfumato.series.appended, sfumato.series.starting, sfumato.series.step
import sfumato.series.grow_release, sfumato.series.grown

base, what = Path(sys.argv[1]), sys.argv[2]
schema = sf.Schema(identifying=["name"], quasi_identifying=["age", "city"], sensitive=["disease"])
CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate", "shutil.rmtree"}

def changes(event, arguments):
    if event == "open":
        return bool((arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)) and str(base) in str(arguments[0])
    return event in CHANGES

def run(place, number):
    left = [number]
    def hook(event, arguments):
        if changes(event, arguments):
            left[0] -= 1
            if left[0] == -1:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)
    if what == "start":
        sf.Series.start(place / "s", schema, sf.KAnonymity(3), table=base / "first.csv", threads=1)
    elif what == "grow":
        sf.Series.open(place / "s").grow(base / "release.csv", threads=1)
    else:
        sf.Series.open(place / "s").append(base / f"{what}.csv", threads=1)
    os._exit(0)

for number in range(0, 2000, int(sys.argv[3])):
    place = base / str(number)
    if what == "start":
        place.mkdir()
    else:
        shutil.copytree(base / "prepared", place)
    if not (child := os.fork()):
        try:
            run(place, number)
        finally:
            os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(status)
    if status != -signal.SIGKILL:
        break
"""

EVERY = [pytest.param(7, id="some"), pytest.param(1, id="all", marks=pytest.mark.slow)]


def killed_everywhere(base: Path, what: str, step: int) -> list[Path]:
    """Kill a run before each of its changes, or each `step`-th, in a folder of its own; return the folders."""
    source = str(Path(sf.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(base), what, str(step)],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    *killed, last = done.stdout.split()
    assert last == "0", done.stderr
    assert len(killed) > 9 // step
    assert set(killed) == {str(-signal.SIGKILL)}
    return [base / str(step * number) for number in range(len(killed))]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Make tables, and a series of one release in which two people wait."""
    write_csv(tmp_path / "first.csv", people(12))
    write_csv(tmp_path / "wait.csv", people(1, first=200))
    write_csv(tmp_path / "release.csv", people(9, first=300))
    (tmp_path / "prepared").mkdir()
    series = sf.Series.start(tmp_path / "prepared" / "s", SCHEMA, sf.KAnonymity(4), table=tmp_path / "first.csv")
    series.append(write_csv(tmp_path / "two.csv", people(2, first=100)))
    return tmp_path


def nothing_is_left(series: sf.Series, releases: int, files: int) -> None:
    """Check that there are just these releases, and so many files of the ledger beside its three fixed ones."""
    assert series.verify(ledger=True).ok
    names = [f"{number:04d}" for number in range(1, releases + 1)]
    assert sorted(os.listdir(series.folder)) == [*names, "series.json"]
    assert len(os.listdir(series.ledger)) == 3 + files
    assert chain_is_whole(series.folder)


def whole(folder: Path, table: Path, done: Callable[[sf.Series], bool]) -> tuple[sf.Series, bool]:
    """Open what a killed run has left; the ledger puts it right. Return whether the run had got through."""
    series = sf.Series.open(folder / "s")
    assert series.verify(ledger=True).ok
    arrived = done(series)
    if arrived:
        with pytest.raises(sf.InputError, match=r"(in an earlier release|who wait for the next release)"):
            series.append(table)
    else:
        series.append(table)
    return series, arrived


@pytest.mark.parametrize("step", EVERY)
def test_a_release_is_there_for_folder_and_ledger_or_for_neither(step: int, base: Path) -> None:
    found = []
    for place in killed_everywhere(base, "release", step):
        series, arrived = whole(place, base / "release.csv", lambda each: len(each.releases) == 2)
        nothing_is_left(series, 2, 3)
        found.append(arrived)
    assert found == sorted(found)
    assert not found[0]
    assert step > 1 or found[-1]


@pytest.mark.parametrize("step", EVERY)
def test_a_release_that_grows_is_there_for_folder_and_ledger_or_for_neither(step: int, base: Path) -> None:
    shutil.rmtree(base / "prepared")
    (base / "prepared").mkdir()
    place = base / "prepared" / "s"
    sf.Series.start(place, SCHEMA, sf.KAnonymity(4), table=base / "first.csv", way="grow")
    found = []
    for folder in killed_everywhere(base, "grow", step):
        series = sf.Series.open(folder / "s")
        assert series.verify(ledger=True).ok
        found.append(len(series.releases) == 2)
        if not found[-1]:
            series.grow(base / "release.csv")
        nothing_is_left(series, 2, 3)
        assert series.grow(write_csv(folder / "more.csv", people(8, first=500))).published == 8
    assert found == sorted(found)
    assert not found[0]


@pytest.mark.parametrize("step", EVERY)
def test_who_waits_is_known_or_not(step: int, base: Path) -> None:
    found = []
    for place in killed_everywhere(base, "wait", step):
        series, arrived = whole(place, base / "wait.csv", waits)
        nothing_is_left(series, 1, 3)
        found.append(arrived)
        assert series.append(base / "release.csv").published == 12
        shutil.rmtree(place)
    assert found == sorted(found)
    assert not found[0]


def waits(series: sf.Series) -> bool:
    from sfumato.series.overview import overview_of

    return overview_of(series).waiting == 3


@pytest.mark.parametrize("step", EVERY)
def test_a_start_is_done_or_can_be_done_again(step: int, base: Path) -> None:
    for place in killed_everywhere(base, "start", step):
        if (place / "s" / "series.json").exists():
            series = sf.Series.open(place / "s")
            if not series.releases:
                # Refused where the run before it is finished first: everybody is there then.
                with suppress(sf.InputError):
                    series.append(base / "first.csv")
        else:
            series = sf.Series.start(place / "s", SCHEMA, sf.KAnonymity(3), table=base / "first.csv")
        nothing_is_left(series, 1, 2)
        assert sorted(os.listdir(place)) == ["s", "s.ledger"]
