"""Tables of numbers for the tests of numeric methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.anonymizers.protocol import Anonymizer, Problem
from sfumato.classes.partition import Partition
from sfumato.models.protocol import PrivacyModel
from sfumato.table.encoding import EncodedTable, encode


def encoded(points: Sequence[Sequence[Any]], secret: Sequence[str] | None = None, **attributes: Any) -> EncodedTable:
    """Encode rows of values under the names a0, a1, ..., with settings for some of them."""
    frame = pl.DataFrame({f"a{place}": list(column) for place, column in enumerate(zip(*points, strict=True))})
    quasi = {name: attributes.get(name) for name in frame.columns}
    if secret is not None:
        frame = frame.with_columns(pl.Series("secret", secret))
    schema = sf.Schema(quasi_identifying=quasi, sensitive=["secret"] if secret is not None else [])
    return encode(sf.read_table(frame, schema))


def solve(
    table: EncodedTable, models: Sequence[PrivacyModel], anonymizer: Anonymizer, *, seed: int = 1, threads: int = 1
) -> Partition:
    return anonymizer.solve(Problem(table, models, seed=seed, threads=threads))


def classes_of(class_of: np.ndarray, count: int) -> list[list[int]]:
    """Classes as sorted lists of records, in the order of their numbers."""
    return [np.flatnonzero(class_of == number).tolist() for number in range(count)]


def people(rows: int, seed: int = 0) -> np.ndarray:
    """Heights and weights as of sportsmen, whole numbers, float64 (rows, 2)."""
    draw = np.random.default_rng(seed)
    height = draw.normal(181, 7, rows)
    weight = 0.9 * (height - 100) + draw.normal(2, 5, rows)
    return np.column_stack([height, weight]).round()
