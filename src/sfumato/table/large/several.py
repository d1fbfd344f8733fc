"""Several files of one table as batches: the same columns, types and order as when they are read whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from sfumato.table.large.batches import NO_TYPES, BatchSource, ScannedBatches, batch_source
from sfumato.table.sources import TableSource
from sfumato.table.sources.folders import Part, SeveralFiles, joined_column, named_part, typed_by_name


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
