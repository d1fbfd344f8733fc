"""What the last version published verifies, opens, is continued and is compared; made anew, it has the same bytes."""

from __future__ import annotations

import json
import re
import shutil
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from earlier import made

ARCHIVE = Path(__file__).with_name("releases.tar.xz")
LATER_NAMES = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
"""Names of the last version may warn."""
pytestmark = LATER_NAMES
WRITTEN_ALIKE = (".csv", ".toml", ".json")
"""Files whose bytes a later version keeps; sentences of report.txt may change, and other formats hold the time."""


@pytest.fixture(scope="module")
def on_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folders, which tests only read."""
    folder: Path = tmp_path_factory.mktemp("earlier")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="tar")
    return folder


@pytest.fixture(scope="module")
def expected(on_file: Path) -> dict[str, Any]:
    said: dict[str, Any] = json.loads((on_file / "answers.json").read_text())
    return said


def in_turn(names: Iterable[str]) -> list[Any]:
    """Return names as parameters: the first of each folder in every run, the others among the slow tests."""
    found: list[Any] = []
    for name in names:
        first = not any(other.values[0].startswith(name.partition("/")[0]) for other in found)
        found.append(pytest.param(name, marks=() if first else pytest.mark.slow))
    return found


RELEASES = [*made.REPEATABLE, "private/counts", "private/sample", "private/ledger/first", "private/ledger/second"]


def test_every_folder_on_file_is_asked(on_file: Path, expected: dict[str, Any]) -> None:
    asked = {*RELEASES, *(f"series/{name}" for name in made.SERIES)}
    assert asked == set(expected)
    found = {str(path.parent.relative_to(on_file)) for path in on_file.rglob("release.json")}
    assert {name for name in found if not name.startswith(("series/", "comparison/"))} == set(RELEASES)


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_verifies_as_before(name: str, on_file: Path, expected: dict[str, Any]) -> None:
    found = sf.verify(on_file / name, **made.audit_of(on_file / name))
    assert found.ok is expected[name]["ok"]
    assert [check.outcome.name for check in found.checks] == expected[name]["outcomes"]


VERDICTS = {"headline", "verdict", "people_needed", "undecided", "allowed", "within"}
"""What attacks say of their figures, which the last version said by other rules (the curve decides now)."""


CLAIMS = {"homogeneity", "background-knowledge", "similarity"}
"""Attacks beside which the last version showed how often guessing is right about those whom the attacker chose."""


def without_verdicts(answers: Any, left_out: frozenset[str] = frozenset(VERDICTS)) -> Any:
    """Leave out what is judged, and the guess beside claims; every other figure stays."""
    if isinstance(answers, dict):
        if "refused" in answers:  # Which error it is may change; that it is refused may not.
            return "refused"
        left_out |= {"baseline"} if answers.get("attack") in CLAIMS else set()
        return {key: without_verdicts(value, left_out) for key, value in answers.items() if key not in left_out}
    return [without_verdicts(each, left_out) for each in answers] if isinstance(answers, list) else answers


@pytest.mark.parametrize("name", in_turn(RELEASES))
def test_a_release_answers_as_before(name: str, on_file: Path, expected: dict[str, Any]) -> None:
    found = json.loads(json.dumps(made.answers(on_file / name), default=str))
    assert without_verdicts(found) == without_verdicts(expected[name])


@pytest.mark.parametrize("name", RELEASES)
def test_a_changed_release_does_not_verify(name: str, on_file: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(on_file / name, tmp_path / "changed")
    described = json.loads((folder / "release.json").read_text())
    data = folder / next(iter(described["tables"].values()))["file"]
    content = bytearray(data.read_bytes())
    content[len(content) // 2] ^= 1
    data.write_bytes(content)
    try:
        found = sf.verify(folder)
    except (sf.VerificationError, sf.InputError):
        return  # No table can be read any more.
    assert not found.ok
    assert any(check.outcome.name == "BROKEN" for check in found.checks)


@pytest.mark.parametrize("name", in_turn(made.REPEATABLE))
def test_made_anew_it_has_the_same_bytes(name: str, on_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / Path(name).name
    made.REPEATABLE[name](folder)
    now, before = contents(folder), contents(on_file / name)
    # A report may say more; what it said stays as it was.
    known = {"report.json"} & set(before)
    reports = [json.loads(each.pop(file)) for each in (before, now) for file in known]
    for report in reports:
        report["limits"] = len(report.get("limits", ()))  # their words may change, as those of report.txt
    assert now == before
    if known:
        assert as_far_as(reports[0], reports[1]) == reports[0]


def as_far_as(before: Any, now: Any) -> Any:
    """Return what is said now, without keys that were not there before."""
    if isinstance(before, dict) and isinstance(now, dict):
        return {key: as_far_as(before[key], now[key]) for key in before if key in now}
    return now


def contents(folder: Path) -> dict[str, str]:
    """Return the files of a release, without what names versions, and hashes of files that may differ."""
    found = {path.name: path.read_text() for path in folder.iterdir() if path.suffix in WRITTEN_ALIKE}
    found["release.json"] = re.sub(r'"versions": \{[^}]*\}', "", found["release.json"])
    found["release.json"] = re.sub(r'"report\.(txt|json)": "[0-9a-f]{64}"', "", found["release.json"])
    if not any(path.suffix == ".csv" for path in folder.iterdir()):
        found["release.json"] = re.sub(r'"sha256": "[0-9a-f]{64}"', "", found["release.json"])
    return found


@pytest.mark.parametrize("name", made.SERIES)
def test_a_series_is_joined_as_before(name: str, on_file: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    series = sf.Series.open(on_file / "series" / name, **made.key_of(on_file / "series" / name))
    assert series.verify(ledger=True).ok
    found, before = made.next_month(on_file, name, tmp_path), dict(expected[f"series/{name}"])
    if name == "m-invariance":
        # Its classes lose less than those of the last version: people are exchanged between them.
        assert found.pop("sha256") != before.pop("sha256")
    assert found == before


@pytest.mark.parametrize("kind", made.DATABASES)
def test_a_release_in_a_database_verifies(kind: str, on_file: Path, tmp_path: Path) -> None:
    shutil.copytree(on_file / "databases", tmp_path / "databases")
    found = sf.verify(made.address(kind, tmp_path / "databases"), schema="of_march")
    assert found.ok
    assert len(found.checks) >= 6


def test_a_comparison_is_continued(on_file: Path, tmp_path: Path) -> None:
    before = made.compared(shutil.copytree(on_file / "comparison", tmp_path / "comparison"))
    seconds = [name for name in before.frame.columns if "second" in name]
    assert seconds, "what was read has the times of the runs that made it"
    again = made.compared(None)
    assert before.frame.drop(seconds).equals(again.frame.drop(seconds))
    assert not before.frame.equals(again.frame)


OF_RECIPIENTS = [name for name in RELEASES if name.startswith(("kinds/", "private/", "small/", "generalized/"))]


@pytest.mark.parametrize("name", in_turn(OF_RECIPIENTS))
def test_a_recipient_sees_every_kind_on_the_page(on_file: Path, name: str) -> None:
    """The page of the studio shows the tables of each kind, and recounts them."""
    pytest.importorskip("starlette")
    from starlette.testclient import TestClient

    from sfumato.studio.verifying import verifying_app

    app = verifying_app(on_file / name, 8123)
    client = TestClient(app, base_url="http://127.0.0.1:8123")
    page = client.get(app.address).text
    assert "What it does not protect" in page
    assert client.get("/grid").json()["height"] > 0
    recount = client.get("/recount").text
    assert ("It does<" in recount) == sf.verify(on_file / name).ok
