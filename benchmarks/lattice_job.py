"""The optimal full-domain search and local recoding on Adult with all nine hierarchies, beside ARX's published times.

Times are CPU seconds of the search alone, encoded table in, best node out, and are printed in *yardsticks*: one polars
``group_by`` of all nine columns of the same table of strings, in the same run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

import sfumato as sf
from benchmarks.measuring import Cost, run_repeatedly
from benchmarks.results import Figure, SkippedJob
from benchmarks.settings import Settings
from sfumato.anonymizers.protocol import Problem
from sfumato.metrics import measure_losses
from sfumato.recoding import recode
from sfumato.table.encoding import EncodedTable, encode

NAME = "lattice"
COLUMNS = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class",
)  # fmt: skip
YARDSTICKS = 30
REPEATS = 7
MILLION = 1_000_000
YARDSTICK = 0.008
"""CPU seconds of a yardstick on the machine that the bars were set for; bars are seconds there."""


@dataclass(frozen=True)
class Search:
    """One search to measure.

    Attributes
    ----------
    what : str
    k : int
    limit : float
        Fraction of the records that may be suppressed.
    bar : float
        CPU seconds.
    arx : str
        CPU seconds that ARX takes, single-threaded and warm, measured on a 2-core machine of the same kind.
    """

    what: str
    k: int
    limit: float
    bar: float
    arx: str


SEARCHES = (
    Search("k = 5, at most 5 % suppressed", 5, 0.05, 0.25, "1.2 to 1.3 s"),
    Search("k = 5, any suppression", 5, 1.0, 1.0, "4.6 s"),
    Search("k = 50, any suppression", 50, 1.0, 1.0, "6.4 s"),
    Search("k = 5, no suppression", 5, 0.0, 0.08, "0.05 to 0.08 s"),
)
LOSS_BARS = ((0.0524, 10.0, "0.0524 in 55 s"), (0.059, 2.0, "0.0591 in 6 s"))


def run(settings: Settings) -> Iterator[Figure]:
    """Measure everything on the complete Adult records."""
    frame, hierarchies = adult_with_hierarchies(settings)
    yield from compare(frame, hierarchies)


def compare(frame: pl.DataFrame, hierarchies: Any, rows: int = MILLION, repeats: int = REPEATS) -> Iterator[Figure]:
    """Search the lattice of a table of strings, and of the same table repeated to `rows` records."""
    yardstick = run_repeatedly(lambda: frame.group_by(frame.columns).len(), YARDSTICKS)[0]
    table = _encoded(frame, hierarchies)
    for job in SEARCHES:
        yield _search(table, job, yardstick, repeats)
    large = _encoded(pl.concat([frame] * -(-rows // frame.height)).head(rows), hierarchies)
    k = round(5 * rows / frame.height)
    job = Search(f"the table repeated to {rows:,} records, k = {k}, at most 5 % suppressed", k, 0.05, 1.0, "3.1 s")
    yield _search(large, job, yardstick, repeats)
    yield from _local(table, yardstick, repeats)


def adult_with_hierarchies(settings: Settings) -> tuple[pl.DataFrame, Any]:
    """Return the complete Adult records as ARX ships them, and the hierarchy of each column, or raise SkippedJob."""
    folder = None if settings.data is None else settings.data / "adult"
    path = None if folder is None else folder / "arx_adult.csv"
    if folder is None or path is None or not path.is_file():
        raise SkippedJob(
            "ARX's Adult data is not here; put its adult.csv as FOLDER/adult/arx_adult.csv and its hierarchies into "
            "FOLDER/adult/hierarchies/ and set SFUMATO_DATA=FOLDER"
        )
    files = {name: folder / "hierarchies" / f"adult_hierarchy_{name}.csv" for name in COLUMNS}
    return pl.read_csv(path, separator=";", infer_schema=False).select(COLUMNS), {
        name: sf.read_hierarchy(file) for name, file in files.items()
    }


def _encoded(frame: pl.DataFrame, hierarchies: Any) -> EncodedTable:
    return encode(sf.read_table(frame, sf.Schema(quasi_identifying=hierarchies)))


def _search(table: EncodedTable, job: Search, yardstick: Cost, repeats: int) -> Figure:
    problem = Problem(table, (sf.KAnonymity(job.k),), int(job.limit * table.height))
    optimal = sf.Optimal(mean="geometric")
    cost, found = run_repeatedly(lambda: optimal.search(problem), repeats)
    best = "none" if found.loss is None else f"{found.loss:.6f}"
    about = f"{found.evaluated:,} of {found.lattice.size:,} nodes counted, optimum {best}"
    return _time(f"optimum: {job.what}", cost, job.bar, yardstick, f"{about}; {cost}; ARX {job.arx}")


def _time(what: str, cost: Cost, bar: float, yardstick: Cost, detail: str) -> Figure:
    ratio = cost.cpu / yardstick.cpu
    detail = f"{detail}; a yardstick {yardstick}; bar {bar:g} s at {YARDSTICK:g} s CPU a yardstick"
    return Figure(
        NAME, f"{what}, yardsticks", ratio, f"{ratio:.1f}", bar=round(bar / YARDSTICK, 1), at_most=True, detail=detail
    )


def _local(table: EncodedTable, yardstick: Cost, repeats: int) -> Iterator[Figure]:
    problem = Problem(table, (sf.KAnonymity(5),), 0)
    cost, loss, suppressed = _local_loss(lambda: sf.Optimal(local_recoding=True).solve(problem), table, repeats)
    for bar, seconds, arx in LOSS_BARS:
        detail = f"{suppressed} suppressed, {cost}; ARX {arx}"
        yield Figure(NAME, f"local recoding, k = 5: loss within {seconds:g} s", loss, f"{loss:.4f}", bar, True, detail)
        yield _time(f"local recoding, k = 5: loss {loss:.4f}", cost, seconds, yardstick, detail)


def _local_loss(solve: Callable[[], Any], table: EncodedTable, repeats: int) -> tuple[Cost, float, int]:
    cost, solution = run_repeatedly(solve, repeats)
    losses = measure_losses(recode(table, solution), 5)
    return cost, losses.loss_metric / (table.height * len(table.attributes)), losses.suppressed
