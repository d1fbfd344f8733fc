"""Rounded ends in plain Python: exact fractions, one interval at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from fractions import Fraction
from itertools import count

MOST_BINS = 4
DECIMAL_PLACES = {Fraction(1, 10**places) for places in range(16)}


def rounded_numbers(
    values: Sequence[Fraction], low: Fraction, high: Fraction, most: int = MOST_BINS
) -> tuple[Fraction, Fraction]:
    """Return where the interval around ``low .. high`` begins, and what comes after it; `values` are the column."""
    unit = largest_unit(values)
    for step in steps() if most == MOST_BINS else steps(CLOSER):
        if step < 2 * unit:
            continue
        first, last = low // step, high // step
        if last - first + 1 <= most:
            return first * step, (last + 1) * step
    raise AssertionError


def of_few_values(values: Sequence[Fraction]) -> bool:
    """Whether all values together are no more bins than an interval may have, so that none is rounded."""
    finest = next(step for step in steps() if step >= 2 * largest_unit(values))
    return max(values) // finest - min(values) // finest + 1 <= MOST_BINS


def steps(digits: Sequence[int] = (1, 2, 5)) -> Iterator[Fraction]:
    for exponent in count(-15):
        for digit in digits:
            yield digit * Fraction(10) ** exponent


def largest_unit(values: Sequence[Fraction]) -> Fraction:
    """Return the largest 1, 2, 5 times a power of ten that divides whole numbers; else the last decimal place."""
    fitting = [step for step in islice_steps(100) if all(value % step == 0 for value in values)]
    if all(value.denominator == 1 for value in values):
        return max(fitting, default=Fraction(1)) if any(values) else Fraction(1)
    return max(step for step in fitting if step in DECIMAL_PLACES)


CLOSER = (1, 2, 3, 5)
"""First digits of steps of a declared grid."""


def islice_steps(number: int, digits: Sequence[int] = (1, 2, 5)) -> list[Fraction]:
    walk = steps(digits)
    return [next(walk) for _ in range(number)]


def rounded_dates(days: Sequence[date], low: date, high: date) -> tuple[date, date]:
    """Return the first and the last day of the interval around ``low .. high``."""
    for start_of, next_start in calendar(days):
        start, bins = start_of(low), 1
        stop = next_start(start)
        while stop <= high and bins <= MOST_BINS:
            stop, bins = next_start(stop), bins + 1
        if bins <= MOST_BINS:
            return start, stop - timedelta(days=1)
    raise AssertionError


def of_few_dates(days: Sequence[date]) -> bool:
    start_of, next_start = next(calendar(days))
    stop, bins = next_start(start_of(min(days))), 1
    while stop <= max(days):
        stop, bins = next_start(stop), bins + 1
    return bins <= MOST_BINS


Start = Callable[[date], date]


def calendar(days: Sequence[date]) -> Iterator[tuple[Start, Start]]:
    yearly = all((day.month, day.day) == (1, 1) for day in days)
    monthly = all(day.day == 1 for day in days)
    if not monthly:
        epoch = date(1970, 1, 1)
        yield (
            lambda day: day - timedelta(days=(day - epoch).days % 2),
            lambda day: day + timedelta(days=2),
        )
        yield (lambda day: day - timedelta(days=day.weekday()), lambda day: day + timedelta(days=7))
    months = [1, 3, 6, 12, *(12 * mantissa * 10**power for power in range(3) for mantissa in (2, 5, 10))]
    for step in months:
        if (monthly and step < 2) or (yearly and step < 24):
            continue
        yield month_start(step), month_after(step)


def month_start(step: int) -> Start:
    def start(day: date) -> date:
        months = (day.year * 12 + day.month - 1) // step * step
        return date(months // 12, months % 12 + 1, 1)

    return start


def month_after(step: int) -> Start:
    def after(day: date) -> date:
        months = day.year * 12 + day.month - 1 + step
        return date(months // 12, months % 12 + 1, 1)

    return after
