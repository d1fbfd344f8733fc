"""What is for the data steward alone, nobody else may read; and a file is whole or as it was."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from sfumato.cli.app import app
from sfumato.whole_files import PUBLIC, lock_folder, write_whole

fcntl = pytest.importorskip("fcntl", reason="files are not locked there")

pytestmark = pytest.mark.skipif(os.name == "nt", reason="files have other rights there")


@pytest.fixture(autouse=True)
def usual_mask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    pl.DataFrame({"age": [20 + i % 6 for i in range(60)], "ill": ["flu", "cold"] * 30}).write_csv(path)
    return path


def run(*words: object) -> None:
    done = CliRunner().invoke(app, [*map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output


ROLES = ("--quasi", "age", "--sensitive", "ill")


def test_reports_policies_hierarchies_and_comparisons_are_the_steward_s(table, tmp_path):
    release, policy = tmp_path / "out", tmp_path / "policy.toml"
    run("anonymize", table, *ROLES, "-k", 3, "--out", release, "--save-policy", policy, "--quiet")
    for name in ("report.json", "report.html"):
        run("report", release, "--original", table, "--no-attacks", "--out", tmp_path / name, "--quiet")
        assert mode(tmp_path / name) == 0o600
    run("report", release, "--edition", "public", "--out", tmp_path / "public.json", "--quiet")
    assert mode(tmp_path / "public.json") == 0o644
    run("hierarchy", table, "age", "--out", tmp_path / "age.csv")
    run("compare", table, "--policy", policy, "--anonymizers", "mondrian", "-k", "3", "--out", tmp_path / "compared")
    assert [mode(tmp_path / name) for name in ("policy.toml", "age.csv", "compared")] == [0o600, 0o600, 0o700]
    assert mode(release) == 0o755
    assert {mode(path) for path in release.iterdir()} == {0o644}


def test_what_is_written_into_an_open_folder_is_the_steward_s(table, tmp_path):
    out, svg = tmp_path / "compared", tmp_path / "correlation.svg"
    out.mkdir(mode=0o755)
    run("compare", table, *ROLES, "--anonymizers", "mondrian", "-k", "3", "--queries", "0", "--out", out)
    assert {mode(path) for path in out.iterdir()} == {0o600}
    run("correlation", table, *ROLES, "--svg", svg)
    assert mode(svg) == 0o600


def test_an_open_report_that_is_overwritten_is_closed(table, tmp_path):
    release = tmp_path / "out"
    run("anonymize", table, *ROLES, "-k", 3, "--out", release, "--quiet")
    report = tmp_path / "report.json"
    report.write_text("old")
    report.chmod(0o644)
    run("report", release, "--out", report, "--overwrite", "--quiet")
    assert mode(report) == 0o600


def test_a_file_is_as_it_was_when_writing_fails(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_whole(path, "old\r\n")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
        with pytest.raises(OSError, match="full"):
            write_whole(path, "new")
    assert path.read_bytes() == b"old\r\n"
    assert os.listdir(tmp_path) == ["file"]


def test_through_a_link_over_a_leftover_and_into_a_pipe(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    (tmp_path / ".file.part").write_text("left by a killed run")
    (tmp_path / ".file.part").chmod(0o666)
    link.symlink_to(path)
    write_whole(link, "text")
    assert link.is_symlink()
    assert (path.read_text(), mode(path)) == ("text", 0o600)
    write_whole(path, "text", PUBLIC)
    assert mode(path) == 0o644
    write_whole("/dev/null", "text")
    assert not Path("/dev/null").is_file()
    assert sorted(os.listdir(tmp_path)) == ["file", "link"]


def test_it_is_on_the_disk_before_it_has_its_name_and_the_name_afterwards(tmp_path, monkeypatch):
    done = []
    replace = Path.replace

    def flushed(descriptor: int) -> None:
        done.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)

    def replaced(part: Path, target: Path) -> Path:
        assert mode(part) == 0o600
        done.append("replace")
        return replace(part, target)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(Path, "replace", replaced)
    write_whole(tmp_path / "file", "text")
    assert done[1:] == ["replace", tmp_path.name]
    assert re.fullmatch(r"\.file\.[0-9a-f]{8}\.part", done[0])


def test_what_a_killed_run_left_goes_and_what_another_run_writes_stays(tmp_path):
    ours, used = tmp_path / ".file.01234567.part", tmp_path / ".file.89abcdef.part"
    others = [tmp_path / name for name in (".file.0123.part", ".files.01234567.part", "file.01234567.part")]
    for path in (ours, used, *others):
        path.write_text("half")
    (tmp_path / ".file.fedcba98.part").symlink_to(others[0])
    lock = lock_folder(used)
    try:
        write_whole(tmp_path / "file", "text")
        left = {path.name for path in tmp_path.iterdir()}
        assert left == {"file", ".file.fedcba98.part", used.name, *(path.name for path in others)}
        assert "no run was interrupted here" in settled(tmp_path / "file")
    finally:
        os.close(lock)
    assert "a run was interrupted here; what it had put aside was removed" in settled(tmp_path / "file")
    assert not used.exists()
    assert (tmp_path / "file").read_text() == "text"


def settled(path: Path) -> str:
    done = CliRunner().invoke(app, ["settle", str(path)])
    assert done.exit_code == 0
    return done.output


def test_a_part_that_is_taken_away_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    names = iter(["01234567", "01234567", "89abcdef"])
    monkeypatch.setattr(secrets, "token_hex", lambda _: next(names))
    locked = fcntl.flock

    def late(descriptor: int, how: int) -> None:
        (tmp_path / ".file.01234567.part").unlink(missing_ok=True)
        locked(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    write_whole(tmp_path / "file", "text")
    assert next(names, None) is None
    assert (tmp_path / "file").read_text() == "text"
    assert os.listdir(tmp_path) == ["file"]
