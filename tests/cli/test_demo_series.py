"""``sfumato demo series``: separate releases fall, series stand, and what lies in the folder is what was attacked."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from cli.test_demo import sfumato
from sfumato.cli.demo import MARK

SMALL = ["demo", "series", "--patients", "300", "--seed", "5"]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("demo")
    done = sfumato(*SMALL, folder=folder)
    assert done.exit_code == 0, done.output
    return folder / "demo-series", done.stdout


def below(text: str, row: str) -> list[int]:
    """Return how many people are left fewer than promised, way by way."""
    (line,) = [line for line in text.splitlines() if line.strip().startswith(row) and " of " in line]
    return [int(number.replace(",", "")) for number in re.findall(r"([\d,]+) of ", line)]


def test_separate_releases_fall_and_series_stand(played: tuple[Path, str]) -> None:
    first, second = played[1].split("2  People come, leave")
    for row in ("intersection", "forward and cross", "backward", "difference"):
        separate, append, grow = below(first, row)
        assert separate > 0 == append == grow
    separate, invariant = below(second, "intersection")
    assert separate > 0 == invariant
    learnt = re.search(r"disease learnt with certainty +(\d+) +(\d+)", second)
    assert learnt is not None
    assert int(learnt[1]) > 0 == int(learnt[2])


def test_the_folder_can_be_attacked_and_recounted_again(played: tuple[Path, str]) -> None:
    folder, text = played
    known = [word for path in sorted((folder / "newcomers").iterdir()) for word in ("--original", str(path))]
    separate = [str(path) for path in sorted((folder / "separate").iterdir())]
    again = sfumato("attack", "--kind", "series", *separate, *known, folder=folder)
    assert again.exit_code == 1
    assert f"fewer than promised in {below(text.split('2  People')[0], 'intersection')[0]:,}" in again.output
    for way in ("append", "grow", "m-invariance"):
        done = sfumato("verify", way, "--ledger", f"{way}.ledger", folder=folder)
        assert done.exit_code == 0, done.output
        assert (folder / f"{way}.ledger").stat().st_mode & 0o777 == 0o700
    # How the program is called depends on where it is installed.
    assert max(len(line) for line in text.splitlines() if sys.executable not in line) <= 80


@pytest.mark.slow
def test_a_later_demo_leaves_other_files_alone(played: tuple[Path, str]) -> None:
    folder, text = played
    (folder / "mine.txt").write_text("keep me")
    done = sfumato(*SMALL, folder=folder.parent)
    assert done.stdout == text
    assert (folder / "mine.txt").read_text() == "keep me"
    assert (folder / MARK).is_file()


def test_too_few_patients(tmp_path: Path) -> None:
    done = sfumato("demo", "series", "--patients", "20", folder=tmp_path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "from 300 on" in done.stderr
    assert not list(tmp_path.iterdir())
