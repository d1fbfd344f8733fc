"""Columns before and after, and regressions on them: figures, distributions, contingency tables, intervals."""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import date, timedelta
from fractions import Fraction
from math import sqrt
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import sfumato as sf
from examples import examples
from naive import descriptives as naive
from sfumato.cli.app import app
from sfumato.errors import InputError, PolicyError
from sfumato.evaluation.utility.describe import Estimate, _overlap
from sfumato.published import BucketizedTables, MarginalTables, PublishedTable, SlicedTable

ROLES = sf.Schema(quasi_identifying=["age", "town", "born"], sensitive=["pay", "ill"], insensitive=["weight"])
NAMES = ("age", "town", "born")


def people(count: int, seed: int) -> pl.DataFrame:
    draw = random.Random(seed)
    return pl.DataFrame(
        {
            "age": [None if draw.random() < 0.05 else draw.randint(20, 60) for _ in range(count)],
            "town": [draw.choice(["ulm", "ulm", "bonn", None]) for _ in range(count)],
            "born": [date(1960, 1, 1) + timedelta(days=draw.randint(0, 9000)) for _ in range(count)],
            "pay": [round(draw.lognormvariate(7, 0.8), 2) for _ in range(count)],
            "ill": [draw.choice(["flu", "gout", "flu"]) for _ in range(count)],
            "weight": [draw.randint(1, 4) for _ in range(count)],
        }
    )


FRAME = people(150, 1)
TABLE = sf.read_table(FRAME, ROLES)
EXACT = PublishedTable(FRAME, NAMES, ("pay", "ill"))
RELEASE = sf.anonymize(TABLE, sf.KAnonymity(4), seed=1)


def repeated(frame: pl.DataFrame) -> pl.DataFrame:
    """Every record as often as its weight says."""
    return frame.select(pl.exclude("weight").repeat_by("weight").explode(), pl.lit(1).alias("weight"))


def columns_of(found):
    return {column.column: column for column in found.columns}


def test_what_is_published_exactly_is_described_as_it_was():
    found = sf.describe(EXACT, TABLE, contingency=[("town", "ill")])
    assert [column.column for column in found.columns] == ["age", "town", "born", "pay", "ill"]
    for column in found.columns:
        assert column.before == column.after
        assert all(each.before == each.after for each in column.distribution)
    age, town, born, pay, ill = found.columns
    known = FRAME["age"].drop_nulls()
    assert (age.before.records, age.before.missing) == (150, FRAME["age"].null_count())
    numbers = age.before.numbers
    assert (numbers.total, numbers.mean) == (known.sum(), pytest.approx(known.mean()))
    assert numbers.deviation == pytest.approx(known.std(ddof=0))
    assert numbers.skewness == pytest.approx(known.skew())
    assert numbers.excess_kurtosis == pytest.approx(known.kurtosis())
    assert [numbers.lower_quartile, numbers.median, numbers.upper_quartile] == pytest.approx(
        np.quantile(known.to_numpy(), [0.25, 0.5, 0.75], method="averaged_inverted_cdf").tolist()
    )
    assert (numbers.minimum, numbers.maximum) == (known.min(), known.max())
    assert pay.before.most_frequent is None or FRAME["pay"].n_unique() <= 256
    assert town.before.most_frequent == "ulm"
    assert {each.value: each.before for each in town.distribution} == dict(FRAME["town"].value_counts().rows())
    assert born.kind == "date"
    assert born.before.numbers.minimum == FRAME["born"].min().isoformat()
    assert (born.before.numbers.total, born.before.numbers.gini) == (None, None)
    assert ill.before.numbers is None
    assert sum(each.before for each in pay.distribution) == 150
    assert len(pay.distribution) == 10


def test_contingency_tables_count_pairs():
    (table,) = sf.describe(EXACT, TABLE, columns=[], contingency=[("town", "ill")]).tables
    counted = Counter(zip(FRAME["town"], FRAME["ill"], strict=True))
    for row, cells in zip(table.rows, table.before, strict=True):
        assert list(cells) == [counted[row, value] for value in table.across]
    assert table.rows == ("ulm", "bonn", None)
    assert table.before == table.after


def test_a_range_stands_for_all_of_its_numbers():
    frame = pl.DataFrame({"age": [20, 21, 30, 39], "ill": ["flu", "cold", "flu", "flu"]})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["ill"]))
    published = pl.DataFrame({"age": ["[20..21]"] * 2 + ["[30..39]"] * 2, "ill": frame["ill"]})
    (age,) = sf.describe(PublishedTable(published, ("age",), ("ill",)), table, columns=["age"]).columns
    every = [20, 21] * 5 + list(range(30, 40))
    assert age.after.numbers.mean == pytest.approx(np.mean(every))
    assert age.after.numbers.deviation == pytest.approx(np.std(every))
    assert age.before.numbers.deviation == pytest.approx(frame["age"].std(ddof=0))
    assert age.after.records == age.before.records == 4


def test_a_column_without_any_value():
    frame = pl.DataFrame({"age": pl.Series([None] * 3, dtype=pl.Int64), "town": ["ulm", "bonn", "ulm"]})
    kinds = {"age": sf.Attribute(kind="numeric"), "town": None}
    table = sf.read_table(frame, sf.Schema(quasi_identifying=kinds))
    found = sf.describe(
        PublishedTable(frame, ("age", "town"), ()), table, contingency=[("age", "town"), ("town", "age")]
    )
    age = found.columns[0]
    assert (age.before.missing, age.before.numbers, age.before.most_frequent) == (3, None, None)
    assert [(each.value, each.before, each.after) for each in age.distribution] == [(None, 3, 3)]
    assert [(table.rows, table.before) for table in found.tables] == [
        ((None,), ((2, 1),)),
        (("ulm", "bonn"), ((2,), (1,))),
    ]
    assert "(missing)" in str(found)


@pytest.mark.parametrize("kind", ["bucketized", "sliced", "marginal"])
def test_every_kind_is_described(kind):
    frame = FRAME.with_columns(bucket=pl.int_range(pl.len()) % 20)
    counts = frame.group_by("bucket", "ill").len("count").sort("bucket", "ill")
    published = {
        "bucketized": BucketizedTables(frame.select("bucket", *NAMES), counts, NAMES, "ill"),
        "sliced": SlicedTable(frame.sort("bucket").select("bucket", *NAMES, "ill"), (NAMES, ("ill",)), ("ill",)),
        "marginal": MarginalTables((FRAME.group_by("town", "ill").len("count"),), (("town", "ill"),), ("ill",)),
    }[kind]
    found = columns_of(
        sf.describe(published, TABLE, regressions={} if kind == "marginal" else {"age": ["ill"]}, seed=1)
    )
    assert found["ill"].before.most_frequent == found["ill"].after.most_frequent == "flu"
    assert found["town"].before == found["town"].after
    with pytest.raises(InputError, match="does not tell the weight of a record; leave weights out"):
        sf.describe(published, TABLE, weights="weight")


def test_a_whole_weight_counts_a_record_so_often():
    weighed = sf.describe(RELEASE, TABLE, weights="weight", contingency=[("age", "ill")])
    twin = sf.read_table(repeated(FRAME), ROLES)
    plain = sf.describe(
        PublishedTable(repeated(RELEASE.data), NAMES, ("pay", "ill")), twin, contingency=[("age", "ill")]
    )
    for mine, other in zip(weighed.columns, plain.columns, strict=True):
        for side in ("before", "after"):
            one, two = getattr(mine, side), getattr(other, side)
            assert (one.records, one.missing) == pytest.approx((two.records, two.missing))
            assert one.most_frequent == two.most_frequent
            if one.numbers is None or mine.kind == "date":
                assert one.numbers == two.numbers or mine.kind == "date"
                continue
            for name in (
                "total",
                "mean",
                "deviation",
                "skewness",
                "median",
                "upper_quartile",
                "gini",
                "fifths",
                "geometric_mean",
            ):
                assert getattr(one.numbers, name) == pytest.approx(getattr(two.numbers, name)), name
    assert weighed.weights == "weight"
    assert columns_of(weighed)["age"].before.records == FRAME["weight"].sum()
    assert "by weights 'weight'" in str(weighed)


def test_a_whole_weight_counts_in_answers_and_distances_so_often():
    twin = sf.read_table(repeated(FRAME), ROLES)
    published = PublishedTable(repeated(RELEASE.data), NAMES, ("pay", "ill"))
    asked = sf.query_workload(TABLE, 60, aggregates=["count", "sum", "average"], seed=2)
    assert sf.answer(asked, TABLE, weights="weight") == pytest.approx(sf.answer(asked, twin), nan_ok=True)
    weighed = sf.answer(asked, TABLE, RELEASE, weights="weight")
    assert weighed == pytest.approx(sf.answer(asked, twin, published), nan_ok=True)
    assert not np.allclose(weighed, sf.answer(asked, TABLE, RELEASE), equal_nan=True)
    one = sf.measure_utility(RELEASE, TABLE, workload=asked, weights="weight", seed=1)
    other = sf.measure_utility(published, twin, workload=asked, seed=1)
    assert (one.records, one.published, one.weights) == (150, 150, "weight")
    assert one.queries["sum"].median == pytest.approx(other.queries["sum"].median)
    # Bins are those of the records, so that only categories are divided alike.
    mine, theirs = ({each.attribute: each for each in found.correlations.distributions} for found in (one, other))
    assert mine["town"].total_variation == pytest.approx(theirs["town"].total_variation)
    assert json.loads(json.dumps(one.to_dict()))["weights"] == "weight"


def test_records_in_another_order_are_described_alike():
    order = np.random.default_rng(3).permutation(150)
    other = PublishedTable(RELEASE.data[order], NAMES, ("pay", "ill"))
    one, two = (sf.describe(each, TABLE, weights="weight") for each in (RELEASE, other))
    for mine, theirs in zip(one.columns, two.columns, strict=True):
        assert mine.after.most_frequent == theirs.after.most_frequent
        assert [each.after for each in mine.distribution] == pytest.approx([each.after for each in theirs.distribution])


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({"columns": "age"}, "columns: must be a list of column names"),
        ({"columns": ["height"]}, "column 'height' is not a published"),
        ({"contingency": ["age"]}, "contingency: must be a list of pairs of two different column names"),
        ({"contingency": [("age", "age")]}, "contingency: must be a list of pairs"),
        ({"contingency": [("age", "weight")]}, "column 'weight' is not a published"),
        ({"regressions": {"pay": "age"}}, "regressions: must say for a column which other columns"),
        ({"regressions": {"pay": ["age", "pay"]}}, "regressions: must say for a column which other columns"),
        ({"regressions": {"ill": ["age"]}}, "regressions: column 'ill' has no numbers to explain"),
        ({"weights": 3}, "weights: must be the name of a column"),
        ({"seed": -1}, "seed"),
        ({"recoding": "mean"}, "recoding: must be a Recoding"),
    ],
)
def test_mistakes(words, problem):
    with pytest.raises(PolicyError, match=problem):
        sf.describe(RELEASE, TABLE, **words)


def test_all_mistakes_at_once():
    with pytest.raises(PolicyError) as caught:
        sf.describe(RELEASE, TABLE, columns="age", contingency="ab", regressions=3, weights=1)
    assert len(caught.value.problems) == 4


@pytest.mark.parametrize(
    ("weights", "problem"),
    [
        ([1.0, None, 2.0], "1 record with no number, first in row 2"),
        ([1.0, -3.0, 0.0], "2 records with a weight that is not above 0, first in row 2"),
        ([1.0, float("inf"), 1.0], "1 record with an infinite weight"),
    ],
)
def test_weights_that_count_nobody(weights, problem):
    frame = pl.DataFrame({"age": [20, 21, 30], "weight": weights})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age"], insensitive=["weight"]))
    for verb in (sf.describe, sf.measure_utility):
        with pytest.raises(InputError, match=problem):
            verb(PublishedTable(frame, ("age",), ()), table, weights="weight")


def test_weights_that_are_not_published():
    published = PublishedTable(RELEASE.data.drop("weight"), NAMES, ("pay", "ill"))
    with pytest.raises(InputError, match="weights: column 'weight' is not in the published table"):
        sf.describe(published, TABLE, weights="weight")
    with pytest.raises(InputError, match="weights: column 'height' is not in the original"):
        sf.answer(sf.Query(()), TABLE, weights="height")


@pytest.fixture
def files(tmp_path):
    FRAME.write_csv(tmp_path / "people.csv")
    table = sf.read_table(tmp_path / "people.csv", ROLES)
    sf.anonymize(table, sf.KAnonymity(4), seed=1).save(tmp_path / "release")
    return str(tmp_path / "people.csv"), str(tmp_path / "release")


def test_the_command(files):
    words = ["measure", "--what", "columns", *files, "--weights", "weight", "--regress", "pay=age,town"]
    words += ["--contingency", "town,ill"]
    told = CliRunner().invoke(app, words)
    assert told.exit_code == 0, told.output
    for part in ("by weights 'weight'", "standard deviation", "town by ill, before > after", "pay on age, town"):
        assert part in told.stdout
    found = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert [column["column"] for column in found["columns"]] == ["age", "town", "born", "pay", "ill"]
    assert found["regressions"][0]["coefficients"][0]["name"] == "(intercept)"
    assert found["tables"][0]["columns"] == ["town", "ill"]
    assert "kernels" in found
    one = CliRunner().invoke(app, ["measure", "--what", "columns", *files, "--column", "ill"])
    assert "most frequent" in one.stdout
    assert "pay" not in one.stdout
    useful = ["measure", "--what", "utility", *files, "--weights", "weight", "--queries", "20", "--json"]
    weighed = CliRunner().invoke(app, useful)
    assert json.loads(weighed.stdout)["weights"] == "weight"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--contingency", "town"], "--contingency: name two different columns"),
        (["--regress", "pay"], "--regress: write a column and those that explain it"),
        (["--column", "height"], "column 'height' is not a published"),
        (["--weights", "height"], "weights: column 'height' is not in the original"),
    ],
)
def test_mistakes_on_the_command_line(files, words, problem):
    told = CliRunner().invoke(app, ["measure", "--what", "columns", *files, *words])
    assert told.exit_code == 2
    assert problem in told.stderr


SCHEMA = sf.Schema(quasi_identifying=["age", "town"], sensitive=["pay"], insensitive=["w"])
WIDTH = NormalDist().inv_cdf(0.975)


def both(frame: pl.DataFrame, published: pl.DataFrame, weights: str | None = None, on=("age", "town")):
    table = sf.read_table(frame, SCHEMA)
    release = PublishedTable(published, ("age", "town"), ("pay",))
    (found,) = sf.describe(release, table, columns=[], regressions={"pay": list(on)}, weights=weights).regressions
    return found


@examples(40)
@given(
    st.lists(
        st.tuples(st.integers(20, 30), st.sampled_from(["a", "b", "c"]), st.integers(0, 50), st.integers(1, 5)),
        min_size=8,
        max_size=25,
    )
)
def test_coefficients_and_intervals_are_those_of_the_twin(rows):
    ages, towns, pays, weights = zip(*rows, strict=True)
    # One of each, so that every coefficient is determined.
    ages, towns = (*ages, 20, 25, 31), (*towns, "a", "b", "c")
    pays, weights = (*pays, 3, 60, 10), (*weights, 2, 1, 3)
    if len({age for age, town in zip(ages, towns, strict=True) if town == "a"}) < 2:
        ages, towns, pays, weights = (*ages, 28), (*towns, "a"), (*pays, 1), (*weights, 1)
    frame = pl.DataFrame({"age": ages, "town": towns, "pay": pays, "w": weights})
    # Without a hierarchy, categories stand by falling frequency; the first has no column of its own.
    _, *others = sorted("abc", key=lambda town: (-towns.count(town), town))
    columns = [
        [Fraction(1), Fraction(age), *(Fraction(int(town == other)) for other in others)]
        for age, town in zip(ages, towns, strict=True)
    ]
    found = both(frame, frame, "w")
    assert [each.name for each in found.coefficients] == ["(intercept)", "age", *(f"town = {each}" for each in others)]
    wanted = naive.regressed(columns, [Fraction(pay) for pay in pays], [Fraction(weight) for weight in weights])
    for each, (value, variance) in zip(found.coefficients, wanted, strict=True):
        assert each.before == each.after
        assert each.before.value == pytest.approx(float(value), rel=1e-6, abs=1e-6)
        width = WIDTH * sqrt(variance)
        assert each.before.high - each.before.value == pytest.approx(width, rel=1e-6, abs=1e-6)
        assert each.overlap is None or each.overlap == pytest.approx(1)


def test_anscombes_first_set():
    frame = pl.DataFrame(
        {
            "age": [10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5],
            "town": ["a"] * 11,
            "pay": [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68],
            "w": [1] * 11,
        }
    )
    intercept, slope = both(frame, frame, on=["age"]).coefficients
    assert intercept.before.value == pytest.approx(3.0001, abs=5e-5)
    assert slope.before.value == pytest.approx(0.5001, abs=5e-5)


def test_a_range_counts_by_its_middle_and_a_set_by_its_shares():
    frame = pl.DataFrame(
        {"age": [20, 22, 30, 34], "town": ["a", "b", "b", "b"], "pay": [1.0, 2.5, 3.0, 5.0], "w": [1] * 4}
    )
    published = frame.with_columns(
        age=pl.Series(["[20..22]"] * 2 + ["[30..34]"] * 2), town=pl.Series(["{a|b}"] * 2 + ["b"] * 2)
    )
    _, slope = both(frame, published, on=["age"]).coefficients
    assert slope.after.value == pytest.approx((4 - 1.75) / (32 - 21))
    _, town = both(frame, published, on=["town"]).coefficients
    assert (town.name, town.after.value) == ("town = a", pytest.approx((1.75 - 4) / 0.5))


def test_a_column_that_says_nothing_has_no_coefficient():
    frame = pl.DataFrame(
        {"age": [20, 22, 30, 34, 40], "town": ["a", "b", "b", "b", "a"], "pay": [1.0, 2.5, 3.0, 5.0, 4.0], "w": [1] * 5}
    )
    found = both(frame, frame.with_columns(town=pl.lit("*"), age=pl.lit("[20..40]")))
    intercept, age, town = found.coefficients
    assert intercept.after.value == pytest.approx(3.1)
    assert (age.after, town.after, town.overlap) == (None, None, None)
    assert age.before is not None


def test_records_with_a_missing_value_are_left_out():
    frame = pl.DataFrame(
        {"age": [20, None, 30, 34, 40], "town": ["a", "b", None, "b", "a"], "pay": [1, 2, 3, 5, 4], "w": [1] * 5}
    )
    found = both(frame, frame, on=["age"])
    assert (found.records_before, found.records_after) == (4, 4)
    assert both(frame, frame, on=["age", "town"]).records_before == 3


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [((0, 4), (2, 6), 0.5), ((0, 4), (0, 4), 1), ((0, 4), (1, 3), 0.75), ((0, 4), (5, 9), 0), ((2, 2), (0, 4), None)],
)
def test_overlap_of_intervals(one, other, wanted):
    first, second = (Estimate(float(np.mean(ends)), *map(float, ends)) for ends in (one, other))
    assert _overlap(first, second) == wanted
    assert _overlap(second, first) == wanted


def test_too_few_records_determine_nothing():
    frame = pl.DataFrame({"age": [20, 30], "town": ["a", "a"], "pay": [1.0, 2.0], "w": [1, 1]})
    assert all(each.before is None and each.overlap is None for each in both(frame, frame, on=["age"]).coefficients)
