"""Writing frames: missing values, odd text, failures."""

from __future__ import annotations

import polars as pl
import pytest

from sfumato.errors import InputError
from sfumato.table import writing
from sfumato.table.writing import FORMATS, write_data

FRAME = pl.DataFrame(
    {"a": ["x,y", None, "", 'q"', "*\n"], "b": pl.Series(["[1..2]", None, "{a|b}", "é", "="], dtype=pl.Categorical)}
)


def test_csv_tells_empty_text_from_missing(tmp_path):
    write_data(FRAME, tmp_path / "data.csv", "csv")
    assert (tmp_path / "data.csv").read_text() == 'a,b\n"x,y",[1..2]\n,\n"",{a|b}\n"q""",é\n"*\n",=\n'


def test_parquet_holds_text_and_nulls(tmp_path):
    write_data(FRAME, tmp_path / "data.parquet", "parquet")
    back = pl.read_parquet(tmp_path / "data.parquet")
    assert back.rows() == FRAME.rows()
    assert back.dtypes == [pl.String, pl.String]


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_that_cannot_be_written_is_an_error_without_values(tmp_path, format):
    with pytest.raises(InputError, match=r"data: the file cannot be written"):
        write_data(pl.DataFrame({"a": ["SECRET"]}), tmp_path / "none" / "data", format)


def test_an_unknown_format_is_an_error(tmp_path):
    with pytest.raises(InputError, match="format must be"):
        write_data(FRAME, tmp_path / "data.docx", "docx")


@pytest.mark.parametrize("many", [0, writing.MANY])
@pytest.mark.parametrize("label", ["x", "x,y", 'q"', "a\nb", "a\rb", "", " x", "*"])
@pytest.mark.parametrize("name", ["a", "a,b", 'a"b'])
def test_listed_labels_are_quoted_like_any_text(tmp_path, monkeypatch, label, name, many):
    monkeypatch.setattr(writing, "MANY", many)
    texts = pl.DataFrame({name: [label, None, "y"], "n": ["1", None, "2,"]})
    write_data(
        texts.with_columns(pl.col(pl.String).cast(pl.Enum([label, "y", "1", "2,"]))), tmp_path / "listed.csv", "csv"
    )
    assert (tmp_path / "listed.csv").read_bytes() == texts.write_csv().encode()
