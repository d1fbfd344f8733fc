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
        rare = [rows for each in _RARE if (rows := _parted(lines[above:], each, said.quote)) and rows.share == 1]
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


FIRST_SUM_QUESTION = "the row below the names seems to add up the others, and would count as a person; delete it"
COUNT_QUESTION = "the first row below the names numbers the columns, and would count as a person; delete it"


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


SUM_QUESTION = (
    "the last row seems to add up the others, and would count as a person; leave it out: --set source.footer-lines=1, "
    "or keep it: --set source.footer-lines=0"
)


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
            return (
                "the columns are parted by blanks, as those of one width are; write the table again with a separator, "
                "such as a tab"
            )
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
