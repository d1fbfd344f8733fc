"""The order of records that depends on what they hold alone."""

from __future__ import annotations

from itertools import groupby, pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.table import row_order as module
from sfumato.table.encoding import encode
from sfumato.table.row_order import canonical_order, collapsed, content_hash, hash_order

HASHES = ["9ca066f1a4ab2eea", "896e8f2d9349fdd2", "82df0438f02cb057", "4a549cd6c2dae337"]

codes = st.integers(1, 4).flatmap(
    lambda q: st.lists(st.lists(st.integers(0, 3), min_size=q, max_size=q), min_size=1, max_size=30)
)


def test_hashes_are_of_numbers_and_stay_what_they_are():
    rows = [[0, 0], [1, 2], [2, 1], [200, 3]]
    narrow, wide, widest = (content_hash(np.array(rows, dtype=kind)) for kind in (np.uint8, np.uint16, np.uint32))
    assert np.array_equal(narrow, wide)
    assert np.array_equal(narrow, widest)
    assert [f"{number:016x}" for number in narrow.tolist()] == HASHES


def test_hashes_of_many_rows_are_those_of_few():
    rows = np.random.default_rng(1).integers(0, 50, (3 * module._BLOCK + 5, 3)).astype(np.uint8)
    assert np.array_equal(content_hash(rows)[-7:], content_hash(rows[-7:]))
    assert len(np.unique(content_hash(rows))) == len(np.unique(rows, axis=0))


@given(codes, st.booleans(), st.sampled_from([0, 2, 40, 63]))
@settings(max_examples=200, deadline=None)
def test_rows_stand_by_hash_then_by_codes_then_as_they_came(rows, weak, place):
    """Also where most rows have one hash, which no true table is likely to show."""
    table = np.array(rows, dtype=np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        if weak:
            patch.setattr(module, "content_hash", lambda codes: (codes[:, 0] % 2).astype(np.uint64) << np.uint64(place))
        keys = module.content_hash(table).tolist()
        wanted = sorted(range(len(rows)), key=lambda row: (keys[row], rows[row], row))
        assert hash_order(table).tolist() == wanted
        distinct, weights, record_of = collapsed(table)
        assert distinct.tolist() == [row for row, _ in groupby(rows[row] for row in wanted)]
        assert weights.tolist() == [rows.count(row) for row in distinct.tolist()]
        assert distinct[record_of].tolist() == rows
        assert distinct.dtype == table.dtype


def test_no_rows_are_collapsed_to_none():
    distinct, weights, record_of = collapsed(np.zeros((0, 3), dtype=np.uint16))
    assert (distinct.shape, weights.shape, record_of.shape) == ((0, 3), (0,), (0,))


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=30), st.booleans(), st.booleans(), st.data())
@settings(max_examples=100, deadline=None)
def test_canonical_order_is_the_same_for_every_order(rows, weak, secret, data):
    schema = sf.Schema(quasi_identifying=["a"], sensitive=["b"] if secret else [], others="keep")
    frame = pl.DataFrame(rows, schema=["a", "b", "c"], orient="row")
    with pytest.MonkeyPatch.context() as patch:
        if weak:
            patch.setattr(module, "content_hash", lambda codes: np.zeros(len(codes), dtype=np.uint64))
        seen = []
        for order in (range(len(rows)), data.draw(st.permutations(range(len(rows))))):
            table = sf.read_table(frame[list(order)], schema)
            encoded = encode(table)
            places = canonical_order(encoded, table)
            seen.append(table.frame[places].rows())
            again = encoded.take(places)
            assert again.codes.tolist() == encoded.codes[places].tolist()
            runs = [row[0] for row in seen[-1]]
            assert sum(one != two for one, two in pairwise(runs)) == len(set(runs)) - 1
        assert seen[0] == seen[1]


def test_what_stands_first_is_a_fair_sample():
    ages = np.arange(20_000) % 200
    table = sf.read_table(
        pl.DataFrame({"age": ages, "place": np.arange(20_000)}), sf.Schema(quasi_identifying=["age", "place"])
    )
    first = ages[canonical_order(encode(table), table)[:1024]]
    assert abs(first.mean() - ages.mean()) < 5 * ages.std() / 32
