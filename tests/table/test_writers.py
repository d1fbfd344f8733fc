"""Excel, SPSS and Stata files: every value comes back, or the column is named and nothing is written in silence."""

from __future__ import annotations

import datetime
import time

import numpy as np
import openpyxl
import polars as pl
import pyreadstat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.table import workbooks
from sfumato.table.sources import open_source
from sfumato.table.sources.protocol import CsvFormat
from sfumato.table.writing import write_data

FOREIGN = ("xlsx", "sav", "dta")
FRAME = pl.DataFrame(
    {
        "age": pl.Series(["[10..49]", "*", "[10..49]", None], dtype=pl.Enum(["*", "[50..99]", "[10..49]"])),
        "zip": ["04711", "04712", None, "é€"],
        "visits": [1, None, 3, 10**17],
        "pay": [1.5, 0.1, None, -2.0],
        "insured": [True, False, None, True],
        "born": [datetime.date(2000, 1, 31), None, datetime.date(1890, 5, 6), datetime.date(2030, 12, 31)],
        "note": ["=1+1", "+4", "http://x.y", "@a"],
    }
)


def back(path):
    source = open_source(path, CsvFormat(strip=False))
    return pl.DataFrame(
        [column.alias(name) for column, name in zip(source.read(source.names), source.names, strict=True)]
    )


def texts(frame):
    """Return every value as text, whole numbers without a fraction, days without a time."""
    shown = frame.with_columns(pl.col(pl.Datetime).cast(pl.Date)).cast(pl.String).fill_null("")
    return [tuple(cell.removesuffix(".0") for cell in row) for row in shown.rows()]


@pytest.mark.parametrize("format", FOREIGN)
class TestEveryFormat:
    def test_every_value_comes_back(self, tmp_path, format):
        frame = FRAME.filter(pl.col("visits") < 10**9) if format != "xlsx" else FRAME
        frame = frame.with_columns(born=pl.lit(datetime.date(2000, 1, 31))) if format == "xlsx" else frame
        write_data(frame, tmp_path / f"data.{format}", format)
        assert texts(back(tmp_path / f"data.{format}")) == texts(frame)

    def test_equal_frames_make_equal_files(self, tmp_path, format):
        frame = FRAME.select("age", "zip", "pay")
        first = write_data(frame, tmp_path / f"a.{format}", format)
        time.sleep(2.1)  # files of SPSS and zip archives have a time of two seconds' grain
        (tmp_path / "later").mkdir()
        assert write_data(frame, tmp_path / "later" / f"a.{format}", format) == first

    def test_what_would_be_changed_is_refused_without_values(self, tmp_path, format, monkeypatch):
        frame = pl.DataFrame({"age": [1, 2], "note": ["SECRET", "b"]})
        other = frame.with_columns(note=pl.lit("b"))
        name = "write_workbook" if format == "xlsx" else "write_labelled"
        home = "workbooks" if format == "xlsx" else "sources.statistical"
        real = getattr(__import__(f"sfumato.table.{home}", fromlist=[name]), name)
        monkeypatch.setattr(f"sfumato.table.{home}.{name}", lambda _, *more: real(other, *more))
        with pytest.raises(sf.InputError) as caught:
            write_data(frame, tmp_path / f"data.{format}", format)
        assert str(caught.value).startswith(f"data.{format}: column(s) 'note' would be changed by this format")
        assert "SECRET" not in str(caught.value)

    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(st.tuples(st.text(max_size=4) | st.none(), st.integers(-(2**40), 2**40)), min_size=1, max_size=5))
    def test_any_text_comes_back_or_is_refused(self, tmp_path, format, rows):
        frame = pl.DataFrame(rows, schema={"a": pl.String, "b": pl.Int64}, orient="row")
        path = tmp_path / f"any.{format}"
        try:
            write_data(frame, path, format)
        except sf.InputError:
            return
        assert texts(back(path)) == texts(frame)


class TestWorkbooks:
    def test_nothing_becomes_a_formula_or_a_link(self, tmp_path):
        write_data(FRAME.select("note", "zip"), tmp_path / "data.xlsx", "xlsx")
        sheet = openpyxl.load_workbook(tmp_path / "data.xlsx").active
        cells = [sheet.cell(row, 1) for row in range(2, 6)]
        assert [(cell.value, cell.data_type, cell.hyperlink) for cell in cells] == [
            (text, "s", None) for text in FRAME["note"]
        ]

    @pytest.mark.parametrize(
        ("frame", "told"),
        [
            (pl.DataFrame({"a": [1, None]}), "1 record without any value would be lost"),
            (pl.DataFrame({"a": [1.0, np.inf]}), "column 'a' has infinite values"),
            (pl.DataFrame({"a": [datetime.date(1890, 5, 6)]}), "column 'a' has times, or days before March 1900"),
            (pl.DataFrame({"a": [datetime.datetime(2000, 5, 6, 7)]}), "column 'a' has times, or days before"),
            (pl.DataFrame({"a": [datetime.time(7)]}), "column 'a' has times, or days before March 1900"),
            (pl.DataFrame({"a": ["x" * 40_000]}), "column 'a' has texts longer than a cell may be"),
        ],
    )
    def test_what_a_sheet_cannot_hold(self, tmp_path, frame, told):
        with pytest.raises(sf.InputError, match=told):
            write_data(frame, tmp_path / "data.xlsx", "xlsx")

    def test_more_records_than_a_sheet_has_rows(self, tmp_path, monkeypatch):
        monkeypatch.setattr(workbooks, "_MOST_ROWS", 3)
        with pytest.raises(sf.InputError, match="a sheet holds 2 records of 16,384 columns at most"):
            write_data(pl.DataFrame({"a": [1, 2, 3]}), tmp_path / "data.xlsx", "xlsx")

    def test_an_absent_library(self, tmp_path, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "xlsxwriter", None)
        with pytest.raises(sf.InputError, match=r"pip install 'sfumato\[excel\]'"):
            write_data(FRAME.select("zip", "note"), tmp_path / "data.xlsx", "xlsx")


@pytest.mark.parametrize("format", ["sav", "dta"])
class TestLabels:
    def read(self, path):
        return (pyreadstat.read_sav if path.suffix == ".sav" else pyreadstat.read_dta)(path, output_format="polars")

    def test_texts_are_codes_with_labels_in_the_order_of_the_categories(self, tmp_path, format):
        path = tmp_path / f"data.{format}"
        write_data(FRAME.select("age", "insured", "pay"), path, format)
        frame, metadata = self.read(path)
        assert frame["age"].to_list() == [2, 1, 2, None]
        assert metadata.variable_value_labels == {
            "age": {1: "*", 2: "[10..49]"},
            "insured": {1: "false", 2: "true"},
        }

    def test_codes_of_the_source_are_kept_where_they_suffice(self, tmp_path, format):
        path = tmp_path / f"data.{format}"
        frame = pl.DataFrame({"sex": ["male", "female"], "ward": ["A", "*"]})
        codes = {"sex": {"male": 7, "female": 3, "unknown": 9}, "ward": {"A": 7}}
        write_data(frame, path, format, codes)
        assert self.read(path)[1].variable_value_labels == {"sex": {7: "male", 3: "female"}, "ward": {1: "*", 2: "A"}}

    @pytest.mark.parametrize("name", ["age at visit", "1st", "x" * 65, "größe", "with"])
    def test_names_that_a_program_does_not_take(self, tmp_path, format, name):
        if (name, format) == ("with", "dta"):
            pytest.skip("Stata is as strict as SPSS here")
        with pytest.raises(sf.InputError, match="takes no such names of columns"):
            write_data(pl.DataFrame({name: [1]}), tmp_path / f"data.{format}", format)

    def test_names_that_differ_by_capital_letters_alone(self, tmp_path, format):
        with pytest.raises(sf.InputError, match="capital letters"):
            write_data(pl.DataFrame({"age": [1], "Age": [2]}), tmp_path / f"data.{format}", format)

    def test_an_absent_library(self, tmp_path, format, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "pyreadstat", None)
        with pytest.raises(sf.InputError, match=r"pip install 'sfumato\[statistical\]'"):
            write_data(FRAME.select("age"), tmp_path / f"data.{format}", format)
