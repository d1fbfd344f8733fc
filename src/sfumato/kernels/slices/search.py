"""Slicing's tuple partitioning: buckets are cut in two, level by level, while the check holds.

Letters: n records, b buckets of a level, q quasi-identifying attributes, w parts (columns less their sensitive
attributes), V distinct vectors of parts, v values of all sensitive attributes together.

Two checks. *For everybody who may be in a bucket*: every group of it keeps the rules (:mod:`.slice_groups`); buckets
then have nothing to do with each other. *For the records alone*: the mass ``Σ_B f(t, B) D(t, B)[s]`` of every vector
over all buckets is kept, and a cut of B changes it only for vectors that match B. Each bucket hands its matching
vectors down to its halves, so that nobody else is looked at.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sfumato.kernels.jit import borrowing, inlined, kernel, sized
from sfumato.kernels.slices.cuts import CutBuffers, CutSpace, bucket_widths, cut_bucket, new_cut_buffers, widest
from sfumato.kernels.slices.groups import (
    AgreeingGroups,
    SlicingArrays,
    every_group_holds,
    group_bucket,
    measure_bucket,
    new_groups,
)
from sfumato.kernels.types import Flags, Floats, Int32s, Int64s


@sized(lambda order, lows, highs, space, *_: 3.0 * float((highs - lows).sum()) * space.codes.shape[1])
def cut_level(
    order: Int64s, lows: Int64s, highs: Int64s, space: CutSpace, slicing: SlicingArrays, numbers: int, starts: Flags
) -> Int64s:
    """Cut every bucket of a level once where every group of both halves keeps the rules.

    order : int64 (n,), records; the bucket ``lows[i] .. highs[i] - 1`` is reordered in place. starts : bool (n,), set
    where a bucket starts. numbers : above any code, stratum and part. Returns int64 (open, 2), the halves made.
    Ends: each round sets a width to 0. Capacity: a bucket has two halves at most.
    """
    longest, most = _longest(lows, highs), _most_values(slicing)
    buffers = new_cut_buffers(longest, len(order), numbers, len(space.scales))
    groups = new_groups(longest, most)
    mass = np.zeros(most)
    scratch = np.zeros(slicing.rules.scratch_size + 1)
    made = np.empty((2 * len(lows), 2), np.int64)
    count = 0
    for bucket in range(len(lows)):
        low = lows[bucket]
        high = highs[bucket]
        rows = order[low:high]
        bucket_widths(rows, space, buffers.widths)
        attribute = widest(buffers.widths)
        while attribute >= 0:
            left = cut_bucket(rows, attribute, space, buffers)
            size = high - low
            if (
                0 < left < size
                and every_group_holds(buffers.rows[:left], slicing, groups, buffers, mass, scratch)
                and every_group_holds(buffers.rows[left:size], slicing, groups, buffers, mass, scratch)
            ):
                rows[:] = buffers.rows[:size]
                starts[low + left] = True
                made[count, 0], made[count, 1] = low, low + left
                made[count + 1, 0], made[count + 1, 1] = low + left, high
                count += 2
                break
            attribute = widest(buffers.widths)
    return made[:count].copy()


class VectorSums(NamedTuple):
    """What every distinct vector of parts has so far."""

    vectors: Int32s  # (V, w)
    vector_of: Int32s  # (n,): vector of each record
    mass: Floats  # (V, v): ``Σ_B f(t, B) D(t, B)[s]`` over all buckets
    part_starts: Int64s  # (w + 1,): where the parts of each column start when all are numbered together


class _Half(NamedTuple):
    """One half of a cut."""

    parts: Floats  # (all parts,): how often each occurs; zero between uses
    group_of: Int64s  # (a, largest number of parts): number of the group of each part plus 1; 0 where there is none
    # `starts`, `values`, `counts`: (a, m + 1), (a, m), (a, m): pairs of value and count of each group
    starts: Int64s
    values: Int64s
    counts: Int64s


@kernel
def cut_level_globally(
    order: Int64s, lows: Int64s, highs: Int64s, members: Int32s, member_starts: Int64s, space: CutSpace,
    slicing: SlicingArrays, standing: VectorSums, numbers: int, slack: float, starts: Flags,
) -> tuple[Int64s, Int32s, Int64s]:  # fmt: skip
    """Cut every bucket of a level once where all vectors that match it keep the rules over all buckets.

    members : int32, vectors that match each bucket, those of bucket ``i`` at ``member_starts[i] ..``. slack : added to
    every bound. Returns int64 (open, 2), the halves made, with their members and member starts.
    Ends: each round sets a width to 0. Capacity: a bucket has two halves, and a vector is handed to each once at most.
    """
    longest, most = _longest(lows, highs), _most_values(slicing)
    buffers = new_cut_buffers(longest, len(order), numbers, len(space.scales))
    trial = np.zeros(slicing.rules.offsets[-1])
    scratch = np.zeros(slicing.rules.scratch_size + 1)
    groups = new_groups(longest, most)
    halves = (_new_half(longest, slicing, standing), _new_half(longest, slicing, standing))
    made = np.empty((2 * len(lows), 2), np.int64)
    handed = np.empty(2 * len(members), np.int32)
    handed_starts = np.zeros(2 * len(lows) + 1, np.int64)
    count = 0
    for bucket in range(len(lows)):
        low = lows[bucket]
        high = highs[bucket]
        size = high - low
        rows = order[low:high]
        matching = members[member_starts[bucket] : member_starts[bucket + 1]]
        bucket_widths(rows, space, buffers.widths)
        attribute = widest(buffers.widths)
        cut = 0
        while attribute >= 0 and cut == 0:
            left = cut_bucket(rows, attribute, space, buffers)
            if 0 < left < size:
                _fill_half(buffers.rows[:left], slicing, standing, halves[0], groups, buffers)
                _fill_half(buffers.rows[left:size], slicing, standing, halves[1], groups, buffers)
                # What fails mostly fails for somebody in the bucket.
                if (
                    size > len(matching)
                    or _all_hold(
                        standing.vector_of[rows], left, size - left, halves, slicing, standing, slack, trial, scratch
                    )
                ) and _all_hold(matching, left, size - left, halves, slicing, standing, slack, trial, scratch):
                    cut = left
                else:
                    _empty_half(buffers.rows[:left], slicing, standing, halves[0])
                    _empty_half(buffers.rows[left:size], slicing, standing, halves[1])
            attribute = widest(buffers.widths)
        if cut == 0:
            continue
        for vector in matching:
            _add(vector, cut, size - cut, halves, slicing, standing, standing.mass[vector])
        end = handed_starts[count]
        for vector in matching:
            if _overlap(vector, halves[0].parts, standing) > 0.0:
                handed[end] = vector
                end += 1
        handed_starts[count + 1] = end
        for vector in matching:
            if _overlap(vector, halves[1].parts, standing) > 0.0:
                handed[end] = vector
                end += 1
        handed_starts[count + 2] = end
        _empty_half(buffers.rows[:cut], slicing, standing, halves[0])
        _empty_half(buffers.rows[cut:size], slicing, standing, halves[1])
        rows[:] = buffers.rows[:size]
        starts[low + cut] = True
        made[count, 0], made[count, 1] = low, low + cut
        made[count + 1, 0], made[count + 1, 1] = low + cut, high
        count += 2
    return made[:count].copy(), handed[: handed_starts[count]].copy(), handed_starts[: count + 1].copy()


@kernel
def starting_mass(
    vectors: Int32s, part_counts: Floats, part_starts: Int64s, slicing: SlicingArrays, order: Int64s
) -> Floats:
    """Return the mass of every vector while all records are one bucket; float64 (V, v).

    part_counts : float64 (all parts,), how often each part occurs among all records.
    """
    mass = np.zeros((len(vectors), slicing.rules.offsets[-1]))
    n = float(len(order))
    for attribute in range(len(slicing.homes)):
        home = slicing.homes[attribute]
        offset = slicing.rules.offsets[attribute]
        size = slicing.rules.offsets[attribute + 1] - offset
        parts = 1 if home < 0 else part_starts[home + 1] - part_starts[home]
        joint = np.zeros((parts, size))
        for row in order:
            joint[0 if home < 0 else slicing.parts[row, home], slicing.values[row, attribute]] += 1.0
        for vector in range(len(vectors)):
            weight = 1.0 / n  # never 0: vectors are of records
            for column in range(vectors.shape[1]):
                if column != home:
                    weight *= part_counts[part_starts[column] + vectors[vector, column]] / n
            own = joint[0 if home < 0 else vectors[vector, home]]
            for value in range(size):
                mass[vector, offset + value] = weight * own[value]
    return mass


@inlined
def _longest(lows: Int64s, highs: Int64s) -> int:
    longest = 1
    for bucket in range(len(lows)):
        longest = max(longest, highs[bucket] - lows[bucket])
    return longest


@inlined
def _most_values(slicing: SlicingArrays) -> int:
    most = 1
    for attribute in range(len(slicing.homes)):
        most = max(most, slicing.rules.offsets[attribute + 1] - slicing.rules.offsets[attribute])
    return most


@inlined
def _new_half(records: int, slicing: SlicingArrays, standing: VectorSums) -> _Half:
    attributes = len(slicing.homes)
    widest_part = 1
    for column in range(len(standing.part_starts) - 1):
        widest_part = max(widest_part, standing.part_starts[column + 1] - standing.part_starts[column])
    return _Half(
        np.zeros(standing.part_starts[-1]),
        np.zeros((attributes, widest_part), np.int64),
        np.zeros((attributes, records + 1), np.int64),
        np.zeros((attributes, records), np.int64),
        np.zeros((attributes, records), np.int64),
    )


@inlined
def _fill_half(
    rows: Int64s, slicing: SlicingArrays, standing: VectorSums, half: _Half, groups: AgreeingGroups, buffers: CutBuffers
) -> None:
    for row in rows:
        for column in range(slicing.parts.shape[1]):
            half.parts[standing.part_starts[column] + slicing.parts[row, column]] += 1.0
    for attribute in range(len(slicing.homes)):
        count = group_bucket(rows, attribute, slicing, groups, buffers)
        pairs = groups.starts[count]
        half.starts[attribute, : count + 1] = groups.starts[: count + 1]
        half.values[attribute, :pairs] = groups.values[:pairs]
        half.counts[attribute, :pairs] = groups.counts[:pairs]
        for group in range(count):
            half.group_of[attribute, groups.parts[group]] = group + 1


@borrowing
def _empty_half(rows: Int64s, slicing: SlicingArrays, standing: VectorSums, half: _Half) -> None:
    for row in rows:
        for column in range(slicing.parts.shape[1]):
            half.parts[standing.part_starts[column] + slicing.parts[row, column]] = 0.0
        for attribute in range(len(slicing.homes)):
            home = slicing.homes[attribute]
            half.group_of[attribute, 0 if home < 0 else slicing.parts[row, home]] = 0


@borrowing
def _overlap(vector: int, parts: Floats, standing: VectorSums) -> float:
    """How many ways a bucket half has to make up the vector: 0 where it does not match."""
    ways = 1.0
    for column in range(standing.vectors.shape[1]):
        ways *= parts[standing.part_starts[column] + standing.vectors[vector, column]]
    return ways


@borrowing
def _add(
    vector: int, first: int, second: int, halves: tuple[_Half, _Half], slicing: SlicingArrays, standing: VectorSums,
    mass: Floats,
) -> None:  # fmt: skip
    """Add what a cut into halves of `first` and `second` records changes for one vector; mass : float64 (v,)."""
    size = float(first + second)
    for attribute in range(len(slicing.homes)):
        home = slicing.homes[attribute]
        before, left, right = 1.0 / size, 1.0 / first, 1.0 / second  # never 0: both halves have records
        for column in range(standing.vectors.shape[1]):
            if column != home:
                place = standing.part_starts[column] + standing.vectors[vector, column]
                in_left = halves[0].parts[place]
                in_right = halves[1].parts[place]
                before *= (in_left + in_right) / size
                left *= in_left / first
                right *= in_right / second
        part = 0 if home < 0 else standing.vectors[vector, home]
        own = mass[slicing.rules.offsets[attribute] : slicing.rules.offsets[attribute + 1]]
        _add_group(halves[0], attribute, part, left - before, own)
        _add_group(halves[1], attribute, part, right - before, own)


@borrowing
def _add_group(half: _Half, attribute: int, part: int, weight: float, mass: Floats) -> None:
    group = half.group_of[attribute, part] - 1
    if group >= 0 and weight != 0.0:
        for pair in range(half.starts[attribute, group], half.starts[attribute, group + 1]):
            mass[half.values[attribute, pair]] += weight * half.counts[attribute, pair]


@borrowing
def _all_hold(
    matching: Any, first: int, second: int, halves: tuple[_Half, _Half], slicing: SlicingArrays, standing: VectorSums,
    slack: float, trial: Floats, scratch: Floats,
) -> bool:  # fmt: skip
    for vector in matching:
        for value in range(len(trial)):
            trial[value] = standing.mass[vector, value]
        _add(vector, first, second, halves, slicing, standing, trial)
        if not vector_holds(trial, slicing, slack, scratch):
            return False
    return True


@borrowing
def vector_holds(mass: Floats, slicing: SlicingArrays, slack: float, scratch: Floats) -> bool:
    """Tell whether the mass of one vector, float64 (v,), keeps every rule up to `slack`."""
    rules = slicing.rules
    for rule in range(len(rules.codes)):
        own = mass[rules.offsets[rules.attributes[rule]] : rules.offsets[rules.attributes[rule] + 1]]
        total = np.float64(0.0)  # divides: also where there is no value
        for weight in own:
            total += weight
        if not measure_bucket(rule, own, total, rules, scratch) <= slicing.bounds[rule] + slack:
            return False
    return True
