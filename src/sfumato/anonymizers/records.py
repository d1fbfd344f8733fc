"""Records in the layout that partitioning kernels move around: codes packed into 64-bit words, weights, row numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.grouping import distinct_records, group_records
from sfumato.models.compiled import CompiledRules
from sfumato.table.encoding import EncodedTable

SAMPLE = 65_536
WORTHWHILE = 0.5


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


def records_of(
    table: EncodedTable,
    rules: CompiledRules,
    *,
    collapse: bool,
    kept: NDArray[np.bool_] | None = None,
    order: NDArray[np.int64] | None = None,
) -> Records:
    """Lay the table out for a partitioning kernel, collapsing equal records where that pays.

    Records are equal when their quasi-identifying codes and all sensitive codes that a rule looks at are. Collapsing
    pays when a sample of the table has at most half as many distinct records as records.

    Parameters
    ----------
    table, rules
        What to lay out.
    collapse
        Whether equal records may become one with a weight.
    kept
        bool (n,): records that count; the others get weight 0. None: all count.
    order
        int64 (n,): the order to lay records out in, for algorithms whose result depends on it; not with `collapse`.
    """
    codes = table.codes
    if rules.codes.shape[1]:
        dtype = np.promote_types(codes.dtype, rules.codes.dtype)
        codes = np.concatenate([codes.astype(dtype, copy=False), rules.codes.astype(dtype, copy=False)], axis=1)
    weights = np.ones(len(codes), dtype=np.int32)
    record_of = None
    if collapse and _collapsing_pays(codes):
        codes, counts, record_of = distinct_records(codes)
        if kept is not None:
            counts = np.bincount(record_of, weights=kept, minlength=len(codes))
        weights = counts.astype(np.int32)
    elif kept is not None:
        weights = kept.astype(np.int32)
    rows = np.arange(len(codes), dtype=np.int32)
    if order is not None:
        codes, weights, rows = codes[order], weights[order], order.astype(np.int32)
    per_word = 8 // codes.dtype.itemsize
    padded = np.zeros((len(codes), -(-codes.shape[1] // per_word) * per_word), dtype=codes.dtype)
    padded[:, : codes.shape[1]] = codes
    return Records(padded, padded.view(np.uint64), weights, rows, record_of)


def _collapsing_pays(codes: NDArray[np.unsignedinteger]) -> bool:
    sample = codes[:: max(1, len(codes) // SAMPLE)]
    return group_records(np.ascontiguousarray(sample))[1] <= WORTHWHILE * len(sample)
