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

from sfumato.cli.settings import plain_value, settings_of
from sfumato.errors import InputError, SfumatoError
from sfumato.policy.entries import checked
from sfumato.policy.parts import Source
from sfumato.studio.draft import OF_VALUES, SEPARATORS, Draft
from sfumato.table.raw_table import RawTable, open_table
from sfumato.table.sources.encodings import is_utf8, likely_encodings
from sfumato.table.sources.protocol import CsvFormat, Reading
from sfumato.table.sources.text_files import CsvFile, open_csv
from sfumato.table.sources.text_layout import find_layout

SUFFIXES = (".csv", ".tsv", ".tab", ".txt", ".dat", ".gz", ".zst", "")
"""Endings of files that are text, so that their layout is a question."""
ENCODINGS = ("utf-8", "cp1252", "iso-8859-15", "cp850", "mac-roman", "utf-16")
SHOWN, LOOKED_AT, SCANNED = 8, 30, 1_000_000
"""Rows that are shown, those that tell which separator fits, and those among which one that breaks is looked for."""
LONGEST = 200
"""Characters of a cell that is shown."""
# Lines beyond ASCII by which encodings are told apart, and their words that are shown.
LINES, WORDS = 200, 5
_LETTERS = re.compile(r"[^\W\d_]*[^\x00-\x7f](?:[^\W\d_]|[^\x00-\x7f])*")
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
    # `separator`, `encoding`: as the file is read now, declared or found
    separator: str
    encoding: str
    remarks: tuple[str, ...]  # what was found in the file
    letters: dict[str, str]  # words beyond ASCII as each encoding reads them, the likeliest first; empty in UTF-8


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
    taken, remarks, encoding = _found(path, layout)
    letters = _letters(path, encoding)
    better = [way for way in _better(path, layout, problems, taken) if not letters or "encoding" not in way[1]]
    return Trial(names, rows[:SHOWN], broken, problems, better, taken, encoding, remarks, letters)


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


def _better(path: Path, layout: CsvFormat, problems: Sequence[str], taken: str) -> list[tuple[str, dict[str, str]]]:
    found = []
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


def _letters(path: Path, now: str) -> dict[str, str]:
    """Return the first words with letters beyond ASCII as each encoding reads them that reads all, and differently."""
    try:
        content = open_csv(path, CsvFormat(encoding="utf-8")).strange_bytes()
    except InputError:
        return {}
    lines = [line for line in content.splitlines() if not line.isascii()][:LINES]
    found: dict[str, str] = {}
    for name in dict.fromkeys([*(likely_encodings(lines) if lines else ()), now, *ENCODINGS[:-1]]):
        is_read = name == now and not is_utf8(name)
        text = b"\n".join(lines).decode(name, "replace")
        words = ", ".join(islice(dict.fromkeys(_LETTERS.findall(text)), WORDS))
        if words and (is_read or (words.isprintable() and "\ufffd" not in text and words not in found.values())):
            found[name] = "".join(letter if letter.isprintable() else "\ufffd" for letter in words)
    return found


def _found(path: Path, layout: CsvFormat) -> tuple[str, tuple[str, ...], str]:
    """Return what parts the fields as the file is read now, what else was found, and the encoding it is read in."""
    try:
        found = find_layout(file := open_csv(path, layout), layout)
        return found.format.separator, found.remarks, file.told or layout.encoding
    except InputError:
        return layout.separator, (), layout.encoding


def _with(layout: CsvFormat, separator: str) -> CsvFormat:
    return CsvFormat(separator, layout.encoding, layout.quote)


_VALUE = r"((?:'[^']*'|\"[^\"]*\"|[^\s'\";()])+)"
_OPTION = re.compile(rf"--(set|categorical|identifying|publish|accept) {_VALUE}")
# Settings that speak of the whole file unless they name a column.
OF_FILE = (
    "decimal",
    "thousands",
    "dates",
    "encoding",
    "separator",
    "header-line",
    "footer-lines",
    "label-lines",
    "missing",
)
OF_COLUMN = ("decimal", "thousands", "dates", "unit", "missing")
ASKED = {
    "missing": ("This stands for a missing value", "such as -9"),
    "domain": ("Lowest and highest value possible", "such as 0, 100"),
}
"""Settings that a field asks for where a problem leaves the value to the steward: its label and an example."""
_LEFT_OPEN = re.compile(r"TEXT|NUMBER|UNIT$|FORM$|LOW, ?HIGH|\[LOW, ?HIGH\]")
_SAID = {
    **OF_VALUES,
    "encoding": "the file is written in {}",
    "separator": "“{}” parts the fields",
    "header-line": "line {} names the columns",
    "footer-lines": "{} lines at the end are no records",
    "label-lines": "{} rows below the names are no records",
    "domain": "values lie within {}",
}
# Findings that stop a run until somebody says that they may stay.
ACCEPTED = ("identifier", "free-text", "spellings")
_OF_KIND = {
    "categorical": "it is text, or codes",
    "numeric": "they are numbers",
    "strays-missing": "what does not fit counts as missing",
    "identifying": "make it identifying",
    "accept": "publish it so",
}


@dataclass(frozen=True)
class Answer:
    """One answer to a question."""

    option: str  # what it sets, as a policy calls it, or the kind or role of a column
    column: str  # whose values it is about; empty: the whole file's
    value: str | None  # what is said; empty where the option says all; None: a field asks for it

    @property
    def field(self) -> tuple[str, str] | None:
        """Label and example of the field that asks for the value; None where a button says all."""
        return ASKED[self.option] if self.value is None else None

    @property
    def label(self) -> str:
        """What the button says beside the question."""
        if self.field:
            return "Say so"
        return _OF_KIND[self.option] if self.option in _OF_KIND else _SAID[self.option].format(self.value)

    @property
    def words(self) -> str:
        """What was said, with the column."""
        return f"{self.column}: {self.label}" if self.column else self.label


@dataclass(frozen=True)
class Question:
    """What stops a run until somebody answers: the sentence as the page says it, and a button for each answer."""

    sentence: str
    answers: tuple[Answer, ...] = ()

    @classmethod
    def of(cls, problem: str, table: RawTable, sentence: str = "") -> Question:
        """Read a problem of the library with the open table; `sentence`: what the page says, where not all of it."""
        shown = in_page_words((sentence or problem).removeprefix(f"{table.source}: "))
        return cls(shown if sentence else f"{shown[:1].upper()}{shown[1:]}", tuple(answers([problem], table.names)))


def answers(problems: Sequence[str], names: Sequence[str]) -> list[Answer]:
    """Return the answers that problems with a table name, each once; `names` are those of its columns."""
    found = [_answer(option, value) for line in problems for option, value in _OPTION.findall(line)]
    known = (one for one in dict.fromkeys(found) if one is not None and (not one.column or one.column in names))
    # A remark stops nothing, so that nobody has to accept it.
    return [one for one in known if one.option != "accept" or one.value in ACCEPTED]


def _answer(option: str, reply: str) -> Answer | None:
    try:
        value = "".join(shlex.split(reply))
    except ValueError:
        return None
    if not value.endswith(("=,", "=:")):
        value = value.rstrip(",:")  # of the sentence
    if option == "set":
        return _of_setting(value)
    if option == "accept":
        finding, _, name = value.rpartition("=")[0].partition(":")
        return Answer("accept", name, finding)
    return Answer("accept", value, "identifier") if option == "publish" else Answer(option, value, "")


def _of_setting(value: str) -> Answer | None:
    found = settings_of([value], [])
    said = found[0].value if found else ""
    match (found[0].path if found else (), ", ".join(map(str, said)) if isinstance(said, list) else str(said)):
        case ("columns", _, str(column), "kind"), "numeric":
            return Answer("numeric", column, "")
        case ("columns", _, str(column), "strays"), "missing":
            return Answer("strays-missing", column, "")
        case ("columns", _, str(column), str(key)), text if _LEFT_OPEN.match(text):
            return Answer(key, column, None) if key in ASKED else None
        case ("columns", _, str(column), str(key)), text if key in OF_COLUMN:
            return Answer(key, column, text)
        case ("source", str(key)), text if _LEFT_OPEN.match(text):
            return Answer(key, "", None) if key in ASKED else None
        case ("source", str(key)), text if text and key in OF_FILE:
            return Answer(key, "", text)
    return None


def _limits(value: str) -> list[float]:
    found = plain_value(f"[{value.strip().strip('[]')}]")
    numbers = [one for one in found if type(one) in (int, float)] if isinstance(found, list) else []
    if len(numbers) != 2 or len(found) != 2 or not numbers[0] < numbers[1]:
        raise InputError("the range: write its lowest and highest value, such as 0, 100")
    return numbers


def answered(draft: Draft, answer: Answer) -> Draft:
    """Return the draft after an answer; ``InputError`` if it is none, ``PolicyError`` without the column."""
    column, option, value = answer.column, answer.option, answer.value or ""
    if column and option == "domain":
        return draft.with_setting(column, option, _limits(value))
    if option in ("categorical", "numeric"):
        return draft.with_setting(column, "kind", option)
    if option == "strays-missing":
        return draft.with_setting(column, "strays", "missing")
    if option == "identifying":
        return draft.with_role(column, option)
    if option == "accept" and value in ACCEPTED:
        return draft.with_answer(column, value)
    if column and option == "dates" and ", " in value:
        return draft.with_setting(column, option, value.split(", "))
    if column and option in OF_COLUMN:
        now = draft.settings.get(column, {}).get(option, ())
        return draft.with_setting(column, option, [*now, value] if option == "missing" else value)
    if not column and option in OF_FILE:
        source: dict[str, Any] = dict(draft.rest.get("source", {}))
        said = int(value) if value.isdecimal() and option.endswith(("line", "lines")) else value
        return draft.with_rest(
            "source", {**source, option: [*source.get(option, ()), value] if option == "missing" else said}
        )
    raise InputError("option: is none of the answers")


_ELSEWHERE = (
    (r"set quote=None \(in a policy[^()]*\)", "choose “nothing” around fields"),
    (r"say leave_out_known=True \([^()]*\)", "choose “without people who are in it already”"),
    (r" \((?:in a policy|in Python|on the command line)[^()]*\)", ""),
    (r"; in a policy [a-z-]+ = [^;.)]*", ""),
    (r" \(--set columns\.key-form=[^()]*\)", " on the page Columns"),
    (r"Have people counted with person=('[^']*')[^.]*", r"Give \1 the role “person”"),
    (r"\w+=(?:'[^']*'|\[[^\]]*\]) \((--[^()]*)\)", r"\1"),
    (r"[,;] (?:or )?give their text with --set source\.missing=TEXT", ", name their text under “How it is read”"),
    (r"`?sfumato hierarchy TABLE [^`;,)]*`?( drafts one)?", r"the page Hierarchies\1"),
    (r"`sfumato risk` on them", "The page Columns"),
    (r"say which is meant with sheet\: --set .*", "choose one of these"),
    (r"--set source\.(?:sheet|range|hidden)=[A-Za-z0-9:_]+", "“Of a workbook”"),
    (r"--set (?:\"[^\"]*\"|'[^']*'|[^\s;()]+)", "“How it is read”"),
    (r"--others drop", "the button “all others: leave out”"),
    (r"--person [^\s;,()]+", "the role “person”"),
)
"""What messages say to a command line, and what a page says instead."""


_SHEET = re.compile(r"--set (?:'source\.sheet=([^']+)'|source\.sheet=(\S+))")


def sheets_named(problems: Sequence[str]) -> list[str]:
    """Return the sheets of a workbook among which somebody has to choose."""
    return [quoted or plain for line in problems for quoted, plain in _SHEET.findall(line)]


def in_page_words(line: str) -> str:
    """Write a message of the library for a page: options become the labels of buttons, commands the pages."""

    def label(found: re.Match[str]) -> str:
        answer = _answer(found[1], found[2])
        if answer is None:
            return found[0]
        if answer.field:
            return f"“{answer.field[0]}”"
        return answer.label if "“" in answer.label else f"“{answer.label}”"

    if not re.search("sfumato |--| in Python |=None", line):
        return line
    for pattern, words in _ELSEWHERE[:-4]:
        line = re.sub(pattern, words, line)
    line = _OPTION.sub(label, line)
    for pattern, words in _ELSEWHERE[-4:]:
        line = re.sub(pattern, words, line)
    return line
