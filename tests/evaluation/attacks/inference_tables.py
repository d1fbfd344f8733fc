"""Tables and releases that the tests of attacks by inference share."""

from __future__ import annotations

import numpy as np
import polars as pl

from sfumato.evaluation.attacks.protocol import Target
from sfumato.published import BucketizedTables, MarginalTables, Published, PublishedTable, RandomizedTable, SlicedTable
from sfumato.published.apart import labels_of
from sfumato.table.reading import read_table
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.table import Table

QUASI = ("age", "sex", "zip")
SCHEMA = Schema(
    quasi_identifying={"age": None, "sex": None, "zip": Attribute(kind=Kind.CATEGORICAL)},
    sensitive=["disease"],
    insensitive=["visit"],
)


def people(count: int, seed: int, *, linked: bool = False) -> Table:
    """Synthetic people of which no two are equal; where `linked`, the disease follows from the age."""
    generator = np.random.default_rng(seed)
    age = generator.integers(20, 80, count)
    disease = age // 10 - 2 if linked else generator.integers(0, 6, count)
    frame = pl.DataFrame(
        {
            "age": age,
            "sex": generator.choice(["f", "m"], count),
            "zip": generator.choice([f"{place}" for place in range(10001, 10021)], count),
            "disease": [f"disease {code}" for code in disease],
            "visit": seed * 1_000_000 + np.arange(count),
        }
    )
    return read_table(frame, SCHEMA)


def target(published: Published, original: Table, control: Table | None = None, seed: int | None = 1) -> Target:
    return Target(published=published, original=original, control=control, seed=seed)


def as_it_is(table: Table) -> PublishedTable:
    return PublishedTable(plain(table), QUASI, ("disease",))


def all_starred(table: Table) -> PublishedTable:
    """One class: every quasi-identifying value is hidden."""
    return PublishedTable(plain(table).with_columns(pl.lit("*").alias(name) for name in QUASI), QUASI, ("disease",))


def randomized(table: Table) -> RandomizedTable:
    return RandomizedTable(plain(table), QUASI, ("disease",))


def bucketized(table: Table, size: int) -> BucketizedTables:
    """Buckets of `size` different diseases where that is possible: records sorted by disease are dealt out."""
    frame = plain(table).sort("disease")
    bucket = np.arange(frame.height) % (frame.height // size)
    frame = frame.with_columns(bucket=pl.Series(bucket))
    counts = frame.group_by("bucket", "disease").agg(pl.len().alias("count")).sort("bucket", "disease")
    names = tuple(table.schema.quasi_identifying)
    quasi = frame.select(*names, "bucket").sample(fraction=1, shuffle=True, seed=3)
    return BucketizedTables(quasi, counts, names, "disease")


def sliced(table: Table, size: int, *columns: tuple[str, ...]) -> SlicedTable:
    """Buckets of `size` records, dealt out by disease; each column is permuted in each bucket."""
    frame = plain(table).sort("disease")
    bucket = np.arange(frame.height) % (frame.height // size)
    generator = np.random.default_rng(7)
    labels = [pl.Series("bucket", np.sort(bucket))]
    for column, names in zip(columns, labels_of(columns), strict=True):
        order = np.lexsort((generator.random(frame.height), bucket))
        labels += [frame[name][order.tolist()].alias(label) for name, label in zip(column, names, strict=True)]
    return SlicedTable(pl.DataFrame(labels), columns, ("disease",))


def marginals(table: Table, *columns: tuple[str, ...]) -> MarginalTables:
    frame = plain(table)
    counted = tuple(frame.group_by(column).agg(pl.len().alias("count")).sort(column) for column in columns)
    return MarginalTables(counted, columns, ("disease",) if any("disease" in column for column in columns) else ())


def plain(table: Table) -> pl.DataFrame:
    return table.frame.with_columns(pl.col(pl.Categorical).cast(pl.String)).drop("visit", strict=False)


def every_kind(table: Table) -> dict[str, Published]:
    return {
        "generalized": as_it_is(table),
        "bucketized": bucketized(table, 4),
        "sliced": sliced(table, 4, ("age", "sex"), ("zip", "disease")),
        "marginal": marginals(table, ("age", "sex"), ("zip", "disease")),
        "randomized": randomized(table),
    }


def covers(interval: tuple[float, float], value: float) -> bool:
    return interval[0] <= value <= interval[1]
