"""How surely people are in a published table, by the classes that cover them. Letters as in the module on coverage."""

from __future__ import annotations

import numpy as np

from sfumato.kernels.bits import EMPTY, lowest, without_lowest
from sfumato.kernels.jit import kernel
from sfumato.kernels.linking.coverage import tabulate
from sfumato.kernels.types import Codes, Floats, Int32s, Int64s


@kernel
def summed_shares(
    people: Codes, shares: Floats, label_of: Int64s, runs: Int64s, low: Int32s, high: Int32s, rows: Int64s, words: int
) -> Floats:
    """Sum the shares of the classes that cover each person, in the order of the classes; float64 (m,).

    shares : float64 (c,). All else, and the cost, as :func:`sfumato.kernels.linking.coverage.covered_people`.
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

    sums : float64 (m,). A class that covers nobody has infinity and 0.
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
