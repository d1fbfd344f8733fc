"""Optima of ARX's public tests on Adult by its convention, and what the heuristics of its names reach there."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.anonymizers.full_domain.optimal import Heuristic, Optimal
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.statistics import statistics_of
from sfumato.models.protocol import compared_with_original
from sfumato.table.encoding import EncodedTable, encode

pytestmark = pytest.mark.skipif(
    "SFUMATO_DATA" not in os.environ, reason="SFUMATO_DATA names no folder with the Adult data"
)
SLOW = pytest.mark.slow
OCCUPATION = "occupation"
BITS = 558333.2
"""Bits that all nine columns can lose."""

K5, K100, L, R = sf.KAnonymity(5), sf.KAnonymity(100), sf.EntropyLDiversity(5), sf.RecursiveLDiversity(4.0, 5)
H, E = (sf.TCloseness(0.2, distance, reference="original") for distance in ("hierarchical", "equal"))
ENTROPY: dict[str, Any] = {"objective": "entropy"}
MONOTONIC: dict[str, Any] = {"objective": "entropy", "balance": 0.0}
SQUARES: dict[str, Any] = {"objective": "discernibility", "balance": 0.0}


def ranked(balance: float) -> dict[str, Any]:
    return {"mean": "rank", "balance": balance}


@cache
def adult(sensitive: str | None) -> EncodedTable:
    folder = Path(os.environ["SFUMATO_DATA"]) / "adult"
    frame = pl.read_csv(folder / "arx_adult.csv", separator=";", infer_schema=False)
    trees = {name: sf.read_hierarchy(folder / "hierarchies" / f"adult_hierarchy_{name}.csv") for name in frame.columns}
    protected = {} if sensitive is None else {sensitive: sf.Attribute(hierarchy=trees.pop(sensitive))}
    return encode(sf.read_table(frame, sf.Schema(quasi_identifying=trees, sensitive=protected)))


@pytest.mark.parametrize(
    ("models", "limit", "options", "levels", "score"),
    [
        ([K5], 0.04, MONOTONIC, "101132201", 255559.85455731067 / BITS),
        ([K100], 0.04, MONOTONIC, "111132211", 379417.3460570988 / BITS),
        ([K5], 0.0, MONOTONIC, "121132211", 407289.5388925293 / BITS),
        ([K100], 0.0, MONOTONIC, "041132211", 453196.8932458743 / BITS),
        ([K100], 1.0, ENTROPY, "101232211", None),
        ([K5], 1.0, {"mean": "geometric", "balance": 0.1}, "030000000", 0.09257312971977383),
        pytest.param([L], 0.04, ENTROPY, "10112221", None, marks=SLOW),
        ([L], 0.0, ENTROPY, "11113221", None),
        ([E, K5], 0.04, SQUARES, "14103221", 3.11880088e8),
        ([E, K100], 0.0, SQUARES, "14113221", 4.56853172e8),
        ([H, K5], 0.0, MONOTONIC, "04113221", None),
        pytest.param([H, K5], 0.04, MONOTONIC, "14003221", None, marks=SLOW),
        ([H, K100], 0.04, MONOTONIC, "14103121", None),
        ([R], 0.0, MONOTONIC, "11113221", None),
        ([K5, H], 1.0, ranked(0.33), "01000000", 0.6348915854),
        ([R], 1.0, ranked(0.33), "02000000", 0.3414163517),
        ([R], 1.0, ranked(0.5), "03001110", None),
        ([R], 1.0, ranked(0.66), "03001110", None),
        ([K5, H], 1.0, ranked(0.66), "04113221", 0.6778091018),
        pytest.param([R], 0.05, ranked(0.0), "03003120", 1.0, marks=SLOW),
        pytest.param([K5, H], 0.05, ranked(0.33), "14003121", 1.0, marks=SLOW),
        ([R], 0.05, ranked(0.66), "13012111", None),
    ],
)
def test_the_optima_of_arx(
    models: list[Any], limit: float, options: dict[str, Any], levels: str, score: float | None
) -> None:
    table = adult(OCCUPATION if len(levels) == 8 else None)
    if table.sensitive:
        models = compared_with_original(models, statistics_of(table, np.zeros(table.height, dtype=np.int32), 1))
    problem = Problem(table, models, int(limit * table.height + 1e-9))
    found = Optimal(convention="arx", **options).search(problem)
    assert "".join(map(str, found.chosen or ())) == levels
    if score is not None:
        assert found.loss == pytest.approx(score, rel=1e-6)


@pytest.mark.parametrize(("strategy", "limit", "bits"), [("bottom-up", 0.04, 400_196), ("top-down", 1.0, 372_602)])
def test_heuristics_reach_what_those_of_arx_do(strategy: Any, limit: float, bits: int) -> None:
    table = adult(None)
    problem = Problem(table, [K100], int(limit * table.height))
    found = Heuristic(objective="entropy", strategy=strategy).search(problem)
    assert found.loss is not None
    assert found.loss * BITS <= bits
