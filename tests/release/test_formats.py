"""Releases as Excel, SPSS and Stata files: written by the command line, recounted from the file alone."""

from __future__ import annotations

import json
import subprocess
import sys

import openpyxl
import polars as pl
import pyreadstat
import pytest

import sfumato as sf
from sfumato.release.on_disk import not_on_disk
from sfumato.table.writers import check_writer_installed

FORMATS = ("xlsx", "sav", "dta")
ROWS = 120


@pytest.fixture(scope="module")
def people():
    return pl.DataFrame(
        {
            "age": [20 + number % 40 for number in range(ROWS)],
            "sex": ["male" if number % 2 else "female" for number in range(ROWS)],
            "zip": [f"0471{number % 4}" for number in range(ROWS)],
            "disease": [("flu", "cold", "asthma", "ulcer")[number * 7 % 4] for number in range(ROWS)],
            "pay": [None if number % 11 == 0 else 1000.5 + number // 10 for number in range(ROWS)],
        }
    )


def release_of(people, **more):
    schema = sf.Schema(quasi_identifying=["age", "sex", "zip"], sensitive=["disease", "pay"])
    return sf.anonymize(sf.read_table(people, schema), [sf.KAnonymity(5)], seed=1, **more)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("how", [{}, {"anonymizer": sf.Bucketization()}])
def test_what_is_written_is_recounted_as_from_csv(people, tmp_path, format, how):
    if "anonymizer" in how:
        schema = sf.Schema(quasi_identifying=["age", "sex", "zip"], sensitive=["disease"], others="drop")
        release = sf.anonymize(sf.read_table(people, schema), [sf.DistinctLDiversity(2)], seed=1, **how)
    else:
        release = release_of(people, **how)
    release.save(tmp_path / "csv")
    release.save(tmp_path / "other", format=format)
    assert {path.suffix for path in (tmp_path / "other").iterdir()} == {".json", ".toml", ".txt", f".{format}"}
    other, csv = sf.verify(tmp_path / "other"), sf.verify(tmp_path / "csv")
    assert other.ok
    told = [(str(check.outcome), check.achieved) for check in other.checks]
    assert told == [(str(check.outcome), check.achieved) for check in csv.checks]


@pytest.mark.parametrize("format", FORMATS)
def test_a_changed_file_is_found(people, tmp_path, format):
    release_of(people).save(tmp_path / "out", format=format)
    path = tmp_path / "out" / f"data.{format}"
    if format == "xlsx":
        book = openpyxl.load_workbook(path)
        book.active["D2"] = "SECRET"
        book.save(path)
    else:
        path.write_bytes(path.read_bytes().replace(b"asthma", b"ASTHMA"))
    found = sf.verify(tmp_path / "out")
    assert not found.ok
    assert f"data.{format} is the file that was written" in str(found)


@pytest.mark.parametrize("format", FORMATS)
def test_a_column_that_a_format_does_not_take_leaves_no_folder(people, tmp_path, format):
    name = "where they live" if format != "xlsx" else "note"
    frame = people.rename({"zip": name})
    if format == "xlsx":
        frame = frame.with_columns(pl.lit("x" * 40_000).alias(name))
    schema = sf.Schema(quasi_identifying=["age", "sex"], insensitive=[name], others="drop")
    release = sf.anonymize(sf.read_table(frame, schema), sf.KAnonymity(5))
    with pytest.raises(sf.InputError, match=f"data.{format}: .*{name}"):
        release.save(tmp_path / "out", format=format)
    assert not list(tmp_path.iterdir())


def test_codes_of_a_labelled_file_go_through_to_the_release(people, tmp_path):
    labels = {"sex": {3.0: "male", 7.0: "female"}, "disease": {1.0: "ulcer", 2.0: "flu", 3.0: "cold", 9.0: "asthma"}}
    coded = people.drop("pay").with_columns(
        *(
            pl.col(name).replace_strict({label: code for code, label in meant.items()}).alias(name)
            for name, meant in labels.items()
        )
    )
    pyreadstat.write_sav(coded, tmp_path / "people.sav", variable_value_labels=labels)
    schema = sf.Schema(quasi_identifying=["age", "sex", "zip"], sensitive=["disease"])
    table = sf.read_table(tmp_path / "people.sav", schema)
    release = sf.anonymize(table, sf.KAnonymity(5), seed=1)
    release.save(tmp_path / "out", format="dta")
    written = pyreadstat.read_dta(tmp_path / "out" / "data.dta")[1].variable_value_labels
    assert written["disease"] == labels["disease"]
    assert sf.verify(tmp_path / "out").ok


def test_a_series_and_the_disk_engine_take_no_such_format(people, tmp_path):
    schema = sf.Schema(quasi_identifying=["age", "sex"], identifying=["zip"], others="drop")
    policy = sf.Policy.from_mapping(
        {
            "columns": {"quasi-identifying": ["age", "sex"], "identifying": ["zip"], "others": "drop"},
            "models": [{"name": "k-anonymity", "k": 2}],
            "output": {"format": "xlsx"},
        }
    )
    assert policy.to_schema() == schema
    with pytest.raises(sf.PolicyError, match=r"output\.format: a series is written as csv or parquet"):
        sf.Series.start(tmp_path / "series", policy)
    assert "engine: the disk engine writes csv or parquet, not xlsx; use --engine memory" in not_on_disk(policy)


def test_by_the_command_line(people, tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "Visits"
    for row in (["Visits of 2024"], [], people.columns, *people.rows()):
        book.active.append(row)
    book.create_sheet("Codes").append(["a"])
    book.save(tmp_path / "visits.xlsx")

    def run(*words):
        command = [sys.executable, "-m", "sfumato.cli", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    roles = ["--quasi", "age,sex,zip", "--sensitive", "disease", "--others", "drop", "-k", "5"]
    told = run("anonymize", "visits.xlsx", *roles, "--out", "out")
    assert told.returncode == 2
    assert told.stderr == (
        "sfumato: visits.xlsx: the workbook has 2 sheets with values; say which is meant with "
        "sheet (--set source.sheet=NAME): "
        "'Visits', 'Codes'\n"
    )
    place = ["--set", "source.sheet=Visits", "--set", "source.range=A3:E"]
    made = run(
        "anonymize",
        "visits.xlsx",
        *place,
        *roles,
        "--set",
        "output.format=sav",
        "--out",
        "out",
        "--save-policy",
        "p.toml",
    )
    assert made.returncode == 0, made.stderr
    assert 'range = "A3:E"' in (tmp_path / "p.toml").read_text()
    assert json.loads((tmp_path / "out" / "release.json").read_text())["tables"]["data"]["file"] == "data.sav"
    assert "visits" not in (tmp_path / "out" / "policy.toml").read_text().lower()
    assert run("verify", "out").returncode == 0
    again = run("anonymize", "visits.xlsx", "--policy", "p.toml", "--out", "again")
    assert again.returncode == 0, again.stderr


def test_an_absent_library_is_told_before_any_work(monkeypatch):
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(sf.InputError, match=r"^releases as xlsx need the library xlsxwriter, .* 'sfumato\[excel\]'$"):
        check_writer_installed("xlsx")
    check_writer_installed("csv")
