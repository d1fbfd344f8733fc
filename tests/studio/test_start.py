"""The start page: what it opens, what it remembers, and that nothing of a file that was dropped stays."""

from __future__ import annotations

import os
import shutil
import tempfile
import tomllib
from collections import namedtuple
from contextlib import contextmanager
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import sfumato as sf
import sfumato.studio.start as start_page
from databases import on_server
from databases import people as of_every_type
from sfumato.studio.guard import LARGE, MOST, Guard
from sfumato.studio.project import Project, locked
from sfumato.studio.serve import _pages_of
from sfumato.studio.start import PREFIX, Recent, Start, in_bytes, remove_left_files, state_file
from studio.desks import OURS, PORT, people

ROWS = "age;sick\n" + "".join(f"{20 + row % 5};{'flu' if row % 2 else 'cold'}\n" for row in range(30))


class Begun:
    """A client of a studio that was begun without a table."""

    def __init__(self, folder: Path, monkeypatch) -> None:
        self.work, self.private = folder / "work", folder / f"{PREFIX}test"
        self.work.mkdir(exist_ok=True)
        monkeypatch.chdir(self.work)
        self.recent = Recent(folder / "state" / "sfumato" / "studio.toml")
        self.start = Start(
            lambda p, policy: _pages_of(p, policy, lambda: None), self.private, lambda: None, None, self.recent
        )
        app = Guard(self.start, PORT)
        self.client = TestClient(app, base_url=f"http://127.0.0.1:{PORT}", follow_redirects=False)
        assert self.client.get("/").status_code == 401
        assert self.client.post(LARGE, content=b"x", headers=OURS).status_code == 401
        assert self.client.get(app.address).status_code == 303

    def drop(self, name: str, content: bytes, **headers: str):
        return self.client.post(LARGE, params={"name": name}, content=content, headers={**OURS, **headers})

    def post(self, path: str, **fields: str):
        return self.client.post(f"/start/{path}", data=fields, headers=OURS)


@pytest.fixture
def begin(tmp_path, monkeypatch):
    @contextmanager
    def made():
        begun = Begun(tmp_path, monkeypatch)
        try:
            yield begun
        finally:
            begun.start.close()

    return made


def test_a_file_that_is_dropped_lies_in_private_and_goes_when_the_studio_is_closed(begin):
    with begin() as begun:
        assert begun.drop("t.csv", ROWS.encode()).status_code == 200
        file = begun.private / "dropped" / "t.csv"
        assert file.read_text() == ROWS
        assert file.stat().st_mode & 0o777 == 0o600
        assert begun.private.stat().st_mode & 0o777 == 0o700
        assert file.parent.stat().st_mode & 0o777 == 0o700
        assert "t.csv" in begun.client.get("/").text
        assert begun.client.get("/columns").status_code == 200
        # Once a table is open, nothing else is taken.
        assert begun.drop("u.csv", ROWS.encode()).status_code == 404
        assert begun.recent.works == []
        # What is handed over goes where the studio was begun, as the private folder goes.
        assert begun.start._app._desk.project.place == begun.work
    assert not begun.private.exists()


def test_a_large_file_is_taken_and_nothing_else_may_be_large(begin):
    large = (ROWS + "20;flu\n" * 200_000).encode()
    assert len(large) > MOST
    with begin() as begun:
        assert begun.client.post("/start/here", content=large, headers=OURS).status_code == 413
        assert begun.drop("t.csv", large).status_code == 200


@pytest.mark.parametrize("name", ["", "../t.csv", "/etc/t.csv", ".t.csv", "a/b.csv", "a\0.csv", "x" * 300 + ".csv"])
def test_names_that_lead_elsewhere_are_refused(begin, name):
    with begin() as begun:
        assert begun.drop(name, ROWS.encode()).status_code == 422
        assert not any(path.is_file() and path.name != ".lock" for path in begun.private.rglob("*"))


def test_what_breaks_off_or_cannot_be_read_leaves_nothing(begin, monkeypatch):
    with begin() as begun:
        answer = begun.drop("t.csv", ROWS.encode(), **{"content-length": "99999"})
        assert "did not arrive whole" in answer.json()["problems"][0]
        answer = begun.drop("t.xlsx", b"no workbook")
        assert answer.status_code == 422
        usage = namedtuple("usage", "total used free")(10, 10, 12_300_000)
        monkeypatch.setattr(start_page.shutil, "disk_usage", lambda folder: usage)
        answer = begun.drop("t.csv", ROWS.encode())
        assert "only 12.3 MB are free" in answer.json()["problems"][0]
        assert [*(begun.private / "dropped").iterdir()] == []
        # The page is still there, and takes another one.
        monkeypatch.undo()
        assert begun.drop("t.csv", ROWS.encode()).status_code == 200


def test_a_disk_that_is_full_is_named(begin, monkeypatch):
    def full(*given, **more):
        raise OSError(28, "No space left on device")

    with begin() as begun:
        monkeypatch.setattr(start_page.os, "fdopen", full)
        assert "the disk is full" in begun.drop("t.csv", ROWS.encode()).json()["problems"][0]


def test_a_file_that_asks_how_it_is_read_is_asked_about_on_the_page(begin):
    text = "name;age\n" + "".join(f"{'Köln' if row < 4 else 'Bonn'}, {row};{row}\n" for row in range(30))
    with begin() as begun:
        assert "asks how the file" in begun.drop("t.csv", text.encode("cp1252")).json()["said"]
        assert "The row that breaks" in begun.client.get("/").text


def test_a_sheet_of_a_workbook_is_named_on_the_page(begin):
    from openpyxl import Workbook

    book = Workbook()
    for sheet in (book.active, book.create_sheet("the second")):
        for row in [["age", "sick"], *([20 + number, "flu"] for number in range(30))]:
            sheet.append(row)
    with begin() as begun:
        book.save(begun.work / "t.xlsx")
        refused = begun.post("here", table="t.xlsx")
        assert refused.json()["problems"] == ["t.xlsx: the workbook has 2 sheets with values; choose one of these"]
        assert refused.json()["sheets"] == ["Sheet", "the second"]
        assert begun.post("here", table="t.xlsx", sheet="the second").status_code == 200
        assert begun.start._app._desk.table.height == 30


def test_a_table_is_opened_at_its_place_and_work_goes_on_later(begin):
    with begin() as begun:
        people(begun.work / "people.csv")
        (begun.work / "notes.md").write_text("no table")
        page = begun.client.get("/").text
        assert "people.csv" in page
        assert "notes.md" not in page
        for name in ("notes.md", "../people.csv", "", "none.csv"):
            assert begun.post("here", table=name).status_code == 422
        assert begun.post("here", table="people.csv", keep="yes").status_code == 200
        assert not (begun.private / "dropped").exists()
    with begin() as begun:
        (work,) = begun.recent.works
        assert {*work} == {"table", "project", "time"}
        file = begun.recent._file
        assert file.stat().st_mode & 0o777 == 0o600
        assert file.parent.stat().st_mode & 0o777 == 0o700
        assert "Person0" not in file.read_text()
        assert work["project"] in begun.client.get("/").text
        assert begun.post("work", work="1").status_code == 422
        assert begun.post("work", work="0").status_code == 200
        assert begun.client.get("/columns").status_code == 200


def test_recent_work_is_emptied_and_switched_off(tmp_path):
    table = people(tmp_path / "people.csv")
    recent = Recent(tmp_path / "state" / "studio.toml")

    def opened(name: str) -> None:
        project = Project.opened(tmp_path / name, table, {})
        recent.add(project)
        project.close()

    for name in ("a", "b", "a"):
        opened(name)
    assert [Path(work["project"]).name for work in recent.works] == ["a", "b"]
    recent.forget()
    assert (recent.works, recent.is_on) == ([], True)
    opened("a")
    recent.switch(on=False)
    opened("b")
    recent.forget()
    assert (recent.works, recent.is_on) == ([], False)
    assert tomllib.loads((tmp_path / "state" / "studio.toml").read_text()) == {"off": True}
    recent.switch(on=True)
    for number in range(20):
        opened(f"p{number}")
    assert len(recent.works) == 12
    table.unlink()
    assert recent.works == []
    for content in ("x = [", "work = 3", "off = 1\nwork = []"):
        (tmp_path / "state" / "studio.toml").write_text(content)
        assert recent.works == []
    nowhere = Recent(None)
    nowhere.switch(on=True)
    assert (nowhere.is_on, nowhere.works) == (False, [])


def test_the_next_start_removes_what_a_killed_studio_left(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name, parts in {
        "killed": ["dropped/t.csv"],
        "released": ["dropped/t.csv", "project/jobs/0001/release/release.json"],
        "open": ["dropped/t.csv"],
        "of-before": ["project/x"],
    }.items():
        for part in parts:
            path = tmp_path / f"{PREFIX}{name}" / part
            path.parent.mkdir(parents=True)
            path.write_text("x")
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(tmp_path / f"{PREFIX}killed", elsewhere)
    (tmp_path / f"{PREFIX}link").symlink_to(elsewhere)
    held = locked(tmp_path / f"{PREFIX}open")
    try:
        remove_left_files()
    finally:
        os.close(held)
    left = {path.name.removeprefix(PREFIX) for path in tmp_path.glob(f"{PREFIX}*")}
    assert left == {"released", "open", "of-before", "link"}
    assert not (tmp_path / f"{PREFIX}released" / "dropped").exists()
    assert (tmp_path / f"{PREFIX}open" / "dropped" / "t.csv").exists()
    assert (elsewhere / "dropped" / "t.csv").exists()


def test_the_list_lies_where_the_system_says(monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "/somewhere")
    assert state_file() == Path("/somewhere/sfumato/studio.toml")
    monkeypatch.setenv("XDG_STATE_HOME", "not/absolute")
    assert state_file() == Path.home() / ".local" / "state" / "sfumato" / "studio.toml"


def test_sizes_are_written_as_people_do():
    assert [in_bytes(size) for size in (12, 20_800, 12_300_000, 4_000_000_000)] == [
        "12 bytes",
        "20.8 kB",
        "12.3 MB",
        "4.0 GB",
    ]


def test_a_table_of_a_database_is_copied_into_private_and_its_password_is_nowhere(begin, postgresql):
    database, secret = on_server(postgresql), "open sesame"
    database.run("CREATE TABLE visits (age int)", "GRANT ALL ON SCHEMA public TO guarded", "DROP TABLE visits")
    of_every_type().write_database("visits", database.url, engine="adbc", if_table_exists="replace")
    database.run("GRANT SELECT ON visits TO guarded")
    guarded, said = database.url.replace("steward@", "guarded@"), list[str]()
    with begin() as begun:
        for url, password, words in (
            (guarded, "wrong & wide", "refused the user or the password"),
            (guarded.replace("guarded@", f"guarded:{secret}@"), "", "leave the password out of the URL"),
            ("mysql://host/db", secret, "write its URL"),
            ("sqlite:////not/there.db", secret, "no such database file"),
        ):
            answer = begun.post("database", url=url, password=password)
            said.append(answer.text)
            assert answer.status_code == 422
            assert words in answer.text
        assert begun.post("copy", table="visits").status_code == 422
        answer = begun.post("database", url=guarded, password=secret)
        assert answer.json()["said"] == "The database has 1 table."
        page = begun.client.get("/").text
        assert "<option>visits</option>" in page
        assert begun.post("copy", table="pg_class").status_code == 422
        assert "is none of those that are listed" in begun.client.get("/start/size?table=pg_class").text
        rows, width = of_every_type().shape
        size = begun.client.get("/start/size?table=visits").text
        assert f"{rows:,} records and {width} columns, about" in size
        said.append(size)
        said += [answer.text, page, repr(begun.start.database), begun.post("copy", table="visits").text]
        assert begun.start.database is None
        file = begun.private / "dropped" / "visits.parquet"
        assert file.stat().st_mode & 0o777 == 0o600
        assert begun.recent.works == []
        roles = {"identifying": ["name"], "quasi_identifying": ["age", "zip", "wage", "born", "paid"]}
        schema = sf.Schema(**roles, sensitive=["disease"], others="drop")
        copied = sf.read_table(file, schema)
        there = sf.read_table(database.url, schema, reading=sf.Reading(table="visits"))
        assert copied.frame.rows() == there.frame.rows()
        assert copied.frame.columns == there.frame.columns
        said += [begun.client.get(path).text for path in ("/", "/columns")]
        files = [path.read_bytes() for path in begun.private.rglob("*") if path.is_file()]
        assert not any(b"sesame" in content or b"guarded" in content for content in files)
    assert not any("sesame" in line or "wrong & wide" in line for line in said)
    assert not begun.private.exists()
