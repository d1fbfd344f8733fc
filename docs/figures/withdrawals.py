"""Measures what withdrawals from an appended series cost; ``python docs/figures/withdrawals.py`` prints it.

The 30,162 complete records of Adult arrive in random order in six months of equal size; k = 10, 8 attributes. Adult is
looked for in the folder that ``SFUMATO_DATA`` names.
"""

from __future__ import annotations

import random
import shutil
import time
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import sfumato as sf
from sfumato.papers.datasets import complete_adult

QUASI = ("age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country")
K, MONTHS, WITHDRAW = 10, 6, (1, 30, 302)


def main() -> None:
    """Print a line for each number of people who withdraw at once."""
    adult, source = complete_adult(None)
    frame = adult.select(*QUASI, "salary").with_row_index("id").sample(fraction=1, shuffle=True, seed=1)
    schema = sf.Schema(identifying=["id"], quasi_identifying=QUASI, sensitive=["salary"], others="drop")
    borders = [round(month * frame.height / MONTHS) for month in range(MONTHS + 1)]
    print(f"{source}; k = {K}, {len(QUASI)} attributes, {MONTHS} months")
    with TemporaryDirectory() as folder:
        made = Path(folder) / "s"
        series = sf.Series.start(made, schema, sf.KAnonymity(K), seed=1)
        for start, stop in pairwise(borders):
            series.append(frame[start:stop], seed=1)
        for count in WITHDRAW:
            copy = Path(folder) / f"s{count}"
            shutil.copytree(made, copy)
            shutil.copytree(series.ledger, copy.with_name(f"{copy.name}.ledger"))
            who = random.Random(3).sample(frame["id"].to_list(), count)
            begun = time.perf_counter()
            step = sf.Series.open(copy).withdraw(who, most_lost=1, seed=1)
            seconds = time.perf_counter() - begun
            assert sf.Series.open(copy).verify(ledger=True).ok
            share = step.left / frame.height
            print(f"{count} withdraw: {step.left} rows go, {share:.2%}, {step.left / count:.1f} each; {seconds:.1f} s")


if __name__ == "__main__":
    main()
