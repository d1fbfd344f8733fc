"""The bytes of a CSV file as UTF-8, wherever they come from and however they are packed."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from sfumato.errors import InputError, raise_all
from sfumato.table.csv_format import CsvFormat
from sfumato.table.distinct import private_categorical

# In which encoding a text seems to be, where it was read in another one.


_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SINGLE_BYTES = ("cp1252", "cp850", "mac-roman")
"""Encodings of Western European files, the most usual first."""
_LETTERS = frozenset("äöüÄÖÜßéèêëàâçñóíáúôîûøåæœÉÀÈÇÑØÅÆ°€§²µ–’")


def is_utf8(encoding: str) -> bool:
    """Tell whether an encoding is UTF-8, or a part of it."""
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig", "ascii")


def refuse_utf16(start: bytes, encoding: str) -> None:
    """Refuse a text that is UTF-16 by its first bytes, where another encoding was given.

    Raises
    ------
    InputError
        Naming the encoding.
    """
    start = start[:_START]
    is_marked = start.startswith(_UTF_16)
    if codecs.lookup(encoding).name.startswith(("utf-16", "utf-32")) or not (is_marked or _has_nulls(start)):
        return
    order = "utf-16" if is_marked else "utf-16-be" if start[:1] == b"\0" else "utf-16-le"
    raise InputError(f"the file is UTF-16, not {encoding}: add --set source.encoding={order}")


def refuse_utf8(content: bytes, encoding: str) -> None:
    """Refuse a text in UTF-8 where an encoding of single bytes was given, in which every letter would become two.

    Raises
    ------
    InputError
        Naming the encoding. No other text with letters beyond ASCII is UTF-8 by chance.
    """
    if content.isascii() or codecs.lookup(encoding).name.startswith(("utf-", "gb", "big5", "shift", "euc", "cp93")):
        return
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return
    raise InputError(f"the file is UTF-8, not {encoding}: leave source.encoding out, or say utf-8")


def likely_encoding(content: bytes) -> str:
    """Name the encoding of single bytes in which most bytes beyond ASCII are letters of Western Europe."""
    high = bytes(byte for byte in content if byte > 127)
    return max(_SINGLE_BYTES, key=lambda name: sum(letter in _LETTERS for letter in high.decode(name, "replace")))


def _has_nulls(start: bytes) -> bool:
    """Tell whether every other byte is null, or nearly so."""
    return len(start) > 3 and 2 * max(start[0::2].count(0), start[1::2].count(0)) > 0.8 * len(start)


_BLOCK = 1 << 18
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_UNPACKED = 1 << 20
_START = 400

UNPACK_LIMIT = "SFUMATO_UNPACK_LIMIT"
"""Variable with the most MB that a packed file may unpack to."""
_USUAL_RATIO = 100
"""Tables seldom shrink to less than a thirtieth."""
_ALWAYS = 64 << 20
"""Bytes that are always unpacked."""


@dataclass(frozen=True, eq=False, repr=False)
class CsvFile:
    """A UTF-8 text file: on disk as it is or packed, or in memory.

    Attributes
    ----------
    given : Path or bytes
    packing : str or None
        ``gzip`` or ``zstd``; None: it is not packed.
    """

    given: Path | bytes
    packing: str | None = None

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
        """Return bytes from the first on that is not UTF-8; none where all are."""
        decoder, block = codecs.getincrementaldecoder("utf-8")(), b""
        with self.open() as stream:
            try:
                while block := stream.read(_BLOCK):
                    decoder.decode(block)
                decoder.decode(b"", final=True)
            except UnicodeDecodeError as error:
                return error.object[error.start :] + stream.read(_BLOCK)
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
    """Open a file, or its content, as it is or packed by gzip or zstd; other encodings are translated in memory.

    Raises
    ------
    InputError
        When the file cannot be unpacked, or has bytes that are invalid in its encoding (with the line).
    """
    if isinstance(given, Path) and not given.is_file():
        given = given.read_bytes()  # a pipe can be read only once, and a file is opened several times
    start = _start_of(given)
    packing = "gzip" if start.startswith(_GZIP) else "zstd" if start == _ZSTD else None
    file = CsvFile(given, packing)
    if not is_utf8(layout.encoding):
        content = file.content if isinstance(file.content, bytes) else file.content.read_bytes()
        refuse_utf8(content, layout.encoding)
        return CsvFile(_translated(content, layout.encoding))
    with file.open() as stream:
        refuse_utf16(stream.read(_START), layout.encoding)
    return file


def _start_of(given: Path | bytes) -> bytes:
    if isinstance(given, bytes):
        return given[: len(_ZSTD)]
    with given.open("rb") as stream:
        return stream.read(len(_ZSTD))


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
        except (OSError, EOFError, zlib.error):
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


def _stream(packed: Path | bytes, packing: str) -> Any:
    if packing == "gzip":
        return gzip.GzipFile(fileobj=io.BytesIO(packed)) if isinstance(packed, bytes) else gzip.open(packed)
    import pyarrow as pa  # only where it is needed: few files are packed like this

    return pa.CompressedInputStream(pa.BufferReader(packed) if isinstance(packed, bytes) else str(packed), "zstd")


def unpack_limit(packed: int) -> int:
    """Return the most bytes that a packed file of that many may unpack to."""
    said = os.environ.get(UNPACK_LIMIT)
    if said is None:
        return max(_USUAL_RATIO * packed, _ALWAYS)
    if not said.isascii() or not said.isdigit() or not int(said):
        raise InputError(f"{UNPACK_LIMIT} must be a whole number of MB, 1 or above")
    return int(said) << 20


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
                f"line {line} of the file has bytes that are not {encoding}; give the encoding that it was written in: "
                f"it reads as {likely_encoding(content)}"
            ) from None
    return bytes(translated).removeprefix(codecs.BOM_UTF8)


# Where the names of a schema stand in a CSV file that was read without finding them, and which are nearly the same.


_SEPARATORS = {",": "','", ";": "';'", "\t": "tab", "|": "'|'"}
_LINES = 30
"""Lines in which the names of the columns are looked for."""
_LONGEST = 1 << 16


def names_elsewhere(file: CsvFile, layout: CsvFormat, wanted: Collection[str]) -> str | None:
    """Say with which separator, or in which line, the names of the schema stand; None where nothing is found.

    Parameters
    ----------
    file
        The file, of which the first lines are looked at.
    layout
        As it was read, without finding any of the names.
    wanted
        The names of the schema.
    """
    with file.open_text() as text:
        lines = [line[:_LONGEST].rstrip("\r\n") for line in islice(text, _LINES)]
    for number, line in enumerate(lines, 1):
        for separator in (layout.separator, *_SEPARATORS):
            found = _fields(line, separator, layout.quote).intersection(wanted)
            if not found or len(found) < len(wanted) / 2:
                continue
            where = f"in line {number} of the file; remove the lines above it" if number > 1 else ""
            other = f"separated by {_SEPARATORS[separator]}: add --set source.separator={_SEPARATORS[separator]}"
            parts = [other] if separator != layout.separator else []
            if where or parts:
                return f"the names of the columns stand {' and '.join(filter(None, [where, *parts]))}"
    return None


def _fields(line: str, separator: str, quote: str | None) -> frozenset[str]:
    try:
        row = next(csv.reader([line], delimiter=separator, quotechar=quote or '"'), [])
    except csv.Error:
        return frozenset()
    return frozenset(field.strip() for field in row)


# CSV row by row: slow, exact about what is wrong and where, and able to read what fast parsers cannot.


_CHUNK = 50_000
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


def read_rows(file: CsvFile, layout: CsvFormat, width: int, indices: Sequence[int]) -> list[pl.Series]:
    """Read some columns as categories, checking every row.

    Blank lines are skipped where rows have more than one field.

    Raises
    ------
    InputError
        With every kind of broken row: how many there are, and the number of the first.

    Notes
    -----
    Cost O(bytes), about ten times that of a compiled parser; memory for one chunk of rows beyond the result.
    """
    faults = _Faults(width)
    dtypes = [private_categorical() for _ in indices]
    parts: list[list[pl.Series]] = [[pl.Series([], dtype=dtype)] for dtype in dtypes]
    rows = _checked(_filled(_rows(file, layout), width), faults, 1 if layout.header else 0)
    while chunk := list(islice(rows, _CHUNK)):
        for index, dtype, column in zip(indices, dtypes, parts, strict=True):
            texts = [fields[index] for _, fields in chunk]
            faults.unreadable.extend(_unreadable([number for number, _ in chunk], texts))
            if not faults.unreadable:
                column.append(pl.Series(texts, dtype=dtype))
    if faults.unreadable:
        faults.encoding = likely_encoding(file.strange_bytes())
    raise_all(InputError, faults.problems())
    return [pl.concat(column) for column in parts]


@dataclass
class _Faults:
    """Row numbers of everything that is wrong, and of rows that end in a separator, which is right if all do."""

    width: int
    short: list[int] = field(default_factory=list)
    long: list[int] = field(default_factory=list)
    unreadable: list[int] = field(default_factory=list)
    open_quote: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    rows: int = 0
    encoding: str = ""

    def problems(self) -> list[str]:
        """Say what is wrong, one sentence per kind."""
        if len(self.ended) < self.rows:
            self.long.extend(self.ended)
        sentences = (
            (self.short, f"have fewer than {self.width} fields", "complete the rows, or check separator and quote"),
            (self.long, f"have more than {self.width} fields", "quote fields that hold the separator, or check it"),
            (
                self.unreadable,
                "have bytes that are not in the file's encoding",
                f"give its encoding: they read as {self.encoding}, so add --set source.encoding={self.encoding}",
            ),
            (
                self.open_quote,
                "open a quote that is never closed",
                'close it, or set quote=None (in a policy quote = "")',
            ),
        )
        return [
            f"{len(set(rows))} row(s) {what}, first row {min(rows)}; {advice}"
            for rows, what, advice in sentences
            if rows
        ]


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


def _filled(rows: Iterator[list[str]], width: int) -> Iterator[list[str]]:
    """Drop blank lines; between the rows of a single column they are missing values."""
    blank = 0
    for fields in rows:
        if not fields:
            blank += width == 1
            continue
        yield from ([""] for _ in range(blank))
        blank = 0
        yield fields


def _rows(file: CsvFile, layout: CsvFormat) -> Iterator[list[str]]:
    # Two fields follow the text: if they do not come out as a row of their own, a quote is still open.
    end = ["", "\0"]
    previous: list[str] | None = None
    with file.open_text() as text, _long_fields():
        for fields in _reader(chain(text, [layout.separator.join(end)]), layout):
            if previous is not None:
                yield previous
            previous = fields
    if previous != end:
        raise _OpenQuoteError


def _reader(lines: Iterator[str], layout: CsvFormat) -> Iterator[list[str]]:
    return csv.reader(
        lines,
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
