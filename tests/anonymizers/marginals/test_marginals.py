"""Marginal publication from a table to its release: what is enforced, recounted, refused."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

import sfumato as sf
from anonymizers.randomization.test_randomization import adult, people
from sfumato.models.protocol import Outcome
from sfumato.published import MarginalTables
from sfumato.published.checks.marginals import check_marginals
from sfumato.table.schema import Attribute


def published(table: sf.Table, *models: object, **options: object) -> sf.Release:
    return sf.anonymize(table, models, anonymizer=sf.Marginals(**options))


def small() -> sf.Table:
    frame = pl.DataFrame(
        {
            "age": [21, 21, 22, 22, 41, 41, 43, 43, 44, 44],
            "sex": list("ffmmffmmfm"),
            "zip": ["12345", "12345", "12399", "12399", "12345", "12345", "99999", "99999", "99999", "99999"],
            "disease": ["flu", "cold"] * 5,
        }
    )
    schema = sf.Schema(quasi_identifying={"age": None, "sex": None, "zip": sf.prefixes(3, 1)}, sensitive=["disease"])
    return sf.read_table(frame, schema)


def test_worked_numbers():
    release = published(small(), sf.KAnonymity(2), columns=[["age", "sex"], ["zip", "disease"]])
    ages = [("21", "f", 2), ("22", "m", 2), ("[41..44]", "f", 3), ("[41..44]", "m", 3)]
    assert release.tables["marginal_1"].rows() == ages
    zips = release.tables["marginal_2"]
    assert zips.rows() == [
        ("12345", "cold", 2), ("12345", "flu", 2), ("12399", "cold", 1), ("12399", "flu", 1),
        ("99999", "cold", 2), ("99999", "flu", 2),
    ]  # fmt: skip
    release = published(small(), sf.KAnonymity(3), columns=[["zip"]])
    assert release.tables["marginal_1"].rows() == [("123**", 6), ("99999", 4)]


def test_values_are_generalized_alike_in_all_tables():
    release = published(people(), sf.KAnonymity(8), columns=[["age", "sex"], ["sex", "height"], ["age", "disease"]])
    sums = [
        release.tables[name].group_by("age").agg(pl.col("count").sum()).sort("age")
        for name in ("marginal_1", "marginal_3")
    ]
    assert sums[0].equals(sums[1])
    assert all(frame["count"].sum() == 300 for frame in release.tables.values())
    assert "age" in " ".join(note for note in release.report.notes if "alike in all tables" in note)
    assert any("not published: born" in note for note in release.report.notes)
    assert any("not published: visits" in note for note in release.report.notes)


def test_the_order_of_the_input_is_not_seen():
    table = people()
    turned = sf.Table(table.frame.reverse(), table.schema, table.kinds)
    one, other = (published(each, sf.KAnonymity(4), sf.DistinctLDiversity(2)) for each in (table, turned))
    for name in one.tables:
        texts = [frame.with_columns(pl.all().cast(pl.String)) for frame in (one.tables[name], other.tables[name])]
        assert texts[0].equals(texts[1])


@pytest.mark.parametrize(
    "model",
    [
        sf.KAnonymity(7),
        sf.ProbabilisticLDiversity(2),
        sf.EntropyLDiversity(2),
        sf.TCloseness(0.2),
        sf.DeltaDisclosure(1.0),
        sf.DistinctLDiversity(3, attribute="disease"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("size", [pytest.param(1, marks=pytest.mark.slow), 2, pytest.param(3, marks=pytest.mark.slow)])
def test_models_are_enforced_and_recounted(model, size, tmp_path):
    release = published(people(), model, size=size)
    assert sf.verify(release).ok
    assert sf.verify(release.save(tmp_path / "out")).ok
    if isinstance(model, sf.KAnonymity):
        for frame, column in zip(release.published.marginals, release.published.columns, strict=True):
            known = [name for name in column if name != "disease"]
            sums = frame.group_by(known).agg(pl.col("count").sum()) if known else frame.select(pl.col("count").sum())
            assert sums["count"].min() >= 7


def test_a_table_of_the_sensitive_attribute_alone_and_single_attributes():
    release = published(people(), sf.KAnonymity(3), columns=[["sex"], ["disease"]])
    assert sum(release.tables["marginal_2"]["count"]) == 300
    assert sf.verify(release).ok


def test_unsatisfiable():
    with pytest.raises(sf.UnsatisfiableError, match="k = 301"):
        published(people(), sf.KAnonymity(301))


BAD_SETS = [
    ([], "at least one set"),
    ([[]], "list of names"),
    ([["age", "age"]], "list of names"),
    ("age", "list of sets"),
    ([["age", "sex"], ["sex", "age"]], "inside another"),
    ([["age", "sex"], ["sex"]], "inside another"),
    ([["age", "sex"], ["sex", "born"], ["born", "age"]], "circle"),
]


@pytest.mark.parametrize(("columns", "words"), BAD_SETS)
def test_bad_sets(columns, words):
    with pytest.raises(sf.PolicyError, match=words):
        sf.Marginals(columns=columns)


@pytest.mark.parametrize("options", [{"size": 0}, {"size": 1.5}, {"count": 0}, {"count": True}])
def test_bad_numbers(options):
    with pytest.raises(sf.PolicyError, match="whole number"):
        sf.Marginals(**options)


def test_everything_that_does_not_fit_at_once():
    frame = people().frame.rename({"born": "count"})
    schema = sf.Schema(quasi_identifying=["age", "count", "sex"], sensitive=["disease"], others="drop")
    with pytest.raises(sf.PolicyError) as caught:
        published(
            sf.read_table(frame, schema),
            sf.SubsetKAnonymity(2, 1),
            sf.DistinctLDiversity(2, attribute="height"),
            columns=[["age", "hight"], ["sex", "disease"], ["count", "disease"]],
        )
    told = str(caught.value)
    for word in ("hight", "several sets", "column 'count' of its own", "subset-k-anonymity", "distinct-l-diversity"):
        assert word in told


def outcomes(value: MarginalTables, *models: object) -> list[Outcome]:
    return [check.outcome for check in check_marginals(value, models, {"s": Attribute()})]


def counts(**columns: list[object]) -> pl.DataFrame:
    return pl.DataFrame(columns)


SAFE = MarginalTables(
    (counts(a=["x", "y"], b=["u", "v"], count=[3, 4]), counts(b=["u", "v", "v"], s=["p", "p", "q"], count=[3, 2, 2])),
    (("a", "b"), ("b", "s")),
    ("s",),
)


def test_what_is_recounted():
    assert outcomes(SAFE, sf.KAnonymity(3), sf.KAnonymity(4)) == [Outcome.HOLDS, Outcome.BROKEN]
    assert outcomes(SAFE, sf.ProbabilisticLDiversity(2)) == [Outcome.BROKEN]
    assert outcomes(SAFE, sf.WildcardKAnonymity(2)) == [Outcome.UNDECIDABLE]
    better = replace(
        SAFE, marginals=(SAFE.marginals[0], counts(b=["u", "u", "v", "v"], s=list("pqpq"), count=[1, 2, 2, 2]))
    )
    assert outcomes(better, sf.ProbabilisticLDiversity(1.5)) == [Outcome.HOLDS]


def test_what_cannot_be_judged_table_by_table():
    wrong = replace(SAFE, marginals=(counts(a=["x", "y"], b=["u", "v"], count=[4, 3]), SAFE.marginals[1]))
    negative = replace(
        SAFE, marginals=(counts(a=["x", "y", "y"], b=["u", "v", "u"], count=[3, 4, 0]), SAFE.marginals[1])
    )
    pairs = (("a", "b"), ("b", "c"), ("a", "c"))
    circle = MarginalTables(
        tuple(pl.DataFrame({one: ["x"], other: ["x"], "count": [9]}) for one, other in pairs), pairs, ()
    )
    twice = MarginalTables(
        tuple(pl.DataFrame({name: ["x"], "s": ["p"], "count": [9]}) for name in "ab"), (("a", "s"), ("b", "s")), ("s",)
    )
    for value in (wrong, negative, circle, twice):
        assert outcomes(value, sf.KAnonymity(2)) == [Outcome.UNDECIDABLE]


@pytest.mark.parametrize("size", [2, 3])
def test_adult(size, tmp_path):
    release = published(adult(), sf.KAnonymity(10), sf.ProbabilisticLDiversity(3), size=size)
    assert release.report.figures["cells"] > 100
    assert sf.verify(release.save(tmp_path / "out")).ok
