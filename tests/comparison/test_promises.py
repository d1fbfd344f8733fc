"""What it costs to promise something to people: four releases side by side, each that which anonymize makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app

SCHEMA: dict[str, Any] = {"quasi_identifying": ["age", "town"], "sensitive": ["illness"], "others": "drop"}


@pytest.fixture(scope="module")
def visits() -> pl.DataFrame:
    draw = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "patient": draw.integers(0, 60, 160),
            "age": draw.integers(20, 60, 160),
            "town": draw.choice(["a", "b", "c"], 160),
            "illness": draw.choice(["flu", "cold", "gout"], 160),
        }
    )


def of(visits: pl.DataFrame, *, people: bool = True) -> sf.Table:
    return sf.read_table(visits, sf.Schema(**SCHEMA, person="patient" if people else None))


def loss(table: sf.Table, *models: Any, **settings: Any) -> float:
    return sf.anonymize(table, list(models), anonymizer=sf.Mondrian(), seed=5, **settings).report.losses.normalized_ncp


def test_each_release_is_the_one_that_anonymize_makes(visits: pl.DataFrame) -> None:
    diverse = sf.DistinctLDiversity(2)
    found = sf.compare(
        of(visits),
        [sf.KAnonymity(2), diverse],
        anonymizers=["mondrian"],
        values=[3, 4],
        queries=0,
        seed=5,
        people="both",
    )
    losses = {(row["anonymizer"], row["k"]): row["loss"] for row in found.frame.to_dicts()}
    for k in (3, 4):
        expected = {
            "k records": loss(of(visits, people=False), sf.KAnonymity(k), diverse),
            "together": loss(of(visits), sf.KAnonymity(1)),
            "k people": loss(of(visits), sf.KAnonymity(k, shares=False), diverse),
            "nobody above 1/k": loss(of(visits), sf.KAnonymity(k), diverse),
            "rows apart": loss(of(visits), sf.KAnonymity(k), diverse, people=sf.People(rows="apart")),
        }
        assert {name: losses[f"mondrian, {name}", k] for name in expected} == expected
        assert expected["k records"] < expected["k people"] <= expected["nobody above 1/k"]
    records, together, people, shares, apart = (
        np.mean([losses[f"mondrian, {name}", k] for k in (3, 4)])
        for name in ("k records", "together", "k people", "nobody above 1/k", "rows apart")
    )
    (line,) = [line for line in str(found).splitlines() if line.startswith("People, mondrian")]
    for mean in (records, together, people, shares, apart):
        assert f"{100 * mean:.3g}%" in line
    assert f"{shares / people:.3g} times that of k people" in line
    # The cheapest promises nothing to people, and is no recommendation.
    assert found.recommendation.startswith("Recommendation: mondrian, nobody above 1/k")


def test_records_may_vary_and_who_counts_records_gets_other_tables(visits: pl.DataFrame) -> None:
    found = sf.compare(
        of(visits), sf.KAnonymity(2), anonymizers=["mondrian", "mdav"], vary="records", values=[80, 160], queries=20,
        seed=5, people="both",
    )  # fmt: skip
    # Only one of them can leave rows apart.
    assert found.frame.height == 18
    assert set(found.frame["status"]) == {"done"}
    assert str(found).count("\nPeople, ") == 2


def test_what_counts_records_alone_has_no_line(visits: pl.DataFrame) -> None:
    found = sf.compare(
        of(visits), sf.ProbabilisticLDiversity(1), anonymizers=["bucketization"], vary="l", values=[2], queries=0
    )
    assert set(found.frame["status"]) == {"refused"}
    both = sf.compare(of(visits), sf.KAnonymity(2), anonymizers=["datafly"], values=[2], queries=0, people="both")
    assert both.frame["status"].to_list() == ["done", "refused", "refused", "refused", "done"]
    assert "People, " not in str(both)


def test_what_is_done_about_people_is_done_in_every_run(visits: pl.DataFrame, tmp_path: Path) -> None:
    apart = sf.People(rows="apart")
    found = sf.compare(
        of(visits), anonymizers=["mondrian", "mdav"], values=[3], queries=0, seed=5, people=apart, folder=tmp_path
    )
    rows = {row["anonymizer"]: row for row in found.frame.to_dicts()}
    assert rows["mondrian"]["loss"] == loss(of(visits), sf.KAnonymity(3), people=apart)
    assert rows["mdav"]["status"] == "refused"
    assert "rows apart" in rows["mdav"]["reason"]
    with pytest.raises(sf.InputError):
        sf.compare(of(visits), anonymizers=["mondrian"], values=[3], queries=0, seed=5, folder=tmp_path)


def test_what_cannot_be_compared(visits: pl.DataFrame) -> None:
    with pytest.raises(sf.PolicyError, match="name the column that says who they are"):
        sf.compare(of(visits, people=False), anonymizers=["mondrian"], values=[2], people="both")
    with pytest.raises(sf.PolicyError, match="compares what k-anonymity promises"):
        sf.compare(of(visits), sf.DistinctLDiversity(2), anonymizers=["mondrian"], vary="l", values=[2], people="both")
    with pytest.raises(sf.PolicyError, match="people: must be one of asked, both"):
        sf.compare(of(visits), anonymizers=["mondrian"], values=[2], people="all")  # type: ignore[arg-type]


def test_a_folder_of_another_kind_is_refused(visits: pl.DataFrame, tmp_path: Path) -> None:
    told: dict[str, Any] = {
        "anonymizers": ["mondrian"],
        "values": [2],
        "queries": 0,
        "seed": 1,
        "folder": tmp_path / "c",
    }
    sf.compare(of(visits), people="both", **told)
    sf.compare(of(visits), people="both", **told)
    with pytest.raises(sf.InputError, match="other settings"):
        sf.compare(of(visits), **told)


def test_the_command_line(visits: pl.DataFrame, tmp_path: Path) -> None:
    visits.write_csv(tmp_path / "visits.csv")
    words = ["--person", "patient", "--quasi", "age,town", "--sensitive", "illness", "--anonymizers", "mondrian"]
    done = CliRunner().invoke(app, ["compare", str(tmp_path / "visits.csv"), *words, "-k", "2,3", "--people", "both"])
    assert done.exit_code == 0, done.output
    assert "mondrian, nobody above 1/k" in done.output
    assert "loses" in done.output
