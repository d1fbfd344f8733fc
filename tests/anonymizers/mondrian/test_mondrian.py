"""Mondrian against its plain twin, the papers' figures, and the promises of its options."""

import os
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato.anonymizers.mondrian as module
from examples import examples
from golden.made_tables import TOWN, town
from naive.mondrian import TOOLBOX_COUNTRIES, mondrian, mondrian_hierarchy, toolbox_columns
from sfumato.anonymizers.feasibility import feasible
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.anonymizers.parts import part_problem
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.errors import PolicyError, UnsatisfiableError
from sfumato.hierarchy import groups
from sfumato.models import DistinctLDiversity, EntropyLDiversity, KAnonymity, ProbabilisticLDiversity, TCloseness
from sfumato.models.protocol import PrivacyModel
from sfumato.recoding import recode
from sfumato.table.encoding import encode
from sfumato.table.reading import read_table
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.table import Table

ADULT = pytest.mark.skipif("SFUMATO_DATA" not in os.environ, reason="needs the real tables: set SFUMATO_DATA")


def classes_of(partition: Partition) -> list[list[int]]:
    rows = [np.flatnonzero(partition.class_of == number).tolist() for number in range(partition.count)]
    return sorted(rows)


def numeric_table(columns: Sequence[Sequence[int]], disease: Sequence[str] | None = None) -> Table:
    names = [f"a{place}" for place in range(len(columns))]
    frame = pl.DataFrame({name: list(column) for name, column in zip(names, columns, strict=True)})
    kinds = dict.fromkeys(names, Kind.NUMERIC)
    sensitive = []
    if disease is not None:
        frame = frame.with_columns(pl.Series("disease", disease, dtype=pl.Categorical))
        kinds["disease"] = Kind.CATEGORICAL
        sensitive = ["disease"]
    return Table(frame, Schema(quasi_identifying=names, sensitive=sensitive), kinds)


def solve(
    table: Table, models: Sequence[PrivacyModel], anonymizer: Mondrian, *, threads: int = 1, limit: int = 0
) -> Partition:
    return anonymizer.solve(Problem(encode(table), models, limit, seed=0, threads=threads))


def in_record_order(table: Table, models: Sequence[PrivacyModel], anonymizer: Mondrian) -> Partition:
    """Solve without the shuffle that relaxed Mondrian starts with: the paper knows none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "permutation", lambda count, seed: np.arange(count))
        return solve(table, models, anonymizer)


numbers = st.integers(0, 6) | st.just(3)
tables = st.integers(1, 4).flatmap(
    lambda q: st.integers(2, 40).flatmap(
        lambda n: st.lists(st.lists(numbers, min_size=n, max_size=n), min_size=q, max_size=q)
    )
)


@given(tables, st.integers(1, 5))
@examples(150)
@pytest.mark.parametrize("rule", ["median", "median+fallback"])
def test_widest_attribute_equals_the_plain_twin(rule, columns, k):
    k = min(k, len(columns[0]))
    expected = mondrian(columns, k, mode="strict", split_rule=rule)
    found = solve(numeric_table(columns), [KAnonymity(k)], Mondrian(split_rule=rule, attribute_choice="widest"))
    assert classes_of(found) == expected


@given(tables, st.integers(1, 5))
@examples(100)
def test_relaxed_equals_the_plain_twin(columns, k):
    k = min(k, len(columns[0]))
    found = in_record_order(numeric_table(columns), [KAnonymity(k)], Mondrian(mode="relaxed"))
    assert classes_of(found) == mondrian(columns, k, mode="relaxed")
    assert found.sizes.max() <= 2 * k - 1


@given(tables, st.integers(1, 4), st.data())
@examples(100)
@pytest.mark.parametrize("mode", ["strict", "relaxed"])
def test_a_model_beside_k_equals_the_plain_twin(mode, columns, k, data):
    n = len(columns[0])
    k = min(k, n)
    disease = data.draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n))
    most = len(set(disease))

    def diverse(rows: list[int]) -> bool:
        return len({disease[row] for row in rows}) >= min(2, most)

    expected = mondrian(columns, k, mode=mode, split_rule="median", allow=diverse)
    models = [KAnonymity(k), DistinctLDiversity(min(2, most))]
    found = in_record_order(numeric_table(columns, disease), models, Mondrian(mode=mode, split_rule="median"))
    assert classes_of(found) == expected


@given(st.integers(2, 40).flatmap(lambda n: st.lists(st.integers(0, 5), min_size=n, max_size=n)), st.integers(1, 4))
@examples(100)
def test_hierarchy_cuts_equal_the_plain_twin(codes, k):
    k = min(k, len(codes))
    number = [(7 * code) % 5 for code in codes]
    tree = groups({"low": {"lower": ["v0", "v1"], "upper": ["v2"]}, "high": ["v3", "v4", "v5"]})
    frame = pl.DataFrame({"place": pl.Series([f"v{code}" for code in codes], dtype=pl.Categorical), "number": number})
    schema = Schema(quasi_identifying={"place": Attribute(hierarchy=tree), "number": None})
    table = Table(frame, schema, {"place": Kind.CATEGORICAL, "number": Kind.NUMERIC})
    expected = mondrian_hierarchy([codes, number], [(((0, 1), 2), (3, 4, 5)), None], k, split_rule="median")
    found = solve(table, [KAnonymity(k)], Mondrian(split_rule="median", hierarchy_cuts=True))
    assert classes_of(found) == expected


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (("zip", "age", "sex"), [[0, 2], [1, 4], [3, 5]]),
        (("sex", "zip", "age"), [[0, 2], [1, 4], [3, 5]]),
        (("age", "sex", "zip"), [[0, 1, 2], [3, 4, 5]]),
    ],
)
def test_thesis_table_2_12(order, expected):
    columns = {
        "age": [35, 35, 36, 37, 37, 38],
        "sex": [0, 1, 0, 0, 1, 0],
        "zip": [23111, 23112, 23111, 23110, 23112, 23111],
    }
    table = numeric_table([columns[name] for name in order])
    found = solve(table, [KAnonymity(2)], Mondrian(attribute_choice="widest"))
    assert classes_of(found) == expected


@ADULT
@pytest.mark.parametrize(("k", "expected"), [(2, 209), (100, 35)])
def test_thesis_figures_on_adult(k, expected):
    with open(os.path.join(os.environ["SFUMATO_DATA"], "adult", "adult.data"), encoding="ascii") as file:
        age, sex, country = toolbox_columns(file.read().splitlines())
    frame = pl.DataFrame(
        {
            "age": age,
            "sex": pl.Series([("Female", "Male")[code] for code in sex], dtype=pl.Categorical),
            "country": pl.Series([TOOLBOX_COUNTRIES[code] for code in country], dtype=pl.Categorical),
        }
    )
    schema = Schema(
        quasi_identifying={
            "age": Attribute(domain=(0, 100), kind=Kind.NUMERIC),
            "sex": Attribute(hierarchy=groups({"Person": ["Female", "Male"]})),
            "country": Attribute(hierarchy=groups({"World": list(TOOLBOX_COUNTRIES)})),
        }
    )
    kinds = {"age": Kind.NUMERIC, "sex": Kind.CATEGORICAL, "country": Kind.CATEGORICAL}
    found = solve(Table(frame, schema, kinds), [KAnonymity(k)], Mondrian(split_rule="median", widths="region"))
    assert found.count == expected


@given(tables, st.integers(1, 5), st.data())
@examples(100)
@pytest.mark.parametrize("rule", ["median+fallback", "anywhere"])
def test_least_loss_keeps_every_promise(rule, columns, k, data):
    n = len(columns[0])
    k = min(k, n)
    disease = data.draw(st.lists(st.sampled_from("abcd"), min_size=n, max_size=n))
    models: list[PrivacyModel] = [KAnonymity(k), EntropyLDiversity(1.2), TCloseness(0.6)]
    table = numeric_table(columns, disease)
    try:
        found = solve(table, models, Mondrian(split_rule=rule))
    except UnsatisfiableError:
        assert len(set(disease)) == 1 or max(disease.count(value) for value in disease) > 0.9 * n
        return
    for rows in classes_of(found):
        assert len(rows) >= k
        assert len({disease[row] for row in rows}) >= 2
    vectors = {}
    for row, number in enumerate(found.class_of.tolist()):
        assert vectors.setdefault(tuple(column[row] for column in columns), number) == number


def test_result_does_not_depend_on_threads(monkeypatch):
    generator = np.random.default_rng(5)
    columns = [generator.integers(0, 9, 4000).tolist() for _ in range(3)]
    alone = solve(numeric_table(columns), [KAnonymity(5)], Mondrian(), threads=1)
    monkeypatch.setattr(module, "SMALLEST_TASK", 50)
    tasks_one = solve(numeric_table(columns), [KAnonymity(5)], Mondrian(), threads=1)
    tasks_four = solve(numeric_table(columns), [KAnonymity(5)], Mondrian(), threads=4)
    assert np.array_equal(tasks_one.class_of, tasks_four.class_of)
    assert classes_of(alone) == classes_of(tasks_four)


def test_progress_rises_to_the_end():
    seen: list[tuple[str, int, int]] = []
    table = encode(numeric_table([list(range(100))]))
    Mondrian().solve(Problem(table, [KAnonymity(5)], progress=lambda *step: seen.append(step)))
    assert seen[-1][1] == seen[-1][2]
    assert all(before[1] <= after[1] for before, after in pairwise(seen))


def test_too_few_records_is_unsatisfiable_and_says_so():
    with pytest.raises(UnsatisfiableError, match=r"k = 9.*only 4 record"):
        solve(numeric_table([[1, 2, 3, 4]]), [KAnonymity(9)], Mondrian())


def test_every_failing_model_is_named():
    table = numeric_table([[1, 2, 3, 4]], ["a"] * 4)
    with pytest.raises(UnsatisfiableError) as caught:
        solve(table, [KAnonymity(9), DistinctLDiversity(2)], Mondrian())
    assert len(caught.value.problems) == 2


def test_too_frequent_values_are_left_out_within_the_limit():
    columns = [list(range(100))]
    disease = ["common"] * 60 + ["rare", "other"] * 20
    table = numeric_table(columns, disease)
    with pytest.raises(UnsatisfiableError):
        solve(table, [ProbabilisticLDiversity(2)], Mondrian())
    with pytest.raises(UnsatisfiableError, match="suppressing up to 19 records does not help"):
        solve(table, [ProbabilisticLDiversity(2)], Mondrian(), limit=19)
    found = solve(table, [ProbabilisticLDiversity(2)], Mondrian(), limit=20)
    assert found.suppressed == 20
    roomy = solve(table, [ProbabilisticLDiversity(2)], Mondrian(), limit=40)
    assert 20 < roomy.suppressed <= 40
    assert roomy.count > found.count
    assert all(disease[row] == "common" for row in np.flatnonzero(found.class_of < 0))


def test_those_left_out_are_covered_by_classes_that_satisfy_the_models():
    """What no class covers would point at them, and they share their sensitive value."""
    generator = np.random.default_rng(3)
    ages = list(range(100))
    disease = generator.permutation(["flu"] * 70 + ["hiv"] * 15 + ["cold"] * 15).tolist()
    table = numeric_table([ages], disease)
    models = [KAnonymity(5), ProbabilisticLDiversity(1.6)]
    for seed in range(10):
        partition = Mondrian().solve(Problem(encode(table), models, 30, seed=seed))
        assert 0 < partition.suppressed <= 30
        column = recode(encode(table), partition).columns[0]
        for age in ages:
            covering = [n for n in range(partition.count) if column.low[column.per_class[n]] <= age]
            covering = [n for n in covering if age <= column.high[column.per_class[n]]]
            assert covering, "a person whom no class covers must have been left out"


def test_relaxed_classes_do_not_follow_the_input_order():
    ages = [30] + [50] * 38 + [70]
    together = 0
    for seed in range(20):
        table = numeric_table([ages])
        partition = Mondrian(mode="relaxed").solve(Problem(encode(table), [KAnonymity(20)], seed=seed))
        together += len(set(partition.class_of[1:20].tolist())) == 1
    assert together == 0


def test_options_that_contradict_are_all_named():
    with pytest.raises(PolicyError) as caught:
        Mondrian(mode="loose", split_rule="middle")
    assert len(caught.value.problems) == 2
    for wrong in (
        {"split_rule": "anywhere", "mode": "relaxed"},
        {"attribute_choice": "least-loss", "hierarchy_cuts": True},
        {"widths": "region", "mode": "relaxed"},
    ):
        with pytest.raises(PolicyError):
            Mondrian(**wrong)


@pytest.mark.slow
@pytest.mark.parametrize(
    "anonymizer",
    [
        Mondrian(),
        Mondrian(split_rule="anywhere"),
        Mondrian(split_rule="median"),
        Mondrian(attribute_choice="widest"),
        Mondrian(hierarchy_cuts=True),
    ],
    ids=repr,
)
@pytest.mark.parametrize("models", [[KAnonymity(5)], [KAnonymity(3), TCloseness(0.4)]], ids=["k", "t"])
def test_the_parts_of_the_first_cuts_are_solved_alike_by_themselves(anonymizer, models, monkeypatch):
    # More records than a range is judged by, in every part.
    problem = Problem(encode(read_table(town(6000), TOWN)), models)
    (start,) = feasible(problem)
    whole = anonymizer.solve_part(start)
    some_cuts = module.partition_range

    def three_cuts(*arguments):
        return some_cuts(*arguments[:4], 3, *arguments[5:])

    with monkeypatch.context() as patch:
        patch.setattr(module, "partition_range", three_cuts)
        top = anonymizer.solve_part(start)
    assert 4 <= top.count < whole.count
    together = []
    for number in range(top.count):
        rows = np.flatnonzero(top.class_of == number)
        part = anonymizer.solve_part(part_problem(start, rows, number))
        together += [rows[members].tolist() for members in classes_of(part)]
    assert sorted(together) == classes_of(whole)
