"""What is published equals the plain twins, cell by cell."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from naive import recoding as naive
from recoding.small_tables import FORMS, STARRED, SmallTable, small_tables
from sfumato.recoding import Recoding, publish


def published(small: SmallTable, recoding: Recoding | None = None) -> dict[str, list[str | None]]:
    """Every cell as text, records in original order, suppressed ones as stars."""
    generalized = small.recoded(recoding)
    frame = publish(generalized, small.table, np.arange(len(small.class_of)))
    return {name: as_texts(frame[name].to_list()) for name in small.columns}


def as_texts(cells: list[Any]) -> list[str | None]:
    return [None if cell is None else str(cell) for cell in cells]


def twin(small: SmallTable, name: str, form: str) -> list[str | None]:
    tree = small.tree if name == "zone" else None
    return naive.published_column(small.columns[name], small.classes, form, tree)


@given(small_tables())
@examples(80)
def test_default_forms_equal_their_twins(small: SmallTable) -> None:
    cells = published(small)

    assert cells == {name: twin(small, name, FORMS[name]) for name in small.columns}


@given(small_tables(names=("zone", "age"), tree=STARRED))
@examples(40)
def test_a_root_called_star_is_published_as_such(small: SmallTable) -> None:
    assert published(small)["zone"] == twin(small, "zone", "ancestor")


@given(small_tables())
@examples(40)
def test_every_attribute_can_be_published_as_sets(small: SmallTable) -> None:
    cells = published(small, Recoding(forms=dict.fromkeys(small.columns, "set")))

    assert cells == {name: twin(small, name, "set") for name in small.columns}


@given(small_tables(names=("age", "income", "born")))
@examples(60)
def test_means_are_close_to_their_twins_and_everything_else_equal(small: SmallTable) -> None:
    cells = published(small, Recoding(numeric="mean"))

    for name in ("age", "income"):
        present = [value for value in small.columns[name] if value is not None]
        tolerance = max(max(present) - min(present), 1) * 1e-5
        for text, exact in zip(cells[name], twin(small, name, "mean"), strict=True):
            if exact in (None, "*"):
                assert text == exact
            else:
                assert float(str(text)) == pytest.approx(float(exact), abs=tolerance)


@given(small_tables(names=("born",)))
@examples(40)
def test_mean_dates_lie_half_a_day_from_the_mean_of_the_class(small: SmallTable) -> None:
    cells = published(small, Recoding(numeric="mean"))["born"]

    for records in small.classes:
        values = [small.columns["born"][index] for index in records]
        if None in values:
            assert cells[records[0]] == (None if set(values) == {None} else "*")
            continue
        mean = sum(value.toordinal() for value in values) / len(values)
        assert abs(date.fromisoformat(str(cells[records[0]])).toordinal() - mean) <= 0.5


@given(small_tables(), st.randoms(use_true_random=False))
@examples(40)
def test_the_order_of_records_and_the_numbers_of_classes_do_not_show(small: SmallTable, random: Any) -> None:
    order = list(range(len(small.class_of)))
    random.shuffle(order)
    renamed = list(range(len(small.classes)))
    random.shuffle(renamed)
    columns = {name: [values[index] for index in order] for name, values in small.columns.items()}
    owners = [renamed[small.class_of[index]] if small.class_of[index] >= 0 else -1 for index in order]
    shuffled = SmallTable(columns, owners, small.attributes, small.tree)

    before, after = published(small), published(shuffled)

    assert after == {name: [cells[index] for index in order] for name, cells in before.items()}
    original = publish(small.recoded(), small.table, np.array(order))
    assert publish(shuffled.recoded(), shuffled.table, np.arange(len(order))).equals(original)
    assert publish(shuffled.recoded(), shuffled.table, np.arange(len(order))).schema == original.schema
