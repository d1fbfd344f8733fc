"""Small tables that several tests of attacks share: the example of the slicing paper, and synthetic people."""

from __future__ import annotations

import numpy as np
import polars as pl

from sfumato.published import BucketizedTables, MarginalTables, PublishedTable, SlicedTable
from sfumato.table.reading import read_table
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.table import Table

SCHEMA = Schema(
    quasi_identifying={"age": None, "sex": None, "zip": Attribute(kind=Kind.CATEGORICAL)}, sensitive=["disease"]
)
PATIENTS = pl.DataFrame(
    {
        "age": [22, 22, 33, 52, 54, 60, 60, 64],
        "sex": ["M", "F", "F", "F", "M", "M", "M", "F"],
        "zip": ["47906", "47906", "47905", "47905", "47302", "47302", "47304", "47304"],
        "disease": ["dyspepsia", "flu", "flu", "bronchitis", "flu", "dyspepsia", "dyspepsia", "gastritis"],
    }
)
BUCKETS = pl.Series("bucket", [0] * 4 + [1] * 4)


def patients() -> Table:
    return read_table(PATIENTS, SCHEMA)


def generalized() -> PublishedTable:
    """The paper's generalized table: two classes."""
    data = pl.DataFrame(
        {
            "age": ["[22..52]"] * 4 + ["[54..64]"] * 4,
            "sex": ["{F|M}"] * 8,
            "zip": ["{47905|47906}"] * 4 + ["{47302|47304}"] * 4,
            "disease": PATIENTS["disease"],
        }
    )
    return PublishedTable(data, ("age", "sex", "zip"), ("disease",))


def bucketized() -> BucketizedTables:
    counts = PATIENTS.with_columns(BUCKETS).group_by("bucket", "disease").len("count").sort("bucket", "disease")
    quasi = PATIENTS.drop("disease").with_columns(BUCKETS).sample(fraction=1, shuffle=True, seed=1)
    return BucketizedTables(quasi, counts, ("age", "sex", "zip"), "disease")


def sliced(*columns: tuple[str, ...]) -> SlicedTable:
    """The table sliced into `columns`, each permuted inside its bucket."""
    generator = np.random.default_rng(5)
    labels: list[pl.Series] = [BUCKETS]
    for column in columns:
        order = np.concatenate([generator.permutation(4), 4 + generator.permutation(4)])
        labels.extend(PATIENTS[name][order.tolist()] for name in column)
    return SlicedTable(pl.DataFrame(labels), tuple(columns), ("disease",))


def marginals(*columns: tuple[str, ...]) -> MarginalTables:
    frames = tuple(PATIENTS.group_by(column).len("count").sort(column) for column in columns)
    return MarginalTables(frames, tuple(columns), ("disease",))


def people(count: int, seed: int, *, linked: bool = False) -> pl.DataFrame:
    """Synthetic people; where `linked` the disease follows from the age, else it follows from nothing."""
    generator = np.random.default_rng(seed)
    age = generator.integers(20, 80, count)
    disease = (age // 10 - 2) if linked else generator.integers(0, 6, count)
    return pl.DataFrame(
        {
            "name": [f"person {place}" for place in range(count)],
            "age": age,
            "sex": generator.choice(["f", "m"], count),
            "zip": generator.choice(["10001", "10002", "20001", "20002"], count),
            "disease": [f"disease {code}" for code in disease],
        }
    )


WITH_NAMES = Schema(identifying=["name"], quasi_identifying=SCHEMA.quasi_identifying, sensitive=["disease"])
