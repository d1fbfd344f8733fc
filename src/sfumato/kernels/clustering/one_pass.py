"""One-pass k-means: records join the cluster with the nearest centroid, which moves at once.

Letters: n records, m distinct ones, c clusters, q attributes.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.clustering.centroids import Centroids, distance_up_to, shift
from sfumato.kernels.clustering.class_loss import ClassLoss
from sfumato.kernels.clustering.ties import cell, upper_edge
from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.types import Codes, Int32s, Int64s, int64


@kernel
def join_nearest(
    codes: Codes, record_of: Int32s, rows: Int64s, class_of: Int32s, full: int, after: Int64s, before: Int64s,
    loss: ClassLoss, centroids: Centroids,
) -> None:  # fmt: skip
    """Let records join, one after the other, the cluster with the nearest centroid, the first among equally near ones.

    codes : unsigned (m, q); record_of : int32 (n,); rows : int64, who joins, in this order; class_of : int32 (n,),
    changed in place, rows that have a class are passed over; full : clusters of so many records take nobody as long as
    there is another one; after, before : int64 (c + 1,), the clusters that take records, linked, see :func:`linked`.

    Cost O(c q) for each record, most of it cut short: distances are only summed up to the smallest one known.
    """
    last = int64(-1)
    found = int64(-1)
    for row in rows:
        if class_of[row] >= 0:
            continue
        record = int64(record_of[row])
        # A centroid comes nearer to what joins it, so that equal records go the same way while there is room.
        if record != last or before[found] < 0:
            found = _nearest(codes, record, found, after, before, loss, centroids)
        last = record
        class_of[row] = found
        shift(codes, record, found, loss, centroids)
        if centroids.sizes[found] >= full:
            _unlink(found, after, before)
            if after[-1] == len(after) - 1:
                full = int64(2**62)
                relink(after, before)
                last = int64(-1)


@inlined
def _nearest(
    codes: Codes, record: int, guess: int, after: Int64s, before: Int64s, loss: ClassLoss, centroids: Centroids
) -> int:
    end = len(after) - 1
    found = guess if guess >= 0 and before[guess] >= 0 else after[end]
    # A near cluster to begin with leaves little to sum for the others.
    best = cell(distance_up_to(codes, record, found, np.inf, loss, centroids))
    limit = upper_edge(best)
    one = after[end]
    while one != end:
        if best == 0 and one >= found:
            break
        distance = distance_up_to(codes, record, one, limit, loss, centroids)
        if distance < np.inf:
            near = cell(distance)
            if near < best or (near == best and one < found):
                found = one
                best = near
                limit = upper_edge(best)
        one = after[one]
    return found


@inlined
def _unlink(one: int, after: Int64s, before: Int64s) -> None:
    after[before[one]] = after[one]
    before[after[one]] = before[one]
    before[one] = -1


@inlined
def relink(after: Int64s, before: Int64s) -> None:
    """Link all clusters in rising order; the last entry is both ends."""
    count = len(after)
    for one in range(count):
        after[one] = (one + 1) % count  # never 0: the loop runs below it
        before[one] = (one - 1) % count


@kernel
def linked(sizes: Int64s, full: int) -> tuple[Int64s, Int64s]:
    """Link the clusters of fewer than `full` records, or all when there is none; two int64 (c + 1,).

    Each cluster knows the next and the previous one, −1 before those that are left out; the last entry is both ends.
    """
    count = len(sizes)
    after = np.empty(count + 1, np.int64)
    before = np.empty(count + 1, np.int64)
    relink(after, before)
    for one in range(count):
        if sizes[one] >= full:
            _unlink(int64(one), after, before)
    if after[count] == count:
        relink(after, before)
    return after, before


@kernel
def own_distances(codes: Codes, record_of: Int32s, class_of: Int32s, loss: ClassLoss, centroids: Centroids) -> Int64s:
    """Return how far each record is from the centroid of its cluster, in cells as ``ties`` has them.

    record_of, class_of : int32 (n,), no −1; int64 (n,).
    """
    found = np.empty(len(record_of), np.int64)
    for one in range(len(record_of)):
        record = int64(record_of[one])
        found[one] = cell(distance_up_to(codes, record, int64(class_of[one]), np.inf, loss, centroids))
    return found
