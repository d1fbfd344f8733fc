"""A table as batches of rows, never whole, from one file or several that a schema describes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, SchemaError, SfumatoError, raise_all, raise_together
from sfumato.table.columns import ValueReading
from sfumato.table.databases.address import is_database
from sfumato.table.databases.protocol import DatabaseSource
from sfumato.table.header import Header, RoleAssignment, assign_roles
from sfumato.table.reading import ReadingPolicy, header_and_keys, label_of, open_table_as
from sfumato.table.schema import Schema
from sfumato.table.sources import TableSource
from sfumato.table.sources.folders import Part, SeveralFiles, files_of, joined_column, named_part, typed_by_name
from sfumato.table.sources.frames import ArrowFileSource, ParquetSource
from sfumato.table.sources.json_files import is_json_lines
from sfumato.table.sources.protocol import Reading
from sfumato.table.sources.text_files import CsvSource, count_regular_rows

BYTES = 1 << 22
"""Bytes of a CSV file that are parsed at a time."""
MOST_HEADER = 1 << 20
"""Bytes of a first line that files are compared by, at most."""
ROWS = 1 << 18
"""Rows of a Parquet or Arrow file that are read at a time."""


NO_TYPES: Mapping[str, pl.DataType] = MappingProxyType({})

WHOLE = (
    "only CSV, Parquet and Arrow files, and databases, can be read a piece at a time; write the table to one of these, "
    "or use --engine memory"
)
CHANGED = "the input changed while it was read; have it left alone, and run again"


class BatchSource(Protocol):
    """A table that gives its rows a batch at a time."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        ...

    @property
    def is_text(self) -> bool:
        """Whether every value arrives as text, so that kinds must be read off it."""
        ...

    def batches(self, names: Sequence[str], texts: Mapping[str, pl.DataType] = NO_TYPES) -> Iterator[list[pl.Series]]:
        """Read some columns, a batch of rows at a time; no batch is empty.

        `texts`: types that texts may be read as, which spares whoever counts them a step. Raises ``InputError`` when
        the file is damaged.
        """
        ...


def batch_source(source: TableSource) -> BatchSource:
    """Return one file of `open_source` as batches; ``InputError`` when it cannot be read a piece at a time."""
    if isinstance(source, ParquetSource):
        return ScannedBatches(pl.scan_parquet(source.path, glob=False), source.names, "Parquet")
    if isinstance(source, ArrowFileSource) and not source.is_stream:
        return ScannedBatches(pl.scan_ipc(source.path), source.names, "Arrow")
    if isinstance(source, DatabaseSource):
        return source
    if not isinstance(source, CsvSource):
        raise InputError(WHOLE)
    if isinstance(source.file.given, bytes):
        raise InputError(
            "only a file in UTF-8 without lines above or below its table can be read a piece at a time; "
            "write it again in UTF-8 without them"
        )
    raise_all(InputError, source.questions)
    return CsvBatches(source)


@dataclass(frozen=True, eq=False, repr=False)
class ScannedBatches:
    """Batches of one Parquet or Arrow file; see :class:`BatchSource`."""

    scan: pl.LazyFrame
    names: tuple[str, ...]
    format: str

    is_text = False
    """Values have types of their own."""

    def types(self) -> Mapping[str, pl.DataType]:
        """Return the type of each column."""
        with self._whole():
            return self.scan.collect_schema()

    def batches(self, names: Sequence[str], texts: Mapping[str, pl.DataType] = NO_TYPES) -> Iterator[list[pl.Series]]:
        """Read some columns, a batch of rows at a time."""
        # By number: a name like `*` would be taken for a pattern.
        wanted = [pl.nth(self.names.index(name)) for name in names]
        with self._whole():
            height = int(self.scan.select(pl.len()).collect().item())
        for start in range(0, height, ROWS):
            with self._whole():
                columns = self.scan.slice(start, ROWS).select(wanted).collect().get_columns()
            yield columns

    @contextmanager
    def _whole(self) -> Iterator[None]:
        try:
            yield
        except (pl.exceptions.PolarsError, OSError):
            raise InputError(f"the {self.format} file is damaged or cut off; get a whole copy") from None


@dataclass(frozen=True, eq=False, repr=False)
class CsvBatches:
    """Batches of one regular CSV file in UTF-8, plain or packed; see :class:`BatchSource`."""

    source: CsvSource
    # Plain files with the same :func:`header_of`, which go on where the file ends. Small ones are read together.
    others: tuple[Path, ...] = ()

    is_text = True
    """Every value arrives as text."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return self.source.names

    def batches(self, names: Sequence[str], texts: Mapping[str, pl.DataType] = NO_TYPES) -> Iterator[list[pl.Series]]:
        """Read some columns, a batch of rows at a time.

        Raises ``InputError`` when rows are ragged or quotes stray: what can still be read of such a file is found by
        reading it whole.
        """
        read, layout, names_row = 0, self.source.layout, b""
        looks = layout.foreign and layout.strip and self.source.width > 1
        for piece, rows in self._pieces():
            skipped = layout.above_records if not read else 0
            names_row = piece.partition(b"\n")[0].rstrip(b"\r") if skipped else names_row
            read += rows
            if looks and self._has_rows_to_drop(piece, names_row):
                raise InputError(
                    "the file has rows of nothing but separators, or with the names again; delete them, or have it "
                    "read whole, which leaves them out: --engine memory"
                )
            if rows > skipped:
                yield self._parsed(piece, names, skipped, rows - skipped)

    def _pieces(self) -> Iterator[tuple[bytes, int]]:
        """Yield whole rows, and how many they are."""
        layout = self.source.layout
        for piece in _together(self._pieces_of_files()):
            rows = count_regular_rows([piece], self.source.width, layout.separator, layout.quote)
            if rows is None:
                raise _irregular()
            yield piece, rows

    def _pieces_of_files(self) -> Iterator[bytes]:
        quote = self.source.layout.quote
        with self.source.file.open() as stream:
            yield from _whole_rows(_blocks(stream), quote)
        for path in self.others:
            with path.open("rb") as stream:
                pieces = _whole_rows(_blocks(stream), quote)
                _, _, first = next(pieces, b"").partition(b"\n")
                yield from ([first] if first else [])
                yield from pieces

    def _has_rows_to_drop(self, piece: bytes, names_row: bytes) -> bool:
        blank = self.source.layout.separator.encode() * (self.source.width - 1)
        rows = [blank, names_row] if names_row else [blank]
        ended = piece + b"\n"
        return any(b"\n" + row + end in ended for row in rows for end in (b"\n", b"\r\n"))

    def _parsed(self, piece: bytes, names: Sequence[str], skipped: int, rows: int) -> list[pl.Series]:
        layout, indices = self.source.layout, [*map(self.source.place, names)]
        # As texts: threads that parse would wait for each other at the register of a categorical type.
        types = {f"column_{index + 1}": pl.String() for index in range(self.source.width)}
        try:
            frame = pl.read_csv(
                io.BytesIO(piece),
                has_header=False,
                skip_rows=skipped,
                schema=types,
                columns=[f"column_{index + 1}" for index in sorted(indices)],
                separator=layout.separator,
                quote_char=layout.quote,
            )
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError):
            raise _irregular() from None
        if frame.height < rows:
            raise _irregular()
        return [frame[f"column_{index + 1}"].head(rows).alias(name) for index, name in zip(indices, names, strict=True)]


def _irregular() -> InputError:
    return InputError(
        "rows of the file have different numbers of fields, or stray quotes: it cannot be read a piece at a time; "
        "correct it, or have it read whole, which names the rows: --engine memory"
    )


def header_of(path: Path, quote: str | None) -> bytes | None:
    """Return the first line of a file without its end; None where the names of its columns are more or less than that.

    Files whose first lines are equal have the same columns.
    """
    with path.open("rb") as file:
        line = file.readline(MOST_HEADER)
    has_end, marks = line.endswith(b"\n"), line.count(quote.encode()) if quote else 0
    return line.rstrip(b"\r\n") or None if has_end and marks % 2 == 0 else None


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    while block := stream.read(BYTES):
        yield block


def _together(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Put small pieces together, so that each is worth a call of the parser."""
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        if held and size + len(piece) > BYTES:
            yield b"\n".join(held)
            held, size = [], 0
        held.append(piece)
        size += len(piece)
    if held:
        yield b"\n".join(held)


def _whole_rows(blocks: Iterator[bytes], quote: str | None) -> Iterator[bytes]:
    """Yield the bytes of a file in pieces of whole rows, without the line ends that close each."""
    held, mark, block = b"", quote.encode() if quote else b"", next(blocks, b"")
    for following in blocks:
        piece = held + block
        end = _last_row_end(piece, mark)
        held, block = piece[end:], following
        if end:
            yield piece[: end - 1].removesuffix(b"\r")
    if last := (held + block).rstrip(b"\r\n"):
        yield last


def _last_row_end(piece: bytes, mark: bytes) -> int:
    """Return where the last whole row ends: behind the last line end that has an even number of quotes before it."""
    end = piece.rfind(b"\n") + 1
    if not mark or mark not in piece:
        return end
    quotes = piece.count(mark, 0, end)
    while end and quotes % 2:
        # Inside of quotes: nothing ends a row until before the quote that opened them.
        opened = piece.rfind(mark, 0, end)
        end = piece.rfind(b"\n", 0, opened) + 1
        quotes = piece.count(mark, 0, end)
    return end


# A table of which each distinct row comes once, with how many records have it: somebody else has counted them.


Groups = Callable[[Sequence[str]], Iterator[pl.DataFrame]]
"""From names of columns to frames of distinct rows, with their counts as the last column."""


@dataclass(frozen=True, eq=False, repr=False)
class CountedRows:
    """Distinct rows as batches; see :class:`~sfumato.table.large.batches.BatchSource`."""

    names: tuple[str, ...]
    is_text: bool
    groups: Groups  # called once
    _counts: list[NDArray[np.int64]] = field(default_factory=list)

    def batches(self, names: Sequence[str], texts: Mapping[str, pl.DataType] = NO_TYPES) -> Iterator[list[pl.Series]]:
        """Yield some columns of the rows, a batch at a time."""
        for group in self.groups(names):
            for frame in group.iter_slices(ROWS):
                *columns, counts = frame.get_columns()
                self._counts.append(counts.cast(pl.Int64).to_numpy())
                yield [_read(column.alias(name), texts) for column, name in zip(columns, names, strict=True)]

    @property
    def records(self) -> NDArray[np.int64]:
        """How many records each row stands for, once all batches were read; int64 (m,)."""
        return np.concatenate(self._counts)


def _read(column: pl.Series, texts: Mapping[str, pl.DataType]) -> pl.Series:
    return column.cast(texts[column.name]) if column.name in texts and column.dtype == pl.String else column


# Several files of one table as batches: the same columns, types and order as when they are read whole.


@dataclass(frozen=True, eq=False, repr=False)
class SeveralBatches:
    """Batches of one file after the other; see :class:`~sfumato.table.large.batches.BatchSource`."""

    files: tuple[tuple[Part, BatchSource], ...]
    names: tuple[str, ...]
    is_text: bool
    types: Mapping[str, pl.DataType]  # the type of each column that is read from the files, where they have types

    def batches(self, names: Sequence[str], texts: Mapping[str, pl.DataType] = NO_TYPES) -> Iterator[list[pl.Series]]:
        """Read some columns, a batch of rows at a time."""
        stored = [name for name in names if name in self.files[0][1].names]
        constants = {name: self._constant(name) for name in names if name not in stored}
        known = {name: texts[name] for name in stored if name in texts}
        for place, (part, file) in enumerate(self.files):
            with named_part(part.label):
                for batch in file.batches(stored or file.names[:1], known):
                    columns = {name: self._typed(name, column) for name, column in zip(stored, batch, strict=False)}
                    for name, values in constants.items():
                        columns[name] = values.new_from_index(place, len(batch[0]))
                    yield [columns[name].alias(name) for name in names]

    def _typed(self, name: str, column: pl.Series) -> pl.Series:
        dtype = self.types.get(name)
        return column if dtype is None or column.dtype == dtype else column.cast(dtype)

    def _constant(self, name: str) -> pl.Series:
        """Return what the names of folders say of a column, one value a part; parts without records say nothing."""
        values = [part.said(name) if _has_records(file) else None for part, file in self.files]
        return typed_by_name(pl.Series(name, values, dtype=pl.String))


def _has_records(file: BatchSource) -> bool:
    return next(file.batches(file.names[:1]), None) is not None


def batches_of(source: TableSource) -> BatchSource:
    """Return a source of :func:`~sfumato.table.sources.open_source`, one file or several, as batches.

    Raises ``InputError`` when a file cannot be read a piece at a time, or a column has another type in one part than in
    another.
    """
    if not isinstance(source, SeveralFiles):
        return batch_source(source)
    files = []
    for part in source.parts:
        with named_part(part.label):
            files.append((part, batch_source(part.source)))
    return SeveralBatches(tuple(files), source.names, source.is_text, _types(source, [file for _, file in files]))


def _types(source: SeveralFiles, files: Sequence[BatchSource]) -> Mapping[str, pl.DataType]:
    """Return the types that hold the values of all parts; none for text, which has no types."""
    schemas = []
    for part, file in zip(source.parts, files, strict=True):
        if not isinstance(file, ScannedBatches):
            return {}
        with named_part(part.label):
            schemas.append(file.types())
    empty = {name: [pl.Series(name, [], dtype=schema[name]) for schema in schemas] for name in files[0].names}
    return {name: joined_column(name, pieces, source.parts).dtype for name, pieces in empty.items()}


@dataclass(frozen=True, eq=False, repr=False)
class OpenedFile:
    """A table in files whose columns all have a role."""

    path: Path  # what messages call it
    files: Callable[[], Sequence[Path]]  # looks for the files that the table is read from
    source: BatchSource
    schema: Schema  # ``others="keep"`` columns have become insensitive
    names: tuple[str, ...]  # of the columns that a table keeps, in the order of the file
    reading: ValueReading
    keys: tuple[str, ...]  # columns that are left out and may be keys of people

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Refuse files that are others at the end of the block than at its beginning."""
        before = self.state()
        try:
            yield
        finally:
            # Whatever else went wrong with it follows from that.
            if self.state() != before:
                raise InputError(CHANGED)

    def state(self) -> list[tuple[Path, int, int, int, int] | None]:
        """Return what shows whether a file is another one, or was written to; None for one that cannot be seen."""
        return [_state_of(path) for path in self.files()]


def _state_of(path: Path) -> tuple[Path, int, int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return path.absolute(), found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def opened_file(source: Path | str, policy: ReadingPolicy) -> OpenedFile:
    """Open CSV, Parquet or Arrow files (one, a folder or a pattern), or a database, as :func:`sfumato.read_table` does.

    Raises ``SfumatoError`` with everything that is wrong with the file's layout and roles.
    """
    # A database shows one state while it is read, which is once.
    found = partial(list[Path]) if is_database(source) else partial(files_of, Path(source))
    if any(is_json_lines(file) for file in found()):
        # Opening them reads them whole, which may not be possible.
        raise InputError(WHOLE)
    how = Reading(**policy.reading())
    schema, layout = policy.to_schema(), how.layout()
    opened, reading = open_table_as(source, how)
    header, keys = header_and_keys(opened, schema, layout.columns or ())
    roles = checked_roles(header, schema)
    reading = replace(reading, codes=schema.quasi_identifying)
    path = Path(label_of(source, how.table)) if is_database(source) else Path(source)
    return OpenedFile(path, found, batches_of(opened), roles.schema, roles.kept, reading, keys)


def checked_roles(header: Header, schema: Schema) -> RoleAssignment:
    """Give every column of a table that is read in batches its role.

    Raises ``SfumatoError`` when roles are wrong, or missing: without looking at its values nothing is published.
    """
    assignment = assign_roles(header, schema)
    raise_together([*assignment.errors, *_not_looked_at(assignment, schema)])
    return assignment


def _not_looked_at(assignment: RoleAssignment, schema: Schema) -> list[SfumatoError]:
    """Refuse columns that would be published because nobody said anything of them: their values are not looked at."""
    unsaid = [name for name in assignment.kept if name in assignment.passing and name not in schema.publish]
    if not unsaid:
        return []
    listed = ", ".join(map(repr, unsaid))
    return [
        SchemaError(
            f"column(s) without a role: {listed}; the disk engine does not look whether their values identify people. "
            "Give each a role (--set columns.insensitive=NAME publishes it, --identifying removes it), or use "
            "--engine memory"
        )
    ]
