"""Records in the layout of the kernels."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from sfumato.anonymizers.layout import lay_out_records
from sfumato.models.compiled import compile_rules
from sfumato.models.protocol import PrivacyModel
from sfumato.table.encoding import EncodedTable, encode


def table_of(rows: list[tuple[int, ...]]) -> EncodedTable:
    columns = list(zip(*rows, strict=True))
    names = [f"q{place}" for place in range(len(columns) - 1)]
    frame = pl.DataFrame(
        {**{name: list(column) for name, column in zip(names, columns, strict=False)}, "s": columns[-1]}
    )
    return encode(sf.read_table(frame, sf.Schema(quasi_identifying=names, sensitive=["s"])))


MODELS: list[list[PrivacyModel]] = [[sf.KAnonymity(2)], [sf.KAnonymity(1), sf.DistinctLDiversity(1)]]
rows = st.integers(1, 4).flatmap(
    lambda q: st.lists(st.tuples(*[st.integers(0, 3)] * q, st.integers(0, 2)), min_size=1, max_size=40)
)


@given(rows, st.sampled_from(MODELS), st.booleans())
@examples(150)
def test_every_record_finds_its_codes_again(rows, models, collapse):
    table = table_of(rows)
    rules = compile_rules(models, table)
    found = lay_out_records(table, rules, collapse=collapse)
    wanted = np.concatenate([table.codes, rules.codes], axis=1)
    width = wanted.shape[1]
    own = found.spread(np.arange(found.height, dtype=np.int32))
    assert np.array_equal(found.codes[own][:, :width], wanted)
    assert not found.codes[:, width:].any()
    assert int(found.weights.sum()) == table.height
    assert np.array_equal(np.bincount(own, minlength=found.height), found.weights)
    assert sorted(found.rows.tolist()) == list(range(found.height))


@given(rows, st.sampled_from(MODELS), st.booleans(), st.randoms(use_true_random=False))
@examples(50)
def test_records_stand_in_an_order_of_their_own(rows, models, collapse, random):
    moved = random.sample(rows, len(rows))
    one, two = (
        lay_out_records(table, compile_rules(models, table), collapse=collapse)
        for table in map(table_of, (rows, moved))
    )
    # What a rule looks at in records that are not collapsed stands as it came.
    width = one.codes.shape[1] if collapse else len(rows[0]) - 1
    assert np.array_equal(one.codes[:, :width], two.codes[:, :width])
    assert np.array_equal(one.weights, two.weights)


@given(rows)
@examples(50)
def test_words_are_the_same_memory_as_codes(rows):
    table = table_of(rows)
    found = lay_out_records(table, compile_rules(MODELS[0], table), collapse=False)
    assert found.words.dtype == np.uint64
    assert np.shares_memory(found.words, found.codes)
    assert found.words.nbytes == found.codes.nbytes


def test_collapsing_keeps_one_record_of_each():
    table = table_of([(1, 2, 0), (3, 4, 0)] * 6)
    rules = compile_rules(MODELS[0], table)
    assert lay_out_records(table, rules, collapse=True).height == 2
    assert lay_out_records(table, rules, collapse=False).height == 12


def test_records_that_differ_in_a_ruled_attribute_are_not_collapsed():
    table = table_of([(1, 1, 0), (1, 1, 1)] * 10)
    assert lay_out_records(table, compile_rules(MODELS[0], table), collapse=True).height == 1
    assert lay_out_records(table, compile_rules(MODELS[1], table), collapse=True).height == 2


def test_wide_sensitive_codes_widen_all():
    table = table_of([(row % 3, row) for row in range(700)])
    found = lay_out_records(table, compile_rules([sf.DistinctLDiversity(1)], table), collapse=True)
    assert found.codes.dtype == np.uint16
    assert sorted(found.codes[:, 1].tolist()) == list(range(700))
