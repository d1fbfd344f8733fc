"""What Look shows of a release before and after, and handing it over in the recipient's format."""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import suppress

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.classes.population_uniqueness import population_uniqueness
from sfumato.numbers import percent
from sfumato.studio.pages import ticks
from sfumato.studio.routes import sign
from sfumato.studio.routes.look import CLASS_BANDS, bars
from sfumato.studio.routes.sign import Marks
from studio.desks import opened, people, waited

FORMATS = ("csv", "parquet", "xlsx", "sav", "dta")


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("look")
    with opened(folder, people(folder / "people.csv")) as made:
        made.enter()
        made.set_up()
        made.post("/runs/start", what="release")
        assert waited(made.desk.jobs, 1, 120).state == "done"
        yield made


def rows(page, caption):
    """Return the cells of a chart's table, by the words of its caption."""
    table = page.partition(caption)[2].partition("</table>")[0]
    found = re.findall(r"<tr><th[^>]*>(.*?)</th>.*?</tr>", table, re.DOTALL)
    cells = [re.findall(r'<td class="n">([^<]*)</td>', row) for row in re.findall(r"<tr><th.*?</tr>", table, re.DOTALL)]
    return {name: [float(cell.replace(",", "")) for cell in its] for name, its in zip(found, cells, strict=True) if its}


def test_class_sizes_and_risks_are_those_of_the_tables(studio):
    page = studio.get("/look/1/classes").text
    quasi = ["age", "sex", "zip"]
    original = pl.read_csv(studio.desk.project.table).select(quasi).rows()
    release = studio.desk.release(1)[1].published.data.select(quasi).rows()
    sizes = [[many for many in Counter(side).values() for _ in range(many)] for side in (original, release)]
    shown = rows(page, "Records by the size of their class")
    assert len(shown) == len(CLASS_BANDS)
    for (low, high), found in zip(CLASS_BANDS, shown.values(), strict=True):
        assert found == [sum(low <= size <= (high or size) for size in side) for side in sizes]
    for (name, found), size in zip(rows(page, "Records whose risk").items(), (2, 5, 10, 20), strict=True):
        assert name == f"above 1 in {size}"
        assert found == [sum(each < size for each in side) for side in sizes]
    assert min(sizes[1]) >= 3


def test_widths_of_cells_are_counted_once_for_each_record(studio):
    page = studio.get("/look/1/classes").text
    cells = studio.desk.release(1)[1].published.data["age"].cast(pl.String).to_list()
    ages = pl.read_csv(studio.desk.project.table)["age"]
    shares = []
    for cell in cells:
        ends = [float(end) for end in re.findall(r"\d+", cell)]
        shares.append((max(ends) - min(ends)) / (ages.max() - ages.min()))
    limits = (0.0, 0.05, 0.1, 0.25, 0.5, 1.0)
    naive = Counter(next(limit for limit in limits if share <= limit + 1e-9) for share in shares)
    shown = [its[0] for its in rows(page, "age: half of the records").values()]
    assert shown == [naive[limit] for limit in limits]
    assert sum(shown) == len(cells)


def test_a_column_and_a_cross_table_stand_before_and_after(studio):
    page = studio.get("/look/1/seen?one=sick").text
    values = Counter(pl.read_csv(studio.desk.project.table)["sick"].to_list())
    # A sensitive column is published as it is.
    assert rows(page, "Records by sick") == {value: [many, many] for value, many in values.items()}
    page = studio.get("/look/1/seen?one=age&two=sick").text
    cells = re.findall(r'<td class="n"><span class="soft">([\d.,]+) →</span> ([\d.,]+)</td>', page)
    for side in (0, 1):
        assert sum(float(cell[side].replace(",", "")) for cell in cells) == pytest.approx(120, rel=0.01)
    studio.post("/values", value="hide")
    try:
        hidden = studio.get("/look/1/seen?one=sick").text + studio.get("/look/1/seen?one=age&two=sick").text
    finally:
        studio.post("/values", value="show")
    assert not any(value in hidden for value in values)
    assert studio.get("/look/1/seen?one=name").status_code == 404
    assert studio.get("/look/1/seen?one=").status_code == 404


def test_rows_by_class_stand_together_with_the_size_of_each(studio):
    grid = studio.get("/grid?of=1&by=class&count=500").json()
    assert grid["names"][:2] == ["class", "records in it"]
    assert grid["height"] == 120
    places = [grid["names"].index(name) for name in ("age", "sex", "zip")]
    cells = [tuple(row[place] for place in places) for row in grid["rows"]]
    sizes, numbers = Counter(cells), [int(row[0]) for row in grid["rows"]]
    assert [int(row[1]) for row in grid["rows"]] == [sizes[its] for its in cells]
    assert len(set(zip(numbers, cells, strict=True))) == len(sizes) == len(set(numbers))
    assert numbers == sorted(numbers)
    assert [sizes[its] for its in cells] == sorted(sizes[its] for its in cells)
    assert grid["rows"][5:7] == studio.get("/grid?of=1&by=class&start=5&count=2").json()["rows"]


def test_uniques_of_a_population_are_estimated_from_the_class_sizes(studio):
    quasi = ["age", "sex", "zip"]
    sides = pl.read_csv(studio.desk.project.table), studio.desk.release(1)[1].published.data
    sizes = [side.group_by(quasi).len()["len"].cast(pl.Int64).to_numpy() for side in sides]
    page = studio.get("/look/1/population?people=2,400").text
    chosen = [population_uniqueness(each, 120 / 2400).share for each in sizes]
    shown = re.findall(r">2,400</th>.*?<td class=\"n\">(.*?)</td><td class=\"n\">(.*?)</td>", page, re.DOTALL)
    assert shown == [tuple(percent(share, 3) for share in chosen)]
    assert chosen[0] > chosen[1]
    assert "at least 120" in studio.get("/look/1/population?people=119").text
    assert studio.get("/look/1/population?people=many").status_code == 404


def test_a_regression_stands_before_and_after(studio):
    page = studio.get("/look/1/regression?target=age&on=sick&on=sex").text
    original = pl.read_csv(studio.desk.project.table)
    design = np.column_stack(
        [np.ones(120), *((original[name] == value).to_numpy() for name, value in (("sick", "flu"), ("sex", "m")))]
    )
    for name in ("(intercept)", "sick", "sex"):
        assert name in page
    alone = studio.get("/look/1/regression?target=age&on=sex").text
    fit = np.linalg.lstsq(design[:, [0, 2]], original["age"].to_numpy(), rcond=None)[0]
    shown = re.findall(r'<td class="n">(-?[\d.]+) <span', alone)
    # One of the two values of sex is the usual one; the slope has one sign or the other.
    assert any(abs(abs(float(each)) - abs(fit[1])) < 0.01 for each in shown)
    assert studio.get("/look/1/regression?target=age&on=age").status_code == 404
    assert studio.get("/look/1/regression?target=sick&on=age").status_code == 404


def test_marks_of_an_axis_are_round_and_end_within_it():
    assert ticks(0) == []
    for top in (0.037, 1, 7, 10, 99, 30_161, 5e-5):
        numbers = [number for _, number in ticks(top)]
        assert 3 <= len(numbers) <= 5
        assert numbers[0] == 0
        assert top * 0.6 < numbers[-1] <= top
        assert all(round(place * top, 3) == pytest.approx(number, rel=0.01) for place, number in ticks(top) if top > 1)


def test_lines_are_drawn_on_one_scale_and_nobody_is_left_out():
    drawn = bars([("a", 0, 1), ("b", 1_000_000, 500_000)])
    assert [bar.lengths for bar in drawn] == [(0.0, 1.5), (200.0, 100.0)]
    assert bars([]) == []
    assert bars([(None, 0, 0)])[0].lengths == (0.0, 0.0)


@pytest.mark.parametrize("format", FORMATS)
def test_a_release_is_handed_over_in_the_format_of_its_recipient(studio, format):
    studio.post("/sign/earlier", earlier="")
    answer = studio.post("/sign/hand-over", run="1", name=f"given-{format}", format=format)
    assert answer.status_code == 200, answer.text
    folder = studio.desk.project.place / f"given-{format}"
    told = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    assert told["tables"]["data"]["file"] == f"data.{format}"
    assert {path.name for path in folder.iterdir()} == {
        *("release.json", "policy.toml", "report.json", "report.txt"),
        f"data.{format}",
    }
    found, before = sf.verify(folder), sf.verify(studio.desk.release_folder(studio.desk.jobs.get(1)))
    assert found.ok
    assert [(check.promise, check.outcome) for check in found.checks if "data." not in check.promise] == [
        (check.promise, check.outcome) for check in before.checks if "data." not in check.promise
    ]
    assert f"data.{format}" in folder.with_name(f"given-{format}-receipt.html").read_text(encoding="utf-8")
    # A copy that somebody changes is found out.
    with (folder / f"data.{format}").open("ab") as file:
        file.write(b"\n")
    # Some formats cannot be read any more.
    with suppress(sf.VerificationError):
        assert not sf.verify(folder).ok


def test_a_spreadsheet_has_one_mark_before_all_fractions(studio):
    studio.post("/sign/earlier", earlier="")
    sent = {"run": "1", "name": "marked", "format": "csv"}
    answer = studio.post("/sign/hand-over", **sent, separator=";", decimal=",")
    assert "marked-data.csv" in answer.json()["said"]
    place = studio.desk.project.place
    shown = pl.read_csv(place / "marked-data.csv", separator=";", infer_schema=False)
    assert shown.equals(pl.read_csv(place / "marked" / "data.csv", infer_schema=False))
    assert sf.verify(place / "marked").ok
    for separator, decimal in ((",", ","), ("|", "."), (";", "x")):
        refused = studio.post("/sign/hand-over", **{**sent, "name": "odd"}, separator=separator, decimal=decimal)
        assert refused.status_code == 422
    assert not (place / "odd").exists()
    for name in ("aux", "NUL.release", "a:b", "what?", "end."):
        refused = studio.post("/sign/hand-over", **{**sent, "name": name})
        assert "Windows cannot have a folder of this name" in refused.json()["problems"][0]
    # The written file is read again: one that came out otherwise is removed and said.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sign, "write_whole", lambda path, text, *_: path.write_text(text.replace("flu", "flue"), "utf-8"))
        refused = studio.post("/sign/hand-over", **{**sent, "name": "torn"}, separator=";", decimal=",")
    assert "is not the release that was verified" in refused.json()["problems"][0]
    assert not (place / "torn-data.csv").exists()
    marks = Marks(";", ",")
    assert marks.cells(pl.Series("a", ["1490.43-2000.5", "*", None, "-7"]), ends=True) == [
        "1490,43-2000,5",
        "*",
        None,
        "-7",
    ]
    assert marks.cells(pl.Series("a", ["69.9", "-5", "1.25"]), ends=False) == ["69,9", "-5", "1,25"]
    # What passed through with a comma keeps it, and text is no number.
    assert marks.cells(pl.Series("a", ["69,9", "70"]), ends=False) == ["69,9", "70"]
    assert Marks().cells(pl.Series("a", ["69,9", "70"]), ends=False) == ["69.9", "70"]
    assert marks.cells(pl.Series("a", ["v1.2", "3.4"]), ends=False) == ["v1.2", "3.4"]
    with pytest.raises(sf.InputError, match="cannot be written"):
        marks.cells(pl.Series("a", ["1.5", "{1,2}"]), ends=True)


def test_an_unknown_format_and_a_folder_that_is_there_are_refused(studio):
    place = studio.desk.project.place
    for fields in ({"name": "x", "format": "doc"}, {"name": "x", "format": "../x"}, {"name": "../x"}, {"name": ""}):
        assert studio.post("/sign/hand-over", run="1", **fields).status_code == 422
    assert not (place / "x").exists()
    page = studio.get("/sign").text
    assert all(f'<option value="{format}"' in page for format in FORMATS)
