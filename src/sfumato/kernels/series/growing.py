"""The best cut of a few people who were in classes before, so that no part tells too much of its classes.

Letters: m people, q attributes, g groups of people with one history, s values that the people have.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sfumato.kernels.jit import inlined, kernel
from sfumato.kernels.predicates import RuleArrays, holds
from sfumato.kernels.types import NUMERIC, SET, Flags, Floats, Int32s, Int64s, Words, float64, int64

MOST_MOVED = 10
"""People who are moved from one part to the other, at most, so that both are allowed."""


class Axes(NamedTuple):
    """What is known of the attributes."""

    kinds: Int64s  # (q,): one of the constants of :mod:`sfumato.kernels.types`
    offsets: Int64s  # (q + 1,): where the codes of each attribute start
    positions: Floats  # place of each code on its axis, in units of weighted loss; missing values lie beyond the last
    units: Floats  # (q,): weighted loss of one code of a value set
    levels: Int64s  # (q + 1,): where the levels of each hierarchy start
    nodes: Int32s  # (levels, codes of the largest attribute): the node of each code on each level
    losses: Floats  # the same shape: weighted loss of that node


class HistoryArrays(NamedTuple):
    """What is left to people of what they were published with before."""

    group_of: Int64s  # (m,)
    value_of: Int64s  # (m,)
    left: Int64s  # (g, s): rows of each value that can be a person's of the group
    least: int  # rows that must be left in every part that has somebody of the group


class ChainArrays(NamedTuple):
    """What the labels of all chains of classes to the last release cover together, in codes.

    Letters: h chains to the classes of the m people, w words of all value sets.
    """

    # (m,): the class of each person in the last release, numbered among those that are there; −1 newcomers
    class_of: Int64s
    ends: Int64s  # (h,): the class in which each chain ends
    # `low`, `high`: (h, q): closed ranges of codes
    low: Int64s
    high: Int64s
    members: Words  # (h, w): value sets as bits
    words: Int64s  # (q + 1,): where the words of each attribute start; attributes without value sets have none


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


class PeopleArrays(NamedTuple):
    """People who may be mixed, and what every part of them must satisfy."""

    codes: Int64s  # (m, q)
    sensitive: Int64s  # (m, a): as the rules number values
    histories: HistoryArrays
    chains: ChainArrays
    rules: RuleArrays
    smallest: int  # people of a part, at least


@kernel
def best_cut(people: PeopleArrays, axes: Axes, right: Flags) -> int:
    """Find the cut that saves most loss for the evenness of its parts; return its attribute, −1 if none is allowed.

    right : bool (2, m), written: who goes right, and whose code does. Both parts satisfy the rules, have the smallest
    number of people, leave every group in them its rows, and meet all chains to the classes of their people. Where they
    do not, the nearest people whom a part lacks are moved to it (:func:`mended`). Cuts are runs of codes, categories
    also by falling frequency and one against the rest; the first of equally good ones is taken. Cost O(m q) for each
    cut, and that for each person who is moved.
    """
    codes = people.codes
    m = len(codes)
    whole, best, chosen = m * loss_of(codes, np.ones(m, dtype=np.bool_), axes), 0.0, -1
    side = np.zeros((2, m), dtype=np.bool_)
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
                for person in range(m):
                    side[1, person] = not goes_left[codes[person, attribute]]
                side[0] = side[1]
                gain = _gain(whole, side[0], people, axes)
                if gain > best + 1e-9 and mended(people, axes, side[0]):
                    gain = _gain(whole, side[0], people, axes)
                    if gain > best + 1e-9:
                        best, chosen = gain, attribute
                        right[:] = side
    return chosen


@inlined
def _gain(whole: float, side: Flags, people: PeopleArrays, axes: Axes) -> float:
    """Return the loss that a cut saves for the evenness of its parts; a part that is too small will be mended."""
    m, right = len(side), int64(side.sum())
    if m < 2 * people.smallest:
        return 0.0
    share = min(max(right, people.smallest), m - people.smallest) / m  # never 0 or 1, as smallest parts have people
    even = -(share * math.log2(share) + (1.0 - share) * math.log2(1.0 - share))
    lost = right * loss_of(people.codes, side, axes) + (m - right) * loss_of(people.codes, ~side, axes)
    return float64((whole - lost) / even)  # never 0, as the share is not


@kernel
def mended(people: PeopleArrays, axes: Axes, right: Flags) -> bool:
    """Tell whether both parts are allowed, after the nearest people whom one of them lacks were moved to it.

    right : bool (m,), changed: who goes right. Nobody is moved twice, and no more than MOST_MOVED people are. Cost O(m
    q) for each.
    """
    m, there = len(right), int64(right.sum())
    if min(there, m - there) + MOST_MOVED < people.smallest:
        return False
    moved, lacking = np.zeros(m, dtype=np.bool_), np.zeros(m, dtype=np.bool_)
    for _ in range(MOST_MOVED + 1):
        to = 1
        if not _lacks(right, people, lacking):
            to = 0
            if not _lacks(~right, people, lacking):
                return True
        there = int64(right.sum())
        if (m - there if to == 1 else there) <= people.smallest:
            return False
        nearest = _nearest(lacking & ~moved, right if to == 1 else ~right, people.codes, axes)
        if nearest < 0:
            return False
        moved[nearest] = True
        right[nearest] = to == 1
    return False


@inlined
def _lacks(some: Flags, people: PeopleArrays, lacking: Flags) -> bool:
    """Tell whether a part is not allowed, and write who of the others would help it."""
    codes, histories, chains, sensitive = people.codes, people.histories, people.chains, people.sensitive
    found = np.zeros(2, dtype=np.int64)
    short = int64(some.sum()) < people.smallest
    group = -1 if short else group_left_short(some, histories)
    apart = not short and group < 0 and _leaves_a_chain(some, codes, chains, found)
    if not short and group < 0 and not apart and _rules_hold(some, sensitive, people.rules):
        return False
    values = np.zeros(histories.left.shape[1], dtype=np.int64)
    for person in range(len(some)):
        if some[person]:
            values[histories.value_of[person]] += 1
    for person in range(len(some)):
        lacking[person] = False
        if some[person]:
            continue
        if short:
            lacking[person] = True
        elif group >= 0:
            value = histories.value_of[person]
            lacking[person] = values[value] < histories.left[group, value]
        elif apart:
            lacking[person] = _on_chain(codes[person, found[1]], found[0], found[1], chains)
        else:
            lacking[person] = values[histories.value_of[person]] == 0
    return True


@inlined
def _nearest(candidates: Flags, some: Flags, codes: Int64s, axes: Axes) -> int:
    """Return who of those wanted would widen a part least, the first of them; −1 if nobody is wanted."""
    distances = np.zeros(len(candidates))
    for attribute in range(codes.shape[1]):
        first = axes.offsets[attribute]
        there = np.zeros(axes.offsets[attribute + 1] - first, dtype=np.bool_)
        low, high = len(there), int64(-1)
        for person in range(len(some)):
            if some[person]:
                there[codes[person, attribute]] = True
                low, high = min(low, codes[person, attribute]), max(high, codes[person, attribute])
        for person in range(len(candidates)):
            if candidates[person] and not there[codes[person, attribute]]:
                if axes.kinds[attribute] == NUMERIC and high >= 0:
                    place = axes.positions[first + codes[person, attribute]]
                    below, above = axes.positions[first + low] - place, place - axes.positions[first + high]
                    distances[person] += max(0.0, below, above)
                else:
                    distances[person] += axes.units[attribute]
    found, least = -1, np.inf
    for person in range(len(candidates)):
        if candidates[person] and distances[person] < least - 1e-9:
            found, least = person, distances[person]
    return found


@kernel
def part_allowed(some: Flags, people: PeopleArrays) -> bool:
    """Tell whether `some`, bool (m,), satisfy the rules, leave groups their rows, and meet the chains to classes."""
    if group_left_short(some, people.histories) >= 0 or not _rules_hold(some, people.sensitive, people.rules):
        return False
    return not _leaves_a_chain(some, people.codes, people.chains, np.zeros(2, dtype=np.int64))


@inlined
def _rules_hold(some: Flags, sensitive: Int64s, rules: RuleArrays) -> bool:
    counts = np.zeros(len(rules.totals), dtype=np.int64)
    size = 0
    for person in range(len(some)):
        if some[person]:
            size += 1
            for attribute in range(sensitive.shape[1]):
                counts[rules.offsets[attribute] + sensitive[person, attribute]] += 1
    return holds(size, counts, rules, np.zeros(rules.scratch_size))


@inlined
def group_left_short(some: Flags, histories: HistoryArrays) -> int:
    """Return the first group with somebody in a part that leaves it too few rows, −1 if there is none."""
    values = np.zeros(histories.left.shape[1], dtype=np.int64)
    there = np.zeros(len(histories.left), dtype=np.bool_)
    for person in range(len(some)):
        if some[person]:
            there[histories.group_of[person]] = True
            values[histories.value_of[person]] += 1
    for group in range(len(there)):
        if there[group]:
            left = 0
            for value in range(len(values)):
                left += min(values[value], histories.left[group, value])
            if left < histories.least:
                return group
    return -1


@inlined
def _leaves_a_chain(some: Flags, codes: Int64s, chains: ChainArrays, found: Int64s) -> bool:
    """Tell whether a part has nothing of a chain to a class of its people, and write which, and in what attribute.

    Of an attribute whose codes have an order, everything between the first and the last code is what the part covers.
    """
    if len(chains.ends) == 0:
        return False
    there = np.zeros(len(some), dtype=np.bool_)
    low, high = np.full(codes.shape[1], np.iinfo(np.int64).max), np.full(codes.shape[1], -1)
    members = np.zeros(chains.members.shape[1], dtype=np.uint64)
    for person in range(len(some)):
        if some[person]:
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
                start, end = chains.words[attribute], chains.words[attribute + 1]
                least, most = chains.low[chain, attribute], chains.high[chain, attribute]
                meets = high[attribute] >= least and low[attribute] <= most
                if start < end:
                    meets = False
                    for word in range(start, end):
                        meets = meets or (members[word] & chains.members[chain, word]) != 0
                if not meets:
                    found[0], found[1] = chain, attribute
                    return True
    return False


@inlined
def _on_chain(code: int, chain: int, attribute: int, chains: ChainArrays) -> bool:
    """Tell whether a chain covers a code."""
    if chains.words[attribute] == chains.words[attribute + 1]:
        return bool(chains.low[chain, attribute] <= code <= chains.high[chain, attribute])
    word = chains.members[chain, chains.words[attribute] + code // 64]
    return bool((word >> np.uint64(code % 64)) & np.uint64(1) != 0)
