"""The clustering twins against the worked examples and published figures of algorithms.md."""

from __future__ import annotations

import csv
import os
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

from naive.caat import caat
from naive.caat import distance as caat_distance
from naive.kmeans import cluster, kmeans, means, scaled, squared_distance
from naive.kmember import increase as kmember_increase
from naive.kmember import kmember
from naive.mdav import mdav, v_mdav
from naive.metrics import Attribute, dm, gcp, sse_sst
from naive.mixed import Category, Number, Tree, kinds_of
from naive.recoding import class_texts


def numbered(classes: list[list[int]]) -> list[set[int]]:
    """Classes with the 1-based record numbers of the papers."""
    return [{record + 1 for record in members} for members in classes]


def data(*path: str) -> Path:
    found = Path(os.environ.get("SFUMATO_DATA", "/nowhere")).joinpath(*path)
    if not found.exists():
        pytest.skip(f"SFUMATO_DATA/{'/'.join(path)} is not there")
    return found


# ------------------------------------------------------------------------------------ k-means, section 5

PLAYERS = [(176, 70), (177, 71), (169, 64), (170, 63), (188, 80), (183, 78), (180, 77)]


def players_gcp(classes: list[list[int]]) -> float:
    heights, weights = map(list, zip(*PLAYERS, strict=True))
    return gcp({"height": Attribute(heights), "weight": Attribute(weights)}, classes)


def test_kmeans_from_records_1_3_5() -> None:
    classes = kmeans(PLAYERS, 2, start=[0, 2, 4])
    assert numbered(classes) == [{1, 2, 7}, {3, 4}, {5, 6}]
    first, second, third = means(PLAYERS, classes)
    assert first == pytest.approx([177.6667, 72.6667], abs=5e-5)
    assert (second, third) == ([169.5, 63.5], [185.5, 79])
    assert dm(classes, 7) == 17
    assert players_gcp(classes) == pytest.approx(0.2037, abs=5e-5)


def test_the_loss_printed_for_that_start_belongs_to_another_partition() -> None:
    other = [[0, 1], [2, 3], [4, 5, 6]]
    assert players_gcp(other) == pytest.approx(0.1598850, abs=5e-8)
    assert dm(other, 7) == 17


def test_kmeans_from_records_5_6_7_merges_the_small_cluster() -> None:
    clusters, centres = cluster(PLAYERS, [PLAYERS[record] for record in (4, 5, 6)])
    assert numbered(clusters) == [{5}, {6, 7}, {1, 2, 3, 4}]
    assert centres == [[188, 80], [181.5, 77.5], [173, 67]]
    assert squared_distance(centres[0], centres[1]) ** 0.5 == pytest.approx(6.964, abs=5e-4)
    assert squared_distance(centres[0], centres[2]) ** 0.5 == pytest.approx(19.849, abs=5e-4)
    classes = kmeans(PLAYERS, 2, start=[4, 5, 6])
    assert numbered(classes) == [{5, 6, 7}, {1, 2, 3, 4}]
    assert means(PLAYERS, classes)[0] == pytest.approx([183.6667, 78.3333], abs=5e-5)
    assert dm(classes, 7) == 25


def test_kmeans_merges_until_ok() -> None:
    teams = "aabcccb"
    classes = kmeans(PLAYERS, 2, start=[0, 2, 4], ok=lambda members: len({teams[record] for record in members}) > 1)
    assert numbered(classes) == [{1, 2, 5, 6, 7}, {3, 4}]
    with pytest.raises(ValueError, match="whole table"):
        kmeans(PLAYERS, 2, start=[0, 2, 4], ok=lambda members: len(members) > 7)


def test_an_empty_cluster_keeps_its_centre_and_is_dropped_in_the_end() -> None:
    assert kmeans([(0,), (0,), (9,), (9,)], 2, start=[0, 1]) == [[2, 3], [0, 1]]
    assert kmeans([(5,)] * 4, 2, start=[0, 1]) == [[0, 1, 2, 3]]


def test_kmeans_scales_on_request() -> None:
    points = [(0, 0), (4, 100), (0, 101), (4, 1)]
    assert kmeans(points, 2, start=[0, 1]) == [[0, 3], [1, 2]]
    assert kmeans(points, 2, start=[0, 1], scale="minmax") == [[0, 2], [1, 3]]
    assert scaled([(1, 7), (3, 7), (5, 7)], "zscore") == [[-1, 0], [0, 0], [1, 0]]


# ------------------------------------------------------------------------------------ MDAV, sections 6 and 25


@cache
def microdata(*path: str) -> list[tuple[float, ...]]:
    with data(*path).open(newline="") as lines:
        _, *rows = csv.reader(lines)
    return [tuple(map(float, row)) for row in rows]


def squared_error(points: list[tuple[float, ...]], classes: list[list[int]]) -> float:
    return sse_sst({str(index): column for index, column in enumerate(zip(*points, strict=True))}, classes)


CENSUS = ("casc_census", "Census.csv")
TARRAGONA = ("casc_tarragona", "Tarragona.csv")


@pytest.mark.parametrize(
    ("file", "k", "loss"), [(CENSUS, 3, 5.6922), (CENSUS, 5, 9.0884), (TARRAGONA, 3, 16.9326), (TARRAGONA, 5, 22.4619)]
)
def test_mdav_published_losses(file: tuple[str, str], k: int, loss: float) -> None:
    points = microdata(*file)
    classes = mdav(points, k)
    assert sorted(record for members in classes for record in members) == list(range(len(points)))
    assert {len(members) for members in classes[:-1]} == {k}
    assert k <= len(classes[-1]) < 2 * k
    assert squared_error(points, classes) == pytest.approx(loss, abs=1e-4)


def test_mdav_of_equal_records() -> None:
    assert [len(members) for members in mdav([(1, 1)] * 11, 3)] == [3, 3, 5]


def test_mdav_below_2k_is_one_class() -> None:
    assert mdav([(1,), (2,), (9,)], 2) == [[0, 1, 2]]


LINE = [(0,), (1,), (2.5,), (20,), (21,), (23.5,), (24,)]


def test_v_mdav_without_gain_has_classes_of_k() -> None:
    assert numbered(v_mdav(LINE, 2, 0.0)) == [{1, 2}, {5, 6, 7}, {3, 4}]  # 5 is the leftover


def test_v_mdav_extends_by_the_record_between() -> None:
    # Record 3 is 1.5 from the class and 17.5 from its nearest neighbour outside; record 5 is 2.5 and 1 away.
    assert numbered(v_mdav(LINE, 2, 0.1)) == [{1, 2, 3}, {6, 7}, {4, 5}]
    assert numbered(v_mdav(LINE, 2, 1.0)) == [{1, 2, 3}, {6, 7}, {4, 5}]


def test_v_mdav_stays_below_2k() -> None:
    assert sorted(len(members) for members in v_mdav([(1,)] * 10, 3, 1.1)) == [3, 3, 4]
    assert max(len(members) for members in v_mdav([(x,) for x in range(10)], 3, 9.0)) == 5


# ------------------------------------------------------------------------------------ CAAT, section 7

EDUCATION = Tree(
    (
        ("HS", "Sec", "Any"),
        ("Voc", "Sec", "Any"),
        ("BSc", "High", "Any"),
        ("MSc", "High", "Any"),
        ("PhD", "High", "Any"),
    )
)
PEOPLE = [(20, "HS"), (22, "Voc"), (21, "HS"), (40, "MSc"), (42, "PhD"), (45, "BSc"), (23, "BSc")]
PEOPLE_KINDS = kinds_of(PEOPLE, [Number, EDUCATION])
RULES = ["widen", "midpoint", "nearest", "mean"]


def caat_apart(record: int, members: list[int], interval: str = "widen") -> float:
    """Distance of 1-based records."""
    zero_based = [member - 1 for member in members]
    return float(caat_distance(PEOPLE, PEOPLE_KINDS, record - 1, zero_based, interval))


@pytest.mark.parametrize("interval", RULES)
def test_caat_distances_of_two_records(interval: str) -> None:
    found = [caat_apart(1, [other], interval) for other in range(2, 8)]
    assert found == [0.29, 0.02, 0.9, 0.94, 1.0, 0.56]
    assert found == [caat_apart(other, [1], interval) for other in range(2, 8)]


def test_caat_distances_to_classes() -> None:
    assert (caat_apart(2, [1, 3]), caat_apart(2, [1, 3], "nearest")) == (0.28, 0.27)
    assert (caat_apart(6, [1, 3, 2]), caat_apart(6, [1, 3, 2], "nearest")) == (0.98, 0.96)
    assert caat_apart(5, [6]) == 0.31
    assert (caat_apart(4, [6, 5]), caat_apart(4, [6, 5], "nearest")) == (0.195, 0.165)
    assert (caat_apart(7, [1, 3, 2]), caat_apart(7, [6, 5, 4])) == (0.54, 0.515)
    assert (caat_apart(7, [1, 3, 2], "nearest"), caat_apart(7, [6, 5, 4], "nearest")) == (0.52, 0.465)


@pytest.mark.parametrize("interval", RULES)
@pytest.mark.parametrize("ties", ["all", "first"])
@pytest.mark.parametrize("frozen", [False, True])
def test_caat_example(interval: str, ties: str, frozen: bool) -> None:
    classes = caat(PEOPLE, PEOPLE_KINDS, 3, 0, interval, ties, frozen)
    assert [[record + 1 for record in members] for members in classes] == [[1, 3, 2], [6, 5, 4, 7]]
    ages, degrees = map(list, zip(*PEOPLE, strict=True))
    assert class_texts(ages, classes, "interval") == ["[20..22]", "[23..45]"]
    assert class_texts(degrees, classes, "ancestor", {path[0]: path for path in EDUCATION.paths}) == ["Sec", "High"]


def test_caat_moves_all_ties_at_once() -> None:
    same = [("a",)] * 10
    assert [len(members) for members in caat(same, kinds_of(same, [Category]), 3, 0)] == [10]
    assert [len(members) for members in caat(same, kinds_of(same, [Category]), 3, 0, ties="first")] == [4, 3, 3]


def test_caat_frozen_leftovers_do_not_follow_each_other() -> None:
    rows = [(x,) for x in (0, 1, 2, 10, 12, 20, 21, 22)]
    kinds = kinds_of(rows, [Number])
    assert caat(rows, kinds, 3, 0, "nearest") == [[0, 1, 2, 3, 4], [7, 6, 5]]
    assert caat(rows, kinds, 3, 0, "nearest", frozen=True) == [[0, 1, 2, 3], [7, 6, 5, 4]]


def test_caat_grows_until_ok() -> None:
    illness = "aaabbab"
    classes = caat(PEOPLE, PEOPLE_KINDS, 2, 0, ok=lambda members: len({illness[record] for record in members}) > 1)
    assert [[record + 1 for record in members] for members in classes] == [[1, 3, 2, 7], [6, 5, 4]]
    with pytest.raises(ValueError, match="whole table"):
        caat(PEOPLE, PEOPLE_KINDS, 2, 0, ok=lambda members: len(members) > 7)


def test_missing_values_are_far_from_all_others() -> None:
    rows = [(1, "HS"), (2, "HS"), (5, "Voc"), (None, None), (None, None)]
    kinds = kinds_of(rows, [Number, EDUCATION])
    for interval in RULES:
        assert caat_distance(rows, kinds, 3, [4], interval) == 0
        assert caat_distance(rows, kinds, 3, [0], interval) == 1
        assert caat_distance(rows, kinds, 0, [3, 4], interval) == 1


# ------------------------------------------------------------------------------------ k-member, section 9

AGES = [(20,), (21,), (22,), (40,), (41,), (42,), (60,)]
AGES_KINDS = kinds_of(AGES, [Number])


def test_kmember_example() -> None:
    classes = kmember(AGES, AGES_KINDS, 3, 0)
    assert [[AGES[record][0] for record in members] for members in classes] == [[60, 42, 41, 40], [20, 21, 22]]
    assert kmember_increase(AGES, AGES_KINDS, [6, 5, 4], 3) == Fraction(575, 1000)
    assert kmember_increase(AGES, AGES_KINDS, [0, 1, 2], 3) == Fraction(185, 100)


def test_kmember_on_trees() -> None:
    classes = kmember(PEOPLE, PEOPLE_KINDS, 3, 0)
    assert [[record + 1 for record in members] for members in classes] == [[6, 5, 4], [1, 3, 2, 7]]
    # By hand: 4 * (3/25 + 1) - 3 * (2/25 + 1/2) against 4 * (22/25 + 1/2) - 3 * (5/25 + 1/2)
    assert kmember_increase(PEOPLE, PEOPLE_KINDS, [0, 2, 1], 6) == Fraction(274, 100)
    assert kmember_increase(PEOPLE, PEOPLE_KINDS, [5, 4, 3], 6) == Fraction(342, 100)
