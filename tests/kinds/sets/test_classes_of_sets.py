"""(k, k^m): whatever is drawn, each class of the published columns holds its promise, counted by looking."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from naive.sets import is_anonymous
from sfumato.errors import PolicyError, UnsatisfiableError
from sfumato.hierarchy import HierarchyTable

TREE = HierarchyTable(tuple((item, "xy"[place // 3], "*") for place, item in enumerate("abcdef")))


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    people = draw(st.integers(4, 14))
    ages = draw(st.lists(st.one_of(st.none(), st.integers(20, 30)), min_size=people, max_size=people))
    sexes = draw(st.lists(st.sampled_from("fm"), min_size=people, max_size=people))
    sets = draw(st.lists(st.frozensets(st.sampled_from("abcdef"), max_size=4), min_size=people, max_size=people))
    text = [";".join(sorted(items)) or None for items in sets]
    schema = {"age": pl.Int64, "sex": pl.String, "what": pl.String}
    return pl.DataFrame({"age": ages, "sex": sexes, "what": text}, schema=schema)


@given(tables(), st.integers(1, 4), st.integers(1, 3), st.sampled_from(["mixed", "apriori", "optimal", "suppress"]))
@examples(80)
def test_every_class_holds_its_promise(table: pl.DataFrame, k: int, m: int, method: Any):
    schema = sf.Schema(quasi_identifying={"age": sf.Attribute(kind="numeric"), "sex": None})  # type: ignore[arg-type]
    sets = sf.read_sets(table, form="wide", hierarchy=TREE, schema=schema) if table["what"].count() else None
    if sets is None:
        return
    if m > int(sets.sizes.max()):
        with pytest.raises(PolicyError, match="the largest set"):
            sf.anonymize_sets(sets, sf.KmAnonymity(k, m), method=method)
        return
    try:
        release = sf.anonymize_sets(sets, sf.KmAnonymity(k, m), method=method, class_size=k + 1, seed=1)
    except UnsatisfiableError:
        # No class has enough sets with items, or nothing frequent without a tree.
        return
    tables = release.published.tables
    held = dict(tables["sets"].group_by("record").agg(pl.col("item").cast(pl.String)).rows())
    found = 0
    for _, records in tables["records"].group_by("age", "sex"):
        rows = [frozenset(held.get(number, ())) for number in records["record"]]
        assert len(rows) > k
        assert is_anonymous(rows, k, m)
        found += len(rows)
    assert found == table.height
    assert sf.verify(release).ok


@pytest.mark.parametrize("anonymizer", [sf.KMember(), sf.Datafly(), sf.MDAV()])
def test_any_anonymizer_makes_the_classes(anonymizer: Any):
    tree = sf.intervals(10, 50) if anonymizer.name == "datafly" else None
    schema = sf.Schema(quasi_identifying={"age": sf.Attribute(hierarchy=tree)})
    table = pl.DataFrame({"age": [20 + 3 * row % 40 for row in range(30)], "what": ["a;b", "a", "b;c"] * 10})
    sets = sf.read_sets(table, form="wide", hierarchy=TREE, schema=schema)
    release = sf.anonymize_sets(sets, sf.KmAnonymity(3, 2), anonymizer=anonymizer, class_size=9, seed=1)
    assert sf.verify(release).ok
    assert release.published.tables["records"].group_by("age").len()["len"].min() >= 9  # type: ignore[operator]


def test_a_seed_gives_the_same_bytes_whatever_the_order_of_the_records(tmp_path: Path):
    frame = pl.DataFrame({"q": [1, 2] * 4, "what": ["a"] * 8})
    found = set()
    for number, rows in enumerate(([*range(8)], [7, 5, 3, 1, 0, 2, 4, 6], [4, 1, 6, 3, 0, 5, 2, 7])):
        sets = sf.read_sets(frame[rows], form="wide", schema=sf.Schema(quasi_identifying=["q"]))
        folder = sf.save_sets(sf.anonymize_sets(sets, sf.KmAnonymity(k=2, m=1), seed=1), tmp_path / str(number))
        found.add((Path(folder) / "records.csv").read_bytes())
    assert len(found) == 1


def test_a_column_beside_the_sets_cannot_be_named_as_the_number_of_records_is():
    frame = pl.DataFrame({"record": ["x", "x", "y", "y"], "what": ["a", "a", "b", "b"]})
    sets = sf.read_sets(frame, form="wide", schema=sf.Schema(quasi_identifying=["record"]))
    with pytest.raises(PolicyError, match="is named 'record', as the numbers of records are; rename it"):
        sf.anonymize_sets(sets, sf.KmAnonymity(k=2, m=1))
