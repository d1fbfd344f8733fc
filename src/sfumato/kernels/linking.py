"""Links from people to published classes: who fits, who has which value, how sure it is that somebody is there.

Which published classes fit each person of a register, and what their records say.

Letters: m people, q shared attributes, c classes, g labels of all attributes together, r runs of all labels together,
w words of 64 classes, v sensitive values, z non-zero (class, value) pairs.

A label covers the codes of its attribute in one or more runs, ``low .. high`` each. A table of bits has a row per code,
one bit per class that covers it, so that 64 classes are tested at a time. Where an attribute has too many codes for
that, neighbouring codes share a row, and the classes that are left are tested once more, one by one.

Who has which sensitive value inside a bucket: chances over all ways to hand out the bucket's values.

Letters: b buckets, n rows of all buckets together, z pairs of a bucket and a distinct value of it, e entries: pairs of
a row and a value of its bucket, row after row, values in the order of the bucket's list.

A way to hand out the values weighs the product of the entries' weights; each value is handed out as often as the bucket
has it. Small buckets are worked out exactly, by going through the numbers of values handed out to the first rows, from
both ends; in larger ones rows and values are scaled in turn until both sums are right (Sinkhorn), which is the usual
approximation.

How surely people are in a published table, by the classes that cover them..
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.bits import EMPTY, ONE, lowest, single, without_lowest
from sfumato.kernels.jit import borrowing, inlined, kernel, linear, sized
from sfumato.kernels.types import Codes, Flags, Floats, Int32s, Int64s, Words, int64

# The published classes that are nearest to each person, by distances that are summed over attributes.
#
# Letters: m people, c classes, d attributes with points, s attributes with labels, g labels, r runs, b blocks of
# classes that stand beside each other, z non-zero pairs of a class and a value.


TIED = 1e-9
"""Distances that are this near to each other are equal: they are sums in which only rounding differs."""


class LabelCodes(NamedTuple):
    """What labels cover."""

    bounds: Int64s  # (s, 2): the labels of an attribute are numbered from ``bounds[a, 0]`` to ``bounds[a, 1] - 1``
    # `runs`, `low`, `high`: int64 (g + 1,), int32 (r,) twice: the codes that each label covers
    runs: Int64s
    low: Int32s
    high: Int32s
    inside: Floats  # (g,): distance of a label from a code that it covers; from others it is 1


class Blocks(NamedTuple):
    """Classes in blocks of near ones, and what bounds the distance from a block."""

    starts: Int64s  # (b + 1,): first class of each block
    points: Floats  # (d, c); infinite for a value that is far from every other
    labels: Int32s  # (s, c)
    # `low`, `high`: (b, d): least and greatest finite point; infinite ones, high below low, where there is none
    low: Floats
    high: Floats
    far: Flags  # (b, d): whether all points are infinite
    # `held`, `held_labels`: int64 (b · s + 1,), int32: the different labels of a block and attribute; none where they
    # are too many
    held: Int64s
    held_labels: Int32s


@sized(lambda people, codes, own, labels, blocks, sizes, *_: 0.3 * (people.size + codes.size) * len(sizes))
def nearest_classes(
    people: Floats, codes: Int32s, own: Int64s, labels: LabelCodes, blocks: Blocks, sizes: Int64s, starts: Int64s,
    values: Int32s, counts: Int64s, tallies: Int64s,
) -> tuple[Int64s, Int64s, Floats]:  # fmt: skip
    """Find the nearest classes of each person, ties included, and count their records.

    people : float64 (m, d), NaN where nothing is known. codes : int32 (m, s), −1 where nothing is known. own : int64
    (m,), the person's value. sizes : int64 (c,). starts, values, counts : compressed rows of values, int64 (c + 1,),
    int32 (z,), int64 (z,). tallies : int64 (m, v) of zeros, to which the values of each person's records are added;
    without rows nothing is. Distances: of points their difference, at most 1; of labels as :class:`LabelCodes` says.
    Returns the records of the nearest classes and those of them with the person's value, int64 (m,) twice, and the
    distance, float64 (m,). Cost O(m · (c · (d + s) + r)) at most; blocks that cannot hold a nearer class are left out.
    """
    candidates = np.zeros(len(people), np.int64)
    alike = np.zeros(len(people), np.int64)
    distances = np.full(len(people), np.inf)
    apart_of = np.zeros(len(labels.inside))
    count = len(blocks.starts) - 1
    least = np.empty(count)
    sums = np.empty(np.diff(blocks.starts).max())
    for person in range(len(people)):
        _tabulate(codes, person, labels, apart_of)
        first = 0
        for block in range(count):
            least[block] = _at_least(people, person, block, blocks, apart_of)
            if least[block] < least[first]:
                first = block
        best = np.inf
        for turn in range(-1, count):
            block = first if turn < 0 else turn
            if turn == first or least[block] > best + TIED:
                continue
            width = _sum_up(people, person, block, blocks, apart_of, sums)
            for place in range(width):
                apart = sums[place]
                if apart > best + TIED:
                    continue
                if apart < best - TIED:
                    candidates[person] = 0
                    alike[person] = 0
                    if len(tallies):
                        tallies[person] = 0
                best = min(best, apart)
                owner = blocks.starts[block] + place
                candidates[person] += sizes[owner]
                for entry in range(starts[owner], starts[owner + 1]):
                    if values[entry] == own[person]:
                        alike[person] += counts[entry]
                    if len(tallies):
                        tallies[person, values[entry]] += counts[entry]
        distances[person] = best
    return candidates, alike, distances


@inlined
def _tabulate(codes: Int32s, person: int, labels: LabelCodes, apart_of: Floats) -> None:
    """Write down how far each label is from the person's value: looking it up is all that is left for each class."""
    for place in range(codes.shape[1]):
        code = codes[person, place]
        for label in range(labels.bounds[place, 0], labels.bounds[place, 1]):
            share = 0.0 if code < 0 else 1.0
            for run in range(labels.runs[label], labels.runs[label + 1]):
                if labels.low[run] <= code <= labels.high[run]:
                    share = labels.inside[label]
                    break
            apart_of[label] = share


@inlined
def _at_least(people: Floats, person: int, block: int, blocks: Blocks, apart_of: Floats) -> float:
    """No class of the block is nearer than that, but for rounding."""
    total = 0.0
    width = len(blocks.labels)
    for place in range(width):
        first = blocks.held[block * width + place]
        last = blocks.held[block * width + place + 1]
        if first == last:
            continue
        share = 1.0
        for entry in range(first, last):
            share = min(share, apart_of[blocks.held_labels[entry]])
        total += share
    for axis in range(people.shape[1]):
        value = people[person, axis]
        if np.isnan(value):
            continue
        if blocks.far[block, axis]:
            total += 1.0
        else:
            total += min(1.0, max(blocks.low[block, axis] - value, value - blocks.high[block, axis], 0.0))
    return total


@inlined
def _sum_up(people: Floats, person: int, block: int, blocks: Blocks, apart_of: Floats, sums: Floats) -> int:
    """Sum up the distances of the block's classes, attribute by attribute; return how many there are."""
    start = blocks.starts[block]
    width = blocks.starts[block + 1] - start
    sums[:width] = 0.0
    for place in range(len(blocks.labels)):
        row = blocks.labels[place, start : start + width]
        for step in range(width):
            sums[step] += apart_of[row[step]]
    for axis in range(people.shape[1]):
        value = people[person, axis]
        if not np.isnan(value):
            points = blocks.points[axis, start : start + width]
            for step in range(width):
                sums[step] += min(1.0, abs(value - points[step]))
    return int64(width)


UNKNOWN = -1
"""Code of a value that the register does not tell; it fits every class."""


class ClassCoverage(NamedTuple):
    """What classes cover, and where the table of bits has it."""

    label_of: Int32s  # (c, q), labels numbered through all attributes
    runs: Int64s  # (g + 1,), label ``i`` owns the runs ``runs[i] .. runs[i+1]-1`` of low and high.
    # `low`, `high`: (r,)
    low: Int32s
    high: Int32s
    rows: Int64s  # (q + 1,), the first row of each attribute
    shifts: Int64s  # (q,), a code's row is ``code >> shift`` below that


class ClassValues(NamedTuple):
    """Compressed rows of sensitive counts."""

    starts: Int64s  # (c + 1,)
    values: Int32s  # (z,)
    counts: Int64s  # (z,)


def looking(people: Int32s, coverage: ClassCoverage, table: Words, *_: object) -> float:
    """Say how many steps a kernel takes that looks for the classes of all people."""
    return float(people.size * table.shape[1])


@linear
def covering_classes(coverage: ClassCoverage) -> Words:
    """Tabulate which classes cover each code, or one of a row; uint64 (rows, w). Cost: pairs of a class and a row."""
    classes = coverage.label_of.shape[0]
    table = np.zeros((coverage.rows[-1], (classes + 63) // 64), dtype=np.uint64)
    for attribute in range(coverage.label_of.shape[1]):
        first, shift = coverage.rows[attribute], coverage.shifts[attribute]
        for owner in range(classes):
            bit = single(owner & 63)
            label = coverage.label_of[owner, attribute]
            for run in range(coverage.runs[label], coverage.runs[label + 1]):
                for row in range(coverage.low[run] >> shift, (coverage.high[run] >> shift) + 1):
                    table[first + row, owner >> 6] |= bit
    return table


@borrowing
def fitting_classes(
    people: Int32s, person: int, coverage: ClassCoverage, table: Words, most: int, fitting: Int64s
) -> int:
    """List the classes whose labels all cover a person's values, `most` of them, in rising order; return how many.

    people : int32 (m, q), codes, `UNKNOWN` where the register tells nothing. table : as :func:`covering_classes`
    returns it. fitting : int64, room for `most`. Cost O(w · q + the fitting classes). Ends: each round clears a bit.
    Capacity: it stops at `most`, 1 or more.
    """
    classes = len(coverage.label_of)
    found = 0
    for word in range(table.shape[1]):
        left = classes - 64 * word
        bits = ~EMPTY if left >= 64 else single(left) - ONE
        for attribute in range(people.shape[1]):
            code = people[person, attribute]
            if code >= 0:
                bits = bits & table[coverage.rows[attribute] + (code >> coverage.shifts[attribute]), word]
        while bits != EMPTY:
            owner = 64 * word + lowest(bits)
            bits = without_lowest(bits)
            if _does_fit(people, person, owner, coverage):
                fitting[found] = owner
                found += 1
                if found == most:
                    return found
    return found


@borrowing
def _does_fit(people: Int32s, person: int, owner: int, coverage: ClassCoverage) -> bool:
    """Tell whether a class covers the person's values where codes share rows; the table has settled the others."""
    for attribute in range(people.shape[1]):
        code = people[person, attribute]
        if code < 0 or coverage.shifts[attribute] == 0:
            continue
        label = coverage.label_of[owner, attribute]
        covered = False
        for run in range(coverage.runs[label], coverage.runs[label + 1]):
            if coverage.low[run] <= code <= coverage.high[run]:
                covered = True
                break
        if not covered:
            return False
    return True


@sized(looking)
def count_candidates(
    people: Int32s, coverage: ClassCoverage, table: Words, sizes: Int64s, held: ClassValues, known_values: int
) -> tuple[Int64s, Int32s, Int64s]:
    """Count the records that fit each person, and how many of them have the sensitive value that most of them have.

    people, table : as for :func:`fitting_classes`. sizes : int64 (c,). known_values : v. Returns the candidates int64
    (m,), the likeliest value int32 (m,) (the smallest of equals, −1 without candidates), and the candidates that have
    it int64 (m,). Cost O(m · w · q + the fitting (person, class) pairs).
    Capacity: counts are 1 or more, so that each value is listed once.
    """
    fitting = np.empty(len(sizes) + 1, dtype=np.int64)
    candidates = np.zeros(len(people), dtype=np.int64)
    likeliest = np.full(len(people), -1, dtype=np.int32)
    agreeing = np.zeros(len(people), dtype=np.int64)
    tally = np.zeros(known_values, dtype=np.int64)
    present = np.empty(known_values, dtype=np.int32)
    for person in range(len(people)):
        values_seen = 0
        for place in range(fitting_classes(people, person, coverage, table, len(fitting), fitting)):
            owner = fitting[place]
            candidates[person] += sizes[owner]
            for entry in range(held.starts[owner], held.starts[owner + 1]):
                value = held.values[entry]
                if tally[value] == 0:
                    present[values_seen] = value
                    values_seen += 1
                tally[value] += held.counts[entry]
        for place in range(values_seen):
            value = present[place]
            ahead = tally[value] > agreeing[person]
            if ahead or (tally[value] == agreeing[person] and value < likeliest[person]):
                likeliest[person], agreeing[person] = value, tally[value]
            tally[value] = 0
    return candidates, likeliest, agreeing


@sized(looking)
def tally_candidates(
    people: Int32s, coverage: ClassCoverage, table: Words, held: ClassValues, known_values: int
) -> Int64s:
    """Count the records that fit each person by their sensitive value.

    Arguments as for :func:`count_candidates`. Returns int64 (m, v). Cost O(m · (w · q + v) + the fitting (person,
    class) pairs).
    """
    fitting = np.empty(len(held.starts), dtype=np.int64)
    tallies = np.zeros((len(people), known_values), dtype=np.int64)
    for person in range(len(people)):
        for place in range(fitting_classes(people, person, coverage, table, len(fitting), fitting)):
            owner = fitting[place]
            for entry in range(held.starts[owner], held.starts[owner + 1]):
                tallies[person, held.values[entry]] += held.counts[entry]
    return tallies


@sized(looking)
def count_own(
    people: Int32s, coverage: ClassCoverage, table: Words, sizes: Int64s, held: ClassValues, own: Int64s
) -> tuple[Int64s, Int64s]:
    """Count the records that fit each person, and those of them that have the person's own value.

    own : int64 (m,), the value that each person really has; −1 where no record has it. Other arguments as for
    :func:`count_candidates`. Returns int64 (m,) twice. Cost as there, and a search in each fitting class.
    """
    fitting = np.empty(len(sizes) + 1, dtype=np.int64)
    candidates = np.zeros(len(people), dtype=np.int64)
    alike = np.zeros(len(people), dtype=np.int64)
    for person in range(len(people)):
        for place in range(fitting_classes(people, person, coverage, table, len(fitting), fitting)):
            owner = fitting[place]
            candidates[person] += sizes[owner]
            for entry in range(held.starts[owner], held.starts[owner + 1]):
                if held.values[entry] == own[person]:
                    alike[person] += held.counts[entry]
    return candidates, alike


@sized(looking)
def fitting_weight(people: Int32s, coverage: ClassCoverage, table: Words, weights: Floats) -> Floats:
    """Add up the weights, float64 (c,), of the classes that fit each person; float64 (m,).

    Other arguments as for :func:`fitting_classes`. Cost O(m · w · q + the fitting (person, class) pairs).
    """
    fitting = np.empty(len(weights) + 1, dtype=np.int64)
    total = np.zeros(len(people))
    for person in range(len(people)):
        for place in range(fitting_classes(people, person, coverage, table, len(fitting), fitting)):
            total[person] += weights[fitting[place]]
    return total


@sized(looking)
def fitting_pairs(people: Int32s, coverage: ClassCoverage, table: Words) -> tuple[Int64s, Int64s]:
    """List all pairs of a person and a class that fits, in rising order: person and class of each, int64.

    Arguments as for :func:`fitting_classes`. Cost as for :func:`fitting_weight`.
    Capacity: both arrays double when they are full.
    """
    fitting = np.empty(len(coverage.label_of) + 1, dtype=np.int64)
    person_of, class_of = np.empty(len(people) + 1, dtype=np.int64), np.empty(len(people) + 1, dtype=np.int64)
    found = 0
    for person in range(len(people)):
        for place in range(fitting_classes(people, person, coverage, table, len(fitting), fitting)):
            if found == len(person_of):
                person_of = np.concatenate((person_of, np.empty_like(person_of)))
                class_of = np.concatenate((class_of, np.empty_like(class_of)))
            person_of[found], class_of[found] = person, fitting[place]
            found += 1
    return person_of[:found].copy(), class_of[:found].copy()


@kernel
def matching_chances(rows: Int64s, values: Int64s, counts: Int64s, weights: Floats, exact: int, rounds: int) -> Floats:
    """Work out the chance of each entry.

    rows, values : int64 (b + 1,), rows and values of each bucket. counts : int64 (z,), how often each value is in its
    bucket; they add up to the bucket's rows. weights : float64 (e,), above 0. exact : most states of a bucket, the
    product of count + 1 over its values, that are gone through. rounds : of scaling. Returns float64 (e,): the chances
    of a row add up to 1, those of a value to its count. Cost O(e · rounds), or O(states · values) where that is exact.
    """
    chances = np.empty(len(weights))
    first = 0
    for bucket in range(len(rows) - 1):
        height, width = rows[bucket + 1] - rows[bucket], values[bucket + 1] - values[bucket]
        held = counts[values[bucket] : values[bucket + 1]]
        block = weights[first : first + height * width].reshape(height, width)
        chances_of_block = chances[first : first + height * width].reshape(height, width)
        states = _states(held, exact)
        if states <= exact:
            _count_exactly(held, block, chances_of_block, states)
        else:
            _scale(held, block, chances_of_block, rounds)
        first += height * width
    return chances


@inlined
def _states(held: Int64s, most: int) -> int:
    """Return the number of states of a bucket, or one more than `most`."""
    states = 1
    for count in held:
        states *= count + 1
        if states > most:
            return most + 1
    return states


@inlined
def _count_exactly(held: Int64s, block: Floats, chances: Floats, states: int) -> None:
    """Write the chances of one bucket; a state is how often each value was handed out, as a number of mixed base.

    Capacity: `row` counts records that were handed out, and one is always left.
    """
    width = len(held)
    strides = np.ones(width + 1, dtype=np.int64)
    for value in range(width):
        strides[value + 1] = strides[value] * (held[value] + 1)
    ahead, behind = np.zeros(states), np.zeros(states)
    handed = np.zeros(width, dtype=np.int64)
    ahead[0], behind[states - 1] = 1.0, 1.0
    row = 0
    for state in range(states - 1):
        for value in range(width):
            if handed[value] < held[value]:
                ahead[state + strides[value]] += ahead[state] * block[row, value]
        row += _step_up(handed, held)
    chances[:] = 0.0
    for state in range(states - 2, -1, -1):
        row += _step_down(handed, held)
        for value in range(width):
            if handed[value] < held[value]:
                onwards = block[row, value] * behind[state + strides[value]]
                behind[state] += onwards
                chances[row, value] += ahead[state] * onwards / ahead[states - 1]


@inlined
def _step_up(handed: Int64s, held: Int64s) -> int:
    """Go to the next state and return by how much the number of values handed out changes."""
    change = 0
    for value in range(len(held)):
        if handed[value] < held[value]:
            handed[value] += 1
            return change + 1
        change -= handed[value]
        handed[value] = 0
    return change


@inlined
def _step_down(handed: Int64s, held: Int64s) -> int:
    """Go to the state before and return by how much the number of values handed out changes."""
    change = 0
    for value in range(len(held)):
        if handed[value] > 0:
            handed[value] -= 1
            return change - 1
        change += held[value]
        handed[value] = held[value]
    return change


@inlined
def _scale(held: Int64s, block: Floats, chances: Floats, rounds: int) -> None:
    """Write the chances of one bucket by scaling values to their counts and rows to 1 in turn."""
    chances[:] = block
    for _ in range(rounds):
        for value in range(len(held)):
            total = 0.0
            for row in range(len(chances)):
                total += chances[row, value]
            for row in range(len(chances)):
                chances[row, value] *= held[value] / total
        for row in range(len(chances)):
            total = 0.0
            for value in range(len(held)):
                total += chances[row, value]
            for value in range(len(held)):
                chances[row, value] /= total


# How many people each published class covers.
#
# Letters: m distinct people, q attributes, c classes, g labels of all attributes together, r runs of all labels
# together, z codes of all attributes together, w words of 64 classes.


@kernel
def covered_people(
    people: Codes, weights: Int64s, label_of: Int64s, runs: Int64s, low: Int32s, high: Int32s, rows: Int64s, words: int
) -> Int64s:
    """Count the people whose every code is covered by the labels of a class; int64 (c,).

    people : unsigned (m, q). weights : int64 (m,), people behind each. label_of : int64 (c, q), labels numbered through
    all attributes. runs : int64 (g + 1,), label ``i`` covers the codes ``low .. high`` of the runs
    ``runs[i] .. runs[i+1]-1``, int32 (r,) twice, empty where high is below low; the runs of a label share no code.
    rows : int64 (q + 1,), before the codes of each attribute. words : w at a time, so that memory stays at 8 z w bytes.
    Cost O(m · q · c / 64 + covered pairs of a class and a code + covered pairs of a class and a person).
    Ends: each round clears a bit.
    """
    counted = np.zeros(len(label_of), dtype=np.int64)
    table = np.empty((rows[-1], words), dtype=np.uint64)
    for first in range(0, len(label_of), 64 * words):
        beyond = min(first + 64 * words, len(label_of))
        tabulate(table, first, beyond, label_of, runs, low, high, rows)
        for person in range(len(people)):
            for word in range((beyond - first + 63) // 64):
                fitting = table[rows[0] + people[person, 0], word]
                for attribute in range(1, people.shape[1]):
                    fitting = fitting & table[rows[attribute] + people[person, attribute], word]
                while fitting != EMPTY:
                    counted[first + 64 * word + lowest(fitting)] += weights[person]
                    fitting = without_lowest(fitting)
    return counted


@inlined
def tabulate(
    table: Words, first: int, beyond: int, label_of: Int64s, runs: Int64s, low: Int32s, high: Int32s, rows: Int64s
) -> None:
    """Set, for every code, the bits of the classes ``first .. beyond-1`` that cover it."""
    table[:] = EMPTY
    for owner in range(first, beyond):
        word, bit = (owner - first) >> 6, single((owner - first) & 63)
        for attribute in range(label_of.shape[1]):
            label = label_of[owner, attribute]
            for run in range(runs[label], runs[label + 1]):
                for code in range(low[run], high[run] + 1):
                    table[rows[attribute] + code, word] |= bit


@kernel
def summed_shares(
    people: Codes, shares: Floats, label_of: Int64s, runs: Int64s, low: Int32s, high: Int32s, rows: Int64s, words: int
) -> Floats:
    """Sum the shares of the classes that cover each person, in the order of the classes; float64 (m,).

    shares : float64 (c,). All else, and the cost, as :func:`sfumato.kernels.linking.covered_people`.
    Ends: each round clears a bit.
    """
    sums = np.zeros(len(people), dtype=np.float64)
    table = np.empty((rows[-1], words), dtype=np.uint64)
    for first in range(0, len(label_of), 64 * words):
        beyond = min(first + 64 * words, len(label_of))
        tabulate(table, first, beyond, label_of, runs, low, high, rows)
        for person in range(len(people)):
            for word in range((beyond - first + 63) // 64):
                fitting = table[rows[0] + people[person, 0], word]
                for attribute in range(1, people.shape[1]):
                    fitting = fitting & table[rows[attribute] + people[person, attribute], word]
                while fitting != EMPTY:
                    sums[person] += shares[first + 64 * word + lowest(fitting)]
                    fitting = without_lowest(fitting)
    return sums


@kernel
def extremes(
    people: Codes, sums: Floats, label_of: Int64s, runs: Int64s, low: Int32s, high: Int32s, rows: Int64s, words: int
) -> tuple[Floats, Floats]:
    """Return the smallest and the largest sum of the people whom each class covers, float64 (c,) each.

    sums : float64 (m,). A class that covers nobody has infinity and 0. Ends: each round clears a bit.
    """
    least = np.full(len(label_of), np.inf)
    most = np.zeros(len(label_of), dtype=np.float64)
    table = np.empty((rows[-1], words), dtype=np.uint64)
    for first in range(0, len(label_of), 64 * words):
        beyond = min(first + 64 * words, len(label_of))
        tabulate(table, first, beyond, label_of, runs, low, high, rows)
        for person in range(len(people)):
            for word in range((beyond - first + 63) // 64):
                fitting = table[rows[0] + people[person, 0], word]
                for attribute in range(1, people.shape[1]):
                    fitting = fitting & table[rows[attribute] + people[person, attribute], word]
                while fitting != EMPTY:
                    owner = first + 64 * word + lowest(fitting)
                    least[owner] = min(least[owner], sums[person])
                    most[owner] = max(most[owner], sums[person])
                    fitting = without_lowest(fitting)
    return least, most
