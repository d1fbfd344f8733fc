"""Series in the studio: a recipient recounts all of one, and its last release is that of last time."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from starlette.testclient import TestClient

import sfumato as sf
from sfumato.series.verify import verify_series
from sfumato.studio.verifying import verifying_app
from studio.desks import opened, people, waited

COLUMNS = {"name": "identifying", "age": "quasi-identifying", "sex": "quasi-identifying", "sick": "sensitive"}
ROLES = {**COLUMNS, "zip": "left out", "ward": "left out"}


def series(folder: Path, way: str = "append", months: int = 2) -> Path:
    """Publish a series of some months, in each of which people come."""
    file = folder / "policy.toml"
    file.write_text(
        '[columns]\nperson = "name"\nsensitive = ["sick"]\nothers = "drop"\n[columns.quasi-identifying]\nage = {}\n'
        'sex = {}\n[[models]]\nname = "k-anonymity"\nk = 3\n',
        encoding="utf-8",
    )
    whole = pl.read_csv(people(folder / "people.csv", rows=60 * months))
    start = {"table": whole.head(60), "seed": 1, "way": way, "accept_gap": way == "grow"}
    made = sf.Series.start(folder / "monthly", sf.Policy.from_file(file), **start)
    for month in range(1, months):
        getattr(made, way)(whole.slice(60 * month, 60), seed=1)
    return folder / "monthly"


def client_of(folder: Path) -> TestClient:
    app = verifying_app(folder, 8123, say=lambda line: None)
    client = TestClient(app, base_url="http://127.0.0.1:8123")
    assert client.get("/recount").status_code == 401
    assert client.get(app.address).status_code == 200
    return client


@pytest.mark.parametrize("way", ["append", "grow"])
def test_a_recipient_recounts_a_whole_series(tmp_path, way):
    folder = series(tmp_path, way)
    client = client_of(folder)
    page = client.get("/").text
    assert "Does this series keep what it promises?" in page
    assert "sfumato verify monthly" in page
    assert "monthly/0002, the last release" in page
    recount = client.get("/recount").text
    assert "✓ It does" in recount
    assert "Release 1" in recount
    assert f"Release 2 ({way})" in recount
    assert "nobody can recount" in recount
    assert client.get("/grid").json()["height"] == 120


def test_a_series_with_a_release_that_is_gone_does_not_hold(tmp_path):
    folder = series(tmp_path, months=3)
    (folder / "0002").rename(tmp_path / "taken")
    recount = client_of(folder).get("/recount").text
    assert "✕ It does not" in recount
    assert "broken" in recount


def test_the_last_release_of_a_series_is_attacked_before_anything_is_handed_over(tmp_path):
    series(tmp_path)
    with opened(tmp_path, tmp_path / "people.csv") as studio:
        studio.enter().set_up(ROLES)
        assert studio.post("/runs/start", what="release").status_code == 200
        assert waited(studio.desk.jobs, 1).state == "done"
        assert list(studio.desk.beside()) == ["monthly/0002"]
        assert studio.post("/sign/hand-over", run="1", name="given").status_code == 422
        assert studio.post("/sign/earlier", earlier="monthly/0001").status_code == 422
        assert studio.post("/sign/earlier", earlier="monthly/0002").status_code == 200
        page = studio.get("/sign").text
        assert "It is the last release of a series." in page
        assert "Attack this release and monthly/0002 together first." in page
        assert studio.post("/sign/hand-over", run="1", name="given").status_code == 422
        assert studio.post("/sign/attack", run="1", earlier="monthly/0002").status_code == 200
        attacked = waited(studio.desk.jobs, 2, 240)
        assert attacked.state == "done", attacked.problems
        assert attacked.title == "attack on release 1, beside monthly/0002"
        assert "intersection" in {result["attack"] for result in attacked.result["results"]}
        assert "attacked beside monthly/0002" in studio.get("/sign").text
        assert studio.post("/sign/hand-over", run="1", name="given").status_code == 200


def test_a_series_is_continued_by_a_button_and_says_why_where_it_is_not(tmp_path):
    monthly = series(tmp_path, months=1)
    newcomers = people(tmp_path / "march.csv", rows=60).read_text(encoding="utf-8").replace("Person", "Newcomer")
    march = tmp_path / "march.csv"
    march.write_text(newcomers + "\n".join(people(tmp_path / "known.csv", 3).read_text().splitlines()[1:]) + "\n")
    with opened(tmp_path, march) as studio:
        studio.enter()
        assert "Continue the series monthly" in studio.get("/runs").text
        assert studio.post("/runs/start", what="series", series="weekly").status_code == 422
        assert studio.post("/runs/start", what="series", series="monthly").status_code == 200
        assert waited(studio.desk.jobs, 1).state == "failed"
        page = studio.get("/runs").text
        assert "choose “without people who are in it already”" in page
        assert "--leave" not in page
        assert studio.post("/runs/start", what="series", series="monthly", known="out").status_code == 200
        assert waited(studio.desk.jobs, 2).state == "done"
        # As in the terminal: no promise of the series speaks of what is sensitive, and the head is to be noted.
        page = studio.get("/runs").text
        assert "✓ verified, with something open" in page
        assert "No promise covers the sensitive column" in page
        assert "Head of the series: sha256" in page
    few = tmp_path / "april"
    few.mkdir()
    march.write_text("\n".join(newcomers.replace("Newcomer", "Late").splitlines()[:3]) + "\n", encoding="utf-8")
    with opened(few, march) as studio:
        studio.enter()
        assert studio.post("/runs/start", what="series", series="monthly").status_code == 200
        assert waited(studio.desk.jobs, 1).state == "done"
        page = studio.get("/runs").text
        assert "nothing is published yet" in page
        assert "✓ verified" not in page
        assert "A class needs at least 3 people" in page
    assert verify_series(monthly).ok
    assert [path.name for path in sorted(monthly.glob("0*"))] == ["0001", "0002"]


def test_a_damaged_series_is_no_release_of_last_time(tmp_path):
    folder = series(tmp_path)
    (folder / "series.json").write_text("{", encoding="utf-8")
    with opened(tmp_path, tmp_path / "people.csv") as studio:
        assert studio.desk.beside() == {}
