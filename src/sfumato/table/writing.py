"""Writing frames as CSV, Parquet, or for Excel, SPSS and Stata, and reading back what another program would change."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, SfumatoError, said_of, system_reason
from sfumato.kernels.csv_lines import join_labels
from sfumato.table.distinct import distinct_of
from sfumato.table.schema import Kind, text_of
from sfumato.table.sources import open_source
from sfumato.table.sources.protocol import CsvFormat, whole_where_whole


def check_read_back(frame: pl.DataFrame, path: Path) -> None:
    """Compare a frame with the file that was made of it, value by value; a missing text is an empty one.

    Raises ``InputError``: naming the columns that the format cannot hold as they are. Cost: one reading of the file.
    """
    try:
        source = open_source(path, CsvFormat(strip=False))
        columns = {
            column.name: column for column in source.read([name for name in frame.columns if name in source.names])
        }
    except SfumatoError as error:
        raise InputError(*(f"cannot be written in this format: {problem}" for problem in error.problems)) from None
    changed = [
        repr(column.name)
        for column in frame
        if column.name not in columns or not _is_same(column, columns[column.name])
    ]
    if changed:
        raise InputError(
            f"column(s) {', '.join(changed)} would be changed by this format, which cannot hold their names or values "
            "as they are; write csv or parquet"
        )


def _is_same(written: pl.Series, read: pl.Series) -> bool:
    if len(written) != len(read):
        return False
    if written.dtype.is_numeric() and read.dtype.is_numeric():
        return bool(written.cast(pl.Float64).eq_missing(read.cast(pl.Float64)).all())
    if written.dtype == pl.Date and isinstance(read.dtype, pl.Datetime):
        return bool(written.eq_missing(read.cast(pl.Date)).all())
    if written.dtype == pl.Object:
        cells = [None if cell is None else text_of(pl.Series([cell])).item() for cell in written.to_list()]
        written = pl.Series(cells, dtype=pl.String)
    texts = written.cast(pl.String).fill_null(""), text_of(read).fill_null("")
    return bool((texts[0] == texts[1]).all())


# The lines of a CSV file whose cells all come from lists of labels: each label is prepared once, then copied.


_SPECIAL = r"""[",\r\n]"""
"""Characters that a cell may hold only inside quotes."""

_WORD = 8
_BLOCK = 1 << 14
"""Records whose lines are made at a time, at most."""

_WIDEST = 1 << 20
"""Widest range of whole numbers in a column of which each becomes a label."""

_BLOCK_BYTES = 1 << 26
"""Room for the lines of one block, unless a single line is longer."""


@dataclass(frozen=True, eq=False, repr=False)
class LabelLines:
    """Cells of n records and q columns as numbers of v prepared texts; z words hold them."""

    numbers: tuple[NDArray[np.integer], ...]  # integers (n,) for each column, counted inside the column
    offsets: tuple[int, ...]  # number of the first text of each column
    places: NDArray[np.uint32]  # (v, 2): first word and bytes of each text, separator or line end included
    words: NDArray[np.uint64]  # (z,): the texts in UTF-8, each filled up to a whole word
    block: int  # records whose lines are made at a time
    room: int  # words that are enough for the lines of one block

    def blocks(self, threads: int) -> Iterator[memoryview]:
        """Make all lines, in order, block by block, up to `threads` blocks ahead."""
        starts = iter(range(0, len(self.numbers[0]), self.block))
        with ThreadPoolExecutor(threads, thread_name_prefix="sfumato") as pool:
            ahead: deque[Future[memoryview]] = deque(
                pool.submit(self._lines, start) for start in islice(starts, threads + 1)
            )
            while ahead:
                lines = ahead.popleft().result()
                ahead.extend(pool.submit(self._lines, start) for start in islice(starts, 1))
                yield lines

    def _lines(self, start: int) -> memoryview:
        columns = [numbers[start : start + self.block] for numbers in self.numbers]
        label_of = np.empty((len(columns), len(columns[0])), dtype=np.int64)
        for row, column, offset in zip(label_of, columns, self.offsets, strict=True):
            np.add(column, np.int64(offset), out=row, dtype=np.int64)
        lines = np.empty(self.room, dtype=np.uint64)
        size = join_labels(label_of, self.places, self.words, lines)
        # Words are texts read in little-endian order, whatever the machine's own is.
        return lines.astype("<u8", copy=False).view(np.uint8).data[:size]


def label_lines(frame: pl.DataFrame) -> LabelLines | None:
    """Prepare the lines of a frame; None when a column may have too many values for that.

    Enum, Boolean, Date and whole numbers have few, unless the numbers are spread widely. Missing values become empty
    cells, the empty text `""`; in a frame of one column both become `""`, since an empty line would be no record to
    most readers. Cost O(length of the labels), and O(n) for each column that is not an Enum; making the lines costs
    O(bytes) and memory for a few blocks.
    """
    columns = []
    for column in frame:
        if (numbered := _numbered(column)) is None:
            return None
        columns.append(numbered)
    if not columns:
        return None
    missing = '""' if frame.width == 1 else ""
    ends = [","] * (frame.width - 1) + ["\n"]
    texts = [_cells(labels, missing, end) for (labels, _), end in zip(columns, ends, strict=True)]
    sizes = [column.str.len_bytes().to_numpy().astype(np.int64) for column in texts]
    longest = sum(int(column.max()) for column in sizes)
    offsets = np.cumsum([0, *map(len, texts)])
    size = np.concatenate(sizes)
    length = -(-size // _WORD)
    if max(int(length.sum()), longest) >= 1 << 32:
        return None
    block = min(_BLOCK, max(1, _BLOCK_BYTES // longest))
    return LabelLines(
        tuple(numbers for _, numbers in columns),
        tuple(int(offset) for offset in offsets[:-1]),
        np.column_stack([np.cumsum(length) - length, size]).astype(np.uint32),
        _words(texts),
        block,
        block * longest // _WORD + 2,
    )


def _numbered(column: pl.Series) -> tuple[pl.Series, NDArray[np.integer]] | None:
    """Return the labels of a column, and the number of each cell's; the missing value's is one past the last."""
    dtype = column.dtype  # asked for once: a type that lists many labels is slow to make
    if isinstance(dtype, pl.Enum):
        labels, numbers = dtype.categories, column.to_physical()
        return labels, (numbers.cast(pl.UInt32).fill_null(len(labels)) if numbers.has_nulls() else numbers).to_numpy()
    if dtype == pl.Boolean or ((dtype.is_integer() or dtype == pl.Date) and _is_narrow(column.to_physical())):
        distinct = distinct_of(column)
        return distinct.values.cast(pl.String), distinct.rank_of[distinct.raw]
    return None


def _is_narrow(numbers: pl.Series) -> bool:
    low, high = numbers.min(), numbers.max()
    return low is None or int(high) - int(low) < _WIDEST  # type: ignore[arg-type]


def _cells(labels: pl.Series, missing: str, end: str) -> pl.Series:
    """Return each label as it stands in the file, with what follows it; the missing value comes last."""
    label = pl.col("label")
    is_bare = label.str.contains(_SPECIAL).not_() & (label != "")
    quoted = pl.concat_str(pl.lit('"'), label.str.replace_all('"', '""', literal=True), pl.lit('"'))
    cells = pl.DataFrame({"label": labels}).select(pl.when(is_bare).then(label).otherwise(quoted))
    return pl.concat([cells.to_series(), pl.Series("label", [missing])]) + end


def _words(texts: Sequence[pl.Series]) -> NDArray[np.uint64]:
    text = pl.col("label")
    padding = pl.lit("\0" * _WORD).str.head((_WORD - text.str.len_bytes() % _WORD) % _WORD)
    filled = pl.concat(texts).to_frame().select(pl.concat_str(text, padding))
    joined: str = filled.to_series().str.join("").item()
    return np.frombuffer(joined.encode(), dtype="<u8").astype(np.uint64, copy=False)


Codes = Mapping[str, Mapping[str, int]]
"""For columns, the code of each label."""

Format = Literal["csv", "parquet", "xlsx", "sav", "dta"]

FORMATS = get_args(Format)
NO_FORMAT = f"format must be one of {', '.join(FORMATS)}"
PLAIN = FORMATS[:2]
"""Those that hold everything, and in which ratings, series and releases of large tables are written."""

MANY = 50_000
"""From this many records on, preparing every label pays."""


def write_data(frame: pl.DataFrame, path: Path, format: Format, codes: Codes = MappingProxyType({})) -> str:
    """Write a frame; missing values become empty cells, or the missing value of the format.

    `frame`: any frame of plain values; the empty text is quoted in CSV, so that it differs from a missing value.
    `path`: written over where it exists. `format`: ``"csv"`` (UTF-8, comma, header), ``"parquet"``, ``"xlsx"``,
    ``"sav"`` (SPSS) or ``"dta"`` (Stata). The last three are read back, and must hold every value. `codes`: for SPSS
    and Stata: codes of labels, by column, which are used where they suffice. Returns: the sha256 of the file, in
    hexadecimal. Raises ``InputError`` when the format is unknown or cannot hold the frame, or the file cannot be
    written (a full disk, a missing folder, permissions).
    """
    if format not in FORMATS:
        raise InputError(NO_FORMAT)
    try:
        if format == "parquet":
            _portable(frame).write_parquet(path)
        elif format != "csv":
            _write_foreign(frame, path, format, codes)
        elif frame.height >= MANY and (lines := label_lines(frame)):
            return _write_lines(lines, _header(frame), path)
        else:
            # An empty line would be no record to most readers, so a lone missing value is written as empty text.
            frame.write_csv(path, null_value='""' if frame.width == 1 else "")
        return sha256_of(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = f" ({found})" if (found := system_reason(error)) else ""
        raise InputError(
            f"{path.name}: the file cannot be written{reason}; check the folder, the disk and permissions"
        ) from None


def _write_foreign(frame: pl.DataFrame, path: Path, format: Format, codes: Codes) -> None:
    from sfumato.table.sources.statistical import PROGRAMS, write_labelled
    from sfumato.table.workbooks import write_workbook

    # Here, where the reason of the system is known, and not in a library.
    path.write_bytes(b"")
    try:
        if format == "xlsx":
            write_workbook(frame, path)
        else:
            write_labelled(frame, path, PROGRAMS[format], codes)
        check_read_back(frame, path)
    except SfumatoError as error:
        raise said_of(path.name, error) from None


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_lines(lines: LabelLines, header: bytes, path: Path) -> str:
    """Write the lines and hash them, while the next ones are made."""
    digest = hashlib.sha256(header)
    with path.open("wb") as file:
        file.write(header)
        for block in lines.blocks(pl.thread_pool_size()):
            file.write(block)
            digest.update(block)
    return digest.hexdigest()


def _header(frame: pl.DataFrame) -> bytes:
    return frame.clear().write_csv().encode()


def _portable(frame: pl.DataFrame) -> pl.DataFrame:
    # Categories carry the name of their private register into the file; text does not, and packs as well.
    return frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))


def single_numbers(labels: pl.Series, kind: Kind) -> pl.Series | None:
    """Return labels as numbers or dates; None where one is none, or there is nothing but missing values.

    A number counts where it is written back as the same text, so that a recipient recounts the same labels.
    """
    is_date = kind is Kind.DATE
    values = labels.str.to_date("%Y-%m-%d", strict=False) if is_date else labels.cast(pl.Float64, strict=False)
    if labels.is_null().all() or not text_of(values).eq_missing(labels).all():
        return None
    return values if is_date else whole_where_whole(values)
