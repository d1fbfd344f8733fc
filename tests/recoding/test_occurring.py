"""Records that are left out decide nothing of what is published: the same as of a table that never had them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from sfumato.classes.partition import Partition
from sfumato.recoding import recode
from sfumato.table.encoding import encode

RECODINGS = [
    sf.Recoding(),
    sf.Recoding(ends="tight"),
    sf.Recoding(numeric="mean"),
    sf.Recoding(forms={"x": "set"}),
]


def published(values: list[Any], class_of: list[int], recoding: sf.Recoding, domain: Any = None) -> list[str | None]:
    table = encode(sf.read_table(pl.DataFrame({"x": values}), schema_of(domain)))
    partition = Partition(np.array(class_of, dtype=np.int32), max(class_of) + 1)
    column = recode(table, partition, recoding).columns[0]
    return column.labels.gather(column.per_class).to_list()


def schema_of(domain: Any) -> sf.Schema:
    return sf.Schema(quasi_identifying={"x": sf.Attribute(kind="numeric", domain=domain)})


@given(st.data())
@examples(200)
def test_as_if_the_others_had_never_been(data: st.DataObject) -> None:
    sized = st.sampled_from([1, 2, 5, 10, 100])
    step, offset = data.draw(sized), data.draw(st.integers(-3, 3))
    own = data.draw(st.lists(st.integers(0, 60), min_size=2, max_size=12))
    kept = [float(step * value + offset) for value in own]
    strangers = data.draw(st.lists(st.sampled_from([0.5, 3.25, -1.0, 7.0, 1e6, 123.0, None]), min_size=1, max_size=3))
    classes = data.draw(st.lists(st.integers(0, 2), min_size=len(kept), max_size=len(kept)))
    classes = np.unique(classes, return_inverse=True)[1].tolist()
    recoding = data.draw(st.sampled_from(RECODINGS))
    domain = data.draw(st.sampled_from([None, (-1000, 10_000_000)]))

    with_them = published([*kept, *strangers], [*classes, *[-1] * len(strangers)], recoding, domain)

    assert with_them == published([int(value) for value in kept], classes, recoding, domain)


def test_by_hand() -> None:
    kept = [0.0, 990.0, 400.0, 500.0]
    assert published([*kept, 0.5], [0, 0, 1, 1, -1], sf.Recoding()) == ["[0..999]", "[400..549]"]
    assert published([*kept, 0.5], [0, 0, 1, 1, 1], sf.Recoding())[0] == "[0..1000)"


@pytest.mark.parametrize("recoding", RECODINGS)
def test_losses_are_of_all_values_inside(recoding: sf.Recoding) -> None:
    values = [0.0, 10.0, 20.0, 5.0, 30.5]
    table = encode(sf.read_table(pl.DataFrame({"x": values}), schema_of(None)))
    column = recode(table, Partition(np.array([0, 0, 1, -1, -1], dtype=np.int32), 2), recoding).columns[0]
    assert column.attribute is table.attributes[0]
    low, high = column.low[column.per_class], column.high[column.per_class]
    assert (table.attributes[0].numbers[low[0]], table.attributes[0].numbers[high[0]]) == (0.0, 10.0)
    if recoding.forms:
        return
    assert column.leaves[column.per_class].tolist() == [3, 1]
