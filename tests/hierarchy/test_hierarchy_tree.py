"""The tree itself: depth-first codes, ancestors, counts, and what is refused."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from naive import hierarchy as naive
from sfumato.errors import HierarchyError
from sfumato.hierarchy import Hierarchy, Level, hierarchy_from_paths

DISEASES = [
    ("flu", "respiratory", "*"),
    ("ulcer", "stomach", "*"),
    ("pneumonia", "respiratory", "*"),
    ("gastritis", "stomach", "*"),
    ("bronchitis", "respiratory", "*"),
]


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[str, ...]]:
    """Paths of a random tree in random order: every level merges nodes of the one below."""
    size = draw(st.integers(1, 12))
    nodes = [str(leaf) for leaf in range(size)]
    columns = [nodes]
    for level in range(1, draw(st.integers(1, 4))):
        merged = {node: f"n{level}.{draw(st.integers(0, 3))}" for node in dict.fromkeys(nodes)}
        nodes = [merged[node] for node in nodes]
        columns.append(nodes)
    columns.append(["*"] * size)
    return draw(st.permutations(list(zip(*columns, strict=True))))


def test_leaves_are_numbered_depth_first_and_siblings_by_first_appearance() -> None:
    tree = hierarchy_from_paths(DISEASES)
    assert tree.leaves == ("flu", "pneumonia", "bronchitis", "ulcer", "gastritis")
    assert tree.levels[1] == Level(("respiratory", "stomach"), (0, 3, 5))
    assert tree.height == 2
    assert tree.size == 5


def test_counts_and_ancestors_of_the_worked_case() -> None:
    tree = hierarchy_from_paths(DISEASES)
    assert tree.leaf_counts.tolist() == [[1] * 5, [3, 3, 3, 2, 2], [5] * 5]
    assert tree.common_ancestor(np.array([0, 0, 2, 3]), np.array([0, 2, 3, 4])).tolist() == [0, 1, 2, 1]


@given(trees())
@examples(60)
def test_ancestors_and_counts_agree_with_plain_sets(paths: list[tuple[str, ...]]) -> None:
    tree = hierarchy_from_paths(paths)
    assert sorted(tree.paths) == sorted(paths)
    low, high = np.array(list(product(range(tree.size), repeat=2))).T
    found = tree.common_ancestor(low, high)
    for first, last, level in zip(low, high, found, strict=True):
        assert level == naive.common_level(paths, {tree.leaves[first], tree.leaves[last]})
    for level, code in product(range(tree.height + 1), range(tree.size)):
        assert tree.leaf_counts[level, code] == naive.leaf_count(paths, tree.leaves[code], level)


@given(trees())
@examples(60)
def test_every_node_is_a_range_of_codes(paths: list[tuple[str, ...]]) -> None:
    tree = hierarchy_from_paths(paths)
    for number, level in enumerate(tree.levels):
        for node, label in enumerate(level.labels):
            covered = tree.leaves[level.starts[node] : level.starts[node + 1]]
            assert set(covered) == naive.under(paths, number, label)


@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(
            st.tuples(*[st.sampled_from(["", "*", "a", "b", "c", "d"])] * width, st.just("*")), min_size=1, max_size=5
        )
    )
)
@examples(300)
def test_what_is_accepted_is_what_the_definition_says(paths: list[tuple[str, ...]]) -> None:
    try:
        hierarchy_from_paths(paths)
        accepted = True
    except HierarchyError:
        accepted = False
    assert accepted == naive.is_hierarchy(paths)


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        ([], "no rows"),
        ([()], "rows without levels"),
        (
            [("a", "x", "*"), ("b", "*"), ("c", "*")],
            "2 row(s) have a different number of levels than row 1, first in row 2",
        ),
        ([("a", "*"), ("b", "*"), ("a", "*")], "1 row(s) repeat an original value, first in row 3"),
        ([("a", "x", "u", "*"), ("b", "x", "v", "*")], "1 value(s) of level 1 have two parents, first in row 2"),
        ([("a", "u"), ("b", "v")], "last level has more than one value"),
        ([("a", "", "*"), ("b", "", "*")], "2 label(s) of level 1 are empty, first in row 1"),
        ([("a", "b", "*"), ("b", "b", "*")], "1 label(s) of level 1 stand on a lower level"),
        ([("a", "*", "All"), ("b", "x", "All")], "level 1 has the label '*', reserved for the whole domain"),
        ([("*", "All"), ("b", "All")], "level 0 has the label '*'"),
    ],
)
def test_defects_are_named_with_their_row(paths: list[tuple[str, ...]], said: str) -> None:
    with pytest.raises(HierarchyError) as caught:
        hierarchy_from_paths(paths, name="disease tree")
    assert said in str(caught.value)
    assert all(problem.startswith("disease tree: ") for problem in caught.value.problems)


def test_all_defects_come_at_once() -> None:
    with pytest.raises(HierarchyError) as caught:
        hierarchy_from_paths([("a", "x", "u", "p"), ("a", "x", "v", "q"), ("c", "", "v", "q")])
    assert len(caught.value.problems) == 4


def test_a_repeated_node_is_no_ambiguity() -> None:
    tree = hierarchy_from_paths(
        [("a", "a", "g", "*"), ("b", "h", "g", "*"), ("c", "h", "g", "*"), ("d", "e", "e", "*")]
    )
    assert [len(level.labels) for level in tree.levels] == [4, 3, 2, 1]


@pytest.mark.parametrize(
    "levels",
    [
        (),
        (Level((), (0,)),),
        (Level(("a", "b"), (0, 1, 2)), Level(("*",), (0, 1))),
        (Level(("a", "b"), (0, 1, 2)), Level(("*",), (1, 2))),
        (Level(("a", "b"), (0, 1, 2)),),
        (Level(("a", "b", "c"), (0, 1, 2, 3)), Level(("x",), (0, 2, 3)), Level(("*",), (0, 3))),
        (
            Level(("a", "b", "c"), (0, 1, 2, 3)),
            Level(("x", "y"), (0, 1, 3)),
            Level(("u", "v"), (0, 2, 3)),
            Level(("*",), (0, 3)),
        ),
        (Level(("a", "b", "c"), (0, 1, 2, 3)), Level(("x", "x"), (0, 2, 3)), Level(("*",), (0, 3))),
    ],
)
def test_levels_that_do_not_nest_are_refused(levels: tuple[Level, ...]) -> None:
    with pytest.raises(HierarchyError):
        Hierarchy(levels)
