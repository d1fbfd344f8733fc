"""What is for the data steward alone, nobody else may read; and a file is whole or as it was."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from sfumato.cli.app import app
from sfumato.whole_files import PUBLIC, write_whole

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
