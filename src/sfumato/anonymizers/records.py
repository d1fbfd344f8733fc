"""Records in the layout that partitioning kernels move around: codes packed into 64-bit words, weights, row numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.mondrian.ranges import LaidRecords
from sfumato.models.compiled import CompiledRules
from sfumato.table.encoding import EncodedTable
from sfumato.table.row_order import collapsed, hash_order


@dataclass(frozen=True, eq=False, repr=False)
class Records:
    """Distinct records with weights, or all records with weight 1.

    Letters: n original records, m records here, q + s codes each, padded to whole 64-bit words.

    Attributes
    ----------
    codes : numpy.ndarray
        unsigned (m, padded): quasi-identifying codes, then the sensitive ones that a rule looks at, then zeros.
    words : numpy.ndarray
        uint64 (m, u): the same memory.
    weights : numpy.ndarray
        int32 (m,): original records each stands for.
    rows : numpy.ndarray
        int32 (m,): place of each record before it was moved.
    record_of : numpy.ndarray or None
        int32 (n,): the record that stands for each original one; None when each stands for itself.
    """

    codes: NDArray[np.unsignedinteger]
    words: NDArray[np.uint64]
    weights: NDArray[np.int32]
    rows: NDArray[np.int32]
    record_of: NDArray[np.int32] | None

    @property
    def height(self) -> int:
        """Number of records m."""
        return len(self.weights)

    @property
    def laid(self) -> LaidRecords:
        """As kernels move them."""
        return LaidRecords(self.codes, self.words, self.weights, self.rows)

    def spread(self, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
        """Give each original record the number of the one that stands for it, as they stand now; int32 (n,)."""
        before = np.empty(self.height, dtype=np.int32)
        before[self.rows] = numbers
        return before if self.record_of is None else before[self.record_of]


def records_of(
    table: EncodedTable,
    rules: CompiledRules,
    *,
    collapse: bool,
    kept: NDArray[np.bool_] | None = None,
    order: NDArray[np.int64] | None = None,
) -> Records:
    """Lay the table out for a partitioning kernel, in an order that is not that of the table.

    Records are equal when their quasi-identifying codes and all sensitive codes that a rule looks at are. Collapsed
    records stand in the order of the hash of these codes, so that what kernels make of them, and of the first ones of
    them, depends on the set of records alone. All records stand in the order of the hash of their quasi-identifying
    codes, which tells nothing of sensitive ones.

    Parameters
    ----------
    table, rules
        What to lay out.
    collapse
        Whether equal records become one with a weight.
    kept
        bool (n,): records that count; the others get weight 0. None: all count.
    order
        int64 (n,): another order to lay records out in, a random one; not with `collapse`.
    """
    codes = table.codes
    if rules.codes.shape[1]:
        dtype = np.promote_types(codes.dtype, rules.codes.dtype)
        codes = np.concatenate([codes.astype(dtype, copy=False), rules.codes.astype(dtype, copy=False)], axis=1)
    if collapse:
        codes, counts, record_of = collapsed(codes)
        if kept is not None:
            counts = np.bincount(record_of[kept], minlength=len(codes))
        return _laid_out(codes, counts, np.arange(len(codes)), record_of)
    order = hash_order(table.codes) if order is None else order
    weights = np.ones(len(codes), dtype=np.int32) if kept is None else kept[order]
    return _laid_out(codes.take(order, axis=0), weights, order, None)


def _laid_out(
    codes: NDArray[np.unsignedinteger],
    weights: NDArray[np.number | np.bool_],
    rows: NDArray[np.int64],
    record_of: NDArray[np.int32] | None,
) -> Records:
    per_word = 8 // codes.dtype.itemsize
    padded = np.zeros((len(codes), -(-codes.shape[1] // per_word) * per_word), dtype=codes.dtype)
    padded[:, : codes.shape[1]] = codes
    return Records(padded, padded.view(np.uint64), weights.astype(np.int32), rows.astype(np.int32), record_of)
