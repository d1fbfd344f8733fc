"""Losses of parts of a table, added up in any order, are those of the table to the last digit."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from recoding.small_tables import SmallTable, small_tables
from sfumato.classes.partition import Partition
from sfumato.metrics import measure_losses
from sfumato.metrics.losses import UNIT, LossSums, exact_sum, loss_sums, losses_of
from sfumato.recoding import TIGHT, Recoding, recode

OTHERS = {"entropy", "squared_error", "classification"}
"""Losses that need more of the whole table than sums."""


def sums_of_parts(small: SmallTable, part_of: list[int], k: int, recoding: Recoding) -> list[LossSums]:
    """Recode and measure parts by themselves; the last entry is the part of the suppressed records."""
    encoded, class_of = small.encoded(), np.array(small.class_of, dtype=np.int32)
    found = []
    for number in sorted(set(part_of)):
        rows = np.flatnonzero(np.array(part_of)[class_of] == number)
        if len(rows):
            classes = np.unique(class_of[rows][class_of[rows] >= 0])
            own = np.where(class_of[rows] < 0, -1, np.searchsorted(classes, class_of[rows])).astype(np.int32)
            part = recode(replace(encoded, codes=encoded.codes[rows]), Partition(own, len(classes)), recoding)
            found.append(loss_sums(part, k))
    return found


@pytest.mark.parametrize("recoding", [TIGHT, Recoding(), Recoding(numeric="mean")], ids=["tight", "round", "mean"])
@given(small=small_tables(), k=st.integers(1, 3), data=st.data())
@examples(200)
def test_losses_of_parts_add_up_to_the_digit(
    recoding: Recoding, small: SmallTable, k: int, data: st.DataObject
) -> None:
    count = len(small.classes)
    part_of = data.draw(st.lists(st.integers(0, 3), min_size=count + 1, max_size=count + 1))
    parts = data.draw(st.permutations(sums_of_parts(small, part_of, k, recoding)))
    whole = small.recoded(recoding)
    together = reduce(add, parts)
    assert together == loss_sums(whole, k)
    weights = {name: attribute.weight for name, attribute in small.attributes.items()}
    mine, theirs = losses_of(together, weights, k), measure_losses(whole, k)
    for field in dataclasses.fields(theirs):
        if field.name not in OTHERS:
            assert getattr(mine, field.name) == getattr(theirs, field.name), field.name


@given(
    st.lists(st.tuples(st.integers(0, 2**31 // 50), st.floats(0, 1)), min_size=1, max_size=50),
    st.integers(0, 2**31),
    st.floats(0, 1),
)
@examples(300)
def test_sums_are_exact_to_the_unit(cells: list[tuple[int, float]], suppressed: int, charge: float) -> None:
    records, losses = np.array([count for count, _ in cells]), np.array([loss for _, loss in cells])
    found = exact_sum(records, losses, suppressed, charge)
    wanted = sum((count * Fraction(loss) for count, loss in [*cells, (suppressed, charge)]), Fraction(0)) * UNIT
    if min([*losses, charge]) >= 2**-10:
        assert found == wanted
    # Half a unit for each record.
    assert abs(found - wanted) <= Fraction(int(records.sum()) + suppressed, 2)
    middle = len(cells) // 2
    halves = (exact_sum(records[low:high], losses[low:high]) for low, high in pairwise([0, middle, len(cells)]))
    assert sum(halves) == exact_sum(records, losses)
