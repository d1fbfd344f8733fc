"""Samarati's search: worked by hand, and equality with trying every node."""

from __future__ import annotations

import pytest

import sfumato as sf
from anonymizers.full_domain.lattice_tables import FLAT, SHARES, TREE, Case, k_anonymity, random_case
from examples import seeds
from naive import full_domain as twin
from naive import samarati as naive
from naive.test_full_domain_examples import PATIENT_PROBLEM, PATIENTS
from sfumato.errors import PolicyError, UnsatisfiableError
from sfumato.hierarchy.lattice_search import NodeState
from sfumato.hierarchy.level_table import HierarchyTable

SELECTIONS = ("relative", "classes", "suppression")


def test_patients_lowest_is_the_one_node_of_height_2():
    case = Case(PATIENTS, PATIENT_PROBLEM.hierarchies, [k_anonymity(2)])
    search = sf.Samarati().search(case.problem)
    # Of the minimal nodes (0, 1, 2), (1, 0, 2) and (1, 1, 0), the last is the lowest.
    assert search.minimal == ((1, 1, 0),)
    assert search.chosen == (1, 1, 0)
    assert search.state((0, 0, 0)) is NodeState.UNKNOWN
    assert search.evaluated < search.lattice.size


def test_the_height_is_halved():
    """Two attributes of height 3: heights 3, 5 and 6 are looked at, as only the top satisfies."""
    rows = [("a", "d"), ("d", "a"), ("e", "e"), ("a", "e")]
    search = sf.Samarati().search(Case(rows, [TREE, TREE], [k_anonymity(4)]).problem)
    assert search.chosen == (3, 3)
    counted = {sum(levels) for levels in search.lattice.nodes() if search.state(levels) is not NodeState.UNKNOWN}
    assert counted == {3, 5, 6}


def outcome(case: Case, selection: str = "relative"):
    try:
        return sf.Samarati(selection=selection).search(case.problem)
    except UnsatisfiableError:
        return None


@pytest.mark.parametrize("seed", seeds(80))
def test_the_least_height_and_its_nodes_are_those_of_trying_all(seed):
    case = random_case(seed, limited=seed % 3 > 0)
    search = outcome(case)
    if search is None:
        assert not twin.satisfying(case.naive._replace(limit=0))
        return
    assert list(search.minimal) == naive.lowest(case.naive)
    satisfying = set(naive.satisfying(case.naive))
    for levels in search.lattice.nodes():
        state = search.state(levels)
        assert state is NodeState.UNKNOWN or (state is NodeState.SATISFIES) == (levels in satisfying)


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("seed", seeds(60))
def test_the_chosen_node_is_the_twins(seed, selection):
    case = random_case(seed)
    search = outcome(case, selection)
    if search is not None:
        assert search.chosen == naive.chosen(case.naive, selection)


@pytest.mark.parametrize("seed", seeds(30))
def test_by_loss_none_of_the_height_loses_less(seed):
    case = random_case(seed, limited=False)
    search = outcome(case, "loss")
    if search is not None:
        losses = [search.losses[search.lattice.number(levels)] for levels in search.minimal]
        assert search.loss == pytest.approx(min(losses))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("models", SHARES, ids=lambda models: models[0].name)
def test_without_suppression_every_monotone_model_is_searched_exactly(models, seed):
    case = random_case(seed, [models], limited=False)
    search = outcome(case)
    assert (list(search.minimal) if search else []) == (naive.lowest(case.naive) if search else [])
    assert (search is None) == (not naive.satisfying(case.naive))


@pytest.mark.parametrize("models", SHARES, ids=lambda models: models[0].name)
def test_with_suppression_other_models_are_refused_by_name(models):
    rows, values = [("a",), ("a",), ("b",), ("b",)], "xyxy"
    with pytest.raises(PolicyError, match=f"generalizing may break {models[0].name}"):
        sf.Samarati().search(Case(rows, [FLAT], [models, k_anonymity(2)], 1, values).problem)
    sf.Samarati().search(Case(rows, [FLAT], [k_anonymity(2), (sf.DistinctLDiversity(2), models[1])], 1, values).problem)


def test_bisection_would_be_wrong_for_them():
    """Why: of 8 records x and 3 others, in classes of their own, merging puts all into one that breaks the model."""
    rows = [("a", "a"), ("a", "a"), ("b", "b"), ("b", "b"), ("b", "c"), ("b", "c"), ("b", "c")]
    diverse = twin.model("probabilistic", l=2)
    case = Case(rows, [FLAT, FLAT], [(sf.ProbabilisticLDiversity(2), diverse)], 3, "xyxyxxx")
    fails = {node: naive.failing(case.naive, node) for node in twin.lattice(case.naive.hierarchies)}
    assert fails[0, 0] == 3 <= case.naive.limit
    assert fails[0, 1] == 5 > case.naive.limit


def test_complementary_suppression_beyond_the_limit_takes_the_next_height():
    # At the bottom one record goes, but then at least two must; the limit is one.
    rows = [("a",), ("a",), ("b",), ("b",), ("c",)]
    case = Case(rows, [FLAT], [k_anonymity(2)], 1)
    search = sf.Samarati().search(case.problem)
    assert search.minimal == ((0,),)
    assert search.chosen == (1,)
    assert naive.chosen(case.naive, "relative") == (1,)


@pytest.mark.parametrize("selection", [*SELECTIONS, "loss"])
@pytest.mark.parametrize("seed", seeds(10))
def test_what_is_published_holds(seed, selection):
    case = random_case(seed)
    limit = case.naive.limit / case.table.height
    try:
        release = sf.anonymize(
            case.table, case.models, anonymizer=sf.Samarati(selection), suppression_limit=limit, seed=seed
        )
    except UnsatisfiableError:
        return
    assert sf.verify(release).ok
    assert any("Samarati's search counted" in note for note in release.report.notes)


def test_an_unknown_selection_and_a_lattice_that_is_too_large_are_refused():
    with pytest.raises(PolicyError, match="selection"):
        sf.Samarati(selection="height")
    large = Case([("a",) * 11] * 2, [TREE] * 11, [k_anonymity(2)])
    with pytest.raises(PolicyError, match="too many"):
        sf.Samarati().search(large.problem)


def test_models_that_the_top_breaks_are_named():
    with pytest.raises(UnsatisfiableError, match="k-anonymity asks for k = 9"):
        sf.Samarati().search(Case([("a",), ("b",)], [FLAT], [k_anonymity(9)]).problem)


def test_an_attribute_without_levels():
    one = (("x",),)
    columns = sf.Schema(quasi_identifying={"q": HierarchyTable(one)})
    import polars as pl

    table = sf.read_table(pl.DataFrame({"q": ["x", "x", "x"]}), columns)
    release = sf.anonymize(table, sf.KAnonymity(3), anonymizer=sf.Samarati())
    assert release.data["q"].to_list() == ["x"] * 3
