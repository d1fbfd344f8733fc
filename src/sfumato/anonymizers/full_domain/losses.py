"""What a search of the lattice minimizes: any information loss of the library, and the least that a box can have.

A box holds the nodes between two corners, `low` and `high`. Records that `high` loses for good are suppressed by every
node of the box; what is published costs at least as much as on `low`. Sums are whole numbers until the last step. First
come losses of cells, then of classes, then those that ask of each record which others it might be (none of these is a
sum over attributes: what a record loses on the low corner, among at most as many records as on the high one, is their
bound), and the payout that a publisher may expect where attackers attack what pays them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.full_domain.levels import (
    DomainLevels,
    Grouping,
    LevelTables,
    WeightedRecords,
    group_weighted,
    plain_records,
)
from sfumato.anonymizers.full_domain.suppression import CountedNode
from sfumato.classes.partition import distinct_records, group_records
from sfumato.errors import PolicyError
from sfumato.hierarchy.lattice_search import Levels
from sfumato.kernels.full_domain import cell_sums, lost_sums
from sfumato.models.protocol import PrivacyModel
from sfumato.models.record_risk import Profitability
from sfumato.numbers import figure
from sfumato.recoding.notation import STAR
from sfumato.table.encoding import EncodedTable

CellObjectiveName = Literal["loss", "ncp", "precision", "entropy", "information"]

ClassObjectiveName = Literal["discernibility", "average-class-size"]

ObjectiveName = Literal[
    "loss",
    "ncp",
    "precision",
    "entropy",
    "information",
    "discernibility",
    "average-class-size",
    "ambiguity",
    "kullback-leibler",
    "classification",
    "payout",
]

Mean = Literal["arithmetic", "geometric", "sum", "maximum", "rank"]

Convention = Literal["arx"]

EVEN = 0.5
"""The balance at which suppressed and generalized cells count alike."""

_FIXED_POINT = 1 << 24
"""Parts of a bit that entropies are rounded to, so that sums of them do not depend on their order."""

_Costs = tuple[NDArray[np.int64], int]
"""Cost of every code on every level, int64 (h + 1, d), and of a suppressed cell."""

SLACK = 1e-12
"""Relative slack of every comparison of a bound with a value; far above rounding, far below what anybody reads."""

_Shares = NDArray[np.float64]

_People = NDArray[np.int64]

_Sums = NDArray[np.int64] | NDArray[np.float64]


class Floor(Protocol):
    """What the nodes of a box cost at least, in terms that grow with the value."""

    def at(self, low: Levels) -> float:
        """Return the bound for the box whose low corner is `low`."""
        ...

    def reach(self, low: Levels, high: Levels, cut: float) -> Levels:
        """Return a high corner that loses no node whose bound is within `cut`."""
        ...

    def step(self, low: Levels, high: Levels) -> tuple[int, int]:
        """Return where to cut a box in two: an attribute, and the last level of the lower part."""
        ...


class NodeLoss(Protocol):
    """An objective on the nodes of a lattice."""

    def value(self, node: CountedNode) -> float:
        """Return the value of a node; lower is better."""
        ...

    def rest(self, node: CountedNode) -> tuple[float, ...]:
        """Return what decides between nodes of equal value, the lower the better; empty where nothing does."""
        ...

    def floor(self, node: CountedNode, low: Levels, before: Floor | None) -> Floor:
        """Return what nodes from `low` up to a counted one cost at least; `before`: that before records were lost."""
        ...

    def cut(self, value: float) -> float:
        """Return the bound above which a box cannot hold a node of at most `value`."""
        ...

    def bound_of(self, total: float) -> float:
        """Return the value that a bound stands for."""
        ...


def node_loss(
    name: CellObjectiveName | ClassObjectiveName,
    mean: Mean,
    domains: Sequence[DomainLevels],
    tables: LevelTables,
    codes: NDArray[np.unsignedinteger],
    smallest: int,
    limit: int,
    balance: float = EVEN,
    convention: Convention | None = None,
) -> NodeLoss:
    """Prepare an objective for a table. codes : unsigned (n, q). Cost O(n · q)."""
    total = len(codes)
    if name == "discernibility":
        if convention is not None and balance < EVEN:
            return _AllSquares(tables, plain_records(*distinct_records(codes)[:2]))
        return _SquaredSizes(tables, total, smallest, *_balance_parts(balance))
    if name == "average-class-size":
        return (_MeanSize if convention is None else _MeanSizeOfAll)(tables, total, smallest, limit)
    occurrences = [
        np.bincount(codes[:, place], minlength=domain.node_of.shape[1]) for place, domain in enumerate(domains)
    ]
    if convention is None:
        return CellLoss(_cell_objective(name, mean, domains, occurrences, balance), tables)
    objective = _cell_objective(name, mean, domains, occurrences, max(balance, EVEN), whole=True)
    return CellLoss(objective, tables, min(1.0, 2 * balance))


@dataclass(frozen=True, eq=False, repr=False)
class _TermFloor:
    """A bound as a sum: `terms` of each attribute and level of the low corner; `sums`, int64 (q, levels), behind."""

    terms: list[list[float]]
    sums: NDArray[np.int64]

    def at(self, low: Levels) -> float:
        """Add the terms up. O(q)."""
        return math.fsum(row[level] for row, level in zip(self.terms, low, strict=True))

    def reach(self, low: Levels, high: Levels, cut: float) -> Levels:
        """Leave out, for each attribute, the levels that alone cost too much. O(q + levels)."""
        spare = cut - self.at(low)
        reached = []
        for row, start, stop in zip(self.terms, low, high, strict=True):
            level = start
            while level < stop and row[level + 1] - row[start] <= spare:
                level += 1
            reached.append(level)
        return tuple(reached)

    def step(self, low: Levels, high: Levels) -> tuple[int, int]:
        """Cut the attribute of the widest range of terms, in its middle."""
        ranges = [row[stop] - row[start] for row, start, stop in zip(self.terms, low, high, strict=True)]
        widest = max((place for place in range(len(low)) if low[place] < high[place]), key=ranges.__getitem__)
        row, level = self.terms[widest], low[widest]
        middle = (row[level] + row[high[widest]]) / 2
        while level + 1 < high[widest] and row[level + 1] < middle:
            level += 1
        return widest, level


@dataclass(frozen=True, eq=False, repr=False)
class _WorstFloor(_TermFloor):
    """A bound that is the largest of its terms."""

    def at(self, low: Levels) -> float:
        """Return the largest term. O(q)."""
        return max(row[level] for row, level in zip(self.terms, low, strict=True))

    def reach(self, low: Levels, high: Levels, cut: float) -> Levels:
        """Leave out, for each attribute, the levels that cost too much. O(q + levels)."""
        reached = []
        for row, start, stop in zip(self.terms, low, high, strict=True):
            level = start
            while level < stop and row[level + 1] <= cut:
                level += 1
            reached.append(level)
        return tuple(reached)


@dataclass(frozen=True, eq=False, repr=False)
class CellLoss:
    """An objective that is taken together over cells."""

    objective: CellObjective
    tables: LevelTables
    missing: float = 1.0  # part that a suppressed cell is charged of what its node leaves of the full cost

    def value(self, node: CountedNode) -> float:
        """Return the loss of the table, suppressed records included. O(c · q)."""
        return self.objective.value(self._sums(node))

    def rest(self, node: CountedNode) -> tuple[float, ...]:
        """Return what decides between nodes of equal value: the ranks after the first. O(c · q)."""
        if self.objective.mean != "rank":
            return ()
        return self.objective.ranked(self._sums(node))[1:]

    def _sums(self, node: CountedNode) -> _Sums:
        objective = self.objective
        at = self.tables.at(node.levels)
        sums = cell_sums(
            node.records.codes, node.groups.firsts, node.groups.sizes, node.outcome.kept, at, objective.costs,
            objective.full,
        )  # fmt: skip
        levels = objective.unsuppressed[np.arange(len(node.levels)), list(node.levels)]
        return self._charged(np.asarray(sums + node.records.gone * objective.full), levels)

    def _charged(self, full: NDArray[np.int64], levels: NDArray[np.int64]) -> _Sums:
        """Return sums between those of `levels` without suppression and those where it is charged in full."""
        return full if self.missing == 1 else levels + self.missing * (full - levels)

    def floor(self, node: CountedNode, low: Levels, before: Floor | None) -> Floor:
        """Charge lost records in full and the others for the level of `low`. O(lost records · levels)."""
        objective, tables = self.objective, self.tables
        lows, highs = np.array(low, dtype=np.int64), np.array(node.levels, dtype=np.int64)
        lost = lost_sums(
            node.records.codes, node.records.weights, node.groups.class_of, node.outcome.lost, tables.starts,
            tables.widths, lows, highs, objective.floors, objective.full,
        )  # fmt: skip
        known = before.sums if isinstance(before, _TermFloor) else objective.unsuppressed
        sums = known[:, : lost.shape[1]] + lost
        charged = self._charged(sums, objective.unsuppressed[:, : lost.shape[1]])
        return (_WorstFloor if objective.worst else _TermFloor)(objective.terms(charged).tolist(), sums)

    def cut(self, value: float) -> float:
        """Return the sum of terms that stands for `value`, and some slack."""
        total = math.log1p(value) if self.objective.geometric else value
        return total + 2 * SLACK

    def bound_of(self, total: float) -> float:
        """Return the value that a sum of terms stands for."""
        return self.objective.value_of_total(total)


@dataclass(frozen=True, eq=False, repr=False)
class CellObjective:
    """What the cells of each attribute cost, as whole numbers, so that no order of counting shows.

    `costs`, laid out like the level tables; `full`: of a suppressed cell; `floors`: the less of both. `known`, `most`:
    sum of the unchanged and of the suppressed column. `shares`: weight of each attribute, 1 together for means, at most
    1 for the maximum and ranks. `unsuppressed`: least sum of each attribute on each level.
    """

    costs: NDArray[np.int64]
    full: NDArray[np.int64]
    floors: NDArray[np.int64]
    known: NDArray[np.int64]
    most: NDArray[np.int64]
    shares: NDArray[np.float64]
    mean: Mean
    unsuppressed: NDArray[np.int64]
    sizes: NDArray[np.int64]
    records: int

    @cached_property
    def cell_shares(self) -> NDArray[np.float64]:
        """What a cell adds to the cost of its record, float64 (e,): its share of the full cost, weighted."""
        parts = self.costs / np.repeat(self._divisors, self.sizes) * np.repeat(self.shares, self.sizes)
        return np.asarray(parts, dtype=np.float64)

    @cached_property
    def level_means(self) -> NDArray[np.float64]:
        """What the cells of each attribute add on each level on average, float64 (q, 1 + h)."""
        return self.unsuppressed / (self._divisors * self.records)[:, None] * self.shares[:, None]

    @property
    def geometric(self) -> bool:
        """Whether attributes are taken together by the mean of 1 + loss, less 1."""
        return self.mean == "geometric"

    @property
    def worst(self) -> bool:
        """Whether the attribute that loses most decides."""
        return self.mean in ("maximum", "rank")

    @property
    def _divisors(self) -> NDArray[np.int64]:
        # An attribute that has nothing to lose, such as the entropy of a single record, costs nothing anywhere.
        return np.maximum(self.full, 1)

    def value(self, sums: _Sums) -> float:
        """Return the loss of a table, 0 to 1. sums : (q,), what the cells of each attribute cost."""
        losses: list[float] = ((sums - self.known) / self.most).tolist()
        if self.worst:
            return self.ranked(sums)[0]
        shares: list[float] = self.shares.tolist()
        if not self.geometric:
            return sum(share * loss for share, loss in zip(shares, losses, strict=True))
        if len(set(shares)) == 1:
            return float(math.prod(1.0 + loss for loss in losses) ** (1.0 / len(losses)) - 1.0)
        return math.prod(float((1.0 + loss) ** share) for share, loss in zip(shares, losses, strict=True)) - 1.0

    def ranked(self, sums: _Sums) -> tuple[float, ...]:
        """Return what each attribute loses, weighted, the largest first."""
        losses: list[float] = ((sums - self.known) / self.most * self.shares).tolist()
        return tuple(sorted(losses, reverse=True))

    def terms(self, sums: _Sums) -> NDArray[np.float64]:
        """Return parts whose sum, or maximum, over attributes grows with the value; float64 (q, levels)."""
        # Above the height of an attribute there are no sums.
        losses = np.maximum(sums - self.known[:, None], 0) / self.most[:, None]
        parts: NDArray[np.float64] = (np.log1p(losses) if self.geometric else losses) * self.shares[:, None]
        return parts

    def value_of_total(self, total: float) -> float:
        """Return the value whose terms add up to `total`."""
        return math.expm1(total) if self.geometric else total


def _cell_objective(
    name: CellObjectiveName,
    mean: Mean,
    domains: Sequence[DomainLevels],
    occurrences: Sequence[NDArray[np.int64]],
    balance: float = EVEN,
    *,
    whole: bool = False,
) -> CellObjective:
    """Lay the costs of an objective out for a table."""
    # ``"loss"``: (leaves − 1) / (leaves of the domain − 1); ``"ncp"``: leaves / those of the domain, 0 for one;
    # ``"precision"``: level / height; ``"entropy"``: bits that are missing, over those of the suppressed table;
    # ``"information"``: log leaves / log of the domain's. Entropies and information weigh by the bits that an attribute
    # has to lose as well. `balance`: below a half suppressed records cost less, above it generalized ones; `whole`: by
    # ARX's convention, where a leaf of the loss metric has its share of the domain, less what every leaf costs.
    rows = [_COSTS[name](domain, counts) for domain, counts in zip(domains, occurrences, strict=True)]
    records = int(occurrences[0].sum())
    full = np.array([suppressed for _, suppressed in rows], dtype=np.int64)
    known = np.array([costs[0] @ counts for (costs, _), counts in zip(rows, occurrences, strict=True)], dtype=np.int64)
    most = full * records - known
    weights = np.array([domain.attribute.weight for domain in domains], dtype=np.float64)
    if name in ("entropy", "information") and mean in ("arithmetic", "geometric"):
        weights *= most
    classes_weigh, left_out, parts = _balance_parts(balance)
    full, known, most = full * left_out, known * parts, most * parts
    if whole:
        full, most = full + parts - classes_weigh, most + (parts - classes_weigh) * records
    rows = [(costs * classes_weigh, int(suppressed)) for (costs, _), suppressed in zip(rows, full, strict=True)]
    floors = [np.minimum(costs, suppressed) for costs, suppressed in rows]
    sums = np.zeros((len(domains), 1 + max(domain.height for domain in domains)), dtype=np.int64)
    for row, least, counts in zip(sums, floors, occurrences, strict=True):
        row[: len(least)] = least @ counts
    return CellObjective(
        costs=np.concatenate([costs.ravel() for costs, _ in rows]),
        full=full,
        floors=np.concatenate([least.ravel() for least in floors]),
        known=known,
        most=np.maximum(most, 1),
        shares=_shares(weights, mean),
        mean=mean,
        unsuppressed=sums,
        sizes=np.array([costs.size for costs, _ in rows], dtype=np.int64),
        records=records,
    )


def _balance_parts(balance: float) -> tuple[int, int, int]:
    """Return by what published and suppressed cells are multiplied, and by what both are where they count alike."""
    # As in ARX, where it is called the gs-factor: at a half both count in full, at 0 suppression costs nothing, at 1
    # generalization does not. Hundredths are told apart.
    exact = Fraction(balance).limit_denominator(100)
    classes_weigh, left_out = min(Fraction(1), 2 * (1 - exact)), min(Fraction(1), 2 * exact)
    parts = math.lcm(classes_weigh.denominator, left_out.denominator)
    return int(classes_weigh * parts), int(left_out * parts), parts


def _shares(weights: NDArray[np.float64], mean: Mean) -> NDArray[np.float64]:
    if mean == "sum":
        return weights
    total = float(weights.max() if mean in ("maximum", "rank") else weights.sum())
    return weights / total if total else np.full(len(weights), 1.0 / len(weights))


def _leaf_costs(domain: DomainLevels, occurrences: NDArray[np.int64]) -> _Costs:
    full = max(domain.attribute.domain_size - 1, 1)
    return np.where(_unrestricted(domain), full, domain.leaves.astype(np.int64) - 1), full


def _penalty_costs(domain: DomainLevels, occurrences: NDArray[np.int64]) -> _Costs:
    full = domain.attribute.domain_size
    leaves = domain.leaves.astype(np.int64)
    return np.where(_unrestricted(domain), full, np.where(leaves > 1, leaves, 0)), full


def _climbing_costs(domain: DomainLevels, occurrences: NDArray[np.int64]) -> _Costs:
    """Count levels; a node that repeats on several has the lowest of them, as no reader can tell them apart."""
    hierarchy = domain.attribute.hierarchy
    if hierarchy is None:
        return _unrestricted(domain).astype(np.int64), 1
    climbed = np.zeros(domain.node_of.shape, dtype=np.int64)
    for level in range(1, hierarchy.height + 1):
        same = [
            _label(domain, level, code) == _label(domain, level - 1, code) for code in range(domain.node_of.shape[1])
        ]
        climbed[level] = np.where(same, climbed[level - 1], level)
    return climbed, max(hierarchy.height, 1)


def _label(domain: DomainLevels, level: int, code: int) -> str | None:
    hierarchy, size = domain.attribute.hierarchy, domain.attribute.size
    assert hierarchy is not None
    if domain.low[level, code] < domain.high[level, code] == size:
        return STAR
    return None if code == size else hierarchy.levels[level].labels[hierarchy.node_of[level, code]]


def _bit_costs(domain: DomainLevels, occurrences: NDArray[np.int64]) -> _Costs:
    below = np.zeros(domain.attribute.size + 2, dtype=np.int64)
    below[1 : len(occurrences) + 1] = np.cumsum(occurrences)
    below[len(occurrences) + 1 :] = below[len(occurrences)]
    covered = below[domain.high + 1] - below[domain.low]
    bits = np.rint(np.log2(np.maximum(covered, 1)) * _FIXED_POINT).astype(np.int64)
    return bits, round(math.log2(max(int(occurrences.sum()), 1)) * _FIXED_POINT)


def _information_costs(domain: DomainLevels, occurrences: NDArray[np.int64]) -> _Costs:
    full = round(math.log2(max(domain.attribute.domain_size, 1)) * _FIXED_POINT)
    bits = np.rint(np.log2(np.maximum(domain.leaves.astype(np.int64), 1)) * _FIXED_POINT).astype(np.int64)
    return np.where(_unrestricted(domain), full, np.minimum(bits, full)), full


def _unrestricted(domain: DomainLevels) -> NDArray[np.bool_]:
    whole: NDArray[np.bool_] = (domain.low < domain.high) & (domain.high == domain.attribute.size)
    return whole


_COSTS: Mapping[str, Callable[[DomainLevels, NDArray[np.int64]], _Costs]] = {
    "loss": _leaf_costs,
    "ncp": _penalty_costs,
    "precision": _climbing_costs,
    "entropy": _bit_costs,
    "information": _information_costs,
}


@dataclass(frozen=True, eq=False, repr=False)
class FlatFloor:
    """One bound for the whole box. width: bits of the nodes of each attribute, on each level."""

    bound: float
    widths: Sequence[Sequence[int]]

    def at(self, low: Levels) -> float:
        """Return the bound."""
        return self.bound

    def reach(self, low: Levels, high: Levels, cut: float) -> Levels:
        """Leave the box as it is."""
        return high

    def step(self, low: Levels, high: Levels) -> tuple[int, int]:
        """Cut the attribute whose number of values falls most, in the middle."""
        falls = [row[start] - row[stop] for row, start, stop in zip(self.widths, low, high, strict=True)]
        steepest = max((place for place in range(len(low)) if low[place] < high[place]), key=falls.__getitem__)
        return steepest, (low[steepest] + high[steepest] - 1) // 2


class _ClassBasedLoss:
    """What losses of classes share: a bound stands in the unit of the value."""

    def rest(self, node: CountedNode) -> tuple[float, ...]:
        """Return nothing: the value decides alone."""
        return ()

    def cut(self, value: float) -> float:
        """Return the value and some slack."""
        return value * (1 + 2 * SLACK)

    def bound_of(self, total: float) -> float:
        """Return the bound itself."""
        return total


@dataclass(frozen=True, eq=False, repr=False)
class _SquaredSizes(_ClassBasedLoss):
    """Discernibility: squared class sizes, and n for each suppressed record, each times its part of the balance."""

    tables: LevelTables
    total: int
    smallest: int
    kept: int = 1
    left_out: int = 1
    parts: int = 1

    def value(self, node: CountedNode) -> float:
        """Add the squares up. O(c)."""
        kept = node.groups.sizes[node.outcome.kept]
        return (self.kept * int(kept @ kept) + self.left_out * self.total * node.outcome.suppressed) / self.parts

    def floor(self, node: CountedNode, low: Levels, before: Floor | None) -> Floor:
        """Charge every record for what it cannot be told from on `low`, at least for the smallest class. O(m)."""
        weights = node.records.weights[~node.outcome.lost[node.groups.class_of]]
        each = np.minimum(self.kept * np.maximum(weights, self.smallest), self.left_out * self.total)
        least = int(weights @ each) + self.left_out * self.total * node.outcome.doomed
        return FlatFloor(least / self.parts, self.tables.bits)


@dataclass(frozen=True, eq=False, repr=False)
class _MeanSize(_ClassBasedLoss):
    """Average class size of what is published, over the largest k."""

    tables: LevelTables
    total: int
    smallest: int
    limit: int

    def value(self, node: CountedNode) -> float:
        """Divide records by classes. O(c)."""
        kept = node.groups.sizes[node.outcome.kept]
        return float(kept.sum()) / len(kept) / self.smallest

    def floor(self, node: CountedNode, low: Levels, before: Floor | None) -> Floor:
        """Count the classes that there can be: each takes whole ones of `low`, and enough of them. O(m)."""
        weights = node.records.weights[~node.outcome.lost[node.groups.class_of]]
        most = int(np.minimum(weights, self.smallest).sum())
        published = self.total - self.limit
        return FlatFloor(max(1.0, published / most if most else 1.0), self.tables.bits)


class _MeanSizeOfAll(_MeanSize):
    """Average class size, where suppressed records are one class and k divides nothing."""

    def value(self, node: CountedNode) -> float:
        """Divide all records by classes. O(c)."""
        return self.total / (int(node.outcome.kept.sum()) + (node.outcome.suppressed > 0))

    def floor(self, node: CountedNode, low: Levels, before: Floor | None) -> Floor:
        """Count the classes that there can be, and that of suppressed records. O(m)."""
        weights = node.records.weights[~node.outcome.lost[node.groups.class_of]]
        most = int(np.minimum(weights, self.smallest).sum()) / self.smallest
        return FlatFloor(self.total / (most + 1), self.tables.bits)


@dataclass(frozen=True, eq=False, repr=False)
class _AllSquares(_ClassBasedLoss):
    """Discernibility, where suppressed records stay in their classes; `records` are all of them."""

    tables: LevelTables
    records: WeightedRecords

    def value(self, node: CountedNode) -> float:
        """Add the squares up. O(m · q)."""
        return self._squares(node.levels)

    def floor(self, node: CountedNode, low: Levels, before: Floor | None) -> Floor:
        """Add those of `low` up: classes that are put together have the larger square. O(m · q)."""
        return FlatFloor(self._squares(low), self.tables.bits)

    def _squares(self, levels: Levels) -> float:
        sizes = group_weighted(self.records, self.tables, levels).sizes
        return float(sizes @ sizes)


@dataclass(frozen=True, eq=False, repr=False)
class _Ambiguity(_ClassBasedLoss):
    """The mean, over records, of the share of all possible records that a published one stands for."""

    tables: LevelTables
    total: int
    shares: _Shares

    def value(self, node: CountedNode) -> float:
        """Add products up; a suppressed record might be any. O(c · q)."""
        kept = np.flatnonzero(node.outcome.kept)
        areas = self._areas(node.records, node.groups.firsts[kept], node.levels)
        return (math.fsum((areas * node.groups.sizes[kept]).tolist()) + node.outcome.suppressed) / self.total

    def floor(self, node: CountedNode, low: Levels, before: Floor | None) -> Floor:
        """Charge lost records in full and the others for `low`. O(m · q)."""
        active = np.flatnonzero(~node.outcome.lost[node.groups.class_of])
        least = math.fsum((self._areas(node.records, active, low) * node.records.weights[active]).tolist())
        return FlatFloor((least + node.outcome.doomed) / self.total, self.tables.bits)

    def _areas(self, records: WeightedRecords, chosen: NDArray[np.integer], levels: Levels) -> _Shares:
        """Multiply the shares of the values of some records, attribute after attribute; float64 (r,)."""
        areas = np.ones(len(chosen))
        for column, start in zip(records.codes[chosen].T, self.tables.at(levels).tolist(), strict=True):
            areas *= self.shares[start + column.astype(np.int64)]
        return areas


@dataclass(frozen=True, eq=False, repr=False)
class _Divergence(_ClassBasedLoss):
    """The Kullback-Leibler divergence of the records from what the release says of them, in bits.

    Classes, and suppressed records, spread evenly over all that their values stand for. Logarithms (`bits`, `full`) are
    rounded once, and added as whole numbers. `known`: for each original record, the logarithm of its equals, is
    subtracted.
    """

    tables: LevelTables
    bits: NDArray[np.int64]
    full: int
    total: int
    limit: int
    known: int

    def value(self, node: CountedNode) -> float:
        """Add up the bits that are missing of each record. O(c · q)."""
        kept = np.flatnonzero(node.outcome.kept)
        sizes = node.groups.sizes[kept]
        missing = int((self._spread(node.records, node.groups.firsts[kept], node.levels) - _bits(sizes)) @ sizes)
        missing += node.outcome.suppressed * (self.full - int(_bits(np.array([node.outcome.suppressed]))[0]))
        return self._in_bits(missing)

    def floor(self, node: CountedNode, low: Levels, before: Floor | None) -> Floor:
        """Spread records as on `low`, over classes as large as on `high`, or suppress them. O(m · q)."""
        alone = self.full - int(_bits(np.array([max(self.limit, node.outcome.doomed)]))[0])
        active = np.flatnonzero(~node.outcome.lost[node.groups.class_of])
        spread = self._spread(node.records, active, low) - _bits(node.groups.sizes)[node.groups.class_of[active]]
        least = int(np.minimum(spread, alone) @ node.records.weights[active])
        return FlatFloor(self._in_bits(least + node.outcome.doomed * alone), self.tables.bits)

    def cut(self, value: float) -> float:
        """Return the value and some slack, also where it is 0."""
        return value + 1e-9

    def _in_bits(self, missing: int) -> float:
        return (missing + self.known) / (self.total * _FIXED_POINT)

    def _spread(self, records: WeightedRecords, chosen: NDArray[np.integer], levels: Levels) -> NDArray[np.int64]:
        entries = self.tables.at(levels) + records.codes[chosen].astype(np.int64)
        spread: NDArray[np.int64] = self.bits[entries].sum(axis=1)
        return spread


@dataclass(frozen=True, eq=False, repr=False)
class _WrongLabels(_ClassBasedLoss):
    """The share of records that are suppressed or lack their class's most frequent label (CM)."""

    tables: LevelTables
    total: int

    def value(self, node: CountedNode) -> float:
        """Count them. O(m log m)."""
        class_of = node.groups.class_of
        kept = node.outcome.kept[class_of]
        agreeing = _agreeing(class_of[kept], node.records.labels[kept], node.records.weights[kept])
        return 1.0 - agreeing / self.total

    def floor(self, node: CountedNode, low: Levels, before: Floor | None) -> Floor:
        """Let classes of `low` agree: what is put together agrees no more. O(m log m)."""
        active = ~node.outcome.lost[node.groups.class_of]
        class_of = group_weighted(node.records, self.tables, low).class_of
        agreeing = _agreeing(class_of[active], node.records.labels[active], node.records.weights[active])
        return FlatFloor(1.0 - agreeing / self.total, self.tables.bits)

    def cut(self, value: float) -> float:
        """Return the value and some slack, also where it is 0."""
        return value + 1e-11


def record_loss(
    name: str, domains: Sequence[DomainLevels], tables: LevelTables, codes: NDArray[np.unsignedinteger], limit: int
) -> NodeLoss:
    """Prepare an objective. codes : unsigned (n, q); limit : records that may be suppressed. Cost O(n · q)."""
    if name == "classification":
        return _WrongLabels(tables, len(codes))
    leaves = [_leaves(domain) for domain in domains]
    sizes = [max(domain.attribute.domain_size, 1) for domain in domains]
    if name == "ambiguity":
        shares = [(own / size).ravel() for own, size in zip(leaves, sizes, strict=True)]
        return _Ambiguity(tables, len(codes), np.concatenate(shares))
    equal = np.bincount(group_records(codes)[0])
    return _Divergence(
        tables,
        np.concatenate([_bits(own.ravel()) for own in leaves]),
        sum(int(_bits(np.array([size]))[0]) for size in sizes),
        len(codes),
        limit,
        int(_bits(equal) @ equal),
    )


def label_codes(table: EncodedTable, label: str | None) -> NDArray[np.unsignedinteger]:
    """Return the codes of a sensitive attribute, unsigned (n,); ``PolicyError`` when there is no such attribute."""
    names = [attribute.name for attribute in table.sensitive]
    if label not in names:
        raise PolicyError(
            f"optimal: label={label!r} is no sensitive column, whose values classes should agree on; "
            + (f"take one of {', '.join(names)}" if names else "the table has none")
        )
    return table.sensitive_codes[:, names.index(label)]


def _leaves(domain: DomainLevels) -> NDArray[np.int64]:
    """Count what each entry of a level table stands for, int64 (h + 1, d); ``*`` for the whole domain."""
    whole = (domain.low < domain.high) & (domain.high == domain.attribute.size)
    return np.where(whole, domain.attribute.domain_size, domain.leaves).astype(np.int64)


def _bits(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    bits: NDArray[np.int64] = np.rint(np.log2(np.maximum(counts, 1)) * _FIXED_POINT).astype(np.int64)
    return bits


def _agreeing(class_of: NDArray[np.integer], labels: NDArray[np.integer], weights: NDArray[np.int64]) -> int:
    """Add up the records of each class that have its most frequent label."""
    if not len(class_of):
        return 0
    pairs, place = np.unique(class_of.astype(np.int64) << 32 | labels.astype(np.int64), return_inverse=True)
    counts = np.bincount(place, weights=weights).astype(np.int64)
    starts = np.flatnonzero(np.diff(pairs >> 32, prepend=-1))
    return int(np.maximum.reduceat(counts, starts).sum())


@dataclass(frozen=True, eq=False, repr=False)
class _PayoutFloor:
    """The larger of two bounds: one that knows the risk of records (`flat`), one that knows every level."""

    flat: float
    information: _TermFloor

    @property
    def sums(self) -> NDArray[np.int64]:
        """Return the costs behind the second bound."""
        return self.information.sums

    def at(self, low: Levels) -> float:
        """Return the bound. O(q)."""
        return max(self.flat, self.information.at(low))

    def reach(self, low: Levels, high: Levels, cut: float) -> Levels:
        """Leave out, for each attribute, the levels that alone lose too much information."""
        return self.information.reach(low, high, cut)

    def step(self, low: Levels, high: Levels) -> tuple[int, int]:
        """Cut the attribute of the widest range of terms, in its middle."""
        return self.information.step(low, high)


@dataclass(frozen=True, eq=False, repr=False)
class Payout(_ClassBasedLoss):
    """The share of the largest payout of a `game` that is lost: by information, people who are found, suppression."""

    game: Profitability
    information: CellLoss
    total: int

    def worthwhile(
        self, records: WeightedRecords, groups: Grouping, people: _People | None, levels: Levels
    ) -> NDArray[np.bool_]:
        """Tell of which classes the publisher may expect more than nothing; bool (c,). O(c · q)."""
        sizes = groups.sizes if people is None else people
        return self._payoffs(records, groups.firsts, sizes, levels) > 0

    def value(self, node: CountedNode) -> float:
        """Return the share that is lost, 0 to 1. O(c · q)."""
        kept = np.flatnonzero(node.outcome.kept)
        people = node.groups.sizes if node.outcome.people is None else node.outcome.people
        payoffs = self._payoffs(node.records, node.groups.firsts[kept], people[kept], node.levels)
        gained = math.fsum((payoffs * node.groups.sizes[kept]).tolist())
        return 1.0 - gained / (self.game.benefit * self.total)

    def floor(self, node: CountedNode, low: Levels, before: Floor | None) -> Floor:
        """Give every record the information of `low` and the risk of `high`, or nothing. O(m · q)."""
        known = before.information if isinstance(before, _PayoutFloor) else None
        information = self.information.floor(node, low, known)
        assert isinstance(information, _TermFloor)
        active = np.flatnonzero(~node.outcome.lost[node.groups.class_of])
        people = node.groups.sizes if node.outcome.people is None else node.outcome.people
        payoffs = self._payoffs(node.records, active, people[node.groups.class_of[active]], low)
        most = math.fsum((np.maximum(payoffs, 0.0) * node.records.weights[active]).tolist())
        return _PayoutFloor(1.0 - most / (self.game.benefit * self.total), information)

    def in_words(self, value: float) -> str:
        """Say what the publisher may expect, for the steward."""
        most = self.game.benefit * self.total
        return f"Expected payout: {figure((1.0 - value) * most)} of {figure(most)} if nothing were changed or attacked."

    def cut(self, value: float) -> float:
        """Return the value and some slack."""
        return value + 1e-11

    def _payoffs(
        self, records: WeightedRecords, chosen: NDArray[np.integer], people: _People, levels: Levels
    ) -> NDArray[np.float64]:
        """Return what a record is worth that looks like so many people, int64 (r,), on these levels; float64 (r,)."""
        entries = self.information.tables.at(levels) + records.codes[chosen].astype(np.int64)
        return self.game.payoffs(people, self.information.objective.cell_shares[entries].sum(axis=1))


def only_game(models: Sequence[PrivacyModel]) -> Profitability:
    """Return the game that a payout is worked out for. Raises ``PolicyError`` when there is none, or are several."""
    games = [model for model in models if isinstance(model, Profitability)]
    if len(games) != 1:
        raise PolicyError(
            "optimal: the objective payout needs one profitability model, which says benefit, loss, gain and cost; "
            + ("add it" if not games else "leave all but one out")
        )
    return games[0]
