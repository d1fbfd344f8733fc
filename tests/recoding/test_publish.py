"""The published frame: types, order, categories, suppressed records, and nothing else."""

from __future__ import annotations

from datetime import date

import numpy as np
import polars as pl
import pytest

from recoding.small_tables import SmallTable
from sfumato.classes.partition import Partition
from sfumato.errors import InputError
from sfumato.recoding import publish, recode
from sfumato.table.encoding import encode
from sfumato.table.schema import Kind, Schema
from sfumato.table.table import Table

FRAME = pl.DataFrame(
    {
        "note": ["x", "y", None, "x", "z"],
        "age": [40, 30, 30, 30, 77],
        "smokes": [True, False, False, True, None],
        "sex": pl.Series(["m", "f", "f", "f", "x"], dtype=pl.Categorical),
        "born": [date(1980, 1, 1), date(1990, 1, 1), date(1990, 1, 1), date(1990, 1, 1), date(2001, 1, 1)],
        "disease": pl.Series(["flu", "cold", "cold", None, "gout"], dtype=pl.Categorical),
        "visits": [3, 1, 2, 2, 9],
    }
)
KINDS = {
    "age": Kind.NUMERIC,
    "smokes": Kind.BOOLEAN,
    "sex": Kind.CATEGORICAL,
    "born": Kind.DATE,
    "disease": Kind.CATEGORICAL,
}
TABLE = Table(
    FRAME,
    Schema(quasi_identifying=["age", "smokes", "sex", "born"], sensitive=["disease"], insensitive=["note", "visits"]),
    KINDS,
)


def published(class_of: list[int], order: list[int]) -> pl.DataFrame:
    owners = np.array(class_of, dtype=np.int32)
    generalized = recode(encode(TABLE), Partition(owners, max(class_of) + 1))
    return publish(generalized, TABLE, np.array(order))


def test_generalized_columns_are_enums_and_unchanged_ones_keep_their_type() -> None:
    frame = published([0, 1, 1, 1, -1], [3, 0, 1, 2])

    assert frame.columns == FRAME.columns
    assert frame["age"].to_list() == [30, 40, 30, 30]
    assert frame["age"].dtype == pl.Int64
    assert frame["born"].dtype == pl.Date
    assert frame["smokes"].to_list() == ["{false|true}", "true", "{false|true}", "{false|true}"]
    assert frame["sex"].dtype == pl.Enum(["f", "m"])
    assert frame["visits"].to_list() == [2, 3, 1, 2]
    assert frame["note"].to_list() == ["x", "x", "y", None]
    assert frame["disease"].to_list() == [None, "flu", "cold", "cold"]


def test_dropped_values_leave_no_trace_in_the_categories() -> None:
    frame = published([0, 1, 1, 1, -1], [2, 1, 0, 3])

    assert frame["disease"].dtype == pl.Enum(["cold", "flu"])
    assert frame["smokes"].dtype == pl.Enum(["true", "{false|true}"])


def test_an_unchanged_boolean_column_stays_boolean() -> None:
    frame = published([0, 1, 1, 0, -1], [0, 1, 2, 3])

    assert frame["smokes"].to_list() == [True, False, False, True]
    assert frame["age"].to_list() == ["[30..40]", "30", "30", "[30..40]"]  # counted in tens: 55 is left out


def test_suppressed_records_become_one_class_of_stars() -> None:
    frame = published([-1, 0, 0, 0, -1], [0, 1, 2, 3, 4])

    for name in ("age", "smokes", "sex", "born"):
        cells = frame[name].to_list()
        assert cells[0] == cells[4] == "*"
        assert "*" not in cells[1:4]
    assert frame["disease"].to_list() == FRAME["disease"].to_list()


def test_the_missing_value_alone_is_null() -> None:
    frame = published([0, 0, 0, 0, 1], [4, 0])

    assert frame["smokes"].to_list() == [None, "{false|true}"]
    assert frame["smokes"].dtype == pl.Enum(["{false|true}"])


def test_exact_values_that_look_like_notation_are_told_apart() -> None:
    words = ["*", "{a|b}", "\\x", "a|b"]
    attributes = {"word": TABLE.schema.quasi_identifying["sex"]}
    small = SmallTable({"word": words}, [0, 1, 2, 3], attributes, {})

    frame = publish(small.recoded(), small.table, np.arange(4))

    assert frame["word"].to_list() == ["\\*", "\\{a|b}", "\\\\x", "a|b"]


def test_mistakes_are_told() -> None:
    with pytest.raises(InputError, match="does not have"):
        published([0, 0, 0, 0, 0], [0, 5])
    with pytest.raises(InputError, match="does not have"):
        published([0, 0, 0, 0, 0], [-1])
    with pytest.raises(InputError, match="partition has 2 records, the table 5"):
        published([0, 0], [0])
    generalized = recode(encode(TABLE), Partition(np.zeros(5, dtype=np.int32), 1))
    with pytest.raises(InputError, match="solution has 5 records, the table 2"):
        publish(generalized, Table(FRAME.head(2), TABLE.schema, KINDS), np.arange(2))
