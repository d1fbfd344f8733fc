"""Measures series of m-invariance, ``python docs/figures/invariant.py``: counterfeits and losses on Adult.

Of the 30,162 complete records of Adult half are in at first; each month a tenth leaves and as many new people come, in
random order; medians and ranges of five orders. Adult is looked for in the folder that ``SFUMATO_DATA`` names.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

import polars as pl

import sfumato as sf
from sfumato.papers.datasets import complete_adult
from sfumato.series.series import overview_of

QUASI = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
SENSITIVE, M, MONTHS, SEEDS = "occupation", 4, 6, (1, 2, 3, 4, 5)
SCHEMA = sf.Schema(identifying=["id"], quasi_identifying=QUASI, sensitive=[SENSITIVE], others="drop")
MODELS = (sf.KAnonymity(M), sf.DistinctLDiversity(M), sf.ProbabilisticLDiversity(M))


def months(frame: pl.DataFrame, seed: int) -> Iterator[pl.DataFrame]:
    """Yield everybody who is in, month by month."""
    people = frame.sample(fraction=1, shuffle=True, seed=seed)
    size = people.height // 2
    here, new = people[:size], people[size:]
    for month in range(MONTHS):
        yield here
        stay = here.sample(size - size // 10, seed=seed + month)
        here, new = pl.concat([stay, new[: size // 10]]), new[size // 10 :]


def played(frame: pl.DataFrame, seed: int, place: Path) -> list[dict[str, float]]:
    """Return the figures of each release."""
    found = []
    for number, table in enumerate(months(frame, seed), 1):
        began = perf_counter()
        if number == 1:
            series = sf.Series.start(place, SCHEMA, MODELS, table=table, way="m-invariance", seed=seed)
        else:
            series.republish(table, seed=seed)
        seconds = perf_counter() - began
        rows = pl.read_csv(series.releases[-1] / "data.csv").height
        line = overview_of(series).releases[-1]
        assert line.classes is not None
        assert line.loss is not None
        counterfeits = 100 * (rows - table.height) / rows
        found.append(
            {"classes": line.classes, "counterfeits": counterfeits, "NCP": 100 * line.loss, "seconds": seconds}
        )
    assert series.verify(ledger=True).ok
    return found


def main() -> None:
    """Print a line for each release."""
    adult, source = complete_adult(None)
    frame = adult.select(*QUASI, SENSITIVE).with_row_index("id")
    print(f"{source}; m = {M}, {len(QUASI)} attributes, sensitive {SENSITIVE}, {len(SEEDS)} orders")
    with TemporaryDirectory() as folder:
        series = [played(frame, seed, Path(folder) / str(seed)) for seed in SEEDS]
    for number, lines in enumerate(zip(*series, strict=True), 1):
        columns = {name: [line[name] for line in lines] for name in lines[0]}
        told = (f"{name} {median(each):,.6g} ({min(each):,.6g} to {max(each):,.6g})" for name, each in columns.items())
        print(f"release {number}: {'; '.join(told)}")


if __name__ == "__main__":
    main()
