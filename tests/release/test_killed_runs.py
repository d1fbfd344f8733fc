"""A run is killed at every step of writing a folder: afterwards there is the old release or the new one, whole.

Kills are injected by audit hooks, which the interpreter calls before each thing that it asks of the system.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.release.transaction import check_target, whole_folder

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked there")

PROGRAM = """
import os, signal, sys
from pathlib import Path
from sfumato.release import transaction

base, way, started = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
if way == "renames":
    transaction.exchanged = lambda *_: False

def written(place, text):
    for name in ("release.json", "data.csv"):
        (place / name).write_text(text)

def save(target):
    with transaction.whole_folder(target, overwrite=True) as part:
        written(part, "new")

def run(place, number):
    left = [number]
    def hook(event, arguments):
        left[0] -= 1
        if left[0] == -1:
            os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)
    save(place / "out")
    os._exit(0)

for number in range(2000):
    place = base / str(number)
    place.mkdir()
    names = {"whole": ["out"], "moved": [".out.0123abcd.old", ".out.0123abcd.part"], "nothing": []}[started]
    for name in names:
        (place / name).mkdir()
        written(place / name, "unfinished" if name.endswith("part") else "old")
    if not (child := os.fork()):
        run(place, number)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(status)
    if status != -signal.SIGKILL:
        break
"""


def killed_everywhere(base: Path, way: str, started: str) -> list[Path]:
    """Kill a run before each of its steps, each in a folder of its own; return the folders."""
    source = str(Path(sf.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(base), way, started],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    *killed, last = done.stdout.split()
    assert last == "0"
    assert len(killed) > 10
    assert set(killed) == {str(-signal.SIGKILL)}
    return [base / str(number) for number in range(len(killed))]


def content(folder: Path) -> set[str]:
    assert sorted(os.listdir(folder)) == ["data.csv", "release.json"]
    return {path.read_text() for path in folder.iterdir()}


def run_again(place: Path) -> None:
    """Start a run that fails before it has written anything."""
    with pytest.raises(RuntimeError), whole_folder(place / "out", overwrite=True):
        raise RuntimeError


@pytest.mark.skipif(sys.platform != "linux", reason="folders are not exchanged in one step there")
def test_there_is_always_a_release_under_the_name(tmp_path):
    found = set()
    for place in killed_everywhere(tmp_path, "exchange", "whole"):
        (text,) = content(place / "out")
        found.add(text)
    assert found == {"old", "new"}


@pytest.mark.parametrize("way", ["exchange", "renames"])
@pytest.mark.parametrize("started", ["whole", "moved"])
def test_the_next_run_puts_back_and_cleans(way, started, tmp_path):
    found = []
    for place in killed_everywhere(tmp_path, way, started):
        run_again(place)
        assert os.listdir(place) == ["out"]
        (text,) = content(place / "out")
        found.append(text)
    assert set(found) == {"old", "new"}
    assert found == sorted(found, reverse=True)


def test_the_first_release_is_whole_or_not_there(tmp_path):
    for place in killed_everywhere(tmp_path, "exchange", "nothing"):
        run_again(place)
        assert os.listdir(place) in (["out"], [])
        assert not os.listdir(place) or content(place / "out") == {"new"}


def test_the_check_before_the_work_puts_back(tmp_path):
    old = tmp_path / ".out.0123abcd.old"
    old.mkdir()
    (old / "release.json").write_text("old")
    with pytest.raises(sf.InputError, match="already holds a release"):
        check_target(tmp_path / "out", overwrite=False)
    assert os.listdir(tmp_path) == ["out"]


def test_a_run_that_goes_on_is_left_alone(tmp_path):
    with whole_folder(tmp_path / "out") as part:
        (part / "release.json").write_text("one")
        run_again(tmp_path)
        assert part.is_dir()
    assert os.listdir(tmp_path) == ["out"]


def test_what_only_looks_alike_is_left_alone(tmp_path):
    names = [".out.part", ".out.0123abcd.parts", ".outer.0123abcd.part", "out.0123abcd.part", ".out.0123ABCD.old"]
    for name in names:
        (tmp_path / name).mkdir()
    run_again(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted(names)


def test_through_a_link_to_the_release(tmp_path):
    (tmp_path / "place").mkdir()
    old = tmp_path / "place" / ".out.0123abcd.old"
    old.mkdir()
    (old / "release.json").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "place" / "out")
    with pytest.raises(sf.InputError, match="already holds a release"):
        check_target(tmp_path / "link", overwrite=False)
    assert os.listdir(tmp_path / "place") == ["out"]
