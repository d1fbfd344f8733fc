"""The sensitive values of a bucket, grouped by what stands beside them in their column.

Letters: n records, m records of a bucket, w parts (columns less their sensitive attributes), a sensitive attributes
that some rule looks at, r rules.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.jit import borrowing, inlined, kernel
from sfumato.kernels.predicates import PROBABILISTIC, SLACK, T_EQUAL, T_ORDERED, RuleArrays
from sfumato.kernels.slices.cuts import CutBuffers, stable_order
from sfumato.kernels.types import Floats, Int32s, Int64s, int64

# How far a distribution of sensitive values is from what a rule allows: the measures of slicing's checks.
#
# Letters: r rules, v values of all sensitive attributes together. A distribution comes as its mass, float64, of any
# total: counts of records, or counts weighted by how well buckets match.


@borrowing
def measure(rule: int, mass: Floats, total: float, rules: RuleArrays, scratch: Floats) -> float:
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
