"""Private samples: every outcome of small tables and their neighbours, scores, levels, draws."""

from __future__ import annotations

import math
import os
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import PolicyError
from sfumato.kinds.private_sample import make as sampled
from sfumato.kinds.private_sample.check import GRAINS, STEP, WHOLE, delta_of, largest_share
from sfumato.kinds.private_sample.make import (
    Ladder,
    candidate_levels,
    draw_share,
    sample_task,
    scores_of,
    solve_sample,
    split_of,
)
from sfumato.kinds.private_sample.policy import SampleSettings
from sfumato.table.schema import Kind

CELLS = list(product("fm", ("no", "yes")))
ROLES: dict[str, Any] = {
    "quasi_identifying": {"sex": sf.Attribute("categorical", domain=("f", "m"))},
    "sensitive": {"ill": sf.Attribute("categorical", domain=("no", "yes"))},
}


def people(rows: list[tuple[str, str]], who: list[int] | None = None) -> sf.Table:
    frame = pl.DataFrame({"sex": [row[0] for row in rows], "ill": [row[1] for row in rows]}, schema_overrides=TEXTS)
    if who is not None:
        return sf.read_table(frame.with_columns(who=pl.Series(who)), sf.Schema(**ROLES, person="who"))
    return sf.read_table(frame, sf.Schema(**ROLES))


TEXTS = {"sex": pl.String, "ill": pl.String}


def task_of(rows: list[tuple[str, str]], **settings: Any) -> sampled.SampleTask:
    return sample_task(people(rows), sf.DifferentialPrivacy(2.0, 1e-2), SampleSettings(**settings))


def choice(scores: np.ndarray[Any, Any], epsilon: float) -> list[float]:
    """Return the chances of permute-and-flip, by trying every order."""
    steps = [math.exp(epsilon * float(score - scores.max()) / STEP) for score in scores]
    chances = [0.0] * len(scores)
    for order in permutations(range(len(scores))):
        left = 1.0
        for place in order:
            chances[place] += left * steps[place]
            left *= 1 - steps[place]
    return [chance / math.factorial(len(scores)) for chance in chances]


def outcomes(
    rows: list[tuple[str, str]], k: int, share: Fraction, searched: float, *, by_sample: bool = False
) -> dict[Any, float]:
    """Return the chance of every release of a table; `by_sample`: levels are chosen by the records that were drawn."""
    found: dict[Any, float] = defaultdict(float)
    task = task_of(rows)
    nodes = candidate_levels(task)
    chances = choice(scores_of(task, nodes, -(-k // share)), searched)
    for kept in product((False, True), repeat=len(rows)):
        chance = math.prod(float(share) if each else 1 - float(share) for each in kept)
        sample = [row for row, each in zip(rows, kept, strict=True) if each]
        if by_sample:
            scores = scores_of(task_of(sample), nodes, k) if sample else np.zeros(len(nodes), dtype=np.int64)
            chances = choice(scores, searched)
        for levels, chosen in zip(nodes, chances, strict=True):
            shown = Counter(
                tuple("*" if level else value for level, value in zip(levels, row, strict=True)) for row in sample
            )
            release = frozenset((row, count) for row, count in shown.items() if count >= k)
            found[levels, release] += chance * chosen
    return found


def distance(one: dict[Any, float], other: dict[Any, float], epsilon: float) -> float:
    return math.fsum(max(0.0, chance - math.exp(epsilon) * other.get(what, 0.0)) for what, chance in one.items())


@pytest.mark.parametrize(("epsilon", "searched", "k"), [(1.0, 2.0, 3), (0.3, 3.0, 2)])
def test_every_release_of_neighbours_is_as_likely_as_promised(epsilon, searched, k):
    share = largest_share(Fraction(epsilon))
    delta = delta_of(k, share, Fraction(epsilon))
    worst = 0.0
    for rows in combinations_with_replacement(CELLS, k):
        without = outcomes(list(rows), k, share, searched)
        for row in CELLS:
            with_it = outcomes([*rows, row], k, share, searched)
            for one, other in ((with_it, without), (without, with_it)):
                worst = max(worst, distance(one, other, epsilon + searched))
    assert 0 < worst <= delta * (1 + 1e-9)


def test_levels_that_the_drawn_records_choose_break_the_promise():
    # Why levels are chosen by all records: of those that were drawn, chosen levels tell which they are.
    epsilon, searched, k = 1.0, 2.0, 3
    share = largest_share(Fraction(epsilon))
    rows = [("f", "no")] * 3
    found = []
    for by_sample in (False, True):
        without = outcomes(rows, k, share, searched, by_sample=by_sample)
        with_it = outcomes([*rows, ("f", "no")], k, share, searched, by_sample=by_sample)
        found.append(distance(with_it, without, epsilon + searched))
    assert found[0] <= delta_of(k, share, Fraction(epsilon)) * (1 + 1e-9)
    assert found[1] > found[0]


ROWS = st.lists(st.sampled_from(CELLS), min_size=1, max_size=12)


@given(ROWS, st.sampled_from(CELLS), st.integers(1, 8), st.sampled_from(["loss", "precision"]))
def test_a_record_more_raises_scores_by_little_and_lowers_none(rows, row, enough, objective):
    before, after = task_of(rows, objective=objective), task_of([*rows, row], objective=objective)
    nodes = candidate_levels(before)
    change = scores_of(after, nodes, enough) - scores_of(before, nodes, enough)
    assert change.min() >= 0
    assert change.max() <= STEP


@given(ROWS, st.integers(1, 6))
def test_scores_are_what_is_kept_of_large_classes(rows, enough):
    task = task_of(rows)
    nodes = candidate_levels(task)
    for levels, score in zip(nodes, scores_of(task, nodes, enough), strict=True):
        classes = Counter(
            tuple("*" if level else value for level, value in zip(levels, row, strict=True)) for row in rows
        )
        kept = sum(WHOLE * (not level) for level in levels) // 2
        assert score == sum(kept * max(0, min(size, 2 * size - enough)) for size in classes.values())


def test_records_are_drawn_by_secure_bits_with_exactly_their_chance(monkeypatch: pytest.MonkeyPatch):
    share = Fraction(3, 8)
    border = int(share * GRAINS) << 11
    bits = np.array([0, border - 1, border, 2**64 - 1], dtype=np.uint64).tobytes()
    monkeypatch.setattr(os, "urandom", lambda count: bits[:count])
    assert draw_share(4, share).tolist() == [True, True, False, False]
    monkeypatch.undo()
    kept = draw_share(100_000, share).mean()
    # Eight standard deviations.
    assert abs(kept - 0.375) < 8 * math.sqrt(0.375 * 0.625 / 100_000)


def test_a_sample_has_only_classes_of_k_and_no_more_than_was_drawn():
    rows = [cell for cell in CELLS for _ in range(300)]
    task = task_of([*rows, ("m", "yes")])
    solved = solve_sample(task)
    published, budget = solved.published, solved.budget
    assert published.smallest() >= budget.k
    assert published.data.height <= len(task.codes)
    assert budget.is_within(task.model)
    named = sample_task(people(rows), task.model, SampleSettings(levels={"sex": 1, "ill": 0}))
    alone = solve_sample(named)
    assert alone.budget.scale is None
    assert alone.budget.epsilon == 2.0
    assert alone.published.levels == {"sex": 1, "ill": 0}
    assert alone.published.data["sex"].unique().to_list() == ["*"]


def test_a_table_too_small_for_k_becomes_a_release_without_records():
    solved = solve_sample(task_of([("f", "no")]))
    assert solved.published.data.height == 0
    assert solved.published.smallest() is None


def test_one_record_of_each_person_counts():
    table = people([("f", "no"), ("f", "no"), ("m", "yes")], [1, 1, 2])
    task = sample_task(table, sf.DifferentialPrivacy(1, 1e-3, max_records=1), SampleSettings())
    assert len(task.codes) == 2
    assert task.beyond == 1


def test_of_too_many_nodes_some_are_drawn_without_looking(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sampled, "MOST_NODES", 3)
    nodes = candidate_levels(task_of([("f", "no")]))
    assert len(set(nodes)) == 3
    assert all(max(levels) <= 1 for levels in nodes)


def test_budgets_never_exceed_epsilon():
    for search, share in ((0.1, None), (0.3, 0.2), (0.999, 0.01)):
        task = sample_task(people([("f", "no")]), sf.DifferentialPrivacy(12.3, 1e-3), SampleSettings(search, share))
        beta, epsilon, scale = split_of(task)
        assert scale is not None
        assert Fraction(STEP) / Fraction(scale) + epsilon <= Fraction(12.3)
        assert beta <= min(largest_share(epsilon), Fraction(share or 0.5))


@pytest.mark.parametrize(
    ("attribute", "bins", "values", "labels"),
    [
        (
            sf.Attribute(hierarchy=sf.intervals(5, 10), domain=(0, 20)), None, [-3.0, 4.0, 5.0, 20.0, 99.0, None],
            [
                ["[0..5)", "[0..5)", "[5..10)", "[20..25)", "[20..25)", None],
                ["[0..10)", "[0..10)", "[0..10)", "[20..30)", "[20..30)", None],
                ["*"] * 6,
            ],
        ),
        (
            sf.Attribute(hierarchy=sf.intervals([0, 5, 10], [0, 10])), None, [-3.0, 5.0, 12.0],
            [["[0..5)", "[5..10)", "[5..10)"], ["[0..10)"] * 3, ["*"] * 3],
        ),
        (
            sf.Attribute(hierarchy=sf.intervals([18, 65], open_ends=True)), None, [3.0, 18.0, 65.0, None],
            [["<18", "[18..65)", ">=65", None], ["*"] * 4],
        ),
        (
            sf.Attribute(domain=(0, 1)), 2, [0.2, 0.5, 7.0, None],
            [["[0..0.5)", "[0.5..1]", "[0.5..1]", None], ["*"] * 4],
        ),
    ],
)  # fmt: skip
def test_numbers_are_on_every_level_what_is_declared(attribute, bins, values, labels):
    ladder = Ladder("x", Kind.NUMERIC, attribute, bins)
    codes = ladder.codes(pl.Series(values, dtype=pl.Float64))
    found = [
        ladder.domain(level).column("x", ladder.node_of[level, codes]).to_list() for level in range(ladder.height + 1)
    ]
    assert found == labels
    kept = ladder.kept("loss")
    assert kept[-1].max() == 0
    assert kept.max() <= WHOLE
    assert (np.diff(kept[:, codes], axis=0) <= 0).all()


def test_texts_outside_of_the_domain_are_missing_until_all_are_alike():
    tree = sf.groups({"sick": ["flu", "cold"], "well": ["none"]})
    ladder = Ladder("ill", Kind.CATEGORICAL, sf.Attribute(hierarchy=tree), None)
    codes = ladder.codes(pl.Series(["flu", "plague", None, "none"]))
    shown = [ladder.domain(h).column("ill", ladder.node_of[h, codes]).to_list() for h in range(ladder.height + 1)]
    assert shown == [["flu", None, None, "none"], ["sick", None, None, "well"], ["*"] * 4]


def test_all_mistakes_come_at_once():
    frame = pl.DataFrame({"age": ["1", "2"], "sex": ["f", "m"], "day": ["2020-01-01", "2020-01-02"]})
    schema = sf.Schema(
        quasi_identifying={
            "age": sf.Attribute("numeric", hierarchy=sf.intervals(5)),
            "sex": sf.Attribute("categorical"),
            "day": sf.Attribute("date"),
        }
    )
    settings = SampleSettings(search=1.0, share=2.0, levels={"where": 1}, bins={"who": 2})
    with pytest.raises(PolicyError) as caught:
        sample_task(sf.read_table(frame, schema), sf.DifferentialPrivacy(1, max_records=3), settings)
    told = "\n".join(caught.value.problems)
    for part in (
        "delta: must be above 0",
        "max_records: bounds the records of a person, but no column says who is who",
        "levels: there is no quasi-identifying or sensitive column 'where'",
        "bins: there is no quasi-identifying or sensitive column 'who'",
        "search: must be above 0 and below 1",
        "share: must be from 0.001 to below 1",
        "column 'age': has intervals of a width but no range",
        "column 'sex': its domain would have to be read off the data",
        "column 'day': is a date",
    ):
        assert part in told
    with pytest.raises(PolicyError, match="max_records: must be 1"):
        sample_task(people([("f", "no")], [1]), sf.DifferentialPrivacy(1, 1e-3, max_records=2), SampleSettings())
    with pytest.raises(PolicyError, match="levels: of column 'sex' are from 0 to 1"):
        task_of([("f", "no")], levels={"sex": 2})
    with pytest.raises(PolicyError, match=r"epsilon: leaves the sample less than 0\.01"):
        split_of(sample_task(people([("f", "no")]), sf.DifferentialPrivacy(0.01, 1e-3), SampleSettings()))
