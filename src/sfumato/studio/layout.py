"""How a text file would be read in one way or another, and the questions that reading a table asks."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from sfumato.cli.settings import settings_of
from sfumato.errors import InputError, SfumatoError
from sfumato.policy.entries import checked
from sfumato.policy.parts import Source
from sfumato.studio.draft import Draft
from sfumato.table.layout import Reading
from sfumato.table.raw_table import open_table
from sfumato.table.sources.encodings import is_utf8
from sfumato.table.sources.protocol import CsvFormat
from sfumato.table.sources.text_files import CsvFile, open_csv
from sfumato.table.sources.text_layout import find_layout

SUFFIXES = (".csv", ".tsv", ".tab", ".txt", ".dat", ".gz", ".zst", "")
"""Endings of files that are text, so that their layout is a question."""
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
ENCODINGS = ("utf-8", "cp1252", "iso-8859-15", "cp850", "mac-roman", "utf-16")
SHOWN, LOOKED_AT, SCANNED = 8, 30, 1_000_000
"""Rows that are shown, those that tell which separator fits, and those among which one that breaks is looked for."""
LONGEST = 200
"""Characters of a cell that is shown."""
_ENCODING = re.compile(r"source\.encoding=([a-z0-9_-]+)")


@dataclass(frozen=True)
class Broken:
    """The first row that does not fit."""

    number: int  # of the record, from 1; 0 is the row of names
    cells: list[str]
    why: str


@dataclass(frozen=True)
class Trial:
    """What comes of reading a file in one way."""

    names: list[str]  # of the columns
    rows: list[list[str]]  # the first ones
    broken: Broken | None
    problems: list[str]  # why the file cannot be read in this way; empty if it can
    better: list[tuple[str, dict[str, str]]]  # ways that seem to fit better: what is said of them, and what changes


def is_text_file(path: Path) -> bool:
    """Tell whether the layout of a file is a question."""
    return path.suffix.lower() in SUFFIXES


def tried(path: Path, source: Mapping[str, Any]) -> Trial:
    """Read a whole text file in one way, O(bytes), and say what comes of it, without any value."""
    layout, problems = checked(Source, source).layout(), _problems(path, source)
    rows = list(islice(_rows(path, layout), SHOWN + 1))
    names = list(layout.columns or ()) or (rows.pop(0) if rows else [])
    width = len(names)
    broken = _broken(path, layout, width) if problems else None
    return Trial(names, rows[:SHOWN], broken, problems, _better(path, layout, problems))


def layout_columns(path: Path, source: Mapping[str, Any]) -> list[str]:
    """Return names for the columns of a file whose first row is a record already."""
    first = next(_rows(path, checked(Source, {**source, "header": True, "columns": None}).layout()), [])
    return [f"column {number}" for number in range(1, len(first) + 1)]


def _problems(path: Path, source: Mapping[str, Any]) -> list[str]:
    try:
        table = open_table(path, reading=Reading(**checked(Source, source).reading()))
        table.read(table.names)
        return [] if table.height else [f"{table.source}: the table has no records"]
    except SfumatoError as error:
        return list(error.problems)


def _rows(path: Path, layout: CsvFormat) -> Iterator[list[str]]:
    """Read rows whatever they hold: bytes that are not in the encoding are shown as such."""
    try:
        file, encoding = open_csv(path, layout), "utf-8-sig"
    except InputError:
        file, encoding = CsvFile(path), "utf-8-sig" if is_utf8(layout.encoding) else layout.encoding
    found = find_layout(file, layout)
    layout = found.format
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if layout.quote else csv.QUOTE_NONE
    with io.TextIOWrapper(file.open(), encoding=encoding, errors="replace", newline="") as text:
        lines = (line.replace("\0", "\ufffd") for line in islice(text, found.above, None))
        reader = csv.reader(lines, delimiter=layout.separator, quotechar=layout.quote or '"', quoting=quoting)
        try:
            yield from (_shown(row) for row in reader if row)
        except (csv.Error, UnicodeError, InputError):
            # Whoever reads the whole file says why.
            return


def _shown(row: Sequence[str]) -> list[str]:
    return [cell if len(cell) <= LONGEST else f"{cell[:LONGEST]}…" for cell in row]


def _broken(path: Path, layout: CsvFormat, width: int) -> Broken | None:
    for number, row in enumerate(islice(_rows(path, layout), SCANNED), 1 - layout.header):
        if any("\ufffd" in cell for cell in row):
            return Broken(number, row, f"has bytes that are not {layout.encoding}")
        if len(row) != width:
            return Broken(number, row, f"has {len(row):,} fields, where the first row has {width:,}")
    return None


def _better(path: Path, layout: CsvFormat, problems: Sequence[str]) -> list[tuple[str, dict[str, str]]]:
    found, taken = [], _separator(path, layout)
    for separator, name in SEPARATORS.items():
        if separator == taken:
            continue
        rows = list(islice(_rows(path, _with(layout, separator)), LOOKED_AT))
        widths = {len(row) for row in rows}
        if len(widths) == 1 and (width := widths.pop()) > 1:
            found.append((f"{name}s part each of the first {len(rows)} rows into {width:,} fields", separator))
    better = [(words, {"separator": separator}) for words, separator in found]
    for line in problems:
        named = ["utf-8"] if "the file is UTF-8" in line else _ENCODING.findall(line)
        better += [(f"the letters read as {name}", {"encoding": name}) for name in named if name != layout.encoding]
    return list({tuple(its.items()): (words, its) for words, its in better}.values())


def _separator(path: Path, layout: CsvFormat) -> str:
    """Return what parts the fields as the file is read now: what is declared, or what was found."""
    try:
        return find_layout(open_csv(path, layout), layout).format.separator
    except InputError:
        return layout.separator


def _with(layout: CsvFormat, separator: str) -> CsvFormat:
    return CsvFormat(separator, layout.encoding, layout.quote)


_OPTION = re.compile(r"--(set|categorical) ((?:'[^']*'|\"[^\"]*\"|[^\s'\";()])+)")
OF_FILE = ("decimal", "thousands", "dates", "encoding", "separator", "header-line", "footer-lines")
"""Settings that speak of the whole file unless they name a column."""
OF_COLUMN = ("decimal", "thousands", "dates", "unit")
_SAID = {
    "decimal": "“{}” stands before fractions",
    "thousands": "“{}” stands between thousands",
    "dates": "dates are written {}",
    "unit": "{} is the unit",
    "encoding": "the file is written in {}",
    "separator": "“{}” parts the fields",
    "header-line": "line {} names the columns",
    "footer-lines": "{} lines at the end are no records",
}
_OF_KIND = {
    "categorical": "it is text, or codes",
    "numeric": "they are numbers",
    "strays-missing": "what does not fit counts as missing",
}


@dataclass(frozen=True)
class Answer:
    """One answer to a question."""

    option: str  # what it sets, as a policy calls it, or the kind of a column
    column: str  # whose values it is about; empty: the whole file's
    value: str  # what is said; empty where the option says all

    @property
    def words(self) -> str:
        """What the button says."""
        words = _OF_KIND[self.option] if self.option in _OF_KIND else _SAID[self.option].format(self.value)
        return f"{self.column}: {words}" if self.column else words


def answers(problems: Sequence[str], names: Sequence[str]) -> list[Answer]:
    """Return the answers that problems with a table name, each once; `names` are those of its columns."""
    found = [_answer(option, value, names) for line in problems for option, value in _OPTION.findall(line)]
    return list(dict.fromkeys(answer for answer in found if answer is not None))


def _answer(option: str, reply: str, names: Sequence[str]) -> Answer | None:
    try:
        value = "".join(shlex.split(reply))
    except ValueError:
        return None
    if option == "categorical":
        return Answer(option, value, "") if value in names else None
    found = settings_of([value], [])
    match (found[0].path, str(found[0].value)) if found else ((), ""):
        case ("columns", _, str(column), "kind"), "numeric" if column in names:
            return Answer("numeric", column, "")
        case ("columns", _, str(column), "strays"), "missing" if column in names:
            return Answer("strays-missing", column, "")
        case ("columns", _, str(column), str(key)), text if column in names and key in OF_COLUMN:
            return Answer(key, column, text)
        case ("source", str(key)), text if text and key in OF_FILE:
            return Answer(key, "", text)
    return None


def answered(draft: Draft, answer: Answer) -> Draft:
    """Return the draft after an answer; ``InputError`` if it is none, ``PolicyError`` without the column."""
    if answer.option in ("categorical", "numeric"):
        return draft.with_setting(answer.column, "kind", answer.option)
    if answer.option == "strays-missing":
        return draft.with_setting(answer.column, "strays", "missing")
    if answer.column and answer.option in OF_COLUMN:
        return draft.with_setting(answer.column, answer.option, answer.value)
    if not answer.column and answer.option in OF_FILE:
        source: dict[str, Any] = dict(draft.rest.get("source", {}))
        value = int(answer.value) if answer.value.isdecimal() else answer.value
        return draft.with_rest("source", {**source, answer.option: value})
    raise InputError("option: is none of the answers")
