"""Soft clustering of attributes: the worked example to the digit, and what must hold whatever the distances are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import sfumato as sf
from examples import examples
from published.checks.slices.eight_records import eight_records
from sfumato.anonymizers.slicing.columns import (
    FuzzyClusters,
    fuzzy_c_means,
    fuzzy_c_medoids,
    memberships_of,
    overlapping_medoids,
    scaled_coordinates,
    typicalities,
)
from sfumato.anonymizers.slicing.correlation import Correlation, correlation
from sfumato.anonymizers.slicing.overlapping import (
    OverlappingClustering,
    OverlappingColumns,
    overlap_columns,
    without_nested,
)

DEGREES = [[0.6829, 0.3171], [0.8581, 0.1419], [0.0067, 0.9933], [0.9215, 0.0785]]


def example() -> Correlation:
    return correlation(eight_records())


@st.composite
def distances(draw: st.DrawFn) -> np.ndarray:
    count = draw(st.integers(2, 7))
    upper = draw(arrays.arrays(np.float64, (count, count), elements=st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0])))
    symmetric = np.triu(upper, 1)
    return symmetric + symmetric.T


def same_up_to_names(first: np.ndarray, second: np.ndarray, tolerance: float) -> bool:
    return np.abs(first - second).max() < tolerance or np.abs(first - second[:, ::-1]).max() < tolerance


class TestFuzzyCMeans:
    def test_memberships_of_the_worked_example(self) -> None:
        found = fuzzy_c_means(scaled_coordinates(example().distances), 2)
        assert same_up_to_names(found.memberships, np.array(DEGREES), 5e-5)

    @pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]])
    def test_the_order_of_attributes_does_not_matter(self, order: list[int]) -> None:
        shuffled = example().distances[np.ix_(order, order)]
        found = fuzzy_c_means(scaled_coordinates(shuffled), 2)
        assert same_up_to_names(found.memberships, np.array(DEGREES)[order], 5e-5)

    @examples(60)
    @given(
        distances(), st.integers(1, 3), st.sampled_from([1.2, 2.0, 3.5]), st.sampled_from(["euclidean", "dot-product"])
    )
    def test_degrees_sum_to_one_whatever_coincides(self, apart, clusters, fuzzifier, distance) -> None:
        found = fuzzy_c_means(scaled_coordinates(apart), min(clusters, len(apart)), fuzzifier, distance)
        assert np.isfinite(found.memberships).all()
        assert found.memberships.min() >= 0
        np.testing.assert_allclose(found.memberships.sum(axis=1), 1)

    def test_a_point_on_centers_belongs_to_them_in_equal_parts(self) -> None:
        degrees = memberships_of(np.array([[0.0, 4.0, 0.0], [1.0, 4.0, 1.0]]), 2.0)
        np.testing.assert_allclose(degrees, [[0.5, 0, 0.5], [4 / 9, 1 / 9, 4 / 9]])

    def test_no_power_overflows(self) -> None:
        degrees = memberships_of(np.array([[1e-300, 1.0], [1.0, 1e-8]]), 1.01)
        np.testing.assert_allclose(degrees, [[1, 0], [0, 1]], atol=1e-12)

    def test_dot_product_looks_at_directions_alone(self) -> None:
        points = np.array([[1.0, 0.0], [9.0, 0.1], [0.0, 1.0], [0.1, 5.0], [0.0, 0.0]])
        first = fuzzy_c_means(points, 2, distance="dot-product")
        longer = fuzzy_c_means(points * np.array([[7.0], [0.1], [3.0], [1.0], [2.0]]), 2, distance="dot-product")
        assert same_up_to_names(first.memberships, longer.memberships, 1e-6)
        assert (first.memberships[:2].argmax(axis=1) != first.memberships[2:4].argmax(axis=1)).all()
        np.testing.assert_allclose(first.memberships[4], 0.5)

    def test_points_as_centers_are_no_better(self) -> None:
        points = scaled_coordinates(example().distances)
        best = fuzzy_c_means(points, 2).objective
        for pair in ([0, 1], [0, 2], [1, 3]):
            squares = ((points[:, None] - points[None, pair]) ** 2).sum(axis=2)
            assert (memberships_of(squares, 2.0) ** 2 * squares).sum() >= best


class TestOtherMemberships:
    def test_typicality_halves_at_the_mean_distance(self) -> None:
        found = FuzzyClusters(np.array([[1.0], [1.0]]), np.array([[0.0], [2.0]]), 0.0)
        np.testing.assert_allclose(typicalities(found), [[1.0], [1 / 3]])

    def test_an_outlier_is_typical_of_nothing(self) -> None:
        points = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [60.0]])
        found = fuzzy_c_means(points, 2, fuzzifier=1.5)
        typical = typicalities(FuzzyClusters(found.memberships[:6], found.squares[:6], 0.0), 1.5)
        assert typical[:3].max() > 0.3
        squares = np.array([[0.0, 100.0], [1.0, 100.0], [100.0, 0.0], [100.0, 1.0], [1e6, 1e6]])
        degrees = memberships_of(squares, 2.0)
        degrees[-1] = 1e-4
        assert typicalities(FuzzyClusters(degrees, squares, 0.0))[-1].max() < 0.01

    @examples(60)
    @given(distances(), st.integers(1, 3))
    def test_typicalities_lie_between_0_and_1(self, apart, clusters) -> None:
        found = fuzzy_c_medoids(apart, min(clusters, len(apart)))
        typical = typicalities(found)
        assert np.isfinite(typical).all()
        assert typical.min() >= 0
        assert typical.max() <= 1

    @examples(60)
    @given(distances(), st.integers(1, 3))
    def test_medoids_belong_to_themselves(self, apart, clusters) -> None:
        clusters = min(clusters, len(apart))
        found = fuzzy_c_medoids(apart, clusters)
        np.testing.assert_allclose(found.memberships.sum(axis=1), 1)
        assert all((found.squares[:, place] == 0).any() for place in range(clusters))


class TestOverlappingMedoids:
    @examples(60)
    @given(distances(), st.integers(1, 3))
    def test_everything_is_in_every_cluster_at_0(self, apart, clusters) -> None:
        found = overlapping_medoids(apart, min(clusters, len(apart)), 0.0)
        assert (found >= 0).all()

    def test_only_what_is_at_no_distance_is_in_a_cluster_at_1(self) -> None:
        apart = np.array([[0, 0, 1, 0.5], [0, 0, 1, 0.5], [1, 1, 0, 0.7], [0.5, 0.5, 0.7, 0]])
        found = overlapping_medoids(apart, 2, 1.0) >= 1.0
        assert found.T.tolist() == [[True, True, False, False], [False, False, True, False]]

    def test_larger_clusters_win(self) -> None:
        points = np.array([0.0, 1, 2, 20, 21, 22, 40])
        apart = np.abs(points[:, None] - points)
        found = overlapping_medoids(apart, 2, 1 - 2 / 40) >= 1 - 2 / 40
        assert sorted(found.sum(axis=0).tolist()) == [3, 3]
        assert found[:6].any(axis=1).all()


class TestColumns:
    def columns(
        self, threshold: float | None = None, sensitive: tuple[str, ...] = (), **options
    ) -> set[frozenset[str]]:
        clustering = OverlappingClustering(threshold=threshold, **options)
        found = overlap_columns(example(), sensitive, 2, clustering)
        return set(map(frozenset, without_nested(found).columns))

    def test_thresholds_of_the_worked_example(self) -> None:
        together = frozenset({"age", "sex", "disease"})
        assert self.columns(0.3) == self.columns() == {together, frozenset({"age", "zip"})}
        assert self.columns(0.5) == {together, frozenset({"zip"})}

    def test_a_sensitive_attribute_stands_in_one_column(self) -> None:
        assert sum("disease" in column for column in self.columns(0.05, ("disease",))) == 1
        found = overlap_columns(
            example(), ["disease"], 2, OverlappingClustering(threshold=0.05), duplicate_sensitive=True
        )
        assert all("disease" in column for column in found.columns)

    @pytest.mark.parametrize("method", ["fuzzy", "possibilistic", "medoids"])
    @pytest.mark.parametrize("space", ["mds", "medoid", "profile"])
    @pytest.mark.parametrize("threshold", [0.01, 0.5, 1.0])
    def test_every_attribute_has_a_column_and_none_lies_inside_another(self, method, space, threshold) -> None:
        columns = self.columns(threshold, method=method, space=space)
        assert frozenset().union(*columns) == {"age", "sex", "zip", "disease"}
        assert not any(column < other for column in columns for other in columns)

    def test_nested_and_empty_columns_are_left_out(self) -> None:
        found = OverlappingColumns((("a",), (), ("a", "b"), ("b", "a")), ({"a": 0.1}, {}, {"a": 0.2}, {"a": 0.3}))
        assert without_nested(found).columns == (("a", "b"),)

    def test_more_columns_than_attributes(self) -> None:
        with pytest.raises(sf.PolicyError, match="5 columns are more than there are attributes"):
            overlap_columns(example(), [], 5, OverlappingClustering())

    def test_constant_attributes_are_named(self) -> None:
        constant = Correlation(("a", "b"), np.eye(2), (1, 4))
        with pytest.raises(sf.InputError, match="'a' has one value only"):
            overlap_columns(constant, [], 2, OverlappingClustering())

    @pytest.mark.parametrize("threshold", [0, -1, 1.5, float("nan"), "half", True])
    def test_thresholds_out_of_range(self, threshold) -> None:
        with pytest.raises(sf.PolicyError, match="threshold must be"):
            OverlappingClustering(threshold=threshold)

    def test_everything_wrong_is_said_at_once(self) -> None:
        with pytest.raises(sf.PolicyError) as raised:
            OverlappingClustering("soft", "flat", "far", 2, 1)  # type: ignore[arg-type]
        assert len(raised.value.problems) == 5

    def test_distances_that_are_none(self) -> None:
        with pytest.raises(sf.InputError, match="square"):
            scaled_coordinates(np.array([[0.0, np.nan], [np.nan, 0.0]]))
        with pytest.raises(sf.InputError, match="square"):
            scaled_coordinates(np.zeros((2, 3)))
