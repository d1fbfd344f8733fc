"""The full-domain twins against the worked examples of the thesis and its published counts on Adult."""

from __future__ import annotations

import csv
import os
import random
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from statistics import mean

import pytest

from examples import seeds
from naive import metrics, toolbox
from naive.datafly import cardinalities, datafly
from naive.full_domain import (
    OBJECTIVES,
    Hierarchy,
    Image,
    Model,
    Node,
    Outcome,
    Problem,
    arithmetic,
    at_node,
    attribute_averages,
    collapse,
    count,
    full_domain,
    generalize,
    geometric,
    height,
    lattice,
    minimal,
    model,
    ncp,
    ncp_cell,
    optimum,
    satisfying,
    within_limit,
)
from naive.hierarchy import is_hierarchy
from naive.incognito import (
    choose_by_height,
    choose_by_objective,
    choose_like_toolbox,
    incognito,
    incognito_subsets,
)


def k_anonymity(k: int) -> Model:
    return model("k-anonymity", k=k)


def published(problem: Problem, node: Node, outcome: Outcome) -> Counter[tuple[str | None, ...]]:
    """Labels of the records that stay, with their number."""
    labels: Counter[tuple[str | None, ...]] = Counter()
    for vector in (vector for vectors in outcome.classes for vector in vectors):
        own = tuple(generalize(*each) for each in zip(vector, problem.hierarchies, node, strict=True))
        labels[own] += len(problem.table[vector])
    return labels


# ------------------------------------------------------------------------------------ Datafly: Tables 2-6 to 2-9

HOSPITAL = [
    ("9/20/1995", "Female", "1141", "Asian"),
    ("2/14/1995", "Female", "1141", "Asian"),
    ("10/23/1995", "Male", "1138", "Asian"),
    ("8/24/1995", "Male", "1138", "Asian"),
    ("11/7/1994", "Male", "1138", "Asian"),
    ("12/1/1994", "Male", "1138", "Asian"),
    ("10/23/1994", "Female", "1139", "Black"),
    ("3/15/1965", "Male", "1139", "Black"),
    ("8/13/1964", "Female", "1139", "Black"),
    ("5/5/1964", "Female", "1139", "Black"),
    ("2/13/1967", "Female", "1138", "Black"),
    ("3/21/1967", "Female", "1138", "Black"),
]
# Table 2-7 is said to be the frequency list of Table 2-6, but has other data in its last six rows.
FREQUENCY_LIST = [
    *HOSPITAL[:6],
    ("10/23/1994", "Female", "1138", "Black"),
    ("3/15/1995", "Male", "1139", "Black"),
    ("8/13/1994", "Female", "1139", "Black"),
    ("5/5/1994", "Female", "1139", "Black"),
    ("2/13/1997", "Female", "1138", "Black"),
    ("3/21/1997", "Female", "1138", "Black"),
]


def birth_path(day: str, with_month: bool) -> tuple[str, ...]:
    month, _, year = day.split("/")
    months = [f"{month}/{year}"] if with_month else []
    return (day, *months, year, f"5:{int(year) // 5 * 5}", f"10:{int(year) // 10 * 10}", "*")


def hospital(rows: Sequence[tuple[str, ...]], with_month: bool = True) -> Problem:
    days = sorted({row[0] for row in rows})
    return Problem(
        collapse(rows),
        [
            tuple(birth_path(day, with_month) for day in days),
            (("Female", "*"), ("Male", "*")),
            (("1138", "113*", "11**", "*"), ("1139", "113*", "11**", "*"), ("1141", "114*", "11**", "*")),
            (("Asian", "Person", "*"), ("Black", "Person", "*"), ("White", "Person", "*")),
        ],
        [k_anonymity(2)],
    )


@pytest.mark.parametrize(("rows", "of_years"), [(HOSPITAL, 5), (FREQUENCY_LIST, 3)])
def test_hospital_cardinalities(rows: list[tuple[str, ...]], of_years: int) -> None:
    problem = hospital(rows)
    assert all(map(is_hierarchy, problem.hierarchies))
    at = [cardinalities(problem.table, full_domain(problem.hierarchies, (level, 0, 0, 0))) for level in range(3)]
    assert at == [[12, 2, 3, 2], [12, 2, 3, 2], [of_years, 2, 3, 2]]
    for level in (0, 1):
        assert len(at_node(problem, (level, 0, 0, 0)).suppressed) == 12


@pytest.mark.parametrize("complementary", [True, False])
@pytest.mark.parametrize("rows", [HOSPITAL, FREQUENCY_LIST])
def test_datafly_on_the_hospital(rows: list[tuple[str, ...]], complementary: bool) -> None:
    problem = hospital(rows)
    found = datafly(problem, complementary=complementary)
    assert found is not None
    node, outcome = found
    assert node == (2, 0, 0, 0)
    assert sorted(outcome.suppressed) == sorted([rows[6], rows[7]])  # T7 and T8
    assert [count(problem.table, vectors) for vectors in outcome.classes] == [2] * 5


def test_datafly_without_a_month_level_jumps_to_the_year() -> None:
    found = datafly(hospital(HOSPITAL, with_month=False))
    assert found is not None
    assert found[0] == (1, 0, 0, 0)
    assert sorted(found[1].suppressed) == sorted([HOSPITAL[6], HOSPITAL[7]])


def test_datafly_publishes_table_2_9() -> None:
    problem = hospital(FREQUENCY_LIST)
    found = datafly(problem)
    assert found is not None
    assert published(problem, *found) == {
        ("1995", "Female", "1141", "Asian"): 2,
        ("1995", "Male", "1138", "Asian"): 2,
        ("1994", "Male", "1138", "Asian"): 2,
        ("1994", "Female", "1139", "Black"): 2,
        ("1997", "Female", "1138", "Black"): 2,
    }


def test_zip_of_t7_is_1138_in_table_2_7() -> None:
    rows = [(*row[:2], "1139", row[3]) if number == 6 else row for number, row in enumerate(FREQUENCY_LIST)]
    found = datafly(hospital(rows), complementary=False)
    assert found is not None
    assert found[1].suppressed == [rows[7]]  # with 1139 it would join T9 and T10


def test_complementary_suppression_takes_the_smallest_class() -> None:
    rows = [("1",)] + [("2",)] * 3 + [("3",)] * 2
    problem = Problem(collapse(rows), [(("1", "*"), ("2", "*"), ("3", "*"))], [k_anonymity(2)])
    for complementary, gone in [(True, [("1",), ("3",)]), (False, [("1",)])]:
        found = datafly(problem, complementary=complementary)
        assert found is not None
        assert found[0] == (0,)
        assert found[1].suppressed == gone


def test_datafly_stops_at_the_top() -> None:
    problem = Problem(collapse([("1",), ("2",)]), [(("1", "*"), ("2", "*"))], [k_anonymity(3)])
    assert datafly(problem, allowed=1) is None
    assert satisfying(problem) == {}
    assert optimum(problem, arithmetic) is None


# ------------------------------------------------------------------------------------ Incognito: Tables 2-10, 2-11

PATIENTS = [
    ("1/21/76", "Male", "53715"),
    ("4/13/86", "Female", "53715"),
    ("2/28/76", "Male", "53703"),
    ("1/21/76", "Male", "53703"),
    ("4/13/86", "Female", "53706"),
    ("2/28/76", "Female", "53706"),
]
BIRTH, SEX, ZIP = (0,), (1,), (2,)
PATIENT_PROBLEM = Problem(
    collapse(PATIENTS),
    [
        (("1/21/76", "*"), ("2/28/76", "*"), ("4/13/86", "*")),
        (("Female", "Person"), ("Male", "Person")),
        (("53703", "5370*", "537**"), ("53706", "5370*", "537**"), ("53715", "5371*", "537**")),
    ],
    [k_anonymity(2)],
)
LAST_CANDIDATES = [(0, 1, 2), (1, 0, 2), (1, 1, 0), (1, 1, 1), (1, 1, 2)]


def test_patients_single_attributes_are_all_anonymous() -> None:
    found = incognito_subsets(PATIENT_PROBLEM)
    assert found[BIRTH].survivors == found[SEX].survivors == [(0,), (1,)]
    assert found[ZIP].survivors == [(0,), (1,), (2,)]
    assert [found[attribute].checked for attribute in (BIRTH, SEX, ZIP)] == [[(0,)]] * 3


def test_patients_pairs() -> None:
    found = incognito_subsets(PATIENT_PROBLEM)
    assert found[0, 1].survivors == [(0, 1), (1, 0), (1, 1)]
    assert minimal(found[0, 1].survivors) == [(0, 1), (1, 0)]
    assert found[0, 2].survivors == found[1, 2].survivors == [(0, 2), (1, 0), (1, 1), (1, 2)]


def test_patients_three_attributes() -> None:
    found = incognito_subsets(PATIENT_PROBLEM)
    assert len(list(lattice(PATIENT_PROBLEM.hierarchies))) == 12
    assert found[0, 1, 2].candidates == LAST_CANDIDATES
    assert found[0, 1, 2].survivors == LAST_CANDIDATES
    assert found[0, 1, 2].checked == [(1, 1, 0), (0, 1, 2), (1, 0, 2)]  # the two others lie above (1, 1, 0)
    assert list(satisfying(PATIENT_PROBLEM)) == incognito(PATIENT_PROBLEM) == LAST_CANDIDATES
    assert minimal(LAST_CANDIDATES) == [(0, 1, 2), (1, 0, 2), (1, 1, 0)]


def test_patients_least_height_publishes_table_2_11() -> None:
    nodes = incognito(PATIENT_PROBLEM)
    node = choose_by_height(PATIENT_PROBLEM, nodes)
    assert node == (1, 1, 0)
    assert [node for node in nodes if sum(node) == 2] == [node]
    outcome = at_node(PATIENT_PROBLEM, node)
    assert published(PATIENT_PROBLEM, node, outcome) == {
        ("*", "Person", "53715"): 2,
        ("*", "Person", "53703"): 2,
        ("*", "Person", "53706"): 2,
    }
    assert choose_like_toolbox(PATIENT_PROBLEM, nodes) == node
    assert choose_by_objective(PATIENT_PROBLEM, nodes, ncp) == optimum(PATIENT_PROBLEM, ncp)[0]  # type: ignore[index]


# ------------------------------------------------------------------------------------ Adult, section 25


def adult_folder() -> Path:
    folder = Path(os.environ.get("SFUMATO_DATA", "/nowhere")) / "adult"
    if not folder.exists():
        pytest.skip("SFUMATO_DATA names no folder with the Adult data")
    return folder


@cache
def adult(k: int) -> Problem:
    rows = toolbox.toolbox_rows((adult_folder() / "adult.data").read_text().splitlines())
    return Problem(collapse(rows), [toolbox.AGE, toolbox.SEX, toolbox.COUNTRY], [k_anonymity(k)])


def test_adult_hierarchies() -> None:
    hierarchies = [toolbox.AGE, toolbox.SEX, toolbox.COUNTRY]
    assert [height(hierarchy) for hierarchy in hierarchies] == [4, 1, 3]
    assert [[len({path[level] for path in h}) for level in range(len(h[0]))] for h in hierarchies] == [
        [101, 10, 4, 2, 1],
        [2, 1],
        [42, 11, 4, 1],
    ]
    assert all(map(is_hierarchy, hierarchies))
    assert generalize("50", toolbox.AGE, 1) == "[50:60]"  # a border belongs to the right
    assert generalize("100", toolbox.AGE, 1) == "[90:100]"
    assert generalize("Japan", toolbox.COUNTRY, 1) == "[36:40]"


def test_adult_sample() -> None:
    problem = adult(2)
    assert count(problem.table) == 5000
    assert len(problem.table) == 493
    assert len(list(lattice(problem.hierarchies))) == 40


@pytest.mark.parametrize(("k", "sets"), [(2, 22), (50, 4), (100, 4)])
def test_adult_incognito(k: int, sets: int) -> None:
    problem = adult(k)
    nodes = incognito(problem)
    assert nodes == list(satisfying(problem))
    assert len(at_node(problem, choose_like_toolbox(problem, nodes)).classes) == sets


def test_adult_incognito_minimal_nodes() -> None:
    assert minimal(incognito(adult(2))) == [(1, 0, 3), (3, 0, 2), (3, 1, 1)]
    assert minimal(incognito(adult(100))) == [(3, 0, 3)]


@pytest.mark.parametrize(("k", "sets", "levels"), [(2, 16, (3, 0, 2)), (50, 4, (3, 0, 3)), (100, 4, (3, 0, 3))])
def test_adult_datafly(k: int, sets: int, levels: Node) -> None:
    problem = adult(k)
    found = datafly(problem, complementary=False)
    assert found is not None
    node, outcome = found
    assert node == levels
    assert len(outcome.classes) + bool(outcome.suppressed) == sets  # suppressed records are one class of roots
    assert not outcome.suppressed


def age_by_width(problem: Problem, attribute: int, value: str, image: Image | None) -> float:
    """NCP of a cell, ages by the width of their interval as the thesis's hierarchy writes it, [0:100] the widest."""
    if attribute > 0 or image is None or len(image.leaves) == 1:
        return ncp_cell(problem, attribute, value, image)
    ages = {int(leaf) for leaf in image.leaves}
    return (min(100, max(ages) + 1) - min(ages)) / 100


@pytest.mark.parametrize(
    ("k", "node", "by_leaves", "by_width"), [(10, (4, 1, 1), 0.6917, 0.69), (20, (2, 0, 3), 0.4248, 0.43)]
)
def test_adult_incognito_loses_less_at_20_than_at_10(k: int, node: Node, by_leaves: float, by_width: float) -> None:
    problem = adult(k)
    assert choose_like_toolbox(problem, incognito(problem)) == node
    outcome = at_node(problem, node)
    assert ncp(problem, outcome) == pytest.approx(by_leaves, abs=5e-5)
    assert mean(attribute_averages(problem, outcome, age_by_width)) == pytest.approx(by_width, abs=5e-3)


@pytest.mark.parametrize(
    ("levels", "suppressed", "score"),
    [((0, 3, 0, 0, 2, 1, 1, 2, 0), 1346, 0.2419), ((0, 3, 0, 0, 2, 1, 1, 1, 0), 2553, 0.22041192847984292)],
)
def test_adult_nine_attributes_score_as_another_program_says(levels: Node, suppressed: int, score: float) -> None:
    """Geometric mean at the optimum of k = 5, with at most 5 % suppressed and without a limit."""
    [names, *rows] = csv.reader((adult_folder() / "arx_adult.csv").read_text().splitlines(), delimiter=";")
    hierarchies: list[Hierarchy] = []
    for name in names:
        lines = (adult_folder() / "hierarchies" / f"adult_hierarchy_{name}.csv").read_text().splitlines()
        hierarchies.append(tuple(tuple(path) for path in csv.reader(lines, delimiter=";")))
    problem = Problem(collapse(rows), hierarchies, [k_anonymity(5)], limit=len(rows))
    outcome = at_node(problem, levels)
    assert count(problem.table) == 30162
    assert count(problem.table, outcome.suppressed) == suppressed
    assert geometric(problem, outcome) == pytest.approx(score, abs=5e-5 if score == 0.2419 else 1e-9)


# ------------------------------------------------------------------------------------ suppression, by hand

FLAT: Hierarchy = tuple((leaf, "*") for leaf in "abcd")


def flat_table(**values: str) -> Problem:
    """One attribute; each of its values with the sensitive values of its records."""
    return Problem({(leaf,): list(own) for leaf, own in values.items()}, [FLAT], [k_anonymity(1)], limit=100)


def test_closeness_is_measured_from_what_stays() -> None:
    """Shares of x: a 1/2, b 3/4, c 0, the table 5/9; without c the table has 5/8."""
    problem = flat_table(a="xxyy", b="xxxy", c="y")
    assert at_node(problem._replace(models=[model("t-closeness", t=0.13)]), (0,)).classes == [[("a",)]]
    assert at_node(problem._replace(models=[model("t-closeness", t=0.3)]), (0,)).classes == [[("a",)], [("b",)]]


def test_a_class_can_break_a_model_because_another_went() -> None:
    """Shares of x: a 1, b 0.6, c 0.3, the table 28/60; without a the table has 0.36, and b is 0.24 off."""
    problem = flat_table(a="x" * 10, b="x" * 6 + "y" * 4, c="x" * 12 + "y" * 28)
    assert at_node(problem._replace(models=[model("t-closeness", t=0.25)]), (0,)).suppressed == [("a",)]
    assert at_node(problem._replace(models=[model("t-closeness", t=0.2)]), (0,)).suppressed == [("a",), ("b",)]


def test_complementary_suppression_can_break_another_class() -> None:
    """a is too small and takes b with it, and the share of x rises from 24/44 to 0.6, which is 0.6 from that of c."""
    problem = flat_table(a="x", b="y" * 4, c="y" * 10, d="x" * 24 + "y" * 6)
    near, far = model("t-closeness", t=0.57), model("t-closeness", t=0.6)
    assert at_node(problem._replace(models=[near]), (0,)).suppressed == []
    assert at_node(problem._replace(models=[k_anonymity(2), far]), (0,)).suppressed == [("a",), ("b",)]
    assert at_node(problem._replace(models=[k_anonymity(2), near]), (0,)).suppressed == [("a",), ("b",), ("c",)]


def test_nothing_may_be_left() -> None:
    problem = flat_table(a="x", b="y")._replace(models=[k_anonymity(2)])
    outcome = at_node(problem, (0,))
    assert outcome.classes == []
    assert not within_limit(problem, outcome)


def test_complementary_suppression_is_not_monotone() -> None:
    """A node may satisfy where the one above does not: that one has to give up a larger class."""
    hierarchy: Hierarchy = (("a", "a", "*"), ("b", "bc", "*"), ("c", "bc", "*"), ("d", "d", "*"))
    table = {("a",): [0] * 2, ("b",): [0] * 5, ("c",): [0] * 9, ("d",): [0] * 20}
    problem = Problem(table, [hierarchy], [k_anonymity(5)], limit=7)
    assert [count(table, at_node(problem, (level,)).suppressed) for level in range(3)] == [7, 16, 0]
    assert list(satisfying(problem)) == incognito(problem) == [(0,), (2,)]


def test_ties_of_the_smallest_class_follow_the_hierarchy() -> None:
    table = {("c",): [0] * 2, ("b",): [0] * 2, ("a",): [0], ("d",): [0] * 3}
    problem = Problem(table, [FLAT], [k_anonymity(2)], limit=9)
    assert at_node(problem, (0,)).suppressed == [("a",), ("b",)]


def test_missing_values_join_the_others_at_the_top_only() -> None:
    problem = Problem({(None,): [0] * 2, ("a",): [0] * 3}, [FLAT], [k_anonymity(2)])
    assert [len(at_node(problem, (level,)).classes) for level in (0, 1)] == [2, 1]
    assert [arithmetic(problem, at_node(problem, (level,))) for level in (0, 1)] == [0.0, 1.0]
    assert generalize(None, FLAT, 0) is None
    assert generalize(None, FLAT, 1) == "*"


# ------------------------------------------------------------------------------------ objectives and searches

TREE: Hierarchy = (
    ("a", "ab", "abc", "*"),
    ("b", "ab", "abc", "*"),
    ("c", "c", "abc", "*"),
    ("d", "d", "d", "*"),
    ("e", "e", "e", "*"),
)


def random_problem(seed: int) -> Problem:
    rng = random.Random(seed)
    hierarchies = [rng.choice([TREE, FLAT]) for _ in range(rng.randint(1, 3))]
    n = rng.randint(4, 30)
    rows = [tuple(rng.choice(hierarchy)[0] for hierarchy in hierarchies) for _ in range(n)]
    models = [k_anonymity(rng.randint(2, 4))]
    if rng.random() < 0.5:
        models.append(model("distinct", l=2))
    return Problem(collapse(rows, rng.choices("xyz", k=n)), hierarchies, models, limit=rng.randint(0, n // 2))


@pytest.mark.parametrize("seed", seeds(40))
def test_incognito_finds_what_brute_force_finds(seed: int) -> None:
    problem = random_problem(seed)
    assert incognito(problem) == list(satisfying(problem))


MONOTONE = [
    model("alpha-k", alpha=0.6, k=2),
    model("probabilistic", l=1.6),
    model("entropy", l=1.6),
    model("recursive", c=2, l=2),
    model("t-closeness", t=0.4),
    model("t-closeness", t=0.3, distance="ordered"),
    model("basic-beta", beta=1.0),
    model("enhanced-beta", beta=1.0),
    model("delta", delta=1.0),
]


@pytest.mark.parametrize("own", MONOTONE)
@pytest.mark.parametrize("seed", range(6))
def test_incognito_without_suppression_finds_all_for_every_monotone_model(own: Model, seed: int) -> None:
    problem = random_problem(seed)._replace(models=[own], limit=0)
    assert incognito(problem) == list(satisfying(problem))


def test_incognito_with_suppression_misses_nodes_of_models_that_look_at_shares() -> None:
    """x alone in (a, c) goes, but all of a would go without the second attribute: its x and y are no longer even."""
    table = {("a", "b"): [*"xy"], ("a", "c"): [*"x"], ("b", "b"): [*"xyxyxyxy"]}
    problem = Problem(table, [FLAT, FLAT], [model("probabilistic", l=2)], limit=1)
    assert (0, 0) in satisfying(problem)
    assert incognito_subsets(problem)[0,].survivors == []
    assert incognito(problem) == []


@pytest.mark.parametrize("seed", seeds(20))
def test_objectives_are_the_metrics(seed: int) -> None:
    problem = random_problem(seed)
    vectors = [vector for vector, values in problem.table.items() for _ in values]
    trees = [{path[0]: path for path in hierarchy} for hierarchy in problem.hierarchies]
    table = {
        str(a): metrics.Attribute([vector[a] for vector in vectors], tree, weight=1.0) for a, tree in enumerate(trees)
    }
    k = max(each.k for each in problem.models)
    for node, outcome in satisfying(problem).items():
        classes = [[i for i, vector in enumerate(vectors) if vector in own] for own in outcome.classes]
        covers = {
            str(a): [list(own[members[0][a]].leaves) for members in outcome.classes]
            for a, own in enumerate(outcome.recoding)
        }
        levels = {str(a): [level] * len(classes) for a, level in enumerate(node)}
        expected = {
            "arithmetic": metrics.normalized_loss(metrics.lm_cell, table, classes, covers=covers),
            "ncp": metrics.gcp(table, classes, covers=covers),
            "prec": 1 - metrics.prec(table, classes, levels),
            "dm": metrics.dm(classes, len(vectors)),
            "c_avg": metrics.c_avg(classes, k),
            "entropy": metrics.normalized_entropy(table, classes, covers=covers),
        }
        for name, value in expected.items():
            assert OBJECTIVES[name](problem, outcome) == pytest.approx(value, abs=1e-12), name


def test_geometric_mean_and_weights() -> None:
    problem = Problem(collapse([("a", "a"), ("b", "a")]), [FLAT, FLAT], [k_anonymity(2)])
    outcome = at_node(problem, (1, 0))
    assert arithmetic(problem, outcome) == 0.5
    assert geometric(problem, outcome) == pytest.approx(2**0.5 - 1)
    weighted = problem._replace(weights=[1, 3])
    assert arithmetic(weighted, outcome) == 0.25
    assert geometric(weighted, outcome) == pytest.approx(2**0.25 - 1)


def test_ties_go_to_the_first_node() -> None:
    problem = Problem(collapse([("a", "a"), ("b", "b")]), [FLAT, FLAT], [k_anonymity(2)])
    assert optimum(problem, arithmetic) == ((1, 1), 1.0)
    problem = Problem(collapse([("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")]), [FLAT, FLAT], [k_anonymity(2)])
    assert optimum(problem, arithmetic) == ((0, 1), 0.5)
    assert optimum(problem._replace(weights=[1, 3]), arithmetic) == ((1, 0), 0.25)
