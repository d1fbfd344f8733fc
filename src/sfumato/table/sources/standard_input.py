"""Standard input, which ``-`` stands for, as on the command lines of other programs."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from sfumato.errors import InputError, raise_all
from sfumato.table.header import Header, repeated
from sfumato.table.sources.protocol import Family, Given
from sfumato.table.sources.text_files import CsvSource, csv_source

# Anything that streams Arrow: relations of DuckDB, readers of ADBC and pyarrow, and whatever comes after them.


_FRAMES = ("polars", "pandas", "modin", "cudf", "narwhals")
"""Libraries whose frames have a family of their own."""


@dataclass(frozen=True, eq=False, repr=False)
class StreamSource:
    """A stream of record batches, which may be read only once."""

    reader: Any
    names: tuple[str, ...]

    is_text = False
    """Values have types of their own."""

    def read(self, names: Sequence[str]) -> list[pl.Series]:
        """Take columns out of the stream by batches; InputError when it breaks off, or a type cannot be read."""
        import pyarrow as pa

        schema = self.reader.schema
        strange = [name for name in names if _is_strange(schema.field(name).type)]
        raise_all(InputError, [f"column {name!r} holds spans of time; convert it to numbers" for name in strange])
        try:
            batches = [batch.select(list(names)) for batch in self.reader]
        except Exception:
            # Whatever produces the stream raises here, and its message may show values.
            raise InputError("the stream broke off with an error of its source; run its query by itself") from None
        table = pa.Table.from_batches(batches, pa.schema([schema.field(name) for name in names]))
        return [pl.Series(name, pl.from_arrow(table.column(place))) for place, name in enumerate(names)]


def _is_strange(dtype: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_interval(dtype) or pa.types.is_union(dtype) or pa.types.is_run_end_encoded(dtype))


def stream_source(stream: Any) -> StreamSource:
    """Open a stream and read the names of its columns; ``InputError`` when it is no table, or names repeat."""
    import pyarrow as pa

    try:
        reader = pa.RecordBatchReader.from_stream(stream)
    except Exception:
        raise InputError("this streams no table; give what streams records, such as the relation of a query") from None
    names = tuple(reader.schema.names)
    if several := repeated(names):
        listed = Header(names, frozenset(names)).listed([i for i, name in enumerate(names) if name in several])
        raise InputError(f"several columns have the same name: {listed}; rename them")
    return StreamSource(reader, names)


def _streams(given: Given) -> bool:
    if given.path is not None or not hasattr(given.value, "__arrow_c_stream__"):
        return False
    kind = type(given.value)
    is_table = kind.__module__.startswith("pyarrow") and kind.__name__ in ("Table", "RecordBatch")
    return kind.__module__.partition(".")[0] not in _FRAMES and not is_table


UNREADABLE = Family(recognizes=_streams, open=lambda given: stream_source(given.value))


DASH = Path("-")
LABEL = "standard input"
_BLOCK = 1 << 20
_NO_TEXT = (b"PAR1", b"PK\x03\x04")
"""How Parquet files and workbooks begin."""


def _open(given: Given) -> CsvSource:
    """Read all of it: text, plain or packed by gzip, laid out as files are."""
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        raise InputError("nothing is there; send a table, as in: sfumato anonymize - ... < patients.csv")
    content = _all_of(sys.stdin.buffer)
    if content.startswith(_NO_TEXT):
        raise InputError("holds a Parquet file or a workbook; save it, and give its path")
    return csv_source(content, given.layout)


def _all_of(stream: BinaryIO) -> bytes:
    """Read to the end, waiting so that an interruption ends the waiting.

    Libraries may have asked the system to go on with a read that a signal interrupted; it never goes on with a select.
    """
    try:
        number = stream.fileno()
    except (OSError, ValueError):  # no file of the system, as in a test
        return stream.read()
    if os.name == "nt":  # selects sockets alone
        return stream.read()
    blocks = []
    while select.select([number], [], []) and (block := os.read(number, _BLOCK)):
        blocks.append(block)
    return b"".join(blocks)


FAMILY = Family(recognizes=lambda given: given.path == DASH, open=_open)
