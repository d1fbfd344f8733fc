"""Sliced tables say of every column what it is: nothing stands beside the columns that are counted."""

from __future__ import annotations

import polars as pl
import pytest

from sfumato.errors import InputError
from sfumato.published import SlicedTable
from sfumato.published.apart import labels_of

FRAME = pl.DataFrame({"bucket": [0, 0], "age": [1, 2], "zip": ["a", "b"], "wage": [3, 4]})
COLUMNS = (("age", "zip"), ("wage",))


def test_a_table_with_its_columns():
    assert SlicedTable(FRAME, COLUMNS, ("wage",), ("zip",)).columns == COLUMNS


@pytest.mark.parametrize(
    ("columns", "sensitive", "insensitive", "said"),
    [
        ((("age",), ("wage",)), ("wage",), (), "1 column too many"),
        ((("age", "bucket"), ("zip",), ("wage",)), ("wage",), (), "named twice"),
        ((("age", "age"), ("zip",), ("wage",)), ("wage",), (), "twice in one column"),
        ((("age", "zip"), ()), (), (), "at least one attribute"),
        ((), (), (), "at least one attribute"),
        (COLUMNS, ("wage",), ("wage",), "two roles"),
        (COLUMNS, ("wage", "wage"), (), "two roles"),
        (COLUMNS, ("income",), (), "in no column"),
        (COLUMNS, ("wage",), ("income",), "in no column"),
    ],
)
def test_a_structure_that_does_not_fit(columns, sensitive, insensitive, said):
    with pytest.raises(InputError, match=said):
        SlicedTable(FRAME, columns, sensitive, insensitive)


@pytest.mark.parametrize("buckets", [[0.0, 1.0], ["0", "1"], [0, None]])
def test_buckets_are_whole_numbers(buckets):
    with pytest.raises(InputError, match="whole numbers"):
        SlicedTable(FRAME.with_columns(bucket=pl.Series(buckets)), COLUMNS, ("wage",))


def test_copies_are_numbered_and_never_take_the_name_of_another_attribute():
    assert labels_of((("age", "zip"), ("age",), ("age", "wage"))) == (("age", "zip"), ("age (2)",), ("age (3)", "wage"))
    assert labels_of((("age",), ("age", "age (2)"), ("age",))) == (("age",), ("age (3)", "age (2)"), ("age (4)",))
    assert labels_of((("age", "age (2)"), ("age (2)",))) == (("age", "age (2)"), ("age (2) (2)",))
