"""Files of JSON: records line by line, or a document of them; what is nested becomes columns such as ``who.age``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import zip_longest
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import InputError
from sfumato.numbers import counted
from sfumato.table.sources.protocol import Family, Given, TableSource
from sfumato.table.sources.text_files import CsvFile, open_csv

_LINES, _DOCUMENTS = {".jsonl", ".ndjson", ".geojsonl"}, {".json", ".geojson"}
_STARTS = (b"[{", b'{"', b"[[")
NO_TABLE = (
    'this is JSON, but no table; write its records as JSON lines (.jsonl), an object such as {"age": 31} in each line, '
    "or as a list of them"
)


@dataclass(frozen=True, eq=False, repr=False)
class JsonRecords:
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


def flatten(frame: pl.DataFrame) -> pl.DataFrame:
    """Make columns of what is nested, named as ``who.age``, unless such a name is there already."""
    while any(isinstance(dtype, pl.Struct) for dtype in frame.dtypes):
        columns: list[pl.Series] = []
        for column in frame:
            if isinstance(column.dtype, pl.Struct):
                columns += [part.alias(f"{column.name}.{part.name}") for part in column.struct.unnest()]
            else:
                columns.append(column)
        frame = pl.DataFrame(columns)
    return frame


def _open(given: Given) -> TableSource:
    file = open_csv(given.file, given.layout)
    with file.open() as stream:
        content = stream.read().removeprefix(b"\xef\xbb\xbf")
    if not content.strip():
        raise InputError("the file is empty; it needs a record, as a JSON object, in each line")
    try:
        document = None if is_json_lines(given.file) else _parsed(_text(content))
    except (ValueError, RecursionError):
        document = None
    try:
        if document is None:
            return JsonRecords(_alike(flatten(_lines(content))))
        return JsonRecords(_alike(flatten(_frame_of(document))))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError, TypeError):
        records = _records(file) if document is None else enumerate(document if isinstance(document, list) else [], 1)
        raise InputError(_mistake(records, "line" if document is None else "entry")) from None


def _alike(frame: pl.DataFrame) -> pl.DataFrame:
    """Return records; ``InputError`` where one has other keys alone, as a total below the others has."""
    usual = [column.name for column in frame if column.null_count() <= _FEW_WITHOUT * frame.height]
    rare = [name for name in frame.columns if name not in usual]
    if usual and rare:
        none, some = pl.all_horizontal(pl.col(usual).is_null()), pl.any_horizontal(pl.col(rare).is_not_null())
        strange = frame.select(none & some).to_series()
        if strange.any():
            number = int(strange.sum())
            raise InputError(
                f"{counted(number, 'record')} {'has' if number == 1 else 'have'} none of the keys of the others, first "
                f"record {int(strange.arg_max() or 0) + 1}; delete what is no record"
            )
    return frame


_FEW_WITHOUT = 0.05
"""Share of the records that may lack a key that records usually have."""


def _text(content: bytes) -> str:
    return content.decode(json.detect_encoding(content))


def _parsed(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_distinct)


def _distinct(pairs: list[tuple[str, Any]]) -> Any:
    """Return an object, or the value that MongoDB wraps in one with its type.

    Raises ``InputError`` where a key stands twice, of which parsers keep one.
    """
    record = dict(pairs)
    if len(record) < len(pairs):
        raise InputError("a key stands twice in one object; give each value a key of its own")
    wrapped = _WRAPPED.get(pairs[0][0]) if len(pairs) == 1 else None
    return record if wrapped is None else wrapped(pairs[0][1])


def _day_of(since: Any) -> Any:
    """Write as text what counts the milliseconds since 1970."""
    return (_FIRST + timedelta(milliseconds=since)).isoformat() if isinstance(since, int) else since


_FIRST = datetime(1970, 1, 1)
_WRAPPED: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("$oid", "$numberDecimal", "$uuid", "$symbol"), str),
    **{"$numberInt": int, "$numberLong": int, "$numberDouble": float, "$date": _day_of},
}
"""How MongoDB writes values for which JSON has no type."""


_LOOKED_AT = 100
"""Lines in which keys that stand twice are looked for, as the fast parser takes no notice."""


def _lines(content: bytes) -> pl.DataFrame:
    """Return records that follow each other, line by line or parted by commas, blanks or nothing."""
    head = content.splitlines()[:_LOOKED_AT]
    try:
        for line in head:
            _parsed(line.decode() or "0")
        if b'"$' in content:
            raise ValueError
        return pl.read_ndjson(content, infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError):
        records = [*_following(_text(content))]
        if not all(isinstance(record, dict) for record in records) or _mixed(records):
            raise ValueError from None
        return _frame_of(records)


def _following(text: str) -> Iterator[Any]:
    decoder, place = json.JSONDecoder(object_pairs_hook=_distinct), 0
    while place < len(text):  # Ends: each value takes a character at least.
        if text[place] in " \t\r\n,\x1e":
            place += 1
        else:
            value, place = decoder.raw_decode(text, place)
            yield value


def _frame_of(document: Any) -> pl.DataFrame:
    """Return the records of a document, however programs write them; ``InputError`` where there are none."""
    if isinstance(document, list) and document and all(isinstance(each, dict) for each in document):
        return pl.DataFrame(document, infer_schema_length=None)
    if isinstance(document, list) and len(document) > 1 and all(isinstance(each, list) for each in document):
        names, *rows = document
        if all(isinstance(name, str) for name in names) and {len(row) for row in rows} == {len(names)}:
            return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)
    if isinstance(document, Mapping):
        if (described := _described(document)) is not None:
            return described
        if isinstance(document.get("columns"), list) and isinstance(document.get("data"), list):
            return _frame_of([document["columns"], *document["data"]])
        columns = list(document.values())
        if columns and all(isinstance(each, dict) and each for each in columns):
            if _are_records(document):
                frame = _frame_of(columns)
                # Keys that only count the records say nothing.
                named = frame.width and not all(key.isdecimal() for key in document) and _KEY not in frame.columns
                return frame.insert_column(0, pl.Series(_KEY, [*document])) if named else frame
            if len({tuple(each) for each in columns}) == 1:
                columns = [list(each.values()) for each in columns]
        if all(_is_column(each) for each in columns) and len({len(each) for each in columns}) == 1:
            return pl.DataFrame(dict(zip_longest(document, columns)))
        lists = [each for each in document.values() if isinstance(each, list) and each and isinstance(each[0], dict)]
        lists = lists or _lists_inside(document)
        if len(lists) == 1:
            return _frame_of(lists[0])
    raise InputError(NO_TABLE)


def _described(document: Any) -> pl.DataFrame | None:
    """Return the rows of a document that describes its columns in another place, as portals of open data do."""
    lists = [*_lists_of(document)]
    for rows in lists:
        widths = {len(row) if isinstance(row, list) else 0 for row in rows}
        for columns in lists:
            for key in ("name", "id", "field", "key"):
                names = [each.get(key) if isinstance(each, dict) else None for each in columns]
                is_named = all(isinstance(name, str) for name in names) and len({*names}) == len(names)
                if is_named and widths == {len(names)}:
                    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)  # type: ignore[arg-type]
    return None


def _lists_of(document: Any, depth: int = 0) -> Iterator[list[Any]]:
    for each in document.values():
        if isinstance(each, list) and each:
            yield each
        elif isinstance(each, Mapping) and depth < _DEEPEST:
            yield from _lists_of(each, depth + 1)


_KEY = "id"
"""The column of what each record of an object stands under."""
_DEEPEST = 3


def _lists_inside(document: Any, depth: int = 1) -> list[Any]:
    """Return the lists of records, or of rows below names, that lie in objects of a document."""
    if depth > _DEEPEST or not isinstance(document, Mapping):
        return []
    found = [each for each in document.values() if isinstance(each, list) and _is_table(each)]
    return found or [each for inner in document.values() for each in _lists_inside(inner, depth + 1)]


def _is_table(rows: list[Any]) -> bool:
    if len(rows) > 1 and all(isinstance(each, list) for each in rows):
        return all(isinstance(name, str) for name in rows[0]) and len({len(row) for row in rows}) == 1 < len(rows[0])
    # Descriptions of columns, which stand beside records, have other keys than these.
    return len(rows) > 1 and all(isinstance(each, dict) for each in rows)


def _are_records(document: Mapping[str, Mapping[str, Any]]) -> bool:
    """Tell whether an object of objects has a record under each key, and no column."""
    inner = next(iter(document.values()))
    if all(key.isdecimal() for key in inner):
        return False
    return all(key.isdecimal() for key in document) or len(document) > len(
        {key for each in document.values() for key in each}
    )


def _is_column(values: Any) -> bool:
    return isinstance(values, list) and bool(values) and not any(isinstance(each, (dict, list)) for each in values)


def _mistake(records: Iterator[tuple[int, object]], what: str) -> str:
    """Find the first record that is no object, or the keys whose values are of several types."""
    known = []
    for number, record in records:
        if not isinstance(record, dict):
            return f"{what} {number} is no JSON object; {NO_TABLE}"
        known.append(record)
    listed = ", ".join(map(repr, _mixed(known)[:9])) or "some keys"
    return f"values of {listed} are of several types; give each key one type"


def _mixed(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the keys whose values are of several types."""
    types: dict[str, set[type]] = {}
    for record in records:
        for key, value in record.items():
            types.setdefault(key, set()).add(float if type(value) is int else type(value))
    return [key for key, kinds in types.items() if len(kinds - {type(None)}) > 1]


def _records(file: CsvFile) -> Iterator[tuple[int, object]]:
    with file.open_text() as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield number, json.loads(line)
                except (ValueError, RecursionError):
                    yield number, None


def is_json_lines(path: Path) -> bool:
    """Tell by its name whether a file, packed or not, has JSON lines."""
    return not _LINES.isdisjoint(path.suffixes[-2:])


def is_json(name: str) -> bool:
    """Tell by its name whether a file, packed or not, is of JSON."""
    path = Path(name)
    return is_json_lines(path) or not _DOCUMENTS.isdisjoint(path.suffixes[-2:])


def _is_json(given: Given) -> bool:
    start = b"".join(given.start.removeprefix(b"\xef\xbb\xbf").split())
    return bool(given.start) and (is_json(str(given.file)) or start.startswith(_STARTS))


JSON = Family(recognizes=_is_json, open=_open)
