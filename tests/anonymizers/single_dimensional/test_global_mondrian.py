"""Global Mondrian: the thesis's worked table, the plain twin, and what every solution must be."""

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
    range_parts,
    solve,
    tables,
)
from examples import examples
from naive.mondrian import mondrian_single_dimensional
from sfumato.anonymizers.single_dimensional import GlobalMondrian
from sfumato.errors import PolicyError, UnsatisfiableError
from sfumato.metrics import measure_losses
from sfumato.models import DistinctLDiversity, KAnonymity, ProbabilisticLDiversity, TCloseness
from sfumato.recoding import recode
from sfumato.table.encoding import EncodedTable, encode

ADULT = pytest.mark.skipif("SFUMATO_DATA" not in os.environ, reason="needs the real tables: set SFUMATO_DATA")

THESIS = {
    "age": [35, 35, 36, 37, 37, 38],
    "sex": list("FMFFMF"),
    "zip": [23111, 23112, 23111, 23110, 23112, 23111],
}


def thesis_table(order: tuple[str, ...]) -> EncodedTable:
    return encode(sf.read_table(pl.DataFrame(THESIS), sf.Schema(quasi_identifying=list(order))))


@pytest.mark.parametrize("choice", ["least-loss", "widest"])
@pytest.mark.parametrize("rule", ["median", "median+fallback", "anywhere"])
def test_thesis_table_2_12_a(rule, choice):
    table = thesis_table(("sex", "zip", "age"))
    found = solve(table, [KAnonymity(2)], GlobalMondrian(rule, choice))
    assert [np.flatnonzero(found.class_of == number).tolist() for number in range(2)] == [[0, 2, 3, 5], [1, 4]]
    recoded = recode(table, found)
    losses = measure_losses(recoded, 2)
    assert losses.discernibility == 20
    assert losses.normalized_ncp == pytest.approx(0.444444, abs=5e-7)
    labels = [column.labels.gather(column.per_class).to_list() for column in recoded.columns]
    assert labels == [["F", "M"], ["[23110..23111]", "23112"], ["[35..38]", "[35..38]"]]


@given(
    st.integers(1, 3).flatmap(
        lambda q: st.integers(2, 30).flatmap(
            lambda n: st.lists(st.lists(st.integers(0, 6), min_size=n, max_size=n), min_size=q, max_size=q)
        )
    ),
    st.integers(1, 5),
)
@examples(150)
def test_widest_at_the_median_equals_the_plain_twin(columns, k):
    k = min(k, len(columns[0]))
    frame = pl.DataFrame({f"a{place}": column for place, column in enumerate(columns)})
    table = encode(sf.read_table(frame, sf.Schema(quasi_identifying=frame.columns)))
    found = solve(table, [KAnonymity(k)], GlobalMondrian("median", "widest"))
    classes = sorted(np.flatnonzero(found.class_of == number).tolist() for number in range(found.count))
    assert classes == mondrian_single_dimensional(columns, k)


@given(
    tables(),
    st.sampled_from(["median", "median+fallback", "anywhere"]),
    st.sampled_from(["least-loss", "widest"]),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.3]),
)
@examples(80)
def test_every_solution_is_right(table, rule, choice, k, share):
    models = [KAnonymity(k), DistinctLDiversity(2)]
    limit = int(share * table.height)
    try:
        found = solve(table, models, GlobalMondrian(rule, choice), limit)
    except UnsatisfiableError:
        assert table.height < k or len(np.unique(table.sensitive_codes)) < 2
        return
    check(table, models, found, limit)


@given(tables(), st.sampled_from(["least-loss", "widest"]), st.integers(1, 4))
@examples(60)
def test_no_cut_is_left(table, choice, k):
    models = [KAnonymity(min(k, table.height)), TCloseness(0.6)]
    found = solve(table, models, GlobalMondrian("anywhere", choice))
    assert allowable(table, models, cut_of(table, found), range_parts) == []


@given(tables(), st.sampled_from(["median", "median+fallback", "anywhere"]), st.randoms(use_true_random=False))
@examples(60)
def test_the_order_of_the_input_does_not_count(table, rule, random):
    order = np.array(random.sample(range(table.height), table.height))
    shuffled = EncodedTable(table.attributes, table.codes[order], table.sensitive, table.sensitive_codes[order])
    models = [KAnonymity(2), ProbabilisticLDiversity(1.2)]
    for limit in (0, table.height // 4):
        try:
            found = solve(table, models, GlobalMondrian(rule), limit, seed=1)
        except UnsatisfiableError:
            return
        if found.suppressed and found.cover is not None:
            return  # who is left out of a value that is too frequent is chance
        again = solve(shuffled, models, GlobalMondrian(rule), limit, seed=1)
        published = found.regions.low[found.class_of], found.regions.high[found.class_of]
        for before, after in zip(published, (again.regions.low, again.regions.high), strict=True):
            kept = found.class_of[order] >= 0
            assert np.array_equal(kept, again.class_of >= 0)
            assert np.array_equal(before[order][kept], after[again.class_of][kept])


def test_wrong_options_are_all_named():
    with pytest.raises(PolicyError) as caught:
        GlobalMondrian(split_rule="middle", attribute_choice="best")
    assert len(caught.value.problems) == 2


def test_too_few_records_is_unsatisfiable():
    with pytest.raises(UnsatisfiableError, match="k = 9"):
        solve(thesis_table(("age", "sex", "zip")), [KAnonymity(9)], GlobalMondrian())


def test_one_outsider_is_suppressed_where_that_is_allowed():
    ages = [30] * 50 + [40] * 50 + [90] * 2
    table = encode(sf.read_table(pl.DataFrame({"age": ages}), sf.Schema(quasi_identifying=["age"])))
    closed = solve(table, [KAnonymity(2)], GlobalMondrian())
    assert (closed.count, closed.suppressed) == (3, 0)
    table = encode(sf.read_table(pl.DataFrame({"age": [*ages[:-1], 30]}), sf.Schema(quasi_identifying=["age"])))
    assert solve(table, [KAnonymity(2)], GlobalMondrian(), 1).suppressed == 0, "one alone would be pointed at"


def test_outsiders_are_suppressed_together():
    ages = [30] * 50 + [40] * 50 + [70, 80, 90]
    frame = pl.DataFrame({"age": ages, "sex": list("FM") * 51 + ["F"]})
    table = encode(sf.read_table(frame, sf.Schema(quasi_identifying=["age", "sex"])))
    found = solve(table, [KAnonymity(3)], GlobalMondrian(), 3)
    assert (found.suppressed, found.count) == (3, 4)
    assert np.flatnonzero(found.class_of < 0).tolist() == [100, 101, 102]


@pytest.mark.slow
@ADULT
@pytest.mark.parametrize("trees", [False, True])
def test_adult(trees):
    folder = Path(os.environ["SFUMATO_DATA"]) / "adult"
    frame = pl.read_csv(folder / "arx_adult.csv", separator=";")
    tree = folder / "hierarchies"
    quasi = {
        name: sf.read_hierarchy(tree / f"adult_hierarchy_{name}.csv", separator=";") if trees else None
        for name in frame.columns
    }
    table = encode(sf.read_table(frame, sf.Schema(quasi_identifying=quasi)))
    limit = table.height // 20
    alone, helped = (solve(table, [KAnonymity(5)], GlobalMondrian("anywhere"), spare) for spare in (0, limit))
    for found, spare in ((alone, 0), (helped, limit)):
        check(table, [KAnonymity(5)], found, spare)
    losses = [measure_losses(recode(table, found), 5).normalized_ncp for found in (alone, helped)]
    assert losses[1] < losses[0] < 0.78
    assert losses[1] < 0.32
