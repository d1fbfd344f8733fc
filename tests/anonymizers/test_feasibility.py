"""Which records a solution may hold at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from sfumato.anonymizers.feasibility import feasible
from sfumato.anonymizers.protocol import Problem
from sfumato.models.protocol import PrivacyModel
from sfumato.table.encoding import encode


def problem(models: Sequence[PrivacyModel], limit: int, *columns: Sequence[str], seed: int | None = 0) -> Problem:
    names = [f"s{place}" for place in range(len(columns))]
    frame = pl.DataFrame({"q": range(len(columns[0])), **dict(zip(names, map(list, columns), strict=True))})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["q"], sensitive=names))
    return Problem(encode(table), models, limit, seed)


def test_a_table_that_satisfies_the_models_is_kept_whole():
    given_problem = problem([sf.KAnonymity(4), sf.DistinctLDiversity(2)], 4, "aabb")
    (start,) = feasible(given_problem)
    assert start.kept is None
    assert start.problem is given_problem
    assert (start.smallest, start.ruled) == (4, True)
    assert start.partition(np.zeros(4, dtype=np.int32), 1).suppressed == 0


def test_the_size_that_counts_and_whether_more_than_sizes_does():
    (start,) = feasible(problem([sf.KAnonymity(2), sf.KAnonymity(3)], 0, "aabb"))
    assert (start.smallest, start.ruled) == (3, False)
    (start,) = feasible(problem([sf.TCloseness(0.5)], 0, "aabb"))
    assert (start.smallest, start.ruled) == (1, True)


def test_the_first_choice_leaves_out_as_few_records_as_it_takes():
    start, *more = feasible(problem([sf.ProbabilisticLDiversity(2)], 4, "aaaaabbc"))
    assert start.kept is not None
    assert Counter("aaaaabbc"[row] for row in np.flatnonzero(start.kept)) == {"a": 3, "b": 2, "c": 1}
    assert all(each.kept is not None and 4 <= each.kept.sum() < 6 for each in more)
    cover = np.array([0, 0, 0, 0, 1, 1, 1, 1], dtype=np.int32)
    partition = start.partition(cover, 2)
    assert partition.suppressed == 2
    assert partition.class_of[start.kept].tolist() == cover[start.kept].tolist()
    assert partition.covered_by is cover


def test_the_rules_compare_with_the_kept_records():
    start = feasible(problem([sf.ProbabilisticLDiversity(2)], 2, "aaaaabbc"))[0]
    assert start.rules.arrays.totals.tolist() == [3, 2, 1]
    assert start.rules.arrays.total == 6


def test_which_records_go_depends_on_the_seed_alone_and_is_chance_without_one():
    values = "a" * 60 + "b" * 40
    chosen = [feasible(problem([sf.ProbabilisticLDiversity(2)], 20, values, seed=5))[0].kept for _ in range(2)]
    assert np.array_equal(chosen[0], chosen[1])
    random = [feasible(problem([sf.ProbabilisticLDiversity(2)], 20, values, seed=None))[0].kept for _ in range(2)]
    assert not np.array_equal(random[0], random[1])


@pytest.mark.parametrize("limit", [0, 1])
def test_what_the_limit_does_not_allow_is_an_error_that_says_so(limit):
    with pytest.raises(sf.UnsatisfiableError) as caught:
        feasible(problem([sf.ProbabilisticLDiversity(2), sf.KAnonymity(9)], limit, "aaaaabbc"))
    assert len(caught.value.problems) == 2
    assert all(("suppressing up to 1" in line) == (limit == 1) for line in caught.value.problems)


def test_suppression_never_helps_k():
    with pytest.raises(sf.UnsatisfiableError, match="k = 9"):
        feasible(problem([sf.KAnonymity(9)], 8, "aaaaabbc"))


def test_a_model_of_ones_own_without_an_explanation():
    class Never:
        name = "never"

        def holds(self, statistics):
            return np.zeros(statistics.count, dtype=np.bool_)

        def rules(self, attributes):
            return sf.KAnonymity(1).rules(attributes)

        def achieved(self, statistics):
            return []

        def parameters(self):
            return {}

        def explain(self, statistics):
            return None

    with pytest.raises(sf.UnsatisfiableError, match="never: not even all 4 records as one class satisfy it"):
        feasible(problem([Never()], 0, "aabb"))


@given(
    st.lists(st.tuples(st.sampled_from("aaab"), st.sampled_from("xyz")), min_size=1, max_size=40),
    st.sampled_from([1.3, 1.5, 2.0, 2.5]),
    st.floats(0, 1),
)
@examples(150)
def test_what_is_kept_satisfies_the_models_within_the_limit(rows, diversity, fraction):
    first, second = zip(*rows, strict=True)
    limit = int(fraction * len(rows))
    try:
        starts = feasible(problem([sf.ProbabilisticLDiversity(diversity)], limit, first, second))
    except sf.UnsatisfiableError:
        assert any(max(Counter(values).values()) * diversity > len(rows) for values in (first, second))
        return
    left = [range(len(rows)) if start.kept is None else np.flatnonzero(start.kept).tolist() for start in starts]
    sizes = [len(kept) for kept in left]
    assert sizes == sorted(set(sizes), reverse=True)
    for kept in left:
        assert len(kept) >= len(rows) - limit
        for values in (first, second):
            counts = Counter(values[row] for row in kept)
            assert max(counts.values()) * diversity <= len(kept) * (1 + 1e-9)
