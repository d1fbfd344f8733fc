"""Mondrian on Adult: time against anonypy, and the information loss of both partitions."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import polars as pl

import sfumato as sf
from benchmarks.adult import QUASI_IDENTIFYING, read_adult
from benchmarks.measuring import Cost, run_child, run_here, run_repeatedly
from benchmarks.peers import classes_of, prepare_anonypy
from benchmarks.results import Figure
from benchmarks.settings import Settings
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.metrics import measure_losses
from sfumato.progress import thread_count
from sfumato.recoding import recode
from sfumato.table.encoding import encode

NAME = "mondrian"
K = 10
FASTER_BAR = 500
LOSS_BAR = 0.064
LOSS_SECONDS = 0.5
REPEATS = 15

DEFAULT = "default"
VARIANTS = {
    DEFAULT: sf.Mondrian(),
    "cut anywhere": sf.Mondrian(split_rule="anywhere"),
    "textbook: widest, median or next to it": sf.Mondrian(attribute_choice="widest"),
    "textbook: widest, median": sf.Mondrian(split_rule="median"),
}

Prepare = Callable[[pl.DataFrame, int], Callable[[], Sequence[Any]]]


def run(settings: Settings) -> Iterator[Figure]:
    """Measure everything on Adult's complete records."""
    path = settings.adult_file()
    frame = read_adult(path).select(QUASI_IDENTIFYING)
    yield from compare(frame)
    yield from _first_calls(str(path))


def compare(frame: pl.DataFrame, prepare: Prepare = prepare_anonypy, repeats: int = REPEATS) -> Iterator[Figure]:
    """Partition `frame` with both; a short time of ours is the median of `repeats`, anonypy runs once."""
    partition = prepare(frame, K)
    theirs, parts = run_here(partition)
    table = sf.read_table(frame, sf.Schema(quasi_identifying=frame.columns))
    calls = {
        name: run_repeatedly(lambda chosen=chosen: sf.anonymize(table, sf.KAnonymity(K), anonymizer=chosen), repeats)
        for name, chosen in VARIANTS.items()
    }
    alone = run_repeatedly(lambda: VARIANTS[DEFAULT].solve(_problem(table)), repeats)[0]
    whole = calls[DEFAULT][0]
    yield _times("whole call: encode, partition, recode, verify, measure, report", theirs, whole, FASTER_BAR)
    yield _times("encode and partition alone", theirs, alone)
    yield from _losses({name: (cost, release.report.losses.normalized_ncp) for name, (cost, release) in calls.items()})
    yield _loss_figure("anonypy's partition", _loss_of(parts, table), theirs)


def _problem(table: sf.Table) -> Problem:
    return Problem(encode(table), (sf.KAnonymity(K),), threads=thread_count(None))


def _times(what: str, theirs: Cost, ours: Cost, bar: float | None = None) -> Figure:
    ratio = theirs.wall / ours.wall
    detail = f"{ours} against anonypy's partition alone, {theirs}; by CPU {theirs.cpu / ours.cpu:,.0f} times"
    return Figure(NAME, f"times faster than anonypy: {what}", ratio, f"{ratio:,.0f} ×", bar, detail=detail)


def _losses(measured: dict[str, tuple[Cost, float]]) -> Iterator[Figure]:
    in_time = {name: loss for name, (cost, loss) in measured.items() if cost.wall <= LOSS_SECONDS}
    best = min(in_time, key=in_time.__getitem__, default=None)
    what = f"lowest information loss of a whole call within {LOSS_SECONDS} s"
    loss, detail = (1.0, "no call was that quick") if best is None else (in_time[best], f"{best}, {measured[best][0]}")
    yield Figure(NAME, what, loss, f"{loss:.4f}", LOSS_BAR, at_most=True, detail=detail)
    for name, (cost, loss) in measured.items():
        yield _loss_figure(name, loss, cost)


def _loss_figure(name: str, loss: float, cost: Cost) -> Figure:
    return Figure(NAME, f"information loss: {name}", loss, f"{loss:.4f}", detail=str(cost))


def _loss_of(parts: Sequence[Any], table: sf.Table) -> float:
    encoded = encode(table)
    partition = Partition(classes_of(parts, table.height), len(parts))
    return measure_losses(recode(encoded, partition), K).normalized_ncp


def _first_calls(path: str) -> Iterator[Figure]:
    """Measure a process with one call, without and with compiled kernels on the disk; importing alone is its floor."""
    floor = run_child(["-c", "import sfumato as sf, polars; sf.anonymize"])
    with tempfile.TemporaryDirectory() as cache:
        cold = run_child(["-m", "benchmarks.first_call", path], {"SFUMATO_CACHE_DIR": cache})
        warm = run_child(["-m", "benchmarks.first_call", path], {"SFUMATO_CACHE_DIR": cache})
    for what, cost in (("first ever, kernels being compiled", cold), ("first of a program, kernels on the disk", warm)):
        ratio = cost.wall / floor.wall
        detail = f"whole process {cost}; importing alone {floor}"
        yield Figure(NAME, f"process with one call ÷ importing: {what}", ratio, f"{ratio:.1f} ×", detail=detail)
