"""Means, medians and modes of classes: in local recoding, and where full-domain releases have ``*``."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import sfumato as sf
from examples import examples
from naive.recoding import average_of
from sfumato.anonymizers.protocol import Problem
from sfumato.cli.app import app
from sfumato.errors import PolicyError
from sfumato.recoding import recode, recode_as_published
from sfumato.table.encoding import encode

AVERAGES = ("mean", "median", "mode", "geometric-mean")
FULL_DOMAIN = [sf.Optimal(), sf.Incognito(), sf.Datafly(), sf.Samarati(), sf.Heuristic()]
ROWS = st.lists(
    st.tuples(st.one_of(st.none(), st.integers(1, 9)), st.sampled_from(["x", "y"]), st.sampled_from(["4711", "4810"])),
    min_size=6,
    max_size=30,
)


def table_of(rows) -> sf.Table:
    frame = pl.DataFrame(rows, schema={"age": pl.Int64, "town": pl.String, "zip": pl.String}, orient="row")
    zips = sf.Attribute("categorical", hierarchy=sf.prefixes(3, 2))
    return sf.read_table(frame, sf.Schema(quasi_identifying={"age": None, "town": None, "zip": zips}))


def classes_hold(rows, generalized, average):
    """Every class publishes the average of its own records."""
    age = generalized.columns[0]
    published = age.labels.gather(age.per_class).to_list()
    for number, text in enumerate(published):
        own = [row[0] for row, place in zip(rows, generalized.class_of.tolist(), strict=True) if place == number]
        if None in own:
            assert text == (None if set(own) == {None} else "*")
        else:
            assert float(text) == pytest.approx(average_of(own, average), abs=1e-4)


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("anonymizer", [*FULL_DOMAIN, sf.Mondrian(), sf.MDAV()], ids=lambda one: one.name)
@given(rows=ROWS)
@examples(8)
def test_classes_publish_their_own_average(anonymizer, average, rows):
    encoded = encode(table_of(rows))
    try:
        partition = anonymizer.solve(Problem(encoded, [sf.KAnonymity(2)], len(rows) // 3))
    except sf.UnsatisfiableError:
        return
    recoding = sf.Recoding(numeric="mean", average=average)
    classes_hold(rows, recode(encoded, partition, recoding), average)
    merged = recode_as_published(encoded, partition, recoding)
    classes_hold(rows, merged, average)
    labels = list(zip(*(column.labels.gather(column.per_class).to_list() for column in merged.columns), strict=True))
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("anonymizer", FULL_DOMAIN, ids=lambda one: one.name)
def test_a_full_domain_release_with_averages_is_verified(anonymizer, average, tmp_path):
    rows = [(1 + age % 23 + age // 7, "xy"[age % 2], ["4711", "4810"][age % 5 > 2]) for age in range(120)]
    recoding = sf.Recoding(numeric="mean", average=average)
    release = sf.anonymize(table_of(rows), sf.KAnonymity(5), anonymizer=anonymizer, recoding=recoding, seed=1)
    assert release.data["age"].null_count() == 0
    assert "*" not in release.data["age"].cast(pl.String).to_list()
    assert release.data.group_by(pl.all()).len()["len"].min() >= 5
    assert (
        f"Column 'age': where it is on the level *, the {average.replace('-', ' ')} of each class is published."
        in release.report.notes
    )
    release.save(tmp_path / "release")
    verification = sf.verify(tmp_path / "release")
    assert verification.ok
    assert ("average" in (tmp_path / "release" / "policy.toml").read_text()) == (average != "mean")


def test_means_in_place_of_stars_are_read_as_numbers():
    rows = [(age % 23, "xy"[age % 2], "4711") for age in range(120)]
    recoding = sf.Recoding(numeric="mean", average="median")
    table = table_of(rows)
    release = sf.anonymize(table, sf.KAnonymity(20), anonymizer=sf.Optimal(), recoding=recoding, seed=1)
    [age] = sf.describe(release, table, columns=["age"]).columns
    assert age.after.numbers.minimum == age.after.numbers.maximum == 10.5
    assert sf.measure_utility(release, table, seed=1).published == 120
    linkage = next(one for one in sf.attack(release, table, seed=1).results if one.attack == "linkage")
    assert linkage.verdict != "succeeds" or linkage.is_allowed


def test_the_median_of_dates_is_a_day():
    days = pl.Series(["2026-01-01", "2026-01-03", "2026-01-04", "2026-03-01"]).str.to_date()
    table = sf.read_table(pl.DataFrame({"day": days}), sf.Schema(quasi_identifying=["day"]))
    recoding = sf.Recoding(numeric="mean", average="median")
    release = sf.anonymize(table, sf.KAnonymity(4), anonymizer=sf.Optimal(), recoding=recoding)
    assert release.data["day"].cast(pl.String).unique().to_list() in (["2026-01-03"], ["2026-01-04"])


def test_geometric_means_are_of_numbers_alone_and_lie_below_the_mean():
    days = pl.Series(["2026-01-01", "2026-01-03", "2026-01-04", "2026-03-01"]).str.to_date()
    recoding = sf.Recoding(numeric="mean", average="geometric-mean")
    table = sf.read_table(pl.DataFrame({"day": days}), sf.Schema(quasi_identifying=["day"]))
    with pytest.raises(PolicyError, match="'day': a geometric mean needs numbers"):
        sf.anonymize(table, sf.KAnonymity(4), anonymizer=sf.MDAV(), recoding=recoding)
    incomes = pl.DataFrame({"income": [2.0, 8.0, 4.0, 4.0]})
    table = sf.read_table(incomes, sf.Schema(quasi_identifying=["income"]))
    release = sf.anonymize(table, sf.KAnonymity(4), anonymizer=sf.MDAV(), recoding=recoding)
    assert set(release.data["income"].cast(pl.String).cast(pl.Float64)) == {4.0}


def test_the_mean_is_the_default():
    assert sf.Recoding(numeric="mean", average="mean") == sf.Recoding(numeric="mean")
    chosen = sf.Recoding(numeric="mean", average="mode")
    assert sf.Recoding.from_policy(chosen.to_policy()) == chosen
    assert hash(chosen) != hash(sf.Recoding(numeric="mean"))
    assert "average" not in sf.Recoding(numeric="mean").to_policy()


@pytest.mark.parametrize(
    ("anonymizer", "recoding", "problem"),
    [
        (sf.Mondrian(), {"average": "mode"}, "average = 'mode' means nothing where no column is published as the mean"),
        (
            sf.Optimal(local_recoding=True),
            {"numeric": "mean"},
            "this anonymizer decides itself how values are published",
        ),
        (sf.GlobalMondrian(), {"numeric": "mean"}, "this anonymizer decides itself how values are published"),
        (sf.Optimal(), {"forms": {"age": "set"}}, "this anonymizer decides itself how values are published"),
        (
            sf.MDAV(),
            {"numeric": "mean", "average": "geometric-mean"},
            "'age': a geometric mean needs numbers that are all",
        ),
        (sf.Optimal(), {"forms": {"town": "mean"}}, "needs numbers or dates without a hierarchy"),
    ],
)
def test_recodings_that_do_not_fit(anonymizer, recoding, problem):
    rows = [(age, "x", "4711") for age in range(12)]
    with pytest.raises(PolicyError, match=problem):
        sf.anonymize(table_of(rows), sf.KAnonymity(2), anonymizer=anonymizer, recoding=sf.Recoding(**recoding))


def test_an_average_that_is_none():
    with pytest.raises(PolicyError, match="recoding, average: must be 'mean', 'median', 'mode' or 'geometric-mean'"):
        sf.Recoding(numeric="mean", average="middle")


def test_a_policy_file_on_the_command_line(tmp_path):
    (tmp_path / "people.csv").write_text("age,town\n" + "\n".join(f"{20 + n % 9},{'xy'[n % 2]}" for n in range(40)))
    (tmp_path / "policy.toml").write_text(
        """[columns]
quasi-identifying = ["age", "town"]
[[models]]
name = "k-anonymity"
k = 10
[anonymizer]
name = "optimal"
[recoding]
numeric = "mean"
average = "median"
"""
    )
    words = ["anonymize", str(tmp_path / "people.csv"), "--policy", str(tmp_path / "policy.toml")]
    made = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "release")])
    assert made.exit_code == 0, made.output
    assert "the median of each class is published" in " ".join(made.stdout.split())
    assert CliRunner().invoke(app, ["verify", str(tmp_path / "release")]).exit_code == 0
    disk = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "disk"), "--engine", "disk", "--json"])
    assert disk.exit_code == 0, disk.output
    tables = [pl.read_csv(tmp_path / name / "data.csv").sort("age", "town") for name in ("release", "disk")]
    assert tables[0].equals(tables[1])
