"""The kernels below recoding equal a few lines of plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sfumato.kernels.boxes import class_boxes, class_starts, class_sums, group_by_class, value_sets

CARDINALITY = 7


@st.composite
def memberships(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    count = draw(st.integers(1, 40))
    extra = draw(st.lists(st.integers(-1, count - 1), max_size=60))
    owners = draw(st.permutations([*range(count), *extra]))
    cells = st.lists(st.integers(0, CARDINALITY - 1), min_size=2, max_size=2)
    codes = draw(st.lists(cells, min_size=len(owners), max_size=len(owners)))
    dtype = draw(st.sampled_from([np.uint8, np.uint16, np.uint32]))
    return np.array(owners, dtype=np.int32), np.array(codes, dtype=dtype), count


def of_class(owners: np.ndarray, column: np.ndarray, number: int) -> list[int]:
    return [int(code) for owner, code in zip(owners, column, strict=True) if owner == number]


@given(memberships())
@examples(60)
def test_boxes_and_sums(drawn: tuple[np.ndarray, np.ndarray, int]) -> None:
    owners, codes, count = drawn
    numbers = np.linspace(-2.0, 4.0, CARDINALITY)

    low, high = class_boxes(owners, codes, count)
    sums = class_sums(owners, codes[:, 1], numbers, count)

    for number in range(count):
        for column in range(2):
            cells = of_class(owners, codes[:, column], number)
            assert (low[number, column], high[number, column]) == (min(cells), max(cells))
        assert np.isclose(sums[number], sum(numbers[code] for code in of_class(owners, codes[:, 1], number)))


@given(memberships())
@examples(60)
def test_value_sets(drawn: tuple[np.ndarray, np.ndarray, int]) -> None:
    owners, codes, count = drawn
    starts = class_starts(np.bincount(owners[owners >= 0], minlength=count))

    grouped = group_by_class(owners, codes, np.array([1, 0]), starts)
    set_of, bounds, members = value_sets(grouped[:, 0], starts, CARDINALITY)

    expected = [sorted(set(of_class(owners, codes[:, 1], number))) for number in range(count)]
    sets = [members[bounds[index] : bounds[index + 1]].tolist() for index in range(len(bounds) - 1)]
    assert [sets[index] for index in set_of] == expected
    assert len(sets) == len({tuple(values) for values in expected})
    for number in range(count):
        assert grouped[starts[number] : starts[number + 1], 1].tolist() == of_class(owners, codes[:, 0], number)


def test_many_distinct_sets_outgrow_every_first_allocation() -> None:
    # All subsets of ten codes, twice.
    subsets = [[code for code in range(10) if number >> code & 1] for number in range(1, 1024)] * 2
    codes = np.array([code for subset in subsets for code in subset], dtype=np.uint16)
    starts = class_starts(np.array([len(subset) for subset in subsets]))

    set_of, bounds, members = value_sets(codes, starts, 10)

    assert len(bounds) == 1024
    assert [members[bounds[index] : bounds[index + 1]].tolist() for index in set_of] == subsets
