"""Classes of people whose records may lie in several: compiled verdicts equal those of models over whole columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from models.small_tables import Column, encode
from sfumato.classes.statistics import as_one_class, statistics_of
from sfumato.kernels.full_domain import judge_classes
from sfumato.kernels.predicates import holds
from sfumato.models.compiled import CompiledRules, compile_rules, renumber_places
from sfumato.table.encoding import EncodedTable, PeopleApart
from sfumato.table.schema import Kind

MODELS = [
    sf.KAnonymity(2), sf.KAnonymity(3, shares=False), sf.AlphaKAnonymity(0.6, 2), sf.DistinctLDiversity(2),
    sf.ProbabilisticLDiversity(1.5), sf.EntropyLDiversity(1.5), sf.RecursiveLDiversity(2, 2),
]  # fmt: skip
RECORDS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 6), st.integers(0, 3), st.sampled_from("abc")), min_size=1, max_size=40
)


def table_of(rows: list[tuple[int, int, int, str]], *, wishing: bool) -> tuple[EncodedTable, np.ndarray]:
    """The table, and the class of each record; classes are numbered without gaps."""
    classes, people, first, second = (np.array(column) for column in zip(*rows, strict=True))
    columns = [Column("n", Kind.NUMERIC, tuple(first.tolist())), Column("c", Kind.CATEGORICAL, tuple(second.tolist()))]
    wishes = 1 + people.astype(np.int64) % 4 if wishing else None
    encoded = replace(encode(*columns), apart=PeopleApart(people.astype(np.int32), wishes))
    return encoded, np.unique(classes, return_inverse=True)[1].astype(np.int32)


@given(RECORDS, st.lists(st.sampled_from(MODELS), min_size=1, max_size=3), st.booleans())
@examples(200)
def test_verdicts_are_those_of_the_models(rows, models, wishing):
    table, class_of = table_of(rows, wishing=wishing)
    count = int(class_of.max()) + 1
    statistics = statistics_of(table, class_of, count)
    expected = np.logical_and.reduce([model.holds(statistics) for model in models]).tolist()
    compiled = compile_rules(models, table)
    assert densely(compiled, class_of) == expected
    assert record_by_record(compiled, class_of) == expected
    assert compiled.whole.sizes.tolist() == [len({person for _, person, _, _ in rows})]
    assert as_one_class(statistics).count == 1


@given(RECORDS, st.lists(st.sampled_from(MODELS), min_size=1, max_size=2), st.booleans(), st.data())
@examples(100)
def test_new_numbers_for_some_records_change_no_verdict(rows, models, wishing, data):
    table, class_of = table_of(rows, wishing=wishing)
    compiled = compile_rules(models, table)
    some = np.array(sorted(data.draw(st.sets(st.integers(0, len(rows) - 1), min_size=1))))
    own = np.unique(class_of[some], return_inverse=True)[1].astype(np.int32)
    arrays, codes = renumber_places(compiled.arrays, compiled.codes[some])
    assert arrays.offsets[-1] <= len(some) * codes.shape[1]
    fewer = CompiledRules(arrays, codes, compiled.whole)
    expected = densely(replace(compiled, codes=compiled.codes[some]), own)
    assert densely(fewer, own) == record_by_record(fewer, own) == expected


def densely(compiled: CompiledRules, class_of: np.ndarray) -> list[bool]:
    scratch = np.full(compiled.arrays.scratch_size, np.nan)
    verdicts = []
    for owner in range(class_of.max() + 1):
        own = compiled.codes[class_of == owner].astype(np.int64) + compiled.arrays.offsets[:-1]
        counts = np.bincount(own.ravel(), minlength=int(compiled.arrays.offsets[-1]))
        verdicts.append(bool(holds(int((class_of == owner).sum()), counts, compiled.arrays, scratch)))
    return verdicts


def record_by_record(compiled: CompiledRules, class_of: np.ndarray) -> list[bool]:
    sizes = np.bincount(class_of)
    weights, everybody = np.ones(len(class_of), dtype=np.int64), np.ones(len(sizes), dtype=np.bool_)
    identity = np.arange(compiled.arrays.offsets[-1], dtype=np.int64)
    starts = compiled.arrays.offsets[:-1]
    return judge_classes(
        class_of, sizes, everybody, weights, compiled.codes, identity, starts, compiled.arrays
    ).tolist()  # fmt: skip


@pytest.mark.parametrize("shares", [None, False])
def test_a_class_that_is_large_enough_is_safe(shares):
    """Nobody has more than 3 records, so that from 6 on everything holds that asks for sizes alone."""
    rows = [(0, person, 0, "a") for person in (0, 0, 0, 1, 1, 2)]
    compiled = compile_rules([sf.KAnonymity(2, shares=shares)], table_of(rows, wishing=False)[0])
    assert compiled.arrays.safe_size == 6
    wishing = compile_rules([sf.KAnonymity(2, shares=shares)], table_of(rows, wishing=True)[0])
    assert wishing.arrays.safe_size > 10**9
