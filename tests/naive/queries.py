"""Plain twins of the estimators of aggregate queries, record by record and label by label.

A predicate is a pair of numbers (a closed range) or a set of texts; a record is a dictionary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

Record = Mapping[str, Any]
Condition = tuple[float, float] | frozenset[str]
Cell = tuple[float, Any]


def satisfies(value: Any, condition: Condition | None) -> bool:
    """Whether an original value satisfies a condition; a missing one never does."""
    if value is None:
        return False
    if condition is None:
        return True
    if isinstance(condition, frozenset):
        return value in condition
    return condition[0] <= value <= condition[1]


def exact(records: Sequence[Record], where: Mapping[str, Condition], aggregate: str, of: str | None) -> float:
    """Answer over original records."""
    hit = [record for record in records if all(satisfies(record[name], cond) for name, cond in where.items())]
    if aggregate == "count":
        return len(hit)
    values = [record[of] for record in hit if record[of] is not None]
    if aggregate == "sum":
        return sum(values)
    return sum(values) / len(values) if values else math.nan


def possible_values(label: str | None, domain: Sequence[Any], nodes: Mapping[str, Sequence[Any]]) -> list[Any]:
    """Return the original values that a label of categories, or of a node, stands for; each is as likely."""
    if label is None:
        return [None]
    if label in nodes:
        return list(nodes[label])
    if label == "*":
        return [value for value in domain if value is not None]
    if label.startswith("{"):
        return [None if member == "\\N" else member for member in label[1:-1].split("|")]
    return [label]


def whole_numbers(label: str | None, domain: Sequence[Any], nodes: Mapping[str, Sequence[Any]]) -> list[Any]:
    """Return all whole numbers that a label of a column of whole numbers stands for."""
    if label is None:
        return [None]
    if label in nodes:
        return list(nodes[label])
    known = [value for value in domain if value is not None]
    if label == "*":
        return list(range(min(known), max(known) + 1))
    if label.startswith("["):
        low, high = label[1:-1].split("..")
        return [number for number in range(int(low), int(high) + 1) if min(known) <= number <= max(known)]
    return [int(label)]


def continuous_share(label: str | None, domain: Sequence[Any], condition: tuple[float, float]) -> float:
    """Return the share of an interval of real numbers inside a range."""
    if label is None:
        return 0.0
    known = [value for value in domain if value is not None]
    if label == "*":
        low, high = min(known), max(known)
    elif label.startswith("["):
        low, high = (min(max(float(end), min(known)), max(known)) for end in label[1:-1].split(".."))
    else:
        low = high = float(label)
    if low == high:
        return float(condition[0] <= low <= condition[1])
    return max(0.0, min(high, condition[1]) - max(low, condition[0])) / (high - low)


def from_values(
    rows: Sequence[Record],
    meaning: Mapping[str, Callable[[Any], list[Any]]],
    where: Mapping[str, Condition],
    of: str | None,
) -> float:
    """Add up, over published rows, the mean over all that a row may stand for; `of` None counts."""
    names = list(dict.fromkeys([*where, *([of] if of else [])]))
    total = 0.0
    for row in rows:
        combinations = list(product(*(meaning[name](row[name]) for name in names)))
        for combination in combinations:
            record = dict(zip(names, combination, strict=True))
            if all(satisfies(record[name], condition) for name, condition in where.items()):
                if of is None:
                    total += 1 / len(combinations)
                elif record[of] is not None:
                    total += record[of] / len(combinations)
    return total


def anatomy(
    quasi: Sequence[tuple[int, Record]],
    counts: Sequence[tuple[int, str, int]],
    where: Mapping[str, Condition],
    sensitive: str,
) -> float:
    """Count: matching records of each bucket times the share of its matching sensitive values."""
    total = 0.0
    for bucket in {bucket for bucket, _ in quasi}:
        matching = sum(
            all(satisfies(record[name], cond) for name, cond in where.items() if name != sensitive)
            for number, record in quasi
            if number == bucket
        )
        own = [(value, count) for number, value, count in counts if number == bucket]
        fitting = sum(count for value, count in own if satisfies(value, where.get(sensitive)))
        total += matching * fitting / sum(count for _, count in own)
    return total


def sliced(
    buckets: Sequence[Sequence[Sequence[Record]]], where: Mapping[str, Condition], of: str | None = None
) -> float:
    """Count or add up under the sheet's rule for matching: columns in order, each given what earlier columns showed.

    `buckets` holds, for each bucket and each column, the rows of that column. Every combination of column rows that
    agree on what they share is a possible record, with the product of the conditional fractions as its probability.
    """
    total = 0.0
    for columns in buckets:
        possible: list[tuple[float, dict[str, Any]]] = [(1.0, {})]
        for rows in columns:
            grown = []
            for probability, known in possible:
                agreeing = [row for row in rows if all(row[name] == known[name] for name in row if name in known)]
                grown += [(probability / len(agreeing), {**known, **row}) for row in agreeing]
            possible = grown
        for probability, record in possible:
            if all(satisfies(record[name], condition) for name, condition in where.items()):
                value = 1.0 if of is None else (record[of] or 0.0)
                total += len(columns[0]) * probability * value
    return total


def greatest_entropy(
    marginals: Sequence[tuple[Sequence[str], Mapping[tuple[Any, ...], float]]],
    domains: Mapping[str, Sequence[Any]],
    rounds: int = 200,
) -> dict[tuple[Any, ...], float]:
    """Fit all cells to every marginal in turn (iterative proportional fitting), starting from equal cells."""
    names = list(domains)
    cells = dict.fromkeys(product(*domains.values()), 1.0)
    for _ in range(rounds):
        for attributes, counts in marginals:
            places = [names.index(name) for name in attributes]
            sums: dict[tuple[Any, ...], float] = {}
            for cell, weight in cells.items():
                key = tuple(cell[place] for place in places)
                sums[key] = sums.get(key, 0.0) + weight
            for cell in cells:
                key = tuple(cell[place] for place in places)
                if sums[key]:
                    cells[cell] *= counts.get(key, 0.0) / sums[key]
    return cells


def sum_bounds(group: Sequence[float], hit: int) -> tuple[float, float]:
    """Bound the sum over some `hit` members of a group, by trying every subset."""
    from itertools import combinations

    sums = [sum(chosen) for chosen in combinations(group, hit)]
    return min(sums), max(sums)
