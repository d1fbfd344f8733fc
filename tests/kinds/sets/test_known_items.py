"""Looking for people by a few of their items, counted against looking into every record."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from sfumato.errors import PolicyError, UnsatisfiableError
from sfumato.hierarchy import HierarchyTable
from sfumato.kinds.sets.attack import KnownItems, fitting_sets, original_view, released_view

TREE = HierarchyTable(tuple((item, item.upper() if item in "ab" else "C", "*") for item in "abcde"))
ROWS = st.lists(st.frozensets(st.sampled_from("abcde"), min_size=1), min_size=4, max_size=12)


def read(rows: list[frozenset[str]], sexes: list[str] | None = None, hierarchy: object = TREE) -> sf.Sets:
    pairs = [(number, item, (sexes or ["-"] * len(rows))[number]) for number, row in enumerate(rows) for item in row]
    schema = None if sexes is None else sf.Schema(quasi_identifying=["sex"])
    frame = pl.DataFrame(pairs, schema=["who", "what", "sex"], orient="row")
    return sf.read_sets(frame, hierarchy=hierarchy, schema=schema)  # type: ignore[arg-type]


def rows_of(sets: sf.Sets, known: dict[int, tuple[str, ...]]) -> tuple[np.ndarray, KnownItems]:
    numbers = [sets.names.index(item) for items in known.values() for item in items]
    starts = np.append(0, np.cumsum([len(items) for items in known.values()])).astype(np.int64)
    return np.array(list(known)), KnownItems(starts, np.array(numbers, dtype=np.int64))


@given(ROWS, st.booleans(), st.data())
@examples(150)
def test_records_that_fit_are_counted_in_the_class_of_the_person(rows, beside, data):
    sexes = data.draw(st.lists(st.sampled_from("fm"), min_size=len(rows), max_size=len(rows))) if beside else None
    sets = read(rows, sexes)
    known = {
        number: tuple(sorted(data.draw(st.sets(st.sampled_from(sorted(row)), max_size=3))))
        for number, row in enumerate(rows)
    }
    found = fitting_sets(original_view(sets), rows_of(sets, known)[1], rows_of(sets, known)[0])
    mine = sexes or ["-"] * len(rows)
    assert found.tolist() == [
        sum({*items} <= other and mine[number] == sex for other, sex in zip(rows, mine, strict=True))
        for number, items in known.items()
    ]


@given(ROWS, st.integers(1, 3), st.integers(1, 2), st.sampled_from(["suppress", "apriori"]))
@examples(150)
def test_nobody_who_knows_m_items_finds_fewer_than_k(rows, k, m, method):
    sets = read(rows)
    m = min(m, max(map(len, rows)))
    try:
        release = sf.anonymize_sets(sets, sf.KmAnonymity(k, m), method=method, seed=1)
    except UnsatisfiableError:
        return
    view = released_view(release, sets, np.arange(sets.height))
    for number, row in enumerate(rows):
        for items in combinations(sorted(row), min(m, len(row))):
            assert fitting_sets(view, rows_of(sets, {number: items})[1], np.array([number]))[0] >= k


def test_one_item_more_than_promised_is_told_as_such():
    rows = [frozenset("ab"), frozenset("ac"), frozenset("bc"), frozenset("abc")] * 2 + [frozenset("abcd")]
    sets = read(rows, hierarchy=None)
    release = sf.anonymize_sets(sets, sf.KmAnonymity(4, 1), seed=1)
    found = sf.attack_sets(sets, release, victims=None, seed=1)
    promised, beyond = found.after
    assert promised.allowed == 0.25
    assert promised.is_allowed
    assert promised.figures["fewest_records_that_fit"] >= 4
    assert beyond.allowed is None
    assert "promises nothing about who knows more than 1 items" in str(found)
    assert [result.success.people for result in (*found.before, *found.after)] == [9] * 4
    assert found.before[0].success.baseline == pytest.approx(1 / 9)
    assert found.to_dict()["people"] == 9
    assert sf.attack_sets(sets, known=4, items="rare", seed=1).before[0].figures["people_whom_one_record_fits"] == 1


def test_the_rarest_items_find_most():
    draw, chances = np.random.default_rng(1), 1 / np.arange(1, 41)
    rows = [frozenset(f"i{n}" for n in draw.choice(40, 4, replace=False, p=chances / chances.sum())) for _ in range(80)]
    sets = read(rows, hierarchy=None)
    rare, popular = (sf.attack_sets(sets, items=items, seed=1).before[0].success.share for items in ("rare", "popular"))
    assert rare > popular


def test_wrong_settings_are_told_together():
    sets = read([frozenset("ab")] * 4)
    with pytest.raises(PolicyError) as caught:
        sf.attack_sets(sets, "release", known=0, items="new", victims=-1, seed=-1)  # type: ignore[arg-type]
    assert len(caught.value.problems) == 5
    other = sf.anonymize_sets(read([frozenset("ab")] * 5), sf.KmAnonymity(2, 1))
    with pytest.raises(PolicyError, match="made from other sets"):
        sf.attack_sets(sets, other)
