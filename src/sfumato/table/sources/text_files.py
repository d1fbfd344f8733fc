"""Text files as sources: their bytes as UTF-8 however they are packed, and CSV."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, raise_all
from sfumato.numbers import counted
from sfumato.table.distinct import private_categorical
from sfumato.table.sources.encodings import (
    candidates_of,
    certain_encoding,
    is_utf8,
    refuse_twice,
    refuse_utf8,
    refuse_wide,
    wide_encoding,
)
from sfumato.table.sources.protocol import CsvFormat, Family
from sfumato.table.sources.text_layout import (
    adds_up,
    apart_question,
    are_names,
    end_mark,
    find_layout,
    first_lines,
    footer_question,
    is_a_line,
    joined_names,
    label_question,
    label_rows,
    names_elsewhere,
    notes_question,
    numbered_names,
    numbers_columns,
    other_layout,
    rows_apart,
    rows_of_notes,
    trim_lines,
    without_enclosing,
)

_BLOCK = 1 << 18
_PACKINGS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\xfd7zXZ": "xz", b"PK\x03\x04": "zip"}
_UNPACKED = 1 << 20
_START = 4096
_TAR = slice(257, 262)

UNPACK_LIMIT = "SFUMATO_UNPACK_LIMIT"
"""Variable with the most MB that a packed file may unpack to."""
_USUAL_RATIO = 100
"""Tables seldom shrink to less than a thirtieth."""
_ALWAYS = 64 << 20
"""Bytes that are always unpacked."""
_USUAL = "utf-8"


@dataclass(frozen=True, eq=False, repr=False)
class CsvFile:
    """A UTF-8 text file: on disk as it is or packed, or in memory."""

    given: Path | bytes
    packing: str | None = None  # ``gzip``, ``zstd``, ``bz2``, ``xz`` or ``zip``; None: it is not packed
    told: str | None = None  # the encoding that its letters told

    @cached_property
    def content(self) -> Path | bytes:
        """What a CSV parser may read; a packed file is unpacked into memory."""
        if self.packing is None:
            return self.given
        with self.open() as stream:
            return stream.read()

    def open(self) -> BinaryIO:
        """Open the bytes for reading; a packed file is unpacked as it is read."""
        given = self.given if self.packing is None else self.__dict__.get("content")
        if given is None:
            assert self.packing is not None
            return io.BufferedReader(_Unpacked(self.given, self.packing), _UNPACKED)
        return io.BytesIO(given) if isinstance(given, bytes) else given.open("rb")

    def open_text(self) -> io.TextIOWrapper:
        """Open the text; line ends stay as they are, bytes that are not UTF-8 become lone surrogates."""
        return io.TextIOWrapper(self.open(), encoding="utf-8-sig", errors="surrogateescape", newline="")

    def strange_bytes(self) -> bytes:
        """Return the lines around the first byte that is not UTF-8; none where all are."""
        decoder, block, before = codecs.getincrementaldecoder("utf-8")(), b"", b""
        with self.open() as stream:
            try:
                while block := stream.read(_BLOCK):
                    decoder.decode(block)
                    before = block
                decoder.decode(b"", final=True)
            except UnicodeDecodeError:
                return before + block + stream.read(_BLOCK)
        return b""

    def blocks(self) -> Iterator[bytes]:
        """Read the bytes block by block, without the line ends that close the file."""
        held = b""
        with self.open() as stream:
            while block := stream.read(_BLOCK):
                body = block.rstrip(b"\r\n")
                if not body:
                    held += block
                    continue
                yield held + body if held else body
                held = block[len(body) :]


def open_csv(given: Path | bytes, layout: CsvFormat) -> CsvFile:
    """Open a file, or its content, as it is or packed; other encodings are translated in memory.

    UTF-16 and UTF-32 are told by their first bytes. Raises ``InputError`` when the file cannot be unpacked, or has
    bytes that are invalid in its encoding (with the line).
    """
    start = _start_of(given)
    file = CsvFile(given, next((name for mark, name in _PACKINGS.items() if start.startswith(mark)), None))
    with file.open() as stream:
        start = stream.read(_START)
    if start[_TAR] == b"ustar":
        raise InputError("this is a tar archive; unpack it, and give the path of the table in it")
    if file.packing is not None and start.startswith((*_PACKINGS, b"PAR1", b"ARROW1")):
        raise InputError(f"the {file.packing} file holds another packed file, or one of columns; unpack it first")
    encoding = layout.encoding
    if is_utf8(encoding):
        if (wide := wide_encoding(start)) is None:
            if layout.foreign and encoding == _USUAL:
                refuse_twice(start)
            if layout.foreign and encoding == _USUAL and (told := _told_encoding(file)):
                return told
            if start.startswith(2 * codecs.BOM_UTF8):
                with file.open() as stream:
                    return CsvFile(re.sub(rb"\A(?:\xef\xbb\xbf)+", b"", stream.read()))
            return file
        encoding = wide
    content = file.content if isinstance(file.content, bytes) else file.content.read_bytes()
    refuse_wide(start, encoding)
    refuse_utf8(content, encoding)
    return CsvFile(_translated(content, encoding))


_TELLING = 1 << 20
"""Bytes at the beginning whose letters may tell the encoding."""


def _told_encoding(file: CsvFile) -> CsvFile | None:
    """Translate a file that is not UTF-8, if its letters tell one encoding for certain."""
    with file.open() as stream:
        begin = stream.read(_TELLING)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(begin)
        return None
    except UnicodeDecodeError:
        name = certain_encoding(begin)
    content = file.content if isinstance(file.content, bytes) else file.content.read_bytes()
    try:
        return CsvFile(_translated(content, name), told=name) if name else None
    except InputError:
        return None


def _start_of(given: Path | bytes) -> bytes:
    if isinstance(given, bytes):
        return given[:8]
    with given.open("rb") as stream:
        return stream.read(8)


class _Unpacked(io.RawIOBase):
    """Every part of a packed file, one after the other, up to a limit: a small file may hold more than a disk does."""

    def __init__(self, packed: Path | bytes, packing: str) -> None:
        self._packing = packing
        self._limit = unpack_limit(len(packed) if isinstance(packed, bytes) else packed.stat().st_size)
        self._size = 0
        self._stream = _stream(packed, packing)

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, room: Any) -> int:
        """Unpack what comes next."""
        try:
            block = self._stream.read(len(room))
        except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zipfile.BadZipFile):
            raise InputError(f"the {self._packing} file is damaged or cut off; get a whole copy") from None
        self._size += len(block)
        if self._size > self._limit:
            raise InputError(
                f"the {self._packing} file unpacks to more than {self._limit >> 20:,} MB, which is a lot for its size; "
                f"unpack it yourself, or set {UNPACK_LIMIT} to the most MB that it may have"
            )
        room[: len(block)] = block
        return len(block)

    def close(self) -> None:
        """Close the packed file, too."""
        self._stream.close()
        super().close()


_EXPLAINS = re.compile(r"(?:^|/)(?:readme|licen[cs]e|copying|liesmich|lisezmoi)[^/]*$|\.(?:md|pdf|html?|docx?|rtf)$")


def files_in(names: Iterable[str]) -> list[str]:
    """Return the files of an archive but for folders, what a Macintosh puts beside, and files that explain."""
    files = [name for name in names if not name.endswith(("/", ".DS_Store")) and not name.startswith("__MACOSX/")]
    return [name for name in files if len(files) == 1 or not _EXPLAINS.search(name.lower())]


def _stream(packed: Path | bytes, packing: str) -> Any:
    if packing == "zstd":
        import pyarrow as pa  # only where it is needed: few files are packed like this

        return pa.CompressedInputStream(pa.BufferReader(packed) if isinstance(packed, bytes) else str(packed), "zstd")
    source = io.BytesIO(packed) if isinstance(packed, bytes) else packed
    if packing == "zip":
        archive = zipfile.ZipFile(source)
        try:
            return archive.open(files_in(archive.namelist())[0])
        except RuntimeError:
            raise InputError(
                "the zip archive has a password; unpack it, and give the path of the table in it"
            ) from None
    unpack: Any = {"gzip": gzip.open, "bz2": bz2.open, "xz": lzma.open}[packing]
    return unpack(source)


def unpack_limit(packed: int) -> int:
    """Return the most bytes that a packed file of that many may unpack to."""
    setting = os.environ.get(UNPACK_LIMIT)
    if setting is None:
        return max(_USUAL_RATIO * packed, _ALWAYS)
    if not setting.isascii() or not setting.isdigit() or not int(setting):
        raise InputError(f"{UNPACK_LIMIT} must be a whole number of MB, 1 or above")
    return int(setting) << 20


def _translated(content: bytes, encoding: str) -> bytes:
    decoder = codecs.getincrementaldecoder(encoding)()
    translated = bytearray()
    for start in range(0, len(content), _BLOCK):
        block = content[start : start + _BLOCK]
        try:
            translated += decoder.decode(block, final=start + _BLOCK >= len(content)).encode()
        except UnicodeError as error:
            readable = block[: getattr(error, "start", 0)].decode(encoding, errors="ignore")
            line = translated.count(b"\n") + readable.count("\n") + 1
            raise InputError(
                f"line {line} of the file has bytes that are not {encoding}; the file {candidates_of(content)}"
            ) from None
    return bytes(translated).removeprefix(codecs.BOM_UTF8)


# CSV row by row: slow, exact about what is wrong and where, and able to read what fast parsers cannot.


_CHUNK = 50_000
_MOST_BELOW = 5
"""Rows at the end that may be a footer."""
_LONGEST_FIELD = 2**31 - 1


class _OpenQuoteError(Exception):
    """The last row opens a quote that is never closed."""


def first_row(file: CsvFile, layout: CsvFormat) -> list[str]:
    """Return the fields of the first row that is not blank; empty when there is none."""
    try:
        return next((fields for fields in _rows(file, layout) if fields), [])
    except _OpenQuoteError:
        raise InputError(
            'the first row opens a quote that is never closed; close it, or set quote=None (in a policy quote = "")'
        ) from None


def read_rows(
    file: CsvFile, layout: CsvFormat, width: int, indices: Sequence[int], odd: OddRows | None = None
) -> list[pl.Series]:
    """Read some columns as categories, checking every row; every kind of broken one is counted, and the first named.

    Blank lines are skipped where rows have several fields, and rows of separators; `odd` counts them. About ten
    times the cost of a compiled parser; memory for one chunk of rows beyond the result.
    """
    faults = _Faults(width, layout.foreign and layout.footer_lines is None)
    dtypes = [private_categorical() for _ in indices]
    parts: list[list[pl.Series]] = [[pl.Series([], dtype=dtype)] for dtype in dtypes]
    odd = odd or OddRows()
    drops = layout.foreign and layout.strip and width > 1
    filled = _filled(_rows(file, layout, odd), width, odd if drops else None, layout.header)
    rows = _checked(filled, faults, layout.above_records)
    while chunk := list(islice(rows, _CHUNK)):
        for index, dtype, column in zip(indices, dtypes, parts, strict=True):
            texts = [fields[index] for _, fields in chunk]
            faults.unreadable.extend(_unreadable([number for number, _ in chunk], texts))
            if layout.quote:
                faults.escaped += [
                    row for (row, _), text in zip(chunk, texts, strict=True) if "\\" in text and '"' in text
                ]
            if not faults.unreadable:
                column.append(pl.Series(texts, dtype=dtype))
    if faults.unreadable:
        faults.encoding = candidates_of(file.strange_bytes())
    raise_all(InputError, faults.problems())
    return [pl.concat(column) for column in parts]


@dataclass
class OddRows:
    """Counts of rows that are no records, and of rows that were read otherwise than CSV has it."""

    blank: int = 0  # of nothing but separators, or with the names again
    comments: int = 0  # of one text alone, behind a hash
    quotes: int = 0  # with a quote inside of a quoted field that is not written twice


@dataclass
class _Faults:
    """Row numbers of everything that is wrong, and of rows that end in a separator, which is right if all do."""

    width: int
    is_foreign: bool = False
    short: list[int] = field(default_factory=list)
    long: list[int] = field(default_factory=list)
    unreadable: list[int] = field(default_factory=list)
    open_quote: list[int] = field(default_factory=list)
    escaped: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    rows: int = 0
    encoding: str = ""

    def problems(self) -> list[str]:
        """Say what is wrong, one sentence per kind."""
        if len(self.ended) < self.rows:
            self.long.extend(self.ended)
        footer = self.short if self.short == [*range(self.rows - len(self.short) + 1, self.rows + 1)] else []
        if 0 < len(footer) <= _MOST_BELOW and len(footer) < self.rows and self.is_foreign:
            asked, self.short = [footer_question(len(footer), self.width, footer[0])], []
        else:
            asked = []
        sentences = (
            (self.short, f"have fewer than {self.width} fields", "complete the rows, or check separator and quote"),
            (self.long, f"have more than {self.width} fields", "quote fields that hold the separator, or check it"),
            (
                self.unreadable,
                "have bytes that are not in the file's encoding",
                f"the file {self.encoding}",
            ),
            (
                self.escaped,
                "have quotes behind backslashes",
                'write a quote inside of a field twice (""), as CSV has it, or set quote=None (in a policy quote = "")',
            ),
            (
                self.open_quote,
                "open a quote that is never closed",
                'close it, or set quote=None (in a policy quote = "")',
            ),
        )
        found = [
            f"{len(set(rows))} row(s) {what}, first row {min(rows)}; {advice}"
            for rows, what, advice in sentences
            if rows
        ]
        return [*found, *asked]


def _checked(rows: Iterator[list[str]], faults: _Faults, skipped: int) -> Iterator[tuple[int, list[str]]]:
    """Pair the rows after the header with their numbers; those with another number of fields are only noted."""
    number = -skipped
    try:
        for fields in rows:
            number += 1
            if number < 1:
                continue
            faults.rows += 1
            if len(fields) == faults.width:
                yield number, fields
            elif len(fields) == faults.width + 1 and not fields[-1]:
                # Where every row ends in a separator, it parts nothing.
                faults.ended.append(number)
                yield number, fields[:-1]
            else:
                (faults.short if len(fields) < faults.width else faults.long).append(number)
    except _OpenQuoteError:
        faults.open_quote.append(number + 1)


def _filled(rows: Iterator[list[str]], width: int, odd: OddRows | None, has_names: bool) -> Iterator[list[str]]:
    """Drop blank lines, and rows without a value, with the names again or of a comment, where they are counted."""
    # In a single column, blank lines are missing values.
    blank, names = 0, list[str]()
    for fields in rows:
        if not fields:
            blank += width == 1
            continue
        if odd is not None and (not any(map(str.strip, fields)) or fields == names or is_a_line(fields)):
            odd.blank += 1
            continue
        if odd is not None and names and len(fields) == 1 and fields[0].startswith("#"):
            odd.comments += 1
            continue
        names = names or (fields if has_names else names)
        yield from ([""] for _ in range(blank))
        blank = 0
        yield fields


def _rows(file: CsvFile, layout: CsvFormat, odd: OddRows | None = None) -> Iterator[list[str]]:
    # Two fields follow the text: if they do not come out as a row of their own, a quote is still open.
    end = ["", "\0"]
    previous: list[str] | None = None
    read = list[str]()  # the lines of the row
    with file.open_text() as text, _long_fields():
        rows = _reader(_kept(chain(text, [layout.separator.join(end)]), read), layout, strict=layout.foreign)
        while True:
            read.clear()
            try:
                fields = next(rows, None)
            except csv.Error:
                fields = _with_inner_quotes(read, layout)
                if odd is not None:
                    odd.quotes += 1
            if fields is None:
                break
            if previous is not None:
                yield previous
            previous = fields
    if previous != end:
        raise _OpenQuoteError


def _kept(lines: Iterable[str], read: list[str]) -> Iterator[str]:
    for line in lines:
        read.append(line)
        yield line


def _with_inner_quotes(lines: Sequence[str], layout: CsvFormat) -> list[str]:
    """Part a line with quotes inside of quoted fields, which are not written twice: one before a separator closes.

    Raises ``_OpenQuoteError`` where quotes may be meant otherwise.
    """
    mark, sign = re.escape(layout.separator), re.escape(layout.quote or '"')
    field = re.compile(
        rf"\s*{sign}(?P<quoted>(?:(?!{mark}\s*{sign}).)*?){sign}\s*(?={mark}|$)|(?P<plain>[^{sign}{mark}]*)"
    )
    fields, line, place = list[str](), lines[0].rstrip("\r\n") if len(lines) == 1 else "", 0
    while found := field.match(line, place):
        text, place = found["quoted"], found.end() + 1
        fields.append(found["plain"] if text is None else re.sub(rf"(?:\\|{sign}){sign}", layout.quote or "", text))
        if place > len(line):
            return fields
        if line[place - 1] != layout.separator:
            break
    raise _OpenQuoteError


def _reader(lines: Iterator[str], layout: CsvFormat, *, strict: bool = False) -> Iterator[list[str]]:
    return csv.reader(
        lines,
        strict=strict,
        delimiter=layout.separator,
        quotechar=layout.quote,
        quoting=csv.QUOTE_MINIMAL if layout.quote else csv.QUOTE_NONE,
        # A blank before an opening quote would make the quote a part of the value.
        skipinitialspace=layout.strip and layout.separator != " ",
    )


@contextmanager
def _long_fields() -> Iterator[None]:
    before = csv.field_size_limit(_LONGEST_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _unreadable(numbers: Sequence[int], texts: Sequence[str]) -> list[int]:
    """Return the numbers of the rows whose text holds bytes that could not be read."""
    if "".join(texts).isprintable():
        return []
    return [number for number, text in zip(numbers, texts, strict=True) if any("\ud800" <= c <= "\udfff" for c in text)]


# Whether a CSV file is regular: every row has the same number of fields, every quote is where it belongs.
#
# Fast parsers silently fill short rows and guess about stray quotes. This check makes it safe to use one.


_LINE_END = 10
_CARRIAGE_RETURN = 13


def count_regular_rows(blocks: Iterable[bytes], fields: int, separator: str, quote: str | None) -> int | None:
    """Count the rows of a text in UTF-8 if each has `fields` fields and no quote is stray; None otherwise."""
    quotes = _Quotes(ord(quote) if quote else -1, ord(separator))
    rows, fields_so_far = 0, 0
    for block in _closed(blocks, quotes.mark):
        ends, marks = _outside(np.frombuffer(block, dtype=np.uint8), ord(separator), quotes)
        row_ends = np.flatnonzero(ends[marks])
        if len(row_ends) and (np.diff(row_ends, prepend=-1 - fields_so_far) != fields).any():
            return None
        rows += len(row_ends)
        fields_so_far = len(marks) - 1 - row_ends[-1] if len(row_ends) else fields_so_far + len(marks)
        if fields_so_far >= fields or quotes.is_stray:
            return None
    return None if fields_so_far or quotes.is_open else rows


@dataclass
class _Quotes:
    """What is known about quotes so far: whether one is open, and whether one was where none belongs."""

    mark: int
    separator: int
    is_open: bool = False
    is_stray: bool = False
    last: int = _LINE_END


def _closed(blocks: Iterable[bytes], mark: int) -> Iterator[bytes]:
    """Keep quotes at the end of a block for the next one, so that what follows is known, and end the last row."""
    quote, held = bytes([mark]) if mark >= 0 else b"", b""
    for block in blocks:
        body = (held + block).rstrip(quote) if quote else block
        held = (held + block)[len(body) :] if quote else b""
        if body:
            yield body
    yield held + b"\n"


def _outside(text: NDArray[np.uint8], separator: int, quotes: _Quotes) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return where line ends are, bool (bytes,), and the positions of separators and line ends outside quotes."""
    ends = text == _LINE_END
    marks = ends | (text == separator)
    quoted = text == quotes.mark if quotes.mark >= 0 else None
    if quoted is not None and (quotes.is_open or quoted.any()):
        quotes.is_stray |= _has_stray(text, np.flatnonzero(quoted), quotes)
        inside = (np.cumsum(quoted, dtype=np.uint8) + np.uint8(quotes.is_open)) & 1
        marks &= inside == 0
        quotes.is_open = bool(inside[-1])
    quotes.last = int(text[-1])
    return ends, np.flatnonzero(marks)


def _has_stray(text: NDArray[np.uint8], positions: NDArray[np.int64], quotes: _Quotes) -> bool:
    """Tell whether a run of quotes has a length that makes no sense in its place."""
    # Inside a quoted field an even run is text and an odd one closes the field; outside, a run begins a field, which an
    # even run also ends.
    if not len(positions):
        return False
    firsts = np.flatnonzero(np.diff(positions, prepend=-2) != 1)
    is_odd = (np.diff(firsts, append=len(positions)) & 1).astype(np.bool_)
    starts, ends = positions[firsts], positions[np.append(firsts[1:], len(positions)) - 1]
    borders = np.array([quotes.separator, _LINE_END], dtype=np.uint8)
    begins_field = np.isin(np.where(starts > 0, text[starts - 1], quotes.last), borders)
    after = text[ends + 1]
    ends_field = np.isin(after, borders) | (after == _CARRIAGE_RETURN)
    is_inside = ((firsts + quotes.is_open) & 1).astype(np.bool_)
    makes_sense = np.where(is_inside, ~is_odd | ends_field, begins_field & (is_odd | ends_field))
    return not makes_sense.all()


_SAMPLE = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class CsvSource:
    """Names of the columns of a CSV file, and how to read them."""

    file: CsvFile
    layout: CsvFormat
    width: int  # fields in the first row
    names: tuple[str, ...]
    places: tuple[int, ...] = ()  # the field of each of them
    unnamed: tuple[int, ...] = ()  # fields without a name that must be empty
    remarks: list[str] = field(default_factory=list)  # what a steward should hear of how it was read
    questions: tuple[str, ...] = ()  # about rows that seem to be no records
    above: int = 0  # lines above the names that were left out

    is_text = True
    """Every value arrives as text, so that kinds must be read off it."""

    def place(self, name: str) -> int:
        """Return the field of a column."""
        return self.places[self.names.index(name)]

    def advice(self, wanted: Collection[str]) -> str | None:
        """Say what seems wrong with separator, header or encoding where the `wanted` columns cannot be read."""
        found = len({*wanted} & {*self.names})
        return None if found == len({*wanted}) else names_elsewhere(self.file, self.layout, wanted, found, self.above)

    def read(self, names: Sequence[str]) -> list[pl.Series]:
        """Read columns as text: Categorical, or String if nearly every value is distinct.

        Empty fields are null or empty text. Raises ``InputError`` when rows are ragged, a quote is never closed or
        bytes cannot be read: with counts and row numbers.
        """
        raise_all(InputError, self.questions)
        indices, odd = [*map(self.place, names), *self.unnamed], OddRows()
        columns = self._read_fast(indices)
        if columns is None or self._repeats_names or (self._may_be_blank(columns) and self._has_blank_rows):
            columns = read_rows(self.file, self.layout, self.width, indices, odd)
        for number, column in zip(self.unnamed, columns[len(names) :], strict=True):
            if not column.cast(pl.String).fill_null("").is_in([""]).all():
                raise InputError(f"column {number + 1} has no name, but holds values; name it in the first row")
        if self.unnamed and self.layout.foreign:
            self._note(f"{counted(len(self.unnamed), 'column')} without a name and without values were left out.")
        again = "with the names again, or " if self._repeats_names else ""
        for count, what, done in (
            (odd.blank, f" {again}of nothing but separators", "left out"),
            (odd.comments, " of a comment behind #", "left out"),
            (odd.quotes, " with quotes inside of quoted fields", "read with them"),
        ):
            if count:
                self._note(f"{counted(count, 'row')}{what} {'was' if count == 1 else 'were'} {done}.")
        return [column.alias(name) for column, name in zip(columns, names, strict=False)]

    def _note(self, remark: str) -> None:
        if remark not in self.remarks:
            self.remarks.append(remark)

    def _may_be_blank(self, columns: Sequence[pl.Series]) -> bool:
        """Tell whether a row has no value in any of some columns, so that it may be nothing but separators."""
        if not (self.layout.foreign and self.layout.strip) or self.width == 1:
            return False
        blank = pl.Series([True])
        for column in columns[: len(columns) - len(self.unnamed)]:
            # A line of dashes has no value either.
            blank = blank & (column.is_null() | column.cast(pl.String).str.contains(r"^[-=+:|\s]*$"))
            if not blank.any():
                return False
        return bool(len(columns))

    @cached_property
    def _repeats_names(self) -> bool:
        """Whether a row is that of the names, as where files were put one below the other."""
        if not (self.layout.foreign and self.layout.strip and self.layout.header) or self.width == 1:
            return False
        first, held = b"", b""
        for block in self.file.blocks():
            if not first:
                first = block.lstrip(b"\xef\xbb\xbf\r\n").split(b"\n", 1)[0].rstrip(b"\r")
                block = block[block.find(first) + len(first) :]
            if b"\n" + first in held + block:
                return True
            held = block[-len(first) - 1 :]
        return False

    @cached_property
    def _has_blank_rows(self) -> bool:
        """Whether a row is nothing but separators, blanks and quotes."""
        mark = re.escape(self.layout.separator.encode())
        signs = rb'[ \t"' + mark + rb"]*"
        row = re.compile(
            rb'(?:^|[\r\n])(?:[ \t"]*'
            + mark
            + signs
            + rb"|"
            + signs
            + rb"[:+|]?--[-+:| \t"
            + mark
            + rb"]*)(?:[\r\n]|$)"
        )
        return any(row.search(block) for block in self.file.blocks())

    def _read_fast(self, indices: Sequence[int]) -> list[pl.Series] | None:
        assert self.file.content is not None  # unpacked once, for those who count and who parse
        with ThreadPoolExecutor(1) as pool:
            counting = pool.submit(
                count_regular_rows, self.file.blocks(), self.width, self.layout.separator, self.layout.quote
            )
            try:
                frame = self._parse(indices)
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError):
                return None
            counted_rows = counting.result()
        height = (counted_rows or 0) - self.layout.above_records
        if counted_rows is None or frame.height < height:
            return None
        # Line ends after the last row appear as rows of nulls.
        return [frame[_position(index)].head(height) for index in indices]

    def _parse(self, indices: Sequence[int]) -> pl.DataFrame:
        sample = self._scan({_position(index): pl.String() for index in range(self.width)}, indices, _SAMPLE)
        types: dict[str, pl.DataType] = {_position(index): pl.String() for index in range(self.width)}
        for column in sample:
            if column.n_unique() <= _SAMPLE // 2 or sample.height < _SAMPLE:
                types[column.name] = private_categorical()
        return self._scan(types, indices)

    def _scan(self, types: dict[str, pl.DataType], indices: Sequence[int], limit: int | None = None) -> pl.DataFrame:
        return pl.read_csv(
            self.file.content,
            has_header=False,
            skip_rows=self.layout.above_records,
            schema=types,
            columns=[_position(index) for index in sorted(indices)],
            separator=self.layout.separator,
            quote_char=self.layout.quote,
            glob=False,
            n_rows=limit,
        )


def csv_source(given: Path | bytes, layout: CsvFormat) -> CsvSource:
    """Open a CSV file, or its content, and read the names of its columns.

    Raises ``InputError`` when the file has no rows, or when the number of given names differs from that of its columns.
    """
    file = open_csv(given, layout)
    told = file.told
    if layout.foreign and without_enclosing(first_lines(file)):
        with file.open() as stream:
            content = stream.read()
        file = CsvFile(re.sub(rb'(?m)^"|"(?=\r?$)', b"", content).replace(b'""', b'"'))
    found = find_layout(file, layout)
    layout, remarks = found.format, [*found.remarks]
    if layout.foreign and is_utf8(layout.encoding) and (wide := wide_encoding(_start_of(given))) is not None:
        remarks.append(f"The file is written in {wide}.")
    if told:
        remarks.append(f"By its letters the file is written in {told} (--set source.encoding={told}).")
    if layout.foreign and (mark := end_mark(first_lines(file), layout.separator)):
        with file.open() as stream:
            file = CsvFile(re.sub(rb"(?m)%s(?=\r?$)" % re.escape(mark.encode()), b"", stream.read()))
        remarks.append(f"Every line ends with {mark!r}, which was left out.")
    if found.above or layout.footer_lines:
        content = file.content if isinstance(file.content, bytes) else file.content.read_bytes()
        file = CsvFile(trim_lines(content, found.above, layout.footer_lines or 0))
    fields = first_row(file, layout)
    if not any(field.strip() for field in fields):
        raise InputError("the file is empty; it needs a row of column names and records")
    rows, is_certain = (
        label_rows(first_lines(file), layout) if layout.foreign and layout.label_lines is None else (0, False)
    )
    if rows and is_certain:
        layout = replace(layout, label_lines=rows)
        remarks.append(
            f"Below the names {counted(rows, 'row')} of units or types {'was' if rows == 1 else 'were'} left out."
        )
    questions = tuple(_questions(file, layout, len(fields))) if layout.foreign else ()
    if layout.columns is not None:
        if len(layout.columns) != len(fields):
            raise InputError(
                f"{len(layout.columns)} column names were given, but the first row has {len(fields)} fields; "
                "give one name per field, or check the separator"
            )
        named, every = tuple(layout.columns), tuple(range(len(fields)))
        return CsvSource(file, layout, len(fields), named, every, (), remarks, questions, found.above)
    if layout.foreign and len(fields) == 1 and (other := other_layout(first_lines(file))):
        raise InputError(other)
    if layout.foreign and layout.header and layout.columns is None:
        below = _rows_below(file, layout)
        if rows == 1 and not is_certain and not all(fields):
            layout, fields, questions = replace(layout, label_lines=1), joined_names(fields, below[0]), ()
            remarks.append("The names of the columns stand in two rows, and were put together.")
        if len({*fields}) < len(fields) and are_names(fields, below[rows:]):
            fields = numbered_names(fields)
            remarks.append("Names that several columns have were numbered.")
    names = [*([""] if found.numbered else []), *(_name(field) for field in fields)]
    if layout.foreign and (where := file.strange_bytes() if any("\ufffd" in name for name in names) else b""):
        raise InputError(f"the names of the columns cannot be read: the file {candidates_of(where)}")
    if layout.foreign and (blank := sum(field.strip(_BLANKS) != field and bool(field.strip()) for field in fields)):
        remarks.append(f"Blanks around {counted(blank, 'name')} of columns were left out.")
    places = tuple(place for place, name in enumerate(names) if name)
    # Where every row ends in a separator, so does the header: what follows it is no column.
    unnamed = tuple(place for place, name in enumerate(names) if not name and (place > places[0] or not layout.foreign))
    if layout.foreign and places[0]:
        what = "The first column has" if places[0] == 1 else f"The first {places[0]} columns have"
        remarks.append(
            f"{what} no name and {'was' if places[0] == 1 else 'were'} left out, as the numbers of rows are."
        )
    if not layout.foreign:
        # What a release holds has its names; blank ones between them are told of as such.
        places = tuple(range(max(places) + 1))
        unnamed = tuple(range(max(places) + 1, len(names)))
    kept = tuple(names[place] for place in places)
    return CsvSource(file, layout, len(names), kept, places, unnamed, remarks, questions, found.above)


_FEWEST_BELOW = 4
"""Lines that a file has before its first row may add up the others."""


def _questions(file: CsvFile, layout: CsvFormat, width: int) -> Iterator[str]:
    """Ask about rows that seem to be no records: below the names, or at the end."""
    head = first_lines(file)
    if layout.header and layout.label_lines is None:
        if numbers_columns(head, layout):
            yield label_question("count")
        elif len(head) > _FEWEST_BELOW and adds_up(_fields_of(head[:2], layout), head[2:]):
            yield label_question("sum")
        elif rows := label_rows(head, layout)[0]:
            yield label_question("labels", rows)
    if layout.footer_lines is not None or width < 2:
        return
    lines = _last_lines(file)
    if apart := rows_apart(lines):
        yield apart_question(apart)
    elif rows := rows_of_notes(lines, layout, width, head[: -len(lines) or None] if file.packing is None else []):
        yield notes_question(rows)


def _rows_below(file: CsvFile, layout: CsvFormat) -> list[list[str]]:
    """Return the first rows below the names."""
    try:
        return [fields for fields in islice(_rows(file, layout), 1, _MOST_BELOW * 4) if fields]
    except _OpenQuoteError:
        return []


def _last_lines(file: CsvFile) -> list[str]:
    """Return the last whole lines of a file, without blank ones at its end; none where they cannot be found at once."""
    if file.packing is not None:
        return []
    with file.open() as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - _START))
        lines = stream.read().rstrip().splitlines()
    return [line.decode(errors="replace") for line in lines[1 if size > _START else 0 :]]


def _fields_of(lines: Sequence[str], layout: CsvFormat) -> list[str]:
    return next(_reader(iter(lines[-1:]), layout), []) if len(lines) > 1 and "\0" not in lines[-1] else []


_BLANKS = " \t\u00a0"


def _name(field: str) -> str:
    return on_one_line(field).encode(errors="surrogateescape").decode(errors="replace")


def on_one_line(name: str) -> str:
    """Write a name without the line ends inside of it, which are layout."""
    return re.sub(r"\s*[\r\n\t]+\s*", " ", name.strip())


def _position(index: int) -> str:
    return f"column_{index + 1}"


CSV = Family(recognizes=lambda given: given.path is not None, open=lambda given: csv_source(given.file, given.layout))
