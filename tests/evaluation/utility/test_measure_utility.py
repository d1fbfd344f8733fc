"""Measuring utility: every kind of release through one verb, and the command line."""

from __future__ import annotations

import json
import random

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.errors import InputError, PolicyError
from sfumato.published import BucketizedTables, MarginalTables, Published, PublishedTable, RandomizedTable, SlicedTable

NAMES = ("age", "town", "illness")
SCHEMA = sf.Schema(quasi_identifying=["age", "town"], sensitive=["illness"])


def people(count: int, seed: int) -> pl.DataFrame:
    draw = random.Random(seed)
    ages = [draw.randint(20, 79) for _ in range(count)]
    ill = [draw.choice(["measles", "flu"]) if age < 50 else draw.choice(["gout", "flu", "gout"]) for age in ages]
    return pl.DataFrame({"age": ages, "town": [draw.choice(["ulm", "bonn"]) for _ in ages], "illness": ill})


FRAME = people(400, 1)
TABLE = sf.read_table(FRAME, SCHEMA)
HELD = sf.read_table(people(150, 2), SCHEMA)


def kinds() -> list[Published]:
    frame = FRAME.with_columns(bucket=pl.int_range(pl.len()) % 90)
    counts = frame.group_by("bucket", "illness").len("count").sort("bucket", "illness")
    pairs = (("age", "town"), ("town", "illness"))
    return [
        PublishedTable(sf.anonymize(TABLE, sf.KAnonymity(4), seed=1).data, ("age", "town"), ("illness",)),
        BucketizedTables(frame.drop("illness"), counts, ("age", "town"), "illness"),
        SlicedTable(frame.sort("bucket"), (("age",), ("town", "illness")), ("illness",)),
        MarginalTables(tuple(FRAME.group_by(pair).len("count").sort(pair) for pair in pairs), pairs, ("illness",)),
        RandomizedTable(FRAME, ("age", "town"), ("illness",)),
    ]


@pytest.mark.parametrize("published", kinds(), ids=lambda published: published.kind)
def test_every_kind_is_measured(published):
    found = sf.measure_utility(published, TABLE, holdout=HELD, classifiers=["decision-tree"], seed=1)
    assert (found.kind, found.records, found.published) == (published.kind, 400, 400)
    assert set(found.queries) == {"count", "sum", "average"}
    assert found.queries["count"].queries == 1000
    assert [each.target for each in found.classifiers] == ["illness", "town"]
    if isinstance(published, RandomizedTable):
        assert list(found.unmeasured) == ["trade-off"]
    else:
        assert not found.unmeasured
        (trade_off,) = found.trade_offs
        assert trade_off.direct.classifier == found.classifiers[0].release
        assert 0 <= trade_off.privacy_loss <= np.log(2) + 1e-9
        assert trade_off.populations > 50
    text = str(found)
    assert all(word in text for word in ("1,000 counts", "distributions", "φ²", "classifiers", "illness"))
    plain = json.dumps(found.to_dict())
    assert not any(value in text + plain for value in ("measles", "gout", "ulm"))


@pytest.mark.parametrize("published", kinds(), ids=lambda published: published.kind)
def test_the_same_seed_measures_the_same(published):
    one, other = (sf.measure_utility(published, TABLE, seed=3) for _ in range(2))
    assert one == other


def test_the_trade_off_of_the_extremes():
    frame = FRAME.with_columns(age=pl.int_range(pl.len()))
    table = sf.read_table(frame, SCHEMA)
    whole = sf.measure_utility(PublishedTable(frame, ("age", "town"), ("illness",)), table, seed=1).trade_offs[0]
    # Everybody is unique: a point mass for each person, and every population as it is.
    assert whole.direct.adversary == 1
    assert whole.utility_loss == pytest.approx(0)
    assert whole.privacy_loss > 0.2
    starred = frame.with_columns(age=pl.lit("*"), town=pl.lit("*"))
    none = sf.measure_utility(PublishedTable(starred, ("age", "town"), ("illness",)), table, seed=1).trade_offs[0]
    assert none.privacy_loss == pytest.approx(0, abs=1e-12)
    assert none.direct.privacy_loss == pytest.approx(0)
    assert none.utility_loss is not None
    assert none.utility_loss > 0.03


def test_answers_from_the_original_and_from_a_release():
    query = sf.Query((sf.Range("age", 20, 49), sf.Among("illness", ("measles",))))
    exact = sf.answer(query, TABLE)
    assert exact.tolist() == [FRAME.filter(pl.col("age") < 50, pl.col("illness") == "measles").height]
    release = sf.anonymize(TABLE, sf.KAnonymity(4), seed=1)
    assert sf.answer(query, TABLE, release) == pytest.approx(exact, rel=0.1)
    workload = sf.query_workload(TABLE, 7, seed=1)
    assert sf.answer(workload, TABLE, release).shape == (7,)


def test_a_release_of_means_says_so_itself():
    recoding = sf.Recoding(numeric="mean")
    release = sf.anonymize(TABLE, sf.KAnonymity(4), recoding=recoding, seed=1)
    everybody = sf.Query((sf.Range("age", 0, 100),), "sum", "age")
    assert sf.answer(everybody, TABLE, release) == pytest.approx([FRAME["age"].sum()])


def test_suppressed_records_are_missed():
    published = PublishedTable(FRAME.head(300), ("age", "town"), ("illness",))
    assert sf.measure_utility(published, TABLE, seed=1).published == 300
    assert sf.answer(sf.Query(()), TABLE, published).tolist() == [300]


def test_bad_arguments():
    with pytest.raises(PolicyError) as caught:
        sf.measure_utility(kinds()[0], FRAME, holdout=FRAME, recoding="mean")  # type: ignore[arg-type]
    assert [problem.split(":")[0] for problem in caught.value.problems] == ["original", "holdout", "recoding"]
    with pytest.raises(InputError, match="no such release folder"):
        sf.measure_utility("nowhere", TABLE)
    with pytest.raises(PolicyError, match="must be a Workload"):
        sf.measure_utility(kinds()[0], TABLE, workload=[1])  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="'oracle' is unknown"):
        sf.measure_utility(kinds()[0], TABLE, holdout=HELD, classifiers=["oracle"])  # type: ignore[list-item]


def test_a_table_without_sensitive_attributes():
    table = sf.read_table(FRAME.drop("illness"), sf.Schema(quasi_identifying=["age", "town"]))
    found = sf.measure_utility(sf.anonymize(table, sf.KAnonymity(4), seed=1), table, seed=1)
    assert found.unmeasured["trade-off"] == "the release has no sensitive attribute"


@pytest.fixture
def folder(tmp_path):
    FRAME.write_csv(tmp_path / "people.csv")
    people(150, 2).write_csv(tmp_path / "held.csv")
    sf.anonymize(TABLE, sf.KAnonymity(4), seed=1).save(tmp_path / "release")
    return tmp_path


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(word) for word in words], prog_name="sfumato")
    return result.exit_code, result.stdout, result.stderr


def test_the_command_prints_and_repeats(folder):
    words = ("measure", folder / "people.csv", folder / "release", "--what", "utility", "--queries", 50, "--seed", 1)
    code, text, err = run(*words)
    assert (code, err) == (0, "")
    assert text.startswith("generalized table of 400 records")
    assert "50 counts" in text
    assert run(*words) == (code, text, err)


def test_the_command_with_people_held_out(folder):
    words = ("measure", folder / "people.csv", folder / "release", "--what", "utility", "--queries", 20, "--json")
    words += ("--aggregate", "sum")
    code, text, _ = run(*words, "--holdout", folder / "held.csv", "--classifier", "naive-bayes", "--target", "town")
    found = json.loads(text)
    assert code == 0
    assert [(each["target"], each["learner"]) for each in found["classifiers"]] == [("town", "naive-bayes")]
    assert list(found["queries"]) == ["sum"]


def test_the_command_names_its_options(folder):
    words = ("utility", folder / "people.csv", folder / "release")
    code, text, err = run(*words, "--selectivity", 2, "--aggregate", "mode")
    assert (code, text) == (2, "")
    assert "--selectivity: must be" in err
    assert "--aggregate: must be" in err
    code, _, err = run("measure", "--what", "utility", folder / "people.csv", folder / "people.csv")
    assert code == 2
    assert "release" in err


def test_columns_that_are_not_published_are_named():
    counts = FRAME.group_by("age", "illness").len("count").sort("age", "illness")
    found = sf.measure_utility(MarginalTables((counts,), (("age", "illness"),), ("illness",)), TABLE, seed=1)
    assert found.unmeasured["columns"] == "not published: town"
    assert found.queries["count"].median == 0
    assert [each.attribute for each in found.correlations.distributions] == ["age", "illness"]


@pytest.mark.parametrize("empty", ["age", "town", "illness"])
def test_a_column_without_values(empty):
    frame = FRAME.with_columns(pl.lit(None, dtype=FRAME.schema[empty]).alias(empty))
    table = sf.read_table(frame, SCHEMA)
    found = sf.measure_utility(PublishedTable(frame, ("age", "town"), ("illness",)), table, seed=1)
    assert found.queries["count"].worst == 0
    assert found.correlations.mean_change == 0


def test_releases_that_cannot_be_read():
    with pytest.raises(InputError, match="no records"):
        sf.measure_utility(PublishedTable(FRAME.head(0), ("age", "town"), ("illness",)), TABLE)
    nested = FRAME.with_columns(pl.concat_list("age"))
    with pytest.raises(InputError, match="column 'age': does not hold values"):
        sf.answer(sf.Query(()), TABLE, PublishedTable(nested, ("age", "town"), ("illness",)))
    with pytest.raises(PolicyError, match="seed"):
        sf.measure_utility(kinds()[0], TABLE, seed=-1)
