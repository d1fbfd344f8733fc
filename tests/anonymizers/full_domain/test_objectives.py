"""What the optimal search may minimize, each against every node of small lattices."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from anonymizers.full_domain.test_optimal import HIERARCHIES, LEAVES, MODELS, NAMES, Drawn, drawn_tables, encoded
from examples import examples
from naive import full_domain as naive
from sfumato.anonymizers.full_domain.optimal import Optimal
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.population import among_population
from sfumato.hierarchy.level_table import HierarchyTable
from sfumato.table.encoding import encode
from sfumato.table.reading import read_population

CELLS = {
    "loss": naive.loss_cell,
    "ncp": naive.ncp_cell,
    "precision": naive.climb_cell,
    "information": naive.information_cell,
}
WEIGHTS = st.tuples(*[st.sampled_from([0.5, 1.0, 3.0])] * 3)
BALANCES = st.sampled_from([0.0, 0.2, 0.33, 0.5, 0.66, 1.0])


def without_missing(drawn: Drawn) -> Drawn:
    rows = [tuple(cell or LEAVES[at][0] for at, cell in enumerate(row)) for row in drawn.rows]
    return drawn._replace(rows=rows)


def searched(drawn: Drawn, weights: Any, models: list[Any], optimal: Optimal) -> Any:
    try:
        return optimal.search(Problem(encoded(drawn, weights), models, drawn.limit))
    except sf.UnsatisfiableError:
        return None


@pytest.mark.parametrize("models", ["k=2", "k, distinct l", "k, t ordered"])
@pytest.mark.parametrize("mean", ["arithmetic", "geometric", "sum", "maximum", "rank"])
@given(drawn=drawn_tables(), weights=WEIGHTS, balance=BALANCES, objective=st.sampled_from(sorted(CELLS)))
@examples(25)
def test_every_way_to_take_cells_together(mean, models, drawn, weights, balance, objective):
    drawn = without_missing(drawn)
    models, twins = MODELS[models]
    problem = naive.Problem(naive.collapse(drawn.rows, drawn.ills), HIERARCHIES, twins, drawn.limit, weights)
    if objective == "information" and mean in ("arithmetic", "geometric"):
        # What an attribute can lose is its weight, too.
        bits = [w * math.log(len(tree)) for w, tree in zip(weights, HIERARCHIES, strict=True)]
        problem = problem._replace(weights=bits)
    scores = {
        node: naive.together(
            problem, naive.balanced_averages(problem, outcome, CELLS[objective], balance), mean
        )
        for node, outcome in naive.satisfying(problem).items()
    }  # fmt: skip
    found = searched(drawn, weights, models, Optimal(objective=objective, mean=mean, balance=balance))
    assert (found is None) == (not scores)
    if found is None:
        return
    best = min(scores.values())
    assert scores[found.chosen] == pytest.approx(best, abs=1e-6)
    assert found.loss == pytest.approx(best[0] if mean == "rank" else best, abs=1e-6)
    if objective != "information":
        near = [node for node, score in scores.items() if score == pytest.approx(best, abs=1e-12)]
        assert found.chosen == near[0]


@given(drawn=drawn_tables(), balance=BALANCES)
@examples(60)
def test_discernibility_with_a_balance(drawn, balance):
    models, twins = MODELS["k=2"]
    problem = naive.Problem(naive.collapse(drawn.rows, drawn.ills), HIERARCHIES, twins, drawn.limit)
    kept, left_out = min(1.0, 2 * (1 - balance)), min(1.0, 2 * balance)
    scores = {}
    for node, outcome in naive.satisfying(problem).items():
        squares = naive.discernibility(problem, outcome._replace(suppressed=[]))
        scores[node] = kept * squares + left_out * (naive.discernibility(problem, outcome) - squares)
    found = searched(drawn, (1.0, 1.0, 1.0), models, Optimal(objective="discernibility", balance=balance))
    assert (found is None) == (not scores)
    if found is not None:
        assert found.loss == pytest.approx(min(scores.values()), abs=1e-9)


def by_arx(problem: naive.Problem, outcome: naive.Outcome, cell: naive.Cell, balance: float) -> list[float]:
    """Means over all records, where what is suppressed costs what its node does, and a part of what that leaves."""
    full = naive.attribute_averages(problem, outcome, cell)
    if balance > 0.5:
        sizes, kept = [len(tree) for tree in HIERARCHIES], 2 * (1 - balance)
        gone = naive.count(problem.table, outcome.suppressed) / naive.count(problem.table)
        published = naive.attribute_averages(problem, outcome._replace(suppressed=[]), cell)
        return [
            (kept * each * (size - 1) / (size - kept) if size > 1 else 0.0) + gone
            for each, size in zip(published, sizes, strict=True)
        ]
    everybody = outcome._replace(classes=[*outcome.classes, outcome.suppressed], suppressed=[])
    levels = naive.attribute_averages(problem, everybody, cell)
    return [low + 2 * balance * (high - low) for low, high in zip(levels, full, strict=True)]


@pytest.mark.parametrize("mean", ["arithmetic", "geometric", "sum", "maximum", "rank"])
@given(drawn=drawn_tables(), weights=WEIGHTS, balance=BALANCES)
@examples(40)
def test_cells_by_the_convention_of_arx(mean, drawn, weights, balance):
    drawn = without_missing(drawn)
    models, twins = MODELS["k, distinct l"]
    problem = naive.Problem(naive.collapse(drawn.rows, drawn.ills), HIERARCHIES, twins, drawn.limit, weights)
    scores = {
        node: naive.together(problem, by_arx(problem, outcome, naive.loss_cell, balance), mean)
        for node, outcome in naive.satisfying(problem).items()
    }
    found = searched(drawn, weights, models, Optimal(mean=mean, balance=balance, convention="arx"))
    assert (found is None) == (not scores)
    if found is not None:
        best = min(scores.values())
        assert scores[found.chosen] == pytest.approx(best, abs=1e-6)
        assert found.loss == pytest.approx(best[0] if mean == "rank" else best, abs=1e-6)


@given(drawn=drawn_tables())
@examples(60)
def test_classes_by_the_convention_of_arx(drawn):
    """Monotonic discernibility keeps suppressed records in their classes; they are one class of the average size."""
    models, twins = MODELS["k=2"]
    problem = naive.Problem(naive.collapse(drawn.rows, drawn.ills), HIERARCHIES, twins, drawn.limit)
    squares, sizes = {}, {}
    for node, outcome in naive.satisfying(problem).items():
        together = naive.classes_of(problem.table, outcome.recoding)
        squares[node] = sum(naive.count(problem.table, vectors) ** 2 for vectors in together)
        sizes[node] = naive.count(problem.table) / (len(outcome.classes) + bool(outcome.suppressed))
    for scores, options in (
        (squares, {"objective": "discernibility", "balance": 0.0}),
        (sizes, {"objective": "average-class-size"}),
    ):
        found = searched(drawn, (1.0, 1.0, 1.0), models, Optimal(convention="arx", **options))
        assert (found is None) == (not scores)
        if found is not None:
            assert found.loss == pytest.approx(min(scores.values()), abs=1e-9)


OF_RECORDS = {
    "ambiguity": naive.ambiguity,
    "kullback-leibler": naive.divergence,
    "classification": naive.wrong_labels,
}


@pytest.mark.parametrize("models", ["k=2", "k, distinct l", "k, t ordered"])
@pytest.mark.parametrize("objective", OF_RECORDS)
@given(drawn=drawn_tables())
@examples(25)
def test_objectives_of_records(objective, models, drawn):
    drawn = without_missing(drawn)
    models, twins = MODELS[models]
    problem = naive.Problem(naive.collapse(drawn.rows, drawn.ills), HIERARCHIES, twins, drawn.limit)
    scores = {node: OF_RECORDS[objective](problem, outcome) for node, outcome in naive.satisfying(problem).items()}
    label = "ill" if objective == "classification" else None
    found = searched(drawn, (1.0, 1.0, 1.0), models, Optimal(objective=objective, label=label))
    assert (found is None) == (not scores)
    if found is not None:
        assert found.loss == pytest.approx(min(scores.values()), abs=1e-6)
        assert scores[found.chosen] == pytest.approx(found.loss, abs=1e-6)
        assert found.loss_bound == found.loss


@pytest.mark.parametrize("objective", OF_RECORDS)
@given(drawn=drawn_tables())
@examples(15)
def test_a_limited_search_of_records_bounds_the_optimum(objective, drawn):
    drawn = without_missing(drawn)
    models, twins = MODELS["k=2"]
    problem = naive.Problem(naive.collapse(drawn.rows, drawn.ills), HIERARCHIES, twins, drawn.limit)
    label = "ill" if objective == "classification" else None
    scores = [OF_RECORDS[objective](problem, outcome) for outcome in naive.satisfying(problem).values()]
    if not scores:
        return
    for nodes in (2, 5, 9):
        found = searched(drawn, (1.0, 1.0, 1.0), models, Optimal(objective=objective, label=label, node_limit=nodes))
        if found is not None:
            assert found.loss_bound - 1e-6 <= min(scores) <= found.loss + 1e-6


def test_the_classification_metric_is_what_is_minimized():
    drawn = Drawn(
        [("a", "x", "1980"), ("b", "x", "1984"), ("c", "y", "1980"), ("d", "z", "1996")] * 5, [1, 1, 2, 5] * 5, 5
    )
    table = encoded(drawn)
    optimal = Optimal(objective="classification", label="ill")
    solution = optimal.solve(Problem(table, [sf.KAnonymity(3)], 5))
    assert "classification by ill: 0" in " ".join(solution.notes)


def test_a_label_that_is_not_there():
    table = encoded(Drawn([("a", "x", "1980")] * 3, [1, 1, 1], 0))
    with pytest.raises(sf.PolicyError, match=r"label='town' is no sensitive column.*take one of ill"):
        Optimal(objective="classification", label="town").solve(Problem(table, [sf.KAnonymity(2)]))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"objective": "classification"}, "give both or none"),
        ({"label": "ill"}, "give both or none"),
        ({"objective": "ambiguity", "mean": "geometric"}, "knows nothing"),
        ({"objective": "kullback-leibler", "balance": 0.2}, "balance means nothing"),
        ({"objective": "ambiguity", "local_recoding": True}, "objective of cells"),
        ({"objective": "squared-error"}, "no objective here: full-domain generalization publishes nodes"),
        ({"objective": "height"}, "no objective here: levels of different hierarchies"),
    ],
)
def test_options_that_do_not_fit(options, problem):
    with pytest.raises(sf.PolicyError, match=problem):
        Optimal(**options)


AMOUNTS = st.builds(
    naive.Game,
    st.sampled_from([1.0, 10.0]),
    st.sampled_from([0.0, 3.0, 12.0, 40.0]),
    st.sampled_from([0.0, 4.0, 20.0]),
    st.sampled_from([0.5, 2.0, 5.0]),
)


def own_size(problem: naive.Problem) -> naive.People:
    return lambda recoding, vectors: naive.count(problem.table, vectors)


@given(drawn=drawn_tables(), game=AMOUNTS, attack=st.sampled_from([None, True, False]))
@examples(120)
def test_the_payout_of_a_prosecutor_game(drawn, game, attack):
    drawn = without_missing(drawn)
    model = sf.Profitability(*game, attack=attack)
    twin = naive.model("k-anonymity", k=model.least)
    problem = naive.Problem(naive.collapse(drawn.rows, drawn.ills), HIERARCHIES, [twin], drawn.limit)
    scores = {}
    for node in naive.lattice(HIERARCHIES):
        recoding = naive.full_domain(HIERARCHIES, node)
        outcome = naive.payout_outcome(problem, recoding, game, own_size(problem))
        if naive.within_limit(problem, outcome):
            scores[node] = naive.payout(problem, outcome, game, own_size(problem))
    found = searched(drawn, (1.0, 1.0, 1.0), [model], Optimal(objective="payout"))
    assert (found is None) == (not scores)
    if found is not None:
        assert found.loss == pytest.approx(min(scores.values()), abs=1e-6)
        assert scores[found.chosen] == pytest.approx(found.loss, abs=1e-6)


@given(drawn=drawn_tables(), game=AMOUNTS, attack=st.sampled_from([None, False]), data=st.data())
@examples(60)
def test_the_payout_of_a_journalist_game(drawn, game, attack, data):
    drawn = without_missing(drawn)
    model = sf.Profitability(*game, "journalist", attack)
    others = data.draw(st.lists(st.tuples(*map(st.sampled_from, LEAVES)), max_size=40))
    everybody = [*drawn.rows, *others]
    schema = sf.Schema(quasi_identifying=dict(zip(NAMES, map(HierarchyTable, HIERARCHIES), strict=True)))
    table = sf.read_table(pl.DataFrame(drawn.rows, schema=list(NAMES), orient="row"), schema)
    people = read_population(pl.DataFrame(everybody, schema=list(NAMES), orient="row"), table)
    problem = naive.Problem(naive.collapse(drawn.rows), HIERARCHIES, [naive.model("k-anonymity", k=1)], drawn.limit)

    def covered(recoding: naive.Recoding, vectors: Any) -> int:
        image = naive.image_of(vectors[0], recoding)
        return sum(all(value in leaves for value, leaves in zip(row, image, strict=True)) for row in everybody)

    scores = {}
    for node in naive.lattice(HIERARCHIES):
        recoding = naive.full_domain(HIERARCHIES, node)
        enough = [v for v in naive.classes_of(problem.table, recoding) if covered(recoding, v) >= model.least]
        left = naive.payout_outcome(problem, recoding, game, covered)
        kept = [vectors for vectors in left.classes if vectors in enough]
        gone = [*left.suppressed, *(each for vectors in left.classes if vectors not in enough for each in vectors)]
        outcome = naive.Outcome(recoding, kept, gone)
        if naive.within_limit(problem, outcome):
            scores[node] = naive.payout(problem, outcome, game, covered)
    try:
        encoded_table = among_population(encode(table), table, people)
        found = Optimal(objective="payout").search(Problem(encoded_table, [model], drawn.limit))
    except sf.UnsatisfiableError:
        found = None
    assert (found is None) == (not scores)
    if found is not None:
        assert found.loss == pytest.approx(min(scores.values()), abs=1e-6)


def test_a_game_says_all_its_mistakes() -> None:
    with pytest.raises(sf.PolicyError) as error:
        sf.Profitability(0, -1, -2, float("nan"), "marketer")  # type: ignore[arg-type]
    assert len(error.value.problems) == 5
    with pytest.raises(sf.PolicyError, match="cost nothing always pay"):
        sf.Profitability(1, 1, 1, 0, attack=False)
    with pytest.raises(sf.PolicyError) as error:
        Optimal(objective="payout", mean="rank", balance=0.2, local_recoding=True)
    assert len(error.value.problems) == 4
    table = encoded(Drawn([("a", "x", "1980")] * 3, [1, 1, 1], 0))
    with pytest.raises(sf.PolicyError, match="needs one profitability model"):
        Optimal(objective="payout").solve(Problem(table, [sf.KAnonymity(2)]))


@pytest.mark.parametrize(
    ("amounts", "attack", "least"),
    [
        ((1200, 300, 300, 4), None, 1),
        ((1200, 300, 300, 4), False, 75),
        ((10, 30, 9, 2), None, 4),
        ((10, 30, 4, 2), None, 2),
    ],
)
def test_what_a_game_asks_of_classes(amounts: Any, attack: bool | None, least: int) -> None:
    assert sf.Profitability(*amounts, attack=attack).least == least


ADULT = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class"]


def test_the_optimum_that_arx_finds_by_ranks() -> None:
    """Levels and losses are those of ARX's public tests (TestUtilityMetricsLoss)."""
    if "SFUMATO_DATA" not in os.environ:
        pytest.skip("SFUMATO_DATA names no folder with the Adult data")
    folder = Path(os.environ["SFUMATO_DATA"]) / "adult"
    frame = pl.read_csv(folder / "arx_adult.csv", separator=";", infer_schema=False)
    trees = {name: sf.read_hierarchy(folder / "hierarchies" / f"adult_hierarchy_{name}.csv") for name in ADULT}
    table = encode(sf.read_table(frame, sf.Schema(quasi_identifying=trees, others="drop")))
    found = Optimal(mean="rank").search(Problem(table, [sf.KAnonymity(5)], table.height))
    assert found.chosen == (0, 3, 0, 0, 1, 0, 0, 0)
    assert found.loss == pytest.approx(0.297248193, abs=1e-9)
