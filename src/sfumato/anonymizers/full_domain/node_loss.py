"""The value of a node under an objective, and the least that any node of a box of the lattice can have.

A box holds the nodes between two corners, `low` and `high`. Records that `high` loses for good are suppressed by every
node of the box; what is published costs at least as much as on `low`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.domain_levels import DomainLevels
from sfumato.anonymizers.full_domain.node_suppression import NodeOutcome
from sfumato.anonymizers.full_domain.objective import (
    EVEN,
    CellObjective,
    CellObjectiveName,
    ClassObjectiveName,
    Mean,
    balance_parts,
    cell_objective,
)
from sfumato.anonymizers.full_domain.weighted_records import Grouping, LevelTables, WeightedRecords
from sfumato.hierarchy.lattice import Levels
from sfumato.kernels.full_domain.full_domain import cell_sums, lost_sums

SLACK = 1e-12
"""Relative slack of every comparison of a bound with a value; far above rounding, far below what anybody reads."""


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

    def value(self, records: WeightedRecords, groups: Grouping, outcome: NodeOutcome, levels: Levels) -> float:
        """Return the value of a node; lower is better."""
        ...

    def rest(
        self, records: WeightedRecords, groups: Grouping, outcome: NodeOutcome, levels: Levels
    ) -> tuple[float, ...]:
        """Return what decides between nodes of equal value, the lower the better; empty where nothing does."""
        ...

    def floor(
        self,
        records: WeightedRecords,
        groups: Grouping,
        outcome: NodeOutcome,
        low: Levels,
        high: Levels,
        before: Floor | None,
    ) -> Floor:
        """Return what the nodes from `low` to `high` cost at least, given what is lost on `high`.

        before : the bound that was known when records were taken out because they are lost; None where none were.
        """
        ...

    def cut(self, value: float) -> float:
        """Return the bound above which a box cannot hold a node of at most `value`."""
        ...

    def bound_of(self, total: float) -> float:
        """Return the value that a bound stands for."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class TermFloor:
    """A bound that is a sum over attributes.

    Attributes
    ----------
    terms : list of list of float
        For each attribute and level, what it adds when the low corner has that level.
    sums : numpy.ndarray
        int64 (q, levels): the costs behind the terms.
    """

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
class WorstFloor(TermFloor):
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

    def value(self, records: WeightedRecords, groups: Grouping, outcome: NodeOutcome, levels: Levels) -> float:
        """Return the loss of the table, suppressed records included. O(c · q)."""
        return self.objective.value(self._sums(records, groups, outcome, levels))

    def rest(
        self, records: WeightedRecords, groups: Grouping, outcome: NodeOutcome, levels: Levels
    ) -> tuple[float, ...]:
        """Return what decides between nodes of equal value: the ranks after the first. O(c · q)."""
        if self.objective.mean != "rank":
            return ()
        return self.objective.ranked(self._sums(records, groups, outcome, levels))[1:]

    def _sums(
        self, records: WeightedRecords, groups: Grouping, outcome: NodeOutcome, levels: Levels
    ) -> NDArray[np.int64]:
        objective = self.objective
        at = self.tables.at(levels)
        sums = cell_sums(
            records.codes, groups.firsts, groups.sizes, outcome.kept, at, objective.costs, objective.full
        )  # fmt: skip
        return np.asarray(sums + records.gone * objective.full)

    def floor(
        self,
        records: WeightedRecords,
        groups: Grouping,
        outcome: NodeOutcome,
        low: Levels,
        high: Levels,
        before: Floor | None,
    ) -> Floor:
        """Charge lost records in full and the others for the level of `low`. O(lost records · levels)."""
        objective, tables = self.objective, self.tables
        lows, highs = np.array(low, dtype=np.int64), np.array(high, dtype=np.int64)
        lost = lost_sums(
            records.codes, records.weights, groups.class_of, outcome.lost, tables.starts, tables.widths, lows, highs,
            objective.floors, objective.full,
        )  # fmt: skip
        known = before.sums if isinstance(before, TermFloor) else objective.unsuppressed
        sums = known[:, : lost.shape[1]] + lost
        return (WorstFloor if objective.worst else TermFloor)(objective.terms(sums).tolist(), sums)

    def cut(self, value: float) -> float:
        """Return the sum of terms that stands for `value`, and some slack."""
        total = math.log1p(value) if self.objective.geometric else value
        return total + 2 * SLACK

    def bound_of(self, total: float) -> float:
        """Return the value that a sum of terms stands for."""
        return self.objective.value_of_total(total)


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


class ClassBasedLoss:
    """What losses of classes share: a bound stands in the unit of the value."""

    def rest(
        self, records: WeightedRecords, groups: Grouping, outcome: NodeOutcome, levels: Levels
    ) -> tuple[float, ...]:
        """Return nothing: the value decides alone."""
        return ()

    def cut(self, value: float) -> float:
        """Return the value and some slack."""
        return value * (1 + 2 * SLACK)

    def bound_of(self, total: float) -> float:
        """Return the bound itself."""
        return total


@dataclass(frozen=True, eq=False, repr=False)
class SquaredSizes(ClassBasedLoss):
    """Discernibility: the squared sizes of the classes, and n for each suppressed record.

    `kept` and `left_out` are by what each of them is multiplied, `parts` by what both are where they count alike.
    """

    tables: LevelTables
    total: int
    smallest: int
    kept: int = 1
    left_out: int = 1
    parts: int = 1

    def value(self, records: WeightedRecords, groups: Grouping, outcome: NodeOutcome, levels: Levels) -> float:
        """Add the squares up. O(c)."""
        kept = groups.sizes[outcome.kept]
        return (self.kept * int(kept @ kept) + self.left_out * self.total * outcome.suppressed) / self.parts

    def floor(
        self,
        records: WeightedRecords,
        groups: Grouping,
        outcome: NodeOutcome,
        low: Levels,
        high: Levels,
        before: Floor | None,
    ) -> Floor:
        """Charge every record for what it cannot be told from on `low`, at least for the smallest class. O(m)."""
        weights = records.weights[~outcome.lost[groups.class_of]]
        each = np.minimum(self.kept * np.maximum(weights, self.smallest), self.left_out * self.total)
        least = int(weights @ each) + self.left_out * self.total * outcome.doomed
        return FlatFloor(least / self.parts, self.tables.bits)


@dataclass(frozen=True, eq=False, repr=False)
class MeanSize(ClassBasedLoss):
    """Average class size of what is published, over the largest k."""

    tables: LevelTables
    total: int
    smallest: int
    limit: int

    def value(self, records: WeightedRecords, groups: Grouping, outcome: NodeOutcome, levels: Levels) -> float:
        """Divide records by classes. O(c)."""
        kept = groups.sizes[outcome.kept]
        return float(kept.sum()) / len(kept) / self.smallest

    def floor(
        self,
        records: WeightedRecords,
        groups: Grouping,
        outcome: NodeOutcome,
        low: Levels,
        high: Levels,
        before: Floor | None,
    ) -> Floor:
        """Count the classes that there can be: each takes whole ones of `low`, and enough of them. O(m)."""
        weights = records.weights[~outcome.lost[groups.class_of]]
        most = int(np.minimum(weights, self.smallest).sum())
        published = self.total - self.limit
        return FlatFloor(max(1.0, published / most if most else 1.0), self.tables.bits)


def node_loss(
    name: CellObjectiveName | ClassObjectiveName,
    mean: Mean,
    domains: Sequence[DomainLevels],
    tables: LevelTables,
    codes: NDArray[np.unsignedinteger],
    smallest: int,
    limit: int,
    balance: float = EVEN,
) -> NodeLoss:
    """Prepare an objective for a table. codes : unsigned (n, q). Cost O(n · q)."""
    total = len(codes)
    if name == "discernibility":
        return SquaredSizes(tables, total, smallest, *balance_parts(balance))
    if name == "average-class-size":
        return MeanSize(tables, total, smallest, limit)
    occurrences = [
        np.bincount(codes[:, place], minlength=domain.node_of.shape[1]) for place, domain in enumerate(domains)
    ]
    return CellLoss(cell_objective(name, mean, domains, occurrences, balance), tables)
