"""The parts of an Excel workbook: which sheets there are, and their first rows, without reading the rest."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from xml.etree import ElementTree

from sfumato.errors import InputError
from sfumato.table.csv_file import unpack_limit

# Cells of a sheet as people write them: ``B3:H500``.


_WRITTEN = re.compile(r"\$?([A-Z]{1,3})\$?([1-9][0-9]{0,6})?(?::\$?([A-Z]{1,3})\$?([1-9][0-9]{0,6})?)?")


@dataclass(frozen=True)
class CellRange:
    """A rectangle of cells, counted from 0; None leaves a side open.

    Attributes
    ----------
    left : int
    top : int or None
        None: the first row that is not empty.
    right, bottom : int or None
        The last column and row.
    """

    left: int = 0
    top: int | None = None
    right: int | None = None
    bottom: int | None = None

    @classmethod
    def of(cls, text: str) -> CellRange:
        """Read ``B3:H500``, ``B3:H``, ``B3`` or ``B:H``.

        Raises
        ------
        InputError
            When it is written in another way, or ends before it begins.
        """
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
    """An Excel file whose list of sheets was read.

    Attributes
    ----------
    path : pathlib.Path
    sheets : tuple of Sheet
        Sheets of cells alone, not those that are charts.
    zero_padded : mapping of str to int
        Number of each style that fills numbers up with zeros, and to how many digits.
    """

    path: Path
    sheets: tuple[Sheet, ...]
    zero_padded: dict[str, int]

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

    def _shared(self, wanted: Collection[int | None]) -> dict[int, str]:
        """Return texts that cells share, reading no further than the last one that is wanted."""
        texts: dict[int, str] = {}
        if not wanted:
            return texts
        last = max(index for index in wanted if index is not None)
        with damage_told(), zipfile.ZipFile(self.path) as archive:
            part = next(name for name in archive.namelist() if name.lower().endswith("/sharedstrings.xml"))
            with archive.open(part) as stream:
                entries = (item for _, item in ElementTree.iterparse(stream) if _local(item) == "si")
                for index, item in enumerate(entries):
                    if index in wanted:
                        texts[index] = _written(item)
                    if index == last:
                        break
                    item.clear()
        return texts


def open_workbook(path: Path) -> Workbook:
    """Read which sheets a workbook has.

    Raises
    ------
    InputError
        When it is no Excel workbook, is damaged, or unpacks to a lot more than its size.
    """
    with damage_told(), zipfile.ZipFile(path) as archive:
        names = {name.lower(): name for name in archive.namelist()}
        if "xl/workbook.bin" in names:
            raise InputError("this is a binary workbook (.xlsb); save it as .xlsx")
        if "mimetype" in names and b"opendocument" in archive.read(names["mimetype"])[:99]:
            raise InputError("this is an OpenDocument file; save its table as .xlsx or CSV")
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
    except (
        zipfile.BadZipFile,
        zlib.error,
        KeyError,
        StopIteration,
        ElementTree.ParseError,
        EOFError,
        RuntimeError,
        ValueError,
    ):
        raise InputError(DAMAGED) from None


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
    # Line ends inside of a name are layout.
    return re.sub(r"\s*[\r\n\t]+\s*", " ", text.strip())


def _written(element: ElementTree.Element) -> str:
    """Return the text of a cell or of a shared entry, without phonetic hints and formulas."""
    skipped = {id(part) for each in element.iter() if _local(each) in ("rPh", "f") for part in each.iter()}
    return "".join(part.text or "" for part in element.iter() if _local(part) in ("v", "t") and id(part) not in skipped)


def _local(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]
