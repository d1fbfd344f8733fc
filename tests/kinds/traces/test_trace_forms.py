"""Other forms of published traces say what the release says, and nothing else."""

from __future__ import annotations

import json
import random
import re
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from sfumato.errors import InputError
from sfumato.kinds.traces.forms import cells_as_geojson, clock_svg, map_svg, wide_form, write_forms
from sfumato.traces import TracePrivacy, TraceRelease, anonymize_traces, read_traces, save_traces


@pytest.fixture(scope="module")
def release() -> TraceRelease:
    draw = random.Random(2)
    rows = [
        (person, 46 + draw.choice((0, 0.1)), 14.5 + draw.choice((0, 0.1)), f"2026-03-0{day}T{hour:02d}:00", "<x>")
        for person in range(40)
        for day in (6, 7)
        for hour in (2, 10, 18)
    ]
    frame = pl.DataFrame(rows, schema=["who", "north", "east", "when", "ill"], orient="row")
    how = {"place": ("north", "east"), "time": "when", "zone": "Europe/Rome", "sensitive": "ill"}
    return anonymize_traces(read_traces(frame, person="who", **how), TracePrivacy(3, 2), seed=1)  # type: ignore[arg-type]


def test_the_wide_form_holds_every_point_once(release: TraceRelease) -> None:
    tables = release.tables
    wide = wide_form(tables)
    long = {(row["trace"], row["time"], row["place"]) for row in tables["traces"].iter_rows(named=True)}
    again = {
        (row["trace"], time, place)
        for row in wide.iter_rows(named=True)
        for time, places in row.items()
        if time not in ("trace", "ill") and places is not None
        for place in places.split(" | ")
    }
    assert again == long
    assert wide["ill"].to_list() == ["<x>"] * wide.height


def test_cells_have_their_squares_and_people(release: TraceRelease) -> None:
    rows = release.tables["traces"]
    found = cells_as_geojson(release.tables)["features"]
    assert len(found) == rows["place"].n_unique()
    for cell in found:
        there = rows.filter(place=cell["properties"]["place"])
        assert cell["properties"]["people"] == there["trace"].n_unique() >= 3
        assert sum(cell["properties"]["times"].values()) == there.height
        if cell["geometry"] is not None:
            ring = cell["geometry"]["coordinates"][0]
            assert ring[0] == ring[-1]
            east, north = (sum(corner[axis] for corner in ring[:4]) / 4 for axis in (0, 1))
            assert {*there.select("latitude", "longitude").unique().rows()} == {(f"{north:.12g}", f"{east:.12g}")}
            # Counter-clockwise, as RFC 7946 wants it.
            assert sum((b[0] - a[0]) * (b[1] + a[1]) for a, b in pairwise(ring)) < 0


def test_pictures_count_what_is_published(release: TraceRelease) -> None:
    places = dict(release.tables["traces"].group_by("place").agg(pl.col("trace").n_unique()).iter_rows())
    drawn = dict(re.findall(r"<title>(N[^:]*): (\d+) people</title>", map_svg(release.tables)))
    assert drawn == {place: str(people) for place, people in places.items() if place != "*"}
    clock = re.findall(r"<title>(\d\d):00, [^:]*: (\d+)</title>", clock_svg(release.tables))
    with_hours = release.tables["traces"].filter(pl.col("time").str.contains("/PT"))
    assert sum(int(count) for _, count in clock) == pytest.approx(with_hours.height, abs=24)
    for picture in (map_svg(release.tables), clock_svg(release.tables)):
        assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")


def test_a_folder_of_forms(release: TraceRelease, tmp_path: Path) -> None:
    folder = write_forms(release, tmp_path / "forms")
    assert {path.name for path in folder.iterdir()} == {"wide.csv", "report.html", "cells.geojson"}
    assert json.loads((folder / "cells.geojson").read_text()) == cells_as_geojson(release.tables)
    assert "Where people were" in (folder / "report.html").read_text()
    with pytest.raises(InputError):
        write_forms(release, tmp_path / "forms")


def test_a_recipient_sees_both_pictures_in_the_studio(release: TraceRelease, tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    from starlette.testclient import TestClient

    from sfumato.studio.verifying import verifying_app

    app = verifying_app(save_traces(release, tmp_path / "release"), 8123)
    client = TestClient(app, base_url="http://127.0.0.1:8123")
    page = client.get(app.address).text
    assert page.count("<svg") == 2
    assert "Map of published cells" in page
    # Styles that stand at elements are refused by the pages' policy, so that pictures must do without.
    assert not re.search(r"<svg[^>]*style=", page)
    assert "more than L points" in page
    assert "It does<" in client.get("/recount").text


def test_codes_have_bars_and_no_cells() -> None:
    tables = {"traces": pl.DataFrame({"trace": [1, 2], "place": ["<b>", "c"], "time": ["*", "*"]})}
    with pytest.raises(InputError, match="these places are codes"):
        cells_as_geojson(tables)
    assert "&lt;b&gt;" in map_svg(tables)
    assert "2 points of a day and more are not drawn" in clock_svg(tables)
    times = [f"t{number}" for number in range(2001)]
    many = {"traces": pl.DataFrame({"trace": [1] * 2001, "place": ["c"] * 2001, "time": times})}
    with pytest.raises(InputError, match="2,001 times are too many columns"):
        wide_form(many)
