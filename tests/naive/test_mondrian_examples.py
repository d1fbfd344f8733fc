"""The naive twin against the worked examples and published counts of algorithms.md."""

import os
import random
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from examples import seeds
from naive.mondrian import (
    TOOLBOX_DOMAIN,
    Box,
    Infeasible,
    Rows,
    gcp,
    lower_median,
    mondrian,
    mondrian_hierarchy,
    mondrian_single_dimensional,
    mondrian_toolbox,
    single_dimensional_cuts,
    slabs,
    toolbox_columns,
)

# Table 2-12: Age, Gender (F=0, M=1), Zip
PATIENTS = [[35, 35, 36, 37, 37, 38], [0, 1, 0, 0, 1, 0], [23111, 23112, 23111, 23110, 23112, 23111]]
AGE, GENDER, ZIP = 0, 1, 2
CATEGORICAL = [False, True, False]


def numbered(classes: list[Rows]) -> list[set[int]]:
    """Classes with the 1-based record numbers of the papers."""
    return [{row + 1 for row in rows} for rows in classes]


def discernibility(classes: list[Rows]) -> int:
    return sum(len(rows) ** 2 for rows in classes)


# ------------------------------------------------------------------------------------ Table 2-12


@pytest.mark.parametrize("order", [(ZIP, AGE, GENDER), (ZIP, GENDER, AGE), (GENDER, AGE, ZIP), (GENDER, ZIP, AGE)])
def test_table_2_12_zip_or_gender_first_gives_figure_2_9b(order: tuple[int, ...]) -> None:
    classes = mondrian(PATIENTS, 2, order=order)
    assert numbered(classes) == [{1, 3}, {2, 5}, {4, 6}]
    assert gcp(PATIENTS, classes, CATEGORICAL) == pytest.approx(0.203704, abs=1e-6)
    assert discernibility(classes) == 12


@pytest.mark.parametrize("order", [(AGE, GENDER, ZIP), (AGE, ZIP, GENDER)])
def test_table_2_12_age_first_gives_other_classes(order: tuple[int, ...]) -> None:
    assert numbered(mondrian(PATIENTS, 2, order=order)) == [{1, 2, 3}, {4, 5, 6}]


@pytest.mark.parametrize("order", [(ZIP, AGE, GENDER), (GENDER, AGE, ZIP)])
def test_table_2_12_single_dimensional(order: tuple[int, ...]) -> None:
    classes = mondrian_single_dimensional(PATIENTS, 2, order=order)
    assert numbered(classes) == [{1, 3, 4, 6}, {2, 5}]
    assert discernibility(classes) == 20
    assert gcp(PATIENTS, classes, CATEGORICAL) == pytest.approx(0.407407, abs=1e-6)  # tightened


def test_table_2_12_single_dimensional_as_published_recodes_globally() -> None:
    cuts = single_dimensional_cuts(PATIENTS, 2, order=(ZIP, AGE, GENDER))
    assert cuts == [[], [0], [23111]]  # the gender cut is allowable but separates nobody further
    # NCP of the slabs: age 35..38 for everyone; zip 23110..23111 for the four; gender as in the classes (exact)
    ages = sum(len(rows) for rows in slabs(PATIENTS[AGE], cuts[AGE]))
    zips = sum(len(rows) * 0.5 for rows in slabs(PATIENTS[ZIP], cuts[ZIP]) if len({PATIENTS[ZIP][r] for r in rows}) > 1)
    assert (ages + zips) / 18 == pytest.approx(0.444444, abs=1e-6)


def test_table_2_12_single_dimensional_also_depends_on_the_tie() -> None:
    assert numbered(mondrian_single_dimensional(PATIENTS, 2)) == [{1, 2, 3}, {4, 5, 6}]


def test_cut_zip_23110_is_not_allowable() -> None:
    only_zip = [[23111, 23111, 23110, 23111]]  # records 1, 3, 4, 6
    assert mondrian(only_zip, 2, split_rule="median+fallback") == [[0, 1, 2, 3]]


# ------------------------------------------------------------------------------------ Adult, section 25


@cache
def adult() -> list[list[int]]:
    root = Path(os.environ.get("SFUMATO_DATA", "/nowhere"))
    path = root / "adult" / "adult.data"
    if not path.exists():
        pytest.skip("SFUMATO_DATA/adult/adult.data is not there")
    return toolbox_columns(path.read_text().splitlines())


def published_sets(classes: list[Rows]) -> int:
    """Distinct tight [min, max] boxes of the classes."""
    return len({tuple((min(c[r] for r in rows), max(c[r] for r in rows)) for c in adult()) for rows in classes})


def test_adult_sample() -> None:
    age, sex, country = adult()
    assert len(age) == 5000
    assert (min(age), max(age)) == (17, 90)
    assert Counter(sex) == {0: 1598, 1: 3402}  # Male is the lower median, so at the root sex is never cut
    assert len(set(country)) == 39
    assert len(set(zip(age, sex, country, strict=True))) == 493


@pytest.mark.parametrize(("k", "sets", "loss"), [(2, 209, 0.3172), (100, 35, 0.3729)])
def test_adult_toolbox_counts(k: int, sets: int, loss: float) -> None:
    result: list[tuple[Rows, Box]] = mondrian_toolbox(adult(), k, TOOLBOX_DOMAIN)
    classes = [rows for rows, _ in result]
    assert len(classes) == sets
    assert len({box for _, box in result}) == sets
    assert published_sets(classes) == sets
    assert min(map(len, classes)) >= k
    assert sorted(row for rows in classes for row in rows) == list(range(5000))
    assert gcp(adult(), classes, [False, True, True]) == pytest.approx(loss, abs=5e-5)


@pytest.mark.parametrize(
    ("rule", "k", "count", "loss"),
    [
        ("median", 2, 211, 0.3164),
        ("median", 100, 35, 0.3729),
        ("median+fallback", 2, 302, 0.0018),
        ("median+fallback", 100, 28, 0.0761),
    ],
)
def test_adult_plain_mondrian(rule: str, k: int, count: int, loss: float) -> None:
    """Data widths over the table's own range, native-country in leaf order: the GCP figures of section 4."""
    classes = mondrian(adult(), k, split_rule=rule)  # type: ignore[arg-type]
    assert len(classes) == published_sets(classes) == count
    assert gcp(adult(), classes, [False, True, True]) == pytest.approx(loss, abs=5e-5)


def test_adult_data_widths_over_the_domain_are_not_the_toolbox() -> None:
    assert [len(mondrian(adult(), k, ranges=[100, 1, 41])) for k in (2, 100)] == [212, 36]


# ------------------------------------------------------------------------------------ rules, by hand


def test_lower_median() -> None:
    assert [lower_median(v) for v in ([3], [2, 1], [3, 1, 2], [4, 1, 3, 2])] == [3, 1, 2, 2]


def test_median_at_the_maximum_needs_the_fallback() -> None:
    column = [[1, 1, 2, 2, 2]]
    assert mondrian(column, 2) == [[0, 1, 2, 3, 4]]
    assert mondrian(column, 2, split_rule="median+fallback") == [[0, 1], [2, 3, 4]]


def test_fallback_takes_the_cut_closest_to_half() -> None:
    column = [[1, 1, 1, 2, 2, 3]]  # median 1: only {<= 1}
    assert mondrian(column, 2, split_rule="median+fallback") == [[0, 1, 2], [3, 4, 5]]
    column = [[1, 1, 2, 2, 2, 2, 3]]  # {<= 2} leaves 1 record: {< 2} it is
    assert mondrian(column, 2, split_rule="median+fallback") == [[0, 1], [2, 3, 4, 5, 6]]
    column = [[0, 0, 0, 1, 1, 1, 2, 2]]  # 6|2 against 3|5: the second; then 1,1,1 | 2,2
    assert mondrian(column, 2, split_rule="median+fallback") == [[0, 1, 2], [3, 4, 5], [6, 7]]
    assert mondrian(column, 3, split_rule="median+fallback") == [[0, 1, 2], [3, 4, 5, 6, 7]]


def test_fallback_tie_takes_at_most_the_median() -> None:
    column = [[0, 0, 1, 1, 2, 2]]  # 4|2 and 2|4 are equally far from half; both sides of both are diverse
    secret = "abaaab"  # but {2, 3} is not, so whichever cut is made is the last
    classes = mondrian(column, 2, split_rule="median+fallback", allow=lambda rows: len({secret[r] for r in rows}) > 1)
    assert classes == [[0, 1, 2, 3], [4, 5]]


def test_next_widest_attribute_when_the_widest_has_no_cut() -> None:
    wide = [0, 10, 10, 10]
    narrow = [0, 0, 1, 1]
    assert mondrian([wide, narrow], 2, ranges=[10, 2]) == [[0, 1], [2, 3]]


def test_relaxed_fills_the_left_side_in_record_order() -> None:
    assert mondrian([[5, 5, 1, 5, 9]], 2, mode="relaxed") == [[0, 2], [1, 3, 4]]
    assert mondrian([[7, 7, 7, 7, 7]], 2, mode="relaxed") == [[0, 1], [2, 3, 4]]
    assert mondrian([[7, 7, 7, 7, 7]], 3, mode="relaxed") == [[0, 1, 2, 3, 4]]


def test_extra_predicate_is_required_on_both_sides() -> None:
    column, secret = [[1, 2, 3, 4]], "aaab"
    assert mondrian(column, 1, allow=lambda rows: len({secret[r] for r in rows}) >= 2) == [[0, 1, 2, 3]]
    secret = "abba"
    assert mondrian(column, 1, allow=lambda rows: len({secret[r] for r in rows}) >= 2) == [[0, 1], [2, 3]]


def test_infeasible() -> None:
    with pytest.raises(Infeasible):
        mondrian([[1, 2]], 3)
    with pytest.raises(Infeasible):
        mondrian([[1, 2]], 1, allow=lambda rows: len(rows) > 2)


TREE = ((0, 1), (2, 3, 4), 5)


def test_hierarchy_cuts_into_the_children_of_the_common_ancestor() -> None:
    column = [0, 1, 2, 3, 4, 5, 5]
    assert mondrian_hierarchy([column], [TREE], 2) == [[0, 1], [2, 3, 4], [5, 6]]
    assert mondrian_hierarchy([column], [TREE], 1) == [[0], [1], [2], [3], [4], [5, 6]]
    assert mondrian_hierarchy([column], [TREE], 3) == [[0, 1, 2, 3, 4, 5, 6]]
    assert mondrian_hierarchy([column[:5]], [TREE], 2) == [[0, 1], [2, 3, 4]]  # empty child is no part


def test_hierarchy_width_is_leaves_over_all_leaves() -> None:
    codes, age = [2, 4, 2, 4], [10, 11, 14, 15]  # widths: 3/6 for the tree
    assert mondrian_hierarchy([age, codes], [None, TREE], 2, ranges=[20, 0]) == [[0, 2], [1, 3]]  # 5/20 < 3/6
    assert mondrian_hierarchy([age, codes], [None, TREE], 2, ranges=[10, 0]) == [[0, 1], [2, 3]]  # tie: age first
    assert mondrian_hierarchy([age, codes], [None, TREE], 2, ranges=[10, 0], order=[1, 0]) == [[0, 2], [1, 3]]


def test_single_dimensional_cells_may_be_empty_but_not_small() -> None:
    diagonal = [[0, 0, 1, 1], [0, 0, 1, 1]]
    assert single_dimensional_cuts(diagonal, 2) == [[0], [0]]
    assert mondrian_single_dimensional(diagonal, 2) == [[0, 1], [2, 3]]
    cross = [[0, 0, 1, 1], [0, 1, 0, 1]]
    assert mondrian_single_dimensional(cross, 2) == [[0, 1], [2, 3]]
    assert mondrian_single_dimensional(cross, 1) == [[0], [1], [2], [3]]


# ------------------------------------------------------------------------------------ bounds, random tables


@pytest.mark.parametrize("seed", seeds(60))
def test_bounds_on_random_tables(seed: int) -> None:
    rng = random.Random(seed)
    n, d, k = rng.randint(5, 60), rng.randint(1, 4), rng.randint(1, 5)
    columns = [[rng.randint(0, rng.choice([1, 3, 9, 50])) for _ in range(n)] for _ in range(d)]
    vectors = list(zip(*columns, strict=True))
    most = max(Counter(vectors).values())
    relaxed = mondrian(columns, k, mode="relaxed")
    plain = mondrian(columns, k)
    fallback = mondrian(columns, k, split_rule="median+fallback")
    single = mondrian_single_dimensional(columns, k)
    trees = mondrian_hierarchy(columns, [tuple(range(51))] * d, k)
    for classes in (relaxed, plain, fallback, single, trees):
        assert sorted(row for rows in classes for row in rows) == list(range(n))
        assert min(map(len, classes)) >= k
    assert max(map(len, relaxed)) <= 2 * k - 1
    assert max(map(len, fallback)) <= 2 * d * (k - 1) + most
    for classes in (plain, fallback, single, trees):  # equal vectors stay together
        assert len({(vectors[row], i) for i, rows in enumerate(classes) for row in rows}) == len(set(vectors))
