"""Moving records between parts: stable, complete, and nothing outside the range."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sfumato.kernels.mondrian.cuts import LaidRecords, halve_by_order, move_to_parts

RANGES = st.integers(0, 4).flatmap(
    lambda around: st.tuples(st.just(around), st.lists(st.integers(0, 5), min_size=1, max_size=40))
)


class Laid:
    """Records in the kernels' layout: `around` of them before and after those of the range."""

    def __init__(self, values: list[int], around: int) -> None:
        count = len(values) + 2 * around
        self.low, self.high = around, around + len(values)
        self.words = np.random.default_rng(count).integers(0, 2**63, (count, 2)).astype(np.uint64)
        self.codes = self.words.view(np.uint16)
        self.codes[self.low : self.high, 1] = values
        self.weights = np.arange(count, dtype=np.int32) + 1
        self.rows = np.arange(count, dtype=np.int32) * 7
        size = self.high - self.low
        self.records = LaidRecords(self.codes, self.words, self.weights, self.rows)
        self.spare = LaidRecords(
            self.codes[:0], np.empty((size, 2), np.uint64), np.empty(size, np.int32), np.empty(size, np.int32)
        )

    def listed(self) -> list[tuple[object, ...]]:
        return [
            (*words, weight, row)
            for words, weight, row in zip(self.words.tolist(), self.weights.tolist(), self.rows.tolist(), strict=True)
        ]

    def arranged(self, order: list[int]) -> list[tuple[object, ...]]:
        records = self.listed()
        return records[: self.low] + [records[self.low + place] for place in order] + records[self.high :]


@given(given_range=RANGES, part_of=st.lists(st.integers(0, 4), min_size=6, max_size=6), parts=st.integers(2, 5))
@examples(100)
def test_parts_keep_their_order(given_range: tuple[int, list[int]], part_of: list[int], parts: int) -> None:
    around, values = given_range
    laid = Laid(values, around)
    parted = [min(part_of[value], parts - 1) for value in values]
    expected = laid.arranged(sorted(range(len(values)), key=lambda place: parted[place]))
    bounds = np.full(parts + 1, -1, np.int64)

    move_to_parts(
        laid.records, laid.low, laid.high, 1, np.minimum(part_of, parts - 1).astype(np.int32), parts, bounds, laid.spare
    )

    assert laid.listed() == expected
    assert bounds.tolist() == [around + sum(part < bound for part in parted) for bound in range(parts + 1)]


@given(given_range=RANGES)
@examples(100)
def test_halves_take_equal_values_in_order(given_range: tuple[int, list[int]]) -> None:
    around, values = given_range
    laid = Laid(values, around)
    half = len(values) // 2
    median = sorted(values)[(len(values) - 1) // 2]
    left = sorted(sorted(range(len(values)), key=lambda place: values[place])[:half])
    right = [place for place in range(len(values)) if place not in left]
    expected = laid.arranged(left + right)

    middle = halve_by_order(laid.records, laid.low, laid.high, 1, median, laid.spare)

    assert middle == around + half
    assert laid.listed() == expected
