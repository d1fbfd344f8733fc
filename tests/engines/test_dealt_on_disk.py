"""Bucketization and slicing past memory: the bytes of memory under a seed, and as fair without one."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from engines.test_disk import TOWN_SCHEMA, policy_of, written
from guarantees.combinations import PUBLISHER_SETTINGS
from guarantees.tables import Drawn, tables
from sfumato.anonymizers.dealt import Deals
from sfumato.engines.disk import dealing
from sfumato.errors import SfumatoError
from sfumato.published.checks import parts as checks_in_parts
from sfumato.release.on_disk import not_on_disk
from sfumato.table.large import batches, coding, part_files

DEALS = {
    **{name: each for name, each in PUBLISHER_SETTINGS.items() if isinstance(each, Deals) and not not_on_disk(
        policy_of(TOWN_SCHEMA, [sf.ProbabilisticLDiversity(1.2)], each)
    )},
    "of two": sf.Bucketization(),
    "columns of three": sf.Slicing(column_k=3, columns=2, bucket_size="smallest"),
}  # fmt: skip
MODELS = [
    [sf.ProbabilisticLDiversity(1.2)],
    [sf.ProbabilisticLDiversity(2.0)],
    [sf.TCloseness(0.5)],
    [sf.ProbabilisticLDiversity(1.5), sf.TCloseness(0.8)],
    [sf.DistinctLDiversity(2)],
]


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every batch, part and file holds a few records."""
    monkeypatch.setattr(batches, "BYTES", 90)
    monkeypatch.setattr(batches, "ROWS", 5)
    monkeypatch.setattr(coding, "HELD", 700)
    monkeypatch.setattr(part_files, "HELD", 200)
    monkeypatch.setattr(part_files, "HELD_FOR_A_PART", 20)
    monkeypatch.setattr(checks_in_parts, "BLOCK", 4)
    monkeypatch.setattr(checks_in_parts, "BUCKET", 6)


def files_of(folder: Path) -> dict[str, bytes]:
    """The tables and texts of a release, a table in parts as one file; but for ``release.json``, which hashes them."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            parts = [part.read_bytes() for part in sorted(path.iterdir())]
            header = parts[0].partition(b"\n")[0] + b"\n"
            found[f"{path.name}.csv"] = header + b"".join(part.removeprefix(header) for part in parts)
        else:
            found[path.name] = path.read_bytes()
    del found["release.json"]
    return found


def released(way: Any, folder: Path) -> Any:
    """What comes of a way: the files, figures and notes; or what is refused."""
    try:
        release = way(folder)
    except SfumatoError as error:
        # What is wrong with a column is said with the name of the file where it is found while reading.
        return type(error), [problem.removeprefix("table.csv: ") for problem in error.problems]
    assert sf.verify(folder).ok
    return files_of(folder), dict(release.report.figures), release.report.notes


def both(path: Path, policy: sf.Policy, out: Path, seed: int = 7) -> tuple[Any, Any]:
    def in_memory(folder: Path) -> Any:
        release = sf.anonymize(sf.read_table(path, policy), policy, seed=seed, threads=1)
        release.save(folder)
        return release

    def on_disk(folder: Path) -> Any:
        return sf.anonymize_on_disk(path, policy, folder, seed=seed, threads=1)

    return released(in_memory, out / "memory"), released(on_disk, out / "disk")


@given(
    tables(sensitive=1),
    st.sampled_from(sorted(DEALS)),
    st.sampled_from(MODELS),
    st.sampled_from(["csv", "parquet"]),
    st.sampled_from([3, 500_000]),
)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_release_is_that_of_memory(drawn: Drawn, setting: str, models: Any, ending: str, part: int):
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(dealing, "PART", part)
        folder = Path(name)
        carried = ("note",) if isinstance(DEALS[setting], sf.Bucketization) else ()
        # Of a column that may be a key this engine says that it was not compared.
        path = written(drawn.frame.drop("id", *({"note"} - {*carried})), folder, ending)
        schema = dataclasses.replace(drawn.schema, identifying=(), insensitive=carried, others="drop")
        one, two = both(path, policy_of(schema, models, DEALS[setting]), folder)
        assert one == two
        assert not [path for path in folder.iterdir() if path.name.startswith(".")]
