"""The sensitive values of a bucket, grouped by what stands beside them in their column.

Letters: n records, m records of a bucket, w parts (columns less their sensitive attributes), a sensitive attributes
that some rule looks at, r rules.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.jit import borrowing, inlined, kernel
from sfumato.kernels.predicates import PROBABILISTIC, SLACK, RuleArrays
from sfumato.kernels.slices.cuts import CutBuffers, stable_order
from sfumato.kernels.slices.shares import measure
from sfumato.kernels.types import Floats, Int32s, Int64s, int64


class SlicingArrays(NamedTuple):
    """Columns and rules as arrays.

    Attributes
    ----------
    parts : numpy.ndarray
        int32 (n, w): number of each record's values in each column that has quasi-identifying attributes.
    homes : numpy.ndarray
        int64 (a,): part that stands beside each sensitive attribute in its column, −1 for none.
    values : numpy.ndarray
        int32 (n, a): sensitive values, counted from 0 inside each attribute.
    rules : RuleArrays
    bounds : numpy.ndarray
        float64 (r,): what the measure of each rule must not exceed.
    """

    parts: Int32s
    homes: Int64s
    values: Int32s
    rules: RuleArrays
    bounds: Floats


class AgreeingGroups(NamedTuple):
    """Records of a bucket that agree on the part beside one sensitive attribute, and how often each value occurs.

    Attributes
    ----------
    parts : numpy.ndarray
        int64 (m,): part of each group; its first entries count.
    starts : numpy.ndarray
        int64 (m + 1,): where the pairs of each group start.
    values, counts : numpy.ndarray
        int64 (m,): pairs of value and count.
    sorted : numpy.ndarray
        int64 (m,): room for records by part.
    tally : numpy.ndarray
        int64 (largest number of values,), zero between uses.
    """

    parts: Int64s
    starts: Int64s
    values: Int64s
    counts: Int64s
    sorted: Int64s
    tally: Int64s


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
    """Fill `groups` for one sensitive attribute and return how many there are; O(m), or O(m log m)."""
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
        holds = measure(rule, mass[:size], float(total), rules, scratch) <= slicing.bounds[rule] + SLACK
        for pair in range(first, last):
            mass[groups.values[pair]] = 0.0
    return holds
