"""Draws what methods lose beside the risk that they leave: Adult, medians of five seeds, above the bound.

``python docs/figures/frontiers.py`` compares them, and writes ``frontiers.csv``; with ``--draw`` it makes picture and
table of the benchmarks' page from that file alone. Adult is looked for in the folder that ``SFUMATO_DATA`` names.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import polars as pl
from benchmarks.adult import QUASI_IDENTIFYING, read_adult

import sfumato as sf
from sfumato.numbers import figure
from sfumato.results import Comparison

HERE = Path(__file__).parent
METHODS = ("mondrian", "mdav", "k-means", "k-member")
RECORDS, SEEDS, KS = 5_000, (1, 2, 3, 4, 5), (2, 5, 10, 20, 50)


def measured() -> pl.DataFrame:
    """Return medians over five samples, each with a seed of its own, for each method and k."""
    adult = read_adult(Path(os.environ["SFUMATO_DATA"]) / "adult" / "adult.data")
    schema = sf.Schema(quasi_identifying=QUASI_IDENTIFYING, others="drop")
    figures = sf.Figures(queries=0, bound=True)
    runs = [
        sf.compare(
            sf.read_table(adult.sample(RECORDS, seed=seed), schema),
            anonymizers=METHODS,
            vary={"k": KS},
            figures=figures,
            seed=seed,
            threads=1,
        ).frame
        for seed in SEEDS
    ]
    keys = ["anonymizer", "k"]
    found = pl.concat(runs, how="diagonal").filter(pl.col("status") == "done")
    medians = found.group_by(keys, maintain_order=True).agg(
        pl.col("cpu_seconds", "loss", "highest_risk", "average_risk", "lower_bound").median()
    )
    return medians.rename({"cpu_seconds": "seconds"}).with_columns(
        pl.lit(0).alias("repetition"), pl.lit("done").alias("status"), pl.lit("").alias("reason")
    ).select(*keys, "repetition", "status", "reason", pl.exclude(*keys, "repetition", "status", "reason"))  # fmt: skip


def page_table(results: pl.DataFrame) -> str:
    """Return losses by method and k, and the bound, as Markdown."""
    lines = ["| loss | " + " | ".join(f"k = {k}" for k in KS) + " | CPU s at k = 5 |", "|---" * (len(KS) + 2) + "|"]
    for method in METHODS:
        own = {row["k"]: row for row in results.filter(pl.col("anonymizer") == method).to_dicts()}
        losses = [f"{own[k]['loss']:.4f}" if k in own else "–" for k in KS]
        lines.append(f"| {method} | {' | '.join(losses)} | {figure(own[5]['seconds'], 2)} |")
    bounds = {row["k"]: row["lower_bound"] for row in results.to_dicts()}
    return "\n".join([*lines, f"| *lower bound* | {' | '.join(f'{bounds[k]:.4f}' for k in KS)} | |"])


def main() -> None:
    """Measure unless told to draw, and write picture and table."""
    if "--draw" not in sys.argv:
        measured().write_csv(HERE / "frontiers.csv", float_precision=6)
    results = pl.read_csv(HERE / "frontiers.csv").with_columns(pl.col("reason").fill_null(""))
    Comparison(results, "k").plot("highest_risk").save(HERE / "frontiers.svg").chmod(0o644)
    print(page_table(results))


if __name__ == "__main__":
    main()
