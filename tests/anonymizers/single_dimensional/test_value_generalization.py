"""Top-down and bottom-up value generalization: small tables by hand, and what every solution must be."""

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from anonymizers.single_dimensional.single_dimensional_checks import (
    allowable,
    check,
    cut_of,
    encoded,
    solve,
    subtree_parts,
    tables,
)
from examples import examples
from naive.full_domain import Problem as Plain
from naive.full_domain import arithmetic, collapse, model
from naive.single_dimensional import best_cuts
from sfumato.anonymizers import single_dimensional as subtree_forest
from sfumato.anonymizers.single_dimensional import ValueGeneralization
from sfumato.errors import PolicyError, UnsatisfiableError
from sfumato.metrics import measure_losses
from sfumato.models import DistinctLDiversity, EntropyLDiversity, KAnonymity, TCloseness
from sfumato.recoding import recode
from sfumato.table.encoding import EncodedTable, encode

ADULT = pytest.mark.skipif("SFUMATO_DATA" not in os.environ, reason="needs the real tables: set SFUMATO_DATA")
BOTH = pytest.mark.parametrize("direction", ["top-down", "bottom-up"])


def published(table: EncodedTable, anonymizer: ValueGeneralization, k: int, limit: int = 0) -> list[list[str | None]]:
    """The published column of every attribute, record by record; suppressed records are left out."""
    found = solve(table, [KAnonymity(k)], anonymizer, limit)
    own = found.class_of[found.class_of >= 0]
    return [column.labels.gather(column.per_class[own]).to_list() for column in recode(table, found).columns]


@BOTH
def test_a_subtree_is_generalized_while_its_sibling_is_not(direction):
    place = ["v0", "v1"] + ["v3"] * 2 + ["v4"] * 2
    table = encoded(place, [1] * 6, ["a"] * 6, ["x"] * 6)
    column = published(table, ValueGeneralization(direction), 2)[0]
    assert column == ["lower", "lower", "v3", "v3", "v4", "v4"]


@BOTH
def test_the_missing_value_is_a_child_of_the_top(direction):
    table = encoded([None] * 3 + ["v3"] * 3, [None] * 3 + [1] * 3, [None] * 3 + ["a"] * 3, ["x"] * 6)
    assert published(table, ValueGeneralization(direction), 3) == [
        [None] * 3 + ["v3"] * 3,
        [None] * 3 + ["1"] * 3,
        [None] * 3 + ["a"] * 3,
    ]
    few = encoded([None] + ["v3"] * 5, [None] + [1] * 5, [None] + ["a"] * 5, ["x"] * 6)
    assert published(few, ValueGeneralization(direction), 2) == [["*"] * 6] * 3


@BOTH
def test_numbers_grow_their_own_intervals(direction):
    numbers = [1, 2, 3, 50, 51, 52, 90, 90, 90]
    table = encoded(["v0"] * 9, numbers, ["a"] * 9, ["x"] * 9)
    column = published(table, ValueGeneralization(direction), 3)[1]
    assert column == ["[1..3]"] * 3 + ["[50..52]"] * 3 + ["90"] * 3


@BOTH
def test_categories_without_a_hierarchy_get_two_levels_and_it_is_said(direction):
    table = encoded(["v0"] * 6, [1] * 6, list("aabbbc"), ["x"] * 6)
    found = solve(table, [KAnonymity(2)], ValueGeneralization(direction))
    assert [note for note in found.notes if "'word'" in note and "No hierarchy" in note]
    assert published(table, ValueGeneralization(direction), 2)[2] == ["*"] * 6
    assert published(table, ValueGeneralization(direction), 1)[2] == list("aabbbc")


@BOTH
def test_outsiders_are_suppressed_where_that_is_allowed(direction):
    place = ["v0"] * 40 + ["v3"] * 40 + ["v1", "v5"]
    table = encoded(place, [1] * 82, ["a"] * 82, ["x"] * 82)
    found = solve(table, [KAnonymity(2)], ValueGeneralization(direction), 2)
    assert (found.suppressed, found.count) == (2, 2)
    assert solve(table, [KAnonymity(2)], ValueGeneralization(direction), 1).suppressed == 0


@given(tables(), st.sampled_from(["top-down", "bottom-up"]), st.integers(1, 4), st.sampled_from([0.0, 0.2, 0.6]))
@examples(100)
def test_every_solution_is_right(table, direction, k, share):
    models = [KAnonymity(k), EntropyLDiversity(1.3), TCloseness(0.7)]
    limit = int(share * table.height)
    try:
        found = solve(table, models, ValueGeneralization(direction), limit)
    except UnsatisfiableError:
        assert table.height < k or len(np.unique(table.sensitive_codes)) < 3
        return
    check(table, models, found, limit)
    assert found.suppressed == 0 or found.suppressed >= k or found.cover is not None


@given(tables(), st.sampled_from(["top-down", "bottom-up"]), st.integers(1, 4))
@examples(80)
def test_no_specialization_is_left(table, direction, k):
    models = [KAnonymity(min(k, table.height)), TCloseness(0.6)]
    found = solve(table, models, ValueGeneralization(direction))
    assert allowable(table, models, cut_of(table, found), subtree_parts) == []


@given(tables(), st.sampled_from(["top-down", "bottom-up"]), st.randoms(use_true_random=False))
@examples(60)
def test_the_order_of_the_input_does_not_count(table, direction, random):
    order = np.array(random.sample(range(table.height), table.height))
    shuffled = EncodedTable(table.attributes, table.codes[order], table.sensitive, table.sensitive_codes[order])
    for limit in (0, table.height // 3):
        found, again = (
            solve(each, [KAnonymity(2), TCloseness(0.8)], ValueGeneralization(direction), limit)
            for each in (table, shuffled)
        )
        assert np.array_equal(found.class_of[order] >= 0, again.class_of >= 0)
        kept = again.class_of >= 0
        for before, after in ((found.regions.low, again.regions.low), (found.regions.high, again.regions.high)):
            assert np.array_equal(before[found.class_of[order][kept]], after[again.class_of[kept]])


@given(tables(), st.sampled_from(["top-down", "bottom-up"]))
@examples(40)
def test_suppression_never_loses_more(table, direction):
    models = [KAnonymity(3)] if table.height >= 3 else [KAnonymity(1)]
    losses = [
        measure_losses(recode(table, solve(table, models, ValueGeneralization(direction), limit)), 3).normalized_ncp
        for limit in (0, table.height // 3)
    ]
    assert losses[1] <= losses[0] + 1e-9


LETTERS = (("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*"))


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), min_size=3, max_size=25),
    st.sampled_from(["top-down", "bottom-up"]),
    st.integers(1, 3),
    st.sampled_from([0, 4]),
)
@examples(80)
def test_never_better_than_the_best_of_all_cuts_and_best_for_one_attribute(rows, direction, k, limit):
    quasi = dict.fromkeys(("one", "other"), sf.groups({"ab": ["a", "b"], "cd": ["c", "d"]}))
    frame = pl.DataFrame(rows, schema=["one", "other"], orient="row")
    for names in (["one", "other"], ["one"]):
        schema = sf.Schema(quasi_identifying={name: quasi[name] for name in names})
        table = encode(sf.read_table(frame.select(names), schema))
        found = solve(table, [KAnonymity(k)], ValueGeneralization(direction), limit)
        lost = measure_losses(recode(table, found), k).loss_metric / (table.height * len(names))
        plain = Plain(collapse(frame.select(names).rows()), [LETTERS] * len(names), [model("k-anonymity", k=k)], limit)
        best = best_cuts(plain, arithmetic)
        assert best is not None
        assert lost >= best[1] - 1e-9
        if len(names) == 1 and not limit:
            assert lost == pytest.approx(best[1])


def test_bottom_up_starts_numbers_from_few_intervals(monkeypatch):
    monkeypatch.setattr(subtree_forest, "INTERVALS", 4)
    numbers = list(range(64))
    table = encoded(["v0"] * 64, numbers, ["a"] * 64, ["x"] * 64)
    found = solve(table, [KAnonymity(2)], ValueGeneralization("bottom-up"))
    assert found.count == 32


def test_an_unknown_direction_is_refused():
    with pytest.raises(PolicyError, match="direction must be one of top-down, bottom-up"):
        ValueGeneralization(direction="sideways")


@BOTH
def test_too_few_records_is_unsatisfiable(direction):
    with pytest.raises(UnsatisfiableError, match="k = 9"):
        solve(encoded(["v0"], [1], ["a"], ["x"]), [KAnonymity(9)], ValueGeneralization(direction))


@BOTH
def test_progress_rises_to_the_end(direction):
    seen: list[tuple[str, int, int]] = []
    table = encoded(["v0", "v1"] * 20, list(range(40)), ["a"] * 40, ["x"] * 40)
    solve(table, [KAnonymity(3)], ValueGeneralization(direction), progress=lambda *step: seen.append(step))
    assert seen
    assert seen[-1][1] == seen[-1][2]


@pytest.mark.slow
@ADULT
@BOTH
def test_adult_with_its_hierarchies(direction):
    folder = Path(os.environ["SFUMATO_DATA"]) / "adult"
    frame = pl.read_csv(folder / "arx_adult.csv", separator=";")
    tree = folder / "hierarchies"
    quasi = {
        name: sf.read_hierarchy(tree / f"adult_hierarchy_{name}.csv", separator=";")
        for name in frame.columns
        if name != "occupation"
    }
    table = encode(sf.read_table(frame, sf.Schema(quasi_identifying=quasi, sensitive=["occupation"])))
    models = [KAnonymity(5), DistinctLDiversity(3)]
    limit = table.height // 20
    losses = []
    for spare in (0, limit):
        found = solve(table, models, ValueGeneralization(direction), spare)
        check(table, models, found, spare)
        losses.append(measure_losses(recode(table, found), 5).normalized_ncp)
    assert losses[1] < 0.21 < losses[0] < 0.8
