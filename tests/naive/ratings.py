"""(k, ε, l)-anonymity of ratings, from the definitions: every pair of records, every issue.

A record is a pair of lists: ratings of the non-sensitive issues and of the sensitive ones, None where there is none.
"""

from __future__ import annotations

from math import inf, sqrt

Row = list[float | None]
Record = tuple[Row, Row]


def dissimilarity(one: float | None, other: float | None, r: float) -> float:
    if one is None and other is None:
        return 0
    if one is None or other is None:
        return r
    return abs(one - other)


def distance(one: Row, other: Row, r: float) -> float:
    return max((dissimilarity(a, b, r) for a, b in zip(one, other, strict=True)), default=0)


def ball(records: list[Record], center: int, epsilon: float, r: float) -> list[int]:
    mine = records[center][0]
    return [place for place, (theirs, _) in enumerate(records) if distance(mine, theirs, r) <= epsilon]


def trimmed(records: list[Record], center: int, epsilon: float, r: float) -> list[int]:
    """Members of the ball that are proximate to all others in it."""
    members = ball(records, center, epsilon, r)
    return [
        member
        for member in members
        if all(distance(records[member][0], records[other][0], r) <= epsilon for other in members)
    ]


def group(records: list[Record], center: int, epsilon: float, r: float, kind: str) -> list[int]:
    return (ball if kind == "ball" else trimmed)(records, center, epsilon, r)


def deviation(ratings: Row, nulls: str) -> float:
    known = [rating for rating in ratings if rating is not None]
    if not known:
        return 0
    mean = sum(known) / len(known)
    squares = sum((rating - mean) ** 2 for rating in known)
    if nulls == "skip":
        return sqrt(squares / len(known))
    if nulls == "literal":
        squares += (len(ratings) - len(known)) * mean**2
    return sqrt(squares / len(ratings))


def spreads(records: list[Record], members: list[int], nulls: str) -> list[float]:
    """Standard deviation of each sensitive issue in a group."""
    return [deviation(list(column), nulls) for column in zip(*(records[member][1] for member in members), strict=True)]


def measures(records: list[Record], epsilon: float, r: float, kind: str, nulls: str) -> list[tuple[int, float]]:
    """Size and smallest deviation of the group of every record."""
    found = []
    for center in range(len(records)):
        members = group(records, center, epsilon, r, kind)
        found.append((len(members), min(spreads(records, members, nulls), default=inf)))
    return found


def satisfied(
    records: list[Record],
    k: int,
    epsilon: float,
    l: float,  # noqa: E741
    r: float,
    kind: str = "ball",
    nulls: str = "skip",
) -> list[bool]:
    return [size >= k and spread >= l - 1e-12 for size, spread in measures(records, epsilon, r, kind, nulls)]
