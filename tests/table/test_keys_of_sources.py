"""The same pairs of spellings in every kind of source: all merged or asked about, and none two people in silence."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from databases import on_server
from table.test_person_keys import ASKED, MERGED

duckdb = pytest.importorskip("duckdb")
pd = pytest.importorskip("pandas")
pyreadstat = pytest.importorskip("pyreadstat")

SCHEMA: dict[str, Any] = {"person": "id", "quasi_identifying": ["age"]}
PAIRS = {
    **{f"merged, {place}": pair for place, pair in enumerate(MERGED)},
    **ASKED,
    "capitals, umlaut": ("\u00c4NNE 1", "\u00e4nne 1"),
    "capitals, Greek": ("\u03a3\u0391\u03a3", "\u03c3\u03b1\u03c2"),
    "blanks, thin": ("A\u200912", "A12"),
    "zeros, letters": ("00X1", "0X1"),
    "signs, decimals": ("1.50e1", "15"),
    "merged, tab": ("A12", "A12\t"),
}


def _csv(frame: pl.DataFrame, folder: Path) -> object:
    frame.write_csv(folder / "t.csv")
    return folder / "t.csv"


def _parquet(frame: pl.DataFrame, folder: Path) -> object:
    frame.write_parquet(folder / "t.parquet")
    return folder / "t.parquet"


def _excel(frame: pl.DataFrame, folder: Path) -> object:
    frame.to_pandas().to_excel(folder / "t.xlsx", index=False, engine="openpyxl")
    return folder / "t.xlsx"


def _sav(frame: pl.DataFrame, folder: Path) -> object:
    pyreadstat.write_sav(frame.to_pandas(), str(folder / "t.sav"))
    return folder / "t.sav"


def _dta(frame: pl.DataFrame, folder: Path) -> object:
    frame.to_pandas().to_stata(folder / "t.dta", write_index=False, version=118)
    return folder / "t.dta"


def _columns(frame: pl.DataFrame) -> str:
    return ", ".join(f"{name} {'TEXT' if dtype == pl.String else 'INTEGER'}" for name, dtype in frame.schema.items())


def _marks(frame: pl.DataFrame) -> str:
    return ", ".join("?" * frame.width)


def _sqlite(frame: pl.DataFrame, folder: Path) -> object:
    with sqlite3.connect(folder / "t.sqlite") as database:
        database.execute(f"CREATE TABLE t ({_columns(frame)})")
        database.executemany(f"INSERT INTO t VALUES ({_marks(frame)})", frame.rows())
    database.close()
    return f"sqlite:///{folder}/t.sqlite"


def _duckdb(frame: pl.DataFrame, folder: Path) -> object:
    with duckdb.connect(str(folder / "t.duckdb")) as database:
        database.execute(f"CREATE TABLE t ({_columns(frame)})")
        database.executemany(f"INSERT INTO t VALUES ({_marks(frame)})", frame.rows())
    return f"duckdb:///{folder}/t.duckdb"


def in_postgresql(frame: pl.DataFrame, server: Any) -> object:
    def written(value: object) -> str:
        return (
            "'" + value.replace("'", "''") + "'" if isinstance(value, str) else "NULL" if value is None else str(value)
        )

    database = on_server(server)
    rows = ", ".join(f"({', '.join(map(written, row))})" for row in frame.rows())
    database.run(f"CREATE TABLE t ({_columns(frame)})", f"INSERT INTO t VALUES {rows}")
    return database.url


SOURCES: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    "csv": _csv,
    "parquet": _parquet,
    "excel": _excel,
    "sav": _sav,
    "dta": _dta,
    "sqlite": _sqlite,
    "duckdb": _duckdb,
    "pandas": lambda frame, _: frame.to_pandas(),
    "polars": lambda frame, _: frame,
    "arrow": lambda frame, _: frame.to_arrow(),
}


def people(source: object, form: str | None) -> int:
    where: dict[str, Any] = {"table": "t"} if "://" in str(source) else {}
    found = sf.read_table(source, sf.Schema(**SCHEMA, key_form=form), **where).people
    assert found is not None
    return len(np.unique(found))


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("pair", PAIRS)
def test_no_spelling_is_another_person_in_silence(pair: str, kind: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": [*PAIRS[pair], "other"], "age": [1, 2, 3]})
    _never_silent(pair, SOURCES[kind](frame, tmp_path))


@pytest.mark.parametrize("pair", PAIRS)
def test_no_spelling_in_postgresql_is_another_person_in_silence(pair: str, postgresql: Any) -> None:
    frame = pl.DataFrame({"id": [*PAIRS[pair], "other"], "age": [1, 2, 3]})
    _never_silent(pair, in_postgresql(frame, postgresql))


def _never_silent(pair: str, source: object) -> None:
    assert people(source, "fold") == 2
    if pair.startswith("merged"):
        assert people(source, None) == 2
        return
    with pytest.raises(sf.InputError, match="key-form fold"):
        people(source, None)
    assert people(source, "exact") == 3


@pytest.mark.parametrize("kind", ["parquet", "excel", "sav", "dta", "pandas", "polars", "arrow"])
def test_numbers_are_those_of_texts(kind: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": [7.0, 7.5, 7.0], "age": [1, 2, 3]})
    assert people(SOURCES[kind](frame, tmp_path), None) == 2
