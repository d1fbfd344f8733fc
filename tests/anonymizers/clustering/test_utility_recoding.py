"""Utility-based local recoding against its plain twins, examples by hand, and its promises."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import naive.xu as twin
import sfumato as sf
from anonymizers.clustering.clustering_tables import encoded, problem, tables
from anonymizers.clustering.mixed_rows import contents, laid_out, members
from examples import examples
from naive.mixed import Kind
from sfumato.anonymizers.clustering.distinct import DistinctRecords, PenaltyDistance, collapse_records
from sfumato.anonymizers.clustering.greedy import UtilityRecoding, bottom_up_classes, top_down_classes
from sfumato.anonymizers.feasibility import feasible
from sfumato.metrics import normalized_certainty_penalty
from sfumato.recoding import recode
from sfumato.table.encoding import encode

DIRECTIONS = ["bottom-up", "top-down"]
EQUAL = [(1.0, "aa", "red")]


@given(tables(least=2, most=16), st.integers(1, 4), st.data())
@examples(150)
def test_bottom_up_equals_the_twin_record_by_record(data, k, draw):
    k = min(k, len(data))
    records, rows, kinds = laid_out(data, k, PenaltyDistance())
    picks = draw.draw(st.permutations(range(len(data))))
    found = bottom_up_classes(records, k, np.array(picks))
    assert members(found) == twin.bottom_up(rows, kinds, k, picks)


@given(tables(least=2, most=16), st.integers(1, 4), st.data())
@examples(150)
def test_top_down_equals_the_twin_record_by_record(data, k, draw):
    k = min(k, len(data))
    records, rows, kinds = laid_out(data, k, PenaltyDistance())
    order = draw.draw(st.permutations(range(len(data))))
    found = top_down_classes(records, k, np.array(order))
    assert members(found) == twin_top_down(rows, kinds, k, order)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_larger_tables_equal_the_twins_too(direction):
    """Rows are looked at in chunks, so that a few of them are no test of what is left out."""
    rng = np.random.default_rng(11)
    texts = [["aa", "ab", "ba", "bb", "bc", "ca", None], ["red", "blue", "green", None]]
    data = [
        (float(rng.integers(0, 17)), *(choices[rng.integers(len(choices))] for choices in texts)) for _ in range(110)
    ]
    records, rows, kinds = laid_out(data, 3, PenaltyDistance())
    order = rng.permutation(len(data))
    if direction == "bottom-up":
        assert members(bottom_up_classes(records, 3, order)) == twin.bottom_up(rows, kinds, 3, order.tolist())
    else:
        assert members(top_down_classes(records, 3, order)) == twin_top_down(rows, kinds, 3, order.tolist())


def twin_top_down(
    rows: Sequence[Sequence[object]], kinds: Sequence[Kind], k: int, order: Sequence[int]
) -> list[list[int]]:
    """The twin, but for classes of equal records, which are not halved."""
    halves = twin.parts_of

    def parts_of(rows, kinds, k, members, order):
        equal = len({tuple(rows[one]) for one in members}) == 1
        return [list(members)] if equal else halves(rows, kinds, k, members, order)

    twin.parts_of = parts_of
    try:
        return twin.top_down(rows, kinds, k, order)
    finally:
        twin.parts_of = halves


def ages(values: list[int], k: int) -> tuple[DistinctRecords, np.ndarray]:
    """Records, and the place of each of the values among their rows."""
    table = encode(sf.read_table(pl.DataFrame({"age": values}), sf.Schema(quasi_identifying=["age"])))
    records = collapse_records(feasible(problem(table, sf.KAnonymity(k)))[0], PenaltyDistance())
    return records, np.argsort(records.rows)


def test_ages_bottom_up_by_hand():
    # 60 joins 42, 20 joins 21, 40 joins 41; then 22 makes less of a loss with 20 and 21 (3 · 2) than with 40 and 41.
    records, place = ages([20, 21, 22, 40, 41, 42, 60], 2)
    found = bottom_up_classes(records, 2, place[[6, 0, 3, 2, 4, 5, 1]])
    assert members(found[place]) == [[0, 1, 2], [3, 4], [5, 6]]


def test_ages_top_down_by_hand():
    # The ends are 60 and 20. 42 has 18 to 60 and 22 to 20; 40, 41 go the same way; 21 and 22 stay with 20.
    records, place = ages([20, 21, 22, 40, 41, 42, 60], 3)
    found = top_down_classes(records, 3, place[[0, 5, 4, 3, 2, 1, 6]])
    assert members(found[place]) == [[0, 1, 2], [3, 4, 5, 6]]


@pytest.mark.parametrize("direction", DIRECTIONS)
@given(tables(least=4, most=20), st.data())
@examples(40)
def test_the_order_of_the_input_does_not_matter(direction, data, draw):
    secret = draw.draw(st.lists(st.sampled_from("xyz"), min_size=len(data), max_size=len(data)))
    models = [sf.KAnonymity(2), sf.DistinctLDiversity(min(2, len(set(secret))))]
    rows = list(zip(data, secret, strict=True))
    found = []
    for order in (rows, draw.draw(st.permutations(rows))):
        table = encoded([row for row, _ in order], [text for _, text in order])
        found.append(contents(order, UtilityRecoding(direction).solve(problem(table, *models)).class_of))
    assert found[0] == found[1]


@pytest.mark.parametrize("direction", DIRECTIONS)
@given(tables(least=1, most=40), st.integers(1, 5), st.integers(0, 9))
@examples(40)
def test_classes_have_k_records(direction, data, k, seed):
    k = min(k, len(data))
    partition = UtilityRecoding(direction).solve(problem(encoded(data), sf.KAnonymity(k), seed=seed))
    assert partition.sizes.min() >= k
    if direction == "bottom-up":
        assert partition.sizes.max() < 2 * k


@pytest.mark.parametrize("direction", DIRECTIONS)
@example(20_000, 3)
@given(st.integers(1, 300), st.integers(1, 50))
@examples(10)
def test_equal_records_lose_nothing(direction, height, k):
    table = encoded(EQUAL * height)
    partition = UtilityRecoding(direction).solve(problem(table, sf.KAnonymity(min(k, height))))
    assert partition.sizes.min() >= min(k, height)
    assert normalized_certainty_penalty(recode(table, partition)) == 0


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_records_split_off_one_by_one_find_a_class(direction):
    """Each number is twice the one before, so that every cut leaves one record alone."""
    frame = pl.DataFrame({"size": [2.0**place for place in range(60)]})
    table = encode(sf.read_table(frame, sf.Schema(quasi_identifying=["size"])))
    partition = UtilityRecoding(direction).solve(problem(table, sf.KAnonymity(4)))
    assert partition.sizes.min() >= 4
    assert partition.count >= 4


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_blocks_are_used_where_the_table_is_larger(direction):
    rng = np.random.default_rng(3)
    data = [(float(number), None, None) for number in rng.integers(0, 10, 400)]
    found = UtilityRecoding(direction, block_size=100).solve(problem(encoded(data), sf.KAnonymity(3), threads=2))
    assert found.sizes.min() >= 3
    assert any("blocks" in note for note in found.notes)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_it_says_how_far_it_is(direction):
    calls = []
    data = [(float(place % 10), "ab", None) for place in range(50)]
    settled = problem(encoded(data), sf.KAnonymity(4), seed=None, progress=lambda *said: calls.append(said))
    UtilityRecoding(direction).solve(settled)
    assert calls[-1] == ("clustering", 50, 50)


@pytest.mark.parametrize(
    "options", [{"direction": "sideways"}, {"block_size": -1}, {"direction": 1, "block_size": "1"}]
)
def test_bad_options_are_refused(options):
    with pytest.raises(sf.PolicyError) as caught:
        UtilityRecoding(**options)
    assert len(caught.value.problems) == len(options)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_too_few_records_are_refused(direction):
    with pytest.raises(sf.UnsatisfiableError):
        UtilityRecoding(direction).solve(problem(encoded(EQUAL * 3), sf.KAnonymity(4)))
