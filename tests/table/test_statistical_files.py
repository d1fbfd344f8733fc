"""SPSS, Stata and SAS: labelled codes are categories, user-missing values are missing."""

from __future__ import annotations

import datetime
import sys
import warnings
from pathlib import Path

import pandas as pd
import polars as pl
import pyreadstat
import pytest

import sfumato as sf
from sfumato.table import announcing, sources
from sfumato.table.schema import Kind

FILES = Path(__file__).with_name("files")
PEOPLE = pl.DataFrame(
    {
        "age": [31.0, 98.0, None, 45.0],
        "sex": [1.0, 2.0, 1.0, 9.0],
        "height": [1.5, 2.0, 1.75, None],
        "ward": ["A", "B", "A", "Z"],
        "born": [datetime.date(2000, 1, 2)] * 4,
        "note": ["1", "", "2", "dé"],
    }
)
LABELS = {
    "age": {98.0: "refused"},
    "sex": {1.0: "male", 2.0: "female", 9.0: "unknown", 7.0: "nobody"},
    "ward": {"A": "Alpha", "B": "Beta", "Z": "none"},
}
MISSING = {"age": [{"lo": 97, "hi": 99}], "ward": ["Z"]}
SCHEMA = sf.Schema(quasi_identifying=["age", "sex", "height", "born", "note"], sensitive=["ward"])


def spss(path, frame=PEOPLE, **more):
    pyreadstat.write_sav(frame, path, **{"variable_value_labels": LABELS, "missing_ranges": MISSING, **more})
    return path


def stata(path, frame, **more):
    pyreadstat.write_dta(frame, path, **more)
    return path


def refused(path, schema=SCHEMA, **settings):
    with pytest.raises(sf.SfumatoError) as caught:
        sf.read_table(path, schema, **settings)
    return caught.value.problems


def problem(path, schema=SCHEMA, **settings):
    (only,) = refused(path, schema, **settings)
    return only.removeprefix(f"{path.name}: ")


@pytest.mark.parametrize(("name", "more"), [("a.sav", {}), ("a.zsav", {"compress": True}), ("a.dat", {})])
def test_spss(tmp_path, name, more):
    (tmp_path / "written.sav").write_bytes(spss(tmp_path / f"{name}.sav", **more).read_bytes())
    path = tmp_path / name
    path.write_bytes((tmp_path / "written.sav").read_bytes())
    table = sf.read_table(path, SCHEMA)
    assert table.frame.to_dict(as_series=False) == {
        "age": [31, None, None, 45],
        "sex": ["male", "female", "male", "unknown"],
        "height": [1.5, 2.0, 1.75, None],
        "ward": ["Alpha", "Beta", "Alpha", None],
        "born": [datetime.date(2000, 1, 2)] * 4,
        "note": ["1", None, "2", "dé"],
    }
    assert table.kinds["sex"] == table.kinds["note"] == Kind.CATEGORICAL
    assert (table.kinds["age"], table.kinds["born"]) == (Kind.NUMERIC, Kind.DATE)


def test_labels_and_codes_side_by_side_are_refused_unless_codes_are_asked_for(tmp_path):
    path = spss(tmp_path / "a.sav", missing_ranges={})
    told = problem(path)
    assert told.startswith("column 'age': 1 of its codes have a label, and 2 have none; read its codes")
    assert "98" not in told
    assert "refused" not in told
    table = sf.read_table(path, SCHEMA, codes=["age", "sex"])
    assert table.frame["age"].to_list() == [31, 98, None, 45]
    assert table.frame["sex"].to_list() == [1, 2, 1, 9]
    assert table.frame["ward"].to_list() == ["Alpha", "Beta", "Alpha", "none"]


def test_codes_of_columns_that_are_not_there(tmp_path):
    assert problem(spss(tmp_path / "a.sav"), codes=["agee"]) == "codes: names 1 column(s) that the file does not have"


def test_codes_that_share_a_label_are_told(tmp_path, monkeypatch):
    said: list[str] = []
    monkeypatch.setattr(announcing, "listeners", [said.append])
    path = spss(tmp_path / "a.sav", variable_value_labels={"sex": {1.0: "known", 2.0: "known", 9.0: "unknown"}})
    table = sf.read_table(path, sf.Schema(quasi_identifying=["sex"], others="drop"))
    assert table.frame["sex"].to_list() == ["known", "known", "known", "unknown"]
    assert said == ["column 'sex': 2 codes share their label with another one; they are read as one category"]


@pytest.mark.parametrize("version", [8, 12, 15])
def test_stata(tmp_path, version):
    frame = PEOPLE.drop("ward", "note").with_columns(sex=pl.Series([1, 2, 1, 2], dtype=pl.Int32))
    path = stata(tmp_path / "a.dta", frame, version=version, variable_value_labels={"sex": {1: "male", 2: "female"}})
    table = sf.read_table(path, sf.Schema(quasi_identifying=["age", "sex", "height", "born"]))
    assert table.frame["sex"].to_list() == ["male", "female", "male", "female"]
    assert table.frame["age"].to_list() == [31, 98, None, 45]
    assert table.kinds["born"] == Kind.DATE


def test_stata_has_letters_for_missing_values(tmp_path):
    frame = PEOPLE.select("age").to_pandas().assign(sex=[1, 2, 1, "a"])
    labels = {"sex": {1: "male", 2: "female", "a": "refused"}}
    path = stata(tmp_path / "a.dta", frame, variable_value_labels=labels, missing_user_values={"sex": ["a"]})
    table = sf.read_table(path, sf.Schema(quasi_identifying=["sex"], others="drop"))
    assert table.frame["sex"].to_list() == ["male", "female", "male", None]


def test_sas_transport(tmp_path):
    frame = PEOPLE.select("age", "height", "ward")
    pyreadstat.write_xport(frame, tmp_path / "a.xpt")
    table = sf.read_table(tmp_path / "a.xpt", sf.Schema(quasi_identifying=["age", "height"], sensitive=["ward"]))
    assert table.frame.rows() == frame.with_columns(pl.col("age").cast(pl.Int64)).rows()


@pytest.mark.parametrize("share", [0.2, 0.6, 0.97])
@pytest.mark.parametrize("program", ["SPSS", "Stata"])
def test_files_that_are_cut_off(tmp_path, program, share):
    if program == "SPSS":
        path = spss(tmp_path / "a.sav")
    else:
        path = stata(tmp_path / "a.dta", PEOPLE.drop("ward", "note"), variable_value_labels={"sex": {1.0: "SECRET"}})
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    assert problem(path) == f"the {program} file is damaged or cut off; get a whole copy"


@pytest.mark.parametrize(("name", "program"), [("a.sav", "SPSS"), ("a.dta", "Stata"), ("a.sas7bdat", "SAS")])
def test_files_that_are_something_else(tmp_path, name, program):
    (tmp_path / name).write_bytes(b"age;sex\n3;SECRET\n" * 9)
    assert problem(tmp_path / name) == f"the {program} file is damaged or cut off; get a whole copy"


@pytest.mark.parametrize("name", ["people", "packed"])
def test_sas(tmp_path, name):
    """Files that ReadStat wrote, one of them packed row by row; a second reader says the same of them.

    Dates and times are days and seconds since 1960 with a format; a catalog beside the file holds the labels.
    """
    path = tmp_path / "people.sas7bdat"
    path.write_bytes((FILES / f"{name}.sas7bdat").read_bytes())
    schema = sf.Schema(quasi_identifying=["age", "sex", "height", "born", "seen", "note", "clock"], sensitive=["ward"])
    table = sf.read_table(path, schema)
    assert [remark.split(":")[0] for remark in table.remarks] == ["Column 'seen'", "Column 'clock'"]
    read = table.frame
    with warnings.catch_warnings(action="ignore"):
        other = pd.read_sas(path, encoding="utf-8")
    assert read["clock"].to_list() == [None if clock != clock else int(clock) for clock in other["clock"]]
    for column in ("born", "seen"):
        assert read[column].to_list() == [None if day is pd.NaT else day.date() for day in other[column]]
    for column in ("age", "sex", "height"):
        assert read[column].to_list() == [None if number != number else number for number in other[column]]
    assert read["born"].to_list()[:2] == [datetime.date(2000, 1, 2), datetime.date(1960, 12, 31)]
    assert (read["ward"].to_list(), read["note"].to_list()) == (["A", "B", "A", "Z", "A"], ["1", None, "2", "dé", "x"])


def test_sas_labels_lie_in_a_catalog(tmp_path):
    for name in ("people.sas7bdat", "people.sas7bcat"):
        (tmp_path / name).write_bytes((FILES / name).read_bytes())
    schema = sf.Schema(quasi_identifying=["age", "sex"], others="drop")
    table = sf.read_table(tmp_path / "people.sas7bdat", schema)
    assert table.frame["sex"].to_list() == ["male", "female", "male", "unknown", "male"]
    assert table.kinds["sex"] == Kind.CATEGORICAL
    coded = sf.read_table(tmp_path / "people.sas7bdat", schema, codes=["sex"])
    assert coded.frame["sex"].to_list() == [1, 2, 1, 9, 1]


def test_sas_files_are_known_by_their_first_bytes(tmp_path):
    (tmp_path / "visits").write_bytes(sources._SAS + bytes(9999))
    assert problem(tmp_path / "visits") == "the SAS file is damaged or cut off; get a whole copy"


def test_an_absent_library(tmp_path, monkeypatch):
    path = spss(tmp_path / "a.sav")
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    assert "pip install 'sfumato[statistical]'" in problem(path)


def test_labels_in_another_encoding(tmp_path):
    path = stata(tmp_path / "a.dta", PEOPLE.select("age", "note"), version=12)
    content = path.read_bytes().replace("dé".encode(), b"d\xe9\0")
    path.write_bytes(content)
    schema = sf.Schema(quasi_identifying=["age", "note"])
    assert sf.read_table(path, schema, encoding="latin1").frame["note"].to_list()[-1] == "dé"
