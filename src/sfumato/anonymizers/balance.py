"""Which records to leave out when some sensitive values are too frequent for the models."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.problem import Problem
from sfumato.classes.people import statistics_of
from sfumato.kernels.predicates import GUARDED, RuleArrays
from sfumato.models.compiled import rules_of
from sfumato.models.protocol import TOLERANCE
from sfumato.models.rule_traits import TRAITS
from sfumato.randomness import permutation

SPENDING = (0.0, 0.5, 1.0)
"""Shares of the suppression that is allowed beyond the necessary, from the fewest records to the whole limit."""


def balanced_records(problem: Problem) -> tuple[NDArray[np.int64], ...]:
    """Choose records that satisfy the models as one class, by capping how many records have the same sensitive value.

    Returns
    -------
    tuple of numpy.ndarray
        int64: the records to keep, rising; one choice for each amount of suppression, the fewest first. Which records
        of a value are left out is random. Empty when the suppression limit does not suffice.

    Notes
    -----
    Bisection over the cap: O(n log n) per sensitive attribute.
    """
    table = problem.table
    kept = candidates = _without_guarded(problem, _without_most_records(problem))
    if not len(kept) or table.height - len(kept) > problem.suppression_limit:
        return ()
    ranks = np.zeros(len(kept), dtype=np.int64)
    for column in range(len(table.sensitive)):
        if _satisfied(problem, kept):
            break
        candidates = kept
        ranks = _ranks_within_value(table.sensitive_codes[candidates, column], problem.seed)
        kept = _largest_satisfying(problem, candidates, ranks)
    spare = problem.suppression_limit - (table.height - len(kept))
    if spare < 0 or not _satisfied(problem, kept):
        return ()
    sizes = {len(kept) - int(share * spare) for share in SPENDING}
    choices = [kept, *(_capped_to(candidates, ranks, size) for size in sorted(sizes, reverse=True))]
    distinct = {len(choice): choice for choice in choices if _satisfied(problem, choice)}
    return tuple(distinct[size] for size in sorted(distinct, reverse=True))


def with_most_records(problem: Problem) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many records people have, and the people who would have to go so that nobody's share is too large.

    Returns
    -------
    records : numpy.ndarray
        int64 (p,): the records of each person; empty where records are not counted by people.
    gone : numpy.ndarray
        int64: the numbers of as few people as possible, those with the most records; everybody where nothing helps.
    """
    table = problem.table
    bounds = [rule.first for rule in rules_of(problem.models, table) if TRAITS[rule.code].people]
    if table.apart is not None:
        records = np.bincount(table.apart.numbers)
    else:
        records = np.empty(0, dtype=np.int64) if table.people is None else table.people.records
    falling = np.argsort(-records, kind="stable")
    left = np.cumsum(records[falling][::-1])[::-1]
    fits = np.append(records[falling] * max(bounds, default=0.0) <= left, True)
    return records, falling[: int(np.argmax(fits))]


def _without_most_records(problem: Problem) -> NDArray[np.int64]:
    """Leave out the people with the most records, as few as make nobody's share too large."""
    return np.delete(np.arange(problem.table.height), with_most_records(problem)[1])


def _without_guarded(problem: Problem, kept: NDArray[np.int64]) -> NDArray[np.int64]:
    """Leave out at random, of who has most guarded values, as few as make their share small enough."""
    guarding = [rule for rule in rules_of(problem.models, problem.table) if rule.marks is not None]
    if not guarding:
        return kept
    rules = problem.rules
    for code, attribute, bound, bit in zip(*rules.arrays[:4], strict=True):
        if code == GUARDED:
            places = rules.codes[:, attribute].astype(np.int64) + rules.arrays.offsets[attribute]
            own = _guarded_values(rules.arrays, int(bit))[places[kept]]
            drawn = permutation(len(kept), problem.seed)
            falling = drawn[np.argsort(-own[drawn], kind="stable")]
            left = np.append(np.cumsum(own[falling][::-1])[::-1], 0)
            gone = int(np.argmax(left <= (bound + TOLERANCE) * np.arange(len(kept), -1, -1)))
            kept = np.sort(kept[falling[gone:]])
    return kept


def _guarded_values(rules: RuleArrays, bit: int) -> NDArray[np.int64]:
    """Count the guarded values that each place of a histogram stands for; int64 (v,)."""
    guarded: NDArray[np.int64] = rules.guards >> bit & 1
    return guarded if not len(rules.members) else np.add.reduceat(guarded[rules.members], rules.member_starts[:-1])


def _largest_satisfying(problem: Problem, kept: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Keep at most `cap` records of every value, for the largest cap that satisfies the models."""
    low, high = 0, int(ranks.max(initial=0)) + 1
    while high - low > 1:
        cap = (low + high) // 2
        if _satisfied(problem, kept[ranks < cap]):
            low = cap
        else:
            high = cap
    return kept[ranks < low] if low else kept


def _capped_to(kept: NDArray[np.int64], ranks: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Keep at least `size` records, by the lowest cap that does."""
    with_rank = np.bincount(ranks)
    cap = int(np.searchsorted(np.cumsum(with_rank), size)) + 1
    return kept[ranks < cap]


def _ranks_within_value(codes: NDArray[np.unsignedinteger], seed: int | None) -> NDArray[np.int64]:
    """Rank the records of each value in random order, int64 (n,)."""
    order = permutation(len(codes), seed)
    by_value = order[np.argsort(codes[order], kind="stable")]
    sizes = np.bincount(codes)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    ranks = np.empty(len(codes), dtype=np.int64)
    ranks[by_value] = np.arange(len(codes)) - np.repeat(starts, sizes)
    return ranks


def _satisfied(problem: Problem, kept: NDArray[np.int64]) -> bool:
    if not len(kept):
        return False
    everybody = np.zeros(len(kept), dtype=np.int32)
    whole = statistics_of(problem.table.take(kept), everybody, 1)
    return all(bool(model.holds(whole).all()) for model in problem.models)
