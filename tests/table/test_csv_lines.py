"""Lines made of labels are those that polars writes, byte for byte."""

from __future__ import annotations

import hashlib
from datetime import date

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sfumato.table import writing
from sfumato.table.writing import label_lines, write_data

TEXTS = st.text(st.sampled_from(["a", "é", "|", ",", '"', "\n", "\r", " ", "\0", "𝄞", "x", "9"]), max_size=20)
CELLS = st.lists(st.lists(st.none() | TEXTS, min_size=3, max_size=3), min_size=1, max_size=12)


def listed(rows: list[list[str | None]], width: int) -> pl.DataFrame:
    columns = {f"c{index}": [row[index] for row in rows] for index in range(width)}
    return pl.DataFrame(
        [
            pl.Series(name, cells, dtype=pl.Enum(sorted({cell for cell in cells if cell is not None})))
            for name, cells in columns.items()
        ]
    )


def made(frame: pl.DataFrame, threads: int = 1) -> bytes:
    lines = label_lines(frame)
    assert lines is not None
    return b"".join(bytes(block) for block in lines.blocks(threads))


@given(rows=CELLS, width=st.integers(1, 3))
@examples(60)
def test_lines_are_those_of_polars(rows: list[list[str | None]], width: int) -> None:
    frame = listed(rows, width)
    expected = frame.cast(pl.String).write_csv(include_header=False, null_value='""' if width == 1 else "")
    assert made(frame) == expected.encode()


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("block_bytes", [1, 1000, writing._BLOCK_BYTES])
def test_blocks_come_in_order(monkeypatch: pytest.MonkeyPatch, threads: int, block_bytes: int) -> None:
    monkeypatch.setattr(writing, "_BLOCK_BYTES", block_bytes)
    rows = [[f"[{number % 13}..{number % 17}]", "x" * (number % 9), str(number)] for number in range(1000)]
    frame = listed(rows, 3)
    assert made(frame, threads) == frame.cast(pl.String).write_csv(include_header=False).encode()


def test_a_frame_without_records_has_no_lines() -> None:
    assert made(listed([["a", None, "b"]], 3).clear()) == b""


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([3, None, -1, 3]),
        pl.Series([2**62, 2**62 + 1, None, 2**62]),
        pl.Series([255, 0, 1, 1], dtype=pl.UInt8),
        pl.Series([None] * 4, dtype=pl.Int32),
        pl.Series([True, None, False, True]),
        pl.Series([date(2024, 2, 29), None, date(1, 1, 1), date(1969, 12, 31)]),
    ],
)
def test_whole_numbers_truths_and_dates_are_labels_too(column: pl.Series) -> None:
    frame = pl.DataFrame([column.alias("n"), pl.Series("a", ["x", None, "y", "x"], dtype=pl.Enum(["x", "y"]))])
    assert made(frame) == frame.write_csv(include_header=False).encode()
    assert made(frame.select("n")) == frame.select("n").write_csv(include_header=False, null_value='""').encode()


@pytest.mark.parametrize(
    "column", [pl.Series("n", [1.0, 2.0]), pl.Series("n", ["a", "b"]), pl.Series("n", [0, 1 << 20])]
)
def test_other_columns_are_left_to_polars(column: pl.Series) -> None:
    assert label_lines(listed([["a", None, "b"]] * 2, 3).with_columns(column)) is None
    assert label_lines(pl.DataFrame()) is None


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("text", [True, False])
def test_the_hash_is_that_of_the_file(tmp_path, monkeypatch, format, text) -> None:
    monkeypatch.setattr(writing, "MANY", 0)
    frame = listed([["a", None, "b,c"], ["", "d", "e"]], 3)
    path = tmp_path / "data"
    sha256 = write_data(frame.cast(pl.String) if text else frame, path, format)
    assert sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_column_names_are_quoted(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(writing, "MANY", 0)
    frame = listed([["a", "b", None]], 3).rename({"c0": "x,y", "c1": 'q"', "c2": ""})
    write_data(frame, tmp_path / "data.csv", "csv")
    assert (tmp_path / "data.csv").read_bytes() == frame.cast(pl.String).write_csv().encode()
