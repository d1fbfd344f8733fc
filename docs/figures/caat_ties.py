"""Measures what CAAT loses by each reading of a tie, on Adult; ``python docs/figures/caat_ties.py`` prints it.

Information lost (NCP), medians and ranges over five starts: of the first 5,000 complete records with three attributes,
and of all with eight. Adult is looked for in the folder that
``SFUMATO_DATA`` names.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import polars as pl

import sfumato as sf

COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "salary",
)  # fmt: skip
EIGHT = ("age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country")
TABLES: Mapping[str, tuple[Sequence[str], int]] = {
    "5,000 records, 3 attributes": (("age", "sex", "race"), 5000),
    "30,162 records, 8 attributes": (EIGHT, 40_000),
}
SEEDS = (1, 2, 3, 4, 5)


def adult() -> pl.DataFrame:
    """Return Adult's complete records."""
    path = Path(os.environ["SFUMATO_DATA"]) / "adult" / "adult.data"
    frame = pl.read_csv(path, has_header=False, new_columns=COLUMNS).with_columns(pl.col(pl.String).str.strip_chars())
    return frame.filter(~pl.any_horizontal(pl.col(pl.String) == "?"))


def line(frame: pl.DataFrame, names: Sequence[str], k: int, ties: str) -> str:
    """Write the loss."""
    table = sf.read_table(frame.select(names), sf.Schema(quasi_identifying=names))
    way = sf.CAAT(ties=ties, block_size=None)
    losses = [
        sf.anonymize(table, sf.KAnonymity(k), anonymizer=way, seed=seed).report.losses.normalized_ncp for seed in SEEDS
    ]
    return f"{median(losses):.3g} ({min(losses):.3g} to {max(losses):.3g})"


def main() -> None:
    """Print the table."""
    print("| table | k | ties | information lost (NCP) |\n|---|---|---|---|")
    for name, (names, records) in TABLES.items():
        frame = adult().head(records)
        for k in (3, 10):
            for ties in ("all", "first"):
                print(f"| {name} | {k} | {ties} | {line(frame, names, k, ties)} |", flush=True)


if __name__ == "__main__":
    main()
