"""From patterns of stars to classes: who among equals gets which, every model satisfied, what is published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.cell_suppression.star_patterns import DistinctRows, Patterns
from sfumato.classes.people import statistics_of
from sfumato.classes.regions import Regions
from sfumato.models.protocol import PrivacyModel
from sfumato.randomness import permutation
from sfumato.table.encoding import EncodedAttribute, EncodedTable

UNSETTLED = -1

Chosen = NDArray[np.int32]
"""int32 (n,): the pattern of each record, −1 where none is settled."""


@dataclass(frozen=True, eq=False, repr=False)
class StarringProblem:
    """The records that patterns are chosen for.

    Attributes
    ----------
    table : EncodedTable
        Those records alone, n of them.
    models : sequence of PrivacyModel
    distinct : Distinct
    patterns : Patterns
    """

    table: EncodedTable
    models: Sequence[PrivacyModel]
    distinct: DistinctRows
    patterns: Patterns

    def group_of(self, chosen: Chosen) -> NDArray[np.int32]:
        """Return the group of each record under its pattern, −1 where it has none; int32 (n,)."""
        groups = self.patterns.choices.group_of[self.distinct.record_of, np.maximum(chosen, 0)]
        return np.where(chosen < 0, np.int32(-1), groups).astype(np.int32, copy=False)

    def cost(self, chosen: Chosen) -> float:
        """Return the cost of all stars; unsettled records cost what the last pattern does."""
        return float(self.patterns.choices.cost[chosen].sum())

    def holding(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell for each record whether the records of its number satisfy every model; bool (n,)."""
        class_of: NDArray[np.int32] = np.unique(numbers, return_inverse=True)[1].astype(np.int32)
        count = int(class_of.max(initial=-1)) + 1
        statistics = statistics_of(self.table, class_of, count)
        verdict = np.ones(count, dtype=np.bool_)
        for model in self.models:
            verdict &= model.holds(statistics)
        return verdict[class_of]


def chosen_patterns(counts: NDArray[np.int32], distinct: DistinctRows, seed: int | None) -> Chosen:
    """Give every record a pattern as `counts`, int32 (m, p), say; which of equal records get which is chance.

    The order of the input must not show in who is starred. Cost O(n log n + m p).
    """
    height = len(distinct.record_of)
    order = permutation(height, seed)
    order = order[np.argsort(distinct.record_of[order], kind="stable")]
    records, patterns = np.nonzero(counts)
    chosen = np.empty(height, dtype=np.int32)
    chosen[order] = np.repeat(patterns, counts[records, patterns])
    return chosen


def all_settled(situation: StarringProblem, chosen: Chosen) -> Chosen:
    """Star further until every class satisfies every model; −1 for those of strata where that is impossible.

    Classes that satisfy the models stay. The other records try every pattern in order of cost, and a group of them is
    settled where it satisfies the models. What is left is starred as far as may be, and so are as many classes besides,
    the cheapest first, as it takes.

    Notes
    -----
    Cost O(p (n + s)) for s pairs of class and sensitive value. Models are monotone: two parts of one class that satisfy
    them do so together.
    """
    groups = situation.group_of(chosen).astype(np.int64)
    settled = np.where(situation.holding(groups) & (chosen >= 0), chosen, UNSETTLED).astype(np.int32)
    for pattern in range(len(situation.patterns.starred)):
        waiting = settled < 0
        if not waiting.any():
            return settled
        settled[_satisfied(situation, settled, waiting, pattern)] = pattern
    return _with_company(situation, settled)


def _satisfied(
    situation: StarringProblem, settled: Chosen, waiting: NDArray[np.bool_], pattern: int
) -> NDArray[np.bool_]:
    groups = situation.patterns.choices.group_of[situation.distinct.record_of, pattern].astype(np.int64)
    possible = waiting & (groups >= 0)
    # Settled classes keep even numbers, candidates odd ones, and all that wait elsewhere are one class beside them.
    numbers = np.where(possible, 2 * groups + 1, 2 * situation.group_of(settled).astype(np.int64))
    satisfied: NDArray[np.bool_] = situation.holding(numbers) & possible
    return satisfied


def _with_company(situation: StarringProblem, settled: Chosen) -> Chosen:
    """Send whole classes along with what is left, the cheapest first, doubling their number until it suffices."""
    last = len(situation.patterns.starred) - 1
    top = situation.patterns.choices.group_of[situation.distinct.record_of, last]
    for stratum in np.unique(top[settled < 0]):
        inside = top == stratum
        settled = _stratum_settled(situation, settled, inside, last)
    return settled


def _stratum_settled(situation: StarringProblem, settled: Chosen, inside: NDArray[np.bool_], last: int) -> Chosen:
    groups = situation.group_of(settled)
    classes = _cheapest_first(situation, settled, inside & (settled >= 0) & (settled < last))
    taken = 0
    while True:
        joined = np.where(inside & ((settled < 0) | np.isin(groups, classes[:taken])), last, settled).astype(np.int32)
        if situation.holding(situation.group_of(joined).astype(np.int64))[inside & (joined == last)].all():
            return joined
        if taken == len(classes):
            return np.where(inside, UNSETTLED, settled).astype(np.int32)
        taken = min(max(1, 2 * taken), len(classes))


def covering(situation: StarringProblem, chosen: Chosen, left_out: NDArray[np.unsignedinteger]) -> Chosen:
    """Star classes further until one covers each of the records that are left out, unsigned (r, q).

    Those whose whole stratum is left out stay without.
    """
    last = len(situation.patterns.starred) - 1
    fixed = ~situation.patterns.starred[last]
    for record in left_out[~_covered(situation, chosen, left_out)]:
        inside = (situation.table.codes[:, fixed] == record[fixed]).all(axis=1)
        if inside.any() and not (chosen[inside] == last).any():
            cheapest = _cheapest_first(situation, chosen, inside)[:1]
            chosen = np.where(inside & np.isin(situation.group_of(chosen), cheapest), UNSETTLED, chosen)
            chosen = _with_company(situation, chosen.astype(np.int32))
    return chosen


def _covered(situation: StarringProblem, chosen: Chosen, left_out: NDArray[np.unsignedinteger]) -> NDArray[np.bool_]:
    covered = np.zeros(len(left_out), dtype=np.bool_)
    for pattern in np.unique(chosen[chosen >= 0]):
        kept = ~situation.patterns.starred[pattern]
        published = {row.tobytes() for row in situation.table.codes[chosen == pattern][:, kept]}
        covered |= np.array([row.tobytes() in published for row in left_out[:, kept]], dtype=np.bool_)
    return covered


def _cheapest_first(situation: StarringProblem, settled: Chosen, rows: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Order the groups of some records by what it costs to star them as far as may be."""
    cost = situation.patterns.choices.cost
    groups, firsts, sizes = np.unique(situation.group_of(settled)[rows], return_index=True, return_counts=True)
    rise = (cost[-1] - cost[settled[rows][firsts]]) * sizes
    return groups[np.argsort(rise, kind="stable")].astype(np.int32)


def regions_of(
    attributes: Sequence[EncodedAttribute], codes: NDArray[np.integer], starred: NDArray[np.bool_]
) -> Regions:
    """Return what classes publish: the exact code, or ``*``.

    Parameters
    ----------
    attributes
        Length q.
    codes
        Integers (c, q): codes of a record of each class.
    starred
        bool (c, q).
    """
    sizes = np.array([attribute.size for attribute in attributes], dtype=np.int32)
    heights = [attribute.hierarchy.height if attribute.hierarchy is not None else 0 for attribute in attributes]
    exact = codes.astype(np.int32)
    low = np.where(starred, np.int32(0), exact)
    high = np.where(starred, sizes, exact)
    level = np.where(starred, np.array(heights, dtype=np.int32), np.int32(0))
    return Regions(low.astype(np.int32), high.astype(np.int32), level.astype(np.int32))
