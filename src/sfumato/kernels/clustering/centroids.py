"""Centroids of clusters that take records in, and the distance of records to them.

Letters: n records, c clusters, m distinct records, q attributes, M codes of all attributes together.

The centroid of numbers is the mean of those that are present, that of plain categories the most frequent one, the first
in order among equally frequent ones. Under a hierarchy it is the common ancestor, or else the most frequent value too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.clustering.class_loss import ClassLoss, range_loss
from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.space import NUMERIC, TREE
from sfumato.kernels.types import Codes, Floats, Int32s, Int64s, int64


class Centroids(NamedTuple):
    """Clusters as far as distances to them need to know; changed in place.

    Attributes
    ----------
    sizes : numpy.ndarray
        int64 (c,).
    low, high : numpy.ndarray
        int32 (c, q): the range of codes whose common ancestor is the centroid; twice the most frequent code where that
        is the centroid.
    means : numpy.ndarray
        float64 (c, q): mean place of the numbers, infinite while all are missing.
    sums : numpy.ndarray
        float64 (c, q): sum of their places.
    present : numpy.ndarray
        int64 (c, q): how many they are; elsewhere how frequent the most frequent code is.
    modes : bool
        Whether the centroid under a hierarchy is the most frequent value.
    keys, counts : numpy.ndarray
        int64, a power of two long: how often codes occur in clusters, hashed; the key is ``cluster · M + code``, −1
        where there is none.
    """

    sizes: Int64s
    low: Int32s
    high: Int32s
    means: Floats
    sums: Floats
    present: Int64s
    modes: bool
    keys: Int64s
    counts: Int64s


@kernel
def centroids_of(
    codes: Codes, record_of: Int32s, class_of: Int32s, count: int, modes: bool, loss: ClassLoss
) -> Centroids:
    """Return the centroids of `count` clusters, none of them empty.

    codes : unsigned (m, q); record_of, class_of : int32 (n,), −1 for records without a cluster: there is room for all.
    """
    width = len(loss.kinds)
    counted = 0
    for attribute in range(width):
        if _by_mode(attribute, modes, loss):
            counted += len(record_of)
    room = 2
    while room < 2 * counted:
        room *= 2
    centroids = Centroids(
        np.zeros(count, np.int64), np.zeros((count, width), np.int32), np.zeros((count, width), np.int32),
        np.full((count, width), np.inf), np.zeros((count, width)), np.zeros((count, width), np.int64), modes,
        np.full(room, -1, np.int64), np.zeros(room, np.int64),
    )  # fmt: skip
    for one in range(len(record_of)):
        if class_of[one] >= 0:
            shift(codes, int64(record_of[one]), int64(class_of[one]), loss, centroids)
    return centroids


@inlined
def _by_mode(attribute: int, modes: bool, loss: ClassLoss) -> bool:
    return bool(loss.kinds[attribute] != NUMERIC and (modes or loss.kinds[attribute] != TREE))


@inlined
def shift(codes: Codes, record: int, cluster: int, loss: ClassLoss, centroids: Centroids) -> None:
    """Add a record to a cluster, whose centroid moves."""
    for attribute in range(len(loss.kinds)):
        code = int64(codes[record, attribute])
        if loss.kinds[attribute] == NUMERIC:
            place = loss.places[loss.offsets[attribute] + code]
            if place < np.inf:
                centroids.sums[cluster, attribute] += place
                centroids.present[cluster, attribute] += 1
                mean = centroids.sums[cluster, attribute] / centroids.present[cluster, attribute]
                centroids.means[cluster, attribute] = mean
        elif _by_mode(attribute, centroids.modes, loss):
            _shift_mode(cluster, attribute, code, loss, centroids)
        elif centroids.sizes[cluster] == 0:
            centroids.low[cluster, attribute] = code
            centroids.high[cluster, attribute] = code
        else:
            centroids.low[cluster, attribute] = min(int64(centroids.low[cluster, attribute]), code)
            centroids.high[cluster, attribute] = max(int64(centroids.high[cluster, attribute]), code)
    centroids.sizes[cluster] += 1


@inlined
def _shift_mode(cluster: int, attribute: int, code: int, loss: ClassLoss, centroids: Centroids) -> None:
    times = _count_up(int(cluster * loss.offsets[-1] + loss.offsets[attribute] + code), centroids)
    most = centroids.present[cluster, attribute]
    if times > most or (times == most and code < centroids.low[cluster, attribute]):
        centroids.low[cluster, attribute] = code
        centroids.high[cluster, attribute] = code
        centroids.present[cluster, attribute] = times


@inlined
def _count_up(key: int, centroids: Centroids) -> int:
    mask = len(centroids.keys) - 1
    # Products stay far below 2**63, so that this runs as plain Python, too.
    mixed = (key ^ (key >> 13)) * 40503
    place = (mixed ^ (mixed >> 17)) & mask
    while centroids.keys[place] != key and centroids.keys[place] != -1:
        place = (place + 1) & mask
    centroids.keys[place] = key
    centroids.counts[place] += 1
    return int(centroids.counts[place])


@inlined
def distance_up_to(
    codes: Codes, record: int, cluster: int, limit: float, loss: ClassLoss, centroids: Centroids
) -> float:
    """Distance of a record to a centroid; infinite when it is seen to exceed `limit`."""
    total = 0.0
    for attribute in range(len(loss.kinds)):
        code = int64(codes[record, attribute])
        if loss.kinds[attribute] == NUMERIC:
            place = loss.places[loss.offsets[attribute] + code]
            mean = centroids.means[cluster, attribute]
            # Both are infinite where everything is missing.
            if place != mean:
                total += min(abs(place - mean), loss.tops[attribute])
        else:
            low = int64(centroids.low[cluster, attribute])
            high = int64(centroids.high[cluster, attribute])
            total += range_loss(attribute, min(low, code), max(high, code), loss)
        if total > limit:
            return np.inf
    return total
