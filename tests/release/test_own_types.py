"""What is published has the types of the published records: those that were left out leave no trace in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf

KEPT = [f"{20 + i % 4 * 10},f,{1000 + i % 4 * 100},{i}" for i in range(40)]
"""Four wages: of more numbers with one text among them the steward would be asked."""
STRANGE = ["90,m,1000,7", "90.5,m,1000,7", "90,m,1000.5,7", "90,m,many,7", "90,m,2024-12-31,7", "90,m,true,7"]
"""Who is left out, alone with a sex, as is one more."""


def release_of(stranger: str, folder: Path, format: Any = "csv", **settings: Any) -> tuple[sf.Release, Path]:
    folder.mkdir()
    source = folder / "table.csv"
    source.write_text("\n".join(["age,sex,wage,note", *KEPT, "20,d,1000,8", stranger]) + "\n")
    age, sex = sf.Attribute(kind="numeric", hierarchy=sf.intervals(100)), sf.Attribute(hierarchy=sf.flat())
    schema = sf.Schema(quasi_identifying={"age": age, "sex": sex}, sensitive=["wage"], insensitive=["note"])
    told = {"anonymizer": sf.Optimal(), "suppression_limit": 0.05, "seed": 1, "models": [sf.KAnonymity(2)]} | settings
    release = sf.anonymize(sf.read_table(source, schema), **told)
    assert release.report.suppressed == 2
    return release, release.save(folder / "out", format=format)


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_who_is_left_out_changes_no_type_and_no_kind(tmp_path: Path, format: str) -> None:
    told = set()
    for number, stranger in enumerate(STRANGE):
        release, folder = release_of(stranger, tmp_path / str(number), format)
        data = release.data.sort("note")
        written = pl.read_parquet(folder / "data.parquet") if format == "parquet" else release.data
        kinds = json.dumps(json.loads((folder / "release.json").read_text())["sensitive"])
        told.add((str(written.schema), data.write_csv(), kinds))
        assert sf.verify(folder).ok
    assert len(told) == 1
    ((types, text, kinds),) = told
    assert "'wage', Int64" in types
    assert "'age', Int64" in types
    assert "1000.0" not in text
    assert kinds == '{"wage": {"kind": "numeric"}}'


def test_where_everybody_is_published_nothing_changes(tmp_path: Path) -> None:
    source = tmp_path / "table.csv"
    source.write_text("\n".join(["age,wage", *(f"{20 + i % 2},{i}.0" for i in range(8))]) + "\n")
    table = sf.read_table(source, sf.Schema(quasi_identifying=["age"], sensitive=["wage"]))
    assert sf.anonymize(table, sf.KAnonymity(2)).data["wage"].dtype == pl.Float64


def test_types_that_the_source_declares_stay(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "age": [20.0] * 9 + [90.5],
            "sex": ["f"] * 8 + ["d", "m"],
            "wage": [1.0] * 9 + [2.5],
            "code": ["5"] * 9 + ["x"],
        }
    )
    age, sex = sf.Attribute(hierarchy=sf.intervals(100)), sf.Attribute(hierarchy=sf.flat())
    schema = sf.Schema(quasi_identifying={"age": age, "sex": sex}, sensitive=["wage", "code"])
    release = sf.anonymize(
        sf.read_table(frame, schema), sf.KAnonymity(2), anonymizer=sf.Optimal(), suppression_limit=0.2, seed=1
    )
    assert release.report.suppressed == 2
    assert release.data["wage"].dtype == pl.Float64
    assert release.data["code"].to_list() == ["5"] * 8


def test_a_promise_that_hangs_on_the_kind_asks_for_it(tmp_path: Path) -> None:
    with pytest.raises(sf.PolicyError, match="column 'wage': is categorical only by records that are left out"):
        release_of("90,m,many,7", tmp_path / "a", models=[sf.KAnonymity(2), sf.GuardedValues(["1000"], 0.5)])


def release_without(stranger: str, folder: Path) -> sf.Release:
    """Leave out who has most of the records, whose ages are the stranger's."""
    folder.mkdir()
    others = [f"z,{stranger.replace('#', str(i % 6))}" for i in range(15)]
    lines = [*(f"p{i},{20 + i * 7 % 50},{i % 3}" for i in range(20)), *others]
    (folder / "table.csv").write_text("\n".join(["who,age,ill", *lines]) + "\n")
    schema = sf.Schema(person="who", quasi_identifying=["age"], sensitive=["ill"])
    table = sf.read_table(folder / "table.csv", schema)
    release = sf.anonymize(table, sf.KAnonymity(3), anonymizer=sf.Mondrian(), suppression_limit=0.8, seed=1)
    assert release.report.suppressed > 15
    return release


def test_who_is_left_out_decides_no_end_of_an_interval(tmp_path: Path) -> None:
    told = {
        release_without(stranger, tmp_path / str(number)).data.write_csv()
        for number, stranger in enumerate(["33,1", "33.5,1", "-0.25,1"])
    }
    assert len(told) == 1
    assert ")" not in told.pop()


def test_categories_by_records_that_are_left_out_are_asked_about(tmp_path: Path) -> None:
    with pytest.raises(sf.PolicyError, match="column 'age': is categorical only by records that are left out") as found:
        # Six texts: fewer among twenty numbers are asked about when the table is read.
        release_without("secret#,1", tmp_path / "a")
    assert "secret" not in str(found.value)
