"""Merge classes that break a model into their nearest neighbours, the smallest first, until every class holds.

Letters: n records, m distinct points, d coordinates, c classes, s sensitive attributes that a rule looks at, v values.
"""

from __future__ import annotations

import heapq

import numpy as np

from sfumato.kernels.jit import inlined, kernel, sized
from sfumato.kernels.points.point_tree import nearest, plant_points, refit
from sfumato.kernels.predicates import RuleArrays, holds
from sfumato.kernels.signatures import elements
from sfumato.kernels.types import Codes, Floats, Int32s, Int64s, int64


@sized(lambda *arguments: 3.0 * elements(arguments))
def merge_classes(
    points: Floats, owners: Int64s, values: Codes, class_of: Int32s, count: int, ruled: bool, smallest: int,
    rules: RuleArrays,
) -> int:  # fmt: skip
    """Merge until every class satisfies the rules or one class is left; `class_of` is renumbered in place.

    points : float64 (m, d); owners : int64 (n,), the point of each record; values : unsigned (n, s); class_of : int32
    (n,), none of the `count` classes is empty; smallest : the largest k of the rules; ruled : whether there are others.

    The smallest class that fails (ties: the lowest number) joins the class with the nearest centre, which keeps its
    number and whose centre moves to the mean of all its records. Returns the number of classes left, which are numbered
    in their old order. Every round takes a class away. O(n d + c log c) nodes looked at where sizes
    alone decide; otherwise every merge counts the values of the merged class.
    """
    sizes, sums, following, heads, tails = _gather(points, owners, class_of, count)
    centres = np.empty((count, points.shape[1]))
    for number in range(count):
        centres[number] = sums[number] / sizes[number]
    tree = plant_points(centres, np.ones(count, np.int64))
    counts = np.zeros(rules.offsets[-1], np.int64)
    scratch = np.zeros(rules.scratch_size + 1)
    into = np.arange(count)
    failing = [(int64(0), int64(-1))]
    failing.clear()
    for number in range(count):
        if not _satisfied(number, sizes, following, heads, values, ruled, smallest, rules, counts, scratch):
            failing.append((sizes[number], int64(number)))
    heapq.heapify(failing)
    left = count
    while len(failing) > 0 and left > 1:
        size, number = heapq.heappop(failing)
        if into[number] != number or sizes[number] != size:
            continue  # merged or grown since
        place = tree.places[number]
        tree.left[place] = 0
        refit(number, tree)
        target = nearest(tree.points[place], np.inf, count, tree, -1)[0]
        if target == count:
            break
        into[number] = target
        left -= 1
        sizes[target] += size
        sums[target] += sums[number]
        following[tails[target]] = heads[number]
        tails[target] = tails[number]
        tree.points[tree.places[target]] = sums[target] / sizes[target]
        refit(target, tree)
        if not _satisfied(target, sizes, following, heads, values, ruled, smallest, rules, counts, scratch):
            heapq.heappush(failing, (sizes[target], int64(target)))
    _renumber(class_of, into)
    return left


@kernel
def _gather(
    points: Floats, owners: Int64s, class_of: Int32s, count: int
) -> tuple[Int64s, Floats, Int64s, Int64s, Int64s]:
    """Sizes, sums and the records of each class as a chain: ``following[record]``, −1 at its end."""
    sizes = np.zeros(count, np.int64)
    sums = np.zeros((count, points.shape[1]))
    following = np.full(len(class_of), -1)
    heads = np.full(count, -1)
    tails = np.full(count, -1)
    for record in range(len(class_of)):
        number = class_of[record]
        sizes[number] += 1
        for axis in range(points.shape[1]):
            sums[number, axis] += points[owners[record], axis]
        if heads[number] < 0:
            heads[number] = record
        else:
            following[tails[number]] = record
        tails[number] = record
    return sizes, sums, following, heads, tails


@inlined
def _satisfied(
    number: int, sizes: Int64s, following: Int64s, heads: Int64s, values: Codes, ruled: bool, smallest: int,
    rules: RuleArrays, counts: Int64s, scratch: Floats,
) -> bool:  # fmt: skip
    if sizes[number] < smallest:
        return False
    if not ruled:
        return True
    record = heads[number]
    counts[:] = 0
    while record >= 0:
        for column in range(values.shape[1]):
            counts[rules.offsets[column] + int64(values[record, column])] += 1
        record = following[record]
    return bool(holds(sizes[number], counts, rules, scratch))


@inlined
def _renumber(class_of: Int32s, into: Int64s) -> None:
    """Follow every class to the one that it ended in, and number those that are left without gaps."""
    numbers = np.full(len(into), -1)
    left = 0
    for number in range(len(into)):
        if into[number] == number:
            numbers[number] = left
            left += 1
    for number in range(len(into)):
        last = number
        while into[last] != last:
            last = into[last]
        # Every class on the way is sent straight to the end.
        step = number
        while into[step] != step:
            following = into[step]
            into[step] = last
            step = following
    for record in range(len(class_of)):
        class_of[record] = numbers[into[class_of[record]]]
