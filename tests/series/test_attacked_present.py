"""The intersection of sensitive values where people also leave: m-invariance stands, independent releases fall."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sfumato as sf
from series.tables import SCHEMA, covers, write_csv
from series.test_grow import read
from series.test_invariant_series import PAIRS, VALUES, WAY, Person, frame, invented, models, months
from sfumato.cli.app import app
from sfumato.series.attacks import attack_present

M = 3


@pytest.fixture(scope="module")
def walk() -> list[list[Person]]:
    drawn = random.Random(7)
    return list(islice(months(invented(400, VALUES, drawn), 120, 30, drawn), 4))


def tables(walk: Sequence[Sequence[Person]], folder: Path) -> list[Path]:
    return [write_csv(folder / f"month{number}.csv", people) for number, people in enumerate(walk)]


def independent(walk: Sequence[Sequence[Person]], folder: Path) -> list[Path]:
    found = []
    for number, people in enumerate(walk):
        release = sf.anonymize(sf.read_table(frame(people), SCHEMA), models(M))
        release.save(folder / f"release{number}")
        found.append(folder / f"release{number}")
    return found


def left_to(releases: Sequence[Path], walk: Sequence[Sequence[Person]]) -> list[int]:
    """Count the values that are left to everybody who is in several months, row by row."""
    found = dict[str, list[set[str]]]()
    for release, people in zip(releases, walk, strict=True):
        rows = read(release)
        for name, age, city, _ in people:
            fits = {row["disease"] for row in rows if covers(row["age"], age) and covers(row["city"], city)}
            found.setdefault(name, []).append(fits)
    return [len(set.intersection(*sets)) for sets in found.values() if len(sets) > 1]


def test_m_invariance_stands(walk: list[list[Person]], tmp_path: Path) -> None:
    series = sf.Series.start(tmp_path / "s", SCHEMA, models(M), table=frame(walk[0]), way=WAY)
    for people in walk[1:]:
        series.republish(frame(people), most_counterfeits=0.2)
    found = attack_present(series.releases, tables(walk, tmp_path), "name")
    left = left_to(series.releases, walk)
    (played,) = found.played
    assert found.ok
    assert (played.cases, played.least_values, played.below) == (len(left), min(left), 0)
    assert min(left) >= M == found.promised
    assert "stands; 3 values at least" in str(found) or (played.least_values or 0) > M


def test_independent_releases_fall(walk: list[list[Person]], tmp_path: Path) -> None:
    releases = independent(walk, tmp_path)
    found = attack_present(releases, tables(walk, tmp_path), "name")
    left = left_to(releases, walk)
    (played,) = found.played
    assert not found.ok
    assert min(found.alone) >= M
    assert played.cases == len(left)
    assert played.least_values == min(left)
    assert (played.below, played.alone) == (sum(each < M for each in left), sum(each <= 1 for each in left))
    assert played.below > 0


def run(*words: object) -> tuple[int, str]:
    found = CliRunner().invoke(app, [str(word) for word in words])
    assert found.exception is None or isinstance(found.exception, SystemExit)
    return found.exit_code, found.output


def test_from_the_command_line(tmp_path: Path) -> None:
    series = sf.Series.start(tmp_path / "s", SCHEMA, models(2), table=frame(PAIRS), way=WAY)
    series.republish(frame(PAIRS[:3]), most_counterfeits=0.5)
    known = [word for path in tables([PAIRS, PAIRS[:3]], tmp_path) for word in ("--original", path)]
    code, told = run("attack", "--kind", "series", series.folder, *known, "--key", "name", "--json")
    assert code == 0, told
    assert json.loads(told)["played"][0]["least_values"] == 2
    assert run("attack", "--kind", "series", series.folder, *known)[0] == 2
    for words, said in (
        ((*known[:2], "--key", "name"), "give for each release the table of everybody"),
        ((*known, "--key", "city"), "is published"),
        ((*known, "--key", "nobody"), "nobody"),
    ):
        code, told = run("attack", "--kind", "series", series.folder, *words)
        assert code == 2
        assert said in " ".join(told.split())


def test_who_is_there_twice_or_nowhere_is_refused(tmp_path: Path) -> None:
    series = sf.Series.start(tmp_path / "s", SCHEMA, models(2), table=frame(PAIRS), way=WAY)
    series.republish(frame(PAIRS))
    twice, stranger = [*PAIRS, PAIRS[0]], [*PAIRS, ("x", 99, "Q", "flu")]
    for people, said in ((twice, "there twice"), (stranger, "covered by no class")):
        with pytest.raises(sf.InputError, match=said):
            attack_present(series.releases, tables([PAIRS, people], tmp_path), "name")


def test_releases_that_promise_no_values_are_refused(tmp_path: Path) -> None:
    paths = []
    for number in range(2):
        sf.anonymize(sf.read_table(frame(PAIRS), SCHEMA), sf.KAnonymity(2)).save(tmp_path / str(number))
        paths.append(tmp_path / str(number))
    with pytest.raises(sf.PolicyError, match="promises no number of different sensitive values"):
        attack_present(paths, tables([PAIRS, PAIRS], tmp_path), "name")
