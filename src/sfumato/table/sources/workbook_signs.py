"""Cells that a reader of values passes over in silence: merged ones, errors, formulas that were never calculated.

They are found in the text of the sheet, which costs an unpacking and a few searches, on a thread of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sfumato.table.sources.cell_ranges import CellRange, column_number
from sfumato.table.sources.workbook_parts import Sheet, Workbook

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
    """What stands in a range of a sheet beside plain values.

    Attributes
    ----------
    errors, uncalculated : dict of int to (int, int)
        By column: how many such cells, and the row of the first, from 0. Column -1: cells that do not say where they
        are.
    truths : int
        Cells that are true or false, of the whole sheet.
    padded : dict of int to dict of int to int
        By column: how many numbers are filled up with zeros to how many digits.
    merged : list of str
        Groups of merged cells that meet the range.
    """

    errors: dict[int, tuple[int, int]] = field(default_factory=dict)
    uncalculated: dict[int, tuple[int, int]] = field(default_factory=dict)
    truths: int = 0
    padded: dict[int, dict[int, int]] = field(default_factory=dict)
    merged: list[str] = field(default_factory=list)


def find_signs(book: Workbook, sheet: Sheet, cells: CellRange) -> Signs:
    """Look through the text of a sheet.

    Raises
    ------
    InputError
        When the workbook is damaged.
    """
    signs = Signs()
    styles = [(digits, re.compile(rb'\bs="' + style.encode() + b'"')) for style, digits in book.zero_padded.items()]
    has_formulas, ended = False, b""
    for block in _blocks(book, sheet):
        # Long needles are found fastest, and formulas that cells share begin with one that is written out.
        ended = ended or _end_of_formula(block)
        has_formulas = has_formulas or ended in block
        signs.truths += block.count(b't="b"')
        if b't="e"' in block:
            _count(signs.errors, _tags(_ERROR, block), cells)
        if has_formulas:
            # A formula may well result in the empty text.
            tags = (tag for tag in _tags(_UNCALCULATED, block) if b't="str"' not in tag)
            _count(signs.uncalculated, tags, cells)
        if b"mergeCell" in block:
            found = (text.decode() for text in _MERGED.findall(block))
            signs.merged += [text for text in found if cells.meets(CellRange.of(text))]
        for digits, style in styles:
            _count_padded(signs.padded, digits, _tags(style, block), cells)
    return signs


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


def _count(found: dict[int, tuple[int, int]], tags: Iterator[bytes], cells: CellRange) -> None:
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
