"""Searches that stop early: every result holds, none is below its bound, and with room enough they find the optimum."""

from __future__ import annotations

import random

import pytest

import sfumato as sf
from anonymizers.full_domain.lattice_tables import FLAT, SHARES, TREE, Case, k_anonymity
from naive import full_domain as naive
from sfumato.anonymizers.full_domain.optimal import Heuristic, Optimal

STRATEGIES = ("top-down", "bottom-up", "genetic")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_with_room_enough_they_find_the_optimum(strategy):
    for seed in range(25):
        draw = random.Random(seed)
        rows = [tuple(draw.choice(tree)[0] for tree in (TREE, FLAT, FLAT)) for _ in range(30)]
        case = Case(rows, (TREE, FLAT, FLAT), [k_anonymity(3)], limit=draw.choice((0, 3, 12)))
        best = Optimal().search(case.problem)
        found = Heuristic(strategy=strategy).search(case.problem)
        assert found.chosen == best.chosen
        assert found.loss == pytest.approx(best.loss, abs=1e-12)
        assert found.loss_bound == pytest.approx(best.loss, abs=1e-12)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("nodes", [1, 2, 5, 9])
def test_whenever_they_stop_the_result_holds_and_is_not_below_its_bound(strategy, nodes):
    solved = 0
    for seed in range(30):
        draw = random.Random(seed)
        rows = [tuple(draw.choice(tree)[0] for tree in (TREE, FLAT, FLAT)) for _ in range(30)]
        ills = [draw.choice("xyz") for _ in rows]
        case = Case(rows, (TREE, FLAT, FLAT), [k_anonymity(3), SHARES[seed % 3]], draw.choice((0, 6)), ills)
        try:
            best = Optimal().search(case.problem)
        except sf.UnsatisfiableError:
            with pytest.raises(sf.UnsatisfiableError):
                Heuristic(strategy=strategy, node_limit=nodes).search(case.problem)
            continue
        try:
            found = Heuristic(strategy=strategy, node_limit=nodes).search(case.problem)
        except sf.UnsatisfiableError as error:
            # The top is always looked at, so that there is a solution unless it has to suppress too much.
            pytest.fail(f"{seed}: {error}")
        solved += 1
        assert found.evaluated <= nodes
        assert found.loss_bound <= best.loss + 1e-9
        assert found.loss >= best.loss - 1e-9
        solution = Heuristic(strategy=strategy, node_limit=nodes).solve(case.problem)
        assert solution.suppressed <= case.problem.suppression_limit
        twin = naive.Problem(
            naive.collapse(rows, ills), (TREE, FLAT, FLAT), [each for _, each in (k_anonymity(3), SHARES[seed % 3])],
            case.problem.suppression_limit,
        )  # fmt: skip
        assert found.chosen in naive.satisfying(twin)
    assert solved > 10


def test_the_same_seed_gives_the_same_node_and_limits_are_told():
    table = sf.read_table(random_table(), sf.Schema(quasi_identifying=HIERARCHIES))
    ways = [Heuristic(strategy="genetic", node_limit=7) for _ in range(2)]
    one, two = (sf.anonymize(table, sf.KAnonymity(4), anonymizer=way, seed=5) for way in ways)
    assert one.report.notes == two.report.notes
    told = " ".join(one.report.notes)
    assert "then the search ended at its limit" in told
    assert "none is better by more than" in told


def test_wrong_options_are_named():
    with pytest.raises(sf.PolicyError) as caught:
        Heuristic(strategy="sideways", node_limit=0)  # type: ignore[arg-type]
    assert len(caught.value.problems) == 2
    with pytest.raises(sf.PolicyError, match="local_recoding belongs to optimal"):
        Heuristic(local_recoding=True)


def random_table():
    import polars as pl

    draw = random.Random(3)
    return pl.DataFrame(
        {
            "age": [draw.randrange(90) for _ in range(300)],
            "zip": [f"{draw.randrange(10, 99)}" for _ in range(300)],
            "sex": [draw.choice("fm") for _ in range(300)],
        }
    )


HIERARCHIES = {
    "age": sf.intervals(5, 10, 20),
    "zip": sf.Attribute("categorical", hierarchy=sf.prefixes(1)),
    "sex": None,
}
