"""The published classes that fit each person: which they are, or how much they weigh together.

Letters and arrays as in :mod:`sfumato.kernels.linking.linkage`.
"""

from __future__ import annotations

import numpy as np

from sfumato.kernels.bits import EMPTY, lowest, without_lowest
from sfumato.kernels.jit import kernel
from sfumato.kernels.linking.linkage import does_fit, every_class, may_fit
from sfumato.kernels.types import Floats, Int32s, Int64s, Words


@kernel
def fitting_weight(
    people: Int32s,
    label_of: Int32s,
    runs: Int64s,
    low: Int32s,
    high: Int32s,
    rows: Int64s,
    shifts: Int64s,
    table: Words,
    weights: Floats,
) -> Floats:
    """Add up the weights of the classes whose labels all cover a person's values.

    people … table : as for :func:`sfumato.kernels.linking.linkage.count_candidates`. weights : float64 (c,).
    Returns float64 (m,). Cost O(m · w · q + the fitting (person, class) pairs).
    """
    everyone = every_class(label_of.shape[0])
    total = np.zeros(len(people))
    for person in range(len(people)):
        for word in range(len(everyone)):
            fitting = may_fit(people, person, rows, shifts, table, word, everyone[word])
            while fitting != EMPTY:
                owner = 64 * word + lowest(fitting)
                fitting = without_lowest(fitting)
                if does_fit(people, person, label_of, owner, runs, low, high, shifts):
                    total[person] += weights[owner]
    return total


@kernel
def fitting_pairs(
    people: Int32s,
    label_of: Int32s,
    runs: Int64s,
    low: Int32s,
    high: Int32s,
    rows: Int64s,
    shifts: Int64s,
    table: Words,
) -> tuple[Int64s, Int64s]:
    """List all pairs of a person and a class whose labels all cover the person's values, in rising order.

    people … table : as for :func:`fitting_weight`. Returns person and class of each pair, int64. Cost as there.
    """
    everyone = every_class(label_of.shape[0])
    person_of, class_of = np.empty(len(people) + 1, dtype=np.int64), np.empty(len(people) + 1, dtype=np.int64)
    found = 0
    for person in range(len(people)):
        for word in range(len(everyone)):
            fitting = may_fit(people, person, rows, shifts, table, word, everyone[word])
            while fitting != EMPTY:
                owner = 64 * word + lowest(fitting)
                fitting = without_lowest(fitting)
                if does_fit(people, person, label_of, owner, runs, low, high, shifts):
                    if found == len(person_of):
                        person_of = np.concatenate((person_of, np.empty_like(person_of)))
                        class_of = np.concatenate((class_of, np.empty_like(class_of)))
                    person_of[found], class_of[found] = person, owner
                    found += 1
    return person_of[:found].copy(), class_of[:found].copy()
