"""The lattice of full-domain generalizations."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.hierarchy.lattice_search import Lattice, generalizes

heights = st.lists(st.integers(0, 3), min_size=1, max_size=5).map(tuple)


@given(heights)
def test_numbers_and_nodes_agree(shape):
    lattice = Lattice(shape)
    nodes = list(lattice.nodes())
    assert len(nodes) == lattice.size
    assert [lattice.number(node) for node in nodes] == list(range(lattice.size))
    assert [lattice.levels(number) for number in range(lattice.size)] == nodes
    assert (nodes[0], nodes[-1]) == (lattice.bottom, lattice.top)
    assert lattice.height == sum(lattice.top)


@given(heights)
def test_neighbours_are_one_level_apart(shape):
    lattice = Lattice(shape)
    nodes = list(lattice.nodes())
    for lower, upper in product(nodes, repeat=2) if len(nodes) < 80 else ():
        adjacent = generalizes(upper, lower) and sum(upper) == sum(lower) + 1
        assert adjacent == (lower in lattice.predecessors(upper))
        if adjacent:
            assert lattice.number(upper) > lattice.number(lower)


def test_a_lattice_may_be_far_too_large_to_list():
    assert Lattice((9,) * 30).size == 10**30


@pytest.mark.parametrize("shape", [(), (1, -1)])
def test_impossible_heights_are_refused(shape):
    with pytest.raises(ValueError, match="height"):
        Lattice(shape)
