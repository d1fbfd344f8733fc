"""Folders, patterns, packed files and partitions on disk: the same release as in memory, or the same sentence."""

from __future__ import annotations

import dataclasses
import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from golden.made_tables import town
from sfumato.engines import disk
from sfumato.errors import SfumatoError
from sfumato.policy.parts import People
from sfumato.table.large import batches, coding

QUASI = ["age", "wage", "zip", "job"]
SCHEMA = sf.Schema(quasi_identifying=QUASI, sensitive=["disease"], insensitive=["born", "place"])
TOWN = town(600)
HALVES = TOWN[:350], TOWN[350:]


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "BYTES", 1 << 12)
    monkeypatch.setattr(batches, "ROWS", 90)
    monkeypatch.setattr(coding, "HELD", 3000)
    monkeypatch.setattr(disk, "PART", 250)
    monkeypatch.setattr(disk, "MOST_RETRIED", 0)


def policy_of(schema: sf.Schema = SCHEMA) -> sf.Policy:
    return sf.Policy.of(schema, [sf.KAnonymity(3)], sf.Mondrian(), sf.Recoding(), 0.0, 0, People())


def csv(frame: pl.DataFrame) -> bytes:
    return frame.write_csv().encode()


def written(frame: pl.DataFrame, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    WRITERS[path.name.partition(".")[2]](frame, path)
    return path


WRITERS: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    "csv": lambda frame, path: path.write_bytes(csv(frame)),
    "csv.gz": lambda frame, path: path.write_bytes(gzip.compress(csv(frame)[:999]) + gzip.compress(csv(frame)[999:])),
    "csv.zst": lambda frame, path: path.write_bytes(pa.compress(csv(frame), "zstd", asbytes=True)),
    "parquet": lambda frame, path: frame.write_parquet(path, compression="zstd", row_group_size=77),
    "arrow": lambda frame, path: frame.write_ipc(path),
}


def rows(folder: Path) -> list[str]:
    """The records of a release, in order; the header of each part is left out."""
    files = [folder / "data.csv"] if (folder / "data.csv").exists() else sorted((folder / "data").iterdir())
    return [line for file in files for line in file.read_text().splitlines()[1:]]


def both(source: Path, tmp_path: Path, policy: sf.Policy | None = None) -> tuple[Any, Any]:
    """What the engines make of a source: records in order, or problems."""
    policy = policy or policy_of()

    def in_memory(folder: Path) -> None:
        sf.anonymize(sf.read_table(source, policy), policy, seed=7, threads=1).save(folder)

    def on_disk(folder: Path) -> None:
        sf.anonymize_on_disk(source, policy, folder, seed=7, threads=1)

    return made(in_memory, tmp_path / "memory"), made(on_disk, tmp_path / "disk")


def made(way: Callable[[Path], None], folder: Path) -> Any:
    try:
        way(folder)
    except SfumatoError as error:
        assert not folder.exists()
        return error.problems
    return rows(folder)


@pytest.mark.parametrize("format", WRITERS)
def test_one_file_a_folder_and_a_pattern(format: str, tmp_path: Path):
    alone = written(TOWN, tmp_path / f"town.{format}")
    for name, half in zip("ab", HALVES, strict=True):
        written(half, tmp_path / "town" / name / f"part.{format}")
    (tmp_path / "town" / "_SUCCESS").touch()
    expected, found = both(alone, tmp_path)
    assert expected == found
    assert len(expected) == 600
    for number, source in enumerate((tmp_path / "town", tmp_path / "town" / "*" / f"*.{format}")):
        sf.anonymize_on_disk(source, policy_of(), tmp_path / f"of-{number}", seed=7)
        assert rows(tmp_path / f"of-{number}") == expected


def test_strays_are_missing_values_and_counted_by_the_record(tmp_path: Path):
    wages = ["tba" if place % 7 == 0 else "" if wage is None else str(wage) for place, wage in enumerate(TOWN["wage"])]
    source = written(TOWN.with_columns(wage=pl.Series(wages)), tmp_path / "town.csv")
    attributes = dict.fromkeys(QUASI) | {"wage": sf.Attribute(strays="missing")}
    policy = policy_of(dataclasses.replace(SCHEMA, quasi_identifying=attributes))
    expected, found = both(source, tmp_path, policy)
    assert expected == found
    report = sf.anonymize_on_disk(source, policy, tmp_path / "again", seed=7).report
    assert any("86 records of 600 held text" in note for note in report.notes)


@pytest.mark.parametrize("role", ["quasi_identifying", "insensitive"])
@pytest.mark.parametrize("values", [("2023", "2024"), ("2024-01-01", "2024-01-02"), ("1", "x"), ("7", None)])
def test_names_of_folders_hold_values(role: str, values: tuple[str, ...], tmp_path: Path):
    for value, half in zip(values, HALVES, strict=True):
        written(half, tmp_path / "town" / f"ward={value or '__HIVE_DEFAULT_PARTITION__'}" / "part.parquet")
    # A part without records says nothing of the type of the column.
    written(TOWN[:0], tmp_path / "town" / "ward=none" / "part.parquet")
    schema = dataclasses.replace(SCHEMA, **{role: [*getattr(SCHEMA, role), "ward"]})
    expected, found = both(tmp_path / "town", tmp_path, policy_of(schema))
    assert expected == found
    assert len(expected) == 600


def test_numbers_of_several_types_are_numbers(tmp_path: Path):
    one, two = HALVES
    written(one.with_columns(pl.col("wage").cast(pl.Float32)), tmp_path / "town" / "a.parquet")
    written(two.with_columns(pl.lit(None).alias("place")), tmp_path / "town" / "b.parquet")
    written(two.with_columns(pl.col("job").cast(pl.Categorical)), tmp_path / "town" / "c.parquet")
    expected, found = both(tmp_path / "town", tmp_path)
    assert expected == found
    assert len(expected) == 850


WRONG: dict[str, tuple[Callable[[Path], object], str]] = {
    "other columns": (lambda folder: written(HALVES[1].drop("job"), folder / "b.csv"), "b.csv has other columns"),
    "other format": (lambda folder: written(HALVES[1], folder / "b.parquet"), "b.parquet is of another format"),
    "foreign": (lambda folder: (folder / "readme.txt").write_text("nothing"), "readme.txt has other columns"),
    "doubled": (lambda folder: (folder / "b.csv").symlink_to(folder / "a.csv"), "a file is named twice"),
    "damaged": (lambda folder: (folder / "b.csv.gz").write_bytes(gzip.compress(csv(TOWN))[:-9]), "damaged or cut off"),
    "ragged": (lambda folder: (folder / "b.csv").write_bytes(csv(HALVES[1]) + b"1,2\n"), "b.csv: "),
}


@pytest.mark.parametrize("way", WRONG)
def test_a_wrong_part_is_one_sentence(way: str, tmp_path: Path):
    written(HALVES[0], tmp_path / "town" / "a.csv")
    spoil, said = WRONG[way]
    spoil(tmp_path / "town")
    with pytest.raises(SfumatoError) as caught:
        sf.anonymize_on_disk(tmp_path / "town", policy_of(), tmp_path / "out")
    (problem,) = caught.value.problems
    assert said in problem
    assert {path.name for path in tmp_path.iterdir()} == {"town"}


def test_parts_of_several_types_are_one_sentence(tmp_path: Path):
    written(HALVES[0], tmp_path / "town" / "a.parquet")
    written(HALVES[1].with_columns(pl.col("age").cast(pl.String)), tmp_path / "town" / "b.parquet")
    expected, found = both(tmp_path / "town", tmp_path)
    assert expected == found
    assert "of another type in b.parquet than in a.parquet" in found[0]


CHANGES: dict[str, Callable[[Path], object]] = {
    "added": lambda folder: written(HALVES[1], folder / "c.csv"),
    "removed": lambda folder: (folder / "b.csv").unlink(),
    "longer": lambda folder: (folder / "a.csv").write_bytes(csv(TOWN)),
    "touched": lambda folder: os.utime(folder / "a.csv", ns=(1, 1)),
}


@pytest.mark.parametrize("way", CHANGES)
def test_parts_that_change_meanwhile_are_refused(way: str, tmp_path: Path):
    for name, half in zip("ab", HALVES, strict=True):
        written(half, tmp_path / "town" / f"{name}.csv")

    def changing(what: str, done: int, total: int) -> None:
        if what == "writing codes" and done == 600:
            CHANGES[way](tmp_path / "town")

    with pytest.raises(sf.InputError, match="changed while it was read"):
        sf.anonymize_on_disk(tmp_path / "town", policy_of(), tmp_path / "out", progress=changing)
    assert {path.name for path in tmp_path.iterdir()} == {"town"}


@pytest.mark.parametrize("ending", ["jsonl", "dta"])
def test_other_formats_say_what_helps(ending: str, tmp_path: Path):
    path = tmp_path / f"town.{ending}"
    plain = TOWN.select("age", "zip")
    plain.write_ndjson(path) if ending == "jsonl" else plain.to_pandas().to_stata(path, write_index=False)
    policy = policy_of(sf.Schema(quasi_identifying=["age", "zip"]))
    with pytest.raises(sf.InputError, match="write the table to one of these, or use --engine memory"):
        sf.anonymize_on_disk(path, policy, tmp_path / "out")


@pytest.mark.parametrize("name", ["town.jsonl", "town.ndjson.gz", "town/part.jsonl"])
def test_json_lines_are_refused_before_they_are_read(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """They may be larger than the memory."""
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    plain = TOWN.select("age", "zip").write_ndjson().encode()
    path.write_bytes(gzip.compress(plain) if name.endswith("gz") else plain)

    def read(*given: object, **how: object) -> None:
        raise AssertionError("was read")

    monkeypatch.setattr(pl, "read_ndjson", read)
    policy = policy_of(sf.Schema(quasi_identifying=["age", "zip"]))
    with pytest.raises(sf.InputError, match="write the table to one of these, or use --engine memory"):
        sf.anonymize_on_disk(tmp_path / name.partition("/")[0], policy, tmp_path / "out")
    assert not (tmp_path / "out").exists()
