"""Memory against disk as tables grow, and one table of fifty million records that only the disk can hold."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import census
from benchmarks.disk_job import anonymized
from benchmarks.measuring import Cost, run_child
from benchmarks.release_job import generated
from benchmarks.results import Figure
from benchmarks.settings import Settings

NAME, LARGEST, DEALT = "engines", "largest", "dealt"
ROWS = 1_000_000, 3_000_000, 10_000_000
WAYS = ("bucketization", 3_000_000), ("bucketization", 5_000_000), ("slicing", 3_000_000)
MOST_ROWS = 50_000_000
MOST_MEMORY = "4GB"
MOST_GIB = 4.0


def run(settings: Settings) -> Iterator[Figure]:
    """Run both engines, in turns, once on each table."""
    for rows in ROWS:
        path = _census(settings.folder, rows)
        with tempfile.TemporaryDirectory(dir=settings.folder) as folder:
            memory, disk = (
                anonymized(path, census.QUASI_IDENTIFYING, Path(folder), name) for name in ("memory", "disk")
            )
        what = f"{rows // 10**6} million records"
        cpu = disk.cpu / memory.cpu
        yield Figure(
            NAME, f"CPU time on disk ÷ in memory, {what}", cpu, f"{cpu:.1f} ×", None, True, f"{disk}; {memory}"
        )
        peak, detail = disk.peak / memory.peak, f"{_gib(disk)}; {_gib(memory)}"
        yield Figure(NAME, f"peak on disk ÷ in memory, {what}", peak, f"{peak:.2f} ×", None, True, detail)


def run_largest(settings: Settings) -> Iterator[Figure]:
    """Publish and verify the largest table, once; its peak is that of resident memory."""
    path = _census(settings.folder, MOST_ROWS)
    with tempfile.TemporaryDirectory(dir=settings.folder) as folder:
        made = anonymized(path, census.QUASI_IDENTIFYING, Path(folder), "disk", "--memory", MOST_MEMORY, seed=None)
        size = path.stat().st_size / 1e9
        yield _peak("anonymize", made, f"{made}; a file of {size:.1f} GB")
        yield _peak("verify", verified(Path(folder) / "release"), "every promise holds")
        shutil.rmtree(folder)


def run_dealt(settings: Settings) -> Iterator[Figure]:
    """Fill buckets and slice, in memory and on disk, once each."""
    for way, rows in WAYS:
        path = _census(settings.folder, rows, "with-income")
        with tempfile.TemporaryDirectory(dir=settings.folder) as folder:
            disk, memory = (_dealt(path, way, Path(folder) / name, name) for name in ("disk", "memory"))
        what, cpu, peak = f"{way}, {rows // 10**6} million records", disk.cpu / memory.cpu, disk.peak / memory.peak
        yield Figure(
            DEALT, f"CPU time on disk ÷ in memory, {what}", cpu, f"{cpu:.1f} ×", None, True, f"{disk}; {memory}"
        )
        detail = f"{_gib(disk)}; {_gib(memory)}"
        yield Figure(DEALT, f"peak on disk ÷ in memory, {what}", peak, f"{peak:.2f} ×", None, True, detail)


def _dealt(path: Path, way: str, target: Path, engine: str) -> Cost:
    words = ["--quasi", ",".join(census.QUASI_IDENTIFYING), "--sensitive", census.SENSITIVE, "--others", "drop"]
    words += ["--anonymizer", way, "-l", "3", "--diversity", "probabilistic", "--engine", engine]
    return run_child(["-m", "sfumato.cli", "anonymize", str(path), *words, "--out", str(target), "--quiet"])


def verified(release: Path) -> Cost:
    """Run ``sfumato verify``, which ends with an error where a promise is broken."""
    return run_child(["-m", "sfumato.cli", "verify", str(release)])


def _peak(verb: str, cost: Cost, detail: str) -> Figure:
    peak = cost.peak / 2**30
    what = f"peak memory of {verb}, {MOST_ROWS // 10**6} million records, GiB"
    return Figure(LARGEST, what, peak, f"{peak:.2f} GiB", MOST_GIB, True, f"{cost}; {detail}")


def _census(folder: Path, rows: int, *more: str) -> Path:
    name = "-".join(["census", str(rows), *more])
    return generated(
        folder / f"{name}.csv", lambda target: run_child(["-m", "benchmarks.census", str(rows), str(target), *more])
    )


def _gib(cost: Cost) -> str:
    return f"{cost.peak / 2**30:.2f} GiB"
