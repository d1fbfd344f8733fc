"""The guarantee itself: what neighbouring tables make likely, how far they lie apart, and what noise costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import beta, chi2

import sfumato as sf
from sfumato.kinds.noisy_counts.check import Budget, BudgetStep, deviation, epsilon_of, is_within, step_cost
from sfumato.kinds.noisy_counts.make import PrivateTask, _Drawing, private_task, solve_private
from sfumato.kinds.noisy_counts.policy import Counting
from sfumato.kinds.private.make import NoiseCore

pytest.importorskip("opendp", reason="OpenDP is not installed; pip install 'sfumato[dp]'")

PURE, GAUSSIAN = sf.DifferentialPrivacy(1.0), sf.DifferentialPrivacy(1.0, 1e-3)
FALSE_ALARM = 1e-9
"""How often a correct mechanism fails a test below, at most, over all events together."""


def people(rows: list[tuple[str, str]], who: list[int] | None = None) -> sf.Table:
    schema: dict[str, Any] = {
        "quasi_identifying": {"sex": sf.Attribute("categorical", domain=("f", "m"))},
        "sensitive": {"ill": sf.Attribute("categorical", domain=("no", "yes"))},
    }
    frame = pl.DataFrame({"sex": [row[0] for row in rows], "ill": [row[1] for row in rows]})
    if who is not None:
        frame, schema["person"] = frame.with_columns(who=pl.Series(who)), "who"
    return sf.read_table(frame, sf.Schema(**schema))


def violations(
    here: np.ndarray[Any, Any], there: np.ndarray[Any, Any], epsilon: float, delta: float, events: int
) -> int:
    """Count events that are surely likelier than e^ε times, plus δ, what the other table makes them."""
    alarm = FALSE_ALARM / (4 * events)
    found = 0
    for one, other in ((here, there), (there, here)):
        draws = len(one)
        for event in range(events):
            seen, beside = int((one == event).sum()), int((other == event).sum())
            low = beta.ppf(alarm, seen, draws - seen + 1) if seen else 0.0
            high = beta.ppf(1 - alarm, beside + 1, draws - beside) if beside < draws else 1.0
            found += low > math.exp(epsilon) * high + delta
    return found


def outcomes(scale: float, counts: list[int], core: NoiseCore, draws: int) -> np.ndarray[Any, Any]:
    """Draw many times; an outcome is one of five ranges of the sum of both cells."""
    drawn = core.draw(np.tile(np.array(counts, dtype=np.int64), draws), scale).reshape(draws, -1)
    sums = drawn.sum(axis=1)
    return np.digitize(sums, [-4, 0, 2, 6])


@pytest.mark.parametrize("model", [PURE, GAUSSIAN])
def test_draws_of_neighbours_are_as_alike_as_promised(model):
    core = NoiseCore.of(model)
    budget = core.budget(model)
    # A person with one record in one cell of each of two marginals: both cells change by one.
    scale = 2.0 if not model.delta else math.sqrt(1 / float(budget))
    assert Fraction(core.counts_cost(2, scale * (1 + 1e-12))) <= budget
    draws = 5_000
    here, there = (outcomes(scale, counts, core, draws) for counts in ([0, 0], [1, 1]))
    assert violations(here, there, model.epsilon, model.delta, 5) == 0
    # The same test finds noise that was meant for a smaller change.
    here, there = (outcomes(scale / 4, counts, core, draws) for counts in ([0, 0], [1, 1]))
    assert violations(here, there, model.epsilon, model.delta, 5) > 0


@pytest.mark.slow
@pytest.mark.parametrize("choice", ["data", "declared"])
def test_whole_releases_of_neighbours_are_as_alike_as_promised(choice):
    rows = [("f", "no"), ("m", "yes"), ("m", "no")]
    model = sf.DifferentialPrivacy(2.0)
    counting = Counting(choice=choice, complete=("sex", "ill"), synthetic=True)
    tables = [people(rows), people([*rows, ("f", "yes")])]
    found = []
    for table in tables:
        task = private_task(table, model, counting)
        solved = [solve_private(task).published for _ in range(1_500)]
        # What a recipient might look at first: the fitted total, and how many synthetic ill women there are.
        told = [min(4, int(each.total)) + 5 * min(2, _ill_women(each)) for each in solved]
        found.append(np.array(told))
    assert violations(*found, model.epsilon, 0.0, 15) == 0


def _ill_women(published: Any) -> int:
    return published.synthetic.filter((pl.col("sex") == "f") & (pl.col("ill") == "yes")).height


@pytest.mark.parametrize("model", [PURE, GAUSSIAN])
def test_a_choice_between_neighbours_is_as_alike_as_promised(model):
    core = NoiseCore.of(model)
    budget = float(core.budget(model))
    scale = 2.0 if not model.delta else 1 / math.sqrt(2 * budget)
    scores = [np.array([0, 1, 0]), np.array([1, 0, 1])]
    for factor, alike in ((1, True), (8, False)):
        # What `choose` asks, made once for all draws.
        largest = core._largest(scale / factor)
        draws = [np.array([largest(each.tolist()) for _ in range(1_500)]) for each in scores]
        assert bool(violations(*draws, model.epsilon, model.delta, 3)) is not alike


CELLS = list(product("fm", ("no", "yes")))
SETS = (("sex",), ("ill",), ("sex", "ill"))


def small_worlds(most: int) -> Iterator[tuple[list[tuple[str, str]], list[tuple[str, str]]]]:
    """All tables of two records, and all that a person with up to `most` more records makes of them."""
    for others in combinations_with_replacement(CELLS, 2):
        for own in combinations_with_replacement(CELLS, most):
            yield list(others), [*others, *own]


@pytest.mark.parametrize("most", [1, 2])
def test_tables_of_neighbours_differ_by_no_more_than_noise_is_drawn_for(most):
    model = sf.DifferentialPrivacy(1.0, max_records=most)
    sums, squares = [], []
    for without, having in small_worlds(most):
        here = people(without, list(range(2)))
        there = people(having, [*range(2), *[7] * most])
        vectors = [
            np.concatenate([task.counts(names).ravel() for names in SETS])
            for task in (private_task(table, model, Counting(marginals=SETS)) for table in (here, there))
        ]
        sums.append(np.abs(vectors[1] - vectors[0]).sum())
        squares.append(((vectors[1] - vectors[0]) ** 2).sum())
    for given, worst in ((PURE, max(sums)), (GAUSSIAN, math.sqrt(max(squares)))):
        core = NoiseCore.of(sf.DifferentialPrivacy(given.epsilon, given.delta, most))
        assert core._distance(len(SETS)) == pytest.approx(worst)
        assert core._distance(len(SETS)) >= worst


def test_one_record_changes_a_score_by_at_most_one():
    noisy = {("sex",): np.array([3, 1, 0]), ("ill",): np.array([2, 2, -1])}

    def score(rows: list[tuple[str, str]]) -> int:
        task = private_task(people(rows), PURE, Counting())
        return _Drawing(NoiseCore.of(PURE), task, Fraction(1))._score(("sex", "ill"), noisy, 4.0, 3.0)

    changes = {abs(score(having) - score(without)) for without, having in small_worlds(1)}
    assert changes == {1}


def many(count: int = 400) -> sf.Table:
    draw = np.random.default_rng(3)
    return people([CELLS[cell] for cell in draw.integers(0, 4, count)])


@pytest.mark.parametrize("model", [PURE, GAUSSIAN, sf.DifferentialPrivacy(0.01), sf.DifferentialPrivacy(8, 1e-9)])
@pytest.mark.parametrize("counting", [Counting(), Counting(choice="declared"), Counting(marginals=SETS)])
def test_the_budget_is_spent_and_not_more(model, counting):
    solved = solve_private(private_task(many(), model, counting))
    budget = solved.budget
    assert is_within(budget, model)
    cost = float(sum(step_cost(budget.mechanism, step, model.records) for step in budget.steps))
    reached = cost if not model.delta else epsilon_of(cost, model.delta)
    assert reached == pytest.approx(model.epsilon, rel=1e-4)
    # What OpenDP says that each step costs is what a recipient works out.
    for step in budget.steps:
        assert float(step_cost(budget.mechanism, step, 1)) == pytest.approx(step.spent, rel=1e-9)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("epsilon", [1e-12, 500.0])
def test_budgets_of_any_size_are_kept(epsilon, delta):
    model = sf.DifferentialPrivacy(epsilon, delta)
    assert is_within(solve_private(private_task(many(), model, Counting())).budget, model)


@pytest.mark.parametrize("epsilon", [1e-300, 5e-324])
def test_a_budget_for_which_no_noise_is_large_enough_is_refused(epsilon):
    task = private_task(many(), sf.DifferentialPrivacy(epsilon), Counting())
    with pytest.raises(sf.PolicyError, match="epsilon: is so small"):
        solve_private(task)


def test_pairs_that_are_chosen_by_data_cost_a_fifth():
    frame = pl.DataFrame({"a": ["x", "y"] * 100, "b": ["x", "y"] * 100, "c": ["x", "x", "y", "y"] * 50})
    domain = sf.Attribute("categorical", domain=("x", "y"))
    table = sf.read_table(frame, sf.Schema(quasi_identifying=dict.fromkeys("abc", domain)))
    solved = solve_private(private_task(table, sf.DifferentialPrivacy(5.0), Counting(two_way=1)))
    assert [step.what for step in solved.budget.steps] == ["counts", "choice", "counts"]
    assert solved.budget.steps[1].spent == pytest.approx(1.0)
    # a and b say the same of 200 people; with so much budget nothing else can be chosen.
    assert solved.published.sets[3:] == (("a", "b"),)


@pytest.mark.parametrize(("rho", "delta"), [(0.02, 1e-6), (1e-4, 1e-9), (2.0, 1e-3), (0.5, 1e-12)])
def test_a_recipient_turns_rho_into_epsilon_as_opendp_does(rho, delta):
    core = NoiseCore.of(GAUSSIAN)
    assert epsilon_of(rho, delta) == pytest.approx(core._epsilon(1 / math.sqrt(2 * rho), delta), rel=1e-6)


@pytest.mark.parametrize("model", [sf.DifferentialPrivacy(0.4), sf.DifferentialPrivacy(0.4, 1e-6)])
def test_the_error_of_counts_is_that_of_theory(model):
    core = NoiseCore.of(model)
    scale = 5.0
    drawn = core.draw(np.zeros(20_000, dtype=np.int64), scale)
    expected = deviation(core.mechanism, scale) ** 2
    # Fourth moments: 3σ⁴ of Gaussian noise, 6σ⁴ of Laplace.
    spread = math.sqrt((2 if model.delta else 5) / len(drawn))
    assert (drawn.astype(float) ** 2).mean() == pytest.approx(expected, rel=6 * spread)
    assert abs(drawn.mean()) < 6 * math.sqrt(expected / len(drawn))


def test_discrete_laplace_noise_has_its_distribution():
    scale, draws = 1.5, 20_000
    drawn = NoiseCore.of(PURE).draw(np.zeros(draws, dtype=np.int64), scale)
    ratio = math.exp(-1 / scale)
    values = np.arange(-6, 7)
    likely = (1 - ratio) / (1 + ratio) * ratio ** np.abs(values)
    seen = np.array([(drawn == value).sum() for value in values])
    rest, rest_likely = draws - seen.sum(), 1 - likely.sum()
    statistic = (((seen - draws * likely) ** 2) / (draws * likely)).sum() + (rest - draws * rest_likely) ** 2 / (
        draws * rest_likely
    )
    assert statistic < chi2.ppf(1 - 1e-9, len(values))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda steps: [BudgetStep("counts", 3, 2.9, 1.0)],
        lambda steps: [BudgetStep("counts", 3, 3.0, 1.0), BudgetStep("choice", 1, 1e6, 1e-3)],
        lambda steps: [BudgetStep("counts", 3, 3.0, 0.5)],
    ],
)
def test_a_budget_that_costs_more_is_refused(spoil: Callable[[Any], list[BudgetStep]]):
    good = Budget("discrete Laplace", (BudgetStep("counts", 3, 3.0, 1.0),))
    assert is_within(good, PURE)
    assert not is_within(Budget("discrete Laplace", tuple(spoil(good.steps))), PURE)
    assert not is_within(Budget("discrete Gaussian", good.steps), PURE)


def test_a_person_counts_with_so_many_records_at_most():
    rows = [CELLS[place % 4] for place in range(40)]
    table = people(rows, [place // 8 for place in range(40)])
    seen = set()
    for _ in range(20):
        task = private_task(table, sf.DifferentialPrivacy(1, max_records=3), Counting())
        assert len(task.codes) == 15
        assert task.beyond == 25
        seen.add(task.codes.tobytes())
    # Which records count is drawn anew each time.
    assert len(seen) > 1


def test_records_of_others_do_not_decide_which_of_mine_count():
    alone = private_task(people([CELLS[0]] * 3, [1, 1, 1]), sf.DifferentialPrivacy(1, max_records=3), Counting())
    beside = private_task(
        people([*[CELLS[0]] * 3, *[CELLS[3]] * 9], [1, 1, 1, *[2] * 9]),
        sf.DifferentialPrivacy(1, max_records=3),
        Counting(),
    )
    assert isinstance(alone, PrivateTask)
    assert (beside.counts(("sex", "ill")) - alone.counts(("sex", "ill"))).sum() == 3
