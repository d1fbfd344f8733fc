"""The distinct records of a table, laid out on disk in the order in which strict Mondrian takes them.

Records are dealt to files by the leading bits of the hash of their codes. Equal records have equal hashes, so that each
file by itself is collapsed and sorted; one behind the other the files are in the order of
:func:`sfumato.anonymizers.layout.lay_out_records`.

Letters: n records, m distinct ones, q quasi-identifying codes and s sensitive ones that a rule looks at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.layout import Records
from sfumato.table.encoding import EncodedTable
from sfumato.table.large.memory import let_go, mapped, write_out
from sfumato.table.row_order import collapsed, content_hash

BLOCK = 1 << 18
"""Records that are dealt at a time."""
BUCKET = 1 << 20
"""Records that are collapsed and sorted at a time, about."""

RuleValues = Sequence[tuple[int, NDArray[np.int32]]]
"""Sensitive attributes that rules look at: the place of each, and the value behind each of its codes."""


@dataclass(frozen=True, eq=False, repr=False)
class LaidOut:
    """Distinct records on disk."""

    records: Records  # mapped from files that may be written over
    record_of: NDArray[np.int32]  # (n,), mapped: the distinct record of each record of the table


def lay_out(table: EncodedTable, values: RuleValues, folder: Path) -> LaidOut:
    """Collapse equal records and put them in order, on disk.

    `table`: codes in memory or mapped from disk, n below 2**31. `values`: what of the sensitive codes tells records
    apart. `folder`: where files are made. Two passes over the records. Memory: a block, then one bucket at a time.
    """
    bits = max(0, (table.height - 1) // BUCKET).bit_length()
    counts = _deal(table, values, folder, bits)
    for codes in (table.codes, table.sensitive_codes):
        let_go(codes)
    record_of = mapped(folder / "record-of", np.int32, (table.height,), new=True)
    height, padded = 0, _padded(_columns(table, values), _dtype(table, values))
    with (folder / "words").open("wb") as words, (folder / "weights").open("wb") as weights:
        for bucket, count in enumerate(counts):
            if not count:
                continue
            own, rows = _bucket(folder, bucket, count, table, values)
            distinct, sizes, place_of = collapsed(own)
            laid = np.zeros((len(distinct), padded), dtype=own.dtype)
            laid[:, : own.shape[1]] = distinct
            write_out(laid, words)
            write_out(sizes.astype(np.int32), weights)
            record_of[rows] = place_of + np.int32(height)
            height += len(distinct)
    return LaidOut(_records(folder, height, padded, _dtype(table, values)), record_of)


def _records(folder: Path, height: int, padded: int, dtype: np.dtype[np.unsignedinteger]) -> Records:
    per_word = 8 // dtype.itemsize
    words = mapped(folder / "words", np.uint64, (height, padded // per_word))
    weights = mapped(folder / "weights", np.int32, (height,))
    rows = mapped(folder / "rows", np.int32, (height,), new=True)
    for start in range(0, height, BLOCK):
        stop = min(height, start + BLOCK)
        rows[start:stop] = np.arange(start, stop, dtype=np.int32)
    return Records(words.view(dtype), words, weights, rows, None)


def _deal(table: EncodedTable, values: RuleValues, folder: Path, bits: int) -> list[int]:
    """Append every record to the file of its bucket, behind its number; return how many each got."""
    counts = np.zeros(1 << bits, dtype=np.int64)
    for start in range(0, table.height, BLOCK):
        codes = _joined(table, values, slice(start, start + BLOCK))
        hashes = content_hash(codes) >> np.uint64(64 - bits) if bits else np.zeros(len(codes), dtype=np.uint64)
        bucket = hashes.astype(np.uint16)  # which is sorted by counting
        order = np.argsort(bucket, kind="stable")
        found = np.bincount(bucket, minlength=len(counts))
        stops = np.cumsum(found)
        for place in np.flatnonzero(found):
            rows = order[stops[place] - found[place] : stops[place]]
            with (folder / f"bucket-{place}").open("ab") as file:
                write_out(codes.take(rows, axis=0), file)
            with (folder / f"bucket-rows-{place}").open("ab") as file:
                write_out((rows + start).astype(np.int32), file)
        counts += found
    return counts.tolist()


def _bucket(
    folder: Path, bucket: int, count: int, table: EncodedTable, values: RuleValues
) -> tuple[NDArray[np.unsignedinteger], NDArray[np.int32]]:
    """Read the codes and numbers of the records of a bucket, and take its files away."""
    paths = folder / f"bucket-{bucket}", folder / f"bucket-rows-{bucket}"
    codes = np.fromfile(paths[0], dtype=_dtype(table, values)).reshape(count, _columns(table, values))
    rows = np.fromfile(paths[1], dtype=np.int32)
    for path in paths:
        path.unlink()
    return codes, rows


def _joined(table: EncodedTable, values: RuleValues, rows: slice) -> NDArray[np.unsignedinteger]:
    """Return quasi-identifying codes, and behind them the values that rules look at."""
    quasi = table.codes[rows]
    codes = np.empty((len(quasi), _columns(table, values)), dtype=_dtype(table, values))
    codes[:, : quasi.shape[1]] = quasi
    for column, (place, value_of) in enumerate(values):
        codes[:, quasi.shape[1] + column] = value_of[table.sensitive_codes[rows, place]]
    return codes


def _columns(table: EncodedTable, values: RuleValues) -> int:
    return int(table.codes.shape[1]) + len(values)


def _dtype(table: EncodedTable, values: RuleValues) -> np.dtype[Any]:
    largest = max((int(value_of.max(initial=0)) for _, value_of in values), default=0)
    return np.promote_types(table.codes.dtype, np.min_scalar_type(largest))


def _padded(columns: int, dtype: np.dtype[np.unsignedinteger]) -> int:
    per_word = 8 // int(dtype.itemsize)
    return -(-columns // per_word) * per_word
