"""Incognito: worked examples, the thesis's figures, and equality with the twin."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from anonymizers.full_domain.lattice_tables import FLAT, SHARES, Case, k_anonymity, random_case
from examples import seeds
from naive import full_domain as twin
from naive import incognito as naive
from naive import toolbox
from naive.test_full_domain_examples import LAST_CANDIDATES, PATIENT_PROBLEM, PATIENTS
from sfumato.anonymizers.full_domain import incognito as apriori
from sfumato.classes.statistics import class_statistics
from sfumato.errors import PolicyError, UnsatisfiableError
from sfumato.hierarchy.lattice_search import LatticeSearch, NodeState
from sfumato.hierarchy.level_table import HierarchyTable


def patients() -> Case:
    return Case(PATIENTS, PATIENT_PROBLEM.hierarchies, [k_anonymity(2)])


def test_patients_all_nodes_the_minimal_ones_and_the_chosen_one():
    search = sf.Incognito(selection="height").search(patients().problem)
    assert list(search.satisfying()) == LAST_CANDIDATES
    assert search.minimal == ((0, 1, 2), (1, 0, 2), (1, 1, 0))
    assert search.chosen == search.path[-1] == (1, 1, 0)
    assert search.state((1, 1, 0)) is NodeState.SATISFIES
    assert search.state((1, 1, 2)) is NodeState.INFERRED_SATISFIES
    assert search.state((0, 0, 0)) is NodeState.INFERRED_FAILS


def test_patients_are_published_as_in_table_2_11():
    data = sf.anonymize(patients().table, sf.KAnonymity(2), anonymizer=sf.Incognito(selection="height")).data
    assert sorted(data.rows()) == sorted([("*", "Person", code) for code in ("53715", "53703", "53706")] * 2)


def counted(case: Case) -> tuple[int, int]:
    """Nodes that the twin counts: over all attributes, and over fewer."""
    subsets = naive.incognito_subsets(case.naive)
    full = tuple(range(len(case.naive.hierarchies)))
    fewer = sum(len(subset.checked) for attributes, subset in subsets.items() if attributes != full)
    return len(subsets[full].checked), fewer


def solvable(case: Case) -> LatticeSearch | None:
    try:
        return sf.Incognito().search(case.problem)
    except UnsatisfiableError:
        return None


@pytest.mark.parametrize("seed", seeds(60))
def test_states_and_counts_are_the_twins(seed):
    case = random_case(seed, limited=seed % 2 == 0)
    search = solvable(case)
    survivors = naive.incognito_subsets(case.naive)[tuple(range(len(case.naive.hierarchies)))].survivors
    if search is None:
        assert not twin.satisfying(case.naive._replace(limit=0))
        return
    assert list(search.satisfying()) == survivors
    assert search.minimal == tuple(twin.minimal(survivors))
    evaluated, projections = counted(case)
    assert search.projections == projections
    # Where the best minimal node cannot be published, all that satisfy are counted.
    assert search.evaluated == evaluated if case.naive.limit == 0 else search.evaluated >= evaluated


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("models", SHARES, ids=lambda models: models[0].name)
def test_without_suppression_every_monotone_model_is_searched_exactly(models, seed):
    case = random_case(seed, [models], limited=False)
    search = solvable(case)
    satisfying = list(twin.satisfying(case.naive))
    assert (list(search.satisfying()) if search else []) == satisfying


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("models", SHARES, ids=lambda models: models[0].name)
def test_with_suppression_no_node_is_missed(models, seed):
    case = random_case(seed, [models, k_anonymity(2)])
    whole = [value for values in case.naive.table.values() for value in values]
    if not all(each.holds(whole, whole) for each in case.naive.models) or not case.naive.limit:
        return  # which records are left out beforehand is chance, and without a limit see above
    search = solvable(case)
    assert search is not None

    def failing(node: twin.Node) -> int:
        classes = twin.classes_of(case.naive.table, twin.full_domain(case.naive.hierarchies, node))
        return sum(
            twin.count(case.naive.table, own) for own in twin.breaking(case.naive.table, classes, case.naive.models)
        )

    lattice = list(twin.lattice(case.naive.hierarchies))
    expected = [node for node in lattice if failing(node) <= case.naive.limit]
    assert list(search.satisfying()) == expected
    assert search.minimal == tuple(twin.minimal(expected))


def test_a_node_that_pruning_by_shares_would_miss_is_found():
    """x alone in (a, c) and y alone in (b, c) go; of the first attribute alone, all of a and of b would."""
    rows = [("a", "b"), ("a", "b"), ("a", "c"), *[("b", "b")] * 8, ("b", "c")]
    diverse = (sf.ProbabilisticLDiversity(2), twin.model("probabilistic", l=2))
    case = Case(rows, [FLAT, FLAT], [diverse], limit=2, sensitive="xyx" + "xy" * 4 + "y")
    assert naive.incognito(case.naive) != list(twin.satisfying(case.naive))
    search = sf.Incognito().search(case.problem)
    assert list(search.satisfying()) == list(twin.satisfying(case.naive))
    assert search.chosen == (0, 0)


def chosen(case: Case, selection: str) -> twin.Node | None:
    return sf.Incognito(selection=selection).search(case.problem).chosen


@pytest.mark.parametrize("seed", seeds(40))
def test_the_lowest_node_is_the_twins(seed):
    case = random_case(seed)
    if solvable(case) is not None:
        assert chosen(case, "height") == naive.choose_by_height(case.naive, naive.incognito(case.naive))


@pytest.mark.parametrize("seed", seeds(40))
def test_the_node_of_most_classes_is_the_twins(seed):
    case = random_case(seed, limited=False)
    if solvable(case) is not None:
        assert chosen(case, "classes") == naive.choose_like_toolbox(case.naive, naive.incognito(case.naive))


@pytest.mark.parametrize("seed", seeds(40))
def test_the_node_of_least_loss_is_the_twins(seed):
    case = random_case(seed)
    if solvable(case) is None:
        return
    # Losses are compared before complementary suppression, which few nodes need.
    kept = {node: twin.at_node(case.naive, node) for node in naive.incognito(case.naive)}
    plain = {node: twin.at_node(case.naive, node, complementary=False) for node in kept}
    assert chosen(case, "loss") == twin.best_of({node: twin.ncp(case.naive, plain[node]) for node in sorted(kept)})


@pytest.mark.parametrize("seed", seeds(40))
@pytest.mark.parametrize("selection", ["height", "classes", "loss"])
def test_what_is_handed_in_may_be_published(seed, selection):
    extra = SHARES[seed % len(SHARES)]
    case = random_case(seed, [k_anonymity(3), extra])
    table = case.problem.table
    try:
        partition = sf.Incognito(selection=selection).solve(case.problem)
    except UnsatisfiableError:
        return
    assert partition.suppressed == 0 or 3 <= partition.suppressed <= case.problem.suppression_limit
    statistics = class_statistics(partition.class_of, partition.count, table.sensitive_codes, table.sensitive)
    assert all(model.holds(statistics).all() for model in case.models)


@pytest.mark.parametrize("limit", [0.0, 0.2])
def test_losses_are_those_of_the_release(limit):
    case = random_case(8)
    search = sf.search_lattice(case.table, case.models, suppression_limit=limit)
    release = sf.anonymize(case.table, case.models, anonymizer=sf.Incognito(), suppression_limit=limit)
    assert search.loss == pytest.approx(release.report.losses.normalized_ncp, abs=1e-12)
    assert search.loss_name == "normalized NCP"


def test_too_few_to_leave_out_and_too_many_to_add():
    rows = [("a",), ("b",), ("b",), ("b",), ("c",), ("c",), ("c",)]
    case = Case(rows, [FLAT], [k_anonymity(3)], limit=1)
    partition = sf.Incognito().solve(case.problem)
    assert (partition.count, partition.suppressed) == (1, 0)
    generous = Case(rows, [FLAT], [k_anonymity(3)], limit=4)
    partition = sf.Incognito().solve(generous.problem)
    assert (partition.count, partition.suppressed) == (1, 4)
    assert partition.class_of.tolist() == [-1, -1, -1, -1, 0, 0, 0]


def test_frequency_sets_that_found_no_room_are_counted_from_the_records(monkeypatch):
    usual = [solvable(random_case(seed)) for seed in range(20)]
    monkeypatch.setattr(apriori, "ROOM", 0)
    for seed, search in enumerate(usual):
        again = solvable(random_case(seed))
        assert (search is None) == (again is None)
        if search is not None and again is not None:
            assert np.array_equal(search.states, again.states)


def test_the_report_says_what_was_counted_and_which_attribute_had_no_hierarchy():
    frame = pl.DataFrame({"age": [1, 1, 2, 2], "sex": ["m", "m", "f", "f"]})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "sex"]))
    notes = sf.anonymize(table, sf.KAnonymity(2), anonymizer=sf.Incognito()).report.notes
    assert "counted 1 of 4 generalizations, and 2 of fewer attributes: 4 satisfy the models" in notes[0]
    assert notes[1] == "Levels: age 0, sex 0."
    assert "'age', 'sex'" in notes[2]


# ------------------------------------------------------------------------------------ bad input


def test_an_unknown_selection_is_refused():
    with pytest.raises(PolicyError, match="height, classes, loss"):
        sf.Incognito(selection="best")


def test_a_lattice_that_is_too_large_is_refused_before_any_search():
    frame = pl.DataFrame({f"q{place}": ["x", "y"] for place in range(30)})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=frame.columns))
    with pytest.raises(PolicyError, match="30 attributes with 1,073,741,824 generalizations") as error:
        sf.search_lattice(table, sf.KAnonymity(2))
    assert "datafly" in str(error.value)


def test_models_that_the_top_breaks_are_all_named():
    case = Case([("a",), ("b",)], [FLAT], [], sensitive="xx")
    with pytest.raises(UnsatisfiableError) as error:
        sf.anonymize(case.table, [sf.KAnonymity(3), sf.DistinctLDiversity(2)], anonymizer=sf.Incognito())
    assert [each.split()[0] for each in error.value.problems] == ["k-anonymity", "distinct-l-diversity"]


# ------------------------------------------------------------------------------------ the thesis's Adult rows


@cache
def adult() -> sf.Table:
    if "SFUMATO_DATA" not in os.environ:
        pytest.skip("SFUMATO_DATA names no folder with the Adult data")
    lines = (Path(os.environ["SFUMATO_DATA"]) / "adult" / "adult.data").read_text().splitlines()
    frame = pl.DataFrame(toolbox.toolbox_rows(lines), schema=["age", "sex", "native-country"], orient="row")
    trees = {"age": toolbox.AGE, "sex": toolbox.SEX, "native-country": toolbox.COUNTRY}
    schema = sf.Schema(quasi_identifying={name: HierarchyTable(tree) for name, tree in trees.items()})
    return sf.read_table(frame.with_columns(pl.col("age").cast(pl.Int64)), schema)


@pytest.mark.parametrize(("k", "sets"), [(2, 22), (50, 4), (100, 4)])
def test_adult_unique_sets(k, sets):
    release = sf.anonymize(adult(), sf.KAnonymity(k), anonymizer=sf.Incognito(selection="classes"))
    assert release.report.classes == release.data.n_unique() == sets


def test_adult_loses_less_at_20_than_at_10():
    losses = [
        sf.anonymize(adult(), sf.KAnonymity(k), anonymizer=sf.Incognito(selection="classes")).report.losses
        for k in (10, 20)
    ]
    assert [loss.normalized_ncp for loss in losses] == pytest.approx([0.6917, 0.4248], abs=5e-5)


def test_adult_minimal_nodes():
    assert sf.search_lattice(adult(), sf.KAnonymity(2)).minimal == ((1, 0, 3), (3, 0, 2), (3, 1, 1))
    assert sf.search_lattice(adult(), sf.KAnonymity(100)).minimal == ((3, 0, 3),)


@cache
def adult_of_nine() -> sf.Table:
    if "SFUMATO_DATA" not in os.environ:
        pytest.skip("SFUMATO_DATA names no folder with the Adult data")
    folder = Path(os.environ["SFUMATO_DATA"]) / "adult"
    frame = pl.read_csv(folder / "arx_adult.csv", separator=";")
    trees = {name: sf.read_hierarchy(folder / "hierarchies" / f"adult_hierarchy_{name}.csv") for name in frame.columns}
    return sf.read_table(frame, sf.Schema(quasi_identifying=trees))


def test_adult_nine_attributes():
    search = sf.search_lattice(adult_of_nine(), sf.KAnonymity(5))
    assert search.lattice.size == 12_960
    assert search.count(NodeState.SATISFIES, NodeState.INFERRED_SATISFIES) == 87
    assert len(search.minimal) == search.evaluated == 27


@pytest.mark.slow
def test_adult_nine_attributes_with_suppression():
    # The node that another program finds best, by the mean loss of its attributes, and the records it suppresses there.
    release = sf.anonymize(
        adult_of_nine(), sf.KAnonymity(5), anonymizer=sf.Incognito(selection="loss"), suppression_limit=0.05
    )
    assert [note.split(", ")[1] for note in release.report.notes if note.startswith("Levels")] == ["age 3"]
    assert release.report.suppressed == 1346
