"""Excel workbooks: tables inside of sheets are found and read, and a table is written."""

from __future__ import annotations

import datetime
import logging
import re
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from shlex import quote
from typing import IO
from xml.etree import ElementTree

import polars as pl

from sfumato.errors import InputError, raise_all
from sfumato.numbers import counted
from sfumato.table.announcing import announce
from sfumato.table.distinct import as_categories_where_few
from sfumato.table.sources.protocol import Given, TableSource, is_whole, library, whole_where_whole
from sfumato.table.sources.text_files import on_one_line, unpack_limit
from sfumato.table.sources.text_layout import adds_up

# The parts of an Excel workbook: which sheets there are, and their first rows, without reading the rest.


# Cells of a sheet as people write them: ``B3:H500``.


_WRITTEN = re.compile(r"\$?([A-Z]{1,3})\$?([1-9][0-9]{0,6})?(?::\$?([A-Z]{1,3})\$?([1-9][0-9]{0,6})?)?")


@dataclass(frozen=True)
class CellRange:
    """A rectangle of cells, counted from 0; None leaves a side open."""

    left: int = 0
    top: int | None = None  # None: the first row that is not empty
    # `right`, `bottom`: the last column and row
    right: int | None = None
    bottom: int | None = None

    @classmethod
    def of(cls, text: str) -> CellRange:
        """Read ``B3:H500``, ``B3:H``, ``B3`` or ``B:H``; ``InputError`` for another form or an end before its start."""
        match = _WRITTEN.fullmatch(text.strip().upper())
        if match is None:
            raise InputError("range: is no range of cells; write it like B3:H500, B3:H or B3")
        left, top, right, bottom = match.groups()
        made = cls(column_number(left), _row(top), None if right is None else column_number(right), _row(bottom))
        if (made.right is not None and made.right < made.left) or (made.bottom is not None and _ends_early(made)):
            raise InputError("range: ends before it begins; write the upper left cell first, then the lower right one")
        return made

    def has(self, column: int, row: int) -> bool:
        """Tell whether a cell belongs to it."""
        return self.left <= column <= (column if self.right is None else self.right) and (self.top or 0) <= row <= (
            row if self.bottom is None else self.bottom
        )

    def meets(self, other: CellRange) -> bool:
        """Tell whether it has a cell in common with a closed rectangle."""
        assert other.right is not None
        assert other.bottom is not None
        beside = other.right < self.left or (self.right is not None and other.left > self.right)
        above = other.bottom < (self.top or 0) or (self.bottom is not None and (other.top or 0) > self.bottom)
        return not (beside or above)


def column_number(letters: str) -> int:
    """Return the number of a column, from 0."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1


def column_letters(number: int) -> str:
    """Return the letters of a column."""
    letters = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        letters = chr(ord("A") + digit) + letters
    return letters


def cell_name(column: int, row: int) -> str:
    """Return what people call a cell."""
    return f"{column_letters(column)}{row + 1}"


def _row(text: str | None) -> int | None:
    return None if text is None else int(text) - 1


def _ends_early(cells: CellRange) -> bool:
    return cells.top is None or cells.bottom is None or cells.bottom < cells.top


DAMAGED = "the workbook is damaged or cut off; get a whole copy"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_STRICT_RELATION = "{http://purl.oclc.org/ooxml/officeDocument/relationships}id"
_ZEROS = re.compile(r"0{2,}")
_REFERENCE = re.compile(r"([A-Z]+)([0-9]+)")


@dataclass(frozen=True)
class Sheet:
    """A sheet of cells: its name, the part that holds it, and whether the workbook hides it."""

    name: str
    part: str
    is_hidden: bool


@dataclass(frozen=True)
class Row:
    """A row that is not empty: its number from 0, and the text of each cell that holds something, by column."""

    number: int
    cells: dict[int, str]


@dataclass(frozen=True)
class Workbook:
    """An Excel file whose list of sheets was read."""

    path: Path
    sheets: tuple[Sheet, ...]  # sheets of cells alone, not those that are charts
    zero_padded: dict[str, int]  # number of each style that fills numbers up with zeros, and to how many digits

    def size(self, sheet: Sheet) -> int:
        """Return the bytes that a sheet unpacks to."""
        with damage_told(), zipfile.ZipFile(self.path) as archive:
            return archive.getinfo(sheet.part).file_size

    @contextmanager
    def stream(self, sheet: Sheet) -> Iterator[IO[bytes]]:
        """Open the text of a sheet."""
        with damage_told(), zipfile.ZipFile(self.path) as archive, archive.open(sheet.part) as stream:
            yield stream

    def first_rows(self, sheet: Sheet, start: int, most: int) -> list[Row]:
        """Return up to `most` rows that are not empty, from the row `start` on."""
        found: list[tuple[int, dict[int, ElementTree.Element]]] = []
        with self.stream(sheet) as stream:
            for number, row in _numbered_rows(stream):
                cells = {column: cell for column, cell in _numbered_cells(row) if _has_content(cell)}
                if cells and number >= start:
                    found.append((number, cells))
                if len(found) == most:
                    break
        shared = self._shared({_shared_index(cell) for _, cells in found for cell in cells.values()} - {None})
        return [Row(number, {column: _text(cell, shared) for column, cell in cells.items()}) for number, cells in found]

    def _shared(self, numbers: Collection[int | None]) -> dict[int, str]:
        """Return texts that cells share, reading no further than the last one that is wanted."""
        texts: dict[int, str] = {}
        if not numbers:
            return texts
        last = max(index for index in numbers if index is not None)
        with damage_told(), zipfile.ZipFile(self.path) as archive:
            part = next(name for name in archive.namelist() if name.lower().endswith("/sharedstrings.xml"))
            with archive.open(part) as stream:
                entries = (item for _, item in ElementTree.iterparse(stream) if _local(item) == "si")
                for index, item in enumerate(entries):
                    if index in numbers:
                        texts[index] = _written(item)
                    if index == last:
                        break
                    item.clear()
        return texts


class OtherWorkbook(InputError):
    """A workbook that is not of Excel's usual form: its cells are read, but nothing else is known of it."""


def open_workbook(path: Path) -> Workbook:
    """Read which sheets a workbook has; ``InputError`` when it is none, is damaged, or unpacks to a lot more."""
    with damage_told(), zipfile.ZipFile(path) as archive:
        names = {name.lower(): name for name in archive.namelist()}
        if "xl/workbook.bin" in names:
            raise OtherWorkbook("this is a binary workbook (.xlsb); save it as .xlsx")
        if "mimetype" in names and b"opendocument" in archive.read(names["mimetype"])[:99]:
            raise OtherWorkbook("this is an OpenDocument file; save its table as .xlsx or CSV")
        if "xl/workbook.xml" not in names:
            raise InputError("this is a zip archive; unpack it, and give the path of the table in it")
        unpacked, limit = sum(part.file_size for part in archive.infolist()), unpack_limit(path.stat().st_size)
        if unpacked > limit:
            raise InputError(f"the workbook unpacks to more than {limit >> 20:,} MB, which is a lot for its size")
        book = ElementTree.fromstring(archive.read(names["xl/workbook.xml"]))
        links = ElementTree.fromstring(archive.read(names["xl/_rels/workbook.xml.rels"]))
        styles = archive.read(names["xl/styles.xml"]) if "xl/styles.xml" in names else b"<none/>"
        return Workbook(path, tuple(_sheets(book, links)), _zero_padded(ElementTree.fromstring(styles)))


@contextmanager
def damage_told() -> Iterator[None]:
    """Say of every fault of a zip archive or its XML that the workbook is damaged."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, ElementTree.ParseError, *_MISSING):
        raise InputError(DAMAGED) from None


_MISSING = (KeyError, StopIteration, EOFError, RuntimeError, ValueError)


def _sheets(book: ElementTree.Element, links: ElementTree.Element) -> Iterator[Sheet]:
    parts = {link.get("Id"): link.get("Target", "") for link in links if link.get("Type", "").endswith("/worksheet")}
    for entry in book.iter():
        if _local(entry) == "sheet":
            part = parts.get(entry.get(_RELATION) or entry.get(_STRICT_RELATION))
            if part is not None:
                part = part.removeprefix("/") if part.startswith("/") else f"xl/{part}"
                yield Sheet(entry.get("name", ""), part, entry.get("state", "visible") != "visible")


def _zero_padded(styles: ElementTree.Element) -> dict[str, int]:
    codes = {each.get("numFmtId"): each.get("formatCode", "") for each in styles.iter() if _local(each) == "numFmt"}
    formats = next((each for each in styles.iter() if _local(each) == "cellXfs"), ())
    written = {str(place): codes.get(each.get("numFmtId"), "") for place, each in enumerate(formats)}
    return {place: len(code) for place, code in written.items() if _ZEROS.fullmatch(code)}


def _numbered_rows(stream: IO[bytes]) -> Iterator[tuple[int, ElementTree.Element]]:
    number = -1
    for _, row in ElementTree.iterparse(stream):
        if _local(row) == "row":
            number = int(row.get("r") or number + 2) - 1
            yield number, row
            row.clear()


def _numbered_cells(row: ElementTree.Element) -> Iterator[tuple[int, ElementTree.Element]]:
    column = -1
    for cell in row:
        if _local(cell) == "c":
            place = _REFERENCE.fullmatch(cell.get("r", ""))
            column = column_number(place[1]) if place else column + 1
            yield column, cell


def _has_content(cell: ElementTree.Element) -> bool:
    return any(_local(part) in ("v", "is") and "".join(part.itertext()).strip() for part in cell)


def _shared_index(cell: ElementTree.Element) -> int | None:
    return int(_written(cell)) if cell.get("t") == "s" else None


def _text(cell: ElementTree.Element, shared: dict[int, str]) -> str:
    index = _shared_index(cell)
    text = _written(cell) if index is None else shared.get(index, "")
    return on_one_line(text)


def _written(element: ElementTree.Element) -> str:
    """Return the text of a cell or of a shared entry, without phonetic hints and formulas."""
    skipped = {id(part) for each in element.iter() if _local(each) in ("rPh", "f") for part in each.iter()}
    return "".join(part.text or "" for part in element.iter() if _local(part) in ("v", "t") and id(part) not in skipped)


def _local(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


# Cells that a reader of values passes over in silence: merged ones, errors, formulas that were never calculated.
#
# They are found in the text of the sheet, which costs an unpacking and a few searches, on a thread of its own.


_BLOCK = 1 << 20
_END = b"c>"
_ERROR, _TRUTH = re.compile(rb't="e"'), re.compile(rb't="b"')
_UNCALCULATED = re.compile(
    rb"(?:</(?:\w+:)?f>|<(?:\w+:)?f\b[^>]*/>)"
    rb"\s*(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\b[^>]*\bref="([A-Z]+[0-9]+:[A-Z]+[0-9]+)"')
_SHEET = re.compile(rb"<(\w+:)?worksheet\b")
_CELL = re.compile(rb"<(?:\w+:)?c\b")
_PLACE = re.compile(rb'\br="([A-Z]+)([0-9]+)"')
_TYPED = re.compile(rb'\bt="(?!n")')


@dataclass
class Signs:
    """What stands in a range of a sheet beside plain values."""

    # `errors`, `uncalculated`: By column: how many such cells, and the row of the first, from 0. Column -1: cells that
    # do not say where they are.
    errors: dict[int, tuple[int, int]] = field(default_factory=dict)
    uncalculated: dict[int, tuple[int, int]] = field(default_factory=dict)
    error_rows: set[int] = field(default_factory=set)
    truths: int = 0  # cells that are true or false, of the whole sheet
    # by column: how many numbers are filled up with zeros to how many digits
    padded: dict[int, dict[int, int]] = field(default_factory=dict)
    merged: list[str] = field(default_factory=list)  # groups of merged cells that meet the range
    # rows and columns that are hidden, also by a filter
    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: set[int] = field(default_factory=set)


def find_signs(book: Workbook, sheet: Sheet, cells: CellRange) -> Signs:
    """Look through the text of a sheet. Raises ``InputError`` when the workbook is damaged."""
    signs = Signs()
    styles = [(digits, re.compile(rb'\bs="' + style.encode() + b'"')) for style, digits in book.zero_padded.items()]
    has_formulas, ended = False, b""
    for block in _blocks(book, sheet):
        # Long needles are found fastest, and formulas that cells share begin with one that is written out.
        ended = ended or _end_of_formula(block)
        has_formulas = has_formulas or ended in block
        signs.truths += block.count(b't="b"')
        if b't="e"' in block:
            wrong = [*_tags(_ERROR, block)]
            _count(signs.errors, wrong, cells)
            signs.error_rows |= {row for column, row in map(_place, wrong) if cells.has(column, row)}
        if has_formulas:
            # A formula may well result in the empty text.
            tags = (tag for tag in _tags(_UNCALCULATED, block) if b't="str"' not in tag)
            _count(signs.uncalculated, tags, cells)
        if b'hidden="' in block:
            _note_hidden(signs, block, cells)
        if b"mergeCell" in block:
            found = (text.decode() for text in _MERGED.findall(block))
            signs.merged += [text for text in found if cells.meets(CellRange.of(text))]
        for digits, style in styles:
            _count_padded(signs.padded, digits, _tags(style, block), cells)
    return signs


_HIDDEN = re.compile(rb'<(?:\w+:)?(row|col)\b[^>]*\bhidden="(?:1|true)"[^>]*>')
_NUMBER = re.compile(rb'\b(r|min|max)="([0-9]+)"')


def _note_hidden(signs: Signs, block: bytes, cells: CellRange) -> None:
    for match in _HIDDEN.finditer(block):
        numbers = {name: int(number) - 1 for name, number in _NUMBER.findall(match[0])}
        if match[1] == b"col":
            signs.hidden_columns |= {*range(numbers.get(b"min", 0), min(numbers.get(b"max", 0), _MOST_COLUMNS) + 1)}
        elif cells.has(cells.left, numbers.get(b"r", -1)):
            signs.hidden_rows.add(numbers[b"r"])


def _end_of_formula(block: bytes) -> bytes:
    """Return the closing tag of formulas in a sheet that begins with this block."""
    prefix = _SHEET.search(block)
    return b"</" + (prefix[1] if prefix and prefix[1] else b"") + b"f>"


def find_truths(book: Workbook, sheet: Sheet, cells: CellRange) -> dict[int, tuple[int, int]]:
    """Return, by column, how many cells are true or false, and the row of the first."""
    found: dict[int, tuple[int, int]] = {}
    for block in _blocks(book, sheet):
        _count(found, _tags(_TRUTH, block), cells)
    return found


def _blocks(book: Workbook, sheet: Sheet) -> Iterator[bytes]:
    """Read the text in blocks that end where a cell does."""
    held = b""
    with book.stream(sheet) as stream:
        while block := stream.read(_BLOCK):
            text = held + block
            cut = text.rfind(_END) + len(_END)
            if cut < len(_END):
                held = text
                continue
            held = text[cut:]
            yield text[:cut]
    yield held


def _tags(pattern: re.Pattern[bytes], block: bytes) -> Iterator[bytes]:
    """Return the opening tag of each cell in which, or behind which, something is found."""
    for match in pattern.finditer(block):
        opened = block.rfind(b"<", 0, match.start())
        # Before the end of a formula stands its beginning, and before that its cell; text has no such tags.
        while opened > 0 and _CELL.match(block, opened) is None and match[0][:1] == b"<":
            opened = block.rfind(b"<", 0, opened)
        if _CELL.match(block, opened):
            yield block[opened : block.index(b">", opened)]


def _count(found: dict[int, tuple[int, int]], tags: Iterable[bytes], cells: CellRange) -> None:
    for tag in tags:
        column, row = _place(tag)
        if column < 0 or cells.has(column, row):
            count, first = found.get(column, (0, row))
            found[column] = count + 1, first


def _count_padded(found: dict[int, dict[int, int]], digits: int, tags: Iterator[bytes], cells: CellRange) -> None:
    for tag in tags:
        column, row = _place(tag)
        # Texts, truths and errors have a type, numbers need none; an empty cell ends at once.
        if cells.has(column, row) and not tag.endswith(b"/") and not _TYPED.search(tag):
            counts = found.setdefault(column, {})
            counts[digits] = counts.get(digits, 0) + 1


def _place(tag: bytes) -> tuple[int, int]:
    found = _PLACE.search(tag)
    return (column_number(found[1].decode()), int(found[2]) - 1) if found else (-1, -1)


# Columns of a sheet as they were loaded, and what they mean: whole numbers, days, codes with leading zeros.


_EXACT = 10**15
"""Excel keeps fifteen digits of a number."""
_FIRST_DAY = datetime.datetime(1900, 1, 1)
"""Times of day are stored as the day before it."""
_MOMENT = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?$"
_MIDNIGHT = r"^(\d{4}-\d\d-\d\d) 00:00:00(\.0+)?$"
_SAMPLE = 10_000


def sheet_column_problems(name: str, column: pl.Series, place: int, signs: Signs) -> Iterator[str]:
    """Say what a column holds that would be misread, with counts and the row of the sheet where it begins."""
    found = signs.uncalculated
    if place in found or -1 in found:
        count, row = found.get(place) or found[-1]
        where = f", first in row {row + 1} of the sheet" if row >= 0 else ""
        what = f"{counted(count, 'cell')} with a formula that was never calculated{where}"
        yield f"column {name!r}: {what}; open the file in Excel and save it"
    if column.dtype == pl.String:
        yield from _dates_beside_others(name, column)
    if isinstance(column.dtype, pl.Datetime) and not _are_times(column) and bool((column < _FIRST_DAY).any()):
        yield f"column {name!r} holds times of day beside dates; write them as text or numbers"
    if column.dtype.is_float() and _has_rounded(column):
        yield (
            f"column {name!r} holds whole numbers of sixteen digits or more, of which Excel keeps fifteen; write them "
            "as text"
        )
    widths = signs.padded.get(place, {})
    if widths and (
        len(widths) > 1 or sum(widths.values()) != len(column) - column.null_count() or not is_whole(column)
    ):
        padded = sum(widths.values())
        yield (
            f"column {name!r}: {counted(padded, 'cell')} of {len(column):,} with leading zeros that only their "
            "format shows; give all cells one format, or write the codes as text"
        )


def read_column(column: pl.Series, place: int, signs: Signs) -> pl.Series:
    """Return a column without problems as what it means."""
    if place in signs.padded:
        width = next(iter(signs.padded[place]))
        return column.cast(pl.Int64).cast(pl.String).str.zfill(width)
    if column.dtype == pl.String:
        return column.str.replace(_MIDNIGHT, "$1") if column.str.contains(_MIDNIGHT).any() else column
    if isinstance(column.dtype, pl.Datetime) and _are_times(column):
        return column.dt.to_string("%H:%M:%S")
    return whole_where_whole(column)


def _are_times(column: pl.Series) -> bool:
    """Tell whether all moments are of the day that Excel takes for none: they are times of day."""
    return len(column.drop_nulls()) > 0 and bool((column.drop_nulls() < _FIRST_DAY).all())


def _has_rounded(column: pl.Series) -> bool:
    """Tell whether all numbers are whole, and one has more digits than Excel keeps."""
    known = column.drop_nulls()
    return bool((known.abs() >= _EXACT).any() and (known == known.round()).all())


def _dates_beside_others(name: str, column: pl.Series) -> Iterator[str]:
    """Find cells that are dates in a column with numbers or texts that may be dates which Excel did not understand."""
    known = column.drop_nulls()
    dates = known.str.contains(_MOMENT)
    others = known.filter(~dates).str.contains(r"\d")
    if dates.any() and others.any():
        moments = counted(int(dates.sum()), "cell")
        yield (
            f"column {name!r}: {moments} with a date beside {others.sum():,} with a number or a text that has digits; "
            "Excel may have taken days for months: give all cells one type"
        )


_BYTES_A_SECOND = 30_000_000
"""Of a sheet's text, as measured on two cores."""
_LONG = 3
"""Seconds of reading that are told beforehand."""
_MOST_BELOW = 5
"""Rows below an empty one that may be sums and notes."""
_ROWS_LOOKED_AT = 10
"""At the top of a table, to see where it begins."""


@dataclass(frozen=True, eq=False, repr=False)
class WorkbookSource:
    """A table inside of a sheet, and how to read it."""

    book: Workbook
    sheet: Sheet
    cells: CellRange  # of the records, without the names; the last column and row may be open
    columns: dict[str, int]  # where each named column stands in the sheet
    names: tuple[str, ...]
    hidden: str | None = None  # what becomes of hidden rows and columns
    remarks: list[str] = field(default_factory=list)  # what a steward should hear of how it was read

    is_text = True
    """Numbers may be stored as text."""

    def read(self, names: Sequence[str]) -> list[pl.Series]:
        """Read columns: numbers, dates and truths as such, texts as text, rows without any value left out.

        Raises ``InputError`` when the workbook is damaged, or cells hold what would be passed over in silence: merged
        ones, errors, formulas that were never calculated, numbers beside dates.
        """
        seconds = self.book.size(self.sheet) / _BYTES_A_SECOND
        if seconds > _LONG:
            announce(f"reading sheet {self.sheet.name!r} takes about {seconds:.0f} seconds")
        with ThreadPoolExecutor(1, thread_name_prefix="sfumato") as pool:
            looking = pool.submit(find_signs, self.book, self.sheet, self._with_names())
            frame, rows = self._load(looking)
            signs = looking.result()
        self._fill_down(frame, rows, signs)
        raise_all(InputError, self._hidden(signs, names))
        raise_all(InputError, self._merged(signs))
        raise_all(InputError, self._nameless(frame))
        empty = pl.Series([], dtype=pl.Null).extend_constant(None, max(map(len, frame.values()), default=0))
        chosen = [(name, self.columns[name], frame.get(self.columns[name], empty)) for name in names]
        problems = [
            problem for name, place, column in chosen for problem in sheet_column_problems(name, column, place, signs)
        ]
        raise_all(InputError, [*problems, *self._truths_beside_numbers(chosen, signs, frame)])
        for name, place, _ in chosen:
            if place in signs.errors:
                cells = counted(signs.errors[place][0], "cell")
                self._note(f"Column {name!r}: {cells} with an error such as #N/A, and without a value.")
        return as_categories_where_few(
            [read_column(column, place, signs).alias(name) for name, place, column in chosen]
        )

    def _note(self, remark: str) -> None:
        if remark not in self.remarks:
            self.remarks.append(remark)

    def _fill_down(self, frame: dict[int, pl.Series], rows: pl.Series, signs: Signs) -> None:
        """Give all cells that were merged into one, in a column of records, its value."""
        for text in [*signs.merged]:
            cells, first = CellRange.of(text), self.cells.top or 0
            if cells.left != cells.right or cells.left not in frame or (cells.top or 0) < first or not len(rows):
                continue
            column, inside = frame[cells.left], rows.is_between(cells.top or 0, cells.bottom or 0)
            frame[cells.left] = column.zip_with(~inside | column.is_not_null(), column.filter(inside).head(1))
            signs.merged.remove(text)
            self._note("The value of cells that are merged stands in each of their rows.")

    def _with_names(self) -> CellRange:
        top = max(0, (self.cells.top or 0) - 1)
        return replace(self.cells, top=top, right=max(self.columns.values()) if self.columns else self.cells.right)

    def _load(self, looking: Future[Signs]) -> tuple[dict[int, pl.Series], pl.Series]:
        """Return columns by their place, and the rows, without those in which nothing stands, and some others."""
        reader = library("fastexcel", extra="excel", what="Excel workbooks")
        logging.getLogger("fastexcel.types.dtype").setLevel(logging.ERROR)
        top, bottom = self.cells.top or 0, self.cells.bottom
        rows = None if bottom is None else bottom - top + 1
        try:
            sheet = reader.read_excel(self.book.path).load_sheet(
                self.sheet.name, header_row=top - 1 if top else None, n_rows=rows, schema_sample_rows=None
            )
            frame, places = sheet.to_polars(), [column.absolute_index for column in sheet.selected_columns]
        except reader.FastExcelError:
            raise InputError(DAMAGED) from None
        frame.columns = [str(place) for place in places]
        kept = frame.select(name for name in frame.columns if self.cells.has(int(name), top))
        places_of_rows = pl.int_range(top, top + kept.height, eager=True)
        if kept.width:
            # Blanks alone are nothing, as in a text file.
            filled = kept.select(
                pl.sum_horizontal(
                    pl.exclude(pl.String).is_not_null(), (pl.col(pl.String).str.strip_chars() != "").fill_null(False)
                )
            ).to_series()
            if bottom is None:
                raise_all(InputError, _below(filled, kept, self._with_names()))
            signs = looking.result()
            # In a single column, an error is all that a record has.
            wrong = signs.error_rows if kept.width == 1 else ()
            dropped = signs.hidden_rows if self.hidden == "drop" else ()
            chosen = ((filled > 0) | places_of_rows.is_in([*wrong])) & ~places_of_rows.is_in([*dropped])
            kept, places_of_rows = kept.filter(chosen), places_of_rows.filter(chosen)
        return {int(column.name): column for column in kept}, places_of_rows

    def _hidden(self, signs: Signs, names: Sequence[str]) -> list[str]:
        """Ask about rows and columns that nobody sees."""
        columns = [name for name in names if self.columns[name] in signs.hidden_columns]
        if self.hidden is not None:
            return []
        return _about_hidden(self.sheet.name, len(signs.hidden_rows), len(columns))

    def _merged(self, signs: Signs) -> list[str]:
        if not signs.merged:
            return []
        more = len(signs.merged) - 1
        others = f" and {counted(more, 'other group')} of cells are" if more else " are"
        return [
            f"{signs.merged[0]}{others} merged, so that only the first cell of each holds a value; unmerge them and "
            "fill every cell, or say with range where the table lies"
        ]

    def _truths_beside_numbers(
        self, chosen: Sequence[tuple[str, int, pl.Series]], signs: Signs, frame: dict[int, pl.Series]
    ) -> Iterator[str]:
        """Find cells with TRUE and FALSE that were taken for 1 and 0."""
        pure = sum(len(column) - column.null_count() for column in frame.values() if column.dtype == pl.Boolean)
        numbers = {place: name for name, place, column in chosen if column.dtype.is_float()}
        found = {} if signs.truths == pure or not numbers else find_truths(self.book, self.sheet, self.cells)
        for place in sorted(numbers.keys() & found.keys()):
            count, row = found[place]
            yield (
                f"column {numbers[place]!r}: {counted(count, 'cell')} with TRUE or FALSE beside numbers, first in row "
                f"{row + 1} of the sheet; give all cells of the column one type"
            )

    def _nameless(self, frame: dict[int, pl.Series]) -> list[str]:
        known = {*self.columns.values()}
        strange = [place for place, column in frame.items() if place not in known and column.null_count() < len(column)]
        if not strange:
            return []
        letters = ", ".join(map(column_letters, strange[:9]))
        return [
            f"column(s) {letters} of the sheet hold values but have no name; name them, or say with range where the "
            "table lies"
        ]


def _below(filled: pl.Series, rows: pl.DataFrame, cells: CellRange) -> Iterator[str]:
    """Find what ends a table and is no record: below an empty row what fills few cells, and a row of sums."""
    top = (cells.top or 0) + 1
    full = filled.gt(0).arg_true().to_list()
    empty = filled[: full[-1]].eq(0).arg_true() if full else filled[:0]
    last = int(empty[-1]) + 1 if len(empty) else len(filled)
    rest = filled[last:]
    if 0 < len(rest) <= _MOST_BELOW and 2 * int(rest.max() or 0) < rows.width and last > 1:  # type: ignore[arg-type]
        end = top + max(place for place in full if place < last - 1)
        yield (
            f"row {top + last + 1} stands below an empty row and fills few of {rows.width} cells; if it is a sum or a "
            f"note, leave it out with a range that ends in row {end + 1}: {_ranges(cells, rows, end, top + full[-1])}"
        )
    elif _ends_in_sums(rows[full[-_ROWS_LOOKED_AT:]]):
        yield (
            f"row {top + full[-1] + 1} seems to add up the others, and would count as a person; leave it out: "
            f"{_ranges(cells, rows, top + full[-2], top + full[-1])}"
        )


def _ends_in_sums(rows: pl.DataFrame) -> bool:
    """Tell whether the last of some rows says that it adds up the others."""
    days = pl.col(pl.Date, pl.Datetime).is_not_null().replace_strict({True: "a day", False: ""})
    texts = rows.select(pl.col(pl.String).fill_null(""), days).rows()
    return len(texts) >= _FEWEST_ABOVE and adds_up(texts[-1], map("\t".join, texts[:-1]))


_FEWEST_ABOVE = 4


def _ranges(cells: CellRange, rows: pl.DataFrame, end: int, last: int) -> str:
    """Write how a table is read without its last rows, and with them."""
    right = cells.left + rows.width - 1 if cells.right is None else cells.right
    first = cell_name(cells.left, cells.top or 0)
    without, whole = (f"--set source.range={first}:{cell_name(right, row)}" for row in (end, last))
    return f"{without}, or keep it: {whole}"


def open_sheet(given: Given) -> TableSource:
    """Open the sheet that is meant, and find the names of its columns.

    Raises ``InputError`` when there is no such sheet, when it is not said which, or when no row of names can be told.
    """
    try:
        book = open_workbook(given.file)
    except OtherWorkbook as other:
        try:
            return open_other_sheet(given)
        except InputError as error:
            raise InputError(f"{other}: {error}") from None
    sheet = _sheet_of(book, given.place.sheet)
    range_of_cells = CellRange() if given.place.range is None else CellRange.of(given.place.range)
    rows = [
        Row(row.number, {column: text for column, text in row.cells.items() if range_of_cells.has(column, row.number)})
        for row in book.first_rows(sheet, range_of_cells.top or 0, _ROWS_LOOKED_AT)
    ]
    rows = [row for row in rows if row.cells]
    if not rows:
        raise InputError("there is nothing in the sheet, or in its range; name another with sheet and range")
    if not given.layout.header:
        return _without_names(book, sheet, range_of_cells, rows, given.layout.columns or ())
    first = rows[0] if range_of_cells.top in (None, rows[0].number) else Row(range_of_cells.top, {})
    first = _without_title(first, rows) if range_of_cells.top is None else first
    below = [row for row in rows if row.number >= first.number]
    left = _index(first, below) if given.place.range is None else None
    if left is None:
        _refuse_title(book, sheet, range_of_cells, first, below)
    columns = {column: name for column, name in sorted(first.cells.items()) if name}
    if given.place.hidden == "drop":
        unseen = find_signs(book, sheet, range_of_cells).hidden_columns
        columns = {column: name for column, name in columns.items() if column not in unseen}
    places = {name: column for column, name in columns.items()}
    cells = replace(range_of_cells, top=first.number + 1, left=range_of_cells.left if left is None else left + 1)
    return WorkbookSource(book, sheet, cells, places, tuple(columns.values()), given.place.hidden)


def _without_title(first: Row, rows: Sequence[Row]) -> Row:
    """Return the row of the names, where a title of one cell stands above it, and the row below holds numbers."""
    for row, below in pairwise(rows):
        if len(row.cells) > 1:
            plain = row.cells and not any(map(_looks_like_a_number, row.cells.values()))
            is_named = (
                plain and any(map(_looks_like_a_number, below.cells.values())) and len(below.cells) >= len(row.cells)
            )
            return row if is_named else first
    return first


def _looks_like_a_number(text: str) -> bool:
    return text[:1].isdigit() or text[1:2].isdigit()


def _index(first: Row, rows: Sequence[Row]) -> int | None:
    """Return the first column where it alone has no name, as the numbers of rows have none."""
    nameless = {column for row in rows for column in row.cells} - first.cells.keys()
    leftmost = min((column for row in rows for column in row.cells), default=0)
    return leftmost if nameless == {leftmost} and len(first.cells) > 1 else None


@dataclass(frozen=True, eq=False, repr=False)
class CellTexts:
    """The cells of a sheet as texts: of workbooks of which nothing else is known."""

    frame: pl.DataFrame

    is_text = True
    """Numbers and dates are written out."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.frame.columns)

    def read(self, names: Sequence[str]) -> list[pl.Series]:
        """Return columns."""
        return as_categories_where_few([self.frame.get_column(name) for name in names])


@dataclass(frozen=True)
class _Hidden:
    """Rows and columns of a sheet that nobody sees."""

    rows: frozenset[int] = frozenset()
    columns: frozenset[int] = frozenset()


_REPEATED = "number-{}s-repeated"
_CONTENT = "content.xml"


def _hidden_in(path: Path, sheet: str, first: int) -> _Hidden:
    """Return what a sheet of OpenDocument hides; its first row with something in it has the number `first`."""
    if not zipfile.is_zipfile(path):
        return _Hidden()
    with zipfile.ZipFile(path) as archive:
        if _CONTENT not in archive.namelist():
            return _Hidden()
        root = ElementTree.fromstring(archive.read(_CONTENT))
    tables = [each for each in root.iter() if _local(each) == "table" and _said_of(each, "name") == sheet]
    found: dict[str, set[int]] = {"row": set(), "column": set()}
    place, top = {"row": 0, "column": 0}, None
    for each in tables[0].iter() if tables else ():
        name = _local(each).removeprefix("table-")
        if name in found:
            times = min(int(_said_of(each, _REPEATED.format(name)) or 1), _MOST_COLUMNS)
            if _said_of(each, "visibility") in ("collapse", "filter"):
                found[name] |= {*range(place[name], place[name] + times)}
            if top is None and name == "row" and _filled_in(each):
                top = place["row"]
            place[name] += times
    moved = first - (top or 0)
    return _Hidden(frozenset(row + moved for row in found["row"]), frozenset(found["column"]))


def _said_of(element: ElementTree.Element, name: str) -> str | None:
    return next((text for key, text in element.attrib.items() if key.rpartition("}")[2] == name), None)


def _filled_in(row: ElementTree.Element) -> bool:
    return any(_local(each) == "p" and "".join(each.itertext()).strip() for each in row.iter())


def _about_hidden(sheet: str, rows: int, columns: int) -> list[str]:
    """Ask about rows and columns that nobody sees."""
    if not rows and not columns:
        return []
    what = " and ".join(counted(count, noun) for count, noun in ((rows, "row"), (columns, "column")) if count)
    return [
        f"sheet {sheet!r} hides {what} of the table; publish them all the same: "
        "--set source.hidden=keep, or leave them out: --set source.hidden=drop"
    ]


def open_other_sheet(given: Given) -> TableSource:
    """Open a workbook of OpenDocument, of the old or the binary Excel; ``InputError`` where it cannot be read so."""
    reader = library("fastexcel", extra="excel", what="workbooks")
    logging.getLogger("fastexcel.types.dtype").setLevel(logging.ERROR)
    try:
        book = reader.read_excel(given.file)
        sheet = given.place.sheet or book.sheet_names[0]
        if len(book.sheet_names) > 1 and given.place.sheet is None:
            raise InputError(f"it has several sheets; say which is meant: {_sheet_options(book.sheet_names)}")
        texts = book.load_sheet(sheet, header_row=None, dtypes="string").to_polars()
    except (reader.FastExcelError, IndexError):
        raise InputError("it is damaged, or has no such sheet") from None
    said = CellRange() if given.place.range is None else CellRange.of(given.place.range)
    last = None if said.bottom is None else said.bottom - (said.top or 0) + 1
    texts = texts[:, said.left : None if said.right is None else said.right + 1].slice(said.top or 0, last)
    rows = [
        Row(number, {column: text for column, text in enumerate(cells) if text})
        for number, cells in enumerate(texts.head(_ROWS_LOOKED_AT).iter_rows())
    ]
    filled = [row for row in rows if row.cells]
    if not filled:
        raise InputError("there is nothing in the sheet, or in its range; name another with sheet and range")
    first = _without_title(filled[0], filled) if said.top is None else filled[0]
    index = _index(first, filled)
    hidden = _hidden_in(given.file, sheet, filled[0].number) if given.place.range is None else _Hidden()
    kept = [column for column in range(texts.width) if column in first.cells and column != index]
    texts = texts.with_row_index("\0").slice(first.number + 1)
    has_text = pl.exclude("\0").str.strip_chars().fill_null("") != ""
    texts = texts.filter(pl.any_horizontal(has_text))
    if said.bottom is None and _ends_in_sums(texts[:, 1:].tail(_ROWS_LOOKED_AT)):
        top, at = said.top or 0, texts.to_series(0).tail(2).to_list()
        cells = CellRange(said.left, top + first.number, said.left + texts.width - 2)
        raise InputError(
            f"row {top + at[1] + 1} seems to add up the others, and would count as a person; leave it out: "
            f"{_ranges(cells, texts, top + at[0], top + at[1])}"
        )
    unseen = texts.to_series(0).is_in([*hidden.rows])
    texts, columns = texts.drop("\0"), [column for column in kept if column in hidden.columns]
    if given.place.hidden is None:
        raise_all(InputError, _about_hidden(sheet, int(unseen.sum()), len(columns)))
    elif given.place.hidden == "drop":
        texts, kept = texts.filter(~unseen), [column for column in kept if column not in hidden.columns]
    frame = pl.DataFrame([texts.to_series(column).alias(first.cells[column]) for column in kept])
    return CellTexts(frame)


def _sheet_of(book: Workbook, name: str | None) -> Sheet:
    listed = ", ".join(repr(sheet.name) for sheet in book.sheets)
    if name is not None:
        found = [sheet for sheet in book.sheets if sheet.name == name]
        if not found:
            raise InputError(f"sheet: there is no sheet of that name; the workbook has {listed or 'none'}")
        return found[0]
    visible = [sheet for sheet in book.sheets if not sheet.is_hidden]
    filled = visible if len(visible) < 2 else [sheet for sheet in visible if book.first_rows(sheet, 0, 1)]
    if len(filled) != 1:
        what = "hides all its sheets" if book.sheets and not visible else f"has {len(filled)} sheets with values"
        options = _sheet_options([sheet.name for sheet in book.sheets])
        raise InputError(f"the workbook {what}; say which is meant with sheet: {options}")
    return filled[0]


def _sheet_options(names: Sequence[str]) -> str:
    """Write how each of some sheets is named."""
    return " or ".join(f"--set {quote(f'source.sheet={name}')}" for name in names)


def _without_names(
    book: Workbook, sheet: Sheet, said: CellRange, rows: Sequence[Row], names: Sequence[str]
) -> WorkbookSource:
    places = sorted({column for row in rows for column in row.cells})
    left = said.left if said.top is not None else places[0]
    right = places[-1] if said.right is None else said.right
    if len(names) != right - left + 1:
        raise InputError(
            f"{len(names)} column names were given, but the table has {right - left + 1} columns; give one name per "
            "column, or say with range where the table lies"
        )
    top = rows[0].number if said.top is None else said.top
    cells = replace(said, left=left, top=top, right=right)
    return WorkbookSource(book, sheet, cells, dict(zip(names, range(left, right + 1), strict=True)), tuple(names))


def _refuse_title(book: Workbook, sheet: Sheet, cells: CellRange, first: Row, rows: Sequence[Row]) -> None:
    """Refuse a first row that does not name the columns of the rows below."""
    fullest = max(rows, key=lambda row: len(row.cells))
    filled, named = {column for row in rows for column in row.cells}, first.cells.keys()
    if 2 * len(named) < len(fullest.cells) or (len(named) < len(fullest.cells) and _merged(book, sheet, cells)):
        proposed = f"{cell_name(min(filled), fullest.number)}:{column_letters(max(filled))}"
        why = " and has merged cells" if _merged(book, sheet, cells) else ""
        raise InputError(
            f"row {first.number + 1} names {counted(len(named), 'column')}{why}, but row {fullest.number + 1} fills "
            f"{len(fullest.cells)} cells; say where the names and the records stand, for example with range = "
            f"{proposed!r} (--set source.range={proposed})"
        )
    nameless = sorted(filled - named)
    if nameless:
        listed = ", ".join(cell_name(column, first.number) for column in nameless[:9])
        raise InputError(
            f"{listed}: no name stands here, but there are values below; name the column(s), or leave them out with "
            "range (--set source.range=CELLS)"
        )


def _merged(book: Workbook, sheet: Sheet, said: CellRange) -> bool:
    return bool(find_signs(book, sheet, said).merged)


_MOST_ROWS, _MOST_COLUMNS, _LONGEST = 1_048_576, 16_384, 32_767
_FIRST_WRITTEN_DAY = datetime.date(1900, 3, 1)
_ALWAYS = datetime.datetime(1980, 1, 1)
"""The time that every file says, so that equal tables make equal files."""


def write_workbook(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame as the only sheet of a workbook, names first; no text ever becomes a formula, number or link.

    Raises ``InputError`` when a sheet cannot hold the frame, with the reason; when a library is not installed.
    """
    raise_all(InputError, _problems(frame))
    writer = library("xlsxwriter", extra="excel", what="Excel workbooks")
    options = {
        "constant_memory": True,
        "tmpdir": str(path.parent),
        "strings_to_formulas": False,
        "strings_to_numbers": False,
        "strings_to_urls": False,
        "default_date_format": "yyyy-mm-dd",
    }
    try:
        with writer.Workbook(path, options) as book:
            book.set_properties({"created": _ALWAYS})
            sheet = book.add_worksheet(path.stem[:31])
            sheet.write_row(0, 0, frame.columns)
            for number, record in enumerate(_cells(frame).iter_rows(), 1):
                sheet.write_row(number, 0, record)
    except writer.exceptions.XlsxWriterException:
        raise OSError from None


def _problems(frame: pl.DataFrame) -> Iterator[str]:
    if frame.height >= _MOST_ROWS or frame.width > _MOST_COLUMNS:
        yield f"a sheet holds {_MOST_ROWS - 1:,} records of {_MOST_COLUMNS:,} columns at most; write csv or parquet"
    empty = frame.filter(pl.all_horizontal(pl.all().is_null())).height if frame.width else 0
    if empty:
        yield f"{counted(empty, 'record')} without any value would be lost in a sheet; write csv or parquet"
    for column in frame:
        if column.dtype.is_float() and not column.drop_nulls().is_finite().all():
            yield f"column {column.name!r} has infinite values or none that are numbers; write csv or parquet"
        if column.dtype.is_temporal() and not _has_days(column):
            yield f"column {column.name!r} has times, or days before March 1900; write csv or parquet"
        if column.dtype == pl.String and (column.str.len_chars() > _LONGEST).any():
            yield f"column {column.name!r} has texts longer than a cell may be; write csv or parquet"


def _has_days(column: pl.Series) -> bool:
    """Tell whether all are days that Excel counts; it takes 1900 for a leap year."""
    return column.dtype == pl.Date and not (column < _FIRST_WRITTEN_DAY).any()


def _cells(frame: pl.DataFrame) -> pl.DataFrame:
    """Return values as cells hold them: labels and numbers of too many digits are text."""
    return pl.DataFrame([column.cast(pl.String) if _as_text(column) else column for column in frame])


def _as_text(column: pl.Series) -> bool:
    if column.dtype.is_integer():
        # A column of few bits cannot be compared with a number of many.
        smallest, largest = column.min(), column.max()
        return any(isinstance(end, int) and abs(end) >= _EXACT for end in (smallest, largest))
    return isinstance(column.dtype, (pl.Enum, pl.Categorical))
