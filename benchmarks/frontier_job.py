"""Squared error at two efforts and proven bounds on the two classic tables of 13 numbers, as Markdown.

``python -m benchmarks.frontier_job`` refines MDAV's classes for about 2 and 60 CPU s; with ``--bounds SECONDS`` it
raises the bound of each k for so long, in rounds. Tables are looked for in the folder that ``SFUMATO_DATA`` names.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl

import sfumato as sf

TABLES, KS = ("Tarragona", "Census"), (3, 5, 10)
BARS = {
    "Tarragona": ((14.65, 20.25, 30.20), (14.557, 20.18, 30.125)),
    "Census": ((4.79, 7.45, 11.55), (4.722, 7.385, 11.453)),
}
EFFORTS = (1_785, 57_337)
"""Rounds at which a cooling ends: 7 · (2^c − 1)."""


def table_of(name: str) -> sf.Table:
    """Read a table whose columns are all quasi-identifying numbers."""
    frame = pl.read_csv(Path(os.environ["SFUMATO_DATA"]) / f"casc_{name.lower()}" / f"{name}.csv")
    return sf.read_table(frame, sf.Schema(quasi_identifying=dict.fromkeys(frame.columns, sf.Attribute("numeric"))))


def refined(table: sf.Table, k: int, refine: int) -> tuple[float, float]:
    """Return squared error and CPU s of MDAV's classes, refined."""
    start = time.process_time()
    policy = sf.Policy.of(table.schema, [sf.KAnonymity(k)], sf.MDAV(), sf.Recoding(), 0, refine=refine)
    release = sf.anonymize(table, policy, seed=1, threads=1)
    return release.report.losses.squared_error, time.process_time() - start


def losses() -> Iterator[str]:
    """Measure every table and k at both efforts."""
    yield "| table | k | 2 CPU s | bar | 60 CPU s | bar |\n|---|---|---|---|---|---|"
    refined(table_of(TABLES[0]), KS[0], 1)  # kernels are compiled in it
    for name in TABLES:
        table = table_of(name)
        for place, k in enumerate(KS):
            found = [refined(table, k, refine) for refine in EFFORTS]
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


def main() -> None:
    """Print what is asked for, line by line."""
    chosen = bounds(float(sys.argv[2])) if sys.argv[1:2] == ["--bounds"] else losses()
    for line in chosen:
        print(line, flush=True)


if __name__ == "__main__":
    main()
