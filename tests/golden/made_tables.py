"""Two tables that look like real ones, drawn with a fixed seed: a town, and a ward whose patients are much alike."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import polars as pl

import sfumato as sf

DISEASES = {"organs": {"lungs": ["flu", "cough"], "stomach": ["ulcer"]}, "outside": {"skin": ["rash", "burn"]}}


def town(rows: int = 700) -> pl.DataFrame:
    """Numbers, dates, codes and names with missing values among them; most records are distinct."""
    draw = np.random.default_rng(20)
    age = np.clip(draw.normal(45, 18, rows), 18, 90).astype(int)
    wage = np.round(draw.lognormal(7.5, 0.6, rows) + 20 * age, 1)
    job = draw.choice(
        ["clerk", "cook", "nurse", "smith", "tailor", "miller"], rows, p=[0.4, 0.25, 0.15, 0.1, 0.06, 0.04]
    )
    born = [date(2020, 1, 1) - timedelta(days=int(years) * 365 + int(days)) for years, days in zip(
        age, draw.integers(0, 12, rows) * 30, strict=True)]  # fmt: skip
    missing = draw.random((rows, 2)) < 0.03
    return pl.DataFrame(
        {
            "age": age,
            "wage": pl.Series(wage).set(pl.Series(missing[:, 0]), None),
            "zip": draw.choice(["12345", "12399", "12999", "54321", "54322"], rows),
            "job": pl.Series(job).set(pl.Series(missing[:, 1]), None),
            "born": born,
            "disease": draw.choice(["flu", "cough", "ulcer", "rash", "burn"], rows, p=[0.35, 0.25, 0.2, 0.15, 0.05]),
            "place": np.arange(rows),
        }
    )


TOWN = sf.Schema(
    quasi_identifying={
        "age": sf.intervals(5, 20),
        "wage": None,
        "zip": sf.prefixes(3, 1),
        "job": None,
        "born": sf.dates(),
    },
    sensitive={"disease": sf.groups(DISEASES)},
    insensitive=["place"],
)


def ward(rows: int = 300) -> pl.DataFrame:
    """Few values, many equal records, and one disease that more than half of the patients have."""
    draw = np.random.default_rng(21)
    return pl.DataFrame(
        {
            "age": draw.integers(2, 9, rows) * 10,
            "weeks": draw.integers(0, 5, rows) ** 2,
            "sex": draw.choice(["f", "m"], rows),
            "disease": draw.choice(["flu", "ulcer", "burn", "rash"], rows, p=[0.54, 0.2, 0.16, 0.1]),
            "note": [f"note {number}" for number in draw.permutation(rows)],
        }
    )


WARD = sf.Schema(
    quasi_identifying={"age": sf.intervals(20, 40), "weeks": sf.intervals(4), "sex": sf.flat()},
    sensitive=["disease"],
    insensitive=["note"],
)
