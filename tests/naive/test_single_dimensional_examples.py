"""The single-dimensional twins against Table 2-12 of the thesis and cases by hand."""

from __future__ import annotations

import pytest

from naive.full_domain import Hierarchy, Problem, arithmetic, collapse, model, optimum
from naive.mondrian import single_dimensional_cuts
from naive.single_dimensional import (
    best_cuts,
    classes_of_cuts,
    cut_images,
    cuts_of,
    discernibility,
    is_single_dimensional,
    published_loss,
)

# Table 2-12: Age, Gender (F=0, M=1), Zip
PATIENTS = [[35, 35, 36, 37, 37, 38], [0, 1, 0, 0, 1, 0], [23111, 23112, 23111, 23110, 23112, 23111]]
CATEGORICAL = [False, True, False]


@pytest.mark.parametrize("order", [(2, 0, 1), (2, 1, 0), (1, 0, 2), (1, 2, 0)])
def test_table_2_12_single_dimensional_as_published(order: tuple[int, ...]) -> None:
    cuts = single_dimensional_cuts(PATIENTS, 2, order=order)
    classes = classes_of_cuts(PATIENTS, cuts)
    assert [{row + 1 for row in rows} for rows in classes] == [{1, 3, 4, 6}, {2, 5}]
    assert discernibility(classes) == 20
    assert published_loss(PATIENTS, cuts, CATEGORICAL) == pytest.approx(0.444444, abs=1e-6)


def test_checker() -> None:
    original: dict[str, list[int] | list[str]] = {"age": [1, 2, 1, 3], "sex": ["f", "f", "m", "m"]}
    assert is_single_dimensional(original, {"age": ["[1..2]", "[1..2]", "[1..2]", "3"], "sex": original["sex"]})
    wrong = {"age": ["[1..2]", "[1..2]", "1", "3"], "sex": original["sex"]}
    assert not is_single_dimensional(original, wrong)
    assert is_single_dimensional(original, wrong, suppressed=[2])


TREE: Hierarchy = (("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*"))
CHAIN: Hierarchy = (("a", "a", "*"), ("b", "bc", "*"), ("c", "bc", "*"))


def test_cuts() -> None:
    assert [sorted("".join(sorted(node)) for node in cut) for cut in cuts_of(TREE)] == [
        ["abcd"],
        ["ab", "cd"],
        ["a", "b", "cd"],
        ["ab", "c", "d"],
        ["a", "b", "c", "d"],
    ]
    assert len(cuts_of(CHAIN)) == 3  # a node with one child is that child
    images = cut_images(TREE, cuts_of(TREE)[2])
    assert [images[leaf].climbed for leaf in "abcd"] == [0, 0, 0.5, 0.5]
    assert images[None].leaves == {None}
    assert cut_images(TREE, cuts_of(TREE)[0])[None].leaves == set("abcd")


def test_a_subtree_is_generalized_while_its_sibling_is_not() -> None:
    problem = Problem(collapse([*"aabbcd"]), [TREE], [model("k-anonymity", k=2)])
    found = best_cuts(problem, arithmetic)
    assert found is not None
    [cut], score, outcome = found
    assert cut == frozenset([frozenset("a"), frozenset("b"), frozenset("cd")])
    assert score == pytest.approx(2 * (1 / 3) / 6)
    assert outcome.suppressed == []
    full = optimum(problem, arithmetic)
    assert full is not None
    assert full[0] == (1,)  # full-domain has to climb everywhere
    assert full[1] == pytest.approx(1 / 3)


def test_two_attributes_and_suppression() -> None:
    rows = [("a", "c"), ("b", "c"), ("c", "a"), ("c", "a"), ("d", "d"), ("d", "d"), ("a", "a")]
    problem = Problem(collapse(rows), [TREE, TREE], [model("k-anonymity", k=2)])
    found = best_cuts(problem, arithmetic)
    assert found is not None
    assert list(map(len, found[0])) == [1, 4]  # only with the first attribute gone does (a, a) have company
    assert found[1] == 0.5
    found = best_cuts(problem._replace(limit=3), arithmetic)
    assert found is not None
    # (a, a) goes and one class of two with it: of the three the first in the hierarchy's order, that of a and b.
    assert found[0][0] == frozenset(map(frozenset, ["ab", "c", "d"]))
    assert found[1] == pytest.approx(3 / 7)
    assert sorted(found[2].suppressed) == [("a", "a"), ("a", "c"), ("b", "c")]


def test_none_satisfies() -> None:
    problem = Problem(collapse([*"ab"]), [TREE], [model("k-anonymity", k=3)])
    assert best_cuts(problem, arithmetic) is None
