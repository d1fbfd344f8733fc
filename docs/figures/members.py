"""Measures what deFinetti names where different people share a bucket, for decision record 10.

``python docs/figures/members.py`` prints, for each sensitive attribute and l, the share of the people whose value is
named with random, alike and dealt members: medians and ranges over five seeds, each of which draws 30,000 records of
Adult and the buckets. Adult is looked for in the folder that ``SFUMATO_DATA`` names.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from statistics import median
from typing import Literal

import polars as pl
from beliefs import USED, adult

import sfumato as sf
from sfumato.table.table import Table

Members = Literal["random", "alike", "dealt"]
MEMBERS: tuple[Members, ...] = ("random", "alike", "dealt")
CASES = (("occupation", 2), ("occupation", 4), ("occupation", 6), ("marital-status", 2))


def whole(sensitive: str, records: int, seed: int) -> Table:
    """Draw complete records, all of which are published."""
    inside, outside = adult(sensitive, records, seed)
    schema = sf.Schema(quasi_identifying=[name for name in USED if name != sensitive], sensitive=[sensitive])
    return sf.read_table(pl.concat([inside.frame, outside.frame]), schema)


def named(table: Table, members: Members, size: int, seed: int) -> float:
    """Publish once, and return the share of the people whose value deFinetti names."""
    way = sf.Bucketization(members=members)
    release = sf.anonymize(table, sf.ProbabilisticLDiversity(size), anonymizer=way, seed=seed)
    return sf.attack(release, table, attacks="definetti", seed=seed).results[0].success.share


def cell(shares: Sequence[float]) -> str:
    """Write a median and a range."""
    middle, low, high = (f"{100 * each(shares):.1f}" for each in (median, min, max))
    return f"{middle} % ({low} to {high})"


def main() -> None:
    """Print the table, a line as soon as it is measured."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--records", type=int, default=30_000)
    asked = parser.parse_args()
    print("| sensitive | l | random | alike | dealt |\n|---|---|---|---|---|")
    for sensitive, size in CASES:
        tables = {seed: whole(sensitive, asked.records, seed) for seed in range(1, 1 + asked.seeds)}
        shares = {one: [named(table, one, size, seed) for seed, table in tables.items()] for one in MEMBERS}
        print(f"| {sensitive} | {size} | {' | '.join(cell(each) for each in shares.values())} |", flush=True)


if __name__ == "__main__":
    main()
