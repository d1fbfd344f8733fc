"""The sensitive values of a bucket, grouped by what stands beside them in their column.

Letters: n records, m records of a bucket, w parts (columns less their sensitive attributes), a sensitive attributes
that some rule looks at, r rules.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sfumato.kernels.jit import borrowing, inlined, kernel, linear, sized
from sfumato.kernels.predicates import PROBABILISTIC, SLACK, T_EQUAL, T_ORDERED, RuleArrays
from sfumato.kernels.slices.cuts import CutBuffers, stable_order
from sfumato.kernels.types import Floats, Int32s, Int64s, Words, int64

# How far a distribution of sensitive values is from what a rule allows: the measures of slicing's checks.
#
# Letters: r rules, v values of all sensitive attributes together. A distribution comes as its mass, float64, of any
# total: counts of records, or counts weighted by how well buckets match.


@borrowing
def measure_bucket(rule: int, mass: Floats, total: float, rules: RuleArrays, scratch: Floats) -> float:
    """Return the largest share (probabilistic l-diversity) or the distance to the whole table (t-closeness).

    mass : float64, one entry for each value of the rule's attribute; scratch : float64, ``rules.scratch_size`` entries.
    """
    code = rules.codes[rule]
    if code == PROBABILISTIC:
        largest = np.float64(0.0)
        for weight in mass:
            largest = max(largest, weight)
        return largest / total  # of numpy: 0/0 where there is no value
    attribute = rules.attributes[rule]
    start = rules.offsets[attribute]
    if code == T_EQUAL:
        moved = 0.0
        for value in range(len(mass)):
            moved += max(0.0, mass[value] / total - rules.totals[start + value] / rules.total)
        return moved
    if code == T_ORDERED:
        if len(mass) < 2:
            return 0.0
        moved = 0.0
        carried = 0.0
        for value in range(len(mass) - 1):
            carried += mass[value] / total - rules.totals[start + value] / rules.total
            moved += abs(carried)
        return moved / (len(mass) - 1)  # never 0: there are two values
    return _tree_distance(attribute, mass, total, rules, scratch)


@borrowing
def _tree_distance(attribute: int, mass: Floats, total: float, rules: RuleArrays, scratch: Floats) -> float:
    start = rules.offsets[attribute]
    root = rules.tree_offsets[attribute]
    nodes = rules.tree_offsets[attribute + 1] - root
    scratch[: 2 * nodes] = 0.0
    cost = 0.0
    for node in range(nodes):
        if node < len(mass):
            extra = mass[node] / total - rules.totals[start + node] / rules.total
        else:
            extra = scratch[node] - scratch[nodes + node]
            cost += rules.weights[root + node] * min(scratch[node], scratch[nodes + node])
        parent = rules.parents[root + node]
        if parent >= 0:
            if extra > 0:
                scratch[parent] += extra
            else:
                scratch[nodes + parent] -= extra
    return cost


class SlicingArrays(NamedTuple):
    """Columns and rules as arrays."""

    parts: Int32s  # (n, w): number of each record's values in each column that has quasi-identifying attributes
    homes: Int64s  # (a,): part that stands beside each sensitive attribute in its column, −1 for none
    values: Int32s  # (n, a): sensitive values, counted from 0 inside each attribute
    rules: RuleArrays
    bounds: Floats  # (r,): what the measure of each rule must not exceed


class AgreeingGroups(NamedTuple):
    """Records of a bucket that agree on the part beside one sensitive attribute, and how often each value occurs."""

    parts: Int64s  # (m,): part of each group; its first entries count
    starts: Int64s  # (m + 1,): where the pairs of each group start
    # `values`, `counts`: (m,): pairs of value and count
    values: Int64s
    counts: Int64s
    sorted: Int64s  # (m,): room for records by part
    tally: Int64s  # (largest number of values,), zero between uses


@kernel
def new_groups(records: int, values: int) -> AgreeingGroups:
    """Allocate room for buckets of `records` records and attributes of `values` values."""
    return AgreeingGroups(
        np.zeros(records, np.int64),
        np.zeros(records + 1, np.int64),
        np.zeros(records, np.int64),
        np.zeros(records, np.int64),
        np.zeros(records, np.int64),
        np.zeros(values, np.int64),
    )


@inlined
def group_bucket(
    rows: Int64s, attribute: int, slicing: SlicingArrays, groups: AgreeingGroups, buffers: CutBuffers
) -> int:
    """Fill `groups` for one sensitive attribute; return how many there are; O(m), or O(m log m).

    Ends: places rise. Capacity: a row opens one group and one pair at most.
    """
    home = slicing.homes[attribute]
    ordered = groups.sorted[: len(rows)]
    if home < 0:
        ordered[:] = rows
    else:
        stable_order(rows, slicing.parts[:, home], ordered, buffers.counts)
    count = 0
    pairs = 0
    first = 0
    while first < len(ordered):
        part = int64(0) if home < 0 else int64(slicing.parts[ordered[first], home])
        last = first
        while last < len(ordered) and (home < 0 or slicing.parts[ordered[last], home] == part):
            groups.tally[slicing.values[ordered[last], attribute]] += 1
            last += 1
        groups.parts[count] = part
        groups.starts[count] = pairs
        for place in range(first, last):
            value = slicing.values[ordered[place], attribute]
            if groups.tally[value] > 0:
                groups.values[pairs] = value
                groups.counts[pairs] = groups.tally[value]
                groups.tally[value] = 0
                pairs += 1
        count += 1
        first = last
    groups.starts[count] = pairs
    return count


@inlined
def every_group_holds(
    rows: Int64s, slicing: SlicingArrays, groups: AgreeingGroups, buffers: CutBuffers, mass: Floats, scratch: Floats
) -> bool:
    """Tell whether in every group of a bucket every rule holds: then it holds for whoever may be in it.

    mass : float64, as long as the largest attribute has values, zero before and after.
    """
    for attribute in range(len(slicing.homes)):
        count = group_bucket(rows, attribute, slicing, groups, buffers)
        for group in range(count):
            if not _group_holds(group, attribute, slicing, groups, mass, scratch):
                return False
    return True


@borrowing
def _group_holds(
    group: int, attribute: int, slicing: SlicingArrays, groups: AgreeingGroups, mass: Floats, scratch: Floats
) -> bool:
    rules = slicing.rules
    first = groups.starts[group]
    last = groups.starts[group + 1]
    total = int64(0)
    largest = int64(0)
    for pair in range(first, last):
        total += groups.counts[pair]
        largest = max(largest, groups.counts[pair])
    holds = True
    for rule in range(len(rules.codes)):
        if rules.attributes[rule] != attribute or not holds:
            continue
        if rules.codes[rule] == PROBABILISTIC:
            holds = largest / total <= slicing.bounds[rule] + SLACK
            continue
        for pair in range(first, last):
            mass[groups.values[pair]] = groups.counts[pair]
        size = rules.offsets[attribute + 1] - rules.offsets[attribute]
        holds = measure_bucket(rule, mass[:size], float(total), rules, scratch) <= slicing.bounds[rule] + SLACK
        for pair in range(first, last):
            mass[groups.values[pair]] = 0.0
    return holds


# Which buckets match a vector of values, and what they say together about its sensitive values: counted afresh.
#
# Letters: b buckets, w parts, a sensitive attributes, r rules, v values of all sensitive attributes together, z
# distinct pairs of bucket and part of one column at most, y distinct triples of bucket, part and sensitive value at
# most.


class SliceIndex(NamedTuple):
    """A sliced table, indexed by bucket and by value."""

    sizes: Int64s  # (b,): records of each bucket
    # `starts`, `parts`, `counts`: int64 (w, b + 1), int32 (w, z), int64 (w, z): for each column the parts of each
    # bucket, rising, and how often each occurs in it
    starts: Int64s
    parts: Int32s
    counts: Int64s
    part_starts: Int64s  # (w + 1,): where the parts of each column start when all are numbered together
    # `bucket_starts`, `buckets`: int64 (all parts + 1,) and int32: the buckets in which each part occurs
    bucket_starts: Int64s
    buckets: Int32s
    # (frequent parts, ⌈b / 64⌉): the same as bits, for parts that occur in so many buckets that bits are shorter: no
    # more than 8 w n bytes
    bits: Words
    bits_of: Int32s  # (all parts,): row of `bits`, −1 for none
    homes: Int64s  # (a,): column of the part beside each sensitive attribute, −1 for none
    # `group_starts`, `group_parts`: int64 (a, b + 1), int32 (a, y): groups of each bucket, rising by part
    group_starts: Int64s
    group_parts: Int32s
    # `pair_starts`, `values`, `value_counts`: int64 (a, y + 1), int32 (a, y), int64 (a, y): sensitive values of each
    # group and how often they occur
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
            measured[vector, rule] = measure_bucket(rule, own, total, rules, scratch) if matches[vector] > 0 else np.nan


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
    """Add up what each matching bucket says, weighted by how well it matches; return their number. Ends: 64 bits."""
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
def _find(sorted_numbers: Any, low: int, high: int, target: int) -> int:
    """Return where a number stands among ``low .. high - 1``, −1 where it does not. Ends: the range halves."""
    end = high
    while low < end:
        middle = (low + end) // 2
        if sorted_numbers[middle] < target:
            low = middle + 1
        else:
            end = middle
    return low if low < high and sorted_numbers[low] == target else -1


class BucketLists(NamedTuple):
    """In which buckets each vector of each column occurs, how often, and with which sensitive values."""

    sizes: Floats  # (b,): records of each bucket
    # `starts`, `buckets`, `counts`: int64 (g + 1,), int32 (e,), float64 (e,): the list of each vector, buckets rising,
    # and its rows there
    starts: Int64s
    buckets: Int32s
    counts: Floats
    # `rows`, `row_of`: (long lists, b), int32 (g,): the entry of each bucket, −1 for none, for lists so long that this
    # is faster than a search; and which row a list has, −1 for none
    rows: Int32s
    row_of: Int32s
    # `value_starts`, `values`, `value_counts`: int64 (e + 1,), int32 (z,), float64 (z,): the sensitive values beside
    # each entry, rising, and how often. None where the column has no sensitive attribute.
    value_starts: Int64s
    values: Int32s
    value_counts: Floats


@kernel
def sum_beliefs(
    vectors: Int64s, seen: Int64s, lists: BucketLists, holding: Int64s, everything: Int64s, weights: Floats,
    candidates: Floats,
) -> None:  # fmt: skip
    """Add up, for each person, the sensitive values of the matching buckets, weighed by how well each matches.

    vectors : int64 (m, w), the list of the person's known values of each column. seen : int64 (m, w), the list of those
    of them that columns before have as well, −1 where there are none. holding : int64 (h,), columns with the sensitive
    attribute. everything : int64 (h,), the list of all rows of each of them. weights : float64 (m, v) and candidates :
    float64 (m,) of zeros, to which is added. Cost of a person: the buckets that have their rarest vector.
    """
    found = np.empty(vectors.shape[1], np.int64)
    shares = np.empty(weights.shape[1])
    for person in range(len(vectors)):
        rarest = _rarest_column(vectors, person, lists)
        part = vectors[person, rarest]
        for entry in range(lists.starts[part], lists.starts[part + 1]):
            bucket = int64(lists.buckets[entry])
            if not _all_found(vectors, person, rarest, entry, bucket, lists, found):
                continue
            match = _match(seen, person, bucket, lists, found)
            candidates[person] += match * lists.sizes[bucket]
            _add_beliefs(person, bucket, match, found, lists, holding, everything, weights, shares)


@kernel
def fill_rows(rows: Int32s, row_of: Int32s, starts: Int64s, buckets: Int32s) -> None:
    """Write down the entry of each bucket for the long lists; rows : int32, −1 before."""
    for place in range(len(row_of)):
        if row_of[place] >= 0:
            for entry in range(starts[place], starts[place + 1]):
                rows[row_of[place], buckets[entry]] = entry


@borrowing
def _rarest_column(vectors: Int64s, person: int, lists: BucketLists) -> int:
    """Return the column whose list for the person is the shortest."""
    rarest = 0
    fewest = int64(-1)
    for column in range(vectors.shape[1]):
        part = vectors[person, column]
        length = lists.starts[part + 1] - lists.starts[part]
        if fewest < 0 or length < fewest:
            rarest = column
            fewest = length
    return rarest


@borrowing
def _all_found(
    vectors: Int64s, person: int, rarest: int, entry: int, bucket: int, lists: BucketLists, found: Int64s
) -> bool:
    """Look for the bucket in the person's list of every column; write down the entries."""
    for column in range(vectors.shape[1]):
        found[column] = entry if column == rarest else _entry(vectors[person, column], bucket, lists)
        if found[column] < 0:
            return False
    return True


@borrowing
def _match(seen: Int64s, person: int, bucket: int, lists: BucketLists, found: Int64s) -> float:
    """Multiply, over the columns, the share of rows that agree among those that agree on what was seen before."""
    match = 1.0
    for column in range(len(found)):
        before = seen[person, column]
        among = lists.sizes[bucket] if before < 0 else lists.counts[_entry(before, bucket, lists)]
        match *= lists.counts[found[column]] / among
    return match


@borrowing
def _add_beliefs(
    person: int, bucket: int, match: float, found: Int64s, lists: BucketLists, holding: Int64s, everything: Int64s,
    weights: Floats, shares: Floats,
) -> None:  # fmt: skip
    """Hand the weight of a bucket to the sensitive values that may be the person's there.

    Of several columns that have the sensitive attribute, each further one weighs a value by its rows with it that
    agree, over all rows of the bucket with it: they are joined by the value.
    """
    first = found[holding[0]]
    start = lists.value_starts[first]
    total = 0.0
    for place in range(start, lists.value_starts[first + 1]):
        share = lists.value_counts[place]
        for other in range(1, len(holding)):
            value = lists.values[place]
            share *= _count_of(value, found[holding[other]], lists)
            share /= max(1.0, _count_of(value, _entry(everything[other], bucket, lists), lists))
        shares[place - start] = share
        total += share
    if total > 0.0:
        for place in range(start, lists.value_starts[first + 1]):
            weights[person, lists.values[place]] += shares[place - start] * match / total


@borrowing
def _entry(part: int, bucket: int, lists: BucketLists) -> int:
    """Return the entry of a bucket in a list, −1 where it is not there."""
    row = lists.row_of[part]
    if row >= 0:
        return int64(lists.rows[row, bucket])
    return _find(lists.buckets, lists.starts[part], lists.starts[part + 1], bucket)


@borrowing
def _count_of(value: int, entry: int, lists: BucketLists) -> float:
    place = _find(lists.values, lists.value_starts[entry], lists.value_starts[entry + 1], value)
    return 0.0 if place < 0 else lists.value_counts[place]
