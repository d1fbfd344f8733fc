"""Traces that the last version published verify; made anew, they have the same bytes."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.models.protocol import promise_words

MODELS = {name: sf.traces.TracePrivacy(3, 2) for name in ("k", "mended", "sets")} | {
    "c": sf.traces.TracePrivacy(3, 2, 0.75)
}
ON_FILE = Path(__file__).with_name("traces")


def make(model: sf.traces.TracePrivacy, folder: Path) -> Path:
    """Publish invented people of a small town, as the version that README.md names did."""
    draw = random.Random(42)
    rows = [
        (who, 46 + draw.choice((0.01, 0.03, 0.07)), 14.5 + draw.choice((0.01, 0.06)), f"2026-03-02T{hour:02}:30", ill)
        for who in range(40)
        for ill in (draw.choice(("flu", "none", "ulcer")),)
        for hour in draw.sample(range(24), 3)
    ]
    frame = pl.DataFrame(rows, schema=["who", "north", "east", "when", "illness"], orient="row")
    traces = sf.traces.read_traces(
        frame, person="who", place=("north", "east"), time="when", zone="Europe/Rome", sensitive="illness"
    )
    return sf.traces.save_traces(sf.traces.anonymize_traces(traces, model, suppression_limit=0.4, seed=1), folder)


@pytest.mark.parametrize("name", MODELS)
def test_traces_on_file_verify(name: str) -> None:
    found = sf.verify(ON_FILE / name)
    assert found.ok
    assert promise_words(MODELS[name]) in [check.promise for check in found.checks]


@pytest.mark.parametrize("name", ["sets", "c"])
def test_traces_made_anew_have_the_same_bytes(name: str, tmp_path: Path) -> None:
    folder = make(MODELS[name], tmp_path / name)
    for file in ("traces.csv", "values.csv", "policy.toml"):
        assert (folder / file).read_bytes() == (ON_FILE / name / file).read_bytes()
