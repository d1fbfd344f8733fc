"""Rows of the release before are moved, not read: files, counts, and what happens where something is wrong."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from series.tables import SCHEMA, people, rows_of, write_csv
from sfumato.kernels import jit
from sfumato.kernels.series import flows
from sfumato.published import PublishedTable
from sfumato.published.checks.recount import recount
from sfumato.series.description import SeriesFolder
from sfumato.series.ledger import Ledger
from sfumato.series.next_release import CarriedOver, RecountedRows
from sfumato.table.schema import Attribute, Kind

OLDER = ["a,1\n", '"he said ""no"",\nand left",2\n', "b,\n"]
NEWER = ['"",3\n', "ü,4\n"]


def as_bytes(lines: list[str]) -> np.ndarray:
    return np.frombuffer("".join(lines).encode(), dtype=np.uint8)


@pytest.mark.parametrize("way", ["interpreted", "compiled"])
def test_records_are_moved_whole(way: str) -> None:
    draw = np.random.default_rng(1)
    older, newer = as_bytes(OLDER), as_bytes(NEWER)
    with jit.always(way):
        for _ in range(20):
            is_new = draw.permutation(5) >= 3
            sides = iter(OLDER), iter(NEWER)
            expected = as_bytes([next(sides[int(new)]) for new in is_new])
            merged = np.zeros(len(older) + len(newer), dtype=np.uint8)
            assert flows.interleave(older, newer, is_new, merged) == len(merged)
            assert np.array_equal(merged, expected)
            assert flows.has_both(merged, is_new, older, newer)
            for place in range(len(merged)):
                changed = merged.copy()
                changed[place] ^= 1
                assert not flows.has_both(changed, is_new, older, newer)
            assert not flows.has_both(merged[:-1], is_new, older, newer)
            assert not flows.has_both(merged, is_new, older[:-4], newer)
        for wrong in ([True] * 5, [False] * 5, [False, True] * 3, [True]):
            assert flows.interleave(older, newer, np.array(wrong), np.zeros(200, dtype=np.uint8)) < 0


def table(rows: int, seed: int) -> PublishedTable:
    draw = np.random.default_rng(seed)
    data = pl.DataFrame(
        {
            "age": draw.choice(["[1..5]", "[6..9]", "7", None], rows).tolist(),
            "note": [str(number) for number in range(rows)],
            "pay": draw.choice(["1", "2.5", "-3", None], rows).tolist(),
            "ill": draw.choice(["flu", "cold", "gout"], rows).tolist(),
        },
        schema=dict.fromkeys(["age", "note", "pay", "ill"], pl.String),
    )
    return PublishedTable(data, ("age",), ("pay", "ill"))


def test_sums_of_counts_are_those_of_the_whole_table() -> None:
    from sfumato.release.description import Description, SensitiveDescription, describe_model

    models = [sf.KAnonymity(3), sf.DistinctLDiversity(2), sf.EntropyLDiversity(1.5)]
    attributes = {"pay": Attribute(kind=Kind.NUMERIC), "ill": Attribute(kind=Kind.CATEGORICAL)}
    sensitive = {name: SensitiveDescription(attribute.kind) for name, attribute in attributes.items()}
    for seed in range(10):
        parts = [table(rows, 100 * seed + rows) for rows in (40, 1, 25)]
        whole = replace(parts[0], data=pl.concat([part.data for part in parts]))
        described = Description(whole.kind, whole.structure, sensitive, tuple(map(describe_model, models)), 0.0)
        counted = RecountedRows.of(parts[0]) + RecountedRows.of(parts[1]) + RecountedRows.of(parts[2])
        assert counted.recounted(whole, described) == recount(whole, models, attributes)
        assert sorted(counted.class_sizes(whole)) == sorted(whole.data["age"].value_counts()["count"].to_list())
        kept = counted.content("digest")
        again = RecountedRows.read(kept, "digest")
        assert again is not None
        assert again.recounted(whole, described) == counted.recounted(whole, described)
        assert RecountedRows.read(kept, "another") is None
        assert RecountedRows.read(b"anything", "digest") is None


@pytest.fixture
def series(tmp_path: Path) -> sf.Series:
    first = write_csv(tmp_path / "first.csv", people(30))
    made = sf.Series.start(tmp_path / "s", SCHEMA, sf.KAnonymity(3), table=first)
    made.append(write_csv(tmp_path / "second.csv", people(20, first=100, seed=1)))
    return made


def test_older_rows_keep_their_bytes_and_their_order(series: sf.Series) -> None:
    older, newer = ((path / "data.csv").read_text().splitlines(keepends=True) for path in series.releases)
    rest = iter(newer)
    assert all(line in rest for line in older)
    assert len(newer) == len(older) + 20


def test_what_an_older_version_has_kept_is_counted_anew(series: sf.Series, tmp_path: Path) -> None:
    ledger = Ledger.open(series.ledger, SeriesFolder.open(series.folder))
    replace(ledger, state=replace(ledger.state, kept=None)).write()
    series.append(write_csv(tmp_path / "third.csv", people(20, first=200, seed=2)))
    assert series.verify(ledger=True).ok
    assert sum(rows_of(series.releases[2]).values()) == 70


@pytest.mark.parametrize("wrong", ["older", "newer", "lost"])
def test_a_file_that_came_out_wrong_is_not_published(
    wrong: str, series: sf.Series, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(path.name for path in series.folder.iterdir())

    def content(self: CarriedOver) -> memoryview:
        from sfumato.series.reading import mixed

        found = bytes(mixed(self.older, self.new, self.is_new, self.format))
        lines = found.splitlines(keepends=True)
        place = 1 + int(np.flatnonzero(self.is_new == (wrong != "older"))[0])
        lines[place] = b"" if wrong == "lost" else lines[place].replace(b"[", b"[0")
        return memoryview(b"".join(lines))

    monkeypatch.setattr(CarriedOver, "content", property(content))
    with pytest.raises(sf.VerificationError):
        series.append(write_csv(tmp_path / "third.csv", people(20, first=200, seed=2)))
    assert sorted(path.name for path in series.folder.iterdir()) == before
    monkeypatch.undo()
    assert series.append(tmp_path / "third.csv").number == 3
    assert series.verify(ledger=True).ok


def test_the_hash_is_that_of_the_file(series: sf.Series) -> None:
    for path in series.releases:
        digest = hashlib.sha256((path / "data.csv").read_bytes()).hexdigest()
        assert digest in (path / "release.json").read_text()
