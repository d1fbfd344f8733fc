"""Opening files that a schema describes, to be read in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from sfumato.errors import InputError, SchemaError, SfumatoError
from sfumato.table.columns import ValueReading
from sfumato.table.csv_format import CsvFormat
from sfumato.table.header import Header, checked_header
from sfumato.table.large.batches import CHANGED, WHOLE, BatchSource
from sfumato.table.large.several import batches_of
from sfumato.table.pandas_index import without_index
from sfumato.table.problems import raise_together
from sfumato.table.reading import ReadingPolicy, open_table_as, read_table, reading_of
from sfumato.table.repeated_keys import candidates
from sfumato.table.roles import RoleAssignment, assign_roles
from sfumato.table.schema import Schema
from sfumato.table.sources import Place
from sfumato.table.sources.folders import files_of
from sfumato.table.sources.json_lines import is_json_lines
from sfumato.table.written_forms import WrittenForm


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
    settings = {**(read_table.__kwdefaults__ or {}), **reading_of(policy, path)}
    schema, strip = policy.to_schema(), settings["strip"]
    everywhere = False if isinstance(strip, (list, tuple)) else strip
    layout = CsvFormat(
        settings["separator"],
        settings["encoding"],
        settings["quote"],
        settings["header"],
        settings["columns"],
        everywhere,
    )
    form = WrittenForm(settings["decimal"], settings["thousands"], dates=settings["dates"])
    opened, reading = open_table_as(path, Place(), layout, settings["missing"], strip, form)
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
