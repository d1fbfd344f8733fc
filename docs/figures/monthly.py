"""Measures what it costs to publish every month, by *append* and *grow*; ``python docs/figures/monthly.py`` prints it.

The 30,162 complete records of Adult arrive in random order, in months of equal size. The loss of the last release is
held against that of one release of everybody: NCP, both measured on the whole table; medians and ranges. Adult is
looked for in the folder that ``SFUMATO_DATA`` names.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import polars as pl

import sfumato as sf
from sfumato.papers.datasets import complete_adult

QUASI = ("age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country")
K, SEEDS = 10, (1, 2, 3, 4, 5)
MONTHS = {"append": (3, 6, 12, 24), "grow": (3, 6, 12)}


def schema(people: bool) -> sf.Schema:
    """Return the roles; in a series everybody needs a key."""
    return sf.Schema(identifying=["id"] if people else [], quasi_identifying=QUASI, sensitive=["salary"], others="drop")


def months_of(frame: pl.DataFrame, months: int, seed: int) -> Iterator[pl.DataFrame]:
    """Split people who arrive in random order."""
    shuffled = frame.sample(fraction=1, shuffle=True, seed=seed)
    borders = [round(month * frame.height / months) for month in range(months + 1)]
    yield from (shuffled[start:stop] for start, stop in pairwise(borders))


def published(frame: pl.DataFrame, way: str, months: int, seed: int) -> tuple[float, float]:
    """Return the loss of the last release of a series, and the seconds that all releases took."""
    table = sf.read_table(frame, schema(False))
    with TemporaryDirectory() as folder:
        start = time.perf_counter()
        series = sf.Series.start(Path(folder) / "s", schema(True), sf.KAnonymity(K), way=way)
        add = {"append": series.append, "grow": series.grow}[way]
        for month in months_of(frame, months, seed):
            add(month)
        seconds = time.perf_counter() - start
        assert series.verify().ok
        return sf.measure(table, series.releases[-1]).normalized_ncp, seconds


def main() -> None:
    """Print a line for each number of months."""
    adult, source = complete_adult(None)
    frame = adult.select(*QUASI, "salary").with_row_index("id")
    table = sf.read_table(frame, schema(False))
    alone = sf.anonymize(table, sf.KAnonymity(K), anonymizer=sf.Mondrian()).report.losses.normalized_ncp
    print(f"{source}; k = {K}, {len(QUASI)} attributes, Mondrian, {len(SEEDS)} orders of arrival")
    print(f"one release of everybody: NCP {100 * alone:.2f} %")
    for way in MONTHS:
        for months in MONTHS[way]:
            losses, seconds = zip(*(published(frame, way, months, seed) for seed in SEEDS), strict=True)
            shares, times = [100 * loss for loss in losses], [loss / alone for loss in losses]
            ncp = f"NCP {median(shares):.2f} % ({min(shares):.2f} to {max(shares):.2f})"
            ratio = f"{median(times):.2f} times ({min(times):.2f} to {max(times):.2f})"
            print(f"{way}, {months} months: {ncp}, {ratio}; {median(seconds):.1f} s")


if __name__ == "__main__":
    main()
