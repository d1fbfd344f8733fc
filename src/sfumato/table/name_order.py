"""Labels of records, such as items and rated issues, numbered by their names and not as they came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.ratings.rows import rows_of


class NameOrder(NamedTuple):
    """Compressed rows of labels, numbered by name. Letters: n records, m labels, z entries of all records.

    order : int64 (m,), the number that each label had. labels : int32 (z,), rising inside a record. places : int64
    (z,), where each entry stood. A record has as many entries as before.
    """

    order: NDArray[np.int64]
    labels: NDArray[np.int32]
    places: NDArray[np.int64]


def in_name_order(starts: NDArray[np.int64], labels: NDArray[np.int32], names: Sequence[str]) -> NameOrder:
    """Give labels numbers in the order of their names. Cost O(m log m + z).

    starts : int64 (n + 1,). labels : int32 (z,), each once in a record. names : of length m, each once.
    """
    order = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)
    number_of = np.empty(len(order), dtype=np.int32)
    number_of[order] = np.arange(len(order))
    records = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
    _, places = rows_of(records, number_of[labels], len(starts) - 1, len(order))
    return NameOrder(order, number_of[labels[places]], places)
