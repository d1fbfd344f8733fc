"""Everything that looks at a release takes parts as it takes one file, or says why not; losses do not hang on parts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

import sfumato as sf
from golden.made_tables import town
from sfumato.engines import disk
from sfumato.policy.parts import People
from sfumato.table.large import memory

SCHEMA = sf.Schema(quasi_identifying=["age", "wage", "zip", "job"], sensitive=["disease"], others="drop")
POLICY = sf.Policy.of(SCHEMA, [sf.KAnonymity(5)], sf.Mondrian(), sf.Recoding(), 0.0, 0, People())


@pytest.fixture(autouse=True)
def _cut_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "MOST_RETRIED", 0)


@pytest.fixture
def original(tmp_path: Path) -> Path:
    town(900).write_csv(tmp_path / "town.csv")
    return tmp_path / "town.csv"


@pytest.fixture
def parts(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(disk, "PART", 200)
    return sf.anonymize_on_disk(original, POLICY, tmp_path / "parts", seed=3).folder


@pytest.fixture
def whole(original: Path, tmp_path: Path) -> Path:
    sf.anonymize(sf.read_table(original, POLICY), POLICY, seed=3).save(tmp_path / "whole")
    return tmp_path / "whole"


LOOKS: dict[str, Callable[[Path, sf.Table], object]] = {
    "measure": lambda release, table: sf.measure(table, release),
    "risk": lambda release, table: sf.risk(release).to_dict(),
    "utility": lambda release, table: sf.measure_utility(release, table, classifiers=(), seed=1).to_dict(),
    "attack": lambda release, table: sf.attack(release, table, attacks="homogeneity", seed=1).to_dict(),
}


@pytest.mark.parametrize("verb", LOOKS)
def test_parts_are_looked_at_like_one_file(verb: str, parts: Path, whole: Path, original: Path):
    table = sf.read_table(original, POLICY)
    assert LOOKS[verb](parts, table) == LOOKS[verb](whole, table)


@pytest.mark.parametrize("verb", LOOKS)
def test_parts_that_memory_does_not_hold_are_refused(
    verb: str, parts: Path, original: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(memory, "free_memory", lambda: 1_000_000)
    table = sf.read_table(original, POLICY)
    with pytest.raises(sf.SfumatoError, match="GB are free; use a machine with more memory, or take the figures"):
        LOOKS[verb](parts, table)
    assert sf.verify(parts).ok


@pytest.mark.parametrize(("part", "bucket"), [(100, 50), (333, 500), (900, 1000)])
def test_losses_are_the_same_to_the_last_bit(
    part: int, bucket: int, original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(disk, "PART", part)
    monkeypatch.setattr(disk, "BUCKET", bucket)
    monkeypatch.setattr(disk, "BLOCK", bucket // 3)
    known = sf.anonymize(sf.read_table(original, POLICY), POLICY).report.losses
    losses = sf.anonymize_on_disk(original, POLICY, tmp_path / "out").report.losses
    assert {name: repr(value) for name, value in dataclasses.asdict(losses).items()} == {
        name: repr(value) for name, value in dataclasses.asdict(known).items()
    }


def test_a_part_that_was_cut_off_is_named(parts: Path):
    part = parts / "data" / "part-00003.csv"
    part.write_bytes(part.read_bytes()[:-40])
    broken = [check for check in sf.verify(parts).checks if "part-00003.csv" in check.detail]
    assert broken
