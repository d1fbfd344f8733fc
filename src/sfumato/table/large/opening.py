"""Opening files that a schema describes, to be read in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from sfumato.errors import InputError, SchemaError, SfumatoError, raise_together
from sfumato.table.columns import ValueReading
from sfumato.table.header import Header, RoleAssignment, assign_roles, checked_header
from sfumato.table.large.batches import CHANGED, NO_TYPES, WHOLE, BatchSource, ScannedBatches, batch_source
from sfumato.table.layout import Reading
from sfumato.table.reading import ReadingPolicy, open_table_as, reading_of
from sfumato.table.repeated_keys import candidates
from sfumato.table.schema import Schema
from sfumato.table.sources import TableSource
from sfumato.table.sources.folders import Part, SeveralFiles, files_of, joined_column, named_part, typed_by_name
from sfumato.table.sources.frames import without_index
from sfumato.table.sources.json_lines import is_json_lines

# Several files of one table as batches: the same columns, types and order as when they are read whole.


@dataclass(frozen=True, eq=False, repr=False)
class SeveralBatches:
    """Batches of one file after the other; see :class:`~sfumato.table.large.batches.BatchSource`.

    Attributes
    ----------
    files : tuple
        Each part, and its batches.
    names : tuple of str
    is_text : bool
    types : mapping
        The type of each column that is read from the files, where they have types.
    """

    files: tuple[tuple[Part, BatchSource], ...]
    names: tuple[str, ...]
    is_text: bool
    types: Mapping[str, pl.DataType]

    def batches(self, names: Sequence[str], texts: Mapping[str, pl.DataType] = NO_TYPES) -> Iterator[list[pl.Series]]:
        """Read some columns, a batch of rows at a time."""
        stored = [name for name in names if name in self.files[0][1].names]
        said = {name: self._said(name) for name in names if name not in stored}
        known = {name: texts[name] for name in stored if name in texts}
        for place, (part, file) in enumerate(self.files):
            with named_part(part.label):
                for batch in file.batches(stored or file.names[:1], known):
                    columns = {name: self._typed(name, column) for name, column in zip(stored, batch, strict=False)}
                    for name, values in said.items():
                        columns[name] = values.new_from_index(place, len(batch[0]))
                    yield [columns[name].alias(name) for name in names]

    def _typed(self, name: str, column: pl.Series) -> pl.Series:
        dtype = self.types.get(name)
        return column if dtype is None or column.dtype == dtype else column.cast(dtype)

    def _said(self, name: str) -> pl.Series:
        """Return what the names of folders say of a column, one value a part; parts without records say nothing."""
        values = [part.said(name) if _has_records(file) else None for part, file in self.files]
        return typed_by_name(pl.Series(name, values, dtype=pl.String))


def _has_records(file: BatchSource) -> bool:
    return next(file.batches(file.names[:1]), None) is not None


def batches_of(source: TableSource) -> BatchSource:
    """Return a source of :func:`~sfumato.table.sources.open_source`, one file or several, as batches.

    Raises
    ------
    InputError
        When a file cannot be read a piece at a time, or a column has another type in one part than in another.
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
    """A table in files whose columns all have a role.

    Attributes
    ----------
    path : Path
        What messages call it.
    files : callable
        Looks for the files that the table is read from.
    source : BatchSource
    schema : Schema
        ``others="keep"`` columns have become insensitive.
    names : tuple of str
        Of the columns that a table keeps, in the order of the file.
    reading : ValueReading
    keys : tuple of str
        Columns that are left out and may be keys of people.
    """

    path: Path
    files: Callable[[], Sequence[Path]]
    source: BatchSource
    schema: Schema
    names: tuple[str, ...]
    reading: ValueReading
    keys: tuple[str, ...]

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Refuse files that are others at the end of the block than at its beginning."""
        before = self._state()
        try:
            yield
        finally:
            # Whatever else went wrong with it follows from that.
            if self._state() != before:
                raise InputError(CHANGED)

    def _state(self) -> list[tuple[Path, int, int, int] | None]:
        return [_state_of(path) for path in self.files()]


def _state_of(path: Path) -> tuple[Path, int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return path, found.st_ino, found.st_size, found.st_mtime_ns


def opened_file(path: Path, policy: ReadingPolicy) -> OpenedFile:
    """Open CSV, Parquet or Arrow files as :func:`sfumato.read_table` would: one, a folder or a pattern of names.

    Raises
    ------
    SfumatoError
        With everything that is wrong with the file's layout and roles.
    """
    if any(is_json_lines(file) for file in files_of(path)):
        # Opening them reads them whole, which may not be possible.
        raise InputError(WHOLE)
    how = replace(Reading(**reading_of(policy, path)), table=None, query=None, sheet=None, range=None, codes=())
    schema, layout = policy.to_schema(), how.layout()
    opened, reading = open_table_as(path, how)
    header = checked_header(without_index(opened, schema.roles), schema, layout.columns or ())
    roles = checked_roles(header, schema)
    reading = replace(reading, codes=schema.quasi_identifying)
    keys = candidates(header, schema)
    return OpenedFile(path, lambda: files_of(path), batches_of(opened), roles.schema, roles.kept, reading, keys)


def checked_roles(header: Header, schema: Schema) -> RoleAssignment:
    """Give every column of a table that is read in batches its role.

    Raises
    ------
    SfumatoError
        When roles are wrong, or missing: without looking at its values nothing is published.
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
            "Give each a role (--insensitive publishes it, --identifying removes it), or use --engine memory"
        )
    ]
