"""Where the table lies in a text file that another program wrote: its separator, lines above its names, lines below."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol, TextIO

from sfumato.numbers import counted
from sfumato.table.sources.protocol import CsvFormat
from sfumato.table.written_forms import UNITS

SEPARATORS = {",": "','", ";": "';'", "\t": "tab", "|": "'|'"}
_RARE = ("^", "~", "\x01", "\x1f", ":")
"""Separators that are tried where none of the usual ones parts anything."""
_LINES = 50
"""Lines by which the layout is told, and in which names are looked for."""
_LONGEST = 1 << 16
_SAID = re.compile(r'\s*"?sep=(.)"?[\s;,]*$', re.IGNORECASE | re.DOTALL)
_NUMBER = re.compile(r"[^\w]*[0-9][0-9.,:/\-\s]*\W*$")
TOTALS = frozenset(
    """all gesamt gesamtsumme insgesamt ogolem overall razem somme sum suma summe totaal total totale totals всего итого
    合計 average mean median durchschnitt mittelwert moyenne promedio gemiddelde medel среднее 平均
    σ ∑ ukupno celkem spolu toplam yhteensä összesen всього łącznie jumlah 合计 总计 合計 總計 小计 합계 총계 รวม
    min max minimum maximum std subtotal zwischensumme teilsumme""".split()  # noqa: SIM905
) | {
    "grand total",
    "total general",
    "standard deviation",
    "i alt",
    "totale generale",
    "sum total",
}
"""Labels of rows that add up the others, or tell of all of them, in small letters."""
_COUNT = re.compile(r"n\s*=\s*[0-9.,]+$")


class Text(Protocol):
    """A file whose text can be opened."""

    def open_text(self) -> TextIO:
        """Open it, with line ends as they are."""
        ...


@dataclass(frozen=True)
class Layout:
    """How a text file is laid out: what was said of it, and what its first lines show."""

    format: CsvFormat
    above: int = 0  # lines above the names
    numbered: bool = False  # whether rows begin with a name for which the row of names has no field, as R writes them
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Rows:
    """The first rows of a file, parted by one separator."""

    separator: str
    lines: Sequence[int]  # in which each row begins, from 0
    fields: Sequence[Sequence[str]]

    @property
    def _widths(self) -> tuple[int, int]:
        """The width that most rows have, and how many do."""
        widths = Counter(len(row) for row in self.fields if any(row))
        return max(((width, count) for width, count in widths.items()), key=lambda each: (each[1], each[0]))

    @property
    def width(self) -> int:
        """The number of fields that most rows have."""
        return self._widths[0]

    @property
    def share(self) -> float:
        """Share of the rows that have them, zero where that is one field."""
        width, count = self._widths
        return count / sum(any(row) for row in self.fields) if width > 1 else 0.0

    def is_of_r(self, lines: Sequence[str]) -> bool:
        """Tell whether quoted names of rows stand before the first column, without a name."""
        first = next((place for place, row in enumerate(self.fields) if any(row)), 0)
        return self.width == len(self.fields[first]) + 1 and all(line[:1] in ('"', "") for line in lines)

    def names(self) -> int:
        """Return the line of the names: the first row of many fields, if rows below hold numbers where it does not."""
        for place, row in enumerate(self.fields):
            if sum(map(bool, row)) > max(1, self.width // 2):
                below = [other for other in self.fields[place + 1 :] if len(other) == self.width]
                named = [name for name in row if name]
                whole = all(row[1:]) or (not row[0] and not row[-1] and all(row[1:-1]))
                is_name = whole and not any(map(_NUMBER.match, row)) and len(set(named)) == len(named)
                numbers = [any(map(_NUMBER.match, other)) for other in below]
                return self.lines[place] if is_name and 2 * sum(numbers) > len(below) else 0
        return 0


def find_layout(file: Text, said: CsvFormat) -> Layout:
    """Tell how a file is laid out that another program wrote; of any other it is as it was said."""
    if not said.foreign:
        return Layout(said)
    lines = first_lines(file)
    above = said.header_line - 1 if said.header_line else 0
    written = _SAID.match(lines[0]) if lines and not above else None
    if written is not None:
        above, separators = 1, [written[1]]
    else:
        separators = [said.separator, *(each for each in SEPARATORS if each != said.separator)]
    tried = [rows for each in separators if (rows := _parted(lines[above:], each, said.quote)) is not None]
    if not tried or not separators[0].isascii():
        return Layout(said, above)
    best = max(tried, key=lambda rows: rows.share)
    if not best.share and written is None:
        parted = [_parted(lines[above:], each, said.quote) for each in _RARE]
        # Names before values repeat, as those of a column seldom do.
        rare = [
            rows for rows in parted
            if rows and rows.share == 1 and 3 * len({row[0] for row in rows.fields}) > len(rows.fields)
        ]  # fmt: skip
        # Blanks part only what R wrote: each name between quotes of its own.
        if lines[above : above + 1] and _QUOTED_NAMES.fullmatch(lines[above]):
            rare += filter(None, [_parted(lines[above:], " ", said.quote)])
        best = rare[0] if rare else best
    if said.header and not said.header_line:
        above += best.names()
    remarks = []
    if best.separator != said.separator:
        shown = SEPARATORS.get(best.separator, repr(best.separator))
        remarks.append(f"The file is separated by {shown} (--set source.separator={shown}).")
    if written is not None:
        remarks.append("The first line says what parts the fields, as spreadsheets write it, and was left out.")
    if above and written is None and not said.header_line:
        remarks.append(f"The names of the columns stand in line {above + 1}; what is above it was left out.")
    return Layout(replace(said, separator=best.separator), above, said.header and best.is_of_r(lines), tuple(remarks))


def first_lines(file: Text) -> list[str]:
    """Return the first lines of a file, without their ends."""
    with file.open_text() as text:
        return [line[:_LONGEST].rstrip("\r\n") for line in islice(text, _LINES)]


def _parted(lines: Sequence[str], separator: str, quote: str | None) -> _Rows | None:
    reader = csv.reader(
        (f"{line}\n" for line in lines if "\0" not in line), delimiter=separator, quotechar=quote or '"',
        quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
    )  # fmt: skip
    begins, rows, line = [], [], 0
    try:
        for row in reader:
            if row:
                begins.append(line)
                rows.append([field.strip() for field in row])
            line = reader.line_num
    except csv.Error:
        return None
    return _Rows(separator, begins, rows) if any(map(any, rows)) else None


def trim_lines(content: bytes, above: int, below: int) -> bytes:
    """Drop lines above a table, and lines below it that are not blank."""
    ends = (match.end() for match in re.finditer(rb"\r\n|\n|\r", content))
    rest = content[next(islice(ends, above - 1, None), len(content)) if above else 0 :]
    for _ in range(below):
        rest = rest.rstrip(b"\r\n\t ;,")
        rest = rest[: max(rest.rfind(b"\n"), rest.rfind(b"\r")) + 1]
    return rest


def adds_up(fields: Sequence[str], others: Iterable[str] = ()) -> bool:
    """Tell whether a row seems to add up the others: a word for a sum, and else numbers or nothing.

    `others`: lines above it; a word that stands in one of them is a label as others are.
    """
    words = {field.strip(" :.=*").casefold() for field in fields if field.strip() and not _NUMBER.match(field.strip())}
    if not words or not all(word in TOTALS or _COUNT.match(word) for word in words):
        return False
    parts = (re.split(r"[,;\t|]", line.casefold().replace('"', "")) for line in others)
    return not any(words.intersection(fields) or any(map(_COUNT.match, fields)) for fields in parts)


def is_a_line(fields: Sequence[str]) -> bool:
    """Tell whether a row is nothing but a line, drawn with dashes."""
    return any("--" in field or "==" in field for field in fields) and all(map(_LINE.fullmatch, fields))


_QUOTED_NAMES = re.compile(r'"[^" ]+"(?: "[^" ]+")+')
_LINE = re.compile(r"[-=+:|\s]*")
_ENCLOSED = re.compile(r'"(?:[^"]|"")*"')


def without_enclosing(lines: Sequence[str]) -> bool:
    """Tell whether each line stands between quotes as a whole, as a spreadsheet writes lines that it did not part."""
    shown = [line for line in lines if line.strip()]
    inner = [line[1:-1].replace('""', '"') for line in shown]
    return (
        len(shown) > 1
        and all(map(_ENCLOSED.fullmatch, shown))
        and any((rows := _parted(inner, each, '"')) is not None and rows.share == 1 for each in SEPARATORS)
    )


def end_mark(lines: Sequence[str], separator: str) -> str | None:
    """Return the sign that ends every line, and stands nowhere else: it is neither a value nor a separator."""
    shown = [line.rstrip() for line in lines if line.strip()]
    ends = {line[-1] for line in shown}
    mark = ends.pop() if len(ends) == 1 else ""
    is_one = len(shown) > 1 and mark in (";", "|", "\\") and mark != separator
    return mark if is_one and all(line.count(mark) == 1 for line in shown) else None


def rows_apart(lines: Sequence[str]) -> int:
    """Count the lines below the only blank ones among the last lines of a file; zero where there are none, or more."""
    blank = [place for place, line in enumerate(lines) if not line.strip()]
    if not blank or blank[-1] - blank[0] != len(blank) - 1 or blank[0] < 2:
        return 0
    return len(lines) - 1 - blank[-1]


def apart_question(rows: int) -> str:
    """Ask about lines at the end of a file that stand below a blank one."""
    return (
        f"below a blank line at the end of the file {'stands' if rows == 1 else 'stand'} {counted(rows, 'line')}, as "
        f"a footer or another table does; leave {'it' if rows == 1 else 'them'} out: "
        f"--set source.footer-lines={rows}, or keep {'it' if rows == 1 else 'them'}: --set source.footer-lines=0"
    )


LABEL_QUESTIONS = {
    "sum": "the row below the names seems to add up the others, and would count as a person",
    "count": "the first row below the names numbers the columns, and would count as a person",
    "labels": "below the names {} to hold labels, units or types, and no record",
}
"""What is asked about rows below the names."""


def label_question(what: str, rows: int = 1) -> str:
    """Ask about rows below the names that seem to be no records."""
    how = f"{counted(rows, 'row')} {'seems' if rows == 1 else 'seem'}"
    return (
        f"{LABEL_QUESTIONS[what].format(how)}; leave {'it' if rows == 1 else 'them'} out: "
        f"--set source.label-lines={rows}, or keep {'it' if rows == 1 else 'them'}: --set source.label-lines=0"
    )


_TYPES = frozenset(
    """string str text char varchar character int integer long bigint float double real decimal numeric number num
    date datetime timestamp time bool boolean factor category categorical nominal ordinal scale id uuid object
    years year yrs months month weeks days hours minutes seconds jahre monate tage stunden ans mois jours % - – --
    count n score index unit units einheit type""".split()  # noqa: SIM905
)
"""What stands in rows of units and types, beside units."""
_OF_QUALTRICS = '{"ImportId":'
_MOST_LABELS, _FEWEST_RECORDS, _NEARLY_ALL = 3, 5, 0.8


def label_rows(lines: Sequence[str], layout: CsvFormat) -> tuple[int, bool]:
    """Count the rows below the names that are units, types or labels, and say whether that is certain.

    All their cells are texts where records have numbers, or nothing; certain are units and types alone.
    """
    rows = _parted(lines, layout.separator, layout.quote)
    if rows is None or not layout.header or rows.width < 2:
        return 0, False
    found, below = 0, [row for row in rows.fields[1:] if len(row) == rows.width]
    for place in range(min(_MOST_LABELS, len(below) - _FEWEST_RECORDS)):
        found += found == place and _is_of_labels(below[place], below[place + 1 :])
    cells = [cell for row in below[:found] for cell in row if cell]
    return found, any(_OF_QUALTRICS in cell for cell in cells) or (bool(cells) and all(map(_is_unit, cells)))


def _is_unit(cell: str) -> bool:
    plain = cell.casefold().strip("()[] ")
    return plain in UNITS or plain in _TYPES


def _is_of_labels(row: Sequence[str], records: Sequence[Sequence[str]]) -> bool:
    told, texts = list[tuple[str, list[str]]](), list[tuple[str, list[str]]]()
    for cell, column in zip(row, zip(*records, strict=True), strict=True):
        others = [other for other in column if other]
        is_number = len(others) >= _FEWEST_RECORDS and sum(map(_is_number, others)) > _NEARLY_ALL * len(others)
        (told if is_number else texts).append((cell, others))
    said = [cell for cell, _ in told if cell]
    if not said or any(map(_is_number, said)) or 2 * len(said) < len(told):
        return False
    # A text beside numbers may as well be missing: one alone, or one for all, has to be a unit, a type or a sentence.
    if len({*said}) == 1 and not _is_unit(said[0]) and " " not in said[0]:
        return False
    return all(cell not in others for cell, others in texts if cell)


def _is_number(cell: str) -> bool:
    return _NUMBER.match(cell) is not None


_OF_ANSWERS = ("response", "open-ended response")
"""What SurveyMonkey writes below a question, and says nothing."""


def joined_names(above: Sequence[str], below: Sequence[str]) -> list[str]:
    """Put names of two rows together; one of the upper row goes on over blanks, where it has one below itself."""
    group, names = "", []
    for upper, lower in zip(above, below, strict=False):
        group = upper.strip() if upper.strip() else group
        said = "" if lower.strip().casefold() in _OF_ANSWERS else lower.strip()
        names.append(" ".join(filter(None, [group, said])))
        group = group if lower.strip() else ""
    return names


def are_names(fields: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether a first row can be no record: it has no number, but columns below it have."""
    records = [row for row in rows if len(row) == len(fields)]
    columns = zip(*records, strict=True)
    of_numbers = any(sum(map(_is_number, column)) > _NEARLY_ALL * len(column) for column in columns)
    return of_numbers and len(records) >= _FEWEST_RECORDS and not any(map(_is_number, fields))


def numbered_names(fields: Sequence[str]) -> list[str]:
    """Put a number behind each name that stands there before."""
    counts, names = Counter[str](), list[str]()
    for field in fields:
        counts[field] += 1
        names.append(f"{field} {counts[field]}" if field.strip() and counts[field] > 1 else field)
    return names


_MOST_NOTES = 9


def rows_of_notes(lines: Sequence[str], layout: CsvFormat, width: int, head: Sequence[str]) -> int:
    """Count the rows at the end of a file that are notes, of one text alone, or that add up the others."""
    found, rows = 0, [next(_reader_of(line, layout), []) for line in lines]
    others = [*lines, *head]
    alone = any(_is_note(next(_reader_of(line, layout), []), width) for line in head[1:_FEWEST_RECORDS])
    for place in range(len(rows) - 1, 0, -1):
        above = [*lines[:place], *head]
        if not (adds_up(rows[place], above) or (_is_note(rows[place], width) and not alone)):
            break
        found += 1
    return found if found <= _MOST_NOTES and found < len(others) - 1 else 0


def _is_note(row: Sequence[str], width: int) -> bool:
    filled = [cell for cell in row if cell.strip()]
    is_apart = len(row) > 2 or len(row) < width
    return len(filled) == 1 and is_apart and bool(_NOTE.search(filled[0].strip()))


_NOTE = re.compile(r"^[^\W\d_][^:]*[:\s].*[^\W\d_]{2}|^[*†¹²³\[(]+ ?\S.* |^[#©]")


def _reader_of(line: str, layout: CsvFormat) -> Iterator[list[str]]:
    return csv.reader([line], delimiter=layout.separator, quotechar=layout.quote or '"')


def numbers_columns(lines: Sequence[str], layout: CsvFormat) -> bool:
    """Tell whether the row below the names is 1, 2, 3 and so on, though a column has texts."""
    rows = _parted(lines, layout.separator, layout.quote)
    if rows is None or len(rows.fields) < 4 or rows.width < 3 or not layout.header:
        return False
    first, rest = rows.fields[1], rows.fields[2:]
    counts = [*first] == [str(number) for number in range(1, rows.width + 1)]
    return counts and any(not any(map(_NUMBER.match, column)) for column in zip(*rest, strict=False))


def footer_question(rows: int, width: int, number: int) -> str:
    """Ask about rows at the end of a file that have too few fields."""
    return (
        f"the last {counted(rows, 'row')} of the file, from row {number} on, "
        f"{'has' if rows == 1 else 'have'} fewer than {width} fields, as a footer has; leave "
        f"{'it' if rows == 1 else 'them'} out: --set source.footer-lines={rows}"
    )


def notes_question(rows: int) -> str:
    """Ask about rows at the end of a file that are notes, or add up the others."""
    seem, who, them = ("row seems", "a person", "it") if rows == 1 else (f"{rows} rows seem", "people", "them")
    return (
        f"the last {seem} to add up the others, or to be a note, and would count as {who}; leave {them} out: "
        f"--set source.footer-lines={rows}, or keep {them}: --set source.footer-lines=0"
    )


_PARTED_BY_BLANKS = (
    "the columns are parted by blanks, as those of one width are; write the table again with a separator, such as a tab"
)
_ASIDE = re.compile(r"\S {2,}\S")
_SIGN = re.compile(r"[^\w\s\"'.,;|()\[\]{}<>%$€#&@?!*+=/\-]+")
_SAID_BY_NAME = re.compile(r"([^:]{1,40}): ")


def other_layout(lines: Sequence[str]) -> str | None:
    """Say how a text of a single column is laid out, where that is no table with a separator; None for all others."""
    shown = [line for line in lines if line.strip()]
    if len(shown) < _FEWEST_RECORDS:
        return None
    most = _NEARLY_ALL * len(shown)
    said = [match[1] for match in map(_SAID_BY_NAME.match, shown) if match]
    if len(said) >= most and 3 * len({*said}) <= len(said):
        return "each line holds a name and a value; write the table again with a row for each person"
    for mark in _SIGN.findall(shown[0]):
        if sum(line.count(mark) == shown[0].count(mark) for line in shown) >= most:
            sign = mark.encode(errors="surrogateescape").decode(
                "cp1252" if not mark.isprintable() else "utf-8", "replace"
            )
            return f"the columns are parted by {sign!r}; write the file again with a separator such as a comma"
    aside = sum(len(_ASIDE.findall(line)) >= len(_ASIDE.findall(shown[0])) - 1 > 0 for line in shown)
    return _PARTED_BY_BLANKS if aside >= most else None


def names_elsewhere(
    file: Text, layout: CsvFormat, names: Collection[str], found: int = 0, above: int = 0
) -> str | None:
    """Say with which separator, or in which line, the names of the schema stand; None where nothing is found.

    `file`: the file, of which the first lines are looked at. `layout`: as it was read, finding so many of the names
    below so many lines.
    """
    lines = first_lines(file)
    for number, line in enumerate(lines, 1):
        for separator in (layout.separator, *SEPARATORS):
            if not _holds(_fields(line, separator, layout.quote), names, found):
                continue
            line_number = number + above
            where = (
                f"in line {line_number} of the file: add --set source.header-line={line_number}" if number > 1 else ""
            )
            other = f"separated by {SEPARATORS[separator]}: add --set source.separator={SEPARATORS[separator]}" \
                if separator != layout.separator else ""  # fmt: skip
            if where or other:
                return f"the names of the columns stand {' and '.join(filter(None, [where, other]))}"
        fields = [*_fields(line, layout.separator, layout.quote)]
        around = {field[:1] + field[-1:] for field in fields}
        if layout.quote != "'" and around == {"''"}:
            return 'fields stand between apostrophes: add --set "source.quote=\'"'
        if layout.quote != "`" and around == {"``"}:
            return "fields stand between backquotes: add --set 'source.quote=`'"
        if around <= _PAIRS and fields:
            return f"fields stand between {' and '.join(around.pop())}; write the file again with plain quotes"
        if len(fields) == 1 and (mark := _unusual(line, names)) is not None:
            return f"the columns are parted by {mark!r}; write the file again with a separator such as a comma"
        if len(line.split()) > 1 and _holds(line.split(), names, found):
            return _PARTED_BY_BLANKS
    return None


_PAIRS = frozenset({"“”", "„“", "„”", "«»", "»«", "‘’", "‚‘", "「」"})


def _unusual(line: str, names: Collection[str]) -> str | None:
    """Return the sign, of one character or several, that parts some of the names."""
    marks = {*re.findall(r"[^\w\s\"',;|]+", line)}
    for mark in sorted(marks, key=lambda each: (-len(each), each)):
        if _holds([field.strip() for field in line.split(mark)], names, 0):
            return str(mark)
    return None


def _holds(fields: Iterable[str], names: Collection[str], found: int) -> bool:
    common = {*fields}.intersection(names)
    return len(common) > found and len(common) >= len(names) / 2


def _fields(line: str, separator: str, quote: str | None) -> Iterator[str]:
    try:
        row = next(csv.reader([line], delimiter=separator, quotechar=quote or '"'), [])
    except csv.Error:
        return iter(())
    return (field.strip() for field in row)
