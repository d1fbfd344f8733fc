"""Labels: written as promised, and read back to the same codes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from naive import recoding as naive
from recoding.small_tables import NASTY, STARRED, ZONES, SmallTable, as_if_many, attributes_of, small_tables
from sfumato.classes.partition import Form, GeneralizedTable
from sfumato.recoding import Recoding, covers, publish, recode_as_published
from sfumato.recoding.parsing import parse, split_set


def small(**columns: list) -> SmallTable:
    height = len(next(iter(columns.values())))
    return SmallTable(columns, [0] * height, attributes_of(list(columns), ZONES), ZONES)


@given(st.lists(st.one_of(st.none(), st.sampled_from(NASTY), st.text(alphabet="{}|\\N*a", max_size=4)), min_size=1))
@examples(100)
def test_value_sets_read_back(values: list[str | None]) -> None:
    label = naive.set_text(values)

    assert label != "*"
    assert sorted(split_set(label), key=str) == sorted(set(values), key=str)


def assert_reads_back(table: GeneralizedTable) -> None:
    for column in table.columns:
        read = parse(column.labels, column.attribute, column.form)
        assert read.readable.all()
        for name in ("low", "high", "leaves", "level"):
            assert getattr(read, name).tolist() == getattr(column, name).tolist(), name
        assert (read.members is None) == (column.members is None)
        if read.members is not None and column.members is not None:
            assert read.members.codes.tolist() == column.members.codes.tolist()
            assert read.members.starts.tolist() == column.members.starts.tolist()


@given(small_tables())
@examples(60)
def test_every_label_reads_back(drawn: SmallTable) -> None:
    assert_reads_back(drawn.recoded())


@given(small_tables(tree=STARRED))
@examples(30)
def test_labels_of_other_forms_read_back(drawn: SmallTable) -> None:
    assert_reads_back(drawn.recoded(Recoding(forms=dict.fromkeys(("age", "born", "zone"), Form.SET))))


def written(drawn: SmallTable, recoding: Recoding) -> list[object]:
    recoded = recode_as_published(drawn.encoded(), drawn.partition, recoding)
    frame = publish(recoded, drawn.table, np.arange(drawn.table.height)[::-1])
    columns = [
        (each.labels.to_list(), each.low.tolist(), each.high.tolist(), each.level.tolist(), each.unrestricted.tolist())
        for each in recoded.columns
    ]
    return [columns, recoded.class_of.tolist(), frame.schema, frame.rows()]


@pytest.mark.parametrize("tree", [STARRED, ZONES], ids=["starred", "named"])
def test_few_and_many_values_are_written_alike(tree: dict[str, Sequence[str]]) -> None:
    @given(small_tables(tree=tree))
    @examples(40)
    def both(drawn: SmallTable) -> None:
        as_sets = Recoding(forms=dict.fromkeys(("age", "born", "zone"), Form.SET))
        for recoding in (Recoding(), Recoding(ends="tight"), as_sets):
            few = written(drawn, recoding)
            with pytest.MonkeyPatch.context() as patch:
                as_if_many(patch)
                assert written(drawn, recoding) == few

    both()


@given(small_tables())
@examples(40)
def test_a_class_covers_its_own_values(drawn: SmallTable) -> None:
    table = drawn.recoded()
    for index, column in enumerate(table.columns):
        codes = np.arange(column.attribute.size + 1)
        covered = covers(column, codes)
        # `*` stands for the missing value too, occurring or not.
        assert (covered[:, :-1].sum(1) + (covered[:, -1] & column.attribute.has_missing) >= 1).all()
        for owner, records in enumerate(drawn.classes):
            assert covered[column.per_class[owner]][table.original.codes[records, index]].all()


def test_value_sets_do_not_cover_what_lies_between() -> None:
    table = small(word=["a", "1", "a", "1", "*", "a|b"])
    sets = SmallTable(table.columns, [0, 0, 0, 1, 0, 1], table.attributes, ZONES).recoded().columns[0]
    words = sets.attribute.labels.to_list()
    covered = covers(sets, np.arange(len(words)))
    assert {words[i] for i in np.flatnonzero(covered[sets.per_class[0]])} == {"a", "1", "*"}
    assert {words[i] for i in np.flatnonzero(covered[sets.per_class[1]])} == {"1", "a|b"}


def readings(attribute: str, labels: list[str | None], form: Form, **columns: list) -> list[tuple[int, int] | None]:
    read = parse(pl.Series(labels, dtype=pl.String), small(**columns).encoded().attributes[0], form)
    pairs = zip(read.low.tolist(), read.high.tolist(), read.readable.tolist(), strict=True)
    return [(low, high) if readable else None for low, high, readable in pairs]


def test_interval_ends_need_not_be_original_values() -> None:
    labels = ["[0..26]", "[4..100]", "[3..25)", "[3.0..2.6e1]", "25", "25.0", "*"]
    assert readings("age", labels, Form.INTERVAL, age=[3, 25, 26, 90]) == [
        (0, 2),
        (1, 3),
        (0, 0),
        (0, 2),
        (1, 1),
        (1, 1),
        (0, 4),
    ]


@pytest.mark.parametrize(
    "label", ["", "old", "[4..24]", "[26..3]", "[3..", "3..25", "[a..b]", "[3..nan]", "4", "inf", "{3|25}", None]
)
def test_numbers_that_cover_nothing_are_unreadable(label: str | None) -> None:
    assert readings("age", [label], Form.INTERVAL, age=[3, 25, 26]) == [None]


def test_dates_in_intervals() -> None:
    labels = ["[1990-01-01..1994-12-31]", "1990-05-01", "[1990-13-01..1994-12-31]", None]
    values = [date(1990, 5, 1), date(1994, 12, 31), date(1995, 1, 1), None]
    assert readings("born", labels, Form.INTERVAL, born=values) == [(0, 1), (0, 0), None, (3, 3)]


def test_means_are_read_as_their_neighbours() -> None:
    labels = ["25", "25.5", "3", "2.9", "91", "x"]
    assert readings("age", labels, Form.MEAN, age=[3, 25, 26, 90]) == [(1, 1), (1, 2), (0, 0), None, None, None]


def test_sets_and_ancestors_that_name_strangers_are_unreadable() -> None:
    assert readings("word", ["{a|c}", "c", "{a|\\N}", "{a"], Form.SET, word=["a", "b"]) == [None] * 4
    zones = ["atlantis", "NORTH", None, "north", "anywhere"]
    read = parse(pl.Series(zones), small(zone=["n1", "sea"]).encoded().attributes[0], Form.ANCESTOR)
    assert read.readable.tolist() == [False, False, False, True, True]


def test_numbers_under_a_hierarchy_are_known_by_value() -> None:
    from sfumato.hierarchy import HierarchyTable
    from sfumato.table.encoding import encode
    from sfumato.table.schema import Attribute, Kind, Schema
    from sfumato.table.table import Table

    hierarchy = HierarchyTable((("1", "low", "*"), ("2", "low", "*"), ("9", "high", "*")))
    schema = Schema(quasi_identifying={"grade": Attribute(hierarchy=hierarchy)})
    table = Table(pl.DataFrame({"grade": [1.0, 9.0]}), schema, {"grade": Kind.NUMERIC})
    read = parse(pl.Series(["1.0", "9", "low", "3"]), encode(table).attributes[0], Form.ANCESTOR)
    assert read.readable.tolist() == [True, True, True, False]
    assert read.low.tolist()[:3] == [0, 2, 0]
