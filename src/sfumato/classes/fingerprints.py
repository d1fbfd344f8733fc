"""Fingerprints: how few people of a class have the same few sensitive values as one of them.

Letters: n records, u people of classes (somebody who is in two classes is two), z pairs of such a person and a value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.table.folding import distinct_numbers

MOST_SUBSETS = 50_000_000
"""Sets of values that are looked at, at most; somebody with v values has v · (v − 1) · (v − 2) ÷ 6 of three."""
_AT_ONCE = 4_000_000
"""Sets of values that are counted at a time, if those that begin with one value are not more."""


@dataclass(frozen=True, eq=False, repr=False)
class Fingerprints:
    """What somebody finds who looks, in the class of a person, for the people who have some of the person's values."""

    owner_of: NDArray[np.int64]  # (n,): who of the u people each record is about, −1 where it is suppressed
    company: NDArray[np.int64]  # (u,): people in the class of each
    values: NDArray[np.int64]  # (u,): how many different values each has
    # (u,): people of the class who have those `known` values of a person that the fewest have; the person is one of
    # them. Whoever has fewer values is looked for by all of them.
    fewest: NDArray[np.int64]
    # (u,): 1 ÷ the number of people who fit, averaged over all sets of `known` values of the person: the chance that
    # somebody picks the person who knows some of them, whichever they are
    chance: NDArray[np.float64]

    def records_below(self, least: int) -> NDArray[np.bool_]:
        """Tell which records are about people whom fewer than `least` fit; bool (n,)."""
        # The last entry stands for −1, the suppressed records.
        below: NDArray[np.bool_] = np.append(self.fewest < least, False)[self.owner_of]
        return below


def fingerprints(
    class_of: NDArray[np.integer], people: NDArray[np.integer], codes: NDArray[np.integer], known: int
) -> Fingerprints | None:
    """Look for everybody by each set of `known` of the person's values.

    `class_of`: integers (n,): class of each record, −1 where it is suppressed. `people`: integers (n,), from 0: the
    person of each record; equal numbers in different classes may be different people. `codes`: integers (n, s), from 0:
    the value of each record in every attribute that is known of; with several of them, a set may have values of any.
    `known`: how many values somebody knows, 1 to 3. Returns: None: there are more than :data:`MOST_SUBSETS` sets to
    look at. Exact. Cost O(w log w) for w sets of values, w = z where one value is known.
    """
    owner_of, members = _members(class_of, people)
    owner, item = _owned(owner_of, codes)
    lengths = np.bincount(owner, minlength=len(members))
    if sum(_subsets(lengths, size) for size in _sizes(lengths, known)) > MOST_SUBSETS:
        return None
    _, number = np.unique(members[owner] * (int(item.max(initial=0)) + 1) + item, return_inverse=True)
    fewest, chance = np.zeros(len(members), dtype=np.int64), np.zeros(len(members))
    for size in _sizes(lengths, known):
        some = lengths >= known if size == known else lengths == size
        fewest[some], chance[some] = (found[some] for found in _supports(owner, number, lengths, size))
    company = np.bincount(members)[members] if len(members) else members
    return Fingerprints(owner_of, company, lengths, fewest, chance)


def _members(class_of: NDArray[np.integer], people: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return who of the people of classes is behind each record, int64 (n,), and the class of each person (u,)."""
    width = int(people.max(initial=0)) + 1
    kept = class_of >= 0
    pairs, numbers = np.unique(class_of[kept].astype(np.int64) * width + people[kept], return_inverse=True)
    owner_of = np.full(len(class_of), -1, dtype=np.int64)
    owner_of[kept] = numbers
    return owner_of, pairs // width


def _owned(owner_of: NDArray[np.int64], codes: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return who has which value, each once, values rising for each person; int64 (z,) twice."""
    kept = owner_of >= 0
    # Values of different attributes are different, whatever they are.
    widths = [int(column.max(initial=0)) + 1 for column in codes.T]
    first = np.append(0, np.cumsum(widths))
    pairs = [owner_of[kept] * first[-1] + first[place] + column[kept] for place, column in enumerate(codes.T)]
    found = distinct_numbers(np.concatenate(pairs).astype(np.int64))
    return found // first[-1], found % first[-1]


def _sizes(lengths: NDArray[np.int64], known: int) -> Sequence[int]:
    """Return the sizes of the sets that somebody is looked for by."""
    return [size for size in range(1, known + 1) if size == known or bool(np.any(lengths == size))]


def _subsets(lengths: NDArray[np.int64], size: int) -> int:
    """Count the sets of that many values that people have."""
    counts = np.bincount(lengths) if len(lengths) else lengths
    return sum(int(count) * math.comb(length, size) for length, count in enumerate(counts) if count)


def _supports(
    owner: NDArray[np.int64], number: NDArray[np.int64], lengths: NDArray[np.int64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return for each person the people who have the rarest set, and the mean of 1 ÷ people over all sets; (u,) twice.

    Whoever has fewer than `size` values has no set.
    """
    people = len(lengths)
    fewest, sums = np.full(people, people, dtype=np.int64), np.zeros(people)
    for rows, keys in _sets(owner, number, np.cumsum(lengths), size):
        _, place, counts = np.unique(keys, return_inverse=True, return_counts=True)
        support = counts[place]
        np.minimum.at(fewest, owner[rows], support)
        sums += np.bincount(owner[rows], 1.0 / support, minlength=people)
    sets = np.array([math.comb(length, size) for length in range(int(lengths.max(initial=0)) + 1)], dtype=np.float64)
    return fewest, sums / np.maximum(sets[lengths], 1.0)


def _sets(
    owner: NDArray[np.int64], number: NDArray[np.int64], ends: NDArray[np.int64], size: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield all sets of values that people have, as the row of a value of each and a number of each set.

    All sets that begin with a value come at once, so that people who have the same set have it in the same piece.
    """
    width = int(number.max(initial=0)) + 1
    order = np.argsort(number, kind="stable")
    after = (ends[owner] - np.arange(len(owner)) - 1)[order]
    begun = after ** (size - 1)
    piece = np.cumsum(begun) // _AT_ONCE
    # A value's rows stay together: they go where the first of them goes.
    first = np.flatnonzero(np.diff(number[order], prepend=-1))
    piece = np.repeat(piece[first], np.diff(np.append(first, len(order))))
    for rows in np.split(order, np.flatnonzero(np.diff(piece)) + 1):
        keys = number[rows]
        for _ in range(size - 1):
            _, keys = np.unique(keys, return_inverse=True)
            further = ends[owner[rows]] - rows - 1
            place = np.repeat(np.arange(len(rows)), further)
            offset = np.arange(len(place)) - np.repeat(np.cumsum(further) - further, further)
            rows, keys = rows[place] + 1 + offset, keys[place] * width + number[rows[place] + 1 + offset]
        yield rows, keys
