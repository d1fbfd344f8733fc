"""Measures what withdrawals from an appended series cost; ``python docs/figures/withdrawals.py`` prints it.

The 30,162 complete records of Adult arrive in random order in six months of equal size; k = 10, 8 attributes;
medians and ranges of five orders. Adult is looked for in the folder that ``SFUMATO_DATA`` names.
"""

from __future__ import annotations

import random
import shutil
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import polars as pl

import sfumato as sf
from sfumato.papers.datasets import complete_adult

QUASI = ("age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country")
K, MONTHS, WITHDRAW, SEEDS = 10, 6, (1, 30, 302), (1, 2, 3, 4, 5)


def left(frame: pl.DataFrame, seed: int, folder: Path) -> dict[int, int]:
    """Return for each number of people who withdraw how many rows go."""
    frame = frame.sample(fraction=1, shuffle=True, seed=seed)
    schema = sf.Schema(identifying=["id"], quasi_identifying=QUASI, sensitive=["salary"], others="drop")
    borders = [round(month * frame.height / MONTHS) for month in range(MONTHS + 1)]
    series = sf.Series.start(folder / "s", schema, sf.KAnonymity(K), seed=seed)
    for start, stop in pairwise(borders):
        series.append(frame[start:stop], seed=seed)
    found = {}
    for count in WITHDRAW:
        copy = folder / f"s{count}"
        shutil.copytree(series.folder, copy)
        shutil.copytree(series.ledger, copy.with_name(f"{copy.name}.ledger"))
        who = random.Random(seed).sample(frame["id"].to_list(), count)
        found[count] = sf.Series.open(copy).withdraw(who, most_lost=1, seed=seed).left
        assert sf.Series.open(copy).verify(ledger=True).ok
    return found


def main() -> None:
    """Print a line for each number of people who withdraw at once."""
    adult, source = complete_adult(None)
    frame = adult.select(*QUASI, "salary").with_row_index("id")
    print(f"{source}; k = {K}, {len(QUASI)} attributes, {MONTHS} months, {len(SEEDS)} orders")
    with TemporaryDirectory() as folder:
        found = []
        for seed in SEEDS:
            place = Path(folder) / str(seed)
            place.mkdir()
            found.append(left(frame, seed, place))
    for count in WITHDRAW:
        gone = [each[count] for each in found]
        shares = [100 * each / frame.height for each in gone]
        rows = f"{median(gone):,} rows go ({min(gone):,} to {max(gone):,})"
        print(f"{count} withdraw: {rows}, {median(shares):.2f} % ({min(shares):.2f} to {max(shares):.2f})")


if __name__ == "__main__":
    main()
