"""Class statistics of a table of which each distinct row is held once, with how many records it stands for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics, SensitiveCounts, counts_of, number_values
from sfumato.table.encoding import EncodedAttribute


def counted_statistics(
    class_of: NDArray[np.int32],
    count: int,
    records: NDArray[np.int64],
    sensitive_codes: NDArray[np.unsignedinteger],
    sensitive: Sequence[EncodedAttribute],
    occurrences: Sequence[NDArray[np.int64]] | None = None,
) -> ClassStatistics:
    """Return what :func:`~sfumato.classes.statistics.class_statistics` returns where every row is there that often.

    Letters: m rows, c classes, s sensitive attributes.

    Parameters
    ----------
    class_of
        int32 (m,): class of each row, from 0.
    count
        Number of classes c; every one must have a row.
    records
        int64 (m,): how many records each row stands for, at least 1; below 2**53 together.
    sensitive_codes, sensitive, occurrences
        As there, for rows; occurrences count records.

    Notes
    -----
    Cost O(m log m) per sensitive attribute.
    """
    whole = occurrences or occurrences_of(records, sensitive_codes, sensitive)
    columns = zip(sensitive, sensitive_codes.T, whole, strict=True)
    counts = {each.name: _counts(class_of, count, records, codes, each, known) for each, codes, known in columns}
    return ClassStatistics(_summed(class_of, records, count), counts)


def occurrences_of(
    records: NDArray[np.int64], sensitive_codes: NDArray[np.unsignedinteger], sensitive: Sequence[EncodedAttribute]
) -> list[NDArray[np.int64]]:
    """Count how many records have each code of each sensitive attribute; int64 (cardinality,) each."""
    return [_summed(codes, records, each.cardinality) for each, codes in zip(sensitive, sensitive_codes.T, strict=True)]


def _summed(groups: NDArray[np.integer], records: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    # Sums of whole numbers below 2**53 are exact.
    return np.bincount(groups, weights=records, minlength=count).astype(np.int64)


def _counts(
    class_of: NDArray[np.int32],
    count: int,
    records: NDArray[np.int64],
    codes: NDArray[np.unsignedinteger],
    attribute: EncodedAttribute,
    whole: NDArray[np.int64],
) -> SensitiveCounts:
    value_of, code_of = number_values(attribute, whole)
    pairs, pair_of = np.unique(class_of.astype(np.int64) * len(code_of) + value_of[codes], return_inverse=True)
    starts = np.searchsorted(pairs, np.arange(count + 1, dtype=np.int64) * len(code_of))
    values = (pairs % len(code_of)).astype(np.int32)
    return counts_of(
        attribute, code_of, starts.astype(np.int64), values, _summed(pair_of, records, len(pairs)), whole[code_of]
    )
