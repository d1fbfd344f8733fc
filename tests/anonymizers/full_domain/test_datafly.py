"""Datafly: worked example, the thesis's figures, and equality with the twin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import polars as pl
import pytest

import sfumato as sf
from anonymizers.full_domain.lattice_tables import FLAT, SHARES, Case, k_anonymity, random_case
from anonymizers.full_domain.test_incognito import adult
from examples import seeds
from naive import full_domain as twin
from naive.datafly import datafly
from naive.test_full_domain_examples import FREQUENCY_LIST, HOSPITAL, hospital
from sfumato.classes.statistics import class_statistics
from sfumato.errors import PolicyError, UnsatisfiableError
from sfumato.hierarchy.lattice_search import NodeState


def hospital_case(rows: Sequence[tuple[str, ...]], limit: int) -> Case:
    return Case(rows, hospital(rows).hierarchies, [k_anonymity(2)], limit)


@pytest.mark.parametrize("allowance", ["limit", "k"])
@pytest.mark.parametrize("rows", [HOSPITAL, FREQUENCY_LIST])
def test_hospital_path_and_suppressed_records(rows, allowance):
    case = hospital_case(rows, limit=2)
    search = sf.Datafly(allowance=allowance).search(case.problem)
    assert search.path == ((0, 0, 0, 0), (1, 0, 0, 0), (2, 0, 0, 0))
    assert search.chosen == (2, 0, 0, 0)
    assert [search.state(node) for node in search.path] == [NodeState.FAILS, NodeState.FAILS, NodeState.SATISFIES]
    partition = sf.Datafly(allowance=allowance).solve(case.problem)
    assert partition.class_of.tolist() == [0, 0, 1, 1, 2, 2, -1, -1, 3, 3, 4, 4]


def test_hospital_is_published_as_in_table_2_9():
    case = hospital_case(FREQUENCY_LIST, limit=2)
    release = sf.anonymize(case.table, case.models, anonymizer=sf.Datafly(), suppression_limit=2 / 12)
    assert Counter(release.data.rows()) == {
        ("1995", "Female", "1141", "Asian"): 2,
        ("1995", "Male", "1138", "Asian"): 2,
        ("1994", "Male", "1138", "Asian"): 2,
        ("1994", "Female", "1139", "Black"): 2,
        ("1997", "Female", "1138", "Black"): 2,
    }


def test_the_toolbox_publishes_the_suppressed_as_one_class_of_stars():
    case = hospital_case(FREQUENCY_LIST, limit=2)
    recoding = sf.Recoding(suppressed="star")
    data = sf.anonymize(
        case.table, case.models, anonymizer=sf.Datafly(), recoding=recoding, suppression_limit=2 / 12
    ).data
    assert Counter(data.rows())[("*",) * 4] == 2
    assert data.n_unique() == 6


def test_without_a_limit_it_goes_on_until_nothing_has_to_be_suppressed():
    search = sf.Datafly(allowance="k").search(hospital_case(HOSPITAL, limit=0).problem)
    assert search.path[:3] == ((0, 0, 0, 0), (1, 0, 0, 0), (2, 0, 0, 0))
    assert len(search.path) > 3
    assert sf.Datafly().solve(hospital_case(HOSPITAL, limit=0).problem).suppressed == 0


def test_the_limit_may_leave_more_to_suppress_than_k():
    rows = [("a", "a")] * 6 + [("b", "a"), ("b", "b"), ("c", "b"), ("c", "c"), ("a", "c")]
    ends = {}
    for allowance in ("limit", "k"):
        case = Case(rows, [FLAT, FLAT], [k_anonymity(2)], limit=5)
        ends[allowance] = sf.Datafly(allowance=allowance).search(case.problem).chosen
    assert ends == {"limit": (0, 0), "k": (1, 0)}


def test_complementary_suppression_beyond_the_limit_generalizes_further():
    rows = [("a",), *[("b",)] * 3, *[("c",)] * 3]
    generous, strict = (Case(rows, [FLAT], [k_anonymity(3)], limit=limit) for limit in (4, 3))
    assert sf.Datafly().solve(generous.problem).class_of.tolist() == [-1, -1, -1, -1, 0, 0, 0]
    assert sf.Datafly().search(strict.problem).chosen == (1,)
    assert sf.Datafly().search(strict.problem).state((0,)) is NodeState.SATISFIES


@pytest.mark.parametrize("seed", seeds(60))
@pytest.mark.parametrize("allowance", ["limit", "k"])
def test_path_ends_where_the_twins_does(seed, allowance):
    case = random_case(seed, limited=seed % 3 > 0)
    limit, k = case.naive.limit, max(model.k for model in case.naive.models)
    try:
        search = sf.Datafly(allowance=allowance).search(case.problem)
        partition = sf.Datafly(allowance=allowance).solve(case.problem)
    except UnsatisfiableError:
        assert not twin.satisfying(case.naive._replace(limit=0))
        return
    found = datafly(case.naive, allowed=limit if allowance == "limit" else min(k, limit))
    assert found is not None
    node, outcome = found
    if twin.within_limit(case.naive, outcome):
        assert search.chosen == node
        assert partition.suppressed == twin.count(case.naive.table, outcome.suppressed)
        assert partition.count == len(outcome.classes)
    else:
        assert node in search.path[:-1]


@pytest.mark.parametrize("seed", seeds(10))
@pytest.mark.parametrize("models", SHARES, ids=lambda models: models[0].name)
def test_every_model_holds_in_what_is_handed_in(models, seed):
    case = random_case(seed, [models, k_anonymity(3)])
    table = case.problem.table
    try:
        partition = sf.Datafly().solve(case.problem)
    except UnsatisfiableError:
        return
    assert partition.suppressed == 0 or 3 <= partition.suppressed <= case.problem.suppression_limit
    statistics = class_statistics(partition.class_of, partition.count, table.sensitive_codes, table.sensitive)
    assert all(model.holds(statistics).all() for model in case.models)


def test_the_report_names_the_steps_and_the_levels():
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "sex": ["m", "m", "f", "f"]})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "sex"]))
    notes = sf.anonymize(table, sf.KAnonymity(2), anonymizer=sf.Datafly()).report.notes
    assert notes[:2] == ("Datafly took 1 step through a lattice of 4 generalizations.", "Levels: age 1, sex 0.")
    assert "'age', 'sex'" in notes[2]


def test_thirty_attributes_are_no_problem():
    frame = pl.DataFrame({f"q{place}": [f"{record >> place & 1}" for record in range(8)] for place in range(30)})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=frame.columns))
    search = sf.search_lattice(table, sf.KAnonymity(4), anonymizer=sf.Datafly())
    assert search.chosen == (1, 1, *[0] * 28)
    assert search.lattice.size == 2**30
    assert isinstance(search.states, dict)


def test_an_unknown_allowance_is_refused():
    with pytest.raises(PolicyError, match="limit, k"):
        sf.Datafly(allowance="all")


def test_a_model_that_the_top_breaks_is_named():
    case = Case([("a",), ("b",)], [FLAT], [k_anonymity(3)])
    with pytest.raises(UnsatisfiableError, match="k-anonymity asks for k = 3, but there are only 2"):
        sf.Datafly().solve(case.problem)


@pytest.mark.parametrize(("k", "sets", "levels"), [(2, 16, (3, 0, 2)), (50, 4, (3, 0, 3)), (100, 4, (3, 0, 3))])
@pytest.mark.parametrize("limit", [0, 0.05])
def test_adult_unique_sets(k, sets, levels, limit):
    datafly = sf.Datafly(allowance="k")
    release = sf.anonymize(adult(), sf.KAnonymity(k), anonymizer=datafly, suppression_limit=limit)
    assert release.report.classes == release.data.n_unique() == sets
    assert release.report.suppressed == 0
    search = sf.search_lattice(adult(), sf.KAnonymity(k), anonymizer=datafly, suppression_limit=limit)
    assert search.chosen == levels
