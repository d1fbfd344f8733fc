"""Top-down search: the values of every attribute are cut as finely as all tables allow, alike in all of them."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.marginals.pieces import Piece, cut, whole
from sfumato.classes.grouping import group_records
from sfumato.table.encoding import EncodedAttribute, EncodedTable


@dataclass(frozen=True, eq=False, repr=False)
class PublishedValues:
    """How values are published.

    Attributes
    ----------
    pieces : tuple of list of tuple
        For every quasi-identifying attribute its pieces, in no order that means anything.
    piece_of : numpy.ndarray
        int32 (n, q), column by column: piece of each record.
    """

    pieces: tuple[list[Piece], ...]
    piece_of: NDArray[np.int32]


def cut_values(
    table: EncodedTable,
    sets: Sequence[Sequence[int]],
    smallest: int,
    satisfied: Callable[[int, NDArray[np.int32], int], bool],
) -> PublishedValues:
    """Cut the values of all attributes, the cut that tells most first, as long as every table stays within the models.

    Parameters
    ----------
    table
        Records.
    sets
        Places of the quasi-identifying attributes of every table.
    smallest
        Records that every cell of a table must have, over all sensitive values.
    satisfied
        Tells for a table, given the cell of every record (int32, (n,)) and their number, whether all other models hold.
        It must hold where all values are whole.

    Notes
    -----
    A cut that breaks a table now breaks it after any further cut, so that each is tried once. What is cut depends on
    how often combinations occur, and not on the order of records. Cost O(n) for each cut that is tried and each table
    of its attribute.
    """
    state = _State(table, sets, smallest, satisfied)
    used = sorted({place for members in sets for place in members})
    queue = [entry for place in used for entry in state.entries(place, whole(table.attributes[place]), 0)]
    heapq.heapify(queue)
    while queue:
        _, place, _, number = heapq.heappop(queue)
        for entry in state.tried(place, number):
            heapq.heappush(queue, entry)
    return PublishedValues(tuple(state.pieces), state.piece_of)


Entry = tuple[float, int, int, int]
"""What a cut tells, negative; attribute; first code; number of the piece."""


class _State:
    """The pieces so far."""

    def __init__(
        self,
        table: EncodedTable,
        sets: Sequence[Sequence[int]],
        smallest: int,
        satisfied: Callable[[int, NDArray[np.int32], int], bool],
    ) -> None:
        self.table = table
        self.sets = sets
        self.smallest = smallest
        self.satisfied = satisfied
        self.pieces: list[list[Piece]] = [[whole(attribute)] for attribute in table.attributes]
        self.piece_of = np.zeros((table.height, len(table.attributes)), dtype=np.int32, order="F")
        self.occurrences = [
            np.bincount(table.codes[:, place], minlength=attribute.cardinality)
            for place, attribute in enumerate(table.attributes)
        ]

    def entries(self, place: int, piece: Piece, number: int) -> Iterator[Entry]:
        """Queue a piece that can be cut, by the bits that its cut tells of all records."""
        attribute = self.table.attributes[place]
        parts = cut(attribute, piece, self.occurrences[place])
        if parts and self.occurrences[place][piece[0] : piece[1] + 1].any():
            yield -self._told(place, parts, attribute), place, piece[0], number

    def tried(self, place: int, number: int) -> Iterator[Entry]:
        """Cut a piece where every table allows it, and queue its parts."""
        parts = cut(self.table.attributes[place], self.pieces[place][number], self.occurrences[place])
        rows = np.flatnonzero(self.piece_of[:, place] == number)
        starts = np.array([first for first, _ in parts])
        part_of = np.searchsorted(starts, self.table.codes[rows, place], side="right") - 1
        numbers = np.array([number, *range(len(self.pieces[place]), len(self.pieces[place]) + len(parts) - 1)])
        before = self.piece_of[rows, place]
        self.piece_of[rows, place] = numbers[part_of]
        if not all(self._holds(own, rows) for own, members in enumerate(self.sets) if place in members):
            self.piece_of[rows, place] = before
            return
        self.pieces[place][number] = parts[0]
        self.pieces[place].extend(parts[1:])
        for part, own in zip(parts, numbers.tolist(), strict=True):
            yield from self.entries(place, part, own)

    def _told(self, place: int, parts: Sequence[Piece], attribute: EncodedAttribute) -> float:
        held = np.array([self.occurrences[place][low : high + 1].sum() for low, high in parts], dtype=np.float64)
        held = held[held > 0]
        return float((held * np.log2(held.sum() / held)).sum()) * attribute.weight

    def _holds(self, own: int, rows: NDArray[np.int64]) -> bool:
        """Tell whether a table holds after a cut among some records, whose cells have no others."""
        members = list(self.sets[own])
        cells, count = group_records(np.ascontiguousarray(self.piece_of[:, members][rows]))
        if count and int(np.bincount(cells, minlength=count).min()) < self.smallest:
            return False
        cells, count = group_records(np.ascontiguousarray(self.piece_of[:, members]))
        return self.satisfied(own, cells, count)
