"""The optimal full-domain search: equal to trying every node, for every objective, model and suppression limit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from naive import full_domain as naive
from sfumato.anonymizers.full_domain import lattice_boxes
from sfumato.anonymizers.full_domain import local_recoding as leftovers
from sfumato.anonymizers.full_domain import local_recoding as local_levels
from sfumato.anonymizers.full_domain.optimal import Optimal
from sfumato.anonymizers.protocol import Problem
from sfumato.hierarchy.lattice_search import NodeState
from sfumato.hierarchy.level_table import HierarchyTable
from sfumato.metrics import Losses, measure_losses
from sfumato.recoding import RecodingKind, recode, recoding_kind
from sfumato.table.encoding import EncodedTable, encode

quickly = examples(40)

TOWNS = (
    ("a", "ab", "abc", "*"),
    ("b", "ab", "abc", "*"),
    ("c", "c+", "abc", "*"),
    ("d", "d+", "de", "*"),
    ("e", "e+", "de", "*"),
)
JOBS = (("x", "xy", "any"), ("y", "xy", "any"), ("z", "z+", "any"))
YEARS = tuple((str(1980 + year), f"{198 + year // 10}0s", "*") for year in range(0, 20, 4))
HIERARCHIES = (TOWNS, JOBS, YEARS)
NAMES = ("town", "job", "year")
LEAVES = [[path[0] for path in hierarchy] for hierarchy in HIERARCHIES]

TWIN_OF = {
    ("loss", "arithmetic"): naive.arithmetic,
    ("loss", "geometric"): naive.geometric,
    ("ncp", "arithmetic"): naive.ncp,
    ("precision", "arithmetic"): naive.precision_lost,
    ("entropy", "arithmetic"): naive.entropy,
    ("discernibility", "arithmetic"): naive.discernibility,
    ("average-class-size", "arithmetic"): naive.class_size,
}

ORDERED = naive.model("t-closeness", t=0.3, distance="ordered")
TWO, THREE, FOUR = (naive.model("k-anonymity", k=k) for k in (2, 3, 4))
MODELS: dict[str, tuple[list[Any], list[naive.Model]]] = {
    "k=2": ([sf.KAnonymity(2)], [TWO]),
    "k=4": ([sf.KAnonymity(4)], [FOUR]),
    "k, distinct l": ([sf.KAnonymity(3), sf.DistinctLDiversity(2)], [THREE, naive.model("distinct", l=2)]),
    "entropy l": ([sf.EntropyLDiversity(1.6)], [naive.model("entropy", l=1.6)]),
    "alpha, k": ([sf.AlphaKAnonymity(0.7, 2)], [naive.model("alpha-k", alpha=0.7, k=2)]),
    "k, recursive l": ([sf.KAnonymity(2), sf.RecursiveLDiversity(2.0, 2)], [TWO, naive.model("recursive", c=2.0, l=2)]),
    "k, t ordered": (
        [sf.KAnonymity(2), sf.TCloseness(0.3)],
        [TWO, ORDERED],
    ),
    "t equal": ([sf.TCloseness(0.4, distance="equal")], [naive.model("t-closeness", t=0.4, distance="equal")]),
    "k, beta": ([sf.KAnonymity(3), sf.BasicBetaLikeness(1.0)], [THREE, naive.model("basic-beta", beta=1.0)]),
    "enhanced beta": ([sf.EnhancedBetaLikeness(1.0)], [naive.model("enhanced-beta", beta=1.0)]),
    "delta": ([sf.DeltaDisclosure(1.2)], [naive.model("delta", delta=1.2)]),
}


class Drawn(NamedTuple):
    """A table, and how much of it may be suppressed."""

    rows: list[tuple[Any, ...]]
    ills: list[int]
    limit: int


@st.composite
def drawn_tables(draw: st.DrawFn, missing: bool = True) -> Drawn:
    value = [st.sampled_from([*leaves, None] if missing else leaves) for leaves in LEAVES]
    # Few different records, so that classes have more than one.
    pool = draw(st.lists(st.tuples(*value), min_size=1, max_size=8))
    rows = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=24))
    ills = draw(st.lists(st.sampled_from([1, 2, 5]), min_size=len(rows), max_size=len(rows)))
    return Drawn(rows, ills, draw(st.integers(0, len(rows))))


def encoded(drawn: Drawn, weights: tuple[float, ...] = (1.0, 1.0, 1.0)) -> EncodedTable:
    columns = dict(zip(NAMES, map(list, zip(*drawn.rows, strict=True)), strict=True))
    frame = pl.DataFrame({**columns, "ill": drawn.ills}, schema={**dict.fromkeys(NAMES, pl.String), "ill": pl.Int64})
    attributes = {
        name: sf.Attribute(kind="categorical", hierarchy=HierarchyTable(paths), weight=weight)
        for name, paths, weight in zip(NAMES, HIERARCHIES, weights, strict=True)
    }
    return encode(sf.read_table(frame, sf.Schema(quasi_identifying=attributes, sensitive=["ill"])))


def solve(table: EncodedTable, models: list[Any], limit: int, optimal: Optimal) -> tuple[float, Losses, Any] | None:
    """Return the objective as the metrics measure it, all losses, and the levels."""
    try:
        solution = optimal.solve(Problem(table, models, limit))
    except sf.UnsatisfiableError:
        return None
    assert solution.suppressed <= limit
    generalized = recode(table, solution)
    assert recoding_kind(generalized) is RecodingKind.FULL_DOMAIN
    k = max([1, *(model.k for model in models if hasattr(model, "k"))])
    losses = measure_losses(generalized, k)
    weights = sum(attribute.weight for attribute in table.attributes)
    value = {
        "loss": losses.loss_metric / table.height / weights,
        "ncp": losses.normalized_ncp,
        "precision": 1 - losses.precision,
        "entropy": losses.entropy,
        "discernibility": losses.discernibility,
        "average-class-size": losses.average_class_size,
    }[optimal.objective]
    assert value is not None
    return value, losses, solution


@pytest.mark.parametrize("models", MODELS)
@pytest.mark.parametrize("objective", [name for name, mean in TWIN_OF if mean == "arithmetic"])
@given(drawn=drawn_tables())
@examples(12)
def test_equal_to_trying_every_node(objective, models, drawn):
    models, twins = MODELS[models]
    if objective == "precision":
        # A missing cell below the top has climbed nowhere; the twin counts its level.
        drawn = drawn._replace(
            rows=[tuple(cell or ["a", "x", "1980"][at] for at, cell in enumerate(row)) for row in drawn.rows]
        )
    problem = naive.Problem(naive.collapse(drawn.rows, drawn.ills), HIERARCHIES, twins, drawn.limit)
    expected = naive.optimum(problem, TWIN_OF[objective, "arithmetic"])
    found = solve(encoded(drawn), models, drawn.limit, Optimal(objective=objective))
    if expected is None:
        assert found is None
        return
    assert found is not None
    assert found[0] == pytest.approx(expected[1], abs=1e-6)
    if objective != "entropy":
        levels = ", ".join(f"{name} {level}" for name, level in zip(NAMES, expected[0], strict=True))
        assert f"Levels: {levels}." in found[2].notes


@pytest.mark.parametrize("models", ["k=2", "k, t ordered", "entropy l"])
@given(drawn=drawn_tables(), weights=st.tuples(*[st.sampled_from([0.5, 1.0, 3.0])] * 3))
@examples(20)
def test_geometric_means_and_weights(models, drawn, weights):
    models, twins = MODELS[models]
    table = naive.collapse(drawn.rows, drawn.ills)
    problem = naive.Problem(table, HIERARCHIES, twins, drawn.limit, weights)
    for mean, twin in (("arithmetic", naive.arithmetic), ("geometric", naive.geometric)):
        expected = naive.optimum(problem, twin)
        try:
            search = Optimal(mean=mean).search(Problem(encoded(drawn, weights), models, drawn.limit))
        except sf.UnsatisfiableError:
            assert expected is None
            continue
        assert expected is not None
        assert search.chosen == expected[0]
        assert search.loss == search.loss_bound == pytest.approx(expected[1], abs=1e-12)


@given(drawn=drawn_tables())
@quickly
def test_what_is_said_of_every_node_is_true(drawn):
    models, twins = MODELS["k, distinct l"]
    problem = naive.Problem(naive.collapse(drawn.rows, drawn.ills), HIERARCHIES, twins, drawn.limit)
    satisfying = naive.satisfying(problem)
    if not satisfying:
        return
    search = Optimal().search(Problem(encoded(drawn), models, drawn.limit))
    assert search.count(NodeState.UNKNOWN) == 0
    assert search.path[-1] == search.chosen
    for node in search.lattice.nodes():
        state = search.state(node)
        if state in (NodeState.SATISFIES, NodeState.FAILS, NodeState.INFERRED_FAILS):
            assert (state is NodeState.SATISFIES) == (node in satisfying)
        elif node in satisfying:
            assert naive.arithmetic(problem, satisfying[node]) >= search.loss - 1e-9


@pytest.mark.parametrize("models", ["k=4", "k, distinct l", "k, t ordered"])
@given(drawn=drawn_tables(), data=st.data())
@quickly
def test_given_levels_are_published_or_nothing_is(models, drawn, data):
    # A column without any value has two levels.
    assume(all(map(any, zip(*drawn.rows, strict=True))))
    models, twins = MODELS[models]
    problem = naive.Problem(naive.collapse(drawn.rows, drawn.ills), HIERARCHIES, twins, drawn.limit)
    satisfying, table = naive.satisfying(problem), encoded(drawn)
    levels = {name: data.draw(st.integers(0, 2)) for name in data.draw(st.sets(st.sampled_from(NAMES), min_size=1))}
    allowed = [node for node in satisfying if levels.items() <= dict(zip(NAMES, node, strict=True)).items()]
    given = Optimal(levels=levels, node_limit=data.draw(st.sampled_from([None, 30])))
    if not allowed:
        with pytest.raises(sf.UnsatisfiableError):
            given.solve(Problem(table, models, drawn.limit))
        return
    search = given.search(Problem(table, models, drawn.limit))
    assert search.chosen in allowed
    assert search.count(NodeState.NOT_BETTER) == 0
    best = min(naive.arithmetic(problem, satisfying[node]) for node in allowed)
    assert naive.arithmetic(problem, satisfying[search.chosen]) == pytest.approx(best, abs=1e-9)
    found = solve(table, models, drawn.limit, given)
    shown = ", ".join(f"{name} {level}" for name, level in zip(NAMES, search.chosen, strict=True))
    assert found is not None
    assert f"Levels: {shown}." in found[2].notes


@pytest.mark.parametrize("optimal", [Optimal(), Optimal(objective="average-class-size"), Optimal(local_recoding=True)])
@given(drawn=drawn_tables(), data=st.data())
@quickly
def test_neither_the_order_of_records_nor_threads_change_what_is_published(optimal, drawn, data):
    order = data.draw(st.permutations(range(len(drawn.rows))))
    moved = Drawn([drawn.rows[row] for row in order], [drawn.ills[row] for row in order], drawn.limit)
    models = [sf.KAnonymity(2), sf.TCloseness(0.4)]

    def published(table: EncodedTable, threads: int) -> list[tuple[str | None, ...]] | None:
        try:
            solution = optimal.solve(Problem(table, models, drawn.limit, threads=threads))
        except sf.UnsatisfiableError:
            return None
        columns = recode(table, solution).columns
        labels = [column.labels.gather(column.per_class).to_list() for column in columns]
        rows = list(zip(*labels, strict=True))
        return [rows[owner] if owner >= 0 else () for owner in solution.class_of]

    one, other = published(encoded(drawn), 1), published(encoded(moved), 2)
    assert other == (None if one is None else [one[row] for row in order])


@pytest.mark.parametrize("models", MODELS)
@given(drawn=drawn_tables())
@examples(15)
def test_local_recoding_satisfies_the_models(models, drawn):
    models, twins = MODELS[models]
    try:
        solution = Optimal(local_recoding=True).solve(Problem(encoded(drawn), models, drawn.limit))
    except sf.UnsatisfiableError:
        assert not all(twin.holds(drawn.ills, drawn.ills) for twin in twins)
        return
    assert solution.suppressed <= drawn.limit
    assert solution.suppressed == 0 or solution.suppressed >= max(twin.k for twin in twins)
    classes = [
        [ill for ill, own in zip(drawn.ills, solution.class_of, strict=True) if own == c] for c in range(solution.count)
    ]
    whole = [ill for values in classes for ill in values]
    assert all(twin.holds(values, whole) for twin in twins for values in classes)
    # Every record lies in what its class publishes.
    regions, codes = solution.regions, encoded(drawn).codes
    assert regions is not None
    published = solution.class_of >= 0
    own = solution.class_of[published]
    assert np.all((regions.low[own] <= codes[published]) & (codes[published] <= regions.high[own]))


def test_local_recoding_loses_less_and_leaves_nobody_behind():
    # Two classes, and a record that fits neither: it joins the one that it makes dearer by less.
    rows = [("a", "x", "1980")] * 2 + [("e", "z", "1996")] * 3 + [("d", "z", "1996")]
    table = encoded(Drawn(rows, [1] * 6, 0))
    solution = Optimal(local_recoding=True).solve(Problem(table, [sf.KAnonymity(2)]))
    assert solution.class_of.tolist() == [0, 0, 1, 1, 1, 1]
    assert solution.regions is not None
    assert solution.regions.level.tolist() == [[0, 0, 0], [2, 0, 0]]


def test_of_too_many_nodes_some_are_visited_and_the_top_always(monkeypatch):
    drawn = Drawn([("a", "x", "1980"), ("b", "y", "1984"), ("c", "z", "1992"), ("d", "x", "1996")] * 2, [1, 2] * 4, 0)
    problem = Problem(encoded(drawn), [sf.KAnonymity(3)])
    thorough = Optimal(local_recoding=True).solve(problem)
    monkeypatch.setattr(local_levels, "WORK", 10)
    hasty = Optimal(local_recoding=True).solve(problem)
    for solution in (thorough, hasty):
        assert solution.sizes.min() >= 3
        assert solution.suppressed == 0


def test_where_a_node_loses_as_little_it_is_taken():
    rows = [("a", "x", "1980")] * 2 + [("e", "z", "1996")] * 3
    solution = Optimal(local_recoding=True).solve(Problem(encoded(Drawn(rows, [1] * 5, 0)), [sf.KAnonymity(2)]))
    assert solution.notes[0] == "Levels: town 0, job 0, year 0."


def test_many_leftovers_are_taken_together(monkeypatch):
    monkeypatch.setattr(leftovers, "SINGLY", 1)
    rows = [("a", "x", "1980"), ("a", "x", "1980"), ("b", "y", "1984"), ("c", "z", "1992"), ("d", "x", "1996")]
    table = encoded(Drawn(rows, [1, 2, 1, 1, 1], 0))
    solution = Optimal(local_recoding=True).solve(Problem(table, [sf.DistinctLDiversity(2)]))
    assert solution.class_of.tolist() == [0] * 5


def test_a_node_limit_says_how_far_the_best_may_be():
    drawn = Drawn([("a", "x", "1980"), ("b", "y", "1984"), ("c", "z", "1992"), ("d", "x", "1996")] * 2, [1, 2] * 4, 2)
    table = encoded(drawn)
    proven = Optimal(objective="ncp").solve(Problem(table, [sf.KAnonymity(3)], 2))
    stopped = Optimal(objective="ncp", node_limit=1).solve(Problem(table, [sf.KAnonymity(3)], 2))
    assert "it is proven that no node loses less" in proven.notes[-1]
    assert stopped.notes[-1].startswith("1 of 36 nodes of the lattice were counted")
    assert "not proven to be the best. It loses 1 " in stopped.notes[-1]
    assert "none is better by more than " in stopped.notes[-1]
    search = Optimal(node_limit=1).search(Problem(table, [sf.KAnonymity(3)], 2))
    assert search.loss == 1.0
    assert search.loss_bound is not None
    assert search.loss_bound <= Optimal().search(Problem(table, [sf.KAnonymity(3)], 2)).loss


def test_a_lattice_that_nobody_can_list_is_searched_as_far_as_told():
    draw = np.random.default_rng(5)
    cells = np.minimum(draw.geometric(0.5, (300, 30)) - 1, 4)
    names = [f"a{place}" for place in range(30)]
    frame = pl.DataFrame({name: [TOWNS[cell][0] for cell in cells[:, place]] for place, name in enumerate(names)})
    schema = sf.Schema(quasi_identifying=dict.fromkeys(names, HierarchyTable(TOWNS)))
    problem = Problem(encode(sf.read_table(frame, schema)), [sf.KAnonymity(5)], 30)
    search = Optimal(node_limit=400).search(problem)
    assert search.lattice.size == 4**30
    assert 400 <= search.evaluated < 500
    assert search.loss is not None
    assert search.loss_bound is not None
    assert 0 < search.loss_bound < search.loss < 1
    again = Optimal(node_limit=400).solve(problem)
    assert "the node is not proven to be the best" in again.notes[-1]
    assert again.sizes.min() >= 5
    assert Optimal(time_limit=1e-9).search(problem).chosen == (3,) * 30
    local = Optimal(local_recoding=True, node_limit=50).solve(problem)
    assert local.sizes.min() >= 5
    assert local.suppressed <= 30


@pytest.mark.parametrize("models", ["k=2", "k, t ordered", "k, distinct l"])
@pytest.mark.parametrize("optimal", [Optimal(), Optimal(objective="discernibility"), Optimal(mean="geometric")])
@given(drawn=drawn_tables())
@quickly
def test_what_is_kept_between_nodes_changes_nothing(optimal, models, drawn):
    problem = Problem(encoded(drawn), MODELS[models][0], drawn.limit)
    found = []
    for memory, worthwhile in ((1 << 29, 6), (1 << 29, 1), (-1, 1)):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(lattice_boxes, "MEMORY", memory)
            patched.setattr(lattice_boxes, "WORTHWHILE", worthwhile)
            try:
                search = optimal.search(problem)
            except sf.UnsatisfiableError:
                found.append(None)
            else:
                found.append((search.chosen, search.loss, search.loss_bound))
    assert found[0] == found[1] == found[2]


def test_an_unsatisfiable_problem_is_explained():
    table = encoded(Drawn([("a", "x", "1980")] * 3, [1, 1, 1], 0))
    for optimal in (Optimal(), Optimal(local_recoding=True)):
        with pytest.raises(sf.UnsatisfiableError, match="k-anonymity"):
            optimal.solve(Problem(table, [sf.KAnonymity(4), sf.DistinctLDiversity(2)]))


def test_options_are_checked_together():
    with pytest.raises(sf.PolicyError) as caught:
        Optimal(objective="best", mean="harmonic", time_limit=0, node_limit=2.5, local_recoding="yes")  # type: ignore[arg-type]
    assert len(caught.value.problems) == 5
    with pytest.raises(sf.PolicyError, match="geometric"):
        Optimal(objective="discernibility", mean="geometric")
    with pytest.raises(sf.PolicyError, match="objective of cells"):
        Optimal(objective="average-class-size", local_recoding=True)
    with pytest.raises(sf.PolicyError, match=r"whole number.*\n.*leave out levels"):
        Optimal(levels={"town": 1.5}, local_recoding=True)  # type: ignore[dict-item]
    table = encoded(Drawn([("a", "x", "1980")] * 3, [1, 1, 1], 0))
    with pytest.raises(sf.PolicyError, match=r"'town' has the levels 0 to 3.*\n.*'king' is not a quasi-identifying"):
        Optimal(levels={"town": 4, "king": 0}).solve(Problem(table, [sf.KAnonymity(2)]))
    lone = encoded(Drawn([("a", "x", "1980"), ("b", "x", "1980")], [1, 1], 0))
    with pytest.raises(sf.UnsatisfiableError, match="At least 2 records would have to be left out, and 0 may be"):
        Optimal(levels={"town": 0, "job": 0, "year": 0}).solve(Problem(lone, [sf.KAnonymity(2)]))


COLUMNS = [
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
]


@pytest.fixture(scope="module")
def adult() -> EncodedTable:
    if "SFUMATO_DATA" not in os.environ:
        pytest.skip("SFUMATO_DATA names no folder with the Adult data")
    folder = Path(os.environ["SFUMATO_DATA"]) / "adult"
    frame = pl.read_csv(folder / "arx_adult.csv", separator=";", infer_schema=False)
    hierarchies = {name: sf.read_hierarchy(folder / "hierarchies" / f"adult_hierarchy_{name}.csv") for name in COLUMNS}
    return encode(sf.read_table(frame, sf.Schema(quasi_identifying=hierarchies)))


@pytest.mark.parametrize(
    ("limit", "levels", "suppressed", "score"),
    [
        (1508, (0, 3, 0, 0, 2, 1, 1, 2, 0), 1346, 0.2419),
        (30162, (0, 3, 0, 0, 2, 1, 1, 1, 0), 2553, 0.22041192847984292),
    ],
)
def test_the_optima_that_arx_finds_on_adult(adult, limit, levels, suppressed, score):
    optimal, problem = Optimal(mean="geometric"), Problem(adult, [sf.KAnonymity(5)], limit)
    search, solution = optimal.search(problem), optimal.solve(problem)
    assert search.chosen == levels
    assert solution.suppressed == suppressed
    # Its scores are sums of rounded parts.
    assert search.loss == pytest.approx(score, abs=1e-9 if score == 0.22041192847984292 else 5e-5)
    assert search.loss_bound == search.loss
    assert search.evaluated < 500
    assert search.lattice.size == 12_960


def test_local_recoding_of_adult_loses_less_than_arx(adult):
    solution = Optimal(local_recoding=True).solve(Problem(adult, [sf.KAnonymity(5)], 3))
    losses = measure_losses(recode(adult, solution), 5)
    assert losses.suppressed == 0
    assert solution.sizes.min() >= 5
    assert losses.loss_metric / adult.height / 9 <= 0.0524
