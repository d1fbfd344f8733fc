"""Classes that publish the same labels count as one."""

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sfumato.classes.partition import Partition
from sfumato.recoding import Recoding, recode_as_published
from sfumato.table.encoding import encode
from sfumato.table.schema import Kind, Schema
from sfumato.table.table import Table


def encoded(numbers, letters):
    frame = pl.DataFrame({"number": numbers, "letter": pl.Series(letters, dtype=pl.Categorical)})
    schema = Schema(quasi_identifying=["number", "letter"])
    return encode(Table(frame, schema, {"number": Kind.NUMERIC, "letter": Kind.CATEGORICAL}))


def test_equal_boxes_are_one_class():
    table = encoded([1, 3, 1, 3, 2, 2], ["a", "b", "a", "b", "c", "c"])
    found = recode_as_published(table, Partition(np.array([0, 0, 1, 1, 2, -1], dtype=np.int32), 3))
    assert found.sizes.tolist() == [4, 1]
    assert found.class_of.tolist() == [0, 0, 0, 0, 1, -1]


def test_equal_means_are_one_class_of_all_their_values():
    table = encoded([1, 3, 0, 4], ["a"] * 4)
    found = recode_as_published(table, Partition(np.array([0, 0, 1, 1], dtype=np.int32), 2), Recoding(numeric="mean"))
    assert found.sizes.tolist() == [4]
    assert found.columns[0].labels.to_list() == ["2"]
    assert (found.columns[0].low[0], found.columns[0].high[0]) == (0, 3)


@given(st.integers(2, 25).flatmap(lambda n: st.tuples(*[st.lists(st.integers(0, 3), min_size=n, max_size=n)] * 3)))
@examples(60)
def test_no_two_classes_publish_the_same(columns):
    numbers, letters, drawn = columns
    table = encoded(numbers, [f"v{code}" for code in letters])
    _, class_of = np.unique(drawn, return_inverse=True)
    for numeric in ("interval", "mean"):
        partition = Partition(class_of.astype(np.int32), int(class_of.max()) + 1)
        found = recode_as_published(table, partition, Recoding(numeric=numeric))
        published = list(
            zip(*(column.labels.gather(column.per_class).to_list() for column in found.columns), strict=True)
        )
        assert len(set(published)) == len(published) == len(found.sizes)
        assert found.sizes.sum() == len(numbers)
