"""The thesis's Adult sample and the hierarchies of its appendix 7.1, as paths from the leaf to the root.

An age on a border belongs to the interval on its right; the last interval holds 100.
"""

from __future__ import annotations

from collections.abc import Sequence

from naive.mondrian import TOOLBOX_COUNTRIES, TOOLBOX_SEXES, toolbox_columns

Bounds = Sequence[tuple[int, int]]

AGE_LEVELS: Sequence[Bounds] = [
    [(low, low + 10) for low in range(0, 100, 10)],
    [(0, 20), (20, 50), (50, 70), (70, 100)],
    [(0, 50), (50, 100)],
    [(0, 100)],
]
# Numbers of countries, both ends included.
COUNTRY_LEVELS: Sequence[Bounds] = [
    [(0, 2), (3, 7), (8, 10), (11, 17), (18, 22), (23, 25), (26, 29), (30, 34), (35, 35), (36, 40), (41, 41)],
    [(0, 7), (8, 17), (18, 29), (30, 41)],
    [(0, 41)],
]


def age_path(age: int) -> tuple[str, ...]:
    held = [next(b for b in bounds if b[0] <= age < b[1] or age == b[1] == 100) for bounds in AGE_LEVELS]
    return (str(age), *(f"[{low}:{high}]" for low, high in held))


def country_path(number: int) -> tuple[str, ...]:
    held = [next(b for b in bounds if b[0] <= number <= b[1]) for bounds in COUNTRY_LEVELS]
    # A node of a single country still is another level than the country.
    return (TOOLBOX_COUNTRIES[number], *(f"[{low}:{high}]" for low, high in held))


AGE = tuple(age_path(age) for age in range(101))
SEX = tuple((sex, "*") for sex in TOOLBOX_SEXES)
COUNTRY = tuple(country_path(number) for number in range(len(TOOLBOX_COUNTRIES)))


def toolbox_rows(lines: Sequence[str]) -> list[tuple[str, str, str]]:
    """Age, sex and country of the first 5000 complete lines of adult.data."""
    ages, sexes, countries = toolbox_columns(lines)
    return [(str(a), TOOLBOX_SEXES[s], TOOLBOX_COUNTRIES[c]) for a, s, c in zip(ages, sexes, countries, strict=True)]
