"""The clustering twins against the worked examples and published figures of algorithms.md."""

from __future__ import annotations

import csv
import os
import random
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

from naive.caat import caat
from naive.caat import distance as caat_distance
from naive.kaca import Group, kaca, whd
from naive.kaca import distance as kaca_distance
from naive.kmeans import cluster, kmeans, means, scaled, squared_distance
from naive.kmember import increase as kmember_increase
from naive.kmember import kmember
from naive.mdav import mdav, v_mdav
from naive.metrics import Attribute, dm, gcp, ncp, sse_sst
from naive.mixed import Category, Number, Tree, kinds_of, penalty, total
from naive.oka import oka, one_pass
from naive.recoding import class_texts
from naive.sbc import sbc, similarity_orders
from naive.toolbox import toolbox_rows
from naive.xu import bottom_up, halves, split, top_down


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


# ------------------------------------------------------------------------------------ KACA, section 8


@pytest.mark.parametrize(
    ("steps", "climb", "weight", "beta", "distance"),
    [
        (5, 1, "uniform", 1, 0.2),
        (5, 1, "height", 1, 0.0875912),
        (5, 1, "height", 2, 0.0273297),
        (5, 2, "uniform", 1, 0.4),
        (5, 2, "height", 1, 0.1970803),
        (1, 1, "uniform", 1, 1.0),
        (1, 1, "height", 2, 1.0),
        (4, 1, "uniform", 1, 0.25),
        (4, 1, "height", 1, 0.12),
        (5, 5, "height", 2, 1.0),
    ],
)
def test_kaca_weighted_distances(steps: int, climb: int, weight: str, beta: int, distance: float) -> None:
    assert float(whd(0, climb, steps, weight, beta)) == pytest.approx(distance, abs=5e-8)


DEGREES = [("HS",), ("HS",), ("HS",), ("HS",), ("BSc",), ("MSc",)]
DEGREES_KINDS = kinds_of(DEGREES, [EDUCATION])


def test_kaca_distances_weigh_the_records_of_both_classes() -> None:
    school, bachelor, master = Group([0, 1, 2, 3], [0, 1, 2, 3]), Group([4], [4]), Group([5], [5])
    assert kaca_distance(DEGREES, DEGREES_KINDS, bachelor, master) == 1
    assert kaca_distance(DEGREES, DEGREES_KINDS, bachelor, school) == 5
    assert kaca_distance(DEGREES, DEGREES_KINDS, Group([4, 5], [4, 5]), school) == 5
    assert kaca_distance(DEGREES, DEGREES_KINDS, bachelor, master, "height", 1) == Fraction(2, 3)


def test_kaca_takes_a_stub_where_both_classes_stay_large() -> None:
    assert kaca(DEGREES, DEGREES_KINDS, 3, [4, 5]) == [[0, 4, 5], [1, 2, 3]]
    assert kaca(DEGREES, DEGREES_KINDS, 3, [4, 5], stub=False) == [[0, 1, 2, 3, 4, 5]]
    assert kaca(DEGREES[1:], DEGREES_KINDS, 3, [3, 4]) == [[0, 1, 2, 3, 4]]  # 2 + 3 records are fewer than 2k


def test_kaca_passes_over_records_of_large_classes() -> None:
    assert kaca(DEGREES, DEGREES_KINDS, 3, range(6)) == kaca(DEGREES, DEGREES_KINDS, 3, [4, 5])
    with pytest.raises(ValueError, match="picks ran out"):
        kaca(DEGREES, DEGREES_KINDS, 3, [4])


def test_kaca_classes_that_come_to_publish_the_same_merge() -> None:
    rows = [("MSc",), ("BSc",), ("HS",), ("PhD",)]
    # BSc and MSc make High, with HS Any. PhD takes one of these three, both classes publish Any, and merge.
    assert kaca(rows, kinds_of(rows, [EDUCATION]), 2, [1, 2, 3]) == [[0, 1, 2, 3]]


def test_kaca_with_numbers_and_another_model() -> None:
    illness = "aaabbab"
    for record in range(7):
        classes = kaca(
            PEOPLE, PEOPLE_KINDS, 2, [*range(record, 7), *range(7)], ok=lambda some: len({illness[i] for i in some}) > 1
        )
        assert sorted(each for members in classes for each in members) == list(range(7))
        assert all(len({illness[each] for each in members}) > 1 for members in classes)
    assert kaca(AGES, AGES_KINDS, 3, range(7)) == [[0, 1, 2], [3, 4, 5, 6]]


# ------------------------------------------------------------------------------------ OKA, section 9


def test_oka_by_hand() -> None:
    assert one_pass(AGES, AGES_KINDS, [0, 6], range(7)) == [[0, 1, 2, 3, 4, 5], [6]]
    # 20, 42 and 21 are farthest from the mean 31; 42 is nearer to the mean of 22, 40, 41 than to that of 60, 20, 21.
    assert oka(AGES, AGES_KINDS, 3, [0, 6]) == [[2, 3, 4, 5], [6, 0, 1]]
    assert oka(AGES, AGES_KINDS, 3, [0, 6], pool_order=range(6, -1, -1)) == [[2, 3, 4, 0], [6, 5, 1]]


def test_oka_takes_the_mode_or_the_common_ancestor() -> None:
    rows = [("HS",), ("Voc",), ("PhD",), ("HS",)]
    kinds = kinds_of(rows, [EDUCATION])
    assert one_pass(rows, kinds, [0, 2], range(4), "mode") == [[0, 1, 3], [2]]
    colours = [("red",), ("blue",), ("red",)]
    assert one_pass(colours, kinds_of(colours, [Category]), [0, 1], range(3)) == [[0, 2], [1]]


# ------------------------------------------------------------------------------------ Xu, section 9


def test_bottom_up_by_hand() -> None:
    assert bottom_up(AGES, AGES_KINDS, 3, range(7)) == [[0, 1, 2], [3, 4, 5, 6]]


def test_bottom_up_splits_what_has_grown_too_large() -> None:
    rows = [(0,), (1,), (2,), (100,)]
    kinds = kinds_of(rows, [Number])
    assert split(rows, kinds, [0, 1, 2, 3], 2) == [[0, 1], [2, 3]]
    assert bottom_up(rows, kinds, 2, [0, 2, 3]) == [[0, 1], [2, 3]]
    assert bottom_up(rows, kinds, 2, [0, 2, 3], ok=lambda members: 0 in members) == [[0, 1, 2, 3]]


def test_top_down_by_hand() -> None:
    assert halves(AGES, AGES_KINDS, range(7)) == ([0, 1, 2], [6, 3, 4, 5])
    assert top_down(AGES, AGES_KINDS, 3, range(7)) == [[0, 1, 2], [3, 4, 5, 6]]


@pytest.mark.parametrize(
    ("values", "classes"),
    [([0, 1, 2, 50], [[0, 1], [2, 3]]), ([0, 1, 2, 3, 50], [[0, 1], [2, 3, 4]])],
    ids=["takes what is missing", "merges"],
)
def test_top_down_helps_the_undersized(values: list[int], classes: list[list[int]]) -> None:
    rows = [(value,) for value in values]
    assert top_down(rows, kinds_of(rows, [Number]), 2, range(len(rows))) == classes


# ------------------------------------------------------------------------------------ SBC, section 12

SCHOOLS = ["High School", "Bachelor", "Master", "PhD"]
TABLE_3_1 = {"Japan": (4, 4), "US": (4, 1), "Iran": (1, 6)}
TABLE_3_4 = {"Japan": (0, 4, 3, 1), "US": (4, 1, 0, 0), "Iran": (1, 3, 1, 2)}


def thesis_rows(gender: str, school: str = "Bachelor") -> list[tuple[str, str, str]]:
    """Tables 3-1 and 3-4 as twenty records, a Japanese one of that gender and school in front."""
    found = []
    for country in TABLE_3_1:
        genders = [
            each for each, count in zip(("Male", "Female"), TABLE_3_1[country], strict=True) for _ in range(count)
        ]
        schools = [each for each, count in zip(SCHOOLS, TABLE_3_4[country], strict=True) for _ in range(count)]
        if country == "Japan":
            genders.remove(gender)
            schools.remove(school)
            genders, schools = [gender, *genders], [school, *schools]
        found += [(each, country, other) for each, other in zip(genders, schools, strict=True)]
    return found


def orders(gender: str, k: int, link: str = "previous") -> list[list[str]]:
    rows = thesis_rows(gender)
    return list(similarity_orders(rows, list(range(20)), [0, 1, 2], k, link).values())


def test_sbc_tables_3_1_and_3_4() -> None:
    rows = thesis_rows("Male")
    assert len(rows) == 20
    for country in TABLE_3_1:
        mine = [row for row in rows if row[1] == country]
        assert tuple(sum(row[0] == each for row in mine) for each in ("Male", "Female")) == TABLE_3_1[country]
        assert tuple(sum(row[2] == each for row in mine) for each in SCHOOLS) == TABLE_3_4[country]


@pytest.mark.parametrize(
    ("gender", "k", "countries"),
    [
        ("Male", 3, ["Japan", "US", "Iran"]),  # figure 3-5
        ("Female", 3, ["Japan", "Iran", "US"]),
        ("Male", 10, ["Japan", "Iran", "US"]),  # 9 men are fewer than k: table 3-3
        ("Female", 10, ["Japan", "Iran", "US"]),
    ],
)
def test_sbc_similarity_of_nationalities(gender: str, k: int, countries: list[str]) -> None:
    genders, found, _ = orders(gender, k)
    assert genders == [gender, "Female" if gender == "Male" else "Male"]
    assert found == countries


def test_sbc_similarity_of_degrees_follows_the_previous_attribute() -> None:
    assert orders("Male", 3)[2] == ["Bachelor", "Master", "PhD", "High School"]
    # 8 Japanese are fewer than 10: the Iranians come in, not the Americans.
    assert orders("Male", 10)[2] == ["Bachelor", "Master", "PhD", "High School"]


def test_sbc_first_attribute_of_the_chain_goes_by_its_counts() -> None:
    rows = [row[1:2] for row in thesis_rows("Male")]
    assert similarity_orders(rows, list(range(20)), [0], 3) == {0: ["Japan", "Iran", "US"]}  # section 3.8


def test_sbc_merges_rows_until_there_are_k() -> None:
    # 5 of row a are too few; row c, more similar by its count, comes before row b.
    rows = [("a", "x")] * 4 + [("a", "y")] + [("c", "z")] * 4 + [("c", "y")] * 2 + [("b", "y")] * 9
    assert similarity_orders(rows, list(range(20)), [0, 1], 5)[1] == ["x", "y", "z"]
    assert similarity_orders(rows, list(range(20)), [0, 1], 6)[1] == ["x", "z", "y"]
    assert similarity_orders(rows, list(range(20)), [0, 1], 12)[1] == ["x", "z", "y"]


def test_sbc_sizes_and_remainders() -> None:
    rows = [(x, "u" if x % 3 else "v") for x in range(11)]
    kinds = kinds_of(rows, [Number, Category])
    assert [len(members) for members in sbc(rows, kinds, 4)] == [4, 7]
    assert [len(members) for members in sbc(rows, kinds, 4, remainder="suppress")] == [4, 4]
    assert sorted(record for members in sbc(rows, kinds, 4, remainder="nearest") for record in members) == [*range(11)]
    assert sbc(rows, kinds, 1, sort=None) == [[record] for record in range(11)]


def test_sbc_sort_orders() -> None:
    rows = [(3, "b"), (1, "b"), (2, "a"), (9, "a")]
    kinds = kinds_of(rows, [Number, Category])
    assert sbc(rows, kinds, 2) == [[2, 3], [1, 0]]
    assert sbc(rows, kinds, 2, sort=[0]) == [[1, 0], [2, 3]]
    assert sbc(rows, kinds, 2, sort=None) == [[0, 1], [2, 3]]


@pytest.mark.parametrize(("k", "sets"), [(50, 100), (100, 50)])
def test_sbc_unique_sets_on_the_adult_sample(k: int, sets: int) -> None:
    sample = toolbox_rows(data("adult", "adult.data").read_text().splitlines())
    rows = [(int(age), sex, country) for age, sex, country in sample]
    kinds = kinds_of(rows, [Number, Category, Category])
    classes = sbc(rows, kinds, k)
    assert {len(members) for members in classes} == {k}
    columns = dict(zip(("age", "sex", "country"), map(list, zip(*rows, strict=True)), strict=True))
    texts = [class_texts(columns[name], classes, "interval" if name == "age" else "set") for name in columns]
    assert len(set(zip(*texts, strict=True))) == sets
    loss = sum(total(penalty, rows, kinds, members) for members in classes) / (3 * 5000)
    assert loss < Fraction(1, 5)


def test_penalty_is_the_ncp_of_the_metrics() -> None:
    rows = [*PEOPLE, (None, "HS"), (30, None)]
    kinds = kinds_of(rows, [Number, EDUCATION])
    ages, degrees = map(list, zip(*rows, strict=True))
    tree = {path[0]: path for path in EDUCATION.paths}
    classes = [[0, 2, 1], [3, 4], [5, 6, 8], [7]]
    for given, attributes in [
        (kinds, {"age": Attribute(ages), "degree": Attribute(degrees, tree)}),
        (kinds_of(rows, [Number, Category]), {"age": Attribute(ages), "degree": Attribute(degrees)}),
    ]:
        loss = sum(total(penalty, rows, given, members) for members in classes)
        assert float(loss) == pytest.approx(ncp(attributes, classes))


# ------------------------------------------------------------------------------------ all of them, on any table


def any_table(records: int, chance: random.Random) -> list[tuple[int | None, str | None, str]]:
    degrees = [*(path[0] for path in EDUCATION.paths), None]
    return [(chance.choice([None, *range(6)]), chance.choice(degrees), chance.choice("abc")) for _ in range(records)]


@pytest.mark.parametrize(("records", "k"), [(1, 1), (3, 3), (7, 1), (11, 2), (12, 3), (14, 4), (17, 5)])
@pytest.mark.parametrize("table", range(3))
def test_every_twin_partitions_any_table(records: int, k: int, table: int) -> None:
    chance = random.Random(100 * records + table)
    rows = any_table(records, chance)
    for given in ([Number, EDUCATION, Category], [Number, Category, Category]):
        kinds = kinds_of(rows, given)
        order = chance.sample(range(records), records)
        first = order[0]
        found = {
            **{f"caat {rule}": caat(rows, kinds, k, first, rule) for rule in RULES},
            "caat first": caat(rows, kinds, k, first, ties="first"),
            "kaca": kaca(rows, kinds, k, order),
            "kaca height": kaca(rows, kinds, k, order, "height", 2, stub=False),
            "k-member": kmember(rows, kinds, k, first),
            "oka": oka(rows, kinds, k, order[: records // k], order, order),
            "oka mode": oka(rows, kinds, k, order[: records // k], centre="mode"),
            "bottom-up": bottom_up(rows, kinds, k, order),
            "top-down": top_down(rows, kinds, k, order),
        }
        if given[1] is Category:
            found |= {
                f"sbc {link} {remainder}": sbc(rows, kinds, k, remainder=remainder, link=link, normalize=normalize)
                for link, remainder, normalize in [("all", "nearest", "by_type"), ("previous", "last", "sum")]
            }
        for name, classes in found.items():
            assert sorted(record for members in classes for record in members) == list(range(records)), name
            assert min(map(len, classes)) >= k, name
        assert max(map(len, found["bottom-up"])) < 2 * k
        assert len(found["oka"]) == len(found["k-member"]) == len(found["caat first"]) == records // k


def test_fewer_records_than_k() -> None:
    for twin in (caat, kaca, kmember, oka, bottom_up, top_down, sbc):
        with pytest.raises(ValueError, match="7 records are fewer than k = 8"):
            twin(PEOPLE, PEOPLE_KINDS, 8, [0])
    for points in (lambda: kmeans(PLAYERS, 8, [0]), lambda: mdav(PLAYERS, 8), lambda: v_mdav(PLAYERS, 8, 0.2)):
        with pytest.raises(ValueError, match="7 records are fewer than k = 8"):
            points()
