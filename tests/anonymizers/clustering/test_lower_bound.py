"""The lower bound: never above the best partition, and as high as the cheapest company of every record."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from anonymizers.clustering.clustering_tables import class_loss, encoded, rows, tables
from examples import examples
from naive.lower_bound import cheapest_company, least_loss
from sfumato.anonymizers.clustering.bounds import lower_bound
from sfumato.table.encoding import encode

few = st.lists(rows, min_size=2, max_size=7)
measures = st.sampled_from(["ncp", "loss"])
weights = st.sampled_from([1.0, 2.5])


@given(few, st.integers(1, 4), measures, weights, st.integers(0, 4))
@examples(80)
def test_no_partition_loses_less(data, k, measure, weight, rounds):
    k = min(k, len(data))
    best = least_loss(data, k, class_loss(data, measure, weight))
    cells = len(data) * (2 + weight)
    assert lower_bound(encoded(data, weight=weight), k, loss=measure, rounds=rounds) <= best / cells


@given(tables(least=2, most=9), st.integers(1, 4), measures, weights)
@examples(80)
def test_it_is_at_least_the_mean_of_what_every_record_has_to_pay(data, k, measure, weight):
    k = min(k, len(data))
    whole = class_loss(data, measure, weight)

    def per_attribute(one, other):
        base = list(one)
        return [whole([one, (*base[:place], other[place], *base[place + 1 :])]) for place in range(3)]

    total = sum(cheapest_company(data, one, k, per_attribute) for one in range(len(data)))
    found = lower_bound(encoded(data, weight=weight), k, loss=measure)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.anonymizers.clustering.bounds.FACTOR", 1.0)
        alone = lower_bound(encoded(data, weight=weight), k, loss=measure)
    assert alone == pytest.approx(total / (len(data) * (2 + weight)), abs=1e-9)
    assert found >= alone


@given(st.integers(0, 10_000), st.integers(2, 3), measures)
@examples(60)
def test_no_partition_of_scattered_records_loses_less(seed, k, measure):
    """With more different records than above, as one who is hard to place charges those around."""
    generator = np.random.default_rng(seed)
    names = ("aa", "ab", "ba"), ("red", "blue", "green")
    data = [(float(generator.integers(0, 9)), *(str(generator.choice(each)) for each in names)) for _ in range(8)]
    best = least_loss(data, k, class_loss(data, measure, 1.0)) / (3 * len(data))
    first, raised = (lower_bound(encoded(data), k, loss=measure, rounds=rounds) for rounds in (0, 3))
    assert first <= raised <= best
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.anonymizers.clustering.bounds._PATIENCE", 2)
        assert lower_bound(encoded(data), k, loss=measure, rounds=2) <= best


@given(st.lists(rows, min_size=3, max_size=6), st.integers(2, 3))
@examples(40)
def test_leaving_records_out_does_not_lose_less(data, k):
    """Whoever is left out loses everything: three cells of three."""
    found = lower_bound(encoded(data), k, rounds=2) * 3 * len(data)
    whole = class_loss(data, "ncp", 1.0)
    for kept in product([False, True], repeat=len(data)):
        rest = [row for row, stays in zip(data, kept, strict=True) if stays]
        if not rest or len(rest) >= k:
            lost = least_loss(rest, k, whole) if rest else 0.0
            assert found <= lost + 3 * (len(data) - len(rest)) + 1e-9


def test_who_is_hard_to_place_is_charged_for_their_company():
    """Two are equal and lose nothing alone; the third needs one of them, who then loses as much."""
    data = [(0.0, "aa", "red"), (0.0, "aa", "red"), (0.0, "aa", "blue")]
    assert lower_bound(encoded(data), 2) == pytest.approx(2 / 9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.anonymizers.clustering.bounds.FACTOR", 1.0)
        assert lower_bound(encoded(data), 2) == pytest.approx(1 / 9)


@given(tables(least=2, most=20), st.integers(1, 6), measures, st.integers(1, 5))
@examples(30)
def test_with_little_patience_it_is_lower_and_threads_do_not_matter(data, k, measure, patience):
    table = encoded(data)
    found = lower_bound(table, k, loss=measure)
    assert lower_bound(table, k, loss=measure, threads=3) == found
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.anonymizers.clustering.bounds.FACTOR", 1.0)
        alone = lower_bound(table, k, loss=measure)
        patch.setattr("sfumato.anonymizers.clustering.bounds.PATIENCE", patience)
        assert lower_bound(table, k, loss=measure) <= alone + 1e-12


def numbers(seed, height, rows=slice(None)):
    """Records of one to four numbers, some equal or far out, and their coordinates, whose squares add up to 100."""
    generator = np.random.default_rng(seed)
    drawn = {
        "y": generator.normal(0, 1, height).round(1),
        "x": generator.integers(0, 8, height) * 1e9,
        "far": np.exp(4 * generator.normal(0, 1, height)),
        "near": 1e6 + generator.integers(0, 4, height),
    }
    width = generator.integers(1, 5)
    frame = pl.DataFrame({name: drawn[name] for name in list(drawn)[:width]})
    if seed % 3 == 0:
        frame = frame[generator.integers(0, height - 2, height)]
    points = frame[rows].to_numpy().astype(float)
    points -= points.mean(axis=0)
    points = points[:, (points**2).sum(axis=0) > 0]
    points *= np.sqrt(100 / max(1, points.shape[1]) / (points**2).sum(axis=0))
    return encode(sf.read_table(frame[rows], sf.Schema(quasi_identifying=frame.columns))), points


def spread(members):
    """What each member of a class adds to the squared error, on the mean."""
    own = np.array(members)
    return float(((own - own.mean(axis=0)) ** 2).sum()) / len(own)


@given(st.integers(0, 10_000), st.integers(1, 5), st.sampled_from([0, 1, 3, 20]), st.sampled_from([0, 3, 20_000]))
@examples(60)
def test_no_partition_of_points_has_a_smaller_squared_error(seed, k, rounds, patience):
    table, points = numbers(seed, 8)
    best = least_loss(list(points), k, spread)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.anonymizers.clustering.bounds._PATIENCE_POINTS", patience)
        found = lower_bound(table, k, loss="squared-error", rounds=rounds)
        assert lower_bound(table, k, loss="squared-error") <= found
    assert 0.0 <= found <= best + 1e-9
    # Whoever is suppressed loses the distance to the mean of all.
    for one in range(8):
        rest = [point for place, point in enumerate(points) if place != one]
        assert found <= least_loss(rest, k, spread) + float((points[one] ** 2).sum()) + 1e-9


@pytest.mark.parametrize(("seed", "k"), [(1, 2), (2, 3), (3, 5)])
def test_along_a_line_it_stays_below_the_best_classes_of_neighbours(seed, k):
    """The best classes of one number are ranges of k to 2k - 1 records, which all can be tried."""
    generator = np.random.default_rng(seed)
    values = np.sort(np.round(np.exp(generator.normal(0, 2, 40)), 1))
    best = [0.0, *[np.inf] * len(values)]
    for end in range(k, len(values) + 1):
        for size in range(k, min(end, 2 * k - 1) + 1):
            members = values[end - size : end]
            best[end] = min(best[end], best[end - size] + size * float(members.var()))
    optimum = 100 * best[-1] / (len(values) * float(values.var()))
    table = encode(sf.read_table(pl.DataFrame({"x": values}), sf.Schema(quasi_identifying=["x"])))
    first, raised = (lower_bound(table, k, loss="squared-error", rounds=rounds) for rounds in (0, 12))
    assert first <= raised <= optimum + 1e-9
    assert 0.8 * optimum < raised


def test_the_squared_error_of_points_is_bounded_closely():
    table, points = numbers(3, 9)
    best = least_loss(list(points), 3, spread)
    assert 0.9 * best <= lower_bound(table, 3, loss="squared-error", rounds=6) <= best
    shuffled, _ = numbers(3, 9, np.random.default_rng(1).permutation(9))
    assert lower_bound(shuffled, 3, loss="squared-error", rounds=6) == lower_bound(
        table, 3, loss="squared-error", rounds=6
    )
    assert lower_bound(table, 10, loss="squared-error") == 100.0


def test_four_far_from_all_others_are_no_three_classes_at_once():
    """Charges alone prove 2 P / 9 for the four, each three a third of a class; their class loses P / 4."""
    frame = pl.DataFrame({name: [8.0 * (name == far) for far in "abcd"] + [-1.0] * 6 for name in "abcd"})
    points = (frame.to_numpy() - frame.to_numpy().mean(axis=0)) * 5 / np.sqrt(frame.to_numpy().var(axis=0) * 10)
    best = least_loss(list(points), 3, spread)
    found = lower_bound(encode(sf.read_table(frame, sf.Schema(quasi_identifying=list("abcd")))), 3,
                        loss="squared-error", rounds=20)  # fmt: skip
    assert 0.92 * best < found <= best + 1e-9


def test_a_squared_error_needs_numbers_of_everybody():
    with pytest.raises(sf.PolicyError, match="needs numbers or dates"):
        lower_bound(encoded([(1.0, "aa", "red")] * 4), 2, loss="squared-error")


def test_fewer_than_k_records_can_only_be_suppressed():
    assert lower_bound(encoded([(1.0, "aa", "red")] * 3), 4) == 1.0
    assert lower_bound(encoded([(1.0, "aa", "red")] * 4), 4) == 0.0


@pytest.mark.parametrize(
    ("k", "loss", "rounds"), [(0, "ncp", 0), (1.5, "ncp", 0), (True, "ncp", 0), (2, "height", 0), (2, "ncp", -1)]
)
def test_wrong_settings_are_refused(k, loss, rounds):
    with pytest.raises(sf.PolicyError, match="lower bound"):
        lower_bound(encoded([(1.0, "aa", "red")]), k, loss=loss, rounds=rounds)


def test_rounds_close_most_of_the_gap():
    """Scattered records: their cheapest regions overlap, and no partition can use them all."""
    generator = np.random.default_rng(5)
    data = [(float(generator.integers(0, 10)), str(generator.choice(["aa", "ab", "ba"])), "red") for _ in range(60)]
    first, raised = (lower_bound(encoded(data), 4, rounds=rounds) for rounds in (0, 4))
    assert raised > 1.1 * first


@pytest.mark.slow
@pytest.mark.skipif("SFUMATO_DATA" not in os.environ, reason="needs the real tables: set SFUMATO_DATA")
def test_on_real_records_it_lies_between_nothing_and_what_k_member_reaches():
    folder = Path(os.environ["SFUMATO_DATA"]) / "adult"
    frame = pl.read_csv(folder / "arx_adult.csv", separator=";").head(3000)
    names = ["age", "education", "sex", "race"]
    trees = {name: sf.read_hierarchy(folder / "hierarchies" / f"adult_hierarchy_{name}.csv") for name in names}
    table = sf.read_table(frame, sf.Schema(quasi_identifying=trees, others="drop"))
    bound = lower_bound(encode(table), 5)
    reached = sf.anonymize(table, sf.KAnonymity(5), anonymizer=sf.KMember(), seed=1).report.losses.normalized_ncp
    assert 0.5 * reached < bound < reached
