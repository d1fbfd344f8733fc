"""SPSS and Stata files: texts that repeat become codes with value labels."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from sfumato.errors import InputError, raise_all
from sfumato.table.distinct import text_order
from sfumato.table.header import repeated
from sfumato.table.schema import text_of
from sfumato.table.sources.protocol import library
from sfumato.table.sources.statistical import WHAT

_MOST_LABELS = 5_000
"""Distinct texts of a column from which on it is written as text."""
_RESERVED = {"ALL", "AND", "BY", "EQ", "GE", "GT", "LE", "LT", "NE", "NOT", "OR", "TO", "WITH"}


@dataclass(frozen=True)
class Program:
    """What a program's files may hold, and where they say when they were written.

    Attributes
    ----------
    name : str
    writer : str
        Function of pyreadstat.
    names : str
        What the names of columns look like.
    longest_label : int
        Bytes.
    written_at, always : bytes
        The time of writing, and what stands there instead, so that equal tables make equal files.
    """

    name: str
    writer: str
    names: str
    longest_label: int
    written_at: bytes
    always: bytes


PROGRAMS = {
    "sav": Program(
        "SPSS",
        "write_sav",
        r"(?=.{1,64}$)[A-Za-z@#$]([A-Za-z0-9@#$_.]*[A-Za-z0-9@#$])?",
        120,
        rb"(?s)(\A.{92})\d\d \w{3} \d\d\d\d:\d\d:\d\d",
        rb"\g<1>01 Jan 8000:00:00",
    ),
    "dta": Program(
        "Stata",
        "write_dta",
        r"[A-Za-z_][A-Za-z0-9_]{0,31}",
        320,
        rb"(<timestamp>\x11)\d\d \w{3} \d{4} \d\d:\d\d",
        rb"\g<1>01 Jan 1980 00:00",
    ),
}


def write_labelled(frame: pl.DataFrame, path: Path, program: Program, codes: Mapping[str, Mapping[str, int]]) -> None:
    """Write a frame for a statistical program.

    Parameters
    ----------
    frame
        Of plain values.
    path
    program
    codes
        Used for a column whose texts all have one there; other texts are numbered from 1 in their order.

    Raises
    ------
    InputError
        When the program takes no such names of columns, or the library is not installed.
    """
    raise_all(InputError, _wrong_names(frame.columns, program))
    pyreadstat = library("pyreadstat", extra="statistical", what=WHAT)
    columns, labels = [], {}
    for column in frame:
        written, meant = _coded(column, program, codes.get(column.name, {}))
        columns.append(written.alias(column.name))
        if meant:
            labels[column.name] = meant
    try:
        getattr(pyreadstat, program.writer)(pl.DataFrame(columns), path, variable_value_labels=labels)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError):
        raise InputError(f"{program.name} files cannot hold this table; write csv or parquet") from None
    head = path.read_bytes()[:512]
    with path.open("r+b") as file:
        file.write(re.sub(program.written_at, program.always, head, count=1))


def _wrong_names(names: Collection[str], program: Program) -> Iterator[str]:
    wrong = [name for name in names if not re.fullmatch(program.names, name) or name.upper() in _RESERVED]
    if wrong:
        listed = ", ".join(map(repr, wrong))
        yield f"{program.name} takes no such names of columns: {listed}; rename them, or write csv or parquet"
    if repeated([name.upper() for name in names]):
        yield f"{program.name} does not tell capital letters apart, by which alone names of columns differ; rename them"


def _coded(column: pl.Series, program: Program, known: Mapping[str, int]) -> tuple[pl.Series, dict[int, str]]:
    """Return a column as the program holds it, and the labels of its codes."""
    if column.dtype.is_integer() or isinstance(column.dtype, pl.Decimal):
        return column.cast(pl.Float64), {}
    if not isinstance(column.dtype, (pl.String, pl.Categorical, pl.Enum, pl.Boolean)):
        return column, {}
    texts = text_of(column) if column.dtype == pl.Boolean else column.cast(pl.String)
    values = _in_order(column, texts)
    if len(values) > _MOST_LABELS or any(not value or len(value.encode()) > program.longest_label for value in values):
        return texts.fill_null(""), {}
    numbers = [known[value] for value in values] if {*values} <= known.keys() else [*range(1, len(values) + 1)]
    coded = texts.replace_strict(pl.Series(values, dtype=pl.String), pl.Series(numbers, dtype=pl.Float64))
    return coded, dict(zip(numbers, values, strict=True))


def _in_order(column: pl.Series, texts: pl.Series) -> list[str]:
    found = texts.unique().drop_nulls()
    if isinstance(column.dtype, pl.Enum):
        present = {*found.to_list()}
        return [label for label in column.dtype.categories.to_list() if label in present]
    return found[text_order(found)].to_list()
