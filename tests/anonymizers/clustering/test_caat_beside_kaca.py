"""Jiang 2014 compares CAAT with KACA by time over the number of quasi-identifying attributes; here by distances."""

from __future__ import annotations

import os
from pathlib import Path
from statistics import mean

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.anonymizers.clustering import greedy, kaca
from sfumato.anonymizers.clustering.distinct import HeightDistance, collapse_records
from sfumato.anonymizers.feasibility import feasible
from sfumato.anonymizers.protocol import Problem
from sfumato.table.encoding import EncodedTable, encode

ATTRIBUTES = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"]
STARTS = 3


def adult(count: int) -> EncodedTable:
    folder = Path(os.environ["SFUMATO_DATA"]) / "adult"
    frame = pl.read_csv(folder / "arx_adult.csv", separator=";")
    names = ATTRIBUTES[:count]
    trees = {name: sf.read_hierarchy(folder / "hierarchies" / f"adult_hierarchy_{name}.csv") for name in names}
    return encode(sf.read_table(frame.select(names), sf.Schema(quasi_identifying=trees)))


@pytest.mark.slow
@pytest.mark.skipif("SFUMATO_DATA" not in os.environ, reason="SFUMATO_DATA names no folder with the Adult data")
@pytest.mark.parametrize("count", [5, 6, 7, 8])
def test_caat_looks_at_fewer_distances_where_classes_are_many(count):
    """For k = 6 from five attributes on. With fewer, most records are in large enough classes from the first: KACA
    leaves them where they are, CAAT makes classes of all."""
    table = adult(count)
    looked: dict[str, list[int]] = {"caat": [], "kaca": []}
    for seed in range(STARTS):
        (start,) = feasible(Problem(table, [sf.KAnonymity(6)], seed=seed))
        records = collapse_records(start, HeightDistance())
        first = int(np.random.default_rng(seed).integers(len(records.weights)))
        looked["caat"].append(greedy.caat_classes(records, first, "widen", "all", frozen=False).looked)
        looked["kaca"].append(kaca.kaca_classes(collapse_records(start, sf.KACA().distance), stub=True).looked)
    assert mean(looked["caat"]) < mean(looked["kaca"])
