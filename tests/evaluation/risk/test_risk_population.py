"""Published tables against a population of original values: everybody whom a class covers is counted."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf

Person = tuple[int | None, str, str]

SCHEMA = sf.Schema(
    quasi_identifying={
        "age": None,
        "town": sf.Attribute(kind="categorical"),  # type: ignore[arg-type]
        "zip": sf.Attribute(kind="categorical", hierarchy=sf.prefixes(3, 1, 0)),  # type: ignore[arg-type]
    }
)


def people(count: int, seed: int) -> list[Person]:
    draw = random.Random(seed)
    return [
        (
            draw.choice([None, *range(20, 40)]),
            draw.choice(["ulm", "bonn", "kiel"]),
            draw.choice(["1111", "1112", "1222", "2111"]),
        )
        for _ in range(count)
    ]


def table_of(rows: list[Person]) -> sf.Table:
    return sf.read_table(pl.DataFrame(rows, schema=["age", "town", "zip"], orient="row"), SCHEMA)


def covers(label: str | None, value: Any) -> bool:
    """What a label covers, as the reference of published values says."""
    if label is None or value is None:
        return label == "*" or label is value
    if label == "*":
        return True
    if label.startswith("["):
        low, high = label[1:-1].split("..")
        return int(low) <= value < int(high) + (label[-1] == "]")
    if label.startswith("{"):
        return value in label[1:-1].split("|")
    return str(value).startswith(label.rstrip("*")) if label.endswith("*") else str(value) == label


@pytest.mark.parametrize("anonymizer", [sf.Mondrian(), sf.Datafly(), sf.CellSuppression()], ids=lambda one: one.name)
@pytest.mark.parametrize("seed", range(3))
def test_everybody_whom_a_class_covers_is_counted(anonymizer, seed):
    sample = people(60, seed)
    population = [*sample, *people(150, seed + 50)]
    recoding = sf.Recoding(suppressed="star")
    hierarchies = sf.Schema(
        quasi_identifying={**SCHEMA.quasi_identifying, "age": sf.intervals(5, 10), "town": sf.flat()}
    )
    schema = hierarchies if isinstance(anonymizer, sf.Datafly) else SCHEMA
    frames = [pl.DataFrame(rows, schema=["age", "town", "zip"], orient="row") for rows in (sample, population)]
    original, everybody = (sf.read_table(frame, schema) for frame in frames)
    release = sf.anonymize(
        original, sf.KAnonymity(3), anonymizer=anonymizer, recoding=recoding, suppression_limit=0.2, seed=seed
    )
    report = sf.risk(release, population=everybody)
    expected = []
    for row in release.data.select("age", "town", "zip").rows():
        fitting = [all(covers(label, value) for label, value in zip(row, person, strict=True)) for person in population]
        expected.append(1 / sum(fitting))
    assert report.journalist.risks[report.keys.class_of] == pytest.approx(expected)
    assert report.journalist.highest <= report.prosecutor.highest


def test_a_folder_knows_how_it_was_published(tmp_path: Path):
    sample = people(60, 1)
    everybody = table_of([*sample, *people(100, 2)])
    release = sf.anonymize(table_of(sample), sf.KAnonymity(4), recoding=sf.Recoding(forms={"zip": "set"}), seed=1)  # type: ignore[dict-item]
    folder = release.save(tmp_path / "release")
    told = sf.risk(release, population=everybody).to_dict()
    assert sf.risk(folder, population=everybody).to_dict() == told
    frame = sf.risk(
        release.data,
        quasi_identifying=["age", "town", "zip"],
        population=everybody,
        recoding=sf.Recoding(forms={"zip": "set"}),  # type: ignore[dict-item]
    )
    assert frame.to_dict() == told


def test_a_population_that_does_not_fit():
    sample = people(60, 1)
    release = sf.anonymize(table_of(sample), sf.KAnonymity(4), seed=1)
    for population, said in (
        (table_of(people(200, 9)[:59]), "has 59 records and the table 60"),
        (sf.read_table(pl.DataFrame({"age": [1] * 60}), sf.Schema(quasi_identifying=["age"])), "column 'town'"),
        (table_of([(90, "ulm", "2111")] * 100), "cover no original value"),
    ):
        with pytest.raises(sf.SfumatoError) as caught:
            sf.risk(release, population=population)
        assert all(problem.startswith("population: ") for problem in caught.value.problems)
        assert said in str(caught.value)
        assert "ulm" not in str(caught.value)


def test_class_means_cover_nobody_in_particular():
    sample = [(age or 30, town, code) for age, town, code in people(60, 1)]
    release = sf.anonymize(table_of(sample), sf.KAnonymity(4), recoding=sf.Recoding(numeric="mean"), seed=1)  # type: ignore[arg-type]
    with pytest.raises(sf.InputError, match="population: column 'age' is published as class means"):
        sf.risk(release, population=table_of(sample))
