"""Attribute clustering: PAM on the worked example, the sensitive column, and what does not fit."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from published.checks.slices.eight_records import eight_records
from sfumato.anonymizers.slicing.columns import cluster_columns


def test_worked_example_has_the_best_medoids():
    found = sf.correlation(eight_records())
    costs = {
        pair: found.distances[:, list(pair)].min(axis=1).sum() for pair in combinations(range(len(found.attributes)), 2)
    }
    assert min(costs, key=costs.__getitem__) == (0, 1)
    assert costs[0, 1] == pytest.approx(0.2778, abs=5e-5)
    assert costs[0, 2] == pytest.approx(0.3611, abs=5e-5)
    assert cluster_columns(found, ["disease"], 2) == (("age", "zip", "disease"), ("sex",))


def test_the_sensitive_column_has_the_nearest_attributes():
    found = sf.correlation(eight_records())
    assert cluster_columns(found, ["disease"], 3, alpha=1) == (("age", "zip"), ("sex",), ("disease",))
    assert cluster_columns(found, ["disease"], 2, alpha=2) == (("age", "disease"), ("sex", "zip"))
    assert cluster_columns(found, ["disease"], 2, alpha=3) == (("age", "sex", "disease"), ("zip",))
    assert cluster_columns(found, ["disease"], 1, alpha=4) == (("age", "sex", "zip", "disease"),)


@given(st.integers(2, 9), st.integers(1, 9), st.integers(0, 2**32 - 1))
@examples(40)
def test_every_attribute_stands_in_one_column(attributes, columns, seed):
    rng = np.random.default_rng(seed)
    values = rng.random((attributes, attributes))
    values = (values + values.T) / 2
    names = tuple(f"a{place}" for place in range(attributes))
    found = sf.Correlation(names, values, (2,) * attributes)
    if columns > attributes:
        with pytest.raises(sf.PolicyError, match="more than there are attributes"):
            cluster_columns(found, ["a0"], columns)
        return
    made = cluster_columns(found, ["a0"], columns)
    assert len(made) == columns
    assert sorted(name for column in made for name in column) == sorted(names)
    assert made == cluster_columns(found, ["a0"], columns)


def test_attributes_that_decide_each_other_still_fill_every_column():
    found = sf.Correlation(tuple("abcd"), np.ones((4, 4)), (2,) * 4)
    assert [len(cluster_columns(found, [], columns)) for columns in (1, 2, 3, 4)] == [1, 2, 3, 4]


@pytest.mark.parametrize(("columns", "alpha"), [(5, None), (2, 6), (1, 2), (2, 4), (4, 2)])
def test_numbers_that_do_not_fit_are_refused(columns, alpha):
    with pytest.raises(sf.PolicyError):
        cluster_columns(sf.correlation(eight_records()), ["disease"], columns, alpha)


def test_constant_attributes_are_named():
    found = sf.Correlation(("a", "b", "c"), np.eye(3), (1, 2, 1))
    with pytest.raises(sf.PolicyError) as error:
        cluster_columns(found, [], 2)
    assert len(error.value.problems) == 2
