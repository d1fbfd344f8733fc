"""The best of several: never worse than the default, repeatable by rounds, and told how it came about."""

from __future__ import annotations

import random
import re

import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.anonymizers import ANONYMIZERS, best
from sfumato.cli.app import app

MODELS = [sf.KAnonymity(3), sf.DistinctLDiversity(2)]


def frame_of(seed: int, height: int = 60) -> pl.DataFrame:
    drawn = random.Random(seed)
    return pl.DataFrame(
        {
            "who": [drawn.randint(0, height) for _ in range(height)],
            "age": [drawn.randint(20, 60) for _ in range(height)],
            "city": [drawn.choice("abcd") for _ in range(height)],
            "ill": [drawn.choice("xyz") for _ in range(height)],
        }
    )


def table_of(frame: pl.DataFrame, person: str | None = None) -> sf.Table:
    schema = sf.Schema(quasi_identifying=["age", "city"], sensitive=["ill"], person=person, others="drop")
    return sf.read_table(frame, schema)


def loss(release: sf.Release) -> float:
    return release.report.losses.normalized_ncp


@pytest.fixture(scope="module")
def found() -> sf.Release:
    return sf.anonymize(table_of(frame_of(1)), MODELS, anonymizer=sf.Best(rounds=20), seed=1)


def test_it_loses_no_more_than_anything_it_tried(found: sf.Release) -> None:
    table = table_of(frame_of(1))
    assert sf.verify(found).ok
    for name, options in best.TRIED:
        for rounds in (None, 20):
            single = sf.anonymize(table, MODELS, anonymizer=ANONYMIZERS[name](**options), seed=1, refine=rounds)
            assert loss(found) <= loss(single) + 1e-12


def test_it_says_which_single_method_gives_the_same(found: sf.Release) -> None:
    told = next(note for note in found.report.notes if note.startswith("The best is"))
    parts = re.fullmatch(r"The best is --anonymizer (\S+)( --set (\w+)=(\w+))?( --refine (\d+))?\.", told)
    assert parts is not None
    options = {} if parts[2] is None else {parts[3]: int(parts[4]) if parts[4].isdigit() else parts[4]}
    rounds = None if parts[6] is None else int(parts[6])
    again = sf.anonymize(
        table_of(frame_of(1)), MODELS, anonymizer=ANONYMIZERS[parts[1]](**options), seed=1, refine=rounds
    )
    assert again.data.sort("ill", "age", "city").equals(found.data.sort("ill", "age", "city"))


def test_order_and_threads_decide_nothing(found: sf.Release) -> None:
    frame = frame_of(1)
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=7)
    again = sf.anonymize(table_of(shuffled), MODELS, anonymizer=sf.Best(rounds=20), seed=1, threads=3)
    assert again.data.sort("ill", "age", "city").equals(found.data.sort("ill", "age", "city"))


def test_the_notes_tell_what_was_tried_and_how_far_it_is_from_the_bound(found: sf.Release) -> None:
    tried, bound = found.report.notes[0], next(note for note in found.report.notes if "Any k-anonymous" in note)
    assert tried.startswith("Tried, with their losses: ")
    assert all(name in tried for name, _ in best.TRIED)
    losses = [float(part.rsplit(" ", 1)[1]) for part in tried.removesuffix(".").split(": ")[1].split("; ")]
    assert losses == sorted(losses)
    assert losses[0] == pytest.approx(loss(found), rel=1e-5)
    ratio = loss(found) / sf.lower_bound(table_of(frame_of(1)), 3)
    assert f"the best loses {ratio:.2f} times as much" in bound


def test_time_is_kept_and_the_default_is_always_tried() -> None:
    table = table_of(frame_of(2))
    release = sf.anonymize(table, MODELS, anonymizer=sf.Best(within=0.001), seed=1)
    assert loss(release) <= loss(sf.anonymize(table, MODELS, anonymizer=sf.Mondrian(), seed=1))
    assert any("Not tried to the end (time was up)" in note for note in release.report.notes)
    assert sf.verify(release).ok


def test_a_table_of_equal_records_loses_nothing() -> None:
    frame = frame_of(3).with_columns(age=pl.lit(30), city=pl.lit("a"))
    release = sf.anonymize(table_of(frame), MODELS, anonymizer=sf.Best(rounds=5), seed=1)
    assert loss(release) == 0.0


@pytest.mark.parametrize("objective", ["lm", "discernibility", "squared-error"])
def test_other_objectives_are_kept_low(objective: best.Objective) -> None:
    table = table_of(frame_of(4))
    kept = sf.anonymize(table, MODELS, anonymizer=sf.Best(rounds=5, objective=objective), seed=1)
    losses = {"lm": "loss_metric", "discernibility": "discernibility", "squared-error": "squared_error"}
    name = losses[objective]
    for way in (sf.Mondrian(), sf.MDAV(), sf.KMember(refine=0)):
        other = sf.anonymize(table, MODELS, anonymizer=way, seed=1)
        assert getattr(kept.report.losses, name) <= getattr(other.report.losses, name) + 1e-9


def test_people_are_counted() -> None:
    people = sf.People(pseudonyms="published")
    table = table_of(frame_of(5), "who")
    release = sf.anonymize(
        table, sf.KAnonymity(3), anonymizer=sf.Best(rounds=5), seed=1, suppression_limit=0.2, people=people
    )
    found = sf.risk(release).people
    assert found is not None
    assert found.fewest >= 3


def test_nothing_that_can_be_done_is_said_as_ever() -> None:
    with pytest.raises(sf.UnsatisfiableError, match="distinct-l-diversity"):
        sf.anonymize(table_of(frame_of(6)), sf.DistinctLDiversity(9), anonymizer=sf.Best())
    with pytest.raises(sf.PolicyError, match="within must be a number of seconds above 0"):
        sf.Best(within=0)
    with pytest.raises(sf.PolicyError, match="objective"):
        sf.Best(objective="beauty")  # type: ignore[arg-type]


def test_the_command_line_takes_seconds(tmp_path) -> None:
    frame_of(7).write_csv(tmp_path / "t.csv")
    words = ["anonymize", str(tmp_path / "t.csv"), "--quasi", "age,city", "--sensitive", "ill", "--others", "drop"]
    done = CliRunner().invoke(
        app, [*words, "-k", "3", "--anonymizer", "best", "--set", "within=0.5", "--out", str(tmp_path / "out")]
    )
    assert done.exit_code == 0, done.output
    assert "The best is --anonymizer" in done.output
    assert 'name = "best"' in (tmp_path / "out" / "policy.toml").read_text()
    wrong = CliRunner().invoke(app, [*words, "-k", "3", "--set", "within=1", "--anonymizer", "mdav"])
    assert wrong.exit_code == 2
