"""Making buckets: the groups of the paper, whatever the counts are."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from naive import buckets as naive
from sfumato.anonymizers.bucketization import (
    BucketAssignment,
    BucketGroups,
    SortedRecords,
    dealt_buckets,
    distinct_buckets,
    sort_records,
)

CODES = st.lists(st.integers(0, 9), min_size=1, max_size=60).map(lambda values: np.array(values, dtype=np.uint8))


def contents(buckets: BucketAssignment, codes: np.ndarray) -> list[list[int]]:
    assert sorted(set(buckets.bucket_of.tolist())) == list(range(buckets.count))
    return [sorted(codes[buckets.bucket_of == number].tolist()) for number in range(buckets.count)]


def made(codes: np.ndarray, seed: int | None = 1) -> SortedRecords:
    return sort_records(codes, 10, seed)


@given(CODES, st.integers(0, 99))
@examples(50)
def test_records_are_sorted_by_value(codes, seed):
    found = made(codes, seed)
    assert sorted(found.records.tolist()) == list(range(len(codes)))
    assert codes[found.records].tolist() == sorted(codes.tolist())
    for value in range(10):
        assert set(codes[found.records[found.starts[value] : found.starts[value + 1]]].tolist()) <= {value}
    assert found.most_frequent == max(Counter(codes.tolist()).values())


@given(CODES, st.integers(1, 5), st.one_of(st.none(), st.integers(0, 99)))
@examples(200)
def test_buckets_of_different_values_are_those_of_the_twin(codes, size, seed):
    buckets = distinct_buckets(made(codes, seed), size, seed)
    if not naive.eligible(codes.tolist(), size):
        assert buckets is None
        return
    counts = {value: int((codes == value).sum()) for value in range(10)}
    groups, left = naive.groups_of_values(counts, size)
    found = contents(buckets, codes)
    assert (len(found), buckets.joined) == (len(groups), len(left)) == (len(codes) // size, len(codes) % size)
    assert all(len(set(values)) == len(values) >= size for values in found)
    # A bucket has the values that its group took, and perhaps some of those that were left.
    joined = Counter()
    for values, taken in zip(found, groups, strict=True):
        assert Counter(taken) <= Counter(values)
        joined += Counter(values) - Counter(taken)
    assert joined == Counter(left)


@given(st.lists(CODES, min_size=1, max_size=4), st.integers(1, 3), st.one_of(st.none(), st.integers(0, 99)))
@examples(100)
def test_buckets_of_parts_are_those_of_the_parts_alone(groups, size, seed):
    codes = np.concatenate(groups)
    order = np.random.default_rng(len(codes)).permutation(len(codes))
    part_of = np.repeat(np.arange(len(groups)), [len(group) for group in groups]).astype(np.int32)[order]
    codes = codes[order]
    records = sort_records(codes, 10, seed, BucketGroups(part_of, len(groups)))
    buckets = distinct_buckets(records, size, seed)
    if not all(naive.eligible(group.tolist(), size) for group in groups):
        assert buckets is None
        return
    assert buckets.parts == len(groups)
    pairs = set(zip(buckets.bucket_of.tolist(), part_of.tolist(), strict=True))
    assert len(pairs) == buckets.count == sum(len(group) // size for group in groups)
    found = contents(buckets, codes)
    assert all(len(set(values)) == len(values) >= size for values in found)
    for number, group in enumerate(groups):
        inside = np.unique(buckets.bucket_of[part_of == number]) if len(group) else []
        taken = naive.groups_of_values({value: int((group == value).sum()) for value in range(10)}, size)[0]
        for bucket, values in zip(inside, taken, strict=True):
            assert Counter(values) <= Counter(found[bucket])


@given(CODES, st.integers(1, 60))
@examples(100)
def test_dealt_buckets_have_every_value_evenly(codes, count):
    count = min(count, len(codes))
    found = contents(dealt_buckets(made(codes), count), codes)
    assert max(map(len, found)) - min(map(len, found)) <= 1
    for value in range(10):
        held = [values.count(value) for values in found]
        assert max(held) - min(held) <= 1


def test_which_records_of_a_value_meet_is_chance():
    codes = np.array([0, 1] * 30, dtype=np.uint8)
    partners = set()
    for seed in range(40):
        buckets = distinct_buckets(made(codes, seed), 2, seed)
        partners.add(int(np.flatnonzero(buckets.bucket_of == buckets.bucket_of[0])[1]))
    assert len(partners) > 10
    runs = {tuple(distinct_buckets(made(codes, None), 2, None).bucket_of.tolist()) for _ in range(5)}
    assert len(runs) == 5


def test_who_is_left_joins_any_bucket_that_lacks_the_value():
    # Values 1 and 2 meet in one bucket, and 0 is in every other one.
    codes = np.array([0, 1, 0, 2, 0, 3, 4], dtype=np.uint8)
    joined = set()
    for seed in range(60):
        buckets = distinct_buckets(made(codes, seed), 2, seed)
        (larger,) = np.flatnonzero(np.bincount(buckets.bucket_of) == 3)
        values = codes[buckets.bucket_of == larger]
        assert len(set(values.tolist())) == 3
        joined.add(tuple(sorted(values.tolist())))
    assert len(joined) > 1


@pytest.mark.parametrize("values", [3, 300, 70_000])
def test_any_number_of_values(values):
    draw = np.random.default_rng(5)
    codes = draw.integers(0, values, 100_000).astype(np.uint32)
    size = 2
    buckets = distinct_buckets(sort_records(codes, values, 1), size, 1)
    assert buckets.count == len(codes) // size
    pairs = np.stack([buckets.bucket_of, codes.astype(np.int64)])
    assert np.unique(pairs, axis=1).shape[1] == len(codes)


def test_values_that_do_not_occur_take_no_part():
    codes = np.array([7, 3, 7, 3], dtype=np.uint8)
    buckets = distinct_buckets(sort_records(codes, 1000, 1), 2, 1)
    assert contents(buckets, codes) == [[3, 7], [3, 7]]
