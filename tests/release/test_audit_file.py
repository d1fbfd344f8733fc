"""The audit file: where it may lie, what it may replace, and whom it convinces."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from guarantees.test_people_guarantees import schema, stays


@pytest.fixture(scope="module")
def release() -> sf.Release:
    return sf.anonymize(sf.read_table(stays(0), schema(person="id")), sf.KAnonymity(3), seed=1)


@pytest.fixture
def folder(release: sf.Release, tmp_path: Path) -> Path:
    return release.save(tmp_path / "release")


def audit_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.audit.json")


def test_it_is_private_and_lies_beside_the_folder(folder):
    assert audit_of(folder).stat().st_mode & 0o777 == 0o600
    assert {path.name for path in folder.iterdir()} == {
        "data.csv", "policy.toml", "release.json", "report.json", "report.txt",
    }  # fmt: skip
    assert {path.name for path in folder.parent.iterdir()} == {"release", "release.audit.json"}


@pytest.mark.parametrize("overwrite", [False, True])
def test_it_replaces_nothing_but_an_audit_file(release, folder, tmp_path, overwrite):
    original = tmp_path / "patients.csv"
    original.write_text("id,age\np1,20\n")
    for other in (original, folder / "data.csv", folder / "release.json", folder / "report.json"):
        before = other.read_bytes()
        with pytest.raises(sf.InputError, match=other.name):
            release.save(tmp_path / "second", audit=other, overwrite=overwrite)
        assert other.read_bytes() == before
        assert not (tmp_path / "second").exists()


def test_an_audit_file_is_replaced_only_where_that_is_asked_for(release, folder, tmp_path):
    before = audit_of(folder).read_bytes()
    with pytest.raises(sf.InputError, match="overwrite"):
        release.save(tmp_path / "second", audit=audit_of(folder))
    assert audit_of(folder).read_bytes() == before
    other = sf.anonymize(sf.read_table(stays(0), schema(person="id")), sf.KAnonymity(3), seed=2)
    other.save(folder, overwrite=True)
    assert sf.verify(folder, audit=audit_of(folder)).ok


@pytest.mark.parametrize("overwrite", [False, True])
def test_it_never_lies_in_a_release_folder(release, folder, tmp_path, overwrite):
    (tmp_path / "empty").mkdir()
    link = tmp_path / "link"
    link.symlink_to(folder)
    for target, audit in (
        ("new", "new/audit.json"),
        ("empty", "empty/audit.json"),
        ("new", "empty/../new/audit.json"),
        ("new", "new"),
        ("new", "release/audit.json"),
        ("new", "link/audit.json"),
        ("release", "release/audit.json"),
        ("link", "release/audit.json"),
    ):
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        with pytest.raises(sf.InputError):
            release.save(tmp_path / target, audit=tmp_path / audit, overwrite=overwrite)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
        assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("audit", ["no such folder/audit.json", ".", "a\0b"])
def test_where_it_cannot_be_written_there_is_no_release_either(release, tmp_path, audit):
    with pytest.raises(sf.InputError, match="audit"):
        release.save(tmp_path / "release", audit=tmp_path / audit)
    assert not list(tmp_path.iterdir())


def test_a_release_that_fails_leaves_the_audit_file_of_the_old_one(release, folder, monkeypatch):
    before = audit_of(folder).read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "")

    monkeypatch.setattr("sfumato.release.transaction._arrive", full)
    with pytest.raises(sf.InputError):
        release.save(folder, overwrite=True)
    assert audit_of(folder).read_bytes() == before
    assert sf.verify(folder, audit=audit_of(folder)).ok
    assert len(list(folder.parent.iterdir())) == 2


def damaged(content: dict[str, Any]) -> dict[str, Any]:
    rows = len(content["pseudonyms"])
    return {
        "one too few": content | {"pseudonyms": content["pseudonyms"][1:]},
        "one too many": content | {"pseudonyms": [*content["pseudonyms"], 1]},
        "one for all": content | {"pseudonyms": [1]},
        "none": content | {"pseudonyms": []},
        "a huge number": content | {"pseudonyms": [10**30] * rows},
        "a negative number": content | {"pseudonyms": [-1] * rows},
        "zero": content | {"pseudonyms": [0] * rows},
        "truth": content | {"pseudonyms": [True] * rows},
        "no whole number": content | {"pseudonyms": [1.0] * rows},
        "a text": content | {"pseudonyms": "1" * rows},
        "a table": content | {"pseudonyms": {}},
        "lists": content | {"pseudonyms": [[1]] * rows},
        "nothing": content | {"pseudonyms": None},
        "another format": content | {"format": 9},
        "another hash": content | {"sha256": "0" * 64},
        "no hash": {key: value for key, value in content.items() if key != "sha256"},
        "a number": 3,
        "an empty list": [],
    }


@pytest.mark.parametrize("what", damaged({"pseudonyms": []}))
def test_a_damaged_one_convinces_nobody(folder, what):
    audit = audit_of(folder)
    audit.write_text(json.dumps(damaged(json.loads(audit.read_text()))[what]))
    with pytest.raises(sf.VerificationError, match=audit.name):
        sf.verify(folder, audit=audit)


def test_one_that_numbers_people_twice_convinces_nobody(folder):
    # The last of two equal keys would win.
    audit = audit_of(folder)
    rows = len(json.loads(audit.read_text())["pseudonyms"])
    second = json.dumps({"pseudonyms": [*range(1, rows + 1)]})
    audit.write_text(f"{audit.read_text().rstrip()[:-1]}, {second[1:]}")
    with pytest.raises(sf.VerificationError, match="damaged"):
        sf.verify(folder, audit=audit)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"null"])
def test_nor_does_anything_else(folder, content):
    audit_of(folder).write_bytes(content)
    with pytest.raises(sf.VerificationError, match="audit"):
        sf.verify(folder, audit=audit_of(folder))


def test_nor_that_of_another_release(release, folder, tmp_path):
    other = sf.anonymize(sf.read_table(stays(0), schema(person="id")), sf.KAnonymity(3), seed=2)
    other.save(tmp_path / "other")
    for audit in (tmp_path / "other.audit.json", tmp_path / "nowhere.json", tmp_path):
        with pytest.raises(sf.VerificationError, match=audit.name):
            sf.verify(folder, audit=audit)


def test_nor_one_for_a_release_of_records(folder, tmp_path):
    records = sf.anonymize(sf.read_table(stays(0), schema(identifying=["id"])), sf.KAnonymity(3))
    records.save(tmp_path / "records")
    assert not (tmp_path / "records.audit.json").exists()
    with pytest.raises(sf.VerificationError, match="leave the audit file out"):
        sf.verify(tmp_path / "records", audit=audit_of(folder))


def test_people_who_were_swapped_or_joined_are_found(folder):
    """Who joins people in the file breaks the promise; who changes the table breaks the hash."""
    audit = audit_of(folder)
    content = json.loads(audit.read_text())
    audit.write_text(json.dumps(content | {"pseudonyms": [1] * len(content["pseudonyms"])}))
    assert not sf.verify(folder, audit=audit).ok
    (folder / "data.csv").write_text((folder / "data.csv").read_text() + "20,a,x,1\n")
    assert not sf.verify(folder).ok
    with pytest.raises(sf.VerificationError, match="changed"):
        sf.verify(folder, audit=audit)


def test_a_release_about_people_cannot_be_passed_off_as_one_of_records(folder, tmp_path):
    """Without the word the records would be counted, and be called enough."""
    other = shutil.copytree(folder, tmp_path / "other")
    mark = json.loads((other / "release.json").read_text())
    del mark["people"]
    (other / "release.json").write_text(json.dumps(mark | {"format": 2}))
    assert "people" in str(sf.verify(other))
    assert not sf.verify(other).ok


def test_nor_one_of_records_as_one_about_people(tmp_path):
    """Then nothing would be recounted."""
    release = sf.anonymize(sf.read_table(stays(0), schema(identifying=["id"])), sf.KAnonymity(3))
    folder = release.save(tmp_path / "release")
    mark = json.loads((folder / "release.json").read_text())
    (folder / "release.json").write_text(json.dumps(mark | {"format": 3, "people": "audit"}))
    assert not sf.verify(folder).ok


def test_nor_one_of_buckets(tmp_path, folder):
    """Promises to people are made by generalized tables alone."""
    roles = sf.Schema(identifying=["id"], quasi_identifying=["age"], sensitive=["ill"], others="drop")
    release = sf.anonymize(
        sf.read_table(stays(0), roles),
        sf.ProbabilisticLDiversity(1.2),
        anonymizer=sf.Bucketization(),
    )
    buckets = release.save(tmp_path / "buckets")
    mark = json.loads((buckets / "release.json").read_text())
    (buckets / "release.json").write_text(json.dumps(mark | {"format": 3, "people": "audit"}))
    for audit in (None, audit_of(folder)):
        with pytest.raises(sf.VerificationError, match="damaged"):
            sf.verify(buckets, audit=audit)


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_the_folder_does_not_depend_on_who_is_who(tmp_path, format):
    """Two originals that publish the same table: in one everybody has one record, in the others twenty have many."""
    alone = pl.DataFrame({"age": [20, 21] * 30, "city": ["a"] * 60, "ill": ["x", "y", "z"] * 20, "cost": [1] * 60})
    row = pl.int_range(60)
    one, two, three = (
        sf.anonymize(
            sf.read_table(alone.with_columns(id=person), schema(person="id")),
            [sf.KAnonymity(10), sf.DistinctLDiversity(3, attribute="ill")],
            seed=1,
        ).save(tmp_path / str(place), format=format)
        for place, person in enumerate((row, row % 20, (row % 22).cast(pl.String)))
    )
    content = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in (one, two, three)]
    assert content[0] == content[1] == content[2]
    audits = [json.loads(audit_of(folder).read_text())["pseudonyms"] for folder in (one, two)]
    assert audits[0] != audits[1]
