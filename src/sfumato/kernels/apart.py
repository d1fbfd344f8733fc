"""Classes of people whose records may lie in several: counted record by record, at a cost that no other class changes.

Letters: v places of the histogram (people, and values that one person has), w values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.jit import borrowing, inlined
from sfumato.kernels.predicates import RuleArrays, Shared, people_hold
from sfumato.kernels.types import Floats, Int64s, int64

_PEOPLE, _MOST, _WISHED = 0, 1, 2


class Tally(NamedTuple):
    """One class, while its records are counted.

    Attributes
    ----------
    counts : numpy.ndarray
        int64 (v,): its records by place.
    found : numpy.ndarray
        int64 (w,): its people by value.
    shared : numpy.ndarray
        int64 (3,): people, records of the one who has most, largest k that one of them wishes for.
    """

    counts: Int64s
    found: Int64s
    shared: Int64s


@inlined
def new_tally(rules: RuleArrays) -> Tally:
    """Allocate a tally of no record."""
    return Tally(
        np.zeros(rules.offsets[-1], np.int64), np.zeros(len(rules.value_totals), np.int64), np.zeros(3, np.int64)
    )


@borrowing
def count_record(place: int, weight: int, tally: Tally, rules: RuleArrays) -> None:
    """Count so many equal records at one of their places."""
    first = rules.offsets[rules.apart]
    is_new = tally.counts[place] == 0
    tally.counts[place] += weight
    if place < first:
        if is_new:
            tally.found[rules.members[place]] += 1
        return
    tally.shared[_MOST] = max(tally.shared[_MOST], tally.counts[place])
    if is_new:
        tally.shared[_PEOPLE] += 1
        if len(rules.wishes) > 0:
            tally.shared[_WISHED] = max(tally.shared[_WISHED], rules.wishes[place - first])


@borrowing
def forget_record(place: int, tally: Tally, rules: RuleArrays) -> None:
    """Take back what a record counts at one of its places; when all of a class are, the tally is new again."""
    tally.counts[place] = 0
    tally.shared[:] = 0
    if place < rules.offsets[rules.apart]:
        tally.found[rules.members[place]] = 0


@borrowing
def tally_holds(records: int, tally: Tally, rules: RuleArrays, scratch: Floats) -> bool:
    """Tell whether the counted class of so many records satisfies every rule."""
    people, most, wished = tally.shared[_PEOPLE], tally.shared[_MOST], tally.shared[_WISHED]
    return people_hold(Shared(int64(records), people, most, wished), tally.found, rules, scratch)
