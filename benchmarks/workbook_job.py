"""A sheet of Excel as a checked table, against the reader of its values alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.census import QUASI_IDENTIFYING, SENSITIVE, census
from benchmarks.measuring import Cost, mean, median, run_child
from benchmarks.results import Figure
from benchmarks.settings import Settings

NAME = "workbook"
ROWS = 500_000
BAR = 1.3

_FLOOR = "import sys, fastexcel; fastexcel.read_excel(sys.argv[1]).load_sheet(0).to_polars()"
_OURS = f"""
import sys
import sfumato as sf
sf.read_table(sys.argv[1], sf.Schema(quasi_identifying={list(QUASI_IDENTIFYING)!r}, sensitive=[{SENSITIVE!r}]))
"""


def run(settings: Settings) -> Iterator[Figure]:
    """Measure on a sheet of the census, which is written once."""
    rows = min(ROWS, settings.checked_rows)
    path = settings.folder / f"census-{rows}.xlsx"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(rows, path)
    yield compare(path, rows, settings.repeats, has_bar=rows == ROWS)


def compare(path: Path, rows: int, repeats: int, *, has_bar: bool) -> Figure:
    """Run floor, ours, floor, … : each of our runs is held against the mean of the floors before and after it."""
    floors, runs = [_cost(_FLOOR, path)], []
    for _ in range(repeats):
        runs.append(_cost(_OURS, path))
        floors.append(_cost(_FLOOR, path))
    around = [mean(floors[place : place + 2]) for place in range(repeats)]
    ratio = median([Cost(ours.wall / floor.wall, 0) for ours, floor in zip(runs, around, strict=True)]).wall
    by_cpu = median([Cost(0, ours.cpu / floor.cpu) for ours, floor in zip(runs, around, strict=True)]).cpu
    costs = f"{median(runs)} against {median(around)}; by CPU {by_cpu:.2f} ×"
    detail = f"{rows:,} records of nine columns; median of {repeats}: {costs}"
    what = "time to read a sheet as a checked table ÷ fastexcel alone, both with the start of Python"
    return Figure(NAME, what, ratio, f"{ratio:.2f} ×", BAR if has_bar else None, True, detail)


def _cost(program: str, path: Path) -> Cost:
    return run_child(["-c", program, str(path)])


def _write(rows: int, path: Path) -> None:
    from sfumato.table.workbooks import write_workbook

    part = path.with_name(path.name + ".part")
    write_workbook(census(rows), part)
    part.replace(path)
