"""What a report says that promises about values, and about those of people, leave open."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.models.protocol import BESIDE_THE_TABLE
from sfumato.published.checks.people import OF_VALUES

VISITS = pl.DataFrame(
    {
        "who": ["A", "A", "A", "B", "B", "C"],
        "age": [30] * 6,
        "ill": ["flu", "flu", "cold", "flu", "flu", "gout"],
    }
)
DIVERSE = [sf.KAnonymity(2), sf.ProbabilisticLDiversity(1.5)]


def table(**who) -> sf.Table:
    return sf.read_table(VISITS, sf.Schema(quasi_identifying=["age"], sensitive=["ill"], others="drop", **who))


def test_the_smallest_case_is_real():
    """Both models hold, and whoever knows that A came three times knows of the flu."""
    people = table(person="who")
    release = sf.anonymize(people, DIVERSE)
    assert sf.verify(release).ok
    told = sf.attack(release, people, attacks="homogeneity", seed=1)["homogeneity"][0]
    assert told.success.successes >= 1


@pytest.mark.parametrize("models", [DIVERSE, [sf.AlphaKAnonymity(0.7, 2)]])
def test_reports_say_so_of_promises_about_values(models, tmp_path):
    people = table(person="who")
    release = sf.anonymize(people, models)
    assert OF_VALUES in str(release.report)
    folder = release.save(tmp_path / "out")
    assert OF_VALUES in (folder / "report.txt").read_text()
    assert OF_VALUES in sf.report(folder, people, seed=1).content["limits"]


def test_they_do_not_where_nothing_is_promised_about_values():
    of_k = sf.anonymize(table(person="who"), sf.KAnonymity(2))
    assert OF_VALUES not in str(of_k.report)
    of_records = sf.anonymize(table(), DIVERSE)
    assert OF_VALUES not in str(of_records.report)


@pytest.mark.parametrize("way", [sf.Mondrian(), sf.Bucketization(), sf.Slicing(), sf.OverlappingSlicing()])
def test_every_kind_with_a_promise_about_values_says_what_that_leaves_open(way, tmp_path):
    frame = pl.DataFrame({"age": [30, 40] * 6, "town": [*"xxxyyy"] * 2, "ill": [*"abc"] * 4})
    people = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "town"], sensitive=["ill"]))
    release = sf.anonymize(people, sf.ProbabilisticLDiversity(2), anonymizer=way, seed=1)
    assert [str(release.report).count(line) for line in BESIDE_THE_TABLE] == [1, 1]
    folder = release.save(tmp_path / "out")
    assert sf.verify(folder).ok
    assert {*BESIDE_THE_TABLE} <= {*sf.report(folder, attacks=False).content["limits"]}
    of_k = sf.anonymize(people, sf.KAnonymity(2))
    assert not any(line in str(of_k.report) for line in BESIDE_THE_TABLE)
    assert not {*BESIDE_THE_TABLE} & {*sf.report(of_k, attacks=False).content["limits"]}


def test_the_page_to_sign_says_what_people_were_recounted_from(tmp_path):
    people = table(person="who")
    release = sf.anonymize(people, DIVERSE)
    in_memory = sf.report(release, people, seed=1)
    assert "recounted from the published data and the steward&#39;s audit file: " in in_memory.html("public")
    folder = sf.report(release.save(tmp_path / "out"), people, seed=1)
    assert "audit file" not in folder.html("internal")
