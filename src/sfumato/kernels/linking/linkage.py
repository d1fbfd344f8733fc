"""Which published classes fit each person of a register, and what their records say.

Letters: m people, q shared attributes, c classes, g labels of all attributes together, r runs of all labels together,
w words of 64 classes, v sensitive values, z non-zero (class, value) pairs.

A label covers the codes of its attribute in one or more runs, ``low .. high`` each. A table of bits has a row per code,
one bit per class that covers it, so that 64 classes are tested at a time. Where an attribute has too many codes for
that, neighbouring codes share a row, and the classes that are left are tested once more, one by one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.bits import EMPTY, ONE, lowest, single, without_lowest
from sfumato.kernels.jit import borrowing, linear, sized
from sfumato.kernels.types import Floats, Int32s, Int64s, Words

UNKNOWN = -1
"""Code of a value that the register does not tell; it fits every class."""


class Coverage(NamedTuple):
    """What classes cover, and where the table of bits has it.

    Attributes
    ----------
    label_of : numpy.ndarray
        int32 (c, q), labels numbered through all attributes.
    runs : numpy.ndarray
        int64 (g + 1,), label ``i`` owns the runs ``runs[i] .. runs[i+1]-1`` of low and high.
    low, high : numpy.ndarray
        int32 (r,).
    rows : numpy.ndarray
        int64 (q + 1,), the first row of each attribute.
    shifts : numpy.ndarray
        int64 (q,), a code's row is ``code >> shift`` below that.
    """

    label_of: Int32s
    runs: Int64s
    low: Int32s
    high: Int32s
    rows: Int64s
    shifts: Int64s


class ClassValues(NamedTuple):
    """Compressed rows of sensitive counts.

    Attributes
    ----------
    starts : numpy.ndarray
        int64 (c + 1,).
    values : numpy.ndarray
        int32 (z,).
    counts : numpy.ndarray
        int64 (z,).
    """

    starts: Int64s
    values: Int32s
    counts: Int64s


def looking(people: Int32s, coverage: Coverage, table: Words, *_: object) -> float:
    """Say how many steps a kernel takes that looks for the classes of all people."""
    return float(people.size * table.shape[1])


@linear
def covering_classes(coverage: Coverage) -> Words:
    """Tabulate which classes cover each code, or one of the codes that share a row; uint64 (rows, w).

    Cost: the covered pairs of a class and a row.
    """
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
def fitting_classes(people: Int32s, person: int, coverage: Coverage, table: Words, most: int, fitting: Int64s) -> int:
    """List the classes whose labels all cover a person's values, `most` of them, in rising order; return how many.

    people : int32 (m, q), codes, `UNKNOWN` where the register tells nothing. table : as :func:`covering_classes`
    returns it. fitting : int64, room for `most`. Cost O(w · q + the fitting classes).
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
def _does_fit(people: Int32s, person: int, owner: int, coverage: Coverage) -> bool:
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
    people: Int32s, coverage: Coverage, table: Words, sizes: Int64s, held: ClassValues, known_values: int
) -> tuple[Int64s, Int32s, Int64s]:
    """Count the records that fit each person, and how many of them have the sensitive value that most of them have.

    people, table : as for :func:`fitting_classes`. sizes : int64 (c,). known_values : v.
    Returns the candidates int64 (m,), the likeliest value int32 (m,) (the smallest of equals, −1 without candidates),
    and the candidates that have it int64 (m,). Cost O(m · w · q + the fitting (person, class) pairs).
    """
    fitting = np.empty(len(sizes) + 1, dtype=np.int64)
    candidates = np.zeros(len(people), dtype=np.int64)
    likeliest = np.full(len(people), -1, dtype=np.int32)
    agreeing = np.zeros(len(people), dtype=np.int64)
    tally = np.zeros(known_values, dtype=np.int64)
    seen = np.empty(known_values, dtype=np.int32)
    for person in range(len(people)):
        values_seen = 0
        for place in range(fitting_classes(people, person, coverage, table, len(fitting), fitting)):
            owner = fitting[place]
            candidates[person] += sizes[owner]
            for entry in range(held.starts[owner], held.starts[owner + 1]):
                value = held.values[entry]
                if tally[value] == 0:
                    seen[values_seen] = value
                    values_seen += 1
                tally[value] += held.counts[entry]
        for place in range(values_seen):
            value = seen[place]
            ahead = tally[value] > agreeing[person]
            if ahead or (tally[value] == agreeing[person] and value < likeliest[person]):
                likeliest[person], agreeing[person] = value, tally[value]
            tally[value] = 0
    return candidates, likeliest, agreeing


@sized(looking)
def tally_candidates(people: Int32s, coverage: Coverage, table: Words, held: ClassValues, known_values: int) -> Int64s:
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
    people: Int32s, coverage: Coverage, table: Words, sizes: Int64s, held: ClassValues, own: Int64s
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
def only_classes(people: Int32s, coverage: Coverage, table: Words) -> Int64s:
    """Find the only class that fits each person; −1 where none does, or several.

    Arguments as for :func:`fitting_classes`. Returns int64 (m,). Cost O(m · w · q).
    """
    fitting = np.empty(2, dtype=np.int64)
    found = np.full(len(people), -1, dtype=np.int64)
    for person in range(len(people)):
        if fitting_classes(people, person, coverage, table, 2, fitting) == 1:
            found[person] = fitting[0]
    return found


@sized(looking)
def fitting_weight(people: Int32s, coverage: Coverage, table: Words, weights: Floats) -> Floats:
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
def fitting_pairs(people: Int32s, coverage: Coverage, table: Words) -> tuple[Int64s, Int64s]:
    """List all pairs of a person and a class that fits, in rising order: person and class of each, int64.

    Arguments as for :func:`fitting_classes`. Cost as for :func:`fitting_weight`.
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
