"""Measures a series of m-invariance, ``python docs/figures/invariant.py``: counterfeits and losses on Adult.

Of the 30,162 complete records of Adult half are in at first; each month a tenth leaves and as many new people come, in
random order. Adult is looked for in the folder that ``SFUMATO_DATA`` names.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import polars as pl

import sfumato as sf
from sfumato.papers.datasets import complete_adult

QUASI = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
SENSITIVE, M, MONTHS, SEED = "occupation", 4, 6, 1
SCHEMA = sf.Schema(identifying=["id"], quasi_identifying=QUASI, sensitive=[SENSITIVE], others="drop")
MODELS = (sf.KAnonymity(M), sf.DistinctLDiversity(M), sf.ProbabilisticLDiversity(M))


def months(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield everybody who is in, month by month."""
    people = frame.sample(fraction=1, shuffle=True, seed=SEED)
    size = people.height // 2
    here, new = people[:size], people[size:]
    for month in range(MONTHS):
        yield here
        stay = here.sample(size - size // 10, seed=SEED + month)
        here, new = pl.concat([stay, new[: size // 10]]), new[size // 10 :]


def main() -> None:
    """Print a line for each release."""
    adult, source = complete_adult(None)
    frame = adult.select(*QUASI, SENSITIVE).with_row_index("id")
    print(f"{source}; m = {M}, {len(QUASI)} attributes, sensitive {SENSITIVE}")
    with TemporaryDirectory() as folder:
        place = Path(folder) / "s"
        for number, table in enumerate(months(frame), 1):
            began = perf_counter()
            if number == 1:
                series = sf.Series.start(place, SCHEMA, MODELS, table=table, way="m-invariance", seed=SEED)
            else:
                series.republish(table, seed=SEED)
            seconds = perf_counter() - began
            rows = pl.read_csv(series.releases[-1] / "data.csv").height
            share = (rows - table.height) / rows
            print(f"release {number}: {table.height:,} people, counterfeits {share:.3%}, {seconds:.1f} s")
        began = perf_counter()
        assert series.verify(ledger=True).ok
        print(f"verified with the ledger in {perf_counter() - began:.1f} s")
        from sfumato.series.overview import overview_of

        print(overview_of(series))


if __name__ == "__main__":
    main()
