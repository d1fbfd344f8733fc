"""Worked examples of risk models, and what their estimates must agree with."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from naive import risk as naive
from sfumato.classes.population_uniqueness import (
    _GRID,
    SizeCounts,
    _excess,
    _grid_excess,
    chosen_share,
    digamma,
    pitman,
    pitman_parameters,
    population_uniqueness,
    shlosser,
    slide_negative_binomial,
)
from sfumato.errors import PolicyError
from sfumato.evaluation.risk.adversaries import THRESHOLDS, as_thresholds
from sfumato.evaluation.risk.combinations import find_special_uniques
from sfumato.kernels.risk import expected_inverse


@pytest.mark.skipif("SFUMATO_DATA" not in os.environ, reason="SFUMATO_DATA names no folder with francdat")
def test_individual_risk_of_francdat():
    path = Path(os.environ["SFUMATO_DATA"]) / "sdcmicro_francdat" / "francdat.csv"
    keys = ["Key1", "Key2", "Key3", "Key4"]
    table = sf.read_table(path, sf.Schema(quasi_identifying=keys, insensitive=["w"], others="drop"))
    report = sf.risk(table, weights="w")
    told = [0.017144, 0.022042, 0.022042, 0.177076, 0.011654, 0.297063, 0.402359, 0.017144]
    assert report.individual.risks[report.keys.class_of].round(6).tolist() == told
    assert report.keys.records[report.keys.class_of].tolist() == [2, 2, 2, 1, 1, 1, 1, 2]


@examples(80)
@given(st.integers(1, 80), st.floats(0.03, 1.2))
def test_expected_inverse_is_the_mean_term_by_term(count, share):
    found = float(expected_inverse(np.array([float(count)]), np.array([share]))[0])
    assert found == pytest.approx(naive.expected_inverse(count, share), rel=1e-8)
    assert min(share, 1) / count <= found * (1 + 1e-12)
    assert found <= 1 / count


@pytest.mark.parametrize(
    ("count", "closed"),
    [(1, lambda p: p / (1 - p) * -math.log(p)), (2, lambda p: p / (1 - p) - (p / (1 - p)) ** 2 * -math.log(p))],
)
@pytest.mark.parametrize("share", [0.001, 0.1, 0.49, 0.51, 0.9])
def test_expected_inverse_has_the_closed_forms_of_the_paper(count, closed, share):
    found = float(expected_inverse(np.array([float(count)]), np.array([share]))[0])
    assert found == pytest.approx(closed(share), rel=1e-10)


def test_expected_inverse_stays_exact_for_large_classes_and_tiny_shares():
    counts, shares = np.array([1.0, 63, 64, 1e6, 1e6]), np.array([1e-9, 1e-9, 1e-9, 1e-6, 0.5])
    expected = [1e-9 * math.log(1e9), 1e-9 / 62, 1e-9 / 63, 1e-12, 0.5e-6]
    assert expected_inverse(counts, shares) == pytest.approx(expected, rel=1e-5)


def test_digamma():
    assert digamma(np.array([1.0, 0.5, 10.0])) == pytest.approx(
        [-0.5772156649015329, -1.9635100260214235, 2.251752589066721]
    )


@examples(30)
@given(st.lists(st.integers(1, 12), min_size=3, max_size=25))
def test_no_pitman_parameters_nearby_are_likelier(sizes):
    if all(size == 1 for size in sizes):
        return
    theta, alpha = pitman_parameters(SizeCounts.of(np.array(sizes)))
    best = naive.pitman_log_likelihood(sizes, theta, alpha)
    for factor in (0.9, 0.99, 1.01, 1.1):
        assert naive.pitman_log_likelihood(sizes, (theta + alpha) * factor - alpha, alpha) <= best + 1e-6
        nearby = alpha * factor
        if nearby < 1 and theta + nearby > 0:
            assert naive.pitman_log_likelihood(sizes, theta, nearby) <= best + 1e-6


def test_pitman_finds_the_parameters_that_a_population_was_drawn_with():
    theta, alpha, height, sample = 20.0, 0.6, 40_000, 4_000
    sizes = _drawn_by_pitman(theta, alpha, height)
    drawn = _sampled(sizes, sample)
    found = pitman_parameters(SizeCounts.of(drawn))
    assert found[1] == pytest.approx(alpha, abs=0.05)
    assert pitman(SizeCounts.of(drawn), sample / height) == pytest.approx((sizes == 1).sum() / height, rel=0.15)


def test_slide_negative_binomial_finds_its_own_population():
    rng = np.random.default_rng(5)
    sizes = 1 + rng.negative_binomial(0.7, 0.1, size=20_000)
    drawn = _sampled(sizes, int(0.3 * sizes.sum()))
    estimate = slide_negative_binomial(SizeCounts.of(drawn), 0.3)
    assert estimate == pytest.approx((sizes == 1).sum() / sizes.sum(), rel=0.15)
    assert shlosser(SizeCounts.of(drawn), 0.3) == pytest.approx(len(sizes), rel=0.1)


def test_dankars_rule():
    sizes = 1 + np.random.default_rng(6).negative_binomial(0.7, 0.1, size=20_000)
    drawn = _sampled(sizes, sizes.sum() // 20)
    assert population_uniqueness(drawn, 0.05).chosen == "pitman"
    drawn = _sampled(sizes, sizes.sum() // 2)
    found = population_uniqueness(drawn, 0.5)
    assert found.chosen == ("zayatz" if found.zayatz < found.snb else "snb")
    assert found.share == min(found.zayatz, found.snb)


@pytest.mark.parametrize("sizes", [[1], [1, 1, 1], [2, 2], [5], [1, 2, 3]])
@pytest.mark.parametrize("fraction", [1e-10, 0.001, 0.1, 0.5, 1.0])
def test_population_uniqueness_of_tiny_tables(sizes, fraction):
    found = population_uniqueness(np.array(sizes), fraction)
    for share in (found.pitman, found.zayatz, found.snb):
        assert share is None or 0 <= share <= 1
    if 1 not in sizes:
        assert found.share == found.pitman == found.zayatz == found.snb == 0


def test_whole_population_is_as_unique_as_its_sample():
    found = population_uniqueness(np.array([1, 1, 1, 3, 4]), 1.0)
    assert found.zayatz == pytest.approx(3 / 10)
    assert found.snb == pytest.approx(3 / 10)


def test_scores_of_special_uniques_by_hand():
    # Row 1 is alone by its first column, row 2 by any two of the first three.
    rows = np.array([[0, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [2, 1, 1, 0], [2, 1, 1, 0], [2, 0, 0, 0], [2, 0, 0, 0]])
    values, weights, record_of = _distinct(rows)
    found = find_special_uniques(("a", "b", "c", "d"), values, weights, record_of, 3, None)
    assert found.of_record(1) == [("a",)]
    assert set(found.of_record(2)) == {("a", "b"), ("a", "c"), ("b", "c")}
    assert found.scores[0] == 3 * 2 * 1
    assert found.scores[1] == 3 * (2 * 1)
    assert found.dis_scores is None


def test_scores_and_risks_of_the_practice_guide():
    # T. Benschop, C. Machingauta, M. Welch, "Statistical disclosure control: a practice guide", tables 4.1 and 4.5.
    rows = [
        ("urban", "f", "secondary incomplete", "employed"),
        ("urban", "f", "secondary incomplete", "employed"),
        ("urban", "f", "primary incomplete", "non-lf"),
        ("urban", "m", "secondary complete", "employed"),
        ("rural", "f", "secondary complete", "unemployed"),
        ("urban", "m", "secondary complete", "employed"),
        ("urban", "f", "primary complete", "non-lf"),
        ("urban", "m", "post-secondary", "unemployed"),
        ("urban", "f", "secondary incomplete", "non-lf"),
        ("urban", "f", "secondary incomplete", "non-lf"),
    ]
    names = ["residence", "gender", "education", "labor"]
    weights = [180, 180, 215, 76, 186, 76, 180, 215, 186, 76]
    frame = pl.DataFrame(rows, schema=names, orient="row").with_columns(weight=pl.Series(weights))
    report = sf.risk(frame, quasi_identifying=names, special_uniques=3, sampling_fraction=0.01, weights="weight")
    assert report.to_frame()["individual"].round(4)[:3].to_list() == [0.0054, 0.0054, 0.0251]
    found = report.special_uniques
    assert found.scores.tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
    told = [("residence",), ("gender", "education"), ("gender", "labor"), ("education", "labor")]
    assert sorted(found.of_record(5)) == sorted(told)
    # Its DIS-SUDA scores are .0051, .0107, .0051 and .0088; ours are spread otherwise, in the same order.
    assert found.dis_scores[[2, 4, 6, 7]] == pytest.approx([0.0051, 0.0107, 0.0051, 0.0088], abs=0.0015)


def test_dis_scores_have_the_mean_that_dis_says_and_the_order_of_the_scores():
    rows = np.random.default_rng(3).integers(0, 4, size=(300, 5))
    values, weights, record_of = _distinct(rows)
    found = find_special_uniques(tuple("abcde"), values, weights, record_of, 4, 0.2)
    uniques, pairs = (weights == 1).sum(), (weights == 2).sum()
    assert found.estimate == pytest.approx(0.2 * uniques / (0.2 * uniques + 1.6 * pairs))
    positive = found.scores > 0
    assert found.dis_scores[positive].mean() == pytest.approx(found.estimate)
    assert (found.dis_scores[~positive] == 0).all()
    order = np.argsort(found.scores, kind="stable")
    assert (np.diff(found.dis_scores[order]) >= -1e-15).all()


def test_thresholds_by_name_and_number():
    found = as_thresholds(["five", "EMA", "cms", 0.2, "0.5"])
    assert [threshold.value for threshold in found] == [0.09, 1 / 11, 0.2, 0.5]
    assert [str(threshold) for threshold in found] == ["0.09 (ema)", "0.0909 (cms)", "0.2 (five)", "0.5"]
    assert THRESHOLDS["health-canada"].value == 0.09


@pytest.mark.parametrize("wrong", ["fda", 0, -1, 1.5, math.nan, None])
def test_a_threshold_that_is_none_is_refused(wrong):
    with pytest.raises(PolicyError, match=r"threshold number 2: .*allowed: ema"):
        as_thresholds(["ema", wrong])


def _distinct(rows):
    values, record_of, weights = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    return np.ascontiguousarray(values.T.astype(np.uint32)), weights, record_of.astype(np.int32).reshape(-1)


def _sampled(sizes, sample):
    rng = np.random.default_rng(7)
    classes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))[:sample]
    counts = np.bincount(classes)
    return counts[counts > 0]


def _drawn_by_pitman(theta, alpha, height):
    """Seat people one after the other: a new class with probability (θ + α u) / (θ + i)."""
    rng = np.random.default_rng(8)
    sizes, class_of = [], []
    for place in range(height):
        if rng.random() < (theta + alpha * len(sizes)) / (theta + place):
            class_of.append(len(sizes))
            sizes.append(1)
            continue
        # An old class with probability (size − α) / ...: take somebody's class, and refuse in proportion to α.
        while True:
            chosen = class_of[int(rng.integers(place))]
            if rng.random() < (sizes[chosen] - alpha) / sizes[chosen]:
                break
        class_of.append(chosen)
        sizes[chosen] += 1
    return np.array(sizes)


@pytest.mark.parametrize("fraction", [0.05, 0.1, 0.2, 0.5, 0.9])
def test_the_chosen_estimate_is_that_of_the_whole_rule(fraction):
    draw = np.random.default_rng(5)
    for _ in range(20):
        sizes = draw.geometric(draw.uniform(0.2, 0.9), 80).astype(np.int64)
        whole = population_uniqueness(sizes, fraction)
        assert chosen_share(SizeCounts.of(sizes), fraction) == whole.share


def test_the_grid_between_which_roots_are_looked_for_is_right():
    for classes, fraction, ones, twos in ((300.0, 0.2, 40, 12), (5000.0, 0.7, 900, 30), (60.0, 0.01, 3, 9)):
        found = _grid_excess(classes, fraction, ones, twos)
        single = [_excess(float(beta), classes, fraction, ones, twos) for beta in _GRID]
        assert found == pytest.approx(single, rel=1e-9, abs=1e-9)
