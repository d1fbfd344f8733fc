"""Releases of other kinds: what they hold, what they refuse, what their folders say."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato import anonymizers as registry
from sfumato.anonymizers.protocol import Problem, Publication
from sfumato.cli.app import app
from sfumato.models.protocol import PrivacyModel
from sfumato.published import BucketizedTables, RandomizedTable
from sfumato.table.encoding import EncodedTable


def frame(rows: int = 60) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [20 + i % 7 for i in range(rows)],
            "sex": ["f", "m", "m"] * (rows // 3),
            "disease": ["flu", "cold", "gout", "burn"] * (rows // 4),
        }
    )


def table() -> sf.Table:
    return sf.read_table(frame(), sf.Schema(quasi_identifying=["age", "sex"], sensitive=["disease"]))


def bucketized(**more: Any) -> sf.Release:
    anonymizer = sf.Bucketization(members="random")
    return sf.anonymize(table(), sf.ProbabilisticLDiversity(2), anonymizer=anonymizer, seed=1, **more)


@dataclass(frozen=True)
class Copying:
    """Publishes the records as they are and promises nothing."""

    name: ClassVar[str] = "copying"
    kind: ClassVar[str] = RandomizedTable.kind
    promises: ClassVar[tuple[str, ...]] = ()

    def check(self, table: EncodedTable, models: Sequence[PrivacyModel]) -> None:
        pass

    def publish(self, problem: Problem, table: sf.Table) -> Publication:
        quasi, sensitive = tuple(table.schema.quasi_identifying), tuple(table.schema.sensitive)
        published = RandomizedTable(table.frame.select(*quasi, *sensitive), quasi, sensitive)
        return Publication(published, ("A note.",), {"changed_cells": 0})


@dataclass(frozen=True)
class Lying:
    """Publishes one bucket for each record, whatever it promises."""

    name: ClassVar[str] = "lying"
    kind: ClassVar[str] = BucketizedTables.kind
    promises: ClassVar[tuple[str, ...]] = ("probabilistic-l-diversity", "k-anonymity")

    def check(self, table: EncodedTable, models: Sequence[PrivacyModel]) -> None:
        pass

    def publish(self, problem: Problem, table: sf.Table) -> Publication:
        numbers = pl.Series("bucket", range(table.height))
        counts = pl.DataFrame([numbers, table.frame["disease"], pl.Series("count", [1] * table.height)])
        quasi = table.frame.select("age", "sex").with_columns(numbers)
        return Publication(BucketizedTables(quasi, counts, ("age", "sex"), "disease"))


def test_a_release_with_several_tables():
    release = bucketized()
    assert list(release.tables) == ["quasi_identifying", "sensitive"]
    assert release.tables is not release.published
    assert isinstance(release.published, BucketizedTables)
    with pytest.raises(sf.PolicyError, match=r"several tables; take them from \.tables.*'sensitive'"):
        _ = release.data
    assert repr(release) == "Release(60 records, probabilistic-l-diversity (l=2))"


def test_a_release_with_one_table_has_data():
    release = sf.anonymize(table(), anonymizer=Copying())
    assert release.data.equals(release.tables["data"])
    assert release.data.height == 60


# what means nothing to a kind


SETTINGS = {
    "refine": 5,
    "bound": True,
    "suppression_limit": 0.1,
    "recoding": sf.Recoding(numeric="mean"),
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_setting_that_means_nothing_is_refused_by_name(setting):
    with pytest.raises(sf.PolicyError) as caught:
        bucketized(**{setting: SETTINGS[setting]})
    (problem,) = caught.value.problems
    assert problem.startswith(f"{setting}: bucketization ")


def test_all_of_them_at_once():
    with pytest.raises(sf.PolicyError) as caught:
        bucketized(**SETTINGS)
    assert [problem.partition(":")[0] for problem in caught.value.problems] == [
        "recoding",
        "refine",
        "bound",
        "suppression_limit",
    ]


def test_one_that_can_leave_records_out_says_so():
    @dataclass(frozen=True)
    class Leaving(Copying):
        suppresses: ClassVar[bool] = True

        def publish(self, problem: Problem, table: sf.Table) -> Publication:
            whole = super().publish(problem, table).published
            kept = whole.tables["data"].head(table.height - problem.suppression_limit)
            return Publication(RandomizedTable(kept, ("age", "sex"), ("disease",)))

    release = sf.anonymize(table(), anonymizer=Leaving(), suppression_limit=0.1)
    assert (release.report.original, release.report.published, release.report.suppressed) == (60, 54, 6)
    assert "6 suppressed (10% of at most 10%)" in str(release.report)


def test_models_where_none_can_be_promised():
    with pytest.raises(sf.PolicyError, match="copying enforces no privacy model; leave them out"):
        sf.anonymize(table(), sf.KAnonymity(2), anonymizer=Copying())
    with pytest.raises(sf.PolicyError, match="name at least one privacy model"):
        sf.anonymize(table(), [], anonymizer=sf.Bucketization())
    with pytest.raises(sf.PolicyError, match="name at least one privacy model"):
        sf.anonymize(table())


def test_what_breaks_its_promise_is_never_released():
    with pytest.raises(sf.VerificationError, match=r"probabilistic-l-diversity \(l=2\): broken; 60 of 60 buckets"):
        sf.anonymize(table(), sf.ProbabilisticLDiversity(2), anonymizer=Lying())


def test_what_nobody_can_verify_is_never_released_either():
    with pytest.raises(sf.VerificationError, match=r"k-anonymity \(k=1\): not verifiable from the release"):
        sf.anonymize(table(), sf.KAnonymity(1), anonymizer=Lying())


# reports


def test_the_report_of_the_steward_and_that_of_the_release():
    report = sf.anonymize(table(), anonymizer=Copying()).report
    assert report.to_dict()["figures"] == {"changed_cells": 0}
    assert report.to_dict()["notes"] == ["A note."]
    assert "changed cells: 0" in str(report)
    assert "A note." in str(report)
    public = report.for_release()
    assert "figures" not in public.to_dict()
    assert public.to_dict()["notes"] == []
    assert "changed cells" not in str(public)
    assert "A note." not in str(public)
    assert "No privacy model is promised" in str(public)
    assert "loss" not in str(public).lower()


def test_purpose_and_recipient_are_on_the_report(tmp_path):
    mapping = {
        "purpose": "a study\nof ours",
        "recipient": "a university",
        "columns": {"quasi-identifying": ["age", "sex"], "sensitive": ["disease"]},
        "models": [{"name": "distinct-l-diversity", "l": 2}],
        "anonymizer": {"name": "bucketization"},
    }
    policy = sf.Policy.from_mapping(mapping)
    release = sf.anonymize(
        policy.read(frame()), policy.to_models(), anonymizer=policy.to_anonymizer(), policy=policy, seed=1
    )
    assert "Purpose      a study of ours" in str(release.report)
    assert json.loads((release.save(tmp_path / "out") / "report.json").read_text())["recipient"] == "a university"


# folders


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_folder_holds_one_file_for_each_table(format, tmp_path):
    release = bucketized()
    folder = release.save(tmp_path / "out", format=format)
    files = {f"quasi_identifying.{format}", f"sensitive.{format}"}
    assert {path.name for path in folder.iterdir()} == files | {
        "release.json",
        "report.json",
        "report.txt",
        "policy.toml",
    }
    told = json.loads((folder / "release.json").read_text())
    assert told["kind"] == "bucketized-tables"
    assert told["structure"] == {"quasi_identifying": ["age", "sex"], "sensitive": "disease"}
    assert told["tables"]["sensitive"]["columns"] == ["bucket", "disease", "count"]
    verification = sf.verify(folder)
    assert verification.ok
    assert str(verification).splitlines()[0] == "60 records in 30 buckets"
    assert verification.to_dict()["buckets"] == 30


def test_nothing_is_promised_and_nothing_broken(tmp_path):
    folder = sf.anonymize(table(), anonymizer=Copying()).save(tmp_path / "out")
    verification = sf.verify(folder)
    assert not verification.ok
    verification.raise_if_broken()
    assert "  not promised: any privacy model" in str(verification)
    assert json.loads((folder / "release.json").read_text())["models"] == []


@pytest.mark.parametrize("kind", ["generalized", "bucketized"])
def test_a_release_that_had_to_promise_something_and_does_not_is_none(kind, tmp_path):
    release = bucketized() if kind == "bucketized" else sf.anonymize(table(), sf.KAnonymity(2))
    folder = release.save(tmp_path / "out")
    told = json.loads((folder / "release.json").read_text())
    (folder / "release.json").write_text(json.dumps(told | {"models": []}))
    with pytest.raises(sf.VerificationError, match="damaged"):
        sf.verify(folder)


def test_verbs_that_need_classes_say_so(tmp_path):
    release = bucketized()
    for given in (release, release.save(tmp_path / "out")):
        for verb in (lambda given=given: sf.measure(table(), given), lambda given=given: sf.risk(given)):
            with pytest.raises(sf.InputError, match="kind bucketized-tables; this needs a generalized table"):
                verb()


# policy and command line


def test_a_policy_names_it_and_is_written_into_the_release(tmp_path):
    folder = bucketized().save(tmp_path / "out")
    policy = sf.Policy.from_file(folder / "policy.toml")
    assert policy.to_anonymizer() == sf.Bucketization(members="random")
    assert "recoding" not in (folder / "policy.toml").read_text()


def test_a_policy_without_models_for_what_promises_none(monkeypatch):
    monkeypatch.setitem(registry.PUBLISHERS._places, "copying", f"{__name__}:Copying")
    columns = {"quasi-identifying": ["age", "sex"], "sensitive": ["disease"]}
    with pytest.raises(sf.PolicyError, match="models: copying enforces no privacy model; leave them out"):
        sf.Policy.from_mapping(
            {"columns": columns, "anonymizer": {"name": "copying"}, "models": [{"name": "k-anonymity", "k": 2}]}
        )
    with pytest.raises(sf.PolicyError) as caught:
        sf.Policy.from_mapping({"columns": columns, "anonymizer": {"name": "bucketization"}})
    assert caught.value.problems == ("models: is missing",)


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(words))
    return result.exit_code, result.output


def words(folder: Path, *more: str) -> list[str]:
    frame().write_csv(folder / "t.csv")
    columns = ["--quasi", "age,sex", "--sensitive", "disease"]
    return ["anonymize", str(folder / "t.csv"), *columns, "--anonymizer", "bucketization", *more]


def test_the_command_line_takes_it(tmp_path):
    asked = ("--model", "probabilistic-l-diversity:l=2", "--set", "members=random")
    code, output = run(*words(tmp_path, *asked, "--details", "--out", str(tmp_path / "out")))
    assert code == 0, output
    assert "buckets: 30" in output
    assert run("verify", str(tmp_path / "out"))[0] == 0
    code, output = run("verify", str(tmp_path / "out"), "--json")
    assert json.loads(output)["buckets"] == 30


def test_the_command_line_refuses_as_the_library_does(tmp_path):
    code, output = run(
        *words(tmp_path, "-k", "5", "--set", "policy.refine=3", "--bound", "--out", str(tmp_path / "out"))
    )
    assert code == 2
    for start in ("refine: bucketization", "bound: bucketization", "k-anonymity: bucketization"):
        assert start in output
    assert not (tmp_path / "out").exists()
    code, output = run(*words(tmp_path, "-l", "9", "--out", str(tmp_path / "out")))
    assert code == 1
    code, output = run(*words(tmp_path, "-l", "2", "--set", "size=3", "--out", str(tmp_path / "out")))
    assert code == 2
    assert "size" in output
