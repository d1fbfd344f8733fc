"""What columns that share attributes tell, against every original table that they may have been made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from naive.slicing import fractions
from naive.worlds import informed_posteriors, posteriors, worlds
from sfumato.published.checks.slice_layout import (
    join_order,
    joined_shares,
    largest_shares,
    linked_columns,
    overlap_ratio,
    places_of,
    shared_attributes,
)

NAMES = ("a", "b", "c", "s")
Columns = tuple[tuple[str, ...], ...]

ONE_HOME: list[Columns] = [
    (("a", "s"), ("a", "b"), ("c",)),
    (("a", "b", "s"), ("b", "c")),
    (("s",), ("a", "b"), ("b", "c")),
    (("a", "b"), ("b", "c"), ("a", "c", "s")),
]
JOINED: list[Columns] = [
    (("a", "s"), ("b", "s"), ("c",)),
    (("a", "s"), ("b", "s"), ("c", "s")),
    (("a", "b", "s"), ("b", "c", "s")),
    (("a", "b", "s"), ("b", "s", "c"), ("c",)),
    (("a", "s"), ("b", "s"), ("b", "c")),
]
CIRCLES: list[Columns] = [
    (("a", "s"), ("b", "s"), ("a", "b"), ("c",)),
    (("a", "s"), ("b", "c", "s"), ("a", "c")),
]

records = st.lists(
    st.tuples(st.sampled_from("xy"), st.sampled_from("xy"), st.sampled_from("xy"), st.sampled_from("pqr")),
    min_size=2,
    max_size=4,
)


def frames_of(columns: Columns, rows: Sequence[tuple[str, ...]], bucket: int = 0) -> list[pl.DataFrame]:
    frame = pl.DataFrame([tuple(row) for row in rows], schema=list(NAMES), orient="row").with_columns(
        pl.lit(bucket).alias("bucket")
    )
    return [frame.select("bucket", *column) for column in columns]


def worlds_of(columns: Columns, rows: Sequence[tuple[str, ...]]) -> list[tuple[dict[str, object], ...]]:
    place = {name: at for at, name in enumerate(NAMES)}
    return list(worlds(columns, [[tuple(row[place[name]] for name in column) for row in rows] for column in columns]))


@pytest.mark.parametrize("columns", ONE_HOME)
@examples(25)
@given(rows=records)
def test_one_home_tells_its_groups_and_no_more_to_whoever_knows_everybody(columns, rows) -> None:
    """Also where columns go round in a circle, and to those who know the known values of the whole bucket."""
    found = worlds_of(columns, rows)
    home = next(column for column in columns if "s" in column)
    beside = [name for name in home if name != "s"]
    groups: dict[tuple[str, ...], Counter[object]] = {}
    for row in rows:
        key = tuple(row[NAMES.index(name)] for name in beside)
        groups.setdefault(key, Counter())[row[3]] += 1
    allowed = [{v: Fraction(n, g.total()) for v, n in g.items()} for g in groups.values()]
    for told in informed_posteriors(found, ["s"], "s"):
        assert told in allowed
    worst = max(max(told.values()) for told in allowed)
    assert max(max(told.values()) for told in posteriors(found, ["s"], "s").values()) == worst
    assert len(linked_columns(columns, ["s"], "s")) == 1


@pytest.mark.parametrize("columns", ONE_HOME[:3])
@examples(25)
@given(rows=records)
def test_one_home_needs_no_join(columns, rows) -> None:
    home = next(column for column in columns if "s" in column)
    shares = joined_shares(frames_of(columns, rows), columns, ["s"], "s")
    assert shares is not None
    groups = Counter(tuple(row[NAMES.index(name)] for name in home if name != "s") for row in rows)
    assert shares.height == len(groups)


@pytest.mark.parametrize("columns", JOINED)
@examples(25)
@given(rows=records)
def test_joined_shares_are_those_of_all_tables_that_fit(columns, rows) -> None:
    """Of everybody who may be in the bucket, records and others."""
    exact = posteriors(worlds_of(columns, rows), ["s"], "s")
    shares = joined_shares(frames_of(columns, rows), columns, ["s"], "s")
    assert shares is not None
    known = shares.columns[1:-1]
    found = {row[1:-1]: row[-1] for row in shares.iter_rows()}
    names = sorted(name for name in NAMES if name != "s")
    expected: dict[tuple[object, ...], Fraction] = {}
    for person, told in exact.items():
        values = dict(zip(names, person, strict=True))
        expected[tuple(values[name] for name in known)] = max(told.values())
    # Only unlinked columns can forbid somebody; whom they do not forbid is the same.
    assert expected.keys() <= found.keys()
    for person, share in expected.items():
        assert found[person] == pytest.approx(float(share))


@pytest.mark.parametrize("columns", CIRCLES)
def test_circles_are_not_judged(columns) -> None:
    assert join_order(columns) is None
    assert joined_shares(frames_of(columns, ["xxxp", "yyyq"]), columns, ["s"], "s") is None


def test_why_circles_are_not_judged() -> None:
    """Two columns hide s within 1/2; with a third one beside them that has no s, single people are certain."""
    rows = [("y", "y", "z", "q"), ("x", "z", "z", "q"), ("y", "x", "z", "p")]
    rows += [("x", "z", "z", "r"), ("y", "x", "z", "r"), ("x", "y", "z", "p")]
    columns = (("a", "s"), ("b", "s"))
    shares = joined_shares(frames_of(columns, rows), columns, ["s"], "s")
    assert shares is not None
    assert largest_shares(shares)["share"].to_list() == [0.5]
    told: dict[tuple[str, str], Counter[str]] = {}
    for values in set(permutations(row[3] for row in rows)):
        guessed = [(row[0], row[1], value) for row, value in zip(rows, values, strict=True)]
        if all(
            Counter((row[place], row[3]) for row in rows) == Counter((guess[place], guess[2]) for guess in guessed)
            for place in (0, 1)
        ):
            for first, second, value in guessed:
                told.setdefault((first, second), Counter())[value] += 1
    assert max(max(counts.values()) / counts.total() for counts in told.values()) == 1


def test_why_a_joined_attribute_protects_from_less() -> None:
    """Whoever knows everybody else's values learns more than the joined shares say."""
    rows = ["xxxp", "xyxq", "yxxq", "yyxr", "xxxq", "yyxp"]
    columns = (("a", "s"), ("b", "s"))
    shares = joined_shares(frames_of(columns, rows), columns, ["s"], "s")
    assert shares is not None
    highest = float(largest_shares(shares)["share"][0])
    informed = informed_posteriors(worlds_of(columns, rows), ["s"], "s")
    assert max(max(told.values()) for told in informed) > highest


def test_conditional_fractions_depend_on_the_order_of_a_circle() -> None:
    """Which is why nothing rests on them."""
    bucket = ["xxx", "xyy", "yxy"]
    person = tuple("xxx")
    orders = [[(0, 1), (1, 2), (0, 2)], [(1, 2), (0, 2), (0, 1)], [(0, 2), (0, 1), (1, 2)]]
    rows = [tuple(row) for row in [*bucket, "xxy", "yyx"]]
    products = set()
    for order in orders:
        product = Fraction(1)
        for share in fractions(person, rows, order, sensitive=9):
            product *= share
        products.add(product)
    assert len(products) > 1


@examples(40)
@given(rows=records)
def test_too_many_rows_are_not_joined(rows) -> None:
    columns = JOINED[0]
    assert joined_shares(frames_of(columns, rows), columns, ["s"], "s", most=0) is None


def test_buckets_are_joined_by_themselves() -> None:
    columns = JOINED[0]
    both = [
        pl.concat(pair)
        for pair in zip(frames_of(columns, ["xxxp", "xxxq"]), frames_of(columns, ["xxxp"], 1), strict=True)
    ]
    shares = joined_shares(both, columns, ["s"], "s")
    assert shares is not None
    assert largest_shares(shares).rows() == [(0, 0.5), (1, 1.0)]


def test_missing_values_join() -> None:
    columns = (("a", "s"), ("a", "b", "s"))
    rows = [(None, "x", "x", "p"), (None, "x", "x", "q"), ("x", "x", "x", None)]
    shares = joined_shares(frames_of(columns, rows), columns, ["s"], "s")
    assert shares is not None
    assert sorted(shares.to_series(-1)) == [0.5, 1.0]


def test_columns_are_linked_by_what_an_attacker_does_not_know() -> None:
    columns = (("a", "s"), ("a", "b"), ("s", "r"), ("r", "c"))
    assert linked_columns(columns, ["s", "r"], "s") == (0, 2, 3)
    assert linked_columns(columns, ["s", "r"], "r") == (0, 2, 3)
    assert linked_columns((("a", "s"), ("a", "b"), ("r", "b")), ["s", "r"], "s") == (0,)


@pytest.mark.parametrize(
    ("columns", "possible"),
    [
        ((("a",), ("b",)), True),
        ((("a", "b"), ("b", "c"), ("c", "d")), True),
        ((("a", "b"), ("b", "c"), ("c", "a")), False),
        ((("a", "b"), ("b", "c"), ("c", "a"), ("a", "b", "c")), True),
        ((("a", "b", "c"), ("a", "b", "d"), ("a", "e")), True),
    ],
)
def test_join_order(columns: Columns, possible: bool) -> None:
    order = join_order(columns)
    assert (order is not None) == possible
    seen: list[set[str]] = []
    for place, shared in order or ():
        before = set().union(*seen) if seen else set()
        assert set(shared) == before & set(columns[place])
        assert not shared or any(set(shared) <= column for column in seen)
        seen.append(set(columns[place]))


def test_sharing() -> None:
    columns = (("a", "b"), ("b", "c"), ("b",))
    assert shared_attributes(columns) == ("b",)
    assert overlap_ratio(columns) == pytest.approx(5 / 3)
    assert overlap_ratio((("a",), ("b",))) == 1
    assert places_of(columns, "b") == (0, 1, 2)
