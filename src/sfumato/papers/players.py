"""A synthetic stand-in for the soccer paper's fitness table, and a public page of the same players. Nobody is real."""

from __future__ import annotations

import numpy as np
import polars as pl

PLAYERS = 60
QUARTERS = ("2016 Q2", "2016 Q3", "2016 Q4", "2017 Q1", "2017 Q2")

# Position, share of the players, mean height (cm), kilograms more than height leads one to expect.
_POSITIONS = (("goalkeeper", 3, 188, 2), ("defender", 8, 183, 1), ("midfielder", 8, 177, -1), ("forward", 6, 181, 0))

# Measurement, mean, standard deviation, decimals.
_MEASUREMENTS = (
    ("body_fat", 9.5, 1.8, 1),
    ("vo2max", 58.0, 4.0, 1),
    ("sprint_30m", 4.15, 0.14, 2),
    ("jump", 45.0, 5.0, 0),
    ("yoyo_test", 2200.0, 260.0, 0),
    ("hamstring_ratio", 0.62, 0.06, 2),
    ("resting_pulse", 52.0, 5.0, 0),
)
MEASUREMENTS = tuple(name for name, *_ in _MEASUREMENTS)


def players(count: int = PLAYERS, *, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Make five quarters of fitness data with 12 attributes, and a public page about the players.

    Parameters
    ----------
    count
        Players, each measured in every quarter.
    seed
        The same seed gives the same tables.

    Returns
    -------
    tuple of DataFrame
        The fitness table: player (a pseudonym), position, quarter, height (cm), weight (kg), and seven
        measurements; and the page: player, height, weight in the last quarter.
    """
    drawn = np.random.default_rng(seed)
    shares = np.array([share for _, share, *_ in _POSITIONS], dtype=float)
    position = drawn.choice(len(_POSITIONS), count, p=shares / shares.sum())
    height = np.round(drawn.normal(np.array([tall for *_, tall, _ in _POSITIONS])[position], 4.5))
    build = np.array([heavy for *_, heavy in _POSITIONS])[position]
    weight = 22.5 * (height / 100) ** 2 + build + drawn.normal(0, 3.5, count)
    form = drawn.normal(size=(count, len(_MEASUREMENTS)))
    parts = []
    for quarter in QUARTERS:
        weight = weight + drawn.normal(0, 0.7, count)
        form = 0.8 * form + 0.6 * drawn.normal(size=form.shape)
        parts.append(
            pl.DataFrame(
                {
                    "player": [f"player {number:03}" for number in range(1, count + 1)],
                    "position": pl.Series([name for name, *_ in _POSITIONS]).gather(position),
                    "quarter": [quarter] * count,
                    "height": height.astype(np.int64),
                    "weight": np.round(weight, 1),
                    **{
                        name: np.round(mean + spread * form[:, place], decimals)
                        for place, (name, mean, spread, decimals) in enumerate(_MEASUREMENTS)
                    },
                }
            )
        )
    page = parts[-1].select("player", "height", "weight")
    return pl.concat(parts), page
