"""The bytes of a CSV file as UTF-8, wherever they come from and however they are packed."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from sfumato.errors import InputError
from sfumato.table.csv_format import CsvFormat
from sfumato.table.text_encodings import is_utf8, likely_encoding, refuse_utf8, refuse_utf16

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
