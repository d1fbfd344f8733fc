"""Plain twins of descriptive statistics and regressions: one number after the other, no array.

Numbers with masses are a list of pairs (number, people).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import exp, log

Masses = Sequence[tuple[Fraction, Fraction]]


def total(masses: Masses) -> Fraction:
    return sum((number * mass for number, mass in masses), Fraction(0))


def people(masses: Masses) -> Fraction:
    return sum((mass for _, mass in masses), Fraction(0))


def geometric_mean(masses: Masses) -> float:
    return exp(sum(log(number) * mass for number, mass in masses) / people(masses))


def central_moment(masses: Masses, order: int) -> Fraction:
    mean = total(masses) / people(masses)
    return sum(((number - mean) ** order * mass for number, mass in masses), Fraction(0)) / people(masses)


def quantile(masses: Masses, share: Fraction) -> Fraction:
    """Return Hyndman and Fan's second definition: halfway to the next number where the share is met exactly."""
    rising = sorted({number for number, _ in masses})
    for place, number in enumerate(rising):
        below = people([pair for pair in masses if pair[0] <= number])
        if below == share * people(masses) and place + 1 < len(rising):
            return (number + rising[place + 1]) / 2
        if below >= share * people(masses):
            return number
    raise AssertionError


def gini(masses: Masses) -> Fraction:
    """Return half of the mean difference of two people, over the mean."""
    apart = sum((abs(one - other) * mine * theirs for one, mine in masses for other, theirs in masses), Fraction(0))
    return apart / people(masses) / total(masses) / 2


def lowest(masses: Masses, share: Fraction) -> Fraction:
    """Return which part of the sum the people with the lowest numbers have."""
    left, taken = share * people(masses), Fraction(0)
    for number, mass in sorted(masses):
        some = min(left, mass)
        taken, left = taken + number * some, left - some
    return taken / total(masses)


def solved(matrix: Sequence[Sequence[Fraction]], right: Sequence[Fraction]) -> list[Fraction]:
    """Solve linear equations by elimination."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for place in range(len(rows)):
        pivot = next(row for row in range(place, len(rows)) if rows[row][place] != 0)
        rows[place], rows[pivot] = rows[pivot], rows[place]
        rows[place] = [cell / rows[place][place] for cell in rows[place]]
        for other in range(len(rows)):
            if other != place:
                factor = rows[other][place]
                rows[other] = [cell - factor * mine for cell, mine in zip(rows[other], rows[place], strict=True)]
    return [row[-1] for row in rows]


def regressed(
    columns: Sequence[Sequence[Fraction]], wanted: Sequence[Fraction], weights: Sequence[Fraction]
) -> list[tuple[Fraction, Fraction]]:
    """Return each coefficient of a weighted regression, and its sandwich variance times n / (n - p)."""
    size, count = len(columns[0]), len(wanted)
    records = list(zip(columns, wanted, weights, strict=True))
    bread = [[sum(w * x[i] * x[j] for x, _, w in records) for j in range(size)] for i in range(size)]
    found = solved(bread, [sum(w * x[i] * y for x, y, w in records) for i in range(size)])
    errors = [y - sum(b * cell for b, cell in zip(found, x, strict=True)) for x, y, _ in records]
    variances = []
    for place in range(size):
        row = solved(bread, [Fraction(int(place == other)) for other in range(size)])
        scores = [
            w * e * sum(r * cell for r, cell in zip(row, x, strict=True))
            for (x, _, w), e in zip(records, errors, strict=True)
        ]
        variances.append(sum(score**2 for score in scores) * Fraction(count, count - size))
    return list(zip(found, variances, strict=True))
