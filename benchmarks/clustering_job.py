"""Clustering on Adult with its hierarchies: exact runs, growth, what blocks cost, and how far from the best.

Times of exact runs are CPU seconds of the search alone, encoded table in, classes out, printed in *yardsticks* like
those of the lattice job. Growth is a ratio of two runs of the same method.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks.lattice_job import YARDSTICK, YARDSTICKS, adult_with_hierarchies
from benchmarks.measuring import Cost, run_here, run_repeatedly
from benchmarks.results import Figure
from benchmarks.settings import Settings
from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.protocol import Problem
from sfumato.metrics import measure_losses
from sfumato.progress import thread_count
from sfumato.recoding import recode
from sfumato.table.encoding import EncodedTable, encode

NAME = "clustering"
EIGHT = (
    "age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country",
)  # fmt: skip
EXACT_BARS = {
    "caat": 15.0, "kaca": 15.0, "k-member": 15.0, "oka": 15.0, "utility-recoding": 15.0,
    "sbc": 3.0, "k-means": 3.0, "mdav": 3.0, "v-mdav": 3.0,
}  # fmt: skip
"""Seconds on two cores."""

SIZES = (100_000, 200_000, 400_000, 800_000, 1_600_000)
GROWTH_BAR = 2.3
BLOCK = 5000
BLOCK_BAR = 1.05
LOSS_BAR, LOSS_SECONDS = 0.0524, 20.0
BOUND_BAR = 1.8
CHANGED = 0.05
"""Share of the cells of drawn records that come from another record."""


def run(settings: Settings) -> Iterator[Figure]:
    """Measure everything on the complete Adult records."""
    frame, hierarchies = adult_with_hierarchies(settings)
    eight = {name: hierarchies[name] for name in EIGHT}
    yield from exact_runs(frame.select(EIGHT), eight)
    yield from cost_of_blocks(frame.select(EIGHT), eight)
    yield from distance_from_best(frame, hierarchies)
    yield from growth(frame.select(EIGHT), eight, SIZES)


def exact_runs(frame: pl.DataFrame, hierarchies: Any, repeats: int = 1) -> Iterator[Figure]:
    """Run every method in one piece, k = 10, without refinement."""
    yardstick = run_repeatedly(lambda: frame.group_by(frame.columns).len(), YARDSTICKS)[0]
    table = _encoded(frame, hierarchies)
    for name, seconds in EXACT_BARS.items():
        method = _whole(name)
        cost, solution = run_repeatedly(lambda method=method: method.solve(_problem(table, 10)), repeats)
        loss = measure_losses(recode(table, solution), 10).normalized_ncp
        detail = f"{cost}, NCP {loss:.4f}; a yardstick {yardstick}; bar {seconds:g} s at {YARDSTICK:g} s a yardstick"
        yield _time(f"{name}, k = 10, in one piece, yardsticks", cost.wall / yardstick.cpu, seconds / YARDSTICK, detail)


def cost_of_blocks(frame: pl.DataFrame, hierarchies: Any, block: int = BLOCK) -> Iterator[Figure]:
    """Compare the loss in blocks with that in one piece."""
    table = _encoded(frame, hierarchies)
    for name in EXACT_BARS:
        whole, blocked = (
            measure_losses(recode(table, method.solve(_problem(table, 10))), 10).normalized_ncp
            for method in (_whole(name), dataclasses.replace(_whole(name), block_size=block))
        )
        detail = f"NCP {blocked:.4f} in blocks, {whole:.4f} in one piece"
        what, ratio = f"{name}: loss in blocks of {block:,} ÷ in one piece", blocked / whole
        yield Figure(NAME, what, ratio, f"{ratio:.3f}", BLOCK_BAR, True, detail)


def distance_from_best(frame: pl.DataFrame, hierarchies: Any) -> Iterator[Figure]:
    """Measure the lowest loss within some time, and the lower bound, on all nine attributes with k = 5."""
    table = _encoded(frame, hierarchies)
    problem = _problem(table, 5)
    cells = table.height * len(table.attributes)
    bound_cost, bound = run_here(lambda: sf.lower_bound(table, 5, loss="loss", threads=problem.threads))
    for what, method in _best_methods():
        cost, solution = run_here(lambda method=method: method.solve(problem))
        loss = measure_losses(recode(table, solution), 5).loss_metric / cells
        detail = f"{cost}; ARX's best local recoding 0.0524 in 55 s"
        yield Figure(NAME, f"lowest loss, {what}", loss, f"{loss:.4f}", LOSS_BAR, True, detail)
        detail = f"bound {bound:.4f} in {bound_cost}"
        yield Figure(NAME, f"loss ÷ lower bound, {what}", loss / bound, f"{loss / bound:.2f}", BOUND_BAR, True, detail)


def growth(frame: pl.DataFrame, hierarchies: Any, sizes: Sequence[int]) -> Iterator[Figure]:
    """Run every method in its default blocks on drawn records, each time on twice as many."""
    for name in EXACT_BARS:
        costs = [_grown(name, frame, hierarchies, rows) for rows in sizes]
        ratios = [after.wall / before.wall for before, after in pairwise(costs)]
        seconds = ", ".join(f"{rows:,}: {cost}" for rows, cost in zip(sizes, costs, strict=True))
        what, worst = f"{name}: largest growth for twice the records", max(ratios)
        yield Figure(NAME, what, worst, f"{worst:.2f} ×", GROWTH_BAR, True, seconds)


def _grown(name: str, frame: pl.DataFrame, hierarchies: Any, rows: int) -> Cost:
    table = _encoded(drawn(frame, rows), hierarchies)
    return run_here(lambda: ANONYMIZERS[name]().solve(_problem(table, 10)))[0]


def drawn(frame: pl.DataFrame, rows: int, seed: int = 2026) -> pl.DataFrame:
    """Return records drawn with replacement, some cells of each exchanged for those of other records."""
    rng = np.random.default_rng(seed)
    own = rng.integers(0, frame.height, rows)
    columns = []
    for name in frame.columns:
        other = rng.integers(0, frame.height, rows)
        columns.append(frame[name].gather(np.where(rng.random(rows) < CHANGED, other, own)))
    return pl.DataFrame(columns)


def _best_methods() -> Iterator[tuple[str, Any]]:
    yield f"k-member refined for {LOSS_SECONDS - 8:g} s", sf.KMember(loss="loss", refine_seconds=LOSS_SECONDS - 8)
    yield "k-member refined for 60 s", sf.KMember(loss="loss", refine_seconds=60.0)
    yield "optimal search with local recoding", sf.Optimal(local_recoding=True)


def _whole(name: str) -> Any:
    """Return a method in one piece, and as its paper has it: without refinement."""
    method = ANONYMIZERS[name]
    options = {field.name for field in dataclasses.fields(method)}
    chosen = {key: value for key, value in {"block_size": 0, "refine": 0}.items() if key in options}
    return method(**chosen)


def _encoded(frame: pl.DataFrame, hierarchies: Any) -> EncodedTable:
    return encode(sf.read_table(frame, sf.Schema(quasi_identifying=hierarchies)))


def _problem(table: EncodedTable, k: int) -> Problem:
    return Problem(table, (sf.KAnonymity(k),), 0, 1, thread_count(None))


def _time(what: str, yardsticks: float, bar: float, detail: str) -> Figure:
    return Figure(NAME, what, yardsticks, f"{yardsticks:.0f}", bar=round(bar, 1), at_most=True, detail=detail)
