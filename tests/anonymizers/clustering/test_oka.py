"""OKA against its plain twin, an example by hand, and its promises."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import sfumato as sf
from anonymizers.clustering.clustering_tables import Row, encoded, problem, tables
from anonymizers.clustering.mixed_rows import contents, laid_out, members
from examples import examples
from naive.oka import oka
from sfumato.anonymizers.clustering.distinct import HeightDistance, collapse_records
from sfumato.anonymizers.clustering.greedy import OKA, one_pass_classes
from sfumato.anonymizers.feasibility import feasible
from sfumato.table.encoding import encode


def by_codes(records) -> list[int]:
    codes = records.codes[records.record_of].tolist()
    return sorted(range(records.height), key=lambda row: (codes[row], row))


@pytest.mark.parametrize("centroid", ["ancestor", "mode"])
@given(tables(least=2, most=18), st.integers(1, 4), st.data())
@examples(150)
def test_it_equals_the_twin_record_by_record(centroid, data: list[Row], k: int, draw):
    k = min(k, len(data))
    records, rows, kinds = laid_out(data, k, HeightDistance())
    everybody = list(range(len(data)))
    seeds = draw.draw(st.permutations(everybody))[: len(data) // k]
    pool_order = draw.draw(st.permutations(everybody))
    expected = oka(
        rows, kinds, k, seeds, by_codes(records), pool_order, centre="mode" if centroid == "mode" else "lca"
    )  # fmt: skip
    found = one_pass_classes(records, k, np.array(seeds), np.array(pool_order), centroid)
    assert members(found) == sorted(sorted(one) for one in expected)


@pytest.mark.parametrize(
    ("pool_order", "expected"),
    [(range(7), [[2, 3, 4, 5], [0, 1, 6]]), (range(6, -1, -1), [[0, 2, 3, 4], [1, 5, 6]])],
)
def test_seven_ages_by_hand(pool_order: Sequence[int], expected: list[list[int]]):
    ages = [20, 21, 22, 40, 41, 42, 60]
    table = encode(sf.read_table(pl.DataFrame({"age": ages}), sf.Schema(quasi_identifying=["age"])))
    (start,) = feasible(problem(table, sf.KAnonymity(3)))
    records = collapse_records(start, HeightDistance())
    place = np.argsort(records.rows)
    found = one_pass_classes(records, 3, place[[0, 6]], place[list(pool_order)])
    assert members(found[place]) == sorted(expected)


@given(tables(least=4, most=20), st.sampled_from(["ancestor", "mode"]), st.data())
@examples(60)
def test_the_order_of_the_input_does_not_matter(data, centroid, draw):
    secret = draw.draw(st.lists(st.sampled_from("xyz"), min_size=len(data), max_size=len(data)))
    models = [sf.KAnonymity(2), sf.DistinctLDiversity(min(2, len(set(secret))))]
    rows = list(zip(data, secret, strict=True))
    found = []
    for order in (rows, draw.draw(st.permutations(rows))):
        table = encoded([row for row, _ in order], [text for _, text in order])
        found.append(contents(order, OKA(centroid=centroid).solve(problem(table, *models)).class_of))
    assert found[0] == found[1]


@given(tables(least=1, most=30), st.integers(1, 5), st.integers(0, 9))
@examples(60)
def test_classes_have_k_records_and_are_as_many_as_possible(data, k, seed):
    k = min(k, len(data))
    partition = OKA().solve(problem(encoded(data), sf.KAnonymity(k), seed=seed))
    assert partition.sizes.min() >= k
    assert partition.count == len(data) // k


@example(3000, 3)
@given(st.integers(1, 300), st.integers(1, 50))
@examples(10)
def test_equal_records_make_full_classes(height, k):
    k = min(k, height)
    partition = OKA().solve(problem(encoded([(1.0, "aa", "red")] * height), sf.KAnonymity(k)))
    assert partition.sizes.min() >= k
    assert partition.count == height // k


def test_without_a_seed_chance_decides():
    data = [(float(place % 10), "aa", "red") for place in range(200)]
    partition = OKA().solve(problem(encoded(data), sf.KAnonymity(5), seed=None))
    assert partition.count == 40


def test_blocks_are_used_where_the_table_is_larger():
    rng = np.random.default_rng(3)
    data = [(float(number), None, None) for number in rng.integers(0, 10, 400)]
    partition = OKA(block_size=100).solve(problem(encoded(data), sf.KAnonymity(3), threads=2))
    assert partition.sizes.min() >= 3
    assert any("blocks" in note for note in partition.notes)


def test_it_says_how_far_it_is():
    calls = []
    data = [(float(place % 10), "ab", None) for place in range(50)]
    OKA().solve(problem(encoded(data), sf.KAnonymity(4), progress=lambda *said: calls.append(said)))
    assert calls[-1] == ("clustering", 50, 50)


@pytest.mark.parametrize(
    "options", [{"centroid": "median"}, {"block_size": 1}, {"block_size": 2.5}, {"centroid": None, "block_size": True}]
)
def test_bad_options_are_refused(options):
    with pytest.raises(sf.PolicyError) as caught:
        OKA(**options)
    assert len(caught.value.problems) == len(options)


def test_too_few_records_are_refused():
    with pytest.raises(sf.UnsatisfiableError):
        OKA().solve(problem(encoded([(1.0, "aa", "red")] * 3), sf.KAnonymity(4)))


@pytest.mark.parametrize(
    ("model", "size"),
    [
        (sf.KAnonymity(3), 3),
        (sf.DistinctLDiversity(4), 4),
        (sf.EntropyLDiversity(2.5), 3),
        (sf.ProbabilisticLDiversity(3), 3),
        (sf.RecursiveLDiversity(3.0, 2), 2),
        (sf.AlphaKAnonymity(0.4, 2), 3),
        (sf.TCloseness(0.5), 1),
    ],
)
def test_models_that_say_how_small_a_class_can_be(model, size):
    data = [(float(place % 10), "ab", None) for place in range(40)]
    table = encoded(data, list("wxyz") * 10)
    assert feasible(problem(table, model))[0].least_size == size
