"""Bucketization by the book: groups of different sensitive values, how far they lie from the records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction


def groups_of_values(counts: dict[Hashable, int], l: int) -> tuple[list[list[Hashable]], list[Hashable]]:  # noqa: E741
    """The values that each new group takes, the most frequent of what is left first, ties in order; and what is left.

    `counts` names the values in their order.
    """
    left = dict(counts)
    order = list(counts)
    groups = []
    while sum(1 for count in left.values() if count) >= l:
        ranked = sorted((value for value in order if left[value]), key=lambda value: (-left[value], order.index(value)))
        for value in ranked[:l]:
            left[value] -= 1
        groups.append(ranked[:l])
    return groups, [value for value in order for _ in range(left[value])]


def eligible(values: Sequence[Hashable], l: int) -> bool:  # noqa: E741
    return max(Counter(values).values()) * l <= len(values)


def reconstruction_error(buckets: Sequence[Sequence[Hashable]]) -> Fraction:
    """Summed over all records: squared distance between the record's own value and its bucket's distribution."""
    total = Fraction(0)
    for bucket in buckets:
        shares = {value: Fraction(count, len(bucket)) for value, count in Counter(bucket).items()}
        for own in bucket:
            total += sum((share - (value == own)) ** 2 for value, share in shares.items())
    return total
