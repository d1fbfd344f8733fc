"""A synthetic stand-in for the thesis's table of an Internet provider's subscribers. Nobody in it exists."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.papers.thesis_trees import PREFECTURES, SEXES

SUBSCRIBERS = 5750
YOUNGEST, OLDEST = 4, 99
MEN = 0.7

LABEL = (
    f"subscribers (SYNTHETIC stand-in for the provider's table, which is not public): {SUBSCRIBERS:,} records, ages "
    f"{YOUNGEST} to {OLDEST}, {MEN:.0%} men, {len(PREFECTURES)} prefectures by their number of inhabitants"
)

_THOUSANDS = (
    5382, 1308, 1280, 2334, 1023, 1124, 1914, 2917, 1974, 1973, 7267, 6223, 13515, 9126, 2304, 1066, 1154, 787, 835,
    2099, 2032, 3700, 7483, 1816, 1413, 2610, 8839, 5535, 1364, 964, 573, 694, 1922, 2844, 1405, 756, 976, 1385, 728,
    5102, 833, 1377, 1786, 1166, 1104, 1648, 1434,
)  # fmt: skip
"""Inhabitants of the prefectures, about 2015."""


def subscribers(records: int = SUBSCRIBERS, *, seed: int) -> pl.DataFrame:
    """Make a table with the marginals that the thesis states: ages 4 to 99, mostly men, 47 prefectures, a charge.

    Parameters
    ----------
    records
        Rows.
    seed
        The same seed gives the same table.

    Returns
    -------
    polars.DataFrame
        age (years), sex, location, charge (yen a month).
    """
    drawn = np.random.default_rng(seed)
    people = np.array(_THOUSANDS, dtype=float)
    place = drawn.choice(len(PREFECTURES), records, p=people / people.sum())
    return pl.DataFrame(
        {
            "age": _ages(records, drawn),
            "sex": pl.Series(SEXES).gather((drawn.random(records) < MEN).astype(np.int64)),
            "location": pl.Series(PREFECTURES).gather(place),
            "charge": (drawn.lognormal(7.6, 0.6, records) / 50).astype(np.int64) * 50,
        }
    )


def _ages(records: int, drawn: np.random.Generator) -> NDArray[np.int64]:
    """Draw ages: most around 45, a long tail to the old, and the few children that the thesis wonders about."""
    ages = np.clip(drawn.gamma(12.0, 3.9, records), YOUNGEST, OLDEST)
    odd = drawn.random(records) < 0.004
    ages[odd] = drawn.uniform(YOUNGEST, OLDEST + 1, int(odd.sum()))
    # Both ends always occur, whatever was drawn.
    ends = drawn.permutation(records)[:2]
    ages[ends] = (YOUNGEST, OLDEST)[: len(ends)]
    return ages.astype(np.int64)
