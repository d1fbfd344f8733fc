"""Figures in texts for people: digits without exponents, nouns that agree with their number, numbers of months."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

DIGITS = 6
"""Significant digits where nothing else is asked for."""

_MOST_DECIMALS = 12


def figure(value: float, digits: int = DIGITS, *, grouped: bool = True) -> str:
    """Write a number with at most that many significant digits, e.g. ``3`` for 2.9999999999999996.

    Never with an exponent; with commas between thousands where `grouped`.

    Examples
    --------
    >>> figure(98765.4321), figure(98765.4321, 2), figure(100.0, 2), figure(0.25)
    ('98,765.4', '99,000', '100', '0.25')
    """
    if not math.isfinite(value):
        return str(value)
    # A half is rounded the same way, whatever the last bits of a sum are.
    steady = float(f"{value:.{max(12, digits)}e}")
    # Adding 0 takes the sign from a zero.
    rounded = round(float(f"{steady:.{digits - 1}e}"), _MOST_DECIMALS) + 0.0
    magnitude = math.floor(math.log10(abs(rounded))) if rounded else 0
    decimals = max(digits - 1 - magnitude, 0)
    text = f"{rounded:{',' if grouped else ''}.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text


def percent(share: float, digits: int = DIGITS) -> str:
    """Write a share of 1 as a percentage: ``4.2%`` for 0.042."""
    return f"{figure(100 * share, digits)}%"


def counted(number: int, noun: str) -> str:
    """Write a number with its noun: ``1 class``, ``1,000 classes``."""
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Write a noun for several: ``classes``, ``buckets``, ``people``."""
    if noun == "person":
        return "people"
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def with_article(noun: str) -> str:
    """Write a noun that may stand for several: ``a sliced-table``, ``marginals``."""
    return noun if noun.endswith("s") and not noun.endswith("ss") else f"a {noun}"


@cache
def _months() -> tuple[dict[str, str], ...]:
    """Return by language the number of each name of a month."""
    table = tomllib.loads(files("sfumato").joinpath("months.toml").read_text(encoding="utf-8"))["months"]
    languages = (enumerate(months.split(), 1) for months in table.values())
    return tuple({name: str(number) for number, names in months for name in names.split("|")} for months in languages)


def month_numbers(names: Sequence[str]) -> dict[str, str]:
    """Return the number of each name, in the languages that have all of them, unless these mean different months."""
    fitting = [months for months in _months() if all(name in months for name in names)] or _months()
    found = {name: {months[name] for months in fitting if name in months} for name in names}
    return {name: next(iter(numbers)) for name, numbers in found.items() if len(numbers) == 1}
