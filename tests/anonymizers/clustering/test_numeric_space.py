"""Where values lie in the numeric space: scales, categories, missing values, weights."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

import sfumato as sf
from anonymizers.clustering.numbers_tables import encoded, solve
from sfumato.anonymizers.clustering.numeric import APART, Categories, Scale, numeric_space
from sfumato.table.encoding import EncodedTable


def placed(table: EncodedTable, scale: Scale = "minmax", categories: Categories = "ranks") -> np.ndarray:
    return numeric_space(table, scale, categories, name="test").points(table.codes)


def test_scales():
    table = encoded([[1.0, 10.0], [3.0, 10.0], [2.0, 40.0]])
    assert placed(table).tolist() == [[0, 0], [1, 0], [0.5, 1]]
    assert placed(table, "none").tolist() == [[1, 10], [3, 10], [2, 40]]
    scores = placed(table, "zscore")
    assert scores.mean(axis=0) == pytest.approx([0, 0])
    assert scores.std(axis=0, ddof=1) == pytest.approx([1, 1])


def test_weights_count_as_in_the_losses():
    table = encoded([[0.0, 0.0], [1.0, 1.0]], a1=sf.Attribute(weight=4.0))
    assert placed(table).tolist() == [[0, 0], [1, 2]]


def test_constant_columns_have_no_coordinate():
    assert placed(encoded([[5, "x"], [5, "x"]])).tolist() == [[0], [0]]
    assert placed(encoded([[5, 1.0], [5, 2.0]])).tolist() == [[0], [1]]


def test_a_missing_value_lies_apart_and_in_the_middle():
    first, second, third, missing = placed(encoded([[0.0], [1.0], [0.5], [None]]))
    apart = [float(np.linalg.norm(missing - present)) for present in (first, second, third)]
    assert min(apart) >= APART
    assert apart[0] == pytest.approx(apart[1])
    # A column of one number and missing values still tells them apart.
    assert len(np.unique(placed(encoded([[7.0], [None], [7.0]])), axis=0)) == 2
    assert placed(encoded([[None], [None]])).tolist() == [[0], [0]]


def test_missing_values_stay_among_themselves_where_there_are_enough():
    points = [[float(value), None if value % 2 else 1.0 * value] for value in range(40)]
    for anonymizer in (sf.KMeans(start="k-means++"), sf.MDAV(), sf.VMDAV()):
        solution = solve(encoded(points), [sf.KAnonymity(4)], anonymizer)
        assert all(len({record % 2 for record in np.flatnonzero(solution.class_of == c)}) == 1 for c in range(3, 5))


def test_categories_by_rank():
    common = [["b"]] * 3 + [["a"]] * 2 + [["c"]]
    assert placed(encoded(common)).ravel().tolist() == [0, 0, 0, 0.5, 0.5, 1]
    tree = sf.groups({"left": ["a", "b"], "right": ["c"]})
    assert placed(encoded(common, a0=tree)).ravel().tolist() == [0.5, 0.5, 0.5, 0, 0, 1]


@pytest.mark.parametrize("scale", ["minmax", "none"])
def test_one_hot_categories_are_one_apart(scale):
    a, b, c, missing = placed(encoded([["a"], ["b"], ["c"], [None]]), scale, "one-hot")
    for one, other in ((a, b), (b, c), (a, missing)):
        assert np.linalg.norm(one - other) == pytest.approx(1)


def test_one_hot_z_scores_have_variance_1_as_a_whole():
    points = placed(encoded([["a"], ["a"], ["b"], ["c"]]), "zscore", "one-hot")
    assert points.var(axis=0).sum() == pytest.approx(1)


def test_numbers_and_dates_stay_numbers_under_a_hierarchy():
    table = encoded([[1], [2], [11]], a0=sf.intervals(10))
    assert placed(table).ravel().tolist() == pytest.approx([0, 0.1, 1])
    days = [[date(2020, 1, 1)], [date(2020, 1, 3)], [date(2020, 1, 11)]]
    assert placed(encoded(days, a0=sf.dates())).ravel().tolist() == pytest.approx([0, 0.2, 1])
    assert placed(encoded(days), categories="refuse").ravel().tolist() == pytest.approx([0, 0.2, 1])


def test_huge_numbers_keep_their_order_and_overflow_nowhere():
    for scale in ("none", "minmax", "zscore"):
        points = placed(encoded([[1e70], [-1e70], [0.0]]), scale)
        assert np.isfinite(np.square(points)).all()
        assert np.argsort(points.ravel()).tolist() == [1, 2, 0]


@pytest.mark.parametrize("anonymizer", [sf.KMeans, sf.MDAV, sf.VMDAV])
def test_refused_categories_are_all_named_and_no_value_is(anonymizer):
    table = encoded([["secretive", 1.0, True], ["hidden", 2.0, False]] * 4)
    with pytest.raises(sf.PolicyError) as caught:
        solve(table, [sf.KAnonymity(2)], anonymizer(categories="refuse"))
    (problem,) = caught.value.problems
    assert "a0, a2" in problem
    assert anonymizer.name in problem
    assert "secretive" not in problem


def test_too_many_categories_for_one_hot_are_refused_by_name():
    table = encoded([[f"value {i}", i, f"x{i % 3}"] for i in range(100)])
    with pytest.raises(sf.PolicyError, match=r"a0 \(100\)") as caught:
        solve(table, [sf.KAnonymity(2)], sf.MDAV(categories="one-hot"))
    assert "value" not in str(caught.value).replace("a0", "")


def test_what_became_of_categories_is_noted():
    table = encoded([["a", 1], ["b", 2]] * 4)
    assert "by rank on a line: a0" in solve(table, [sf.KAnonymity(2)], sf.KMeans()).notes[0]
    assert solve(encoded([[1], [2]] * 4), [sf.KAnonymity(2)], sf.KMeans()).notes == ()
