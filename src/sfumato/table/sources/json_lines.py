"""JSON lines: a record a line, plain or packed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from sfumato.errors import InputError
from sfumato.table.csv_file import CsvFile, open_csv
from sfumato.table.sources.protocol import Family, Given, TableSource

_SUFFIXES = {".jsonl", ".ndjson"}


@dataclass(frozen=True, eq=False, repr=False)
class JsonLines:
    """Records that were parsed; texts may stand for numbers and dates, of which JSON has none."""

    frame: pl.DataFrame

    is_text = True
    """Dates are text in JSON."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every key that a record has."""
        return tuple(self.frame.columns)

    def read(self, names: Sequence[str]) -> list[pl.Series]:
        """Return columns; a record without a key has no value there."""
        return [self.frame.get_column(name) for name in names]


def _open(given: Given) -> TableSource:
    file = open_csv(given.file, given.layout)
    with file.open() as stream:
        if not stream.read(1):
            raise InputError("the file is empty; it needs a record, as a JSON object, in each line")
    try:
        return JsonLines(pl.read_ndjson(file.content, infer_schema_length=None))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError):
        raise InputError(_mistake(file)) from None


def _mistake(file: CsvFile) -> str:
    """Find the first line that is no object, or the keys whose values are of several types."""
    types: dict[str, set[type]] = {}
    for number, record in _records(file):
        if not isinstance(record, dict):
            return f'line {number} is no JSON object; every line must be a record, such as {{"age": 31}}'
        for key, value in record.items():
            types.setdefault(key, set()).add(float if type(value) is int else type(value))
    mixed = [key for key, kinds in types.items() if len(kinds - {type(None)}) > 1]
    listed = ", ".join(map(repr, mixed[:9])) or "some keys"
    return f"values of {listed} are of several types; give each key one type"


def _records(file: CsvFile) -> Iterator[tuple[int, object]]:
    with file.open_text() as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield number, json.loads(line)
                except (ValueError, RecursionError):
                    yield number, None


def _refuse(given: Given) -> TableSource:
    raise InputError("this is a JSON document; write its records as JSON lines (.jsonl), an object in each line")


def is_json_lines(path: Path) -> bool:
    """Tell by its name whether a file, packed or not, has JSON lines."""
    return not _SUFFIXES.isdisjoint(path.suffixes[-2:])


FAMILY = Family(recognizes=lambda given: bool(given.start) and is_json_lines(given.file), open=_open)
DOCUMENT = Family(recognizes=lambda given: bool(given.start) and given.file.suffix.lower() == ".json", open=_refuse)
