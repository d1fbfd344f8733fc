"""Attacks on several releases: a series stands, and releases that know nothing of each other fall."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sfumato as sf
from series.tables import SCHEMA, Person, covers, people, write_csv
from series.test_grow import read
from sfumato.cli.app import app
from sfumato.series.attacks import attack_releases

K = 5


@pytest.fixture
def months(tmp_path: Path) -> list[Path]:
    batches = [people(150), people(50, first=1000, seed=1), people(50, first=2000, seed=2)]
    return [write_csv(tmp_path / f"{number}.csv", batch) for number, batch in enumerate(batches)]


def independent(folder: Path, tables: list[Path]) -> list[Path]:
    """Publish everybody so far each month, without regard to the months before."""
    found, rows = [], ""
    for number, table in enumerate(tables):
        header, _, lines = table.read_text().partition("\n")
        rows += lines
        whole = folder / f"whole{number}.csv"
        whole.write_text(f"{header}\n{rows}")
        sf.anonymize(sf.read_table(whole, SCHEMA), sf.KAnonymity(K)).save(folder / f"release{number}")
        found.append(folder / f"release{number}")
    return found


@pytest.mark.parametrize("way", ["append", "grow"])
def test_a_series_stands(way: str, months: list[Path], tmp_path: Path) -> None:
    series = sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(K), table=months[0], way=way)
    for month in months[1:]:
        getattr(series, way)(month)
    found = attack_releases(series.releases, months)
    assert found.ok
    assert all(each.least_rows is not None and each.least_rows >= K for each in found.played if each.cases)
    assert min(found.alone) >= K


def test_independent_releases_fall(months: list[Path], tmp_path: Path) -> None:
    found = attack_releases(independent(tmp_path, months), months)
    assert not found.ok
    assert min(found.alone) >= K
    assert next(each.attack for each in found.played if each.below) == "intersection of all releases"
    assert min(each.least_rows or 0 for each in found.played) < K


def test_the_intersection_is_that_of_a_naive_program(tmp_path: Path) -> None:
    everybody: list[Person] = people(60)
    table = write_csv(tmp_path / "all.csv", everybody)
    paths = []
    for name, anonymizer in (("a", sf.Mondrian()), ("b", sf.KMember())):
        release = sf.anonymize(sf.read_table(table, SCHEMA), sf.KAnonymity(4), anonymizer=anonymizer)
        release.save(tmp_path / name)
        paths.append(tmp_path / name)
    tables = [read(path) for path in paths]
    least = []
    for _, age, city, _ in everybody:
        fits = [
            Counter(row["disease"] for row in rows if covers(row["age"], age) and covers(row["city"], city))
            for rows in tables
        ]
        least.append(sum((fits[0] & fits[1]).values()))
    (played, *_) = attack_releases(paths, [table]).played
    assert played.cases == 60
    assert played.least_rows == min(least)
    assert played.below == sum(rows < 4 for rows in least)


def test_from_the_command_line(months: list[Path], tmp_path: Path) -> None:
    run = CliRunner().invoke
    known = [word for month in months for word in ("--original", str(month))]
    fallen = run(app, ["attack", "--kind", "series", *map(str, independent(tmp_path, months)), *known])
    assert fallen.exit_code == 1, fallen.output
    assert "falls" in fallen.output
    series = sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(K), table=months[0], way="grow")
    series.grow(months[1])
    stood = run(app, ["attack", "--kind", "series", str(series.folder), *known[:4], "--json"])
    assert stood.exit_code == 0, stood.output
    assert json.loads(stood.stdout)["ok"]
    stranger = ["--original", str(write_csv(tmp_path / "x.csv", [("x", 5, "Z", "flu")]))]
    for wrong, said in ((stranger, "covered by no class"), (known, "one table of everybody")):
        refused = run(app, ["attack", "--kind", "series", str(series.folder), *wrong])
        assert refused.exit_code == 2
        assert said in " ".join(refused.output.split())
