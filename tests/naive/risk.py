"""Risk measures as their definitions read: rows are tuples, None is a missing value and a value of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import comb, log

Row = tuple[object, ...]


def class_sizes(rows: Sequence[Row]) -> list[int]:
    """Records that equal each record, itself included."""
    counts = Counter(rows)
    return [counts[row] for row in rows]


def prosecutor(rows: Sequence[Row]) -> tuple[Fraction, Fraction]:
    """Highest and average risk of an attacker who knows that the person is in the table."""
    risks = [Fraction(1, size) for size in class_sizes(rows)]
    return max(risks), sum(risks, Fraction(0)) / len(risks)


def journalist(rows: Sequence[Row], population: Sequence[Row]) -> tuple[Fraction, Fraction, Fraction]:
    """Highest and average risk from a population table, and the marketer's expected share."""
    counts = Counter(population)
    classes = set(rows)
    highest = max(Fraction(1, counts[row]) for row in rows)
    marketer = sum((Fraction(1, counts[row]) for row in rows), Fraction(0)) / len(rows)
    from_population = Fraction(len(classes), sum(counts[row] for row in classes))
    return highest, max(marketer, from_population), marketer


def share_above(risks: Sequence[float], threshold: float) -> float:
    """Share of the records whose risk is above the threshold."""
    return sum(risk > threshold + 1e-12 for risk in risks) / len(risks)


def expected_inverse(count: int, share: float) -> float:
    """Mean of 1/F where F trials were needed for `count` successes: term by term."""
    if share >= 1:
        return 1 / count
    probability, total, trials, left = share**count, 0.0, count, 1.0
    while left > 1e-13 and trials < 2_000_000:
        total += probability / trials
        left -= probability
        probability *= trials / (trials + 1 - count) * (1 - share)
        trials += 1
    return total


def individual(rows: Sequence[Row], weights: Sequence[float]) -> list[float]:
    """Benedetti and Franconi's risk of each record."""
    counts, sums = Counter(rows), Counter[Row]()
    for row, weight in zip(rows, weights, strict=True):
        sums[row] += weight  # type: ignore[assignment]
    return [expected_inverse(counts[row], counts[row] / sums[row]) for row in rows]


def household(risks: Sequence[float], households: Sequence[object]) -> list[float]:
    """Risk that anybody of a record's household is found."""
    safe: dict[object, float] = {}
    for risk, name in zip(risks, households, strict=True):
        safe[name] = safe.get(name, 1.0) * (1 - risk)
    return [1 - safe[name] for name in households]


def is_alone(rows: Sequence[Row], place: int, columns: Sequence[int]) -> bool:
    """Whether nobody else has the record's values of these columns."""
    own = [rows[place][column] for column in columns]
    return sum([row[column] for column in columns] == own for row in rows) == 1


def minimal_uniques(rows: Sequence[Row], size: int) -> set[tuple[int, tuple[int, ...]]]:
    """Record and columns of each minimal sample unique."""
    found = set()
    width = len(rows[0])
    for place in range(len(rows)):
        for count in range(1, size + 1):
            for columns in combinations(range(width), count):
                shorter = combinations(columns, count - 1) if count > 1 else ()
                if is_alone(rows, place, columns) and not any(is_alone(rows, place, fewer) for fewer in shorter):
                    found.add((place, columns))
    return found


def special_scores(rows: Sequence[Row], size: int) -> list[int]:
    """Sum over a record's minimal uniques of (q − k)(q − k − 1) … (q − size), no factor below 1."""
    width = len(rows[0])
    scores = [0] * len(rows)
    for place, columns in minimal_uniques(rows, size):
        score = 1
        for factor in range(len(columns), size + 1):
            score *= max(1, width - factor)
        scores[place] += score
    return scores


def distinction(rows: Sequence[Row], columns: Sequence[int]) -> float:
    """Distinct combinations of values per record."""
    return len({tuple(row[column] for column in columns) for row in rows}) / len(rows)


def separation(rows: Sequence[Row], columns: Sequence[int]) -> float:
    """Share of the pairs of records that differ."""
    pairs = list(combinations([tuple(row[column] for column in columns) for row in rows], 2))
    return sum(one != other for one, other in pairs) / len(pairs) if pairs else 1.0


def zayatz(sizes: Sequence[int], fraction: float) -> float:
    """Share of the population that is unique; `sizes` are those of the sample's classes."""
    sample = sum(sizes)
    population = round(sample / fraction)

    def alone(size: int) -> float:
        """Probability that a class of the population has one record in the sample."""
        return size * comb(population - size, sample - 1) / comb(population, sample)

    how_many = Counter(sizes)
    expected = sum(count / len(sizes) * alone(size) for size, count in how_many.items())
    probability = how_many[1] / len(sizes) * alone(1) / expected if how_many[1] else 0.0
    return how_many[1] * probability / sample


def pitman_log_likelihood(sizes: Sequence[int], theta: float, alpha: float) -> float:
    """Up to a constant: Pitman's sampling formula."""
    total = sum(log(theta + place * alpha) for place in range(1, len(sizes)))
    total -= sum(log(theta + place) for place in range(1, sum(sizes)))
    return total + sum(log(place - alpha) for size in sizes for place in range(1, size))
