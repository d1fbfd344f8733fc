"""Recounting a generalized table that is never held whole.

What a model says of a class follows from the class and from the totals of the whole table. So totals are counted first;
then records are dealt to files by a hash of their published quasi-identifying values, which puts every class into one
file; and each file is counted by itself, with the totals of all.

Letters: n records, q quasi-identifying columns, c classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.grouping import group_records
from sfumato.classes.statistics import ClassStatistics, class_statistics, joined
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import speak_of
from sfumato.published.checks.generalized import Verification, check
from sfumato.table.columns import ValueReading
from sfumato.table.large.batches import BatchSource
from sfumato.table.large.coding import Coding, LargeTable, coded_table
from sfumato.table.large.mapping import let_go, write_out
from sfumato.table.row_order import content_hash
from sfumato.table.schema import Attribute, Kind, Schema

BUCKET = 1 << 20
"""Records that are counted at a time, about."""
BLOCK = 1 << 18
"""Records that are dealt at a time."""

MOST_VALUES = 1 << 30
"""Bytes that the distinct values of all columns may take."""


def countable_in_parts(models: Sequence[PrivacyModel]) -> bool:
    """Tell whether models judge classes alone: those of single published values compare classes with each other."""
    return not speak_of("values", models)


def verify_parts(
    source: BatchSource,
    quasi_identifying: Sequence[str],
    sensitive: Mapping[str, Attribute],
    models: Sequence[PrivacyModel],
    folder: Path,
) -> Verification:
    """Recount every model as :func:`~sfumato.published.checks.generalized.verify_table` does, in bounded memory.

    Parameters
    ----------
    source
        The published table, every record of it once.
    quasi_identifying, sensitive
        As they are published.
    models
        Those that :func:`countable_in_parts`.
    folder
        An empty one, for files.

    Returns
    -------
    Verification
        The same as that of the whole table, whatever the order of its records and the batches are.

    Notes
    -----
    Three passes over the records. Memory: a batch, the distinct values, one file of about a million records, and the
    counts of all classes, some 20 bytes for each class and pair of class and sensitive value.
    """
    text = Attribute(kind=Kind.CATEGORICAL)
    schema = Schema(quasi_identifying=dict.fromkeys(quasi_identifying, text), sensitive=dict(sensitive), others="drop")
    names = tuple(name for name in source.names if name in schema.roles)
    reading = ValueReading(frozenset([""]), False, source.is_text)
    alike = frozenset(quasi_identifying)
    coding = Coding(schema, names, reading, folder, MOST_VALUES, "name", alike=alike)
    table = coded_table(source, coding)
    statistics = joined(list(_statistics(table, folder)))
    return Verification(tuple(check(model, statistics) for model in models), table.height, statistics.count)


def _statistics(table: LargeTable, folder: Path) -> Iterator[ClassStatistics]:
    encoded, occurrences = table.encoded, [column.occurrences for column in table.sensitive]
    for codes, sensitive_codes in _dealt(table, folder):
        class_of, count = group_records(codes)
        yield class_statistics(class_of, count, sensitive_codes, encoded.sensitive, occurrences)


Codes = NDArray[np.unsignedinteger]


def _dealt(table: LargeTable, folder: Path) -> Iterator[tuple[Codes, Codes]]:
    """Yield the codes of each file of records: those whose hashes begin alike."""
    bits = max(0, (table.height - 1) // BUCKET).bit_length()
    tables = table.codes, table.sensitive_codes
    if not bits:
        yield tables
        return
    for start in range(0, table.height, BLOCK):
        codes, hidden = (each[start : start + BLOCK] for each in tables)
        # Sixteen bits are sorted by counting.
        bucket = (content_hash(codes) >> np.uint64(64 - bits)).astype(np.uint16)
        order = np.argsort(bucket, kind="stable")
        places, firsts = np.unique(bucket[order], return_index=True)
        for place, rows in zip(places.tolist(), np.split(order, firsts[1:]), strict=True):
            for name, own in ("bucket", codes), ("hidden", hidden):
                with (folder / f"{name}-{place}").open("ab") as file:
                    write_out(own[rows], file)
    for each in tables:
        let_go(each)
    for path in sorted(folder.glob("bucket-*")):
        codes = _taken(path, tables[0])
        yield codes, _taken(path.with_name(path.name.replace("bucket", "hidden")), tables[1], len(codes))


def _taken(path: Path, like: Codes, height: int = -1) -> Codes:
    """Read the records of a file, and take it away."""
    codes = np.fromfile(path, dtype=like.dtype).reshape(height, like.shape[1])
    path.unlink()
    return codes
