"""The worked examples of the papers, to the digit, on the plain twins: what later has to equal them is then right too.

Sources: S0 the soccer paper on k-anonymity by k-means, S4 the thesis on similarity-based clustering (2017), and the
papers named at each test.
"""

from __future__ import annotations

import datetime
import math
from itertools import combinations_with_replacement, product

import pytest

from naive import metrics, models, recoding
from naive.metrics import Attribute

# --- l-diversity: four histograms ----------------------------------------------------------------------------------

HISTOGRAMS = [
    # values, distinct, exp(entropy), 1 / largest share
    ("aabc", 3, 2.8284, 2.0),
    ("aaab", 2, 1.7548, 1.333),
    ("aabb", 2, 2.0, 2.0),
    ("aaaa", 1, 1.0, 1.0),
]


@pytest.mark.parametrize(("values", "distinct", "effective", "inverse_share"), HISTOGRAMS)
def test_achieved_diversity(values: str, distinct: int, effective: float, inverse_share: float) -> None:
    assert models.achieves_distinct(values, values) == distinct
    assert models.achieves_entropy(values, values) == pytest.approx(effective, abs=5e-5)
    assert models.achieves_probabilistic(values, values) == pytest.approx(inverse_share, abs=5e-4)


@pytest.mark.parametrize(("values", "distinct", "effective", "inverse_share"), HISTOGRAMS)
def test_achieved_diversity_is_the_largest_that_holds(
    values: str, distinct: int, effective: float, inverse_share: float
) -> None:
    for holds, achieves in [
        (models.holds_distinct, models.achieves_distinct),
        (models.holds_entropy, models.achieves_entropy),
        (models.holds_probabilistic, models.achieves_probabilistic),
    ]:
        reached = achieves(values, values)
        assert holds(values, values, l=reached)
        assert not holds(values, values, l=reached + 1e-6)


def test_recursive_diversity_is_strict() -> None:
    # Counts 2, 1, 1: 2 < c · (1 + 1) is true for c = 2 and false for c = 1.
    assert models.holds_recursive("aabc", "aabc", c=2, l=2)
    assert not models.holds_recursive("aabc", "aabc", c=1, l=2)
    assert models.achieves_recursive("aabc", "aabc", l=2) == 1.0
    # Fewer than l values never hold; (c, 1) asks for c_1 < c · n.
    assert not models.holds_recursive("aabb", "aabb", c=100, l=3)
    assert not models.holds_recursive("aaaa", "aaaa", c=1, l=1)
    assert models.holds_recursive("aaab", "aaab", c=0.76, l=1)
    assert not models.holds_recursive("aaab", "aaab", c=0.75, l=1)


# --- t-closeness: the salaries of Li, Li, Venkatasubramanian ---------------------------------------------------------

SALARIES = range(3, 12)  # 3K .. 11K, once each


@pytest.mark.parametrize(
    ("values", "distance"),
    [([3, 4, 5], 0.375), ([6, 8, 11], 0.1667), ([3, 5, 9], 0.1667), ([4, 7, 10], 0.08333)],
)
def test_ordered_distance(values: list[int], distance: float) -> None:
    assert models.emd_ordered(values, SALARIES) == pytest.approx(distance, abs=5e-5)


def test_ordered_distance_exactly() -> None:
    assert models.emd_ordered([6, 8, 11], SALARIES) == pytest.approx(1 / 6, abs=1e-15)
    assert models.emd_ordered([4, 7, 10], SALARIES) == pytest.approx(1 / 12, abs=1e-15)


def test_a_table_is_as_close_as_its_worst_class() -> None:
    # The paper's table of three classes of three is 0.167-close.
    quasi = {"class": [1, 1, 1, 2, 2, 2, 3, 3, 3]}
    salaries = [6, 8, 11, 3, 5, 9, 4, 7, 10]
    assert models.table_achieves("t-closeness", quasi, salaries, distance="ordered") == pytest.approx(1 / 6)
    assert models.table_holds("t-closeness", quasi, salaries, t=0.167, distance="ordered")
    assert models.table_holds("t-closeness", quasi, salaries, t=1 / 6, distance="ordered")
    assert not models.table_holds("t-closeness", quasi, salaries, t=0.166, distance="ordered")


def test_equal_distance() -> None:
    assert models.emd_equal([3, 4, 5], SALARIES) == pytest.approx(0.6667, abs=5e-5)


DISEASES = {leaf: [leaf, "stomach", "*"] for leaf in ("gu", "ga", "sc")} | {
    leaf: [leaf, "respiratory", "*"] for leaf in ("flu", "pn", "br")
}
PATIENTS = ["gu", "ga", "ga", "sc", "flu", "flu", "pn", "br", "br"]


@pytest.mark.parametrize(
    ("values", "distance"),
    [(["gu", "ga", "sc"], 5 / 9), (["ga", "flu", "br"], 2 / 9), (["br", "pn", "sc"], 1 / 3)],
)
def test_hierarchical_distance(values: list[str], distance: float) -> None:
    assert models.emd_hierarchical(values, PATIENTS, DISEASES) == pytest.approx(distance, abs=1e-15)


# Checks of the twins against other ways to the same number.


def test_hierarchical_distance_is_the_flow_through_the_edges() -> None:
    # On a tree the distance is also the sum over edges of length · |surplus below|, every edge being 1/(2·height) long.
    for values in product(DISEASES, repeat=3):
        edges = [{path[level:][0] for path in map(tuple, DISEASES.values())} for level in (0, 1)]
        flow = 0.0
        for level, nodes in enumerate(edges):
            for node in nodes:
                below = {leaf for leaf, path in DISEASES.items() if path[level] == node}
                surplus = sum(v in below for v in values) / 3 - sum(v in below for v in PATIENTS) / 9
                flow += abs(surplus) / 4
        assert models.emd_hierarchical(values, PATIENTS, DISEASES) == pytest.approx(flow, abs=1e-12)


def test_a_flat_tree_is_the_equal_distance() -> None:
    flat = {leaf: [leaf, "*"] for leaf in DISEASES}
    for values in product(DISEASES, repeat=2):
        assert models.emd_hierarchical(values, PATIENTS, flat) == pytest.approx(models.emd_equal(values, PATIENTS))


def test_two_values_have_one_distance() -> None:
    whole = ["no", "no", "no", "yes"]
    for values in (["no"], ["yes"], ["no", "yes"]):
        assert models.emd_ordered(values, whole) == models.emd_equal(values, whole)
    assert models.emd_ordered(["no"], ["no", "no"]) == 0.0


def test_missing_sensitive_value_is_far_from_everything() -> None:
    whole = [None, "gu"]
    assert models.emd_ordered([None], whole) == 0.5
    assert models.emd_hierarchical([None], whole, DISEASES) == 0.5


# --- beta-likeness and delta-disclosure ----------------------------------------------------------------------------

WHOLE = ["a"] * 2 + ["b"] * 8  # shares 0.2 and 0.8


def test_basic_beta_is_the_largest_relative_gain() -> None:
    # a: (0.5 - 0.2) / 0.2 = 1.5; b becomes rarer and is no gain.
    assert models.achieves_basic_beta("ab", WHOLE) == pytest.approx(1.5)
    assert models.holds_basic_beta("ab", WHOLE, beta=1.5)
    assert not models.holds_basic_beta("ab", WHOLE, beta=1.49)
    assert models.achieves_basic_beta(WHOLE, WHOLE) == 0.0


def test_enhanced_beta_also_caps_the_gain_at_minus_log_share() -> None:
    # -ln 0.2 = 1.609: a gain of 1.5 passes, a gain of 4 (class of a alone) does not, whatever beta is.
    assert models.holds_enhanced_beta("ab", WHOLE, beta=1.5)
    assert models.achieves_enhanced_beta("ab", WHOLE) == pytest.approx(1.5)
    assert models.holds_basic_beta("a", WHOLE, beta=4)
    assert not models.holds_enhanced_beta("a", WHOLE, beta=4)
    assert models.achieves_enhanced_beta("a", WHOLE) == math.inf
    # b alone: gain 0.25 is above -ln 0.8 = 0.223.
    assert not models.holds_enhanced_beta("b", WHOLE, beta=1)


def test_delta_is_strict_and_infinite_for_an_absent_value() -> None:
    # a: ln(0.5 / 0.2) = 0.9163, b: ln(0.5 / 0.8) = -0.47.
    assert models.achieves_delta("ab", WHOLE) == pytest.approx(math.log(2.5))
    assert models.holds_delta("ab", WHOLE, delta=0.917)
    assert not models.holds_delta("ab", WHOLE, delta=math.log(2.5))
    assert models.achieves_delta("b", WHOLE) == math.inf
    assert not models.holds_delta("b", WHOLE, delta=1e9)


def test_alpha_k_asks_for_both() -> None:
    assert models.holds_alpha_k("aabb", "aabb", alpha=0.5, k=4)
    assert not models.holds_alpha_k("aabb", "aabb", alpha=0.49, k=4)
    assert not models.holds_alpha_k("aabb", "aabb", alpha=0.5, k=5)


# --- all models ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("k-anonymity", {"k": 2}),
        ("alpha-k", {"alpha": 0.6, "k": 2}),
        ("distinct", {"l": 2}),
        ("probabilistic", {"l": 1.5}),
        ("entropy", {"l": 1.8}),
        ("recursive", {"c": 1.2, "l": 2}),
        ("t-closeness", {"t": 0.3}),
        ("t-closeness", {"t": 0.2, "distance": "ordered"}),
        (
            "t-closeness",
            {"t": 0.3, "distance": "hierarchical", "tree": {v: [v, "d" if v == "c" else "e", "*"] for v in "abc"}},
        ),
        ("basic-beta", {"beta": 0.5}),
        ("enhanced-beta", {"beta": 0.9}),
        ("delta", {"delta": 0.8}),
    ],
)
def test_two_classes_that_hold_still_hold_when_merged(name: str, parameters: dict[str, object]) -> None:
    whole = list("aaaabbbcc")
    model = models.MODELS[name]
    classes = [list(values) for size in (1, 2, 3, 4) for values in combinations_with_replacement("abc", size)]
    holding = [values for values in classes if model.holds(values, whole, **parameters)]
    assert 0 < len(holding) < len(classes)
    assert all(model.holds(one + other, whole, **parameters) for one, other in product(holding, repeat=2))


# --- k-anonymity: S4 Figure 1-2 and Table 1-1 ----------------------------------------------------------------------

PATIENT_TABLE = {
    "age": ["25 ~ 35", "25 ~ 35", "40 ~ 45", "40 ~ 45"],
    "sex": ["Male", "Male", "Female", "Female"],
    "zip": ["22***", "22***", "554**", "554**"],
}
PATIENT_DISEASES = ["Gastritis", "HIV", "Cancer", "Fever"]


def test_patient_table_is_2_anonymous() -> None:
    assert models.equivalence_classes(PATIENT_TABLE) == [[0, 1], [2, 3]]
    assert models.table_holds("k-anonymity", PATIENT_TABLE, PATIENT_DISEASES, k=2)
    assert not models.table_holds("k-anonymity", PATIENT_TABLE, PATIENT_DISEASES, k=3)
    assert models.table_achieves("k-anonymity", PATIENT_TABLE, PATIENT_DISEASES) == 2


def test_linking_finds_two_candidates_instead_of_one() -> None:
    # Paul (25, Male, 22370): one record fits before, two after.
    original = {"age": [25, 33, 40, 45], "sex": PATIENT_TABLE["sex"], "zip": ["22370", "22371", "55410", "55411"]}
    fits = [vector == (25, "Male", "22370") for vector in zip(*original.values(), strict=True)]
    assert sum(fits) == 1
    assert len(next(c for c in models.equivalence_classes(PATIENT_TABLE) if fits.index(True) in c)) == 2


def test_missing_equals_missing_and_an_empty_table_is_anonymous() -> None:
    assert models.equivalence_classes({"age": [None, 3, None]}) == [[0, 2], [1]]
    assert models.table_holds("k-anonymity", {"age": []}, [], k=5)


def test_a_published_class_of_suppressed_records_must_be_large_enough_too() -> None:
    quasi = {"age": ["20", "20", "*"]}
    assert not models.table_holds("k-anonymity", quasi, "xyz", k=2)
    assert models.table_holds("k-anonymity", {"age": ["20", "20", "*", "*"]}, "wxyz", k=2)


# --- S4 Tables 2-2 to 2-5: four recodings of one table -------------------------------------------------------------

CELLS = [
    ("A", "X", 1),
    ("A", "Y", 11),
    ("B", "X", 7),
    ("B", "Y", 4),
    ("B", "Z", 5),
    ("C", "X", 20),
    ("C", "Y", 35),
    ("D", "Y", 21),
]
ATT1 = [first for first, _, count in CELLS for _ in range(count)]
ATT2 = [second for _, second, count in CELLS for _ in range(count)]
GRID = {"att1": Attribute(ATT1), "att2": Attribute(ATT2)}
SIZES = {"global": [12, 11, 5, 55, 21], "multi": [12, 11, 5, 20, 35, 21], "local": [5, 7, 6, 5, 5, 20, 35, 21]}


def published_grid(kind: str) -> dict[str, list[str]]:
    """Published tables 2-3 (global), 2-4 (multi) and 2-5 (local), record by record."""
    second = list(ATT2)
    if kind == "global":
        second = ["{X|Y}" if value in "XY" else value for value in ATT2]
    if kind == "multi":
        second = ["{X|Y}" if a in "AB" and b in "XY" else b for a, b in zip(ATT1, ATT2, strict=True)]
    if kind == "local":
        # 4 of the 11 (A, Y) join the single (A, X); 1 of the 7 (B, X) joins the 4 (B, Y).
        moved = [0, 1, 2, 3, 4, 12, 19, 20, 21, 22]
        second = ["{X|Y}" if index in moved else value for index, value in enumerate(ATT2)]
    return {"att1": ATT1, "att2": second}


def classes_and_covers(kind: str) -> tuple[list[list[int]], dict[str, list[list[str]]]]:
    published = published_grid(kind)["att2"]
    classes = models.equivalence_classes(published_grid(kind))
    return classes, {"att2": [list(published[records[0]].strip("{}").replace("|", "")) for records in classes]}


def test_the_grid_has_104_records() -> None:
    assert len(ATT1) == 104


@pytest.mark.parametrize(
    ("kind", "recoding_kind", "dm", "c_avg", "ncp", "share"),
    [
        ("global", "single-dim", 3756, 4.16, 66, 0.31731),
        ("multi", "multi-dim", 2356, 3.4667, 15.333, 0.073718),
        ("local", "local", 2226, 2.6, 6.6667, 0.032051),
    ],
)
def test_recodings_of_the_grid(kind: str, recoding_kind: str, dm: int, c_avg: float, ncp: float, share: float) -> None:
    classes, covers = classes_and_covers(kind)
    assert sorted(map(len, classes)) == sorted(SIZES[kind])
    assert models.table_achieves("k-anonymity", published_grid(kind), ATT1) == 5
    assert metrics.dm(classes, 104, k=5) == dm
    assert metrics.c_avg(classes, 5) == pytest.approx(c_avg, abs=5e-5)
    assert metrics.attribute_losses(metrics.ncp_cell, GRID, classes, covers=covers)["att1"] == 0
    assert metrics.ncp(GRID, classes, covers=covers) == pytest.approx(ncp, abs=5e-4)
    assert metrics.gcp(GRID, classes, covers=covers) == pytest.approx(share, abs=5e-6)
    assert recoding.recoding_kind({"att1": ATT1, "att2": ATT2}, published_grid(kind)) == recoding_kind


@pytest.mark.parametrize(("kind", "cells"), [("global", 99), ("multi", 23), ("local", 10)])
def test_generalized_cells_of_the_grid(kind: str, cells: int) -> None:
    classes, covers = classes_and_covers(kind)
    assert metrics.md(GRID, classes, covers) == {"att1": (0, 0), "att2": (cells, 0)}
    assert metrics.ncp(GRID, classes, covers=covers) == pytest.approx(cells * 2 / 3)


@pytest.mark.parametrize("kind", ["multi", "local"])
def test_sets_of_the_grid_are_tight(kind: str) -> None:
    # Only the global table publishes wider sets than its classes need: {X|Y} for the 21 records (D, Y).
    classes, _ = classes_and_covers(kind)
    assert recoding.published_column(ATT2, classes, "set") == published_grid(kind)["att2"]
    assert recoding.published_column(ATT1, classes, "set") == ATT1


def test_full_domain_recoding_is_recognized() -> None:
    tree = {"X": ["X", "XY", "*"], "Y": ["Y", "XY", "*"], "Z": ["Z", "Z'", "*"]}
    published = {"att2": recoding.full_domain_column(ATT2, tree, 1)}
    assert recoding.recoding_kind({"att2": ATT2}, published, {"att2": tree}) == "full-domain"
    mixed = {"att2": ["XY" if value in "XY" else value for value in ATT2]}
    assert recoding.recoding_kind({"att2": ATT2}, mixed, {"att2": tree}) == "single-dim"


# --- the three cell losses side by side ----------------------------------------------------------------------------

FIVE = {leaf: [leaf, "three" if leaf in "abc" else "two", "*"] for leaf in "abcde"}
FIVE_LEAVES = Attribute("abcde", FIVE)


@pytest.mark.parametrize(
    ("cover", "ncp", "iloss", "lm"),
    [
        (["a", "b", "c"], 0.6, 0.4, 0.5),
        (["a", "b"], 0.6, 0.4, 0.5),
        (["a"], 0, 0, 0),
        (["a", "b", "c", "d", "e"], 1, 0.8, 1),
        (["a", "e"], 1, 0.8, 1),
        (None, 1, 0.8, 1),
    ],
)
def test_losses_of_a_node_with_three_of_five_leaves(
    cover: list[str] | None, ncp: float, iloss: float, lm: float
) -> None:
    # A node counts all its leaves, also those that the class lacks; a suppressed cell loses what the root loses.
    assert metrics.ncp_cell(FIVE_LEAVES, cover) == pytest.approx(ncp)
    assert metrics.iloss_cell(FIVE_LEAVES, cover) == pytest.approx(iloss)
    assert metrics.lm_cell(FIVE_LEAVES, cover) == pytest.approx(lm)


def test_set_rule_counts_the_distinct_values_only() -> None:
    assert metrics.ncp_cell(FIVE_LEAVES, ["a", "b"], "set") == pytest.approx(0.4)
    assert metrics.iloss_cell(FIVE_LEAVES, ["a", "b"], "set") == pytest.approx(0.2)
    assert metrics.lm_cell(FIVE_LEAVES, ["a", "b"], "set") == pytest.approx(0.25)


# --- S4 Figure 2-10 and Table 2-13: one class of three and one suppressed record ------------------------------------

AGES = [25, 35, 40, 65]
SEXES = ["M", "M", "F", "F"]
ZIPS = [2370, 2370, 2370, 5300]
FIGURE_2_10 = {"age": Attribute(AGES, domain=(10, 100)), "sex": Attribute(SEXES), "zip": Attribute(ZIPS)}
THREE_KEPT = [[0, 1, 2]]


def test_table_2_13() -> None:
    losses = metrics.record_losses(metrics.ncp_cell, FIGURE_2_10, THREE_KEPT)
    assert losses == pytest.approx([15 / 90 + 2 / 2 + 0] * 3 + [3])
    assert losses[0] == pytest.approx(1.166667, abs=5e-7)
    assert metrics.ncp(FIGURE_2_10, THREE_KEPT) == pytest.approx(6.5)
    assert metrics.gcp(FIGURE_2_10, THREE_KEPT) == pytest.approx(0.5416667, abs=5e-8)
    assert metrics.utility(FIGURE_2_10, THREE_KEPT) == pytest.approx(0.4583333, abs=5e-8)
    assert metrics.dm(THREE_KEPT, 4, k=3) == 13
    # The same when the suppressed record is listed as a class below k.
    assert metrics.dm([[0, 1, 2], [3]], 4, k=3) == 13


def test_table_2_13_changes_six_cells_and_suppresses_three() -> None:
    changed = metrics.md(FIGURE_2_10, THREE_KEPT)
    assert changed == {"age": (3, 1), "sex": (3, 1), "zip": (0, 1)}
    assert sum(generalized for generalized, _ in changed.values()) == 6
    assert sum(map(sum, changed.values())) == 9


def test_table_2_13_with_the_range_of_the_data() -> None:
    table = FIGURE_2_10 | {"age": Attribute(AGES)}
    assert metrics.domain_width(table["age"]) == 40
    assert metrics.record_losses(metrics.ncp_cell, table, THREE_KEPT)[0] == pytest.approx(0.375 + 1)


def test_zip_loses_nothing_in_the_class() -> None:
    # S4 prints "the total NCP for Zip is null"; only the suppressed record is charged.
    assert metrics.attribute_losses(metrics.ncp_cell, FIGURE_2_10, THREE_KEPT)["zip"] == 1
    assert metrics.attribute_losses(metrics.ncp_cell, FIGURE_2_10, [[0, 1, 2], [3]])["zip"] == 0


def test_published_text_of_figure_2_10() -> None:
    assert recoding.published_column(AGES, THREE_KEPT, "interval") == ["[25..40]"] * 3 + ["*"]
    assert recoding.published_column(SEXES, THREE_KEPT, "set") == ["{F|M}"] * 3 + ["*"]
    assert recoding.published_column(ZIPS, THREE_KEPT, "interval") == ["2370"] * 3 + ["*"]


def test_minimal_distortion_of_ten_records() -> None:
    # S4 2.6: ten records generalized from Male or Female to People lose ten.
    sexes = ["Male", "Female"] * 5
    tree = {sex: [sex, "People"] for sex in ("Male", "Female")}
    assert metrics.md({"sex": Attribute(sexes, tree)}, [list(range(10))]) == {"sex": (10, 0)}
    assert recoding.class_texts(sexes, [list(range(10))], "ancestor", tree) == ["People"]


# --- metrics without a printed example: small cases by hand --------------------------------------------------------


def test_weights_shift_the_loss_between_attributes() -> None:
    # Age loses 1/6 a record, sex 1; weights 3 and 1; the suppressed record loses 3 + 1 of the 4 · (3 + 1) there are.
    table = {"age": Attribute(AGES, domain=(10, 100), weight=3), "sex": Attribute(SEXES)}
    assert metrics.gcp(table, THREE_KEPT) == pytest.approx((3 * (3 / 6 + 1) + 4) / 16)


def test_normalized_ncp_runs_from_zero_to_one() -> None:
    assert metrics.gcp(FIGURE_2_10, [[0], [1], [2], [3]]) == 0
    assert metrics.gcp(FIGURE_2_10, []) == 1


def test_constant_range_loses_nothing_unless_suppressed() -> None:
    constant = {"age": Attribute([7, 7, 7])}
    assert metrics.ncp(constant, [[0, 1]]) == 1


def test_missing_beside_present_costs_the_whole_cell() -> None:
    ages = Attribute([20, None, 30, None])
    assert metrics.cell_losses(metrics.ncp_cell, ages, [[0, 1], [2], [3]]) == [1, 1, 0, 0]
    letters = Attribute(["a", None, "b", None], FIVE)
    assert metrics.cell_losses(metrics.ncp_cell, letters, [[0, 1], [2], [3]]) == [1, 1, 0, 0]
    # In a set the missing value is one more value: 2 of 3.
    names = Attribute(["a", None, "b", None])
    assert metrics.cell_losses(metrics.ncp_cell, names, [[0, 1], [2], [3]]) == pytest.approx([2 / 3, 2 / 3, 0, 0])


def test_classification_metric_counts_minorities_and_the_suppressed() -> None:
    # Class a a b: one differs; class a b: a tie, one differs; one suppressed: 3 of 6.
    assert metrics.cm("aababb", [[0, 1, 2], [3, 4]]) == 0.5


def test_precision() -> None:
    # One record keeps its leaf, two climb 1 of 2 steps, one is suppressed: 1 - (0 + 1/2 + 1/2 + 1) / 4.
    table = {"letter": Attribute("dabc", FIVE)}
    assert metrics.prec(table, [[0], [1, 2]]) == 0.5
    assert metrics.prec(table, [[0], [1, 2]], {"letter": [2, 1]}) == 0.25


def test_iloss_and_lm_of_a_range() -> None:
    # Values 1, 2, 3, 9 (range 8), class {1, 3} also covers 2: three of four values; width 2/8.
    table = {"x": Attribute([1, 2, 3, 9])}
    assert metrics.iloss_cell(table["x"], [1, 3]) == pytest.approx(2 / 4)
    assert metrics.lm_cell(table["x"], [1, 3]) == pytest.approx(2 / 8)


def test_non_uniform_entropy() -> None:
    # a a b c; class {a, b}: log2(3/2) twice and log2(3) once; c stays: 0. Suppressing all: 2·log2(2) + 2·log2(4) = 6.
    table = {"x": Attribute("aabc")}
    bits = 2 * math.log2(3 / 2) + math.log2(3)
    assert metrics.entropy_loss(table, [[0, 1, 2], [3]]) == pytest.approx(bits)
    assert metrics.normalized_entropy(table, [[0, 1, 2], [3]]) == pytest.approx(bits / 6)
    # A suppressed record is counted against the whole column.
    assert metrics.entropy_loss(table, [[0, 1, 2]]) == pytest.approx(bits + 2)
    assert metrics.normalized_entropy(table, []) == 1


def test_non_uniform_entropy_counts_all_that_the_value_may_stand_for() -> None:
    # The class of the two outer numbers publishes [1..3], which may also be 2: one of four records each time.
    assert metrics.entropy_loss({"x": Attribute([1, 2, 2, 3])}, [[0, 3], [1, 2]]) == pytest.approx(2 * math.log2(4))
    # The class {a, b} publishes the node of a, b and c.
    assert metrics.entropy_loss({"x": Attribute("abcd", FIVE)}, [[0, 1], [2], [3]]) == pytest.approx(2 * math.log2(3))


def test_squared_errors() -> None:
    # Around 2.5 the squares are 2.25 + 0.25 + 0.25 + 2.25 = 5; within the halves 0.5 each.
    assert metrics.sse_sst({"x": [1, 2, 3, 4]}, [[0, 1], [2, 3]]) == pytest.approx(100 * 1 / 5)
    assert metrics.sse_sst({"x": [1, 2, 3, 4], "y": [7, 7, 7, 7]}, [[0, 1], [2, 3]]) == pytest.approx(20)
    assert metrics.sse_sst({"x": [1, 2, 3, 4]}, [[0, 1, 2, 3]]) == pytest.approx(100)
    assert metrics.sse_sst({"x": [1, 2, 3, 4]}, []) == pytest.approx(100)
    assert metrics.sse_sst({"x": [7, 7]}, [[0, 1]]) == 0


# --- S4 Table 2-12: what each of three Mondrian partitions loses (k = 2) --------------------------------------------

TABLE_2_12 = {
    "age": Attribute([35, 35, 36, 37, 37, 38]),
    "sex": Attribute(["F", "M", "F", "F", "M", "F"]),
    "zip": Attribute([23111, 23112, 23111, 23110, 23112, 23111]),
}
FIGURE_2_9_B = [[0, 2], [3, 5], [1, 4]]


def texts_of_table_2_12(classes: list[list[int]]) -> list[tuple[str | None, ...]]:
    forms = {"age": "interval", "sex": "set", "zip": "interval"}
    columns = [recoding.class_texts(TABLE_2_12[name].column, classes, form) for name, form in forms.items()]
    return list(zip(*columns, strict=True))


def test_root_of_table_2_12_is_equally_wide_everywhere() -> None:
    # Which attribute is cut first is a tie, so the figure depends on the order of the attributes.
    everything = [0, 1, 2, 3, 4, 5]
    for attribute in TABLE_2_12.values():
        assert metrics.cell_losses(metrics.ncp_cell, attribute, [everything]) == [1] * 6


def test_figure_2_9_b() -> None:
    assert texts_of_table_2_12(FIGURE_2_9_B) == [
        ("[35..36]", "F", "23111"),
        ("[37..38]", "F", "[23110..23111]"),
        ("[35..37]", "M", "23112"),
    ]
    assert metrics.gcp(TABLE_2_12, FIGURE_2_9_B) == pytest.approx(0.203704, abs=5e-7)
    assert metrics.dm(FIGURE_2_9_B, 6, k=2) == 12


def test_age_first_gives_another_partition() -> None:
    assert texts_of_table_2_12([[0, 1, 2], [3, 4, 5]]) == [
        ("[35..36]", "{F|M}", "[23111..23112]"),
        ("[37..38]", "{F|M}", "[23110..23112]"),
    ]


def test_figure_2_9_a_single_dimensional() -> None:
    # Global recoding has the men publish 35-38 although their own ages are 35-37.
    classes = [[0, 2, 3, 5], [1, 4]]
    covers = {"age": [[35, 38], [35, 38]]}
    assert metrics.dm(classes, 6, k=2) == 20
    assert metrics.gcp(TABLE_2_12, classes, covers=covers) == pytest.approx(0.444444, abs=5e-7)
    assert metrics.gcp(TABLE_2_12, classes) == pytest.approx(0.407407, abs=5e-7)
    assert texts_of_table_2_12(classes) == [("[35..38]", "F", "[23110..23111]"), ("[35..37]", "M", "23112")]


def test_cutting_zip_at_23110_would_leave_one_record() -> None:
    women = [0, 2, 3, 5]
    zips = TABLE_2_12["zip"].column
    left = [index for index in women if zips[index] <= 23110]
    assert len(left) == 1
    assert not models.holds_k_anonymity(left, women, k=2)


# --- class means: heights and weights of seven players, S0 k-means with k = 2 ---------------------------------------

PLAYERS = {"height": [176, 177, 169, 170, 188, 183, 180], "weight": [70, 71, 64, 63, 80, 78, 77]}


def test_means_of_the_players() -> None:
    classes = [[0, 1, 6], [2, 3], [4, 5]]
    table = {name: Attribute(column) for name, column in PLAYERS.items()}
    means = [recoding.class_texts(column, classes, "mean") for column in PLAYERS.values()]
    assert [float(text or "") for text in means[0]] == pytest.approx([177.6667, 169.5, 185.5], abs=5e-5)
    assert [float(text or "") for text in means[1]] == pytest.approx([72.6667, 63.5, 79], abs=5e-5)
    assert metrics.dm(classes, 7, k=2) == 17
    # A mean has no width; the loss is taken from the original values of the class. Ranges of the table: 19 and 17.
    by_hand = 3 * (4 / 19 + 7 / 17) + 2 * (1 / 19 + 1 / 17) + 2 * (5 / 19 + 2 / 17)
    assert metrics.gcp(table, classes) == pytest.approx(by_hand / 14)
    # The seventh player with the two tallest instead: the same class sizes, less loss.
    other = [[0, 1], [2, 3], [4, 5, 6]]
    assert metrics.gcp(table, other) == pytest.approx(0.1598850, abs=5e-8)
    assert metrics.dm(other, 7, k=2) == 17


def test_a_small_cluster_of_players_is_merged() -> None:
    classes = [[4, 5, 6], [0, 1, 2, 3]]
    assert recoding.mean_of(recoding.members(PLAYERS["height"], classes[0])) == pytest.approx(183.6667, abs=5e-5)
    assert recoding.mean_of(recoding.members(PLAYERS["weight"], classes[0])) == pytest.approx(78.3333, abs=5e-5)
    assert metrics.dm(classes, 7, k=2) == 25


# --- published notation --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "form", "text"),
    [
        ([3, 1, 2], "interval", "[1..3]"),
        ([3, 3], "interval", "3"),
        ([1.5, 2.0], "interval", "[1.5..2.0]"),
        ([datetime.date(1994, 12, 31), datetime.date(1990, 1, 1)], "interval", "[1990-01-01..1994-12-31]"),
        ([3, None], "interval", "*"),
        ([None, None], "interval", None),
        ([1, 2], "mean", "1.5"),
        ([2, 2], "mean", "2"),
        ([2, None], "mean", "*"),
        ([None], "mean", None),
        (["b", "a", "b"], "set", "{a|b}"),
        (["b", "b"], "set", "b"),
        (["b", None], "set", r"{b|\N}"),
        ([None], "set", None),
        (["a|b", "c\\d"], "set", r"{a\|b|c\\d}"),
        (["{x}"], "set", r"\{x}"),
        (["\\N"], "set", r"\\N"),
        (["*"], "set", r"\*"),
        (["**"], "set", "**"),
        (["a|b"], "set", "a|b"),
        ([10, 9], "set", "{10|9}"),
    ],
)
def test_notation(values: list[object], form: str, text: str | None) -> None:
    assert recoding.class_text(values, form) == text


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (["a"], "a"),
        (["a", "b"], "three"),
        (["d", "e"], "two"),
        (["a", "d"], "*"),
        (["a", None], "*"),
        ([None, None], None),
    ],
)
def test_common_ancestors(values: list[str | None], text: str | None) -> None:
    assert recoding.ancestor_text(values, FIVE) == text
