"""Made-up market baskets: a few goods are in many of them, most in few; and the shelves that goods stand on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

CHUNK = 100_000
TRIES = 4
"""How many goods are drawn for each that a basket holds; those that are drawn twice count once."""


def baskets(count: int, goods: int = 1000, size: int = 10, seed: int = 0) -> Iterator[NDArray[np.int32]]:
    """Draw baskets of different goods, the r-th most popular one with a chance of about 1 ÷ r; arrays (some, size)."""
    draw = np.random.default_rng(seed)
    chances = 1 / np.arange(1, goods + 1)
    bounds = np.cumsum(chances / chances.sum())
    number_of = draw.permutation(goods).astype(np.int32)
    for first in range(0, count, CHUNK):
        shape = min(CHUNK, count - first), TRIES * size
        drawn = np.minimum(np.searchsorted(bounds, draw.random(shape)), goods - 1)
        yield number_of[_first_different(drawn, size, goods)]


def _first_different(drawn: NDArray[np.int64], size: int, goods: int) -> NDArray[np.int64]:
    """Return the first `size` different numbers of each row; where there are fewer, the most popular others."""
    order = np.argsort(drawn, axis=1, kind="stable")
    ranked = np.take_along_axis(drawn, order, axis=1)
    again = np.zeros(drawn.shape, dtype=np.bool_)
    np.put_along_axis(again, order[:, 1:], ranked[:, 1:] == ranked[:, :-1], axis=1)
    first = np.argsort(again, axis=1, kind="stable")[:, :size]
    found = np.take_along_axis(drawn, first, axis=1)
    for row in np.flatnonzero(np.take_along_axis(again, first, axis=1).any(axis=1)).tolist():
        found[row] = list(dict.fromkeys([*found[row].tolist(), *range(goods)]))[:size]
    return found


def write_baskets(folder: Path, count: int, goods: int = 1000, size: int = 10, seed: int = 0) -> tuple[Path, Path]:
    """Write baskets in long form, and a hierarchy of goods, shelves of ten and departments of a hundred."""
    bought, shelves = folder / f"baskets-{count}.csv", folder / f"goods-{goods}.csv"
    with bought.open("wb") as file:
        for part, rows in enumerate(baskets(count, goods, size, seed)):
            numbers = np.repeat(np.arange(len(rows)) + part * CHUNK, size)
            frame = pl.DataFrame({"basket": numbers, "good": rows.ravel()})
            frame = frame.with_columns(pl.format("good {}", pl.col("good").cast(pl.String).str.zfill(4)).alias("good"))
            frame.write_csv(file, include_header=part == 0)
    shelves.write_text(
        "".join(f"good {good:04};shelf {good // 10};department {good // 100}\n" for good in range(goods))
    )
    return bought, shelves
