"""Which buckets match a vector of values, and what they say together about its sensitive values: counted afresh.

Letters: b buckets, w parts, a sensitive attributes, r rules, v values of all sensitive attributes together, z distinct
pairs of bucket and part of one column at most, y distinct triples of bucket, part and sensitive value at most.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sfumato.kernels.jit import borrowing, linear, sized
from sfumato.kernels.predicates import RuleArrays
from sfumato.kernels.slices.groups import measure
from sfumato.kernels.types import Floats, Int32s, Int64s, Words, int64


class SliceIndex(NamedTuple):
    """A sliced table, indexed by bucket and by value.

    Attributes
    ----------
    sizes : numpy.ndarray
        int64 (b,): records of each bucket.
    starts, parts, counts : numpy.ndarray
        int64 (w, b + 1), int32 (w, z), int64 (w, z): for each column the parts of each bucket, rising, and how often
        each occurs in it.
    part_starts : numpy.ndarray
        int64 (w + 1,): where the parts of each column start when all are numbered together.
    bucket_starts, buckets : numpy.ndarray
        int64 (all parts + 1,) and int32: the buckets in which each part occurs.
    bits : numpy.ndarray
        uint64 (frequent parts, ⌈b / 64⌉): the same as bits, for parts that occur in so many buckets that bits are
        shorter: no more than 8 w n bytes.
    bits_of : numpy.ndarray
        int32 (all parts,): row of `bits`, −1 for none.
    homes : numpy.ndarray
        int64 (a,): column of the part beside each sensitive attribute, −1 for none.
    group_starts, group_parts : numpy.ndarray
        int64 (a, b + 1), int32 (a, y): groups of each bucket, rising by part.
    pair_starts, values, value_counts : numpy.ndarray
        int64 (a, y + 1), int32 (a, y), int64 (a, y): sensitive values of each group and how often they occur.
    rules : RuleArrays
    """

    sizes: Int64s
    starts: Int64s
    parts: Int32s
    counts: Int64s
    part_starts: Int64s
    bucket_starts: Int64s
    buckets: Int32s
    bits: Words
    bits_of: Int32s
    homes: Int64s
    group_starts: Int64s
    group_parts: Int32s
    pair_starts: Int64s
    values: Int32s
    value_counts: Int64s
    rules: RuleArrays


@sized(lambda vectors, *_: 130.0 * len(vectors))
def measure_matches(vectors: Int32s, index: SliceIndex, matches: Int64s, measured: Floats) -> None:
    """Measure every vector, int32 (V, w), against every rule over all buckets that match it.

    Fills matches, int64 (V,): how many buckets match; and measured, float64 (V, r), NaN where none does. Cost of a
    vector: the buckets that have its rarest part.
    """
    rules = index.rules
    mass = np.zeros(rules.offsets[-1])
    scratch = np.zeros(rules.scratch_size + 1)
    for vector in range(len(vectors)):
        mass[:] = 0.0
        matches[vector] = _gather(vectors[vector], index, mass)
        for rule in range(len(rules.codes)):
            own = mass[rules.offsets[rules.attributes[rule]] : rules.offsets[rules.attributes[rule] + 1]]
            total = 0.0
            for weight in own:
                total += weight
            measured[vector, rule] = measure(rule, own, total, rules, scratch) if matches[vector] > 0 else np.nan


@linear
def fill_bits(bits: Any, bits_of: Any, bucket_starts: Any, buckets: Any) -> None:
    """Set the bit of every bucket in which a frequent part occurs; bits : uint64, zero before."""
    for part in range(len(bits_of)):
        row = bits_of[part]
        if row >= 0:
            for place in range(bucket_starts[part], bucket_starts[part + 1]):
                bucket = buckets[place]
                bits[row, bucket >> 6] |= np.uint64(1) << np.uint64(bucket & 63)


@borrowing
def _gather(vector: Int32s, index: SliceIndex, mass: Floats) -> int:
    """Add up what each matching bucket says, weighted by how well it matches; return how many match."""
    rarest = _rarest(vector, index)
    matching = 0
    if index.bits_of[rarest] >= 0:
        for word in range(index.bits.shape[1]):
            common = ~np.uint64(0)
            for column in range(len(vector)):
                common &= index.bits[index.bits_of[index.part_starts[column] + vector[column]], word]
            bucket = word << 6
            while common != np.uint64(0):
                if common & np.uint64(1):
                    _add_bucket(vector, bucket, index, mass)
                    matching += 1
                common >>= np.uint64(1)
                bucket += 1
        return matching
    for place in range(index.bucket_starts[rarest], index.bucket_starts[rarest + 1]):
        bucket = int64(index.buckets[place])
        if _matches(vector, bucket, index):
            _add_bucket(vector, bucket, index, mass)
            matching += 1
    return matching


@borrowing
def _rarest(vector: Int32s, index: SliceIndex) -> int:
    """Return the part of the vector that occurs in the fewest buckets, numbered among all parts."""
    rarest = int64(-1)
    fewest = int64(0)
    for column in range(len(vector)):
        part = index.part_starts[column] + vector[column]
        held = index.bucket_starts[part + 1] - index.bucket_starts[part]
        if rarest < 0 or held < fewest:
            rarest = part
            fewest = held
    return rarest


@borrowing
def _matches(vector: Int32s, bucket: int, index: SliceIndex) -> bool:
    for column in range(len(vector)):
        row = index.bits_of[index.part_starts[column] + vector[column]]
        if row >= 0:
            if not (index.bits[row, bucket >> 6] >> np.uint64(bucket & 63)) & np.uint64(1):
                return False
        elif _share(vector[column], column, bucket, index) == 0.0:
            return False
    return True


@borrowing
def _share(part: int, column: int, bucket: int, index: SliceIndex) -> float:
    """Return which share of a bucket has a part, 0 where it is absent."""
    found = _find(index.parts[column], index.starts[column, bucket], index.starts[column, bucket + 1], part)
    return 0.0 if found < 0 else index.counts[column, found] / index.sizes[bucket]


@borrowing
def _add_bucket(vector: Int32s, bucket: int, index: SliceIndex, mass: Floats) -> None:
    for attribute in range(len(index.homes)):
        home = index.homes[attribute]
        weight = 1.0 / index.sizes[bucket]
        for column in range(len(vector)):
            if column != home:
                weight *= _share(vector[column], column, bucket, index)
        _add_values(bucket, attribute, 0 if home < 0 else vector[home], weight, index, mass)


@borrowing
def _add_values(bucket: int, attribute: int, part: int, weight: float, index: SliceIndex, mass: Floats) -> None:
    low = index.group_starts[attribute, bucket]
    high = index.group_starts[attribute, bucket + 1]
    group = _find(index.group_parts[attribute], low, high, part)
    offset = index.rules.offsets[attribute]
    for pair in range(index.pair_starts[attribute, group], index.pair_starts[attribute, group + 1]):
        mass[offset + index.values[attribute, pair]] += weight * index.value_counts[attribute, pair]


@borrowing
def _find(sorted_numbers: Any, low: int, high: int, wanted: int) -> int:
    """Return where a number stands among ``low .. high - 1``, −1 where it does not."""
    end = high
    while low < end:
        middle = (low + end) // 2
        if sorted_numbers[middle] < wanted:
            low = middle + 1
        else:
            end = middle
    return low if low < high and sorted_numbers[low] == wanted else -1
