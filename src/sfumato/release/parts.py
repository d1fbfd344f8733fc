"""A table in several files: written, each with its hash, and recounted without ever holding it.

Nothing here knows how a release is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, VerificationError
from sfumato.models.protocol import Check, Outcome
from sfumato.published import KINDS, BucketizedTables, PublishedTable, SlicedTable
from sfumato.published.checks.generalized import Attested, Verification
from sfumato.published.checks.parts import countable_in_parts, verify_bucket_parts, verify_parts, verify_slice_parts
from sfumato.published.checks.slice_layout import shared_attributes
from sfumato.published.protocol import Roles, roles_of, structure_columns
from sfumato.release.description import Description, PartFacts, TableFacts, described_models
from sfumato.release.table_files import assemble_tables, parts_check, refuse_missing, same_as_written
from sfumato.table.large.batches import NO_TYPES, BatchSource, CsvBatches, batch_source, header_of
from sfumato.table.large.memory import scratch_folder
from sfumato.table.sources import open_source
from sfumato.table.sources.protocol import CsvFormat
from sfumato.table.writing import Format, sha256_of, write_data

TABLE = "data"
LAYOUT = CsvFormat(strip=False)


def write_parts(
    frames: Iterable[pl.DataFrame], folder: Path, format: Format, *, single: bool, name: str = TABLE
) -> TableFacts:
    """Write a table that comes in parts, all of the same columns, and hash each; one alone is a file as ever."""
    if single:
        (frame,) = frames
        file = folder / f"{name}.{format}"
        return TableFacts(file.name, write_data(frame, file, format), frame.height, tuple(frame.columns))
    place = folder / name
    place.mkdir()
    parts, columns = [], list[str]()
    for number, frame in enumerate(frames):
        file, columns = place / part_name(number, format), frame.columns
        parts.append(PartFacts(file.name, write_data(frame, file, format), frame.height))
    return TableFacts.in_parts(name, parts, columns)


def part_name(number: int, format: Format) -> str:
    """Return the name of the file of a part."""
    return f"part-{number:05}.{format}"


@dataclass(frozen=True, eq=False, repr=False)
class FilesInARow:
    """The files of one table as a source of batches; see :class:`~sfumato.table.large.batches.BatchSource`."""

    files: tuple[BatchSource, ...]

    @classmethod
    def of(cls, folder: Path, facts: TableFacts) -> FilesInARow:
        """Open the files of a table; InputError when columns or types differ from ``release.json`` or the first."""
        files: list[BatchSource] = []
        header = None
        for path in (folder / name for name in facts.files):
            # Opening a file takes longer than parsing a small one.
            if header and header_of(path, LAYOUT.quote) == header and isinstance(files[-1], CsvBatches):
                files[-1] = replace(files[-1], others=(*files[-1].others, path))
                continue
            files.append(batch_source(open_source(path, LAYOUT)))
            if sorted(files[-1].names) != sorted(facts.columns) or files[-1].is_text is not files[0].is_text:
                name = path.relative_to(folder)
                raise InputError(f"{name}: has other columns than release.json says; it was changed")
            is_plain = isinstance(files[-1], CsvBatches) and files[-1].source.file.packing is None
            header = header_of(path, LAYOUT.quote) if is_plain else None
        return cls(tuple(files))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return self.files[0].names

    @property
    def is_text(self) -> bool:
        """Whether every value arrives as text."""
        return self.files[0].is_text

    def batches(self, names: Sequence[str], texts: Mapping[str, pl.DataType] = NO_TYPES) -> Iterator[list[pl.Series]]:
        """Read some columns, a batch of rows at a time."""
        for file in self.files:
            yield from file.batches(names, texts)


def recounted_in_parts(
    folder: Path,
    description: Description,
    facts: Mapping[str, TableFacts],
    scratch: Path | None = None,
    people: NDArray[np.int32] | None = None,
) -> tuple[Verification, tuple[Check, ...]] | None:
    """Recount tables from their files, never holding all of them; None: they can only be counted whole."""
    if counted_by_bucket(description):
        return _recounted_buckets(folder, description, facts, scratch)
    if not counted_by_record(description):
        return None
    refuse_missing(folder, facts)
    (name,) = facts
    integrity = parts_check(folder, facts[name]) if facts[name].parts else None
    counted = parts_recount(FilesInARow.of(folder, facts[name]), description, scratch, people)
    return counted, () if integrity is None else (_with_rows(integrity, counted.records, facts[name]),)


def counted_by_record(description: Description) -> bool:
    """Tell whether a release is one of records in classes, which are counted without ever holding all of them."""
    extra = {"pseudonyms", "class_number", "counterfeits"} & {*description.structure}
    is_generalized = description.kind == PublishedTable.kind and description.people != "published" and not extra
    return is_generalized and countable_in_parts(described_models(description))


def counted_by_bucket(description: Description) -> bool:
    """Tell whether a release is one of buckets that are counted without ever holding their records."""
    if description.kind == BucketizedTables.kind:
        return True
    if description.kind != SlicedTable.kind:
        return False
    try:
        return not shared_attributes(structure_columns(description.structure))
    except ValueError:
        # Putting the tables together says what is wrong.
        return False


def _recounted_buckets(
    folder: Path, description: Description, facts: Mapping[str, TableFacts], scratch: Path | None
) -> tuple[Verification, tuple[Check, ...]]:
    refuse_missing(folder, facts)
    sources = {name: TalliedRows(FilesInARow.of(folder, entry)) for name, entry in facts.items()}
    whole, models = KINDS[description.kind].whole_numbers, described_models(description)
    # Rows do not matter for whether tables and columns are those of the structure.
    empty = {
        name: pl.DataFrame(schema={each: pl.Int64 if each in whole else pl.String for each in source.names})
        for name, source in sources.items()
    }
    shown, attributes = assemble_tables(description, empty), description.attributes()
    with scratch_folder(scratch) as place:
        if isinstance(shown, SlicedTable):
            hidden = shown.sensitive, shown.insensitive
            counted = verify_slice_parts(sources[TABLE], shown.columns, hidden, attributes, models, place)
        else:
            rows, counts = (sources[name] for name in shown.tables)
            counted = verify_bucket_parts(rows, counts, attributes, models, place)
    checks = tuple(_integrity(folder, entry, sources[name]) for name, entry in facts.items())
    return replace(counted, roles=roles_of(shown)), checks


def _integrity(folder: Path, facts: TableFacts, read: TalliedRows) -> Check:
    if facts.parts:
        return _with_rows(parts_check(folder, facts), read.rows, facts)
    path = folder / facts.file
    return same_as_written(f"{path.name} is the file that was written", sha256_of(path), facts, (read.rows, read.names))


@dataclass(eq=False, repr=False)
class TalliedRows:
    """A source that tells how many rows were read when it was read."""

    source: BatchSource
    rows: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return self.source.names

    @property
    def is_text(self) -> bool:
        """Whether every value arrives as text."""
        return self.source.is_text

    def batches(self, names: Sequence[str], texts: Mapping[str, pl.DataType] = NO_TYPES) -> Iterator[list[pl.Series]]:
        """Read some columns, a batch of rows at a time."""
        for batch in self.source.batches(names, texts):
            self.rows += len(batch[0])
            yield batch


def parts_recount(
    source: BatchSource, description: Description, scratch: Path | None = None, people: NDArray[np.int32] | None = None
) -> Verification:
    """Recount a table that :func:`counted_by_record`, and say its roles; as :func:`recounted_in_parts`."""
    # Types do not matter for whether the columns are those of the structure.
    published = assemble_tables(description, {TABLE: pl.DataFrame({each: [""] for each in source.names})})
    if not isinstance(published, PublishedTable):
        raise VerificationError("release.json: a table in parts must be a generalized one")
    attributes, models = description.attributes(), described_models(description)
    whom: NDArray[np.int32] | Attested | None = people
    if people is None and description.people == "audit":
        whom = "attested"
    with scratch_folder(scratch) as place:
        promised = published.promises
        counted = verify_parts(source, published.quasi_identifying, attributes, models, place, whom, promised)
    own = {*published.quasi_identifying, *published.sensitive, *promised.values()}
    roles = Roles(
        published.quasi_identifying, published.sensitive, tuple(each for each in source.names if each not in own)
    )  # fmt: skip
    return replace(counted, roles=roles)


def _with_rows(integrity: Check, rows: int, facts: TableFacts) -> Check:
    if integrity.outcome is Outcome.HOLDS and rows != facts.rows:
        return replace(integrity, outcome=Outcome.BROKEN, detail="release.json counts other rows")
    return integrity
