"""The best cut of a few people who were in classes before, so that no part tells too much of its classes.

Letters: m people, q attributes, g groups of people with one history, s values that the people have.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.predicates import RuleArrays, holds
from sfumato.kernels.space import NUMERIC, SET
from sfumato.kernels.types import Flags, Floats, Int32s, Int64s, Words, float64


class Axes(NamedTuple):
    """What is known of the attributes.

    Attributes
    ----------
    kinds : numpy.ndarray
        int64 (q,): one of the constants of :mod:`sfumato.kernels.space`.
    offsets : numpy.ndarray
        int64 (q + 1,): where the codes of each attribute start.
    positions : numpy.ndarray
        float64: place of each code on its axis, in units of weighted loss; missing values lie beyond the last.
    units : numpy.ndarray
        float64 (q,): weighted loss of one code of a value set.
    levels : numpy.ndarray
        int64 (q + 1,): where the levels of each hierarchy start.
    nodes : numpy.ndarray
        int32 (levels, codes of the largest attribute): the node of each code on each level.
    losses : numpy.ndarray
        float64, the same shape: weighted loss of that node.
    """

    kinds: Int64s
    offsets: Int64s
    positions: Floats
    units: Floats
    levels: Int64s
    nodes: Int32s
    losses: Floats


class Histories(NamedTuple):
    """What is left to people of what they were published with before.

    Attributes
    ----------
    group_of : numpy.ndarray
        int64 (m,)
    value_of : numpy.ndarray
        int64 (m,)
    left : numpy.ndarray
        int64 (g, s): rows of each value that can be a person's of the group.
    least : int
        Rows that must be left in every part that has somebody of the group.
    """

    group_of: Int64s
    value_of: Int64s
    left: Int64s
    least: int


class Chains(NamedTuple):
    """What the labels of all chains of classes to the last release cover together, in codes.

    Letters: h chains to the classes of the m people, w words of all value sets.

    Attributes
    ----------
    class_of : numpy.ndarray
        int64 (m,): the class of each person in the last release, numbered among those that are there; −1 newcomers.
    ends : numpy.ndarray
        int64 (h,): the class in which each chain ends.
    low, high : numpy.ndarray
        int64 (h, q): closed ranges of codes.
    members : numpy.ndarray
        uint64 (h, w): value sets as bits.
    words : numpy.ndarray
        int64 (q + 1,): where the words of each attribute start; attributes without value sets have none.
    """

    class_of: Int64s
    ends: Int64s
    low: Int64s
    high: Int64s
    members: Words
    words: Int64s


@kernel
def loss_of(codes: Int64s, some: Flags, axes: Axes) -> float:
    """Return the loss of one class of some people, summed over attributes. codes : int64 (m, q); some : bool (m,)."""
    total = 0.0
    for attribute in range(codes.shape[1]):
        total += _loss(codes, some, attribute, axes)
    return total


@inlined
def _loss(codes: Int64s, some: Flags, attribute: int, axes: Axes) -> float:
    low, high = -1, -1
    for person in range(len(codes)):
        if some[person]:
            code = codes[person, attribute]
            low = code if low < 0 else min(low, code)
            high = max(high, code)
    if low == high:
        return 0.0
    first = axes.offsets[attribute]
    if axes.kinds[attribute] == NUMERIC:
        return float64(axes.positions[first + high] - axes.positions[first + low])
    if axes.kinds[attribute] == SET:
        met = np.zeros(axes.offsets[attribute + 1] - first, dtype=np.bool_)
        count = 0
        for person in range(len(codes)):
            if some[person] and not met[codes[person, attribute]]:
                met[codes[person, attribute]] = True
                count += 1
        return float64(axes.units[attribute] * count)
    for level in range(axes.levels[attribute], axes.levels[attribute + 1]):
        if axes.nodes[level, low] == axes.nodes[level, high]:
            return float64(axes.losses[level, low])
    return float64(axes.units[attribute] * (axes.offsets[attribute + 1] - first))


@kernel
def best_cut(
    codes: Int64s, sensitive: Int64s, histories: Histories, chains: Chains, axes: Axes, rules: RuleArrays,
    smallest: int, right: Flags,
) -> int:  # fmt: skip
    """Find the cut that saves most loss for the evenness of its parts; return its attribute, −1 if none is allowed.

    codes : int64 (m, q); sensitive : int64 (m, a), as the rules number values; right : bool (m,), written: who goes
    right. Both parts satisfy the rules, have `smallest` people, leave every group in them its rows, and meet all chains
    of the classes of their people. Cuts are runs of codes, categories also by falling frequency and one against the rest; the first of equally good ones is taken.
    Cost O(m q) for each cut.
    """
    m = len(codes)
    everybody = np.ones(m, dtype=np.bool_)
    whole, best, chosen = m * loss_of(codes, everybody, axes), 0.0, -1
    side = np.zeros(m, dtype=np.bool_)
    for attribute in range(codes.shape[1]):
        counts = np.bincount(codes[:, attribute])
        present = np.flatnonzero(counts)
        if len(present) < 2:
            continue
        is_set = axes.kinds[attribute] == SET
        for way in range(3 if is_set and len(present) > 2 else 1):
            order = present if way != 1 else present[np.argsort(-counts[present], kind="mergesort")]
            goes_left = np.zeros(len(counts), dtype=np.bool_)
            for place in range(len(order) - 1):
                if way == 2:
                    goes_left[:] = False
                goes_left[order[place]] = True
                left = 0
                for person in range(m):
                    side[person] = not goes_left[codes[person, attribute]]
                    left += not side[person]
                if left < smallest or m - left < smallest:
                    continue
                share = left / m  # never 0 or 1: there are people on both sides
                even = -(share * math.log2(share) + (1.0 - share) * math.log2(1.0 - share))  # never 0 then
                gain = (whole - left * loss_of(codes, ~side, axes) - (m - left) * loss_of(codes, side, axes)) / even
                if (
                    gain > best + 1e-9
                    and _allowed(side, sensitive, histories, rules)
                    and chains_met(side, codes, chains)
                    and chains_met(~side, codes, chains)
                ):
                    best, chosen = gain, attribute
                    right[:] = side
    return chosen


@inlined
def _allowed(side: Flags, sensitive: Int64s, histories: Histories, rules: RuleArrays) -> bool:
    return part_allowed(side, sensitive, histories, rules) and part_allowed(~side, sensitive, histories, rules)


@kernel
def part_allowed(some: Flags, sensitive: Int64s, histories: Histories, rules: RuleArrays) -> bool:
    """Tell whether some people satisfy the rules, and leave every group that one of them is of its rows.

    some : bool (m,); sensitive : int64 (m, a).
    """
    counts = np.zeros(len(rules.totals), dtype=np.int64)
    values = np.zeros(histories.left.shape[1], dtype=np.int64)
    there = np.zeros(len(histories.left), dtype=np.bool_)
    size = 0
    for person in range(len(some)):
        if some[person]:
            size += 1
            there[histories.group_of[person]] = True
            values[histories.value_of[person]] += 1
            for attribute in range(sensitive.shape[1]):
                counts[rules.offsets[attribute] + sensitive[person, attribute]] += 1
    for group in range(len(there)):
        if there[group]:
            left = 0
            for value in range(len(values)):
                left += min(values[value], histories.left[group, value])
            if left < histories.least:
                return False
    return holds(size, counts, rules, np.zeros(rules.scratch_size))


@kernel
def chains_met(some: Flags, codes: Int64s, chains: Chains) -> bool:
    """Tell whether what some people have covers something of every chain to a class of theirs, in every attribute.

    some : bool (m,); codes : int64 (m, q). Cost O(q (m + chains)).
    """
    if len(chains.ends) == 0:
        return True
    there = np.zeros(len(some), dtype=np.bool_)
    low, high = np.full(codes.shape[1], np.iinfo(np.int64).max), np.full(codes.shape[1], -1)
    members = np.zeros(chains.members.shape[1], dtype=np.uint64)
    for person in range(len(some)):
        if not some[person]:
            continue
        if chains.class_of[person] >= 0:
            there[chains.class_of[person]] = True
        for attribute in range(codes.shape[1]):
            code = codes[person, attribute]
            low[attribute], high[attribute] = min(low[attribute], code), max(high[attribute], code)
            if chains.words[attribute] < chains.words[attribute + 1]:
                members[chains.words[attribute] + code // 64] |= np.uint64(1) << np.uint64(code % 64)
    for chain in range(len(chains.ends)):
        if there[chains.ends[chain]]:
            for attribute in range(codes.shape[1]):
                if high[attribute] < chains.low[chain, attribute] or low[attribute] > chains.high[chain, attribute]:
                    return False
                start, end = chains.words[attribute], chains.words[attribute + 1]
                shared = start == end
                for word in range(start, end):
                    shared = shared or (members[word] & chains.members[chain, word]) != 0
                if not shared:
                    return False
    return True
