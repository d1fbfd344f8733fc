"""Patterns of starred attributes, and the groups of records that are equal on what a pattern keeps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.grouping import distinct_records, group_records
from sfumato.kernels.stars.starring import Choices, group_members

MOST_PATTERNS = 256
"""Patterns that are looked at; with more attributes than eight, the promising ones of each number of stars."""

MOST_CELLS = 1 << 25
"""Distinct records × patterns that are held at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class DistinctRows:
    """Records that differ in some quasi-identifying value, in an order that the input's order has no part in.

    Attributes
    ----------
    codes : numpy.ndarray
        Unsigned (m, q), rows rising.
    weights : numpy.ndarray
        int64 (m,): how often each occurs.
    record_of : numpy.ndarray
        int32 (n,): the distinct record of each record.
    """

    codes: NDArray[np.unsignedinteger]
    weights: NDArray[np.int64]
    record_of: NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class Patterns:
    """Patterns with their groups.

    Attributes
    ----------
    starred : numpy.ndarray
        bool (p, q): which attributes each pattern stars; the first stars none, the last all that may be.
    choices : Choices
        For kernels.
    """

    starred: NDArray[np.bool_]
    choices: Choices


def distinct_in_order(codes: NDArray[np.unsignedinteger]) -> DistinctRows:
    """Collapse equal records and sort them by their codes. Cost O(n q + m log m)."""
    found, weights, record_of = distinct_records(codes)
    order = np.lexsort(found.T[::-1])
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return DistinctRows(found[order], weights[order], place[record_of])


def patterns_of(distinct: DistinctRows, weights: NDArray[np.float64], starrable: NDArray[np.bool_], k: int) -> Patterns:
    """Choose the patterns and find their groups.

    Parameters
    ----------
    distinct
        m records; all records that agree on the attributes which may not be starred must be at least `k`.
    weights
        float64 (q,): cost of a star in each attribute, above 0.
    starrable
        bool (q,): which attributes may be starred.
    k
        Fewest records of a group.

    Notes
    -----
    All patterns where there are at most 256, which is up to eight attributes. Beyond, a beam: for each number of stars
    the few that satisfy most records which no pattern with fewer stars does. Cost O(p m q).
    """
    free = int(starrable.sum())
    room = max(8, min(MOST_PATTERNS, MOST_CELLS // max(1, len(distinct.codes))))
    chosen = _every(starrable) if 1 << free <= room else _beam(distinct, starrable, k, max(1, room // max(1, free)))
    cost = chosen @ weights
    # Equally expensive patterns in the order of the attributes.
    order = np.lexsort((*chosen.T, cost))
    starred = chosen[order]
    return Patterns(starred, _choices(distinct, starred, cost[order], k))


def _every(starrable: NDArray[np.bool_]) -> NDArray[np.bool_]:
    options = [(False, True) if free else (False,) for free in starrable]
    return np.array(list(product(*options)), dtype=np.bool_)


def _beam(distinct: DistinctRows, starrable: NDArray[np.bool_], k: int, width: int) -> NDArray[np.bool_]:
    kept = [tuple(bool(flag) for flag in np.zeros(len(starrable), dtype=np.bool_))]
    chosen = list(kept)
    waiting = ~_satisfied(distinct, np.array(kept[0]), k)
    for _ in range(int(starrable.sum())):
        further = {pattern: _satisfied(distinct, np.array(pattern), k) for pattern in _one_more(kept, starrable)}
        gains = {
            pattern: (int(distinct.weights[satisfied & waiting].sum()), int(distinct.weights[satisfied].sum()))
            for pattern, satisfied in further.items()
        }
        kept = sorted(gains, key=lambda pattern: (gains[pattern], pattern), reverse=True)[:width]
        chosen += kept
        for pattern in kept:
            waiting &= ~further[pattern]
    return np.array(chosen, dtype=np.bool_)


def _one_more(patterns: list[tuple[bool, ...]], starrable: NDArray[np.bool_]) -> list[tuple[bool, ...]]:
    further = {
        (*pattern[:place], True, *pattern[place + 1 :])
        for pattern in patterns
        for place in np.flatnonzero(starrable).tolist()
        if not pattern[place]
    }
    return sorted(further)


def _satisfied(distinct: DistinctRows, starred: NDArray[np.bool_], k: int) -> NDArray[np.bool_]:
    groups, sizes = _projected(distinct, starred)
    return (sizes >= k)[groups]


def _projected(distinct: DistinctRows, starred: NDArray[np.bool_]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the group of each distinct record on the attributes that are kept, and the records in each group."""
    if starred.all():
        return np.zeros(len(distinct.codes), dtype=np.int32), np.array([distinct.weights.sum()])
    groups, count = group_records(np.ascontiguousarray(distinct.codes[:, ~starred]))
    return groups, np.bincount(groups, weights=distinct.weights, minlength=count).astype(np.int64)


def _choices(distinct: DistinctRows, starred: NDArray[np.bool_], cost: NDArray[np.float64], k: int) -> Choices:
    group_of = np.empty((len(distinct.codes), len(starred)), dtype=np.int32)
    pattern_of = []
    count = 0
    for place, projected in enumerate(_every_projection(distinct, starred)):
        groups, sizes = projected
        large = sizes >= k
        number = np.where(large, np.cumsum(large) - 1 + count, -1).astype(np.int32)
        group_of[:, place] = number[groups]
        pattern_of.append(np.full(int(large.sum()), place, dtype=np.int32))
        count += int(large.sum())
    starts, members = group_members(group_of, count)
    return Choices(cost, group_of, np.concatenate(pattern_of), starts, members, k)


def _every_projection(
    distinct: DistinctRows, starred: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int64]]]:
    for pattern in starred:
        yield _projected(distinct, pattern)
