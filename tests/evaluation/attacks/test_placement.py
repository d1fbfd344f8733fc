"""Placing people in the classes of a generalized table, against a plain twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from naive import algorithm_attacks, linkage
from sfumato.errors import InputError
from sfumato.evaluation.attacks import placement
from sfumato.evaluation.attacks import placement as publication
from sfumato.evaluation.attacks.placement import are_covered, pair_with_classes, place_people, require_generalized
from sfumato.hierarchy import prefixes
from sfumato.published import MarginalTables, PublishedTable
from sfumato.recoding import Recoding
from sfumato.table.reading import read_table
from sfumato.table.schema import Attribute, Kind, Schema

ZIPS = ["0123", "0124", "0133", "0210", "1000"]
TREE = {code: (code, code[:3] + "*", code[:1] + "***", "*") for code in ZIPS}
SCHEMA = Schema(
    quasi_identifying={
        "age": Attribute(kind=Kind.NUMERIC),
        "town": Attribute(kind=Kind.CATEGORICAL),
        "zip": Attribute(kind=Kind.CATEGORICAL, hierarchy=prefixes(3, 1, 0)),
    },
    sensitive=["disease"],
)
ages = st.integers(20, 26)
towns = st.sampled_from(["ulm", "bonn", "köln", "a b"])
records = st.tuples(
    st.one_of(ages.map(str), st.tuples(ages, ages).map(lambda ends: f"[{min(ends)}..{max(ends)}]"), st.just("*")),
    st.one_of(towns, st.sets(towns, min_size=2).map(lambda members: "{" + "|".join(sorted(members)) + "}")),
    st.sampled_from([label for labels in TREE.values() for label in labels]),
)
people = st.tuples(st.one_of(ages, st.none()), towns, st.one_of(st.sampled_from(ZIPS), st.none()))


@examples(60)
@given(
    st.lists(records, min_size=1, max_size=80, unique=True),
    st.lists(people, min_size=1, max_size=12),
    st.sampled_from([0, 40, 1 << 20]),
)
def test_the_same_as_all_pairs(rows: list[Any], persons: list[Any], budget: int) -> None:
    data = pl.DataFrame(rows, schema=dict.fromkeys(("age", "town", "zip"), pl.String), orient="row")
    frame = pl.DataFrame(persons, schema={"age": pl.Int64, "town": pl.String, "zip": pl.String}, orient="row")
    table = read_table(frame.with_columns(disease=pl.lit("flu")), SCHEMA)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publication, "_TABULATED_BYTES", budget)
        patch.setattr(placement, "BLOCK_BYTES", 64)
        patch.setattr(placement, "BLOCK_PAIRS", 100)
        placed = place_people(PublishedTable(data, ("age", "town", "zip"), ()), table.frame, SCHEMA, Recoding())
    trees = (None, None, TREE)
    fitting = [
        [all(linkage.fits(*each) for each in zip(row, person, trees, strict=True)) for row in rows]
        for person in persons
    ]
    pairs = [(one, other) for one in range(len(persons)) for other in range(len(rows))]
    told = placed.codes[[one for one, _ in pairs]]
    found = are_covered(placed.publication, told, np.array([other for _, other in pairs]))
    assert found.tolist() == [fitting[one][other] for one, other in pairs]
    assert placed.class_of.tolist() == algorithm_attacks.placed(fitting)
    one, other, share = (np.concatenate(part) for part in zip(*pair_with_classes(placed, placed.codes), strict=True))
    assert sorted(zip(one.tolist(), other.tolist(), strict=True)) == [
        pair for pair, fits_it in zip(pairs, found.tolist(), strict=True) if fits_it
    ]
    # All published records are different, so that classes have one record each.
    counts = np.array([sum(row) for row in fitting])
    assert share.tolist() == pytest.approx((1 / counts[one]).tolist())


def test_a_class_is_sure_where_its_size_is_that_of_the_people_in_it() -> None:
    frame = pl.DataFrame({"age": [20, 20, 30, 31, 50], "disease": ["a"] * 5})
    table = read_table(frame, Schema(quasi_identifying=["age"], sensitive=["disease"]))
    data = pl.DataFrame({"age": ["20", "20", "[30..31]", "[45..50]", "[45..50]"], "disease": ["a"] * 5})
    placement = place_people(PublishedTable(data, ("age",), ("disease",)), table.frame, table.schema, Recoding())
    assert placement.class_of.tolist() == [0, 0, 1, 1, 2]
    assert placement.filled.tolist() == [True, False, False]


def test_nothing_shared_and_another_kind() -> None:
    table = read_table(
        pl.DataFrame({"age": [20, 30], "disease": ["a", "b"]}, strict=False),
        Schema(quasi_identifying=["age"], sensitive=["disease"]),
    )
    with pytest.raises(InputError, match="share no quasi-identifying"):
        place_people(
            PublishedTable(pl.DataFrame({"size": ["1"]}), ("size",), ()), table.frame, table.schema, Recoding()
        )
    counts = MarginalTables((pl.DataFrame({"age": [20], "count": [2]}),), (("age",),), ())
    with pytest.raises(InputError, match="not a marginal-tables"):
        require_generalized(counts, "downcoding")
