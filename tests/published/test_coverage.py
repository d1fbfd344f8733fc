"""What no promise covers is counted on the published table alone, on every way to a recount, and said."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.published.checks.generalized import published_statistics, uncovered_classes
from sfumato.table.schema import Attribute, Kind

QUASI = ("age", "sex")


def frame(seed: int, records: int = 300) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": draw.integers(20, 60, records),
            "sex": draw.choice(["f", "m"], records),
            "ill": draw.choice(["hiv", "flu", "flu", "flu", "flu"], records),
            "pay": draw.integers(1, 4, records).astype(str),
        }
    )


def naive(published: pl.DataFrame, column: str) -> tuple[int, int, int]:
    """Count classes, those that share one value, and their records, with a dictionary."""
    values: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for row in published.iter_rows(named=True):
        values[tuple(str(row[name]) for name in QUASI)].append(str(row[column]))
    shared = [each for each in values.values() if len(set(each)) == 1]
    return len(values), len(shared), sum(map(len, shared))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_shared_values_are_counted_as_a_dictionary_counts_them(seed: int) -> None:
    schema = sf.Schema(quasi_identifying=QUASI, sensitive=["ill", "pay"])
    models = [sf.KAnonymity(4), sf.DistinctLDiversity(2, attribute="pay")]
    release = sf.anonymize(sf.read_table(frame(seed), schema), models)
    classes, shared, records = naive(release.data, "ill")
    (found,) = release.report.verification.uncovered
    assert (found.name, found.column) == ("sensitive", "ill")
    if shared:
        assert f"{shared:,} of {classes:,} class" in found.sentence
        assert f"({records:,} record" in found.sentence
    else:
        assert "share" not in found.sentence
    assert f"! {found}" in str(release.report)
    assert str(found) in str(sf.verify(release))


def test_a_promise_for_all_sensitive_columns_leaves_none_open() -> None:
    schema = sf.Schema(quasi_identifying=QUASI, sensitive=["ill", "pay"])
    release = sf.anonymize(sf.read_table(frame(1), schema), [sf.KAnonymity(4), sf.DistinctLDiversity(2)])
    assert release.report.verification.uncovered == ()


def test_memory_and_parts_say_the_same(tmp_path: Path) -> None:
    schema = sf.Schema(quasi_identifying=QUASI, sensitive=["ill"], others="drop")
    frame(3).write_csv(tmp_path / "t.csv")
    policy = sf.Policy.of(schema, [sf.KAnonymity(4)], sf.Mondrian(), sf.Recoding(), 0.0)
    release = sf.anonymize(sf.read_table(tmp_path / "t.csv", policy), policy, seed=1)
    release.save(tmp_path / "here")
    sf.anonymize_on_disk(tmp_path / "t.csv", policy, tmp_path / "disk", seed=1)
    here, disk = (sf.verify(tmp_path / name) for name in ("here", "disk"))
    assert here.uncovered == disk.uncovered != ()
    told = json.loads((tmp_path / "here" / "report.json").read_text())["verification"]["uncovered"]
    assert told == [each.to_dict() for each in here.uncovered]


def test_two_originals_that_publish_the_same_say_the_same() -> None:
    schema = sf.Schema(quasi_identifying=["age"], sensitive=["ill"])
    first = pl.DataFrame({"age": [20, 29, 41, 49] * 2, "ill": ["a", "a", "b", "c"] * 2})
    told = []
    for ages in ([20, 29, 41, 49], [20, 24, 45, 49]):
        table = sf.read_table(first.with_columns(age=pl.Series(ages * 2)), schema)
        told.append(sf.anonymize(table, sf.KAnonymity(4)).report.verification.uncovered)
    assert told[0] == told[1]
    assert "1 of 2 classes shares one value (4 records)" in told[0][0].sentence


def test_one_class_that_holds_all_is_named() -> None:
    rows = pl.DataFrame({"age": ["*"] * 60, "sex": ["f"] * 60})
    statistics = published_statistics(rows, ["age", "sex"], {"sex": Attribute(kind=Kind.CATEGORICAL)})
    names = [each.name for each in uncovered_classes([sf.KAnonymity(5)], statistics)]
    assert names == ["sensitive", "one-class"]


def test_other_kinds_name_columns_without_a_promise() -> None:
    schema = sf.Schema(quasi_identifying=QUASI, sensitive=["pay", "ill"])
    models = [sf.ProbabilisticLDiversity(2, attribute="pay")]
    release = sf.anonymize(sf.read_table(frame(2), schema), models, anonymizer=sf.Slicing())
    assert [each.column for each in release.report.verification.uncovered] == ["ill"]


def test_a_changed_report_is_refused(tmp_path: Path) -> None:
    schema = sf.Schema(quasi_identifying=QUASI, sensitive=["ill"], others="drop")
    sf.anonymize(sf.read_table(frame(5), schema), sf.KAnonymity(4), seed=1).save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").ok
    path = tmp_path / "out" / "report.json"
    path.write_text(path.read_text().replace("no promise covers", "every promise covers"))
    assert not sf.verify(tmp_path / "out").ok


@pytest.mark.parametrize("records", [1, 2, 3])
def test_releases_about_people_say_no_count_of_people(tmp_path: Path, records: int) -> None:
    people = pl.concat([frame(7).with_columns(who=pl.int_range(pl.len()))] * records)
    schema = sf.Schema(quasi_identifying=QUASI, sensitive=["ill"], person="who", others="drop")
    release = sf.anonymize(sf.read_table(people, schema), sf.KAnonymity(4), seed=1)
    release.save(tmp_path / "out", audit=tmp_path / "out.audit.json")
    for audit in (None, tmp_path / "out.audit.json"):
        checks = {check.promise: str(check.outcome) for check in sf.verify(tmp_path / "out", audit=audit).checks}
        assert checks["report.json says what was recounted"] == "holds"
    told = json.loads((tmp_path / "out" / "report.json").read_text())["verification"]["uncovered"]
    assert told == [
        {"finding": "sensitive", "column": "ill", "sentence": "no promise covers the sensitive column 'ill'"}
    ]
