"""Greedy clusterings: k-member, and one-pass k-means.

Greedy k-member clustering: one class after the other takes the records that cost it least.

Letters: m distinct records in tree order, q attributes, s sensitive attributes that some rule looks at, v values of all
those together, e shares: a share is a number of equal records that go to one class.

One-pass k-means: records join the cluster with the nearest centroid, which moves at once.

Letters: n records, m distinct ones, c clusters, q attributes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sfumato.kernels.clustering.class_members import ClassLoss, cell, range_loss, upper_edge
from sfumato.kernels.clustering.record_tree import (
    NONE,
    RecordTree,
    count_alive,
    furthest,
    nearest,
    new_grown,
    start_with,
    take_in,
    use_up,
)
from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.predicates import RuleArrays, holds
from sfumato.kernels.types import NUMERIC, TREE, Codes, Flags, Floats, Int32s, Int64s, int64


@kernel
def grow_classes(
    codes: Codes, values: Codes, weights: Int64s, seeds: Int64s, first: int, k: int, ruled: bool, tree: RecordTree,
    loss: ClassLoss, rules: RuleArrays,
) -> Any:  # fmt: skip
    """Grow classes of k records, or more where the rules ask for more, until no class can be completed.

    codes : unsigned (m, q); values : unsigned (m, s); weights : int64 (m,); seeds : int64 (m,), records in the order in
    which they start classes, or empty: then each class starts with the record furthest from the one taken last, the
    first with `first`; ruled : whether rules look at more than sizes. Records equal to the one just taken come first,
    then the nearest, the first in tree order among equals. Once a class is large enough, only records with values that
    it has too little of are taken.

    Returns int64 (e, 3): record, class and number of records of each share; how many classes there are; int64 (m,):
    what is left. A share takes at least one record that is left, so that e is at most their number; without rules it
    uses up its record or completes a class. A search that finds nobody ends the run, with its class given back.
    Ends: each round completes a class, or is the last; within one, each takes a record. Capacity: `shares` has e
    rows, or more.
    """
    left = weights.copy()
    alive = count_alive(left, tree)
    # never 0: k is 1 or more
    shares = np.empty((weights.sum() if ruled else 2 * len(left) + weights.sum() // k + 1, 3), np.int64)
    counts = np.zeros(len(rules.totals), np.int64)
    scratch = np.empty(rules.scratch_size)
    is_scarce = np.zeros(len(left) if ruled else 0, np.bool_)
    grown = new_grown(loss)
    stack = np.empty(len(tree.starts) + 2, np.int64)
    bounds = np.empty(len(tree.starts) + 2)
    total = weights.sum()
    entries = 0
    classes = 0
    place = 0
    last = first
    while total >= k:
        if len(seeds) > 0:
            while place < len(seeds) and left[seeds[place]] == 0:
                place += 1
            if place == len(seeds):
                break
            record = seeds[place]
        else:
            start_with(codes, last, loss, grown)
            record = furthest(codes, left, alive, tree, loss, grown, stack, bounds)
            if record == NONE:
                break
        start_with(codes, record, loss, grown)
        size = 0
        begun = entries
        counts[:] = 0
        while record != NONE:
            # One by one where the next record depends on the values of those before it.
            taken = min(left[record], k - size) if size < k else 1
            take_in(codes, record, loss, grown)
            use_up(record, taken, left, alive, tree)
            shares[entries, 0] = record
            shares[entries, 1] = classes
            shares[entries, 2] = taken
            entries += 1
            size += taken
            total -= taken
            last = record
            if ruled:
                _count(values, record, taken, rules, counts)
            if size < k:
                if left[record] == 0:
                    record, _ = nearest(codes, left, alive, is_scarce[:0], tree, loss, grown, stack, bounds)
                continue
            if not ruled or holds(size, counts, rules, scratch):
                break
            if not _mark_scarce(values, left, size, rules, counts, is_scarce):
                break
            record, _ = nearest(codes, left, alive, is_scarce, tree, loss, grown, stack, bounds)
        if size < k or (ruled and not holds(size, counts, rules, scratch)):
            # Nothing that is left completes it: whatever starts later would fail as well, or take the same records.
            for share in range(begun, entries):
                left[shares[share, 0]] += shares[share, 2]
            entries = begun
            break
        classes += 1
    return shares[:entries].copy(), classes, left


@inlined
def _count(values: Codes, record: int, taken: int, rules: RuleArrays, counts: Int64s) -> None:
    for column in range(len(rules.offsets) - 1):
        counts[rules.offsets[column] + int64(values[record, column])] += taken


@inlined
def _mark_scarce(values: Codes, left: Int64s, size: int, rules: RuleArrays, counts: Int64s, is_scarce: Flags) -> bool:
    """Mark the records that are left and have a value of which the class has less than the whole table."""
    some = False
    for record in range(len(left)):
        is_scarce[record] = False
        if left[record] > 0:
            for column in range(len(rules.offsets) - 1):
                place = rules.offsets[column] + int64(values[record, column])
                if counts[place] * rules.total < rules.totals[place] * size:
                    is_scarce[record] = True
                    some = True
                    break
    return some


# Centroids of clusters that take records in, and the distance of records to them.
#
# Letters: n records, c clusters, m distinct records, q attributes, M codes of all attributes together.
#
# The centroid of numbers is the mean of those that are present, that of plain categories the most frequent one, the
# first in order among equally frequent ones. Under a hierarchy it is the common ancestor, or else the most frequent
# value too.


class Centroids(NamedTuple):
    """Clusters as far as distances to them need to know; changed in place."""

    sizes: Int64s  # (c,)
    # `low`, `high`: (c, q): the range of codes whose common ancestor is the centroid; twice the most frequent code
    # where that is the centroid
    low: Int32s
    high: Int32s
    means: Floats  # (c, q): mean place of the numbers, infinite while all are missing
    sums: Floats  # (c, q): sum of their places
    present: Int64s  # (c, q): how many they are; elsewhere how frequent the most frequent code is
    modes: bool  # whether the centroid under a hierarchy is the most frequent value
    # `keys`, `counts`: a power of two long: how often codes occur in clusters, hashed; the key is ``cluster · M +
    # code``, −1 where there is none
    keys: Int64s
    counts: Int64s


@kernel
def centroids_of(
    codes: Codes, record_of: Int32s, class_of: Int32s, count: int, modes: bool, loss: ClassLoss
) -> Centroids:
    """Return the centroids of `count` clusters, none of them empty.

    codes : unsigned (m, q); record_of, class_of : int32 (n,), −1 for records without a cluster: there is room for all.
    Ends: the size doubles.
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
    """Count a code of a cluster once more. Ends: half of the slots are empty, as every record joins once."""
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


@kernel
def join_nearest_class(
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
    """Find the cluster with the nearest centroid. Ends: the list has each cluster once."""
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
    """Return how far each record is from the centroid of its cluster, in cells as of ``ties``; int64 (n,)."""
    found = np.empty(len(record_of), np.int64)
    for one in range(len(record_of)):
        record = int64(record_of[one])
        found[one] = cell(distance_up_to(codes, record, int64(class_of[one]), np.inf, loss, centroids))
    return found
