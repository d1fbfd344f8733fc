"""Greedy k-member clustering: one class after the other takes the records that cost it least.

Letters: m distinct records in tree order, q attributes, s sensitive attributes that some rule looks at, v values of all
those together, e shares: a share is a number of equal records that go to one class.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.kernels.clustering.class_loss import ClassLoss
from sfumato.kernels.clustering.record_tree import (
    NONE,
    RecordTree,
    count_alive,
    furthest,
    nearest,
    new_grown,
    start_with,
    take_in,
    use_up,
)
from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.predicates import RuleArrays, holds
from sfumato.kernels.types import Codes, Flags, Int64s, int64


@kernel
def grow_classes(
    codes: Codes, values: Codes, weights: Int64s, seeds: Int64s, first: int, k: int, ruled: bool, tree: RecordTree,
    loss: ClassLoss, rules: RuleArrays,
) -> Any:  # fmt: skip
    """Grow classes of k records, or more where the rules ask for more, until no class can be completed.

    codes : unsigned (m, q); values : unsigned (m, s); weights : int64 (m,); seeds : int64 (m,), records in the order in
    which they start classes, or empty: then each class starts with the record furthest from the one taken last, the
    first with `first`; ruled : whether rules look at more than sizes. Records equal to the one just taken come first,
    then the nearest, the first in tree order among equals. Once a class is large enough, only records with values that
    it has too little of are taken.

    Returns int64 (e, 3): record, class and number of records of each share; how many classes there are; int64 (m,):
    what is left. A share takes at least one record that is left, so that e is at most their number; without rules it
    uses up its record or completes a class. A search that finds nobody ends the run, with its class given back.
    Ends: each round completes a class, or is the last; within one, each takes a record.
    """
    left = weights.copy()
    alive = count_alive(left, tree)
    # never 0: k is 1 or more
    shares = np.empty((weights.sum() if ruled else 2 * len(left) + weights.sum() // k + 1, 3), np.int64)
    counts = np.zeros(len(rules.totals), np.int64)
    scratch = np.empty(rules.scratch_size)
    is_scarce = np.zeros(len(left) if ruled else 0, np.bool_)
    grown = new_grown(loss)
    stack = np.empty(len(tree.starts) + 2, np.int64)
    bounds = np.empty(len(tree.starts) + 2)
    total = weights.sum()
    entries = 0
    classes = 0
    place = 0
    last = first
    while total >= k:
        if len(seeds) > 0:
            while place < len(seeds) and left[seeds[place]] == 0:
                place += 1
            if place == len(seeds):
                break
            record = seeds[place]
        else:
            start_with(codes, last, loss, grown)
            record = furthest(codes, left, alive, tree, loss, grown, stack, bounds)
            if record == NONE:
                break
        start_with(codes, record, loss, grown)
        size = 0
        begun = entries
        counts[:] = 0
        while record != NONE:
            # One by one where the next record depends on the values of those before it.
            taken = min(left[record], k - size) if size < k else 1
            take_in(codes, record, loss, grown)
            use_up(record, taken, left, alive, tree)
            shares[entries, 0] = record
            shares[entries, 1] = classes
            shares[entries, 2] = taken
            entries += 1
            size += taken
            total -= taken
            last = record
            if ruled:
                _count(values, record, taken, rules, counts)
            if size < k:
                if left[record] == 0:
                    record, _ = nearest(codes, left, alive, is_scarce[:0], tree, loss, grown, stack, bounds)
                continue
            if not ruled or holds(size, counts, rules, scratch):
                break
            if not _mark_scarce(values, left, size, rules, counts, is_scarce):
                break
            record, _ = nearest(codes, left, alive, is_scarce, tree, loss, grown, stack, bounds)
        if size < k or (ruled and not holds(size, counts, rules, scratch)):
            # Nothing that is left completes it: whatever starts later would fail as well, or take the same records.
            for share in range(begun, entries):
                left[shares[share, 0]] += shares[share, 2]
            entries = begun
            break
        classes += 1
    return shares[:entries].copy(), classes, left


@inlined
def _count(values: Codes, record: int, taken: int, rules: RuleArrays, counts: Int64s) -> None:
    for column in range(len(rules.offsets) - 1):
        counts[rules.offsets[column] + int64(values[record, column])] += taken


@inlined
def _mark_scarce(values: Codes, left: Int64s, size: int, rules: RuleArrays, counts: Int64s, is_scarce: Flags) -> bool:
    """Mark the records that are left and have a value of which the class has less than the whole table."""
    some = False
    for record in range(len(left)):
        is_scarce[record] = False
        if left[record] > 0:
            for column in range(len(rules.offsets) - 1):
                place = rules.offsets[column] + int64(values[record, column])
                if counts[place] * rules.total < rules.totals[place] * size:
                    is_scarce[record] = True
                    some = True
                    break
    return some
