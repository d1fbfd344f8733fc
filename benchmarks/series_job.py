"""Twelve releases of a series against one release of everybody: the time of all, and of recounting two of them.

People arrive in random order, in months of equal size. Whole series and single release read files, verify and write.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

import sfumato as sf
from benchmarks import adult
from benchmarks.measuring import Cost, median, run_child
from benchmarks.release_job import generated
from benchmarks.results import Figure
from benchmarks.settings import Settings

NAME = "series"
K, MONTHS = 10, 12
TIME_BAR, VERIFY_BAR = 4, 3
GROWING = 30_162
"""People of the growing series: as many as Adult has."""


def run(settings: Settings) -> Iterator[Figure]:
    """Publish a drawn table in one release and in a series, in turns, and verify the last two of appended releases."""
    yield from _way("append", settings.checked_rows, settings)
    yield from _way("grow", min(GROWING, settings.checked_rows), settings)


def _way(way: str, rows: int, settings: Settings) -> Iterator[Figure]:
    costs: dict[str, list[Cost]] = {name: [] for name in ("once", way, "verify one", "verify two")}
    with tempfile.TemporaryDirectory(dir=settings.folder) as name:
        folder = Path(name).resolve()
        split(_table(settings, rows), folder)
        for what in ("once", way):
            # Not counted: kernels may be compiled.
            _child(what, folder, folder / f"{what}-first")
        for repeat in range(settings.repeats):
            for what in ("once", way):
                costs[what].append(_child(what, folder, folder / f"{what}-{repeat}"))
            if way == "append":
                last = sf.Series.open(folder / f"{way}-{repeat}").releases[-1]
                costs["verify one"].append(run_child(["-m", "sfumato.cli", "verify", str(last)]))
                costs["verify two"].append(_child("verify", folder, folder / f"{way}-{repeat}"))
    about = f"{rows:,} people, {MONTHS} months, k = {K}; median of {settings.repeats}"
    # The bar is one of a million people.
    bar = TIME_BAR if way == "append" else None
    yield _ratio(f"time of {MONTHS} releases by {way} ÷ one of everybody", costs[way], costs["once"], about, bar)
    if way == "append":
        what = "time of verifying the last two releases and their pair ÷ verifying the last one"
        yield _ratio(what, costs["verify two"], costs["verify one"], about, VERIFY_BAR)


def _ratio(what: str, ours: Sequence[Cost], other: Sequence[Cost], about: str, bar: float | None) -> Figure:
    first, second = median(ours), median(other)
    ratio, by_cpu = first.wall / second.wall, first.cpu / second.cpu
    detail = f"{about}: {first} against {second}; by CPU of all threads {by_cpu:.1f} ×"
    return Figure(NAME, what, ratio, f"{ratio:.1f} ×", bar, True, detail)


def _table(settings: Settings, rows: int) -> Path:
    source = settings.adult_file()
    path = settings.folder / f"adult-{rows}.csv"
    return generated(path, lambda target: adult.write_drawn(adult.read_adult(source), rows, target))


def split(whole: Path, folder: Path) -> None:
    """Write a table with keys of people, and the same people in months."""
    frame = pl.read_csv(whole).with_row_index("id")
    frame.write_csv(folder / "all.csv")
    shuffled = frame.sample(fraction=1, shuffle=True, seed=1)
    borders = [round(month * frame.height / MONTHS) for month in range(MONTHS + 1)]
    for month in range(MONTHS):
        shuffled[borders[month] : borders[month + 1]].write_csv(folder / f"{month:02d}.csv")


def _child(what: str, folder: Path, target: Path) -> Cost:
    return run_child(["-m", "benchmarks.series_job", what, str(folder), str(target)])


def _schema() -> sf.Schema:
    return sf.Schema(identifying=["id"], quasi_identifying=adult.QUASI_IDENTIFYING)


def _publish(what: str, folder: Path, target: Path) -> None:
    """Run one side as a process of its own."""
    if what == "once":
        sf.anonymize(sf.read_table(folder / "all.csv", _schema()), sf.KAnonymity(K)).save(target)
    elif what == "verify":
        _verify_two(target)
    else:
        series = sf.Series.start(target, _schema(), sf.KAnonymity(K), way=what, progress=lambda *_: None)
        for month in range(MONTHS):
            getattr(series, what)(folder / f"{month:02d}.csv", progress=lambda *_: None)


def _verify_two(target: Path) -> None:
    from sfumato.series.description import recount_of
    from sfumato.series.reading import ReadRelease

    older, newer = (ReadRelease.of(path) for path in sf.Series.open(target).releases[-2:])
    for each in (older, newer):
        each.verification.raise_unless_ok()
    assert newer.place is not None
    assert all(check.outcome == "holds" for check in recount_of(newer.place.way)([older], newer))


if __name__ == "__main__":
    _publish(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
