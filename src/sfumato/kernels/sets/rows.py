"""Sets as compressed rows: row ``i`` holds the items ``starts[i] .. starts[i+1]-1``, rising, each once.

Letters: n records, d items of the domain, z items in all sets.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.jit import inlined, linear
from sfumato.kernels.types import Int32s, Int64s


@linear
def relabelled_rows(starts: Int64s, items: Int32s, label_of: Int32s) -> tuple[Int64s, Int32s]:
    """Write every set with other labels, each label once.

    starts : int64 (n + 1,). items : int32 (z,), not falling inside a row. label_of : int32 (d,), not falling among the
    items that have one; −1 takes an item away. Returns the rows of labels. Cost O(n + z).
    """
    bounds = np.zeros(len(starts), dtype=np.int64)
    labels = np.empty(len(items), dtype=np.int32)
    filled = 0
    for record in range(len(starts) - 1):
        last = -1
        for place in range(starts[record], starts[record + 1]):
            label = label_of[items[place]]
            if label >= 0 and label != last:
                labels[filled] = label
                filled += 1
                last = label
        bounds[record + 1] = filled
    return bounds, labels[:filled].copy()


@linear
def rows_led_by(
    starts: Int64s, items: Int32s, label_of: Int32s, records: Int32s, low: int, high: int
) -> tuple[Int64s, Int32s]:
    """Write the sets of some records with other labels, and number the labels in ``low .. high-1`` first, from 0.

    Labels below `low` come next, those from `high` on keep their numbers. records : int32, rising. Returns rows of
    rising numbers. Cost O(items of these records).
    """
    bounds = np.zeros(len(records) + 1, dtype=np.int64)
    total = 0
    for record in records:
        total += starts[record + 1] - starts[record]
    numbers = np.empty(total, dtype=np.int32)
    filled = 0
    for row, record in enumerate(records):
        for leads in (True, False):
            last = -1
            for place in range(starts[record], starts[record + 1]):
                label = label_of[items[place]]
                if label < 0 or label == last or (low <= label < high) != leads:
                    continue
                last = label
                numbers[filled] = label - low if leads else _moved(label, low, high)
                filled += 1
        bounds[row + 1] = filled
    return bounds, numbers[:filled].copy()


@inlined
def _moved(label: int, low: int, high: int) -> int:
    return label + high - low if label < low else label


@linear
def postings(starts: Int64s, items: Int32s, count: int) -> tuple[Int64s, Int32s]:
    """List the records of every item, rising.

    items : int32 (z,), below `count`. Returns the bounds of the lists, int64 (count + 1,), and the lists, int32 (z,).
    Cost O(n + z + count).
    """
    bounds = np.zeros(count + 1, dtype=np.int64)
    for item in items:
        bounds[item + 1] += 1
    for item in range(count):
        bounds[item + 1] += bounds[item]
    following = bounds[:count].copy()
    records = np.empty(len(items), dtype=np.int32)
    for record in range(len(starts) - 1):
        for place in range(starts[record], starts[record + 1]):
            item = items[place]
            records[following[item]] = record
            following[item] += 1
    return bounds, records
