"""A synthetic census: eight dependent attributes with skewed marginals, and an income band.

Made so that anonymizing is not easy: regions, birthplaces, occupations and industries have long tails, and most
combinations of values occur once. Every row is drawn from an assumed population; nobody real is in it.

    python -m benchmarks.census 10000000 census.csv
    python -m benchmarks.census 10000000 census.csv with-income
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

QUASI_IDENTIFYING = ("age", "sex", "marital", "education", "occupation", "industry", "birthplace", "region")
SENSITIVE = "income"

BLOCK = 1_000_000
"""Records drawn at a time; a table's rows depend on the seed and this number alone."""

_MARITAL = ("never married", "married", "separated", "divorced", "widowed", "partnership")
_EDUCATION = (
    "none", "preschool", "grades 1-4", "grades 5-6", "grades 7-8", "grade 9", "grade 10", "grade 11", "secondary",
    "vocational", "some college", "short tertiary", "bachelor", "master", "professional", "doctorate",
)  # fmt: skip
_OCCUPATIONS, _INDUSTRIES, _BIRTHPLACES, _REGIONS, _INCOMES = 60, 80, 120, 1000, 12

Codes = NDArray[np.int64]


def census(rows: int, seed: int = 2026) -> pl.DataFrame:
    """Return `rows` records as a frame of numbers (age) and text, the income band last."""
    return pl.concat(_blocks(rows, seed)).with_columns(pl.col(pl.Enum).cast(pl.String))


def write_census(rows: int, path: Path, seed: int = 2026, *, income: bool = False) -> None:
    """Write the quasi-identifying attributes of the same records as CSV, with `income` that as well, block by block."""
    columns = [*QUASI_IDENTIFYING, *([SENSITIVE] if income else [])]
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        for number, block in enumerate(_blocks(rows, seed)):
            block.select(columns).write_csv(file, include_header=number == 0)
    part.replace(path)


def _blocks(rows: int, seed: int) -> Iterator[pl.DataFrame]:
    for start in range(0, rows, BLOCK):
        yield _block(min(BLOCK, rows - start), np.random.default_rng([seed, start // BLOCK]))


def _block(count: int, rng: np.random.Generator) -> pl.DataFrame:
    age = _ages(count, rng)
    sex = (rng.random(count) < 0.49 + 0.0012 * age).astype(np.int64)
    education = _education(age, rng)
    occupation = _occupation(age, education, sex, rng)
    region = _heavy_tailed(count, _REGIONS, 0.9, rng)
    columns = {
        "sex": (sex, ("male", "female")),
        "marital": (_marital(age, rng), _MARITAL),
        "education": (education, _EDUCATION),
        "occupation": (occupation, ("not working", *_numbered("occupation", _OCCUPATIONS))),
        "industry": (_industry(occupation, rng), ("no industry", *_numbered("industry", _INDUSTRIES))),
        "birthplace": (_birthplace(region, rng), ("here", *_numbered("country", _BIRTHPLACES))),
        "region": (region, _numbered("R", _REGIONS)),
        SENSITIVE: (_income(age, education, occupation, rng), _numbered("band", _INCOMES)),
    }
    return pl.DataFrame({"age": age, **{name: _texts(*column) for name, column in columns.items()}})


def _numbered(word: str, count: int) -> tuple[str, ...]:
    return tuple(f"{word}{number:0{len(str(count))}d}" for number in range(1, count + 1))


def _texts(codes: Codes, labels: tuple[str, ...]) -> pl.Series:
    return pl.Series(labels, dtype=pl.Enum(labels)).gather(codes)


def _ages(count: int, rng: np.random.Generator) -> Codes:
    years = np.arange(100)
    # An ageing population: nearly level up to the fifties, then falling; one cohort is larger.
    shares = np.clip(1.0 - np.maximum(years - 55, 0) / 42, 0.002, None) ** 1.6 + 0.35 * np.exp(
        -(((years - 52) / 8) ** 2)
    )
    return rng.choice(years, count, p=shares / shares.sum())


def _marital(age: Codes, rng: np.random.Generator) -> Codes:
    shares = np.zeros((100, len(_MARITAL)))
    years = np.arange(100)
    ever = 1 / (1 + np.exp(-(years - 29) / 4.5)) * (years >= 17)
    ended = np.clip((years - 25) / 160, 0, 0.22)
    widowed = np.clip(((years - 50) / 50) ** 3, 0, 0.75) * (years > 50)
    shares[:, 0] = 1 - ever
    shares[:, 4] = ever * widowed
    shares[:, 3] = (ever - shares[:, 4]) * ended
    shares[:, 2] = (ever - shares[:, 4]) * ended / 6
    shares[:, 5] = (ever - shares[:, 4]) * 0.08
    shares[:, 1] = 1 - shares.sum(axis=1)
    return _draw(shares, age, rng)


def _education(age: Codes, rng: np.random.Generator) -> Codes:
    levels = np.arange(len(_EDUCATION))
    # Until 25 schooling is what the age allows; the old went to school for a shorter time.
    reached = np.clip((np.arange(100) - 3) * 0.62, 0, 15)
    middle = np.minimum(reached, 10.2 - np.maximum(np.arange(100) - 45, 0) * 0.06)
    spread = np.clip((np.arange(100) - 4) / 8, 0.35, 2.6)
    shares = np.exp(-(((levels - middle[:, None]) / spread[:, None]) ** 2) / 2) + 0.002
    shares[:, 8] *= 2.5
    shares[levels > reached[:, None] + 1.0] = 0
    return _draw(shares, age, rng)


def _occupation(age: Codes, education: Codes, sex: Codes, rng: np.random.Generator) -> Codes:
    """Code 0 does not work; the others lie around a place that schooling and sex decide, with a long tail."""
    near = education * 3.4 + sex * 5 + rng.laplace(0, 5.5, len(age))
    anywhere = _heavy_tailed(len(age), _OCCUPATIONS, 0.7, rng)
    chosen = np.where(rng.random(len(age)) < 0.2, anywhere, np.clip(near, 0, _OCCUPATIONS - 1)).astype(np.int64)
    works = rng.random(len(age)) < np.select([age < 16, age < 22, age < 62, age < 70], [0, 0.45, 0.8, 0.3], 0.05)
    return np.where(works, chosen + 1, 0)


def _industry(occupation: Codes, rng: np.random.Generator) -> Codes:
    """Code 0 does not work; each occupation is met in few industries mostly."""
    home = (occupation * 37) % _INDUSTRIES
    chosen = (home + _heavy_tailed(len(occupation), _INDUSTRIES, 1.5, rng)) % _INDUSTRIES
    return np.where(occupation == 0, 0, chosen + 1)


def _birthplace(region: Codes, rng: np.random.Generator) -> Codes:
    """Code 0 was born here; the large regions, which come first, have more of the others."""
    abroad = rng.random(len(region)) < 0.05 + 0.25 * np.exp(-region / 120)
    return np.where(abroad, 1 + _heavy_tailed(len(region), _BIRTHPLACES, 1.1, rng), 0)


def _income(age: Codes, education: Codes, occupation: Codes, rng: np.random.Generator) -> Codes:
    level = 1 + 0.3 * education + 0.03 * np.minimum(age, 55) + (occupation % 7) * 0.35 + rng.normal(0, 1.6, len(age))
    return np.where(age < 15, 0, np.clip(level - 2 * (occupation == 0), 0, _INCOMES - 1)).astype(np.int64)


def _heavy_tailed(count: int, values: int, exponent: float, rng: np.random.Generator) -> Codes:
    shares = np.arange(1, values + 1) ** -exponent
    return np.searchsorted(np.cumsum(shares / shares.sum())[:-1], rng.random(count)).astype(np.int64)


def _draw(shares: NDArray[np.float64], row: Codes, rng: np.random.Generator) -> Codes:
    """Draw a column of `shares` for each entry of `row`, by that row's shares."""
    bounds = np.cumsum(shares, axis=1)
    bounds /= bounds[:, -1:]
    # Rows laid end to end rise from 0 to their number, so that one search serves all of them.
    places = np.searchsorted(
        (bounds + np.arange(len(bounds))[:, None]).ravel(), row + rng.random(len(row)), side="right"
    )
    return np.minimum(places - row * shares.shape[1], shares.shape[1] - 1).astype(np.int64)


if __name__ == "__main__":
    write_census(int(sys.argv[1]), Path(sys.argv[2]), income="with-income" in sys.argv[3:])
