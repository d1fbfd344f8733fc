"""In how many records items, or nodes above them, stand together: lists of records, intersected."""

from __future__ import annotations

import numpy as np

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.types import Int32s, Int64s


@kernel
def common_records(nodes: Int64s, bounds: Int64s, records: Int32s, most: int) -> int:
    """Count the records that hold all of some nodes, up to `most`.

    nodes : int64, at least one. bounds, records : lists of rising records of every node, as
    :func:`~sfumato.kernels.sets.rows.postings` makes them. Cost O(shortest list × log of the others), less where `most`
    is reached.
    """
    shortest = nodes[0]
    for node in nodes:
        if bounds[node + 1] - bounds[node] < bounds[shortest + 1] - bounds[shortest]:
            shortest = node
    found = 0
    for place in range(bounds[shortest], bounds[shortest + 1]):
        is_common = True
        for node in nodes:
            if node != shortest and not _holds(records, bounds[node], bounds[node + 1], records[place]):
                is_common = False
                break
        if is_common:
            found += 1
            if found >= most:
                break
    return found


@inlined
def _holds(records: Int32s, low: int, high: int, record: int) -> bool:
    end = high
    while low < high:
        middle = (low + high) // 2
        if records[middle] < record:
            low = middle + 1
        else:
            high = middle
    return low < end and records[low] == record


@kernel
def still_rare(combinations: Int32s, first: int, node_of: Int64s, bounds: Int64s, records: Int32s, k: int) -> int:
    """Find a combination, from `first` on, whose items are still rare together as they are generalized by now.

    combinations : int32 (c, size), of items. node_of : int64 (d,), the node that each item is generalized to, −1 where
    it is left out. One whose items have met in fewer nodes than there are items, or of which one is left out, is not
    rare: smaller combinations have been dealt with. Returns
    its place, c where there is none.
    """
    size = combinations.shape[1]
    nodes = np.empty(size, dtype=np.int64)
    for place in range(first, len(combinations)):
        is_smaller = False
        for part in range(size):
            nodes[part] = node_of[combinations[place, part]]
            is_smaller = is_smaller or nodes[part] < 0
            for other in range(part):
                is_smaller = is_smaller or nodes[other] == nodes[part]
        if not is_smaller and common_records(nodes, bounds, records, k) < k:
            return place
    return len(combinations)


@kernel
def support_of_known(starts: Int64s, nodes: Int64s, bounds: Int64s, records: Int32s) -> Int64s:
    """Count the records that hold what is known of each person; all records where nothing is.

    starts : int64 (people + 1,), rows of `nodes`. Returns int64 (people,), −1 where nothing is known.
    """
    found = np.full(len(starts) - 1, -1, dtype=np.int64)
    for person in range(len(starts) - 1):
        if starts[person + 1] > starts[person]:
            known = nodes[starts[person] : starts[person + 1]]
            found[person] = common_records(known, bounds, records, len(records) + 1)
    return found
