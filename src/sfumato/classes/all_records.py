"""People whose records lie in several classes: how many of them somebody is among who is looked for by all records.

Letters: n records, p people, c classes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.table.encoding import ValueSets
from sfumato.table.folding import distinct_numbers, numbered_sets

_MOST_AT_ONCE = 1 << 22
"""Pairs of sets of classes that are compared at once."""


def people_left(class_of: NDArray[np.int32], people: NDArray[np.int32]) -> NDArray[np.int64]:
    """Count, for the person of each record, the people who have a record in every class that the person is in.

    That many are left to somebody who knows all records of that person: who the records of a class are about can be
    told of no other class. With one record each it is the people of the class.

    Parameters
    ----------
    class_of
        int32 (n,): class of each record, −1 where it is suppressed.
    people
        int32 (n,): number of each record's person.

    Returns
    -------
    numpy.ndarray
        int64 (n,), the person itself among them; 0 for who has no record left.

    Notes
    -----
    Cost O(n log n), and for each set of several classes that somebody is in, as much as there are such sets of which
    one holds the class that fewest of them hold.
    """
    width = int(class_of.max(initial=0)) + 1
    kept = class_of >= 0
    if not kept.any():
        return np.zeros(len(class_of), dtype=np.int64)
    pairs = distinct_numbers(people[kept].astype(np.int64) * width + class_of[kept])
    persons = pairs // width
    starts = np.flatnonzero(np.diff(persons, prepend=-1))
    owner = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(pairs))))
    sets, set_of = numbered_sets(pairs % width, owner, len(starts))
    left = _supersets(sets, np.bincount(set_of, minlength=len(sets.starts) - 1), width)
    found = np.zeros(int(people.max()) + 1, dtype=np.int64)
    found[persons[starts]] = left[set_of]
    return found[people]


def _supersets(sets: ValueSets, weights: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Add up, for each set, the weights of all sets that hold it; int64."""
    lengths = np.diff(sets.starts)
    holder = np.repeat(np.arange(len(lengths)), lengths)
    found = np.bincount(sets.codes, weights=weights[holder], minlength=width).astype(np.int64)[
        sets.codes[sets.starts[:-1]]
    ]
    several = lengths > 1
    found[several] = 0
    # Only sets of several classes can hold one of several.
    keys = np.sort(sets.codes[several[holder]] * len(lengths) + holder[several[holder]])
    first = np.searchsorted(keys, np.arange(width + 1) * len(lengths))
    for some in _in_portions(sets, several, np.diff(first)):
        rarest, holding = _rarest(sets, some, np.diff(first))
        asked = np.repeat(some, holding)
        place = np.arange(len(asked)) - np.repeat(np.cumsum(holding) - holding, holding)
        other = keys[np.repeat(first[rarest], holding) + place] % len(lengths)
        for depth in range(int(lengths[some].max())):
            inside = lengths[asked] > depth
            wanted = sets.codes[sets.starts[:-1][asked[inside]] + depth] * len(lengths) + other[inside]
            at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            stays = np.ones(len(asked), dtype=np.bool_)
            stays[inside] = keys[at] == wanted
            asked, other = asked[stays], other[stays]
        found += np.bincount(asked, weights=weights[other], minlength=len(lengths)).astype(np.int64)
    return found


def _in_portions(
    sets: ValueSets, several: NDArray[np.bool_], holding: NDArray[np.int64]
) -> Iterator[NDArray[np.int64]]:
    """Yield the sets of several classes, so many at a time that few pairs have to be compared at once."""
    chosen = np.flatnonzero(several)
    if not len(chosen):
        return
    _, work = _rarest(sets, chosen, holding)
    portion = (np.cumsum(work) - work) // _MOST_AT_ONCE
    yield from np.split(chosen, np.flatnonzero(np.diff(portion)) + 1)


def _rarest(
    sets: ValueSets, some: NDArray[np.int64], holding: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the class of each of some sets that fewest sets hold, and how many those are; int64."""
    codes, owner = sets.codes_of(some)
    order = np.lexsort((codes, holding[codes], owner))
    rarest = codes[order[np.flatnonzero(np.diff(owner[order], prepend=-1))]]
    return rarest, holding[rarest]
