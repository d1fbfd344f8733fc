"""How the studio asks how a file is to be read, before it is open and afterwards."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

import sfumato as sf
from sfumato.errors import InputError
from sfumato.studio.app import Opening, opening_app
from sfumato.studio.draft import Draft, in_words
from sfumato.studio.layout import Answer, answered, answers, tried
from sfumato.studio.project import Project
from studio.desks import OURS, PORT, opened, people, waited

SECRET = "Zyxwvut"


def written(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def test_a_separator_and_a_title_are_found(tmp_path):
    lines = ["People of 2020", "", "name;age", *(f"{SECRET}{row}, M.;{row}" for row in range(9)), "a,b,c;3"]
    path = written(tmp_path / "t.csv", "\n".join(lines))
    trial = tried(path, {})
    assert (trial.problems, trial.broken, trial.names) == ([], None, ["name", "age"])
    assert trial.rows[0] == [f"{SECRET}0, M.", "0"]
    assert len(trial.rows) == 8


def test_letters_in_another_encoding(tmp_path):
    text = "stadt,x\nKöln,1\nMünchen,2\n"
    assert tried(written(tmp_path / "u.csv", text, "utf-16"), {}).rows[0] == ["Köln", "1"]
    path = written(tmp_path / "t.csv", text, "cp1252")
    trial = tried(path, {})
    assert trial.problems
    assert next(iter(trial.letters.items())) == ("cp1252", "Köln, München")
    assert trial.letters["mac-roman"] == "Kˆln, M¸nchen"
    assert len(trial.letters) == len({*trial.letters.values()})
    better = tried(path, {"encoding": "cp1252"})
    assert (better.problems, better.rows[0]) == ([], ["Köln", "1"])
    assert better.letters["cp1252"] == "Köln, München"
    assert tried(written(tmp_path / "w.csv", text), {}).letters == {}
    certain = tried(written(tmp_path / "c.csv", "ort,x\n" + "große Straße für Köln,1\n" * 99, "cp1252"), {})
    assert (certain.problems, certain.encoding) == ([], "cp1252")
    assert certain.letters["cp1252"] == "große, Straße, für, Köln"


def test_a_broken_row_far_down_is_found_with_its_number(tmp_path):
    rows = [f"{row},x" for row in range(1, 5_001)]
    rows[3_999] += ",too,many"
    path = written(tmp_path / "t.csv", "\n".join(["a,b", *rows]))
    trial = tried(path, {})
    assert "first row 4000" in " ".join(trial.problems)
    assert (trial.broken.number, trial.broken.cells) == (4_000, ["4000", "x", "too", "many"])
    assert trial.names == ["a", "b"]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"a,b\n", b"\0\0\0", b'"open', b"\xff" * 300, b"\x1f\x8bxx"])
def test_what_is_no_table_is_said(tmp_path, content):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    trial = tried(path, {})
    assert trial.problems
    assert all(line.startswith("t.csv") for line in trial.problems)


class Asked:
    """A client of a studio that asks how its table is read."""

    def __init__(self, path, folder):
        self.opening = Opening(Project.opened(folder, path, {}), None, lambda: None)
        app = opening_app(self.opening, PORT)
        self.client = TestClient(app, base_url=f"http://127.0.0.1:{PORT}", follow_redirects=False)
        assert self.client.get(app.address).status_code == 303

    def post(self, **fields):
        return self.client.post("/setup/layout", data=fields, headers=OURS)


def test_a_file_that_cannot_be_read_is_asked_about_and_opened(tmp_path):
    text = "name;age\n" + "".join(f"{SECRET} {'Köln' if row < 6 else 'Bonn'}, {row};{row}\n" for row in range(30))
    path = written(tmp_path / "t.csv", text, "cp1252")
    asked = Asked(path, tmp_path / "project")
    try:
        page = asked.client.get("/").text
        assert "The row that breaks" in page
        assert "Letters, as each encoding reads them" in page
        assert re.search(r"<strong>cp1252</strong>\s*<span translate=.no.>Köln</span>", page)
        assert 'id="read-so"' not in page
        assert 'id="read-so"' in asked.client.get("/layout?encoding=cp1252").text
        assert asked.client.get("/columns").status_code == 303
        refused = asked.post(encoding="utf-8")
        assert refused.status_code == 422
        assert SECRET not in refused.text
        assert asked.opening.desk is None
        assert asked.post(encoding="cp1252").status_code == 200
        assert "30" in asked.client.get("/").text
        assert "undecided" in asked.client.get("/columns").text
        assert asked.opening.desk.draft.rest["source"]["encoding"] == "cp1252"
    finally:
        asked.opening.close()
    # It is not asked again.
    with opened(tmp_path) as studio:
        assert studio.desk.table.names == ("name", "age")


def test_an_open_table_is_read_in_another_way_and_back(tmp_path):
    path = written(tmp_path / "t.csv", "a;b\n" + "".join(f"{row},5;{row}\n" for row in range(30)))
    with opened(tmp_path, path, source={"separator": ";"}) as studio:
        studio.enter()
        studio.post("/setup/column", column="a", what="role", value="quasi-identifying")
        assert "Between fields" in studio.get("/layout").text
        assert studio.post("/setup/layout", decimal=",").status_code == 200
        assert studio.desk.table.typed("a")[1] == "numeric"
        assert studio.desk.draft.roles["a"] == "quasi-identifying"
        assert studio.post("/setup/layout", header="no").status_code == 200
        assert studio.desk.table.names == ("column 1", "column 2")
        assert studio.desk.table.height == 31
        assert studio.desk.draft.roles["column 1"] == "undecided"
        for _ in range(2):
            assert studio.post("/history/go", to="undo").status_code == 200
        assert studio.desk.table.names == ("a", "b")
        before = studio.desk.head.number
        assert studio.post("/setup/layout", separator="xx").status_code == 422
        assert studio.post("/setup/layout", encoding="utf-16").status_code == 422
        assert (studio.desk.head.number, studio.desk.table.names) == (before, ("a", "b"))
        assert "must be one ASCII character" in studio.get("/layout?separator=xx").text


def test_a_file_that_is_no_text_has_no_layout(tmp_path):
    import polars as pl

    pl.DataFrame({"a": [1, 2]}).write_parquet(tmp_path / "t.parquet")
    with opened(tmp_path, tmp_path / "t.parquet") as studio:
        assert studio.enter().get("/layout").status_code == 404
        assert "/layout" not in studio.get("/").text


def test_a_field_asks_for_what_a_problem_leaves_open():
    said = ["column 'pay': --set column.pay.missing=NUMBER", "column 'pay': --set column.pay.domain=[LOW,HIGH]"]
    missing, domain = answers(said, ["pay"])
    assert (missing, domain) == (Answer("missing", "pay", None), Answer("domain", "pay", None))
    assert missing.field
    assert domain.field
    draft = answered(Draft.of_columns(["pay"]), Answer("missing", "pay", "-9"))
    draft = answered(draft, Answer("domain", "pay", " 0, 9000.5"))
    assert draft.settings["pay"] == {"missing": ["-9"], "domain": [0, 9000.5]}
    for wrong in ("", "9, 0", "5", "low, high", "1, 2, 3", "nan, 1"):
        with pytest.raises(InputError, match="lowest and highest"):
            answered(draft, Answer("domain", "pay", wrong))


def test_questions_become_answers():
    said = [
        "t.csv: every value of column 'pay' reads as a number; declare it: --set source.decimal=, (in a policy "
        "decimal = "
        '"," in [source]); or read it as text: --categorical pay',
        "t.csv: every value of column 'born at' reads as a date, as dd/mm/yyyy and mm/dd/yyyy, and only you "
        "know which: --set source.dates=dd/mm/yyyy or --set source.dates=mm/dd/yyyy; or read it as text: "
        "--categorical 'born at'",
        "t.csv: column 'x' holds numbers: dates (--set column.x.dates=yyyymmdd), codes (--categorical x) or "
        "(--set column.x.kind=numeric)",
        "add --set source.separator=';'",
    ]
    found = answers(said, ["pay", "born at", "x"])
    assert found == [
        Answer("decimal", "", ","),
        Answer("categorical", "pay", ""),
        Answer("dates", "", "dd/mm/yyyy"),
        Answer("dates", "", "mm/dd/yyyy"),
        Answer("categorical", "born at", ""),
        Answer("dates", "x", "yyyymmdd"),
        Answer("categorical", "x", ""),
        Answer("numeric", "x", ""),
        Answer("separator", "", ";"),
    ]
    draft = Draft.of_columns(["x"])
    for answer in (Answer("king", "", "1"), Answer("unit", "", "€")):
        with pytest.raises(sf.InputError):
            answered(draft, answer)
    with pytest.raises(sf.PolicyError):
        answered(draft, Answer("numeric", "y", ""))


def test_a_question_of_a_run_is_answered_by_a_button_and_the_run_is_made(tmp_path):
    text = "age,pay,sick\n" + "".join(f'{20 + row % 3},"{row % 4 + 1},500",flu\n' for row in range(60))
    path = written(tmp_path / "t.csv", text)
    with opened(tmp_path, path) as studio:
        studio.enter()
        roles = {"age": "quasi-identifying", "pay": "quasi-identifying", "sick": "sensitive"}
        for column, role in roles.items():
            studio.post("/setup/column", column=column, what="role", value=role)
        studio.post("/setup/promises", what="add", name="k-anonymity")
        studio.post("/runs/start", what="release")
        failed = waited(studio.desk.jobs, 1, 120)
        assert failed.state == "failed"
        assert "pay: “,” stands before fractions" in studio.get("/runs").text
        assert studio.post("/setup/answer", option="decimal", column="pay", value=",").status_code == 200
        studio.post("/runs/start", what="release")
        assert waited(studio.desk.jobs, 2, 120).state == "done"
        assert studio.post("/setup/answer", option="king", column="", value=",").status_code == 422


def test_hidden_values_stay_hidden_in_the_preview(tmp_path):
    with opened(tmp_path, people(tmp_path / "people.csv")) as studio:
        studio.enter()
        assert "Person0001" in studio.get("/layout").text
        studio.post("/values", value="hide")
        assert "Person0001" not in studio.get("/layout").text
    path = written(tmp_path / "t.csv", "stadt,x\n" + "Köln,1\n" * 20, "cp1252")
    (tmp_path / "other").mkdir()
    with opened(tmp_path / "other", path, source={"encoding": "cp1252"}) as studio:
        assert "Köln" in studio.enter().get("/layout").text
        studio.post("/values", value="hide")
        assert not re.search("K(ö|ˆ|÷)ln", studio.get("/layout").text)


AS_TAKEN = {"separator": ",", "encoding": "utf-8", "quote": '"', "missing": [""], "header": True, "strip": True}
SAID = [
    ({}, AS_TAKEN, "no change"),
    (
        AS_TAKEN,
        {**AS_TAKEN, "separator": ";", "missing": ["?", "n/a"]},
        "between fields: semicolon; missing values: ?, n/a",
    ),
    (
        {"decimal": ","},
        {"header": False, "columns": ["column 1"]},
        "before fractions: as usual; first row: is a record",
    ),
    ({"strip": False}, {"strip": False, "hidden": "drop"}, "hidden rows and columns: are left out"),
]


@pytest.mark.parametrize(("before", "after", "said"), SAID)
def test_the_history_says_in_words_how_a_table_is_read(before, after, said):
    drafts = [Draft.of_columns(["pay"], source) for source in (before, after)]
    assert in_words(*drafts) == said


def test_the_history_says_in_words_what_became_of_a_column_and_shows_none_of_its_values():
    none = Draft.of_columns(["pay"])
    some = none.with_setting("pay", "domain", [SECRET, "low"]).with_answer("pay", "identifier")
    some = some.with_setting("pay", "domain-withheld", value=True).with_rest("recoding", {"ends": True})
    said = in_words(none, some)
    assert "published although this was found: identifier" in said
    assert "recoding: ends yes" in said
    assert not re.search(f"{SECRET}|True|accept", said)
    assert "answer taken away" in in_words(some, none)


def test_the_page_shows_what_parts_the_fields_and_takes_marks_of_missing_values(tmp_path):
    rows = (f"{'?' if row % 9 == 0 else 20 + row % 5};{'n/a' if row % 7 == 0 else 'flu'}" for row in range(60))
    path = written(tmp_path / "t.csv", "\n".join(["age;sick", *rows]))
    assert (tried(path, {}).separator, tried(path, {"separator": ";"}).separator) == (";", ";")
    with opened(tmp_path, path) as studio:
        studio.enter()
        page = studio.get("/layout").text
        assert '<option value=";" selected>semicolon' in page
        # Among numbers it can mean nothing else.
        assert studio.desk.table.typed("age")[1] == "numeric"
        assert studio.desk.table.typed("age")[0].null_count() == 7
        assert "cells of age" not in page
        assert "<strong>n/a</strong> in 9 cells of sick" in page
        assert studio.post("/setup/answer", option="missing", column="", value="n/a").status_code == 200
        page = studio.get("/layout").text
        assert 'value="n/a"' in page
        assert studio.post("/setup/layout", missing="?, n/a").status_code == 200
        assert studio.desk.draft.rest["source"]["missing"] == ["?", "n/a"]
        assert "cells of sick" not in studio.get("/layout").text
        read = studio.get("/").text
        assert "<dt>missing values</dt><dd>?, n/a</dd>" in read
        assert "<dd>True" not in read
        assert studio.post("/setup/layout", missing="").status_code == 200
        assert "missing" not in (studio.desk.draft.rest.get("source") or {}) or not any(
            studio.desk.draft.rest["source"]["missing"]
        )
