"""Records in random order without holding them: each is dealt to a part, and every part is shuffled by itself.

Letters: n records, p parts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.randomness import permutation

PART = 500_000
"""Records of a part, about: how many parts there are follows from the number of records alone."""


def part_count(records: int) -> int:
    """Return the number of parts of a release."""
    return -(-records // PART)


def part_of(places: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the part of each place in the published order."""
    return places // np.uint32(PART)


def rows_of_parts(records: int) -> Iterator[slice]:
    """Yield the places of each part."""
    for start in range(0, records, PART):
        yield slice(start, start + PART)


class Dealer:
    """Says where each record stands in the published order; ask for every record once, from the first on.

    Without a seed each record is dealt to a part by 32 bits of the operating system, and each part is shuffled when it
    is written: that is a random order of all records, and no number of it is kept. With a seed the order is the one of
    :func:`sfumato.randomness.permutation`, as in memory; drawing it takes sixteen bytes a record for a moment, keeping
    it four.
    """

    def __init__(self, records: int, seed: int | None) -> None:
        self.parts = part_count(records)
        self._seed = seed
        self._places: NDArray[np.uint32] | None = None
        if seed is not None:
            self._places = np.empty(records, dtype=np.uint32)
            self._places[permutation(records, seed)] = np.arange(records, dtype=np.uint32)

    def deal(self, rows: slice) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Return part and place of each of the next records; places are only compared inside of a part."""
        if self._places is not None:
            places = self._places[rows]
            return part_of(places), places
        drawn = np.frombuffer(os.urandom(4 * (rows.stop - rows.start)), dtype=np.uint32).astype(np.uint64)
        return (drawn * np.uint64(self.parts) >> np.uint64(32)).astype(np.uint32), np.zeros(len(drawn), dtype=np.uint32)

    def order(self, places: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return the order in which the records of a part are written."""
        return permutation(len(places), None) if self._places is None else np.argsort(places)
