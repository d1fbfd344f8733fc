"""Equal sums of fractions fall into one cell, whatever rounding did to them."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.clustering.class_members import cell, upper_edge

shares = st.builds(lambda part, whole: Fraction(part % whole, whole), st.integers(0, 60), st.integers(1, 60))


@given(st.lists(shares, min_size=1, max_size=8))
def test_sums_in_any_order_fall_into_the_cell_of_the_exact_sum(parts):
    exact = cell(float(sum(parts)))
    assert cell(sum(map(float, parts))) == exact
    assert cell(sum(map(float, sorted(parts)))) == exact


@given(shares, shares)
def test_cells_keep_the_order_of_different_fractions(one, other):
    if one < other:
        assert cell(float(one)) < cell(float(other))


@given(st.floats(0, 100))
def test_a_loss_is_below_the_upper_edge_of_its_cell(loss):
    assert loss < upper_edge(cell(loss))
    assert cell(0.0) == 0
