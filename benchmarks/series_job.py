"""Twelve releases of a series against one release of everybody: the time of all, and of recounting two of them.

People arrive in random order, in months of equal size. Whole series and single release read files, verify and write.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
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


def run(settings: Settings) -> Iterator[Figure]:
    """Publish a drawn table in one release and by *append*, in turns, and verify the last two releases."""
    whole = _table(settings, settings.checked_rows)
    costs: dict[str, list[Cost]] = {name: [] for name in ("once", "append", "verify one", "verify two")}
    with tempfile.TemporaryDirectory(dir=settings.folder) as name:
        folder = Path(name).resolve()
        split(whole, folder)
        # Not counted: kernels may be compiled.
        _child("once", folder, folder / "warm"), _child("append", folder, folder / "warming")
        for repeat in range(settings.repeats):
            for what in ("once", "append"):
                costs[what].append(_child(what, folder, folder / f"{what}-{repeat}"))
            last = sf.Series.open(folder / f"append-{repeat}").releases[-1]
            costs["verify one"].append(run_child(["-m", "sfumato.cli", "verify", str(last), "--quiet"]))
            costs["verify two"].append(_child("verify", folder, folder / f"append-{repeat}"))
    middle = {what: median(runs) for what, runs in costs.items()}
    rows = f"{settings.checked_rows:,} people, {MONTHS} months, k = {K}; median of {settings.repeats}"
    ratio = middle["append"].wall / middle["once"].wall
    by_cpu = middle["append"].cpu / middle["once"].cpu
    detail = f"{rows}: {middle['append']} against {middle['once']}; by CPU of all threads {by_cpu:.1f} ×"
    yield Figure(
        NAME, "time of 12 releases by append ÷ one of everybody", ratio, f"{ratio:.1f} ×", TIME_BAR, True, detail
    )
    ratio = middle["verify two"].wall / middle["verify one"].wall
    detail = f"{rows}: {middle['verify two']} against {middle['verify one']}"
    what = "time of verifying the last two releases and their pair ÷ verifying the last one"
    yield Figure(NAME, what, ratio, f"{ratio:.1f} ×", VERIFY_BAR, True, detail)


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
    from sfumato.series.reading import ReadRelease
    from sfumato.series.ways import recount_of

    older, newer = (ReadRelease.of(path) for path in sf.Series.open(target).releases[-2:])
    for each in (older, newer):
        each.verification.raise_unless_ok()
    assert newer.place is not None
    assert all(check.outcome == "holds" for check in recount_of(newer.place.way)([older], newer))


if __name__ == "__main__":
    _publish(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
