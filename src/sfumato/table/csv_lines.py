"""The lines of a CSV file whose cells all come from lists of labels: each label is prepared once, then copied."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.kernels.csv_lines import join_labels
from sfumato.table.distinct import distinct_of

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
    """Cells of a frame as numbers of prepared texts.

    Letters: n records, q columns, v texts of all columns together, z words that hold them.

    Attributes
    ----------
    numbers : tuple of numpy.ndarray
        Integers (n,) for each column, counted inside the column.
    offsets : tuple of int
        Number of the first text of each column.
    places : numpy.ndarray
        uint32 (v, 2): first word and bytes of each text, separator or line end included.
    words : numpy.ndarray
        uint64 (z,): the texts in UTF-8, each filled up to a whole word.
    block : int
        Records whose lines are made at a time.
    room : int
        Words that are enough for the lines of one block.
    """

    numbers: tuple[NDArray[np.integer], ...]
    offsets: tuple[int, ...]
    places: NDArray[np.uint32]
    words: NDArray[np.uint64]
    block: int
    room: int

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

    Enum, Boolean, Date and whole numbers have few, unless the numbers are spread widely.

    Missing values become empty cells, the empty text `""`; in a frame of one column both become `""`, since an empty
    line would be no record to most readers.

    Notes
    -----
    Cost O(length of the labels), and O(n) for each column that is not an Enum; making the lines costs O(bytes) and
    memory for a few blocks.
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
