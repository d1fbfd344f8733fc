"""Which published classes fit each person of a register, and what their records say.

Letters: m people, q shared attributes, c classes, g labels of all attributes together, r runs of all labels together,
w words of 64 classes, v sensitive values, z non-zero (class, value) pairs.

A label covers the codes of its attribute in one or more runs, ``low .. high`` each. A table of bits has a row per code,
one bit per class that covers it, so that 64 classes are tested at a time. Where an attribute has too many codes for
that, neighbouring codes share a row, and the classes that are left are tested once more, one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.kernels.bits import EMPTY, lowest, single, without_lowest
from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.types import Int32s, Int64s, Words

UNKNOWN = -1
"""Code of a value that the register does not tell; it fits every class."""


@kernel
def covering_classes(
    label_of: Int32s,
    runs: Int64s,
    low: Int32s,
    high: Int32s,
    rows: Int64s,
    shifts: Int64s,
) -> Words:
    """Tabulate which classes cover each code, or one of the codes that share a row.

    label_of : int32 (c, q), labels numbered through all attributes. runs : int64 (g + 1,), label ``i`` owns the runs
    ``runs[i] .. runs[i+1]-1`` of low and high, int32 (r,). rows : int64 (q + 1,), the first row of each attribute.
    shifts : int64 (q,), a code's row is ``code >> shift`` below that. Returns uint64 (rows, w). Cost: the covered pairs
    of a class and a row.
    """
    classes = label_of.shape[0]
    table = np.zeros((rows[-1], (classes + 63) // 64), dtype=np.uint64)
    for attribute in range(label_of.shape[1]):
        first, shift = rows[attribute], shifts[attribute]
        for owner in range(classes):
            bit = single(owner & 63)
            label = label_of[owner, attribute]
            for run in range(runs[label], runs[label + 1]):
                for row in range(low[run] >> shift, (high[run] >> shift) + 1):
                    table[first + row, owner >> 6] |= bit
    return table


@kernel
def count_candidates(
    people: Int32s,
    label_of: Int32s,
    runs: Int64s,
    low: Int32s,
    high: Int32s,
    rows: Int64s,
    shifts: Int64s,
    table: Words,
    sizes: Int64s,
    starts: Int64s,
    values: Int32s,
    counts: Int64s,
    known_values: int,
) -> tuple[Int64s, Int32s, Int64s]:
    """Count the records that fit each person, and how many of them have the sensitive value that most of them have.

    people : int32 (m, q), codes, `UNKNOWN` where the register tells nothing. label_of, runs, low, high, rows, shifts :
    as in :func:`covering_classes`, whose result is `table`. sizes : int64 (c,). starts, values, counts : compressed
    rows of sensitive counts, (c + 1,) and (z,) twice. known_values : v.
    Returns the candidates int64 (m,), the likeliest value int32 (m,) (the smallest of equals, −1 without candidates),
    and the candidates that have it int64 (m,). Cost O(m · w · q + the fitting (person, class) pairs).
    """
    everyone = every_class(label_of.shape[0])
    candidates = np.zeros(len(people), dtype=np.int64)
    likeliest = np.full(len(people), -1, dtype=np.int32)
    agreeing = np.zeros(len(people), dtype=np.int64)
    tally = np.zeros(known_values, dtype=np.int64)
    seen = np.empty(known_values, dtype=np.int32)
    for person in range(len(people)):
        values_seen = 0
        for word in range(len(everyone)):
            fitting = may_fit(people, person, rows, shifts, table, word, everyone[word])
            while fitting != EMPTY:
                owner = 64 * word + lowest(fitting)
                fitting = without_lowest(fitting)
                if not does_fit(people, person, label_of, owner, runs, low, high, shifts):
                    continue
                candidates[person] += sizes[owner]
                for entry in range(starts[owner], starts[owner + 1]):
                    value = values[entry]
                    if tally[value] == 0:
                        seen[values_seen] = value
                        values_seen += 1
                    tally[value] += counts[entry]
        for place in range(values_seen):
            value = seen[place]
            ahead = tally[value] > agreeing[person]
            if ahead or (tally[value] == agreeing[person] and value < likeliest[person]):
                likeliest[person], agreeing[person] = value, tally[value]
            tally[value] = 0
    return candidates, likeliest, agreeing


@kernel
def tally_candidates(
    people: Int32s,
    label_of: Int32s,
    runs: Int64s,
    low: Int32s,
    high: Int32s,
    rows: Int64s,
    shifts: Int64s,
    table: Words,
    starts: Int64s,
    values: Int32s,
    counts: Int64s,
    known_values: int,
) -> Int64s:
    """Count the records that fit each person by their sensitive value.

    Arrays as for :func:`count_candidates`. Returns int64 (m, v). Cost O(m · (w · q + v) + the fitting (person, class)
    pairs).
    """
    everyone = every_class(label_of.shape[0])
    tallies = np.zeros((len(people), known_values), dtype=np.int64)
    for person in range(len(people)):
        for word in range(len(everyone)):
            fitting = may_fit(people, person, rows, shifts, table, word, everyone[word])
            while fitting != EMPTY:
                owner = 64 * word + lowest(fitting)
                fitting = without_lowest(fitting)
                if does_fit(people, person, label_of, owner, runs, low, high, shifts):
                    for entry in range(starts[owner], starts[owner + 1]):
                        tallies[person, values[entry]] += counts[entry]
    return tallies


@kernel
def count_own(
    people: Int32s,
    label_of: Int32s,
    runs: Int64s,
    low: Int32s,
    high: Int32s,
    rows: Int64s,
    shifts: Int64s,
    table: Words,
    sizes: Int64s,
    starts: Int64s,
    values: Int32s,
    counts: Int64s,
    own: Int64s,
) -> tuple[Int64s, Int64s]:
    """Count the records that fit each person, and those of them that have the person's own value.

    own : int64 (m,), the value that each person really has; −1 where no record has it. Other arrays as for
    :func:`count_candidates`. Returns int64 (m,) twice. Cost as there, and a search in each fitting class.
    """
    everyone = every_class(label_of.shape[0])
    candidates = np.zeros(len(people), dtype=np.int64)
    alike = np.zeros(len(people), dtype=np.int64)
    for person in range(len(people)):
        for word in range(len(everyone)):
            fitting = may_fit(people, person, rows, shifts, table, word, everyone[word])
            while fitting != EMPTY:
                owner = 64 * word + lowest(fitting)
                fitting = without_lowest(fitting)
                if does_fit(people, person, label_of, owner, runs, low, high, shifts):
                    candidates[person] += sizes[owner]
                    for entry in range(starts[owner], starts[owner + 1]):
                        if values[entry] == own[person]:
                            alike[person] += counts[entry]
    return candidates, alike


@kernel
def only_classes(
    people: Int32s,
    label_of: Int32s,
    runs: Int64s,
    low: Int32s,
    high: Int32s,
    rows: Int64s,
    shifts: Int64s,
    table: Words,
) -> Int64s:
    """Find the only class that fits each person; −1 where none does, or several.

    Arrays as for :func:`count_candidates`. Returns int64 (m,). Cost O(m · w · q) and a look at two fitting classes.
    """
    everyone = every_class(label_of.shape[0])
    found = np.full(len(people), -1, dtype=np.int64)
    for person in range(len(people)):
        several = False
        for word in range(len(everyone)):
            fitting = may_fit(people, person, rows, shifts, table, word, everyone[word])
            while fitting != EMPTY and not several:
                owner = 64 * word + lowest(fitting)
                fitting = without_lowest(fitting)
                if does_fit(people, person, label_of, owner, runs, low, high, shifts):
                    several = found[person] >= 0
                    found[person] = -1 if several else owner
            if several:
                break
    return found


@inlined
def every_class(classes: int) -> Any:
    """Return a row with the bit of every class set, and no other: uint64 (w,)."""
    row = np.zeros((classes + 63) // 64, dtype=np.uint64)
    for owner in range(classes):
        row[owner >> 6] |= single(owner & 63)
    return row


@inlined
def may_fit(people: Any, person: int, rows: Any, shifts: Any, table: Any, word: int, fitting: Any) -> Any:
    """Return which of 64 classes may cover the person's values."""
    for attribute in range(people.shape[1]):
        code = people[person, attribute]
        if code >= 0:
            fitting = fitting & table[rows[attribute] + (code >> shifts[attribute]), word]
    return fitting


@inlined
def does_fit(people: Any, person: int, label_of: Any, owner: int, runs: Any, low: Any, high: Any, shifts: Any) -> bool:
    """Tell whether a class covers the person's values where codes share rows; the table has settled the others."""
    for attribute in range(people.shape[1]):
        code = people[person, attribute]
        if code < 0 or shifts[attribute] == 0:
            continue
        label = label_of[owner, attribute]
        covered = False
        for run in range(runs[label], runs[label + 1]):
            if low[run] <= code <= high[run]:
                covered = True
                break
        if not covered:
            return False
    return True
