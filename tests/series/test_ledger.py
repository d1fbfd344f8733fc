"""The steward's ledger: who may read it, what it says of people, and what happens without it."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import sys
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from series.tables import HEADER, SCHEMA, people, write_csv
from sfumato.series.people import known_among, tags_of


@pytest.fixture
def series(tmp_path: Path) -> sf.Series:
    made = sf.Series.start(
        tmp_path / "s", SCHEMA, sf.KAnonymity(3), table=write_csv(tmp_path / "first.csv", people(20))
    )
    made.append(write_csv(tmp_path / "b.csv", people(2, first=100)))
    made.append(write_csv(tmp_path / "c.csv", people(9, first=200)))
    made.append(write_csv(tmp_path / "d.csv", people(2, first=300)))
    return made


def more(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "more.csv", people(10, first=400))


@pytest.mark.skipif(sys.platform == "win32", reason="files have no modes there")
def test_its_owner_alone_may_read_it(series: sf.Series) -> None:
    assert stat.S_IMODE(series.ledger.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in series.ledger.iterdir()} == {0o600}


def test_no_key_of_anybody_is_in_it(series: sf.Series) -> None:
    names = {f"p{number}" for number in (0, 19, 100, 208, 300)}
    said = (series.ledger / "ledger.json").read_text()
    assert not any(f'"{name}"' in said for name in names)
    for path in series.ledger.glob("*-*"):
        cells = pl.read_parquet(path).select(pl.exclude(pl.Binary)).cast(pl.String)
        assert not names & {cell for column in cells for cell in column}


def test_nothing_of_it_is_in_the_folder(series: sf.Series) -> None:
    secret = json.loads((series.ledger / "ledger.json").read_text())["key"]
    tags = [tag.hex() for path in series.ledger.glob("people-*") for tag in pl.read_parquet(path)["tag"]]
    assert len(tags) == 31
    texts = [path.read_text() for path in series.folder.rglob("*") if path.is_file()]
    assert not any(word in text for text in texts for word in (secret, *tags))


def test_another_ledger_hashes_the_same_people_otherwise(series: sf.Series, tmp_path: Path) -> None:
    twin = sf.Series.start(tmp_path / "t", SCHEMA, sf.KAnonymity(3), table=tmp_path / "first.csv")
    one, other = (
        pl.concat([pl.read_parquet(path)["tag"] for path in each.ledger.glob("people-*")]) for each in (series, twin)
    )
    assert known_among(one, [other]) == 0


def test_tags_tell_people_apart() -> None:
    keys = pl.Series([f"p{number}" for number in range(20_000)])
    tags = tags_of(keys, b"k" * 32)
    assert tags.n_unique() == 20_000
    assert tags_of(keys, b"k" * 32).equals(tags)
    assert known_among(tags_of(keys, b"l" * 32), [tags]) == 0
    assert tags_of(pl.Series(["a", None]), b"k" * 32).null_count() == 1


def test_who_waits_is_known_by_what_is_published_alone(series: sf.Series) -> None:
    waiting = json.loads((series.ledger / "ledger.json").read_text())["state"]["waiting"]
    assert waiting["people"] == 2
    frame = pl.read_parquet(series.ledger / waiting["file"]["name"])
    assert frame.columns == [*HEADER[1:], " tag"]


def test_without_it_nothing_is_appended_and_all_is_recounted(series: sf.Series, tmp_path: Path) -> None:
    shutil.rmtree(series.ledger)
    with pytest.raises(sf.InputError) as caught:
        series.append(more(tmp_path))
    (problem,) = caught.value.problems
    assert "there is no ledger of a series here; name it with ledger=" in problem
    assert "nobody can tell who is in an earlier release, so nothing can be added" in problem
    assert "the releases stand, and sfumato verify recounts them; put a copy of the ledger back" in problem
    assert series.verify().ok
    with pytest.raises(sf.InputError, match="there is no ledger"):
        series.verify(ledger=True)


def test_a_copy_of_it_that_is_too_old(series: sf.Series, tmp_path: Path) -> None:
    shutil.copytree(series.ledger, tmp_path / "copy")
    series.append(more(tmp_path))
    shutil.rmtree(series.ledger)
    (tmp_path / "copy").rename(series.ledger)
    with pytest.raises(sf.VerificationError, match="holds releases 1, 2, 3, and the ledger knows releases 1, 2; put"):
        series.append(write_csv(tmp_path / "e.csv", people(10, first=500)))


def test_a_folder_that_is_too_old(series: sf.Series, tmp_path: Path) -> None:
    shutil.rmtree(series.releases[-1])
    with pytest.raises(sf.VerificationError, match="holds release 1, and the ledger knows releases 1, 2"):
        series.append(more(tmp_path))


def test_a_release_that_was_changed(series: sf.Series, tmp_path: Path) -> None:
    mark = series.releases[0] / "release.json"
    mark.write_text(mark.read_text() + " ")
    with pytest.raises(sf.VerificationError, match="release 1 changed since the ledger wrote of it"):
        series.append(more(tmp_path))
    with pytest.raises(sf.VerificationError, match="release 1 changed"):
        series.verify(ledger=True)


def test_data_that_was_changed(series: sf.Series, tmp_path: Path) -> None:
    data = series.releases[1] / "data.csv"
    data.write_text(data.read_text().replace("flu", "gout"))
    with pytest.raises(sf.VerificationError, match=r"data\.csv is the file that was written: broken"):
        series.append(more(tmp_path))


def test_the_ledger_of_another_series(series: sf.Series, tmp_path: Path) -> None:
    twin = sf.Series.start(tmp_path / "t", SCHEMA, sf.KAnonymity(3), table=tmp_path / "first.csv")
    with pytest.raises(sf.InputError, match="is the ledger of another series"):
        sf.Series.open(series.folder, ledger=twin.ledger).append(more(tmp_path))


@pytest.mark.parametrize("damage", ["", "{", "[]", "{}", "cut", "changed"])
def test_a_damaged_one(damage: str, series: sf.Series, tmp_path: Path) -> None:
    file = series.ledger / "ledger.json"
    text = file.read_text()
    changed = {"cut": text[: len(text) // 2], "changed": text.replace('"newcomers": 20', '"newcomers": 21')}
    file.write_text(changed.get(damage, damage))
    with pytest.raises(sf.VerificationError, match=r"ledger\.json is damaged; the releases stand"):
        series.append(more(tmp_path))


@pytest.mark.parametrize("stem", ["people", "waiting", "kept"])
@pytest.mark.parametrize("damage", ["missing", "changed"])
def test_a_damaged_file_of_it(stem: str, damage: str, series: sf.Series, tmp_path: Path) -> None:
    file = next(series.ledger.glob(f"{stem}-*"))
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-1] + b"?")
    with pytest.raises(sf.VerificationError, match=f"{file.name} (is missing|was changed or is damaged)"):
        series.append(more(tmp_path))


def test_it_is_checked_against_the_releases(series: sf.Series) -> None:
    found = series.verify(ledger=True)
    assert found.ok
    text = str(found)
    assert "attested by the ledger, not recountable from the folders" in text
    assert "holds: the ledger has one person for every row that came with release 2, in its class" in text
    assert "holds: nobody who waits is in a release" in text


def test_no_temporary_file_is_left(series: sf.Series) -> None:
    names = sorted(path.name.split("-")[0] for path in series.ledger.iterdir())
    assert names == ["kept", "keys", "ledger.json", "lock", "people", "people", "waiting"]
    assert sorted(os.listdir(series.folder)) == ["0001", "0002", "series.json"]


@pytest.mark.parametrize("calls", [0, 1, 2, 5])
def test_a_full_disk_changes_nothing(
    calls: int, series: sf.Series, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system refuses after so many files: of the ledger, of the release, and of the ledger again."""
    table, real, left = more(tmp_path), os.fsync, [calls]

    def full(descriptor: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "full")
        real(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(sf.InputError, match="No space left on device"):
            series.append(table)
    assert series.verify(ledger=True).ok
    assert len(series.releases) == 2
    assert series.append(table).number == 3
    assert series.verify(ledger=True).ok
    assert sorted(os.listdir(series.folder)) == ["0001", "0002", "0003", "series.json"]
