"""`sfumato anonymize` of a large CSV file, verified and written, against reading and writing it with polars."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import polars as pl

from benchmarks import adult, census
from benchmarks.measuring import Cost, mean, median, run_child
from benchmarks.results import Figure
from benchmarks.settings import Settings

K = 10
TIME_BAR = 4
MEMORY_BAR = 10


def run_census(settings: Settings) -> Iterator[Figure]:
    """Measure the synthetic census: most combinations of values occur once."""
    path = generated(
        settings.folder / f"census-{settings.rows}.csv",
        lambda target: run_child(["-m", "benchmarks.census", str(settings.rows), str(target)]),
    )
    yield from compare("census", path, census.QUASI_IDENTIFYING, settings.repeats)


def run_adult(settings: Settings) -> Iterator[Figure]:
    """Measure records drawn from Adult, some cells exchanged."""
    source = settings.adult_file()
    path = generated(
        settings.folder / f"adult-{settings.rows}.csv",
        lambda target: adult.write_drawn(adult.read_adult(source), settings.rows, target),
    )
    yield from compare("adult-drawn", path, adult.QUASI_IDENTIFYING, settings.repeats)


def compare(job: str, path: Path, quasi_identifying: Sequence[str], repeats: int) -> Iterator[Figure]:
    """Run floor, ours, floor, … : each of our runs is held against the mean of the floors before and after it.

    The first of our runs is not counted: kernels may be compiled in it.
    """
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        _ours(path, quasi_identifying, Path(folder))
        floors, runs = [_floor(path, Path(folder))], []
        for _ in range(repeats):
            runs.append(_ours(path, quasi_identifying, Path(folder)))
            floors.append(_floor(path, Path(folder)))
    around = [mean(floors[place : place + 2]) for place in range(repeats)]
    size = path.stat().st_size
    yield _time_figure(job, runs, around, _about(path, size))
    peak = max(run.peak for run in runs)
    detail = f"{peak / 1e9:.2f} GB for a file of {size / 1e9:.2f} GB"
    yield Figure(job, "peak memory ÷ size of the CSV", peak / size, f"{peak / size:.1f} ×", MEMORY_BAR, True, detail)


def _time_figure(job: str, runs: Sequence[Cost], around: Sequence[Cost], about: str) -> Figure:
    ratio = median([Cost(ours.wall / floor.wall, 0) for ours, floor in zip(runs, around, strict=True)]).wall
    by_cpu = median([Cost(0, ours.cpu / floor.cpu) for ours, floor in zip(runs, around, strict=True)]).cpu
    detail = (
        f"{about}; median of {len(runs)}: {median(runs)} against {median(around)}; by CPU of all threads {by_cpu:.1f} ×"
    )
    what = "time of `sfumato anonymize` ÷ reading and writing with polars"
    return Figure(job, what, ratio, f"{ratio:.1f} ×", TIME_BAR, True, detail)


def _about(path: Path, size: int) -> str:
    # All cells as text in one frame take several times the file; numbering them first does not.
    frame = pl.read_csv(path, schema_overrides=dict.fromkeys(_names(path), pl.Categorical))
    distinct = frame.select(pl.struct(pl.all().to_physical()).n_unique()).item()
    return f"{frame.height:,} records, {distinct:,} distinct"


def _names(path: Path) -> list[str]:
    return pl.read_csv(path, n_rows=0).columns


def _ours(path: Path, quasi_identifying: Sequence[str], folder: Path) -> Cost:
    target = folder / "release"
    shutil.rmtree(target, ignore_errors=True)
    words = ["--quasi", ",".join(quasi_identifying), "-k", str(K), "--out", str(target), "--quiet"]
    return run_child(["-m", "sfumato.cli", "anonymize", str(path), *words])


def _floor(path: Path, folder: Path) -> Cost:
    return run_child(["-m", "benchmarks.floor", str(path), str(folder / "floor.csv")])


def generated(path: Path, write: Callable[[Path], object]) -> Path:
    """Have a file written unless it is there."""
    path = path.resolve()
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path)
    return path
