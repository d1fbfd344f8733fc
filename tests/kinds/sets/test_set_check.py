"""Which k^m sets have, counted against looking into every record."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from naive.sets import supports
from sfumato.errors import InputError, PolicyError
from sfumato.kernels.sets import rare_combinations
from sfumato.kinds.sets import check as set_check
from sfumato.kinds.sets.check import SizeCount, count_combinations

ROWS = st.lists(st.frozensets(st.sampled_from("abcdef")), min_size=1, max_size=12)


def packed(rows: list[frozenset[str]]) -> tuple[np.ndarray, np.ndarray]:
    starts = np.append(0, np.cumsum([len(row) for row in rows])).astype(np.int64)
    return starts, np.array([ord(item) - ord("a") for row in rows for item in sorted(row)], dtype=np.int32)


def naively(rows: list[frozenset[str]], classes: list[int], size: int, k: int) -> SizeCount:
    found = [
        count
        for number in set(classes)
        for count in supports([row for row, own in zip(rows, classes, strict=True) if own == number], size).values()
    ]
    return SizeCount(size, len(found), min(found, default=None), sum(count < k for count in found))


@given(ROWS, st.integers(1, 4), st.integers(1, 4), st.sampled_from([1, 3, 1 << 20]), st.data())
@examples(300)
def test_combinations_are_counted_in_classes(rows, m, k, chunk, data):
    classes = data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    with pytest.MonkeyPatch.context() as patch:
        # Small parts, so that heads and their next items are split.
        patch.setattr(set_check, "_CHUNK", chunk)
        patch.setattr(set_check, "_LARGE", 2 * chunk)
        found = count_combinations(*packed(rows), np.array(classes, dtype=np.int64), m, k, 2)
    assert found == tuple(naively(rows, classes, size, k) for size in range(1, m + 1))


@given(ROWS, st.integers(1, 4), st.integers(1, 4))
@examples(300)
def test_the_count_tree_finds_rare_combinations_whose_parts_are_frequent(rows, size, k):
    by_size = {part: supports(rows, part) for part in range(1, size + 1)}

    def is_frequent(items: tuple[str, ...]) -> bool:
        parts = (items[:at] + items[at + 1 :] for at in range(len(items)))
        return len(items) == 1 or all(by_size[len(items) - 1][part] >= k and is_frequent(part) for part in parts)

    frequent = {items for part in range(1, size) for items, count in by_size[part].items() if count >= k}
    kept = [frozenset(item for item in row if size == 1 or (item,) in frequent) for row in rows]
    wanted = sorted(items for items, count in supports(kept, size).items() if count < k and is_frequent(items))
    found = rare_combinations(*packed(kept), 6, 6, size, k, 10_000)
    named = [tuple(chr(ord("a") + item) for item in items) for items in found.tolist()]
    # Below a rare combination others may be named, too; none may be missing.
    assert [items for items in named if is_frequent(items)] == wanted
    assert named == sorted(named)
    assert all(by_size[size][items] < k or size > 1 for items in named)


def test_the_count_tree_stops_after_so_many_and_looks_at_leading_items_alone():
    rows = [frozenset("abc"), frozenset("de")]
    assert len(rare_combinations(*packed(rows), 6, 6, 2, 2, 3)) == 3
    assert rare_combinations(*packed(rows), 6, 1, 2, 2, 9).tolist() == [[0, 1], [0, 2]]
    assert rare_combinations(*packed(rows), 6, 2, 1, 2, 9).tolist() == [[0], [1]]


def long(rows: list[str], **more: list[object]) -> pl.DataFrame:
    pairs = [(number, item) for number, row in enumerate(rows) for item in row]
    frame = pl.DataFrame(pairs, schema=["who", "what"], orient="row")
    return frame.with_columns(pl.Series(name, [values[number] for number, _ in pairs]) for name, values in more.items())


def test_a_table_says_which_k_it_has_for_each_m():
    check = sf.check_sets(sf.read_sets(long(["ab", "ab", "abc", "c"])))
    assert [check.k_of(m) for m in (1, 2, 3)] == [2, 1, 1]
    assert str(check).splitlines() == [
        "4 sets of 3 items, 0 empty",
        "  m = 1: k = 2; 0 of 3 combinations of 1 item in a single record",
        "  m = 2: k = 1; 2 of 3 combinations of 2 items in a single record",
        "  m = 3: k = 1; 1 of 1 combination of 3 items in a single record",
    ]
    assert check.to_dict()["k"] == {"1": 2, "2": 1, "3": 1}
    with pytest.raises(InputError, match="were not counted"):
        check.k_of(4)


def test_columns_beside_the_sets_make_classes():
    table = long(["a", "a", "a", "b"], sex=["f", "f", "m", "m"])
    check = sf.check_sets(sf.read_sets(table, schema=sf.Schema(quasi_identifying=["sex"])), 1)
    assert (check.classes, check.smallest, check.k_of(1)) == (2, 2, 1)


def test_what_is_too_much_to_count_is_said(monkeypatch):
    from sfumato.kinds.sets import check as module

    monkeypatch.setattr(module, "MOST_COMBINATIONS", 7)
    assert len(sf.check_sets(sf.read_sets(long(["abcd", "ab"])), 3).sizes) == 3
    monkeypatch.setattr(module, "MOST_COMBINATIONS", 6)
    found = sf.check_sets(sf.read_sets(long(["abcd", "ab"])), 3)
    assert "m = 2: not counted, as the sets hold 7 combinations" in str(found)
    assert [size for size, _ in found.uncounted] == [2, 3]
    monkeypatch.setattr(set_check, "MOST_COMBINATIONS", 3)
    with pytest.raises(InputError, match="too many to count; lower m"):
        count_combinations(*packed([frozenset("abcd")]), np.zeros(1, dtype=np.int64), 2, 2)


def test_wrong_questions_are_refused_together():
    with pytest.raises(PolicyError) as caught:
        sf.check_sets("sets.csv", 0)  # type: ignore[arg-type]
    assert len(caught.value.problems) == 2


def test_larger_combinations_than_the_largest_set_are_not_looked_for():
    sets = sf.read_sets(long(["ab", "a", "b"]))
    assert str(sf.check_sets(sets, m=10**15)) == str(sf.check_sets(sets, m=2))
