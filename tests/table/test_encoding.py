"""encode(): against its plain twin, and against every odd column there can be."""

from __future__ import annotations

import math
from datetime import date

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from naive import encoding as naive
from sfumato.errors import HierarchyError, InputError, SchemaError, SfumatoError
from sfumato.hierarchy.tree import hierarchy_from_paths
from sfumato.table.encoding import encode
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.table import Table

TYPES = {
    Kind.NUMERIC: pl.Float64,
    Kind.CATEGORICAL: pl.Categorical,
    Kind.BOOLEAN: pl.Boolean,
    Kind.DATE: pl.Date,
}
VALUES = {
    Kind.NUMERIC: st.floats(width=32, allow_infinity=False) | st.integers(-5, 5).map(float),
    Kind.CATEGORICAL: st.text(max_size=3) | st.sampled_from("abc"),
    Kind.BOOLEAN: st.booleans(),
    Kind.DATE: st.dates(),
}


class Paths:
    """A hierarchy given leaf by leaf."""

    def __init__(self, *paths):
        self.paths = paths

    def build(self, values, *, name):
        return hierarchy_from_paths(self.paths, name=name)

    def to_policy(self):
        return {}


def table(values, kind=Kind.CATEGORICAL, attribute=None, dtype=None, sensitive=False):
    frame = pl.DataFrame({"a": pl.Series(values, dtype=dtype or TYPES[kind]), "b": [1] * len(values)})
    given = {"a": attribute or Attribute()}
    quasi = {"b": None} if sensitive else given
    schema = Schema(quasi_identifying=quasi, sensitive=given if sensitive else (), others="drop")
    return Table(frame, schema, {"a": kind, "b": Kind.NUMERIC})


def column(encoded):
    return encoded.attributes[0], encoded.codes[:, 0].tolist()


def failure(values, kind, attribute, error):
    with pytest.raises(error) as caught:
        encode(table(values, kind, attribute))
    return str(caught.value)


@pytest.mark.parametrize("kind", list(TYPES))
@pytest.mark.parametrize("order", ["frequency", "name"])
@examples(60)
@given(data=st.data())
def test_encoding_equals_its_plain_twin_and_can_be_undone(kind, order, data):
    values = data.draw(st.lists(st.none() | VALUES[kind], min_size=1, max_size=30))
    attribute, codes = column(encode(table(values, kind), order=order))
    labels, expected = naive.encode_column(values, kind, order)
    assert attribute.labels.to_list() == labels
    assert codes == expected
    assert attribute.has_missing == any(map(naive.is_missing, values))
    assert attribute.domain_size == naive.domain_size(values)
    if kind in (Kind.NUMERIC, Kind.DATE):
        assert attribute.domain_width == naive.domain_width(values)
        assert (np.diff(attribute.numbers) > 0).all()
    decoded = [None if code == attribute.size else attribute.labels[code] for code in codes]
    assert decoded == [None if naive.is_missing(value) else naive.label(value) for value in values]


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        (pl.Int64, [3, 1, None, 2, 1]),
        (pl.Int64, [2**62, -(2**62), 0, None]),
        (pl.UInt64, [2**63 - 1, 0, 5]),
        (pl.Int8, [-128, 127, None]),
        (pl.Float32, [0.5, math.nan, -0.0, 0.0]),
    ],
)
def test_numbers_of_any_type_are_ranked(dtype, values):
    attribute, codes = column(encode(table(values, Kind.NUMERIC, dtype=dtype)))
    assert (attribute.labels.to_list(), codes) == naive.encode_column(values, Kind.NUMERIC)
    assert attribute.is_numeric


def test_thousands_of_distinct_floats_are_ranked():
    values = np.random.default_rng(1).permutation(np.arange(9000) / 7).tolist()
    attribute, codes = column(encode(table([*values, None], Kind.NUMERIC)))
    assert attribute.numbers[codes[:-1]].tolist() == values
    assert codes[-1] == attribute.size == 9000


@pytest.mark.parametrize("dtype", [pl.String, pl.Enum(["z", "b", "a"]), pl.Categorical])
def test_text_of_any_type_is_a_category(dtype):
    attribute, codes = column(encode(table(["b", "a", "b", None], dtype=dtype)))
    assert attribute.labels.to_list() == ["b", "a"]
    assert codes == [0, 1, 0, 2]


def test_categories_shared_with_a_larger_frame_stay_dense():
    larger = pl.Series([str(number) for number in range(20_000)], dtype=pl.Categorical)
    shared = larger.gather([19_999, 5, 19_999])
    attribute, codes = column(encode(table(shared, dtype=pl.Categorical)))
    assert (attribute.labels.to_list(), codes) == (["19999", "5"], [0, 1, 0])


@pytest.mark.parametrize("kind", list(TYPES))
@pytest.mark.parametrize("sensitive", [False, True])
def test_a_column_without_any_value_has_one_code(kind, sensitive):
    attribute = Attribute(hierarchy=Paths(("x", "*")))
    encoded = encode(table([None, None], kind, attribute, sensitive=sensitive))
    encoded_attribute = (encoded.sensitive if sensitive else encoded.attributes)[0]
    assert encoded_attribute.size == 0
    assert encoded_attribute.cardinality == encoded_attribute.domain_size == 1
    assert (encoded.sensitive_codes if sensitive else encoded.codes)[:, 0].tolist() == [0, 0]


def test_a_constant_column_has_width_zero():
    attribute, codes = column(encode(table([4.5, 4.5], Kind.NUMERIC)))
    assert (attribute.domain_width, attribute.domain_size, codes) == (0.0, 1, [0, 0])


def test_codes_are_leaf_numbers_and_leaves_may_be_absent():
    hierarchy = Paths(("c", "x", "*"), ("a", "y", "*"), ("b", "x", "*"))
    attribute, codes = column(encode(table(["b", "a", None, "b"], attribute=Attribute(hierarchy=hierarchy))))
    assert attribute.labels.to_list() == ["c", "b", "a"]
    assert codes == [1, 2, 3, 1]
    assert (attribute.domain_size, attribute.has_missing, attribute.numbers) == (3, True, None)


def test_numbers_under_a_hierarchy_follow_its_leaves():
    hierarchy = Paths(("2.5", "*"), ("1", "*"))
    attribute, codes = column(encode(table([1.0, 2.5, 1.0], Kind.NUMERIC, Attribute(hierarchy=hierarchy))))
    assert codes == [1, 0, 1]
    assert not attribute.is_numeric
    assert attribute.domain_width == 1.5


def test_values_that_no_leaf_covers_are_counted_but_not_shown():
    message = failure(
        ["b", "SECRET1", "SECRET2"], Kind.CATEGORICAL, Attribute(hierarchy=Paths(("b", "*"))), HierarchyError
    )
    assert "a: 2 original value(s)" in message
    assert "row 2" in message
    assert "SECRET" not in message


def test_sensitive_categories_are_numbered_by_name():
    encoded = encode(table(["b", "b", "a"], sensitive=True))
    assert encoded.sensitive[0].labels.to_list() == ["a", "b"]
    assert encoded.sensitive_codes.tolist() == [[1], [1], [0]]


@pytest.mark.parametrize(
    ("kind", "values", "domain", "width", "size"),
    [
        (Kind.NUMERIC, [20.0, 30.0], (10, 100), 90.0, 2),
        (Kind.DATE, [date(2020, 1, 2), None], ("2020-01-01", "2020-01-31"), 30.0, 2),
        (Kind.CATEGORICAL, ["a", None], ("a", "b", "c"), 0.0, 4),
        (Kind.BOOLEAN, [True, True], ("true", "false"), 0.0, 2),
    ],
)
def test_a_declared_domain_is_the_normalizer(kind, values, domain, width, size):
    attribute, _ = column(encode(table(values, kind, Attribute(domain=domain))))
    assert (attribute.domain_width, attribute.domain_size) == (width, size)


@pytest.mark.parametrize(
    ("kind", "values", "domain"),
    [
        (Kind.NUMERIC, [20.0, 777.0, 20.0, 777.0], (10, 100)),
        (Kind.DATE, [date(2020, 1, 2), date(1777, 1, 1), None, date(1777, 1, 1)], ("2020-01-01", "2020-01-31")),
        (Kind.CATEGORICAL, ["a", "SECRET777", "a", "SECRET777"], ("a", "b")),
        (Kind.BOOLEAN, [True, False, None, False], ("true",)),
    ],
)
def test_records_outside_the_declared_domain_are_counted(kind, values, domain):
    message = failure(values, kind, Attribute(domain=domain), InputError)
    assert "column 'a': 2 record(s)" in message
    assert "row 2" in message
    assert "777" not in message


@pytest.mark.parametrize(
    ("kind", "values", "domain"),
    [
        (Kind.NUMERIC, [1.0], ("SECRET", "b")),
        (Kind.NUMERIC, [1.0], ("1", "2", "3")),
        (Kind.NUMERIC, [1.0], (2, 1)),
        (Kind.DATE, [date(2020, 1, 1)], ("SECRET", "2020-01-01")),
    ],
)
def test_a_domain_that_does_not_suit_the_kind_is_an_error(kind, values, domain):
    message = failure(values, kind, Attribute(domain=domain), SchemaError)
    assert "column 'a'" in message
    assert "SECRET" not in message


def test_infinite_numbers_are_an_error_with_row_and_column():
    message = failure([1.0, math.inf, -math.inf], Kind.NUMERIC, Attribute(), InputError)
    assert "column 'a': 2 record(s) have an infinite number, first in row 2" in message


def test_the_problems_of_all_columns_come_at_once():
    frame = pl.DataFrame({"a": [math.inf, 1.0], "b": [1, 5], "c": pl.Series(["x", "y"], dtype=pl.Categorical)})
    schema = Schema(
        quasi_identifying={"a": None, "b": Attribute(domain=(0, 2))},
        sensitive={"c": Attribute(hierarchy=Paths(("x", "*")))},
    )
    kinds = {"a": Kind.NUMERIC, "b": Kind.NUMERIC, "c": Kind.CATEGORICAL}
    with pytest.raises(SfumatoError) as caught:
        encode(Table(frame, schema, kinds))
    told = [problem.split(": ")[:2] for problem in caught.value.problems]
    assert told == [["table", "column 'a'"], ["table", "column 'b'"], ["table", "c"]]


@pytest.mark.parametrize(("size", "dtype"), [(255, np.uint8), (256, np.uint16), (65_536, np.uint32)])
def test_the_width_fits_the_largest_cardinality(size, dtype):
    encoded = encode(table(list(range(size)), Kind.NUMERIC, dtype=pl.Int64))
    assert encoded.codes.dtype == dtype
    assert encoded.codes.flags.c_contiguous
    assert encoded.codes[:, 0].tolist() == list(range(size))
    assert encoded.sensitive_codes.shape == (size, 0)
