"""How surely people are in a published table, by the classes that cover them. Letters as in the module on coverage."""

from __future__ import annotations

import numpy as np

from sfumato.kernels.bits import EMPTY, lowest, single, without_lowest
from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.types import Codes, Floats, Int32s, Int64s, Words

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

    shares : float64 (c,). All else, and the cost, as :func:`sfumato.kernels.linking.presence.covered_people`.
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
