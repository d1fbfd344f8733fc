from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples

NAMES = ("a", "b", "c")
cells = st.sampled_from(["x", "y", "z", None])
tables = st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=40)


def frame_of(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(dict(zip(NAMES, zip(*rows, strict=True), strict=True)), schema=dict.fromkeys(NAMES, pl.String))


def counted(rows: list[tuple[Any, ...]], chosen: list[int]) -> Counter[int]:
    """Count, one record after the other, how many classes have each size."""
    classes = Counter(tuple(row[place] for place in chosen) for row in rows)
    return Counter(classes.values())


def told(sizes: sf.ClassSizes) -> Counter[int]:
    return Counter(dict(zip(sizes.sizes.tolist(), sizes.classes.tolist(), strict=True)))


@examples(100)
@given(tables, st.sets(st.sampled_from(range(3))))
def test_sizes_are_those_of_counting_record_by_record(rows, chosen):
    preview = sf.Preview(sf.open_table(frame_of(rows)))
    places = sorted(chosen)
    sizes = preview.sizes([NAMES[place] for place in places])
    expected = counted(rows, places)
    assert told(sizes) == expected
    assert sizes.records == len(rows)
    assert sizes.uniques == expected[1]
    assert sizes.count == sum(expected.values())
    for k in range(1, 6):
        assert sizes.below(k) == sum(size * many for size, many in expected.items() if size < k)
        assert sizes.between(2, k) == sum(size * many for size, many in expected.items() if 2 <= size <= k)
    others = [name for place, name in enumerate(NAMES) if place not in chosen]
    for name, more in preview.also_known([NAMES[place] for place in places], others).items():
        assert told(more) == counted(rows, sorted({*places, NAMES.index(name)}))
    for name, fewer in preview.without_each([NAMES[place] for place in places]).items():
        assert told(fewer) == counted(rows, [place for place in places if NAMES[place] != name])


@examples(60)
@given(st.lists(st.tuples(st.integers(0, 40) | st.none(), st.sampled_from("fm")), min_size=1, max_size=40), st.data())
def test_levels_count_what_the_hierarchy_makes_of_the_values(rows, data):
    frame = pl.DataFrame(
        {"age": [age for age, _ in rows], "sex": [sex for _, sex in rows]}, schema={"age": pl.Int64, "sex": pl.String}
    )
    chosen = {"age": sf.intervals(5, 20), "sex": None}
    preview = sf.Preview(sf.open_table(frame))
    ages = [age for age, _ in rows if age is not None]
    if not ages:
        return
    level = data.draw(st.integers(0, 2))
    width = {0: 1, 1: 5, 2: 20}[level]
    expected = Counter((None if age is None else age // width, sex) for age, sex in rows)
    assert told(preview.sizes(chosen, {"age": level})) == Counter(expected.values())
    top = preview.hierarchy("age", sf.Attribute(hierarchy=chosen["age"]))
    assert preview.sizes(chosen, {"age": top.height}).count == len({(age is None, sex) for age, sex in rows})
    sums = preview.node_sizes("age", sf.Attribute(hierarchy=chosen["age"]))
    assert [int(nodes.sum()) for nodes in sums] == [len(ages)] * (top.height + 1)
    by_level = Counter(age // 5 for age in ages)
    assert sorted(sums[1].tolist()) == sorted(by_level.values())


def test_sizes_are_those_of_risk():
    frame = pl.DataFrame(
        {"zip": ["1", "1.0", "2", "2"] * 3, "age": [1.5, 1.50, None, 2.0] * 3, "day": ["2026-01-01"] * 12}
    )
    raw = sf.open_table(frame)
    for kinds in ({}, {"zip": "numeric"}):
        chosen = {name: sf.Attribute(kind=kinds.get(name)) for name in frame.columns}
        report = sf.risk(raw.with_schema(sf.Schema(quasi_identifying=chosen)))
        sizes = sf.Preview(raw).sizes(chosen)
        assert (sizes.uniques, sizes.count) == (report.sample_uniques, report.keys.count)


def test_a_changed_hierarchy_is_built_anew():
    preview = sf.Preview(sf.open_table(pl.DataFrame({"age": [1, 2, 11, 12]})))
    assert preview.sizes({"age": sf.intervals(10)}, {"age": 1}).count == 2
    assert preview.sizes({"age": sf.intervals(2)}, {"age": 1}).count == 4


@pytest.mark.parametrize(
    ("chosen", "levels", "message"),
    [
        (["age"], {"age": 1}, "no hierarchy"),
        ({"age": sf.intervals(10)}, {"age": 3}, "levels 0 to 2"),
        (["age"], {"sex": 1}, "none of the columns"),
        (["height"], {}, "not in the table"),
        ({"age": sf.groups({"young": ["1"]})}, {"age": 1}, "hierarchy"),
    ],
)
def test_what_cannot_be_counted_is_said_without_a_value(chosen, levels, message):
    preview = sf.Preview(sf.open_table(pl.DataFrame({"age": [1, 271828]})))
    with pytest.raises(sf.SfumatoError, match=message) as caught:
        preview.sizes(chosen, levels)
    assert "271828" not in str(caught.value)


@pytest.mark.parametrize("values", [2, 30, 200])
@pytest.mark.parametrize("width", [3, 8])
def test_however_many_combinations_there_could_be(values, width):
    chance = Random(values)
    names = [f"c{place}" for place in range(width)]
    rows = [tuple(f"v{chance.randrange(values) // (1 + place)}" for place in range(width)) for _ in range(300)]
    preview = sf.Preview(sf.open_table(pl.DataFrame(rows, schema=names, orient="row")))
    assert told(preview.sizes(names)) == counted(rows, [*range(width)])
    for name, more in preview.also_known(names[1:], names[:1]).items():
        assert told(more) == counted(rows, [*range(width)]), name
    for place, fewer in enumerate(preview.without_each(names).values()):
        assert told(fewer) == counted(rows, [other for other in range(width) if other != place])
