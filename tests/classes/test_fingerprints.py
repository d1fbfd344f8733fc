"""Fingerprints, beside plain sets and combinations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from naive import fingerprints as naive
from sfumato.classes import statistics as module
from sfumato.classes.statistics import fingerprints

ROWS = st.lists(
    st.tuples(st.integers(-1, 3), st.integers(0, 6), st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=40
)


def check(rows, known: int, attributes: int) -> None:
    class_of, people, *codes = (np.array(column) for column in zip(*rows, strict=True))
    found = fingerprints(class_of, people, np.column_stack(codes[:attributes]), known)
    assert found is not None
    assert ((found.owner_of < 0) == (class_of < 0)).all()
    for place in range(4):
        members = [row for row, own in enumerate(class_of) if own == place]
        items = [(people[row], (column, codes[column][row])) for row in members for column in range(attributes)]
        sets = naive.sets_of([person for person, _ in items], [item for _, item in items])
        told = naive.found_in_class(sets, known)
        for row in members:
            own, twin = found.owner_of[row], told[people[row]]
            assert (found.values[own], found.company[own]) == (twin.values, twin.company)
            assert found.fewest[own] == twin.fewest
            assert found.chance[own] == pytest.approx(float(twin.chance))
    for least in (1, 2, 3):
        below = [own >= 0 and found.fewest[own] < least for own in found.owner_of]
        assert found.records_below(least).tolist() == below


@given(ROWS, st.integers(1, 3), st.integers(1, 2))
@examples(200)
def test_everybody_is_looked_for_as_by_hand(rows, known, attributes):
    check(rows, known, attributes)


@pytest.mark.parametrize("known", [1, 2, 3])
def test_nor_does_it_matter_how_many_sets_are_counted_at_a_time(monkeypatch, known):
    monkeypatch.setattr(module, "_AT_ONCE", 3)
    draw = np.random.default_rng(known)
    for _ in range(10):
        rows = np.column_stack([draw.integers(-1, 3, 60), draw.integers(0, 7, 60), draw.integers(0, 6, (60, 2))])
        check([tuple(row) for row in rows.tolist()], known, 2)


def test_an_example_by_hand():
    """Two of three people have a and b, but c tells the first from the second, and the third has less than two."""
    people, values = [0, 0, 0, 1, 1, 2], [0, 1, 2, 0, 1, 1]
    found = fingerprints(np.zeros(6, dtype=np.int32), np.array(people), np.array(values)[:, None], 2)
    assert found is not None
    assert found.fewest.tolist() == [1, 2, 3]
    assert found.chance.tolist() == pytest.approx([(1 / 2 + 1 + 1) / 3, 1 / 2, 1 / 3])


def test_too_many_sets_are_not_counted(monkeypatch):
    rows = np.zeros(10, dtype=np.int32), np.zeros(10, dtype=np.int32), np.arange(10)[:, None]
    monkeypatch.setattr(module, "MOST_SUBSETS", 120)
    assert fingerprints(*rows, 3) is not None
    monkeypatch.setattr(module, "MOST_SUBSETS", 119)
    assert fingerprints(*rows, 3) is None
    assert fingerprints(*rows, 2) is not None


@given(ROWS, st.integers(1, 3))
@examples(100)
def test_merging_classes_takes_nobody_below(rows, known):
    """Where all records of a person share one class; with rows apart a person's sets may grow."""
    class_of, people, codes, _ = (np.array(column) for column in zip(*rows, strict=True))
    class_of = np.array([class_of[np.flatnonzero(people == person)[0]] for person in people])
    apart = fingerprints(class_of, people, codes[:, None], known)
    merged = fingerprints(np.where(class_of == 1, 0, class_of), people, codes[:, None], known)
    assert apart is not None
    assert merged is not None
    kept = class_of >= 0
    assert (merged.fewest[merged.owner_of[kept]] >= apart.fewest[apart.owner_of[kept]]).all()
