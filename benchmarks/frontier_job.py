"""Squared error at two efforts and proven bounds on the two classic tables of 13 numbers, as Markdown.

``python -m benchmarks.frontier_job`` refines MDAV's classes for about 2 and 60 CPU s; with ``--bounds SECONDS`` it
raises the bound of each k for so long, in rounds; with ``--draws N`` it refines at the short effort with N other
sequences of draws; with ``--adult`` it measures Adult: refinement, bound and default. Tables are looked for in the
folder that ``SFUMATO_DATA`` names.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from unittest.mock import patch

import polars as pl

import sfumato as sf
from benchmarks.adult import QUASI_IDENTIFYING, read_adult
from benchmarks.lattice_job import adult_with_hierarchies
from benchmarks.settings import Settings
from sfumato.anonymizers.clustering import refinement
from sfumato.anonymizers.clustering.refinement import refine
from sfumato.anonymizers.protocol import Problem
from sfumato.metrics import measure_losses
from sfumato.recoding import recode
from sfumato.table.encoding import encode

TABLES, KS = ("Tarragona", "Census"), (3, 5, 10)
BARS = {
    "Tarragona": ((14.65, 20.25, 30.20), (14.557, 20.18, 30.125)),
    "Census": ((4.79, 7.45, 11.55), (4.722, 7.385, 11.453)),
}
EFFORTS = (1_785, 57_337)
"""Rounds at which a cooling ends: 7 · (2^c − 1)."""
LONG = 4_564
"""The same of ranges and sets: 28 + 72 · (2^c − 1)."""


def table_of(name: str) -> sf.Table:
    """Read a table whose columns are all quasi-identifying numbers."""
    frame = pl.read_csv(Path(os.environ["SFUMATO_DATA"]) / f"casc_{name.lower()}" / f"{name}.csv")
    return sf.read_table(frame, sf.Schema(quasi_identifying=dict.fromkeys(frame.columns, sf.Attribute("numeric"))))


def refined(table: sf.Table, k: int, rounds: int) -> tuple[float, float]:
    """Return squared error and CPU s of MDAV's classes, refined."""
    start = time.process_time()
    policy = sf.Policy.of(table.schema, [sf.KAnonymity(k)], sf.MDAV(), sf.Recoding(), 0, refine=rounds)
    release = sf.anonymize(table, policy, seed=1, threads=1)
    return release.report.losses.squared_error, time.process_time() - start


def losses() -> Iterator[str]:
    """Measure every table and k at both efforts."""
    yield "| table | k | 2 CPU s | bar | 60 CPU s | bar |\n|---|---|---|---|---|---|"
    refined(table_of(TABLES[0]), KS[0], 1)  # kernels are compiled in it
    for name in TABLES:
        table = table_of(name)
        for place, k in enumerate(KS):
            found = [refined(table, k, rounds) for rounds in EFFORTS]
            (short, quick), (long, slow) = found
            near, far = (BARS[name][effort][place] for effort in (0, 1))
            yield f"| {name} | {k} | {short:.4f} ({quick:.1f} s) | {near:g} | {long:.4f} ({slow:.1f} s) | {far:g} |"


def bounds(seconds: float) -> Iterator[str]:
    """Raise the bound of each table and k by twice as many rounds each time, until the time is over."""
    yield "| table | k | bound | rounds | CPU s |\n|---|---|---|---|---|"
    for name in TABLES:
        table = table_of(name)
        for k in KS:
            start, rounds = time.process_time(), 3
            while True:
                bound = sf.lower_bound(table, k, loss="squared-error", rounds=rounds)
                if 3 * (time.process_time() - start) > seconds:
                    break
                rounds *= 2
            yield f"| {name} | {k} | {bound:.4f} | {rounds} | {time.process_time() - start:.0f} |"


def _other_seed(usual: Callable[[int, int], int], other: int, number: int, place: int) -> int:
    return 1 + (usual(number, place) * (1 + 7_919 * other) + 104_651 * other) % 2_147_483_646


def draws(many: int) -> Iterator[str]:
    """Refine at the short effort with other sequences of draws."""
    yield "| table | k | bar | least | median | most | above the bar |\n|---|---|---|---|---|---|---|"
    for name in TABLES:
        table = table_of(name)
        for place, k in enumerate(KS):
            found = []
            for other in range(many):
                with patch.object(refinement, "_seed", partial(_other_seed, refinement._seed, other)):
                    found.append(refined(table, k, EFFORTS[0])[0])
            bar = BARS[name][0][place]
            above, middle = sum(loss > bar for loss in found), median(found)
            yield f"| {name} | {k} | {bar:g} | {min(found):.4f} | {middle:.4f} | {max(found):.4f} | {above} of {many} |"


def adult() -> Iterator[str]:
    """Refine Adult with nine hierarchies, k = 5, bound it, and anonymize eight attributes without any by default."""
    yield "| Adult, k = 5 | measured | bar | CPU s |\n|---|---|---|---|"
    frame, hierarchies = adult_with_hierarchies(Settings())
    table = encode(sf.read_table(frame, sf.Schema(quasi_identifying=hierarchies)))
    problem = Problem(table, (sf.KAnonymity(5),), threads=2)
    start = time.process_time()
    found = refine(problem, sf.UtilityRecoding().solve(problem), loss="loss", rounds=LONG)
    lost = measure_losses(recode(table, found), 5).loss_metric / (table.height * len(table.attributes))
    yield f"| loss metric, nine hierarchies, {LONG} rounds | {lost:.4f} | 0.046 | {time.process_time() - start:.0f} |"
    start = time.process_time()
    bound = sf.lower_bound(table, 5, loss="loss", rounds=5, threads=2)
    ratio, seconds = lost / bound, time.process_time() - start
    yield f"| that ÷ its bound of {bound:.4f} (5 rounds) | {ratio:.2f} | 1.30 | {seconds:.0f} |"
    eight = read_adult(Path(os.environ["SFUMATO_DATA"]) / "adult" / "adult.data")
    whole = sf.read_table(eight, sf.Schema(quasi_identifying=QUASI_IDENTIFYING, others="drop"))
    start = time.process_time()
    report = sf.anonymize(whole, sf.KAnonymity(5), seed=1).report
    seconds = time.process_time() - start
    yield f"| NCP, eight attributes, default | {report.losses.normalized_ncp:.5f} | 0.0235 | {seconds:.0f} |"


def main() -> None:
    """Print what is asked for, line by line."""
    asked = sys.argv[1:]
    if asked[:1] == ["--bounds"]:
        chosen = bounds(float(asked[1]))
    elif asked[:1] == ["--draws"]:
        chosen = draws(int(asked[1]))
    else:
        chosen = adult() if asked == ["--adult"] else losses()
    for line in chosen:
        print(line, flush=True)


if __name__ == "__main__":
    main()
