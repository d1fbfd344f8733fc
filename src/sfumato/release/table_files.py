"""The tables of a release folder as files: written with their hashes, and read as a recipient reads them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import polars as pl

from sfumato.errors import InputError, VerificationError, raise_all
from sfumato.models.checks import Check, Outcome
from sfumato.parallel import each
from sfumato.progress import thread_count
from sfumato.published import KINDS, Published, SlicedTable, sensitive_names
from sfumato.published.apart import labels_of
from sfumato.published.protocol import named, structure_columns
from sfumato.release.description import Description, TableFacts
from sfumato.release.transaction import unportable
from sfumato.table.reading import read_written
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.sources import open_source
from sfumato.table.sources.protocol import CsvFormat
from sfumato.table.writing import Codes, Format, sha256_of, write_data


def write_tables(
    published: Published, folder: Path, format: Format, codes: Codes = MappingProxyType({})
) -> dict[str, TableFacts]:
    """Write every table into a file named after it; return what ``release.json`` says of the files.

    `codes` of labels are written where a column is published with its labels, and the format has codes.
    """
    facts = {}
    for name, frame in published.tables.items():
        file = folder / f"{name}.{format}"
        if reason := unportable(file.name):
            raise InputError(
                f"table {name!r}: its file name {reason}, which not every system can hold; rename the table"
            )
        facts[name] = TableFacts(file.name, write_data(frame, file, format, codes), frame.height, tuple(frame.columns))
    return facts


def read_published_files(
    folder: Path, description: Description, facts: Mapping[str, TableFacts]
) -> tuple[Published, tuple[Check, ...]]:
    """Read every table and put them together; tell of each file whether it is the one that was written.

    Raises ``VerificationError`` when a file is missing, or the tables contradict each other or the structure. Raises
    ``SfumatoError`` when a file cannot be read as a table.
    """
    refuse_missing(folder, facts)
    tables = {name: _read_table(folder, entry, description) for name, entry in facts.items()}
    checks = tuple(
        parts_check(folder, entry) if entry.parts else integrity(folder / entry.file, entry, tables[name])
        for name, entry in facts.items()
    )
    return assemble_tables(description, tables), checks


def refuse_missing(folder: Path, facts: Mapping[str, TableFacts]) -> None:
    """Raise VerificationError where a file of a table is missing."""
    names = [name for entry in facts.values() for name in entry.files]
    missing = (name for name in names if not (folder / name).is_file())
    raise_all(
        VerificationError,
        (f"{folder}: the data file {name} that release.json names is missing" for name in missing),
    )


def refuse_too_large(folder: Path, facts: TableFacts) -> None:
    """Raise InputError where a table in parts is to be read into memory that it does not fit into."""
    if not facts.parts:
        return
    from sfumato.table.large.memory import estimated_need, free_memory, gigabytes

    free = free_memory()
    if free is None:
        return
    need = estimated_need([folder / name for name in facts.files])
    if need > free:
        raise InputError(
            f"{facts.file}: in memory this table would take about {gigabytes(need)}, and {gigabytes(free)} are free; "
            "use a machine with more memory, or take the figures of the whole table that sfumato anonymize printed and "
            "report.json has; sfumato verify recounts it without holding it"
        )


def _read_table(folder: Path, facts: TableFacts, description: Description) -> pl.DataFrame:
    if not facts.parts:
        return read_table_file(folder / facts.file, facts, description)
    refuse_too_large(folder, facts)
    parts = [read_table_file(folder / name, facts, description) for name in facts.files]
    # Categories of one part are numbered otherwise than those of another; columns may stand in another order.
    texts = pl.col(pl.Categorical).cast(pl.String)
    return pl.concat([part.with_columns(texts).select(facts.columns) for part in parts], how="vertical_relaxed")


def read_table_file(path: Path, facts: TableFacts, description: Description) -> pl.DataFrame:
    """Read one table as a recipient does: sensitive values as their kind, counts as numbers, all else as text."""
    names = open_source(path, CsvFormat(strip=False)).names
    check_columns(path.name, names, facts)
    return read_written(path, schema_of(names, description)).frame


def check_columns(what: str, names: Sequence[str], facts: TableFacts) -> None:
    """Raise InputError when a table has other columns than were written."""
    if sorted(names) != sorted(facts.columns):
        # Not by name: where the header was lost, the names are values.
        raise InputError(f"{what}: has other columns than release.json says; it was changed")


def schema_of(names: Sequence[str], description: Description) -> Schema:
    """Return the schema by which a published table is read."""
    attributes = description.attributes()
    attributes |= dict.fromkeys(KINDS[description.kind].whole_numbers, Attribute(kind=Kind.NUMERIC))
    text, copies = Attribute(kind=Kind.CATEGORICAL), _copies(description)
    return Schema(quasi_identifying={name: attributes.get(copies.get(name, name), text) for name in names})


def _copies(description: Description) -> dict[str, str]:
    """Return the attribute that each column is, or is a copy of, where columns of a table may share attributes."""
    if description.kind != SlicedTable.kind:
        return {}
    try:
        columns = structure_columns(description.structure)
    except ValueError:
        # Putting the tables together says what is wrong.
        return {}
    labels = labels_of(columns)
    return {label: name for pair in zip(labels, columns, strict=True) for label, name in zip(*pair, strict=True)}


def assemble_tables(description: Description, tables: Mapping[str, pl.DataFrame]) -> Published:
    """Put the tables of a release together, or raise VerificationError."""
    try:
        published = KINDS[description.kind].assemble(tables, description.structure)
    except KeyError:
        raise VerificationError("release.json: a table is missing; the release cannot be verified") from None
    if set(published.tables) != set(tables):
        raise VerificationError("release.json: names tables that its structure has no place for")
    if set(sensitive_names(published)) != set(description.sensitive):
        raise VerificationError("release.json: describes other sensitive columns than its structure names")
    return published


def parts_check(folder: Path, facts: TableFacts) -> Check:
    """Tell whether a folder holds the parts that were written and nothing else; hashes are worked out side by side."""
    promise = f"{facts.file} holds the {len(facts.parts):,} parts that were written, and nothing else"
    place = folder / facts.file
    with os.scandir(place) as found:
        entries = list(found)
    if place.is_symlink() or any(entry.is_symlink() for entry in entries):
        return Check(promise, Outcome.BROKEN, detail="it is a link, or there is one in it")
    strangers = sorted({entry.name for entry in entries} - {part.file for part in facts.parts})
    if strangers:
        detail = f"there is {named(strangers)}, which release.json does not list; take it away"
        return Check(promise, Outcome.BROKEN, detail=detail)
    hashes = each(lambda part: sha256_of(place / part.file), facts.parts, thread_count(None))
    changed = [part.file for part, found in zip(facts.parts, hashes, strict=True) if found != part.sha256]
    if changed:
        detail = f"the sha256 of {named(changed)} differs from the one in release.json: it was changed"
        return Check(promise, Outcome.BROKEN, detail=detail)
    return Check(promise, Outcome.HOLDS)


def integrity(path: Path, facts: TableFacts, table: pl.DataFrame) -> Check:
    """Tell whether a file is the one that was written."""
    promise, shape = f"{path.name} is the file that was written", (table.height, table.columns)
    return same_as_written(promise, sha256_of(path), facts, shape)


def same_as_written(promise: str, sha256: str, facts: TableFacts, shape: tuple[int, Sequence[str]]) -> Check:
    """Tell whether a table has the hash that was written; and its shape, the records and the columns."""
    if sha256 != facts.sha256:
        detail = "its sha256 differs from the one in release.json: it was changed"
    elif (shape[0], tuple(shape[1])) != (facts.rows, facts.columns):
        detail = "release.json counts other rows or columns"
    else:
        return Check(promise, Outcome.HOLDS)
    return Check(promise, Outcome.BROKEN, detail=detail)


def has_rows(path: Path) -> bool:
    """Tell whether a file holds any row: a table without records is refused wherever one is read."""
    if path.suffix == ".parquet":
        return int(pl.scan_parquet(path).select(pl.len()).collect().item()) > 0
    with path.open("rb") as file:
        file.readline()
        return bool(file.readline().strip())
