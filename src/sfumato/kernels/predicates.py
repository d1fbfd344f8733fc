"""Privacy models as compiled predicates: decide one candidate class from its histograms, without allocating.

Letters: r rules, s sensitive attributes that some rule looks at, v values of all those attributes together, g nodes of
all their trees together.

A class comes as its size and one flat histogram `counts`, int64 (v,): the counts of attribute ``a`` stand at
``offsets[a] .. offsets[a+1]-1``. Ratios are compared through products of integers, so that a bound which is met exactly
is never missed by rounding; products stay below 2**63 for tables of up to three thousand million records.

Where people have several records that share a class, a class comes as its number of people, and a place of the
histogram stands for a set of values that a person has: a search counts people by their sets, and only what is decided
here looks into them. Where the records of a person may lie in different classes, a class comes as its number of
records, and a place stands for a person, or for a value that one person has: a search counts records by both, and what
is decided here counts places.

Every predicate equals the `holds` of its model in :mod:`sfumato.models`, which is written over columns of classes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sfumato.kernels.jit import borrowing
from sfumato.kernels.types import Floats, Int64s, int64

SLACK = 1e-12
"""Slack of every comparison between a float and a bound."""

# Codes are grouped: sizes, shares within the class, distances to the whole table, ratios to the whole table.
T_BY_KIND = -1  # first = t; compiling the rules replaces it by one of the three distances, kernels never see it
K_ANONYMITY = 0  # first = k
ALPHA = 1  # first = alpha
DISTINCT = 2  # first = l
PROBABILISTIC = 3  # first = l
ENTROPY = 4  # first = l
RECURSIVE = 5  # first = c, second = l
T_EQUAL = 6  # first = t
T_ORDERED = 7  # first = t
T_HIERARCHICAL = 8  # first = t
BETA = 9  # first = beta
BETA_ENHANCED = 10  # first = beta
DELTA = 11  # first = delta
LARGEST_SHARE = 12  # first = k; over how many records each person has, as `numbers` says
WISHED_K = 13  # over the k that each person wishes for, as `numbers` says
GUARDED = 14  # first = largest share of the values that `guards` marks with bit `second`
WISHED_DISTINCT = 15  # second = attribute that says which l each person wishes for, as `numbers` says
WISHED_SHARE = 16  # likewise; no value has a share above 1 over the largest of them
K_MAP = 17  # first = k; over how many people of a population each record stands for, as `numbers` says
PRESENCE = 18  # first = largest share of these people who may be in the table
WISHED_RECORDS = 19  # over how many records each person has; second = attribute that says which k each wishes for


NO_NUMBERS = np.zeros(0, dtype=np.int64)
NEVER = 2**61


class RuleArrays(NamedTuple):
    """All rules of a run as arrays, in the form that kernels read."""

    codes: Int64s  # (r,): one of the constants of this module
    attributes: Int64s  # (r,): which sensitive attribute, −1 for rules on the size alone
    # `first`, `second`: (r,): parameters
    first: Floats
    second: Floats
    offsets: Int64s  # (s + 1,): where the histogram of each attribute starts
    totals: Int64s  # (v,): histogram of the whole table, ≥ 1 everywhere
    total: int  # records of the whole table
    tree_offsets: Int64s  # (s + 1,): where the tree of each attribute starts; empty range for an attribute without one
    # (g,): parent of each node, counted from the start of its tree, −1 for the root. A tree first lists the values in
    # histogram order, then the inner nodes, every child before its parent.
    parents: Int64s
    weights: Floats  # (g,): height of the node over the height of the tree; 0 for a value, 1 for the root
    scratch_size: int  # entries that the caller's scratch buffer needs
    # `member_starts`, `members`: (v + 1,) and (z,): the values that place ``i`` of the histogram stands for, as places
    # among the values of all attributes, are ``members[member_starts[i] : member_starts[i + 1]]``. Both empty where
    # every place is one value; then the next three arrays are not read.
    member_starts: Int64s = NO_NUMBERS
    members: Int64s = NO_NUMBERS
    # `value_offsets`, `value_totals`: (s + 1,) and (w,): as `offsets` and `totals`, but of values. A person counts once
    # for each value.
    value_offsets: Int64s = NO_NUMBERS
    value_totals: Int64s = NO_NUMBERS
    # (w,), or (v,) where every place is one value: for the attributes that say how many records a person has, which k
    # the person wishes for, and how many people of a population a record stands for, this number; 0 for the others.
    # Empty where no rule asks.
    numbers: Int64s = NO_NUMBERS
    # (w,), or (v,) where every place is one value: bit ``b`` is set where a value is guarded by the rule whose `second`
    # is ``b``. Empty without such rules.
    guards: Int64s = NO_NUMBERS
    safe_size: int = NEVER  # class size from which on every rule holds, whatever the class has
    # The attribute whose places are people, where their records may lie in different classes: the last one. −1: a
    # record, or a person, is counted as it stands.
    apart: int = -1
    wishes: Int64s = NO_NUMBERS  # which k each of these people wishes for; empty where nobody does


class Shared(NamedTuple):
    """How the records of a class are shared out among people whose other records may lie in other classes."""

    records: int
    people: int
    most: int  # records of the person who has most of them
    wished: int  # the largest k that one of them wishes for; 0: nobody does


@borrowing
def holds(size: int, counts: Int64s, rules: RuleArrays, scratch: Floats) -> bool:
    """Tell whether a class of `size` records with the flat histogram `counts` satisfies every rule.

    counts : int64 (v,); may be empty when no rule looks at a sensitive attribute. scratch : float64, at least
    ``rules.scratch_size`` entries; overwritten. One per thread. An empty class satisfies nothing. Cost O(v + g) per
    rule; recursive l-diversity O(v · l).
    """
    if size <= 0:
        return False
    if rules.apart >= 0:
        return _holds_apart(size, counts, rules, scratch)
    if len(rules.members) > 0:
        found = scratch[rules.scratch_size - len(rules.value_totals) : rules.scratch_size].view(np.int64)
        _count_by_value(counts, rules, found)
        counts = found
    for rule in range(len(rules.codes)):  # noqa: SIM110 - all() over a generator does not compile
        if not _holds_one(rule, size, counts, rules, scratch):
            return False
    return True


@borrowing
def _holds_apart(size: int, counts: Int64s, rules: RuleArrays, scratch: Floats) -> bool:
    """Tell whether a class of `size` records holds, from how many of them each person and each person's value has."""
    found = scratch[rules.scratch_size - len(rules.value_totals) : rules.scratch_size].view(np.int64)
    found[:] = 0
    first = rules.offsets[rules.apart]
    for place in range(first):
        if counts[place] > 0:
            found[rules.members[place]] += 1
    people, most, wished = 0, 0, 0
    for place in range(first, rules.offsets[rules.apart + 1]):
        if counts[place] > 0:
            people += 1
            most = max(most, counts[place])
            if len(rules.wishes) > 0:
                wished = max(wished, rules.wishes[place - first])
    return people_hold(Shared(size, people, most, wished), found, rules, scratch)


@borrowing
def people_hold(shared: Shared, found: Int64s, rules: RuleArrays, scratch: Floats) -> bool:
    """Tell whether people with records in several classes satisfy every rule. found : int64 (w,), of each value."""
    for rule in range(len(rules.codes)):
        code = rules.codes[rule]
        if code == LARGEST_SHARE:
            if shared.most * rules.first[rule] > shared.records:
                return False
        elif code == WISHED_RECORDS:
            if shared.most * shared.wished > shared.records:
                return False
        elif code == WISHED_K:
            if shared.wished > shared.people:
                return False
        elif not _holds_one(rule, shared.people, found, rules, scratch):
            return False
    return True


@borrowing
def _holds_one(rule: int, size: int, counts: Int64s, rules: RuleArrays, scratch: Floats) -> bool:
    code = rules.codes[rule]
    if code == K_ANONYMITY:
        return bool(size >= rules.first[rule])
    attribute = rules.attributes[rule]
    by_value = len(rules.members) > 0
    start = rules.value_offsets[attribute] if by_value else rules.offsets[attribute]
    stop = rules.value_offsets[attribute + 1] if by_value else rules.offsets[attribute + 1]
    own = counts[start:stop]
    if code == LARGEST_SHARE:
        return _shared_out(own, rules.numbers[start:stop], rules.first[rule])
    if code == WISHED_RECORDS:
        wished = _largest_wish(rule, counts, rules)
        return _shared_out(own, rules.numbers[start:stop], float(wished))
    if code == WISHED_K:
        return _largest_number(own, rules.numbers[start:stop]) <= size
    if code == GUARDED:
        guarded = _guarded(own, rules.guards[start:stop], int64(rules.second[rule]))
        return bool(guarded <= (rules.first[rule] + SLACK) * size)
    if code >= K_MAP:
        covered = _numbers_sum(own, rules.numbers[start:stop])
        return bool(covered >= rules.first[rule] if code == K_MAP else size <= (rules.first[rule] + SLACK) * covered)
    if code >= WISHED_DISTINCT:
        wished = _largest_wish(rule, counts, rules)
        return bool(_distinct(own) >= wished if code == WISHED_DISTINCT else _largest(own) * wished <= size)
    if code <= PROBABILISTIC:
        return _diverse(code, own, size, rules.first[rule], rules.second[rule], scratch)
    totals = rules.value_totals[start:stop] if by_value else rules.totals[start:stop]
    if code >= BETA:
        return _bounded_ratios(code, own, size, totals, rules.total, rules.first[rule])
    # What compares whole distributions takes each value of each person once.
    total = rules.total
    if by_value:
        size = _sum(own)
        total = _sum(totals)
    if code <= RECURSIVE:
        return _diverse(code, own, size, rules.first[rule], rules.second[rule], scratch)
    nodes = slice(rules.tree_offsets[attribute], rules.tree_offsets[attribute + 1])
    if code == T_EQUAL:
        distance = _equal_distance(own, size, totals, total)
    elif code == T_ORDERED:
        distance = _ordered_distance(own, size, totals, total)
    else:
        parents = rules.parents[nodes]
        distance = _hierarchical_distance(own, size, totals, total, parents, rules.weights[nodes], scratch)
    return bool(distance <= rules.first[rule] + SLACK)


@borrowing
def _largest_wish(rule: int, counts: Int64s, rules: RuleArrays) -> int:
    """Return the largest number of the attribute that stands beside that of a rule, as its `second`."""
    wishes = int64(rules.second[rule])
    begin, end = rules.value_offsets[wishes], rules.value_offsets[wishes + 1]
    return _largest_number(counts[begin:end], rules.numbers[begin:end])


@borrowing
def _count_by_value(counts: Int64s, rules: RuleArrays, found: Int64s) -> None:
    """Count people by value, int64 (w,), from how many have each set of values."""
    found[:] = 0
    for place in range(len(rules.member_starts) - 1):
        if counts[place] > 0:
            for member in range(rules.member_starts[place], rules.member_starts[place + 1]):
                found[rules.members[member]] += counts[place]


@borrowing
def _shared_out(counts: Int64s, numbers: Int64s, k: float) -> bool:
    """Tell whether nobody has more than 1/k of the records, from how many people have each number of them."""
    records = 0
    most = 0
    for value in range(len(counts)):
        if counts[value] > 0:
            records += counts[value] * numbers[value]
            most = max(most, numbers[value])
    return bool(most * k <= records)


@borrowing
def _largest_number(counts: Int64s, numbers: Int64s) -> int:
    largest = 0
    for value in range(len(counts)):
        if counts[value] > 0:
            largest = max(largest, numbers[value])
    return largest


@borrowing
def _numbers_sum(counts: Int64s, numbers: Int64s) -> int:
    total = 0
    for value in range(len(counts)):
        total += counts[value] * numbers[value]
    return total


@borrowing
def _guarded(counts: Int64s, guards: Int64s, bit: int) -> int:
    found = 0
    for value in range(len(counts)):
        if (guards[value] >> bit) & 1:
            found += counts[value]
    return found


@borrowing
def _sum(counts: Int64s) -> int:
    total = 0
    for count in counts:
        total += count
    return total


@borrowing
def _diverse(code: int, counts: Int64s, size: int, first: float, second: float, scratch: Floats) -> bool:
    if code == ALPHA:
        return bool(_largest(counts) <= (first + SLACK) * size)
    if code == DISTINCT:
        return bool(_distinct(counts) >= first)
    if code == PROBABILISTIC:
        return bool(_largest(counts) * first <= size * (1.0 + SLACK))
    if code == ENTROPY:
        return bool(_entropy(counts, size) >= math.log(first) - SLACK)  # never 0: l is 1 or more
    return _recursive(counts, size, first, int(second), scratch)


@borrowing
def _bounded_ratios(code: int, counts: Int64s, size: int, totals: Int64s, total: int, bound: float) -> bool:
    if code == BETA:
        return bool(_gain(counts, size, totals, total) <= bound + SLACK)
    if code == BETA_ENHANCED:
        return _enhanced_gain(counts, size, totals, total, bound)
    return bool(_disclosure(counts, size, totals, total) < bound - SLACK)


@borrowing
def _largest(counts: Int64s) -> int:
    largest = 0
    for count in counts:
        largest = max(largest, count)
    return largest


@borrowing
def _distinct(counts: Int64s) -> int:
    present = 0
    for count in counts:
        if count > 0:
            present += 1
    return present


@borrowing
def _entropy(counts: Int64s, size: int) -> float:
    # -Σ p ln p with p = count/size, rearranged to one logarithm per value.
    weighted = 0.0
    for count in counts:
        if count > 1:
            weighted += count * math.log(count)  # never 0: above 1
    return math.log(size) - weighted / size  # never 0: an empty class satisfies nothing


@borrowing
def _recursive(counts: Int64s, size: int, c: float, l: int, scratch: Floats) -> bool:  # noqa: E741
    """Tell whether a class is recursively (c, l)-diverse. Ends: places fall."""
    # The l-1 largest counts are kept falling in scratch; what is left of the class is c_l + c_{l+1} + ...
    if l > len(counts):
        return False
    kept = 0
    largest = 0
    tail = size
    for count in counts:
        largest = max(largest, count)
        if kept < l - 1:
            kept += 1
            tail -= count
        elif kept > 0 and count > scratch[kept - 1]:
            tail += int(scratch[kept - 1]) - count
        else:
            continue
        place = kept - 1
        while place > 0 and scratch[place - 1] < count:
            scratch[place] = scratch[place - 1]
            place -= 1
        scratch[place] = count
    return bool(tail > 0 and c * tail > largest * (1.0 + SLACK))


@borrowing
def _equal_distance(counts: Int64s, size: int, totals: Int64s, total: int) -> float:
    # Half the absolute differences = the positive differences, since all differences sum to zero.
    above = 0
    for value in range(len(counts)):
        above += max(0, counts[value] * total - totals[value] * size)
    return above / (float(size) * total)  # never 0: neither is empty


@borrowing
def _ordered_distance(counts: Int64s, size: int, totals: Int64s, total: int) -> float:
    if len(counts) < 2:
        return 0.0
    carried = 0
    moved = 0.0
    for value in range(len(counts) - 1):
        carried += counts[value] * total - totals[value] * size
        moved += abs(carried)
    # never 0: neither is empty, and there are two values
    return moved / (float(size) * total * (len(counts) - 1))


@borrowing
def _hierarchical_distance(
    counts: Int64s, size: int, totals: Int64s, total: int, parents: Int64s, weights: Floats, scratch: Floats
) -> float:
    # scratch[node] and scratch[nodes + node]: what the children have too much and too little. Whole numbers, exact.
    nodes = len(parents)
    scratch[: 2 * nodes] = 0.0
    cost = 0.0
    for node in range(nodes):
        if node < len(counts):
            extra = float(counts[node] * total - totals[node] * size)
        else:
            extra = scratch[node] - scratch[nodes + node]
            cost += weights[node] * min(scratch[node], scratch[nodes + node])
        if parents[node] >= 0:
            if extra > 0:
                scratch[parents[node]] += extra
            else:
                scratch[nodes + parents[node]] -= extra
    return cost / (float(size) * total)  # never 0: neither is empty


@borrowing
def _gain(counts: Int64s, size: int, totals: Int64s, total: int) -> float:
    largest = 0.0
    for value in range(len(counts)):
        largest = max(largest, (counts[value] * total) / (float(totals[value]) * size))
    return largest - 1.0


@borrowing
def _enhanced_gain(counts: Int64s, size: int, totals: Int64s, total: int, beta: float) -> bool:
    # Only gains bind: a value that is everywhere has -ln 1 = 0 and gains nothing.
    for value in range(len(counts)):
        gain = (counts[value] * total) / (float(totals[value]) * size) - 1.0
        # never 0: totals are 1 or more
        if gain > SLACK and gain > min(beta, math.log(total / totals[value])) + SLACK:
            return False
    return True


@borrowing
def _disclosure(counts: Int64s, size: int, totals: Int64s, total: int) -> float:
    # A value that the class lacks has ratio 0, whose logarithm is infinite.
    largest = 0.0
    for value in range(len(counts)):
        if counts[value] == 0:
            return math.inf
        ratio = (counts[value] * total) / (float(totals[value]) * size)
        largest = max(largest, abs(math.log(ratio)))  # never 0: the count is not
    return largest
