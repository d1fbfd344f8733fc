"""`sfumato anonymize --engine disk` of a large CSV file against the same command in memory: CPU, peak and records."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import census
from benchmarks.measuring import Cost, median, run_child
from benchmarks.release_job import K, generated
from benchmarks.results import Figure
from benchmarks.settings import Settings

NAME = "disk"
CPU_BAR = 2.0
PEAK_BAR = 1.0
"""GiB, at ten million records."""
SEED = "1"


def run(settings: Settings) -> Iterator[Figure]:
    """Measure the synthetic census, in memory and on disk in turns."""
    path = generated(
        settings.folder / f"census-{settings.rows}.csv",
        lambda target: run_child(["-m", "benchmarks.census", str(settings.rows), str(target)]),
    )
    yield from compare(path, census.QUASI_IDENTIFYING, settings.repeats)


def compare(path: Path, quasi_identifying: Sequence[str], repeats: int) -> Iterator[Figure]:
    """Run memory, disk, memory, …, and see whether both publish the same records in the same order."""
    memory, disk, hashes = [], [], set()
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        for _ in range(repeats):
            for engine, costs in (("memory", memory), ("disk", disk)):
                costs.append(anonymized(path, quasi_identifying, Path(folder), engine))
                hashes.add(content_of(Path(folder) / "release"))
    cpu = median(disk).cpu / median(memory).cpu
    what = f"median of {repeats}: {median(disk)} on disk, {median(memory)} in memory"
    yield Figure(NAME, "CPU time on disk ÷ in memory", cpu, f"{cpu:.1f} ×", CPU_BAR, True, what)
    peaks = [max(cost.peak for cost in costs) / 2**30 for costs in (disk, memory)]
    detail = f"{peaks[1]:.2f} GiB in memory; the file has {path.stat().st_size / 2**30:.2f} GiB"
    yield Figure(NAME, "peak memory on disk, GiB", peaks[0], f"{peaks[0]:.2f} GiB", PEAK_BAR, True, detail)
    yield Figure(NAME, "different tables published", len(hashes), str(len(hashes)), 1, True, "under one seed")


def anonymized(
    path: Path, quasi_identifying: Sequence[str], folder: Path, engine: str, *more: str, seed: str | None = SEED
) -> Cost:
    """Run ``sfumato anonymize`` with an engine; the release lies in the folder ``release`` of `folder`."""
    target = folder / "release"
    shutil.rmtree(target, ignore_errors=True)
    words = ["--quasi", ",".join(quasi_identifying), "-k", str(K), "--engine", engine, "--others", "drop", *more]
    words += [] if seed is None else ["--seed", seed]
    return run_child(["-m", "sfumato.cli", "anonymize", str(path), *words, "--out", str(target), "--quiet"])


def content_of(release: Path) -> str:
    """Hash the records of a release, whether they lie in one file or in parts."""
    digest = hashlib.sha256()
    parts = [release / "data.csv"] if (release / "data.csv").exists() else sorted((release / "data").iterdir())
    for number, part in enumerate(parts):
        with part.open("rb") as file:
            header = file.readline()
            digest.update(b"" if number else header)
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
