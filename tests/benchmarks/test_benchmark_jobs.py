"""Every benchmark runs on a tiny table; nothing here looks at a time."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from benchmarks.census import QUASI_IDENTIFYING, census, write_census
from benchmarks.measuring import run_child
from benchmarks.peers import check_with_pycanon, classes_of, prepare_anonypy
from benchmarks.results import SkippedJob
from benchmarks.settings import Settings

from benchmarks import __main__ as program
from benchmarks import adult, bucket_job, checking_job, mondrian_job, release_job, risk_job


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return census(400)


def in_one_class(frame: pl.DataFrame, k: int):
    return lambda: [np.arange(frame.height)]


def test_mondrian_is_held_against_another_partition(people):
    figures = list(mondrian_job.compare(people.select("age", "sex", "education"), in_one_class, repeats=1))
    losses = {figure.what: figure.value for figure in figures if figure.what.startswith("information loss")}
    # One class of everybody loses everything; ours loses less, whatever the rule.
    assert losses.pop("information loss: anonypy's partition") == pytest.approx(1.0)
    assert len(losses) == len(mondrian_job.VARIANTS)
    assert all(0 < loss < 1 for loss in losses.values())
    assert figures[0].bar == mondrian_job.FASTER_BAR


@pytest.mark.slow
def test_the_command_line_is_held_against_reading_and_writing(tmp_path):
    path = tmp_path / "census.csv"
    write_census(300, path)
    time, memory = release_job.compare("census", path, QUASI_IDENTIFYING, repeats=1)
    assert "300 records" in time.detail
    assert memory.value > 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["census.csv"]


def test_a_check_with_pycanon_finds_the_same_values(people):
    data = checking_job.published(people, 20)
    for figure in checking_job.compare(data, "tiny", repeats=1, check=check_with_pycanon):
        assert "same values from both" in figure.detail


def test_risks_are_held_against_their_bars(people):
    (whole,) = risk_job.all_measures(people, repeats=1)
    assert "400 records" in whole.detail
    assert "92 combinations" in whole.detail
    assert whole.bar == 1


def test_bucketization_is_held_against_sorting(people):
    rows, values = bucket_job.compare(people, repeats=1)
    assert "400 records" in rows.detail
    assert (rows.bar, rows.at_most, values.bar) == (2, True, None)
    assert rows.value > 0


def test_different_values_are_told(people):
    def wrong(*_: object) -> dict[str, float]:
        return {"k": 1.0, "l": 1.0, "t": 0.0}

    data = checking_job.published(people, 20)
    assert all("VALUES DIFFER" in figure.detail for figure in checking_job.compare(data, "tiny", 1, check=wrong))


def test_the_program_writes_its_figures_down(tmp_path, capsys):
    folder, page = tmp_path / "out", tmp_path / "page.md"
    words = ["--jobs", "checking", "--checked-rows", "200", "--repeats", "1"]
    assert program.main([*words, "--folder", str(folder), "--markdown", str(page)]) == 0
    results = json.loads((folder / "results.json").read_text())
    assert {figure["job"] for figure in results["figures"]} == {"checking"}
    # Small tables are held against no bar.
    assert {figure["verdict"] for figure in results["figures"]} == {""}
    assert "polars" in results["machine"]["packages"]
    assert page.read_text().count("\n| ") >= len(results["figures"])
    assert "times faster than pycanon" in capsys.readouterr().out


def test_without_its_data_a_job_says_how_to_get_it(tmp_path):
    figures, skipped = program.run_jobs(["mondrian", "adult-drawn"], Settings(rows=10, folder=tmp_path, data=None))
    assert figures == []
    assert all("SFUMATO_DATA" in reason for reason in skipped.values())
    assert list(skipped) == ["mondrian", "adult-drawn"]


def test_without_the_peer_a_job_says_what_to_install(people, monkeypatch):
    monkeypatch.setitem(sys.modules, "anonypy.mondrian", None)
    with pytest.raises(SkippedJob, match="anonypy is not installed"):
        prepare_anonypy(people, 10)


def test_unknown_jobs_are_refused(capsys):
    with pytest.raises(SystemExit):
        program.main(["--jobs", "checking,nonsense"])
    assert "unknown: nonsense" in capsys.readouterr().err


def test_parts_become_the_class_of_each_record():
    assert classes_of([np.array([3, 0]), np.array([1, 2])], 4).tolist() == [0, 1, 1, 0]


def test_a_child_that_fails_is_an_error_with_what_it_said():
    with pytest.raises(RuntimeError, match="no such luck"):
        run_child(["-c", "raise SystemExit('no such luck')"])


def test_peak_memory_is_that_of_the_child_alone():
    held = np.ones(50_000_000)  # 400 MB here, which the child does not have
    assert run_child(["-c", "pass"]).peak < held.nbytes / 2


@pytest.mark.skipif("SFUMATO_DATA" not in os.environ, reason="SFUMATO_DATA is not set")
def test_adult_has_its_complete_records(tmp_path):
    frame = adult.read_adult(Settings().adult_file())
    assert frame.height == 30_162
    adult.write_drawn(frame, 500, tmp_path / "drawn.csv")
    drawn = pl.read_csv(tmp_path / "drawn.csv")
    assert drawn.height == 500
    assert tuple(drawn.columns) == adult.QUASI_IDENTIFYING
    assert all(drawn[name].is_in(frame[name].unique().implode()).all() for name in adult.QUASI_IDENTIFYING)
    assert [path.name for path in Path(tmp_path).iterdir()] == ["drawn.csv"]
