"""The order of a release."""

from __future__ import annotations

import os

import numpy as np
import pytest

from sfumato.randomness import another, permutation


@pytest.mark.parametrize("seed", [None, 0, 12345678901234567890])
@pytest.mark.parametrize("count", [0, 1, 2, 1000])
def test_every_place_is_taken_once(count, seed):
    order = permutation(count, seed)
    assert order.dtype == np.int64
    assert np.array_equal(np.sort(order), np.arange(count))


def test_a_seed_repeats_itself_and_none_never_does():
    assert np.array_equal(permutation(100, 5), permutation(100, 5))
    assert not np.array_equal(permutation(100, 5), permutation(100, 6))
    assert not np.array_equal(permutation(100, None), permutation(100, None))


def test_without_a_seed_the_order_is_that_of_keys_from_the_operating_system(monkeypatch):
    keys = np.array([7, 1, 2**64 - 1, 0], dtype=np.uint64)
    asked = []

    def urandom(size: int) -> bytes:
        asked.append(size)
        return keys.tobytes()

    monkeypatch.setattr(os, "urandom", urandom)
    assert permutation(4, None).tolist() == [3, 1, 0, 2]
    assert asked == [32]


def test_every_record_comes_to_every_place_equally_often():
    runs = 4000
    places = np.zeros((5, 5), dtype=int)
    for _ in range(runs):
        places[np.arange(5), permutation(5, None)] += 1
    expected = runs / 5
    statistic = ((places - expected) ** 2 / expected).sum()
    assert statistic < 60  # 16 degrees of freedom: exceeded once in a million runs


def test_keys_that_differ_in_their_low_bits_alone_are_told_apart(monkeypatch):
    keys = np.array([3, 2, 2**63 + 1, 2**63, 1, 0], dtype=np.uint64)
    monkeypatch.setattr(os, "urandom", lambda size: keys.tobytes())
    assert permutation(6, None).tolist() == [5, 4, 1, 0, 3, 2]


def test_further_choices_of_a_run_are_unlike_each_other_and_the_first():
    assert another(None, 1) is None
    found = [another(seed, number) for seed in (0, 1, 2**40) for number in range(20)]
    assert len({0, 1, 2**40, *found}) == 63
    assert found == [another(seed, number) for seed in (0, 1, 2**40) for number in range(20)]
    assert permutation(50, another(1, 1)).tolist() != permutation(50, 1).tolist()
