"""Statistics of parts of a table, put together, are those of the table, and every model says the same of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from examples import examples
from models.small_tables import CASES, Case, encode, memberships
from sfumato.classes.statistics import ClassStatistics, class_statistics, join_statistics
from sfumato.models import DistinctLDiversity, KAnonymity, SubsetKAnonymity
from sfumato.table.encoding import EncodedTable


def parts_of(table: EncodedTable, class_of: NDArray[np.int32], part_of: NDArray[np.int64]) -> list[ClassStatistics]:
    """Count parts by themselves; part_of : int64 (c + 1,), the part of each class, and of all suppressed records."""
    rows = [np.flatnonzero(part_of[class_of] == number) for number in range(int(part_of.max()) + 1)]
    numbered = []
    for mine in rows:
        classes = np.unique(class_of[mine][class_of[mine] >= 0])
        own = np.where(class_of[mine] < 0, -1, np.searchsorted(classes, class_of[mine])).astype(np.int32)
        numbered.append((own, len(classes), table.sensitive_codes[mine]))
    counted = [
        [
            np.bincount(codes[own >= 0, column], minlength=attribute.cardinality)
            for column, attribute in enumerate(table.sensitive)
        ]
        for own, _, codes in numbered
    ]
    whole = tuple(sum(column) for column in zip(*counted, strict=True))
    return [class_statistics(own, count, codes, table.sensitive, whole) for own, count, codes in numbered]


@given(drawn=memberships(), case=st.one_of(*CASES.values()), data=st.data())
@examples(300)
def test_parts_add_up_to_the_whole(drawn: tuple[list[int], list[int | None]], case: Case, data: st.DataObject) -> None:
    owners, picks = drawn
    table, class_of = encode(case.column(picks)), np.array(owners, dtype=np.int32)
    count = int(class_of.max(initial=-1)) + 1
    part_of = np.array(data.draw(st.lists(st.integers(0, 3), min_size=count + 1, max_size=count + 1)))
    # Parts stand side by side: their classes are those of the whole table in another order.
    order = np.argsort(part_of[:count], kind="stable")
    place = np.append(np.argsort(order), -1).astype(np.int32)
    whole = class_statistics(place[class_of], count, table.sensitive_codes, table.sensitive)
    parts = parts_of(table, class_of, part_of)
    together = join_statistics(parts)

    assert together.sizes.tolist() == whole.sizes.tolist()
    mine, theirs = together.sensitive["s"], whole.sensitive["s"]
    for field in ("starts", "values", "counts", "totals"):
        assert getattr(mine, field).dtype == getattr(theirs, field).dtype
        assert getattr(mine, field).tolist() == getattr(theirs, field).tolist()
    assert (mine.leaf_of is None) == (theirs.leaf_of is None)
    assert mine.leaf_of is None or mine.leaf_of.tolist() == theirs.leaf_of.tolist()
    verdict = case.model.holds(whole).tolist()
    assert case.model.holds(together).tolist() == verdict
    assert list(case.model.achieved(together)) == list(case.model.achieved(whole))
    # A part knows the totals, so that whoever holds it alone judges its classes as the whole table does.
    alone = [held for part in parts if part.count for held in case.model.holds(part).tolist()]
    assert alone == verdict


def test_what_classes_publish_is_joined_where_all_parts_say_it() -> None:
    sizes = np.array([2, 2])
    one = ClassStatistics(sizes, {}, np.array([[0, 1], [1, 1]], dtype=np.int32))
    other = ClassStatistics(sizes, {}, np.array([[2, 0], [0, -1]], dtype=np.int32))
    both = join_statistics([one, other])
    assert both.published is not None
    assert both.published.tolist() == [[0, 1], [1, 1], [2, 0], [0, -1]]
    # Classes of two parts have the first value together.
    assert SubsetKAnonymity(3, 1).holds(both).tolist() != SubsetKAnonymity(3, 1).holds(one).tolist() * 2
    assert join_statistics([one, ClassStatistics(sizes, {})]).published is None


def test_parts_that_were_counted_by_themselves_are_refused() -> None:
    case = Case(DistinctLDiversity(2), "distinct", {"l": 2})
    table = encode(case.column([0, 1, 2, 2]))
    parts = [
        class_statistics(np.zeros(2, dtype=np.int32), 1, table.sensitive_codes[rows], table.sensitive)
        for rows in ([0, 1], [2, 3])
    ]
    with pytest.raises(ValueError, match="counted with its totals"):
        join_statistics(parts)
    with pytest.raises(ValueError, match="all of a table"):
        join_statistics(parts_of(table, np.array([0, 0, 1, 1], dtype=np.int32), np.array([0, 1, 0]))[:1])
    assert KAnonymity(2).holds(join_statistics([ClassStatistics(np.array([1, 2]), {})])).tolist() == [False, True]
