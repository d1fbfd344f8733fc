"""Worked examples of the papers, to the digit, on the models themselves."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from models.small_tables import Column, from_histograms, statistics_of
from sfumato import models
from sfumato.classes.statistics import ClassStatistics, SensitiveCounts
from sfumato.hierarchy.tree import hierarchy_from_paths
from sfumato.models.protocol import PrivacyModel
from sfumato.table.schema import Kind


def achieved(model: PrivacyModel, *histograms: list[int], kind: Kind = Kind.CATEGORICAL) -> float:
    return model.achieved(from_histograms(*histograms, kind=kind))[-1].value


@pytest.mark.parametrize(
    ("histogram", "distinct", "entropy", "probabilistic"),
    [
        ([2, 1, 1], 3, 2.8284, 2.0),
        ([3, 1], 2, 1.7548, 1.3333),
        ([2, 2], 2, 2.0, 2.0),
        ([4], 1, 1.0, 1.0),
    ],
)
def test_diversity_of_one_class(histogram: list[int], distinct: int, entropy: float, probabilistic: float) -> None:
    assert achieved(models.DistinctLDiversity(1), histogram) == distinct
    assert achieved(models.EntropyLDiversity(1), histogram) == pytest.approx(entropy, abs=5e-5)
    assert achieved(models.ProbabilisticLDiversity(1), histogram) == pytest.approx(probabilistic, abs=5e-5)
    assert achieved(models.AlphaKAnonymity(1, 1), histogram) == max(histogram) / sum(histogram)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11, 100])
def test_equal_counts_are_as_diverse_as_their_number(size: int) -> None:
    statistics = from_histograms([7] * size)
    for model in (
        models.EntropyLDiversity(size),
        models.ProbabilisticLDiversity(size),
        models.DistinctLDiversity(size),
    ):
        assert model.holds(statistics).all()
        assert model.achieved(statistics)[0].value == pytest.approx(size, rel=1e-14)


@pytest.mark.parametrize(("c", "holds"), [(2, True), (1.0001, True), (1, False)])
def test_recursive_diversity_is_strict(c: float, holds: bool) -> None:
    model = models.RecursiveLDiversity(c, 2)
    assert model.holds(from_histograms([2, 1, 1])).tolist() == [holds]
    assert achieved(model, [2, 1, 1]) == 1.0


def test_recursive_diversity_compares_decimals_as_decimals() -> None:
    # 11 < 1.1 * 10 is false, though 1.1 * 10 rounds to a float above 11.
    assert not models.RecursiveLDiversity(1.1, 2).holds(from_histograms([11, 10])).any()


def test_recursive_diversity_needs_l_values() -> None:
    assert achieved(models.RecursiveLDiversity(100, 3), [2, 2]) == math.inf


SALARIES = range(3, 12)


def salary_class(*salaries: int) -> float:
    """Distance of one class of the nine salaries to all of them, the other six being the second class."""
    class_of = [0 if salary in salaries else 1 for salary in SALARIES]
    statistics = statistics_of(class_of, Column("s", Kind.NUMERIC, tuple(SALARIES)))
    return float(models.TCloseness(1).measure(statistics.sensitive["s"], statistics.sizes)[0])


@pytest.mark.parametrize(
    ("salaries", "distance"), [((3, 4, 5), 0.375), ((6, 8, 11), 1 / 6), ((3, 5, 9), 1 / 6), ((4, 7, 10), 1 / 12)]
)
def test_ordered_distance_of_the_salaries(salaries: tuple[int, ...], distance: float) -> None:
    assert salary_class(*salaries) == pytest.approx(distance, rel=1e-14)


def test_the_salary_table_is_0_167_close() -> None:
    classes = {3: 0, 5: 0, 9: 0, 6: 1, 8: 1, 11: 1, 4: 2, 7: 2, 10: 2}
    salaries = Column("s", Kind.NUMERIC, tuple(SALARIES))
    statistics = statistics_of([classes[salary] for salary in SALARIES], salaries)
    assert models.TCloseness(1 / 6).holds(statistics).all()
    assert not models.TCloseness(0.1666).holds(statistics).all()
    assert models.TCloseness(0.5).achieved(statistics)[0].value == pytest.approx(1 / 6, rel=1e-14)


def test_equal_distance_of_the_salaries() -> None:
    statistics = from_histograms([1, 1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1, 1, 1])
    measured = models.TCloseness(1).measure(statistics.sensitive["s"], statistics.sizes)
    assert measured[0] == pytest.approx(2 / 3, rel=1e-14)


DISEASES = hierarchy_from_paths(
    [
        (leaf, group, "*")
        for group, leaves in {"st": ("gu", "ga", "sc"), "re": ("fl", "pn", "br")}.items()
        for leaf in leaves
    ]
)


@pytest.mark.parametrize(("inside", "distance"), [("gu ga sc", 5 / 9), ("ga fl br", 2 / 9), ("br pn sc", 1 / 3)])
def test_hierarchical_distance_of_the_diseases(inside: str, distance: float) -> None:
    rest = ["gu", "ga", "ga", "sc", "fl", "fl", "pn", "br", "br"]
    for disease in inside.split():
        rest.remove(disease)
    column = Column("s", Kind.CATEGORICAL, (*inside.split(), *rest), DISEASES)
    statistics = statistics_of([0, 0, 0, 1, 1, 1, 1, 1, 1], column)
    measured = models.TCloseness(1).measure(statistics.sensitive["s"], statistics.sizes)
    assert measured[0] == pytest.approx(distance, rel=1e-14)


def test_the_distance_follows_the_kind() -> None:
    values = ("5", "10", "100", None)
    hierarchy = hierarchy_from_paths([("100", "*"), ("5", "*"), ("10", "*")])
    # The hierarchy puts 100 first; ranks go by number all the same, the missing value last.
    numbers = statistics_of([0, 1, 2, 3], Column("s", Kind.NUMERIC, values, hierarchy))
    measured = models.TCloseness(1).measure(numbers.sensitive["s"], numbers.sizes)
    assert measured == pytest.approx([0.5, 1 / 3, 1 / 3, 0.5], rel=1e-14)
    names = statistics_of([0, 1, 2, 3], Column("s", Kind.CATEGORICAL, values, hierarchy))
    assert models.TCloseness(1).measure(names.sensitive["s"], names.sizes) == pytest.approx([0.75] * 4, rel=1e-14)


def test_ordered_distance_survives_counts_whose_products_pass_64_bits() -> None:
    many, steps = 10**9, 10_000
    totals = np.array([many, *[1] * (steps - 1), many], dtype=np.int64)
    values = np.arange(steps + 1, dtype=np.int32)
    starts = np.array([0, 1, steps + 1], dtype=np.int64)
    sizes = np.array([many, totals[1:].sum()], dtype=np.int64)
    statistics = ClassStatistics(sizes, {"s": SensitiveCounts("s", Kind.NUMERIC, starts, values, totals, totals)})

    measured = models.TCloseness(1).measure(statistics.sensitive["s"], sizes)

    # Class 0 stands at the lowest rank alone, so that all of it has to travel past 1 - Q of the rest at each step.
    beyond = sum(1 - Fraction(many + step, int(totals.sum())) for step in range(steps))
    assert measured[0] == pytest.approx(float(beyond / steps), rel=1e-12)


def test_gain_of_a_rare_value() -> None:
    # Value 0 has 2 of 10 records and both are among the 4 of class 0: q/p = 2.5.
    assert achieved(models.BasicBetaLikeness(1), [2, 2], [0, 6]) == pytest.approx(1.5, rel=1e-14)
    assert models.BasicBetaLikeness(1.5).holds(from_histograms([2, 2], [0, 6])).all()
    assert not models.BasicBetaLikeness(1.49).holds(from_histograms([2, 2], [0, 6])).all()


def test_enhanced_gain_is_bounded_by_rarity() -> None:
    # The frequent value has p = 1/2 and -ln p = 0.69; a class of nothing else gains 1, which no beta allows.
    statistics = from_histograms([4, 0], [0, 4])
    assert models.BasicBetaLikeness(1).holds(statistics).all()
    assert not models.EnhancedBetaLikeness(1000).holds(statistics).any()
    assert models.EnhancedBetaLikeness(1).achieved(statistics)[0].value == math.inf
    assert models.EnhancedBetaLikeness(0.5).holds(from_histograms([3, 1], [1, 3])).all()


def test_disclosure_of_a_doubled_share() -> None:
    # Shares 1/2 and 1/2 overall, 1/4 and 3/4 in each class: the largest logarithm is ln 2.
    statistics = from_histograms([1, 3], [3, 1])
    assert models.DeltaDisclosure(1).achieved(statistics)[0].value == pytest.approx(math.log(2), rel=1e-14)
    assert models.DeltaDisclosure(0.7).holds(statistics).all()
    assert not models.DeltaDisclosure(math.log(2)).holds(statistics).any()


def test_an_absent_value_discloses() -> None:
    statistics = from_histograms([1, 3], [3, 0])
    assert models.DeltaDisclosure(100).holds(statistics).tolist() == [True, False]
    assert models.DeltaDisclosure(100).achieved(statistics)[0].value == math.inf


def test_k_is_the_smallest_class() -> None:
    statistics = from_histograms([2], [3], [5])
    assert models.KAnonymity(3).holds(statistics).tolist() == [False, True, True]
    assert models.KAnonymity(3).achieved(statistics)[0].value == 2


def test_alpha_and_k_are_both_required_and_reported() -> None:
    statistics = from_histograms([2, 2], [1, 0], [9, 1])
    model = models.AlphaKAnonymity(0.5, 2)
    assert model.holds(statistics).tolist() == [True, False, False]
    assert [(found.parameter, found.value) for found in model.achieved(statistics)] == [("k", 1.0), ("alpha", 1.0)]
