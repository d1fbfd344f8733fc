"""Objectives that ask of each record which others it might be: ambiguity, Kullback-Leibler divergence, wrong labels.

None of them is a sum over attributes. Each has a bound for a box: what a record loses on its low corner, among at
most as many records as on its high one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.domain_levels import DomainLevels
from sfumato.anonymizers.full_domain.node_loss import ClassBasedLoss, FlatFloor, Floor, NodeLoss
from sfumato.anonymizers.full_domain.node_suppression import NodeOutcome
from sfumato.anonymizers.full_domain.objective import FIXED_POINT
from sfumato.anonymizers.full_domain.weighted_records import Grouping, LevelTables, WeightedRecords, grouped
from sfumato.classes.grouping import group_records
from sfumato.errors import PolicyError
from sfumato.hierarchy.lattice import Levels
from sfumato.table.encoding import EncodedTable

Shares = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Ambiguity(ClassBasedLoss):
    """The mean, over records, of the share of all possible records that a published one stands for.

    `shares` has the share of the domain that each entry of the level tables stands for, float64 (e,).
    """

    tables: LevelTables
    total: int
    shares: Shares

    def value(self, records: WeightedRecords, groups: Grouping, outcome: NodeOutcome, levels: Levels) -> float:
        """Add products up; a suppressed record might be any. O(c · q)."""
        kept = np.flatnonzero(outcome.kept)
        areas = self._areas(records, groups.firsts[kept], levels)
        return (math.fsum((areas * groups.sizes[kept]).tolist()) + outcome.suppressed) / self.total

    def floor(
        self,
        records: WeightedRecords,
        groups: Grouping,
        outcome: NodeOutcome,
        low: Levels,
        high: Levels,
        before: Floor | None,
    ) -> Floor:
        """Charge lost records in full and the others for `low`. O(m · q)."""
        active = np.flatnonzero(~outcome.lost[groups.class_of])
        least = math.fsum((self._areas(records, active, low) * records.weights[active]).tolist())
        return FlatFloor((least + outcome.doomed) / self.total, self.tables.bits)

    def _areas(self, records: WeightedRecords, chosen: NDArray[np.integer], levels: Levels) -> Shares:
        """Multiply the shares of the values of some records, attribute after attribute; float64 (r,)."""
        areas = np.ones(len(chosen))
        for column, start in zip(records.codes[chosen].T, self.tables.at(levels).tolist(), strict=True):
            areas *= self.shares[start + column.astype(np.int64)]
        return areas


@dataclass(frozen=True, eq=False, repr=False)
class Divergence(ClassBasedLoss):
    """The Kullback-Leibler divergence of the records from what the release says of them, in bits.

    A class spreads its records evenly over everything that its values stand for, and so do suppressed records over the
    whole domain. Logarithms are rounded once, and added as whole numbers.

    Attributes
    ----------
    tables : LevelTables
    bits : numpy.ndarray
        int64 (e,): logarithm of the values that each entry of the level tables stands for, in parts of a bit.
    full : int
        The same of a suppressed record.
    total, limit : int
        Original records, and those that may be suppressed.
    known : int
        What is subtracted: for each original record, the logarithm of the records that are equal to it.
    """

    tables: LevelTables
    bits: NDArray[np.int64]
    full: int
    total: int
    limit: int
    known: int

    def value(self, records: WeightedRecords, groups: Grouping, outcome: NodeOutcome, levels: Levels) -> float:
        """Add up the bits that are missing of each record. O(c · q)."""
        kept = np.flatnonzero(outcome.kept)
        sizes = groups.sizes[kept]
        missing = int((self._spread(records, groups.firsts[kept], levels) - _bits(sizes)) @ sizes)
        missing += outcome.suppressed * (self.full - int(_bits(np.array([outcome.suppressed]))[0]))
        return self._in_bits(missing)

    def floor(
        self,
        records: WeightedRecords,
        groups: Grouping,
        outcome: NodeOutcome,
        low: Levels,
        high: Levels,
        before: Floor | None,
    ) -> Floor:
        """Spread records as on `low`, over classes as large as on `high`, or suppress them. O(m · q)."""
        alone = self.full - int(_bits(np.array([max(self.limit, outcome.doomed)]))[0])
        active = np.flatnonzero(~outcome.lost[groups.class_of])
        spread = self._spread(records, active, low) - _bits(groups.sizes)[groups.class_of[active]]
        least = int(np.minimum(spread, alone) @ records.weights[active])
        return FlatFloor(self._in_bits(least + outcome.doomed * alone), self.tables.bits)

    def cut(self, value: float) -> float:
        """Return the value and some slack, also where it is 0."""
        return value + 1e-9

    def _in_bits(self, missing: int) -> float:
        return (missing + self.known) / (self.total * FIXED_POINT)

    def _spread(self, records: WeightedRecords, chosen: NDArray[np.integer], levels: Levels) -> NDArray[np.int64]:
        entries = self.tables.at(levels) + records.codes[chosen].astype(np.int64)
        spread: NDArray[np.int64] = self.bits[entries].sum(axis=1)
        return spread


@dataclass(frozen=True, eq=False, repr=False)
class WrongLabels(ClassBasedLoss):
    """The share of records that are suppressed or lack their class's most frequent label (CM)."""

    tables: LevelTables
    total: int

    def value(self, records: WeightedRecords, groups: Grouping, outcome: NodeOutcome, levels: Levels) -> float:
        """Count them. O(m log m)."""
        kept = outcome.kept[groups.class_of]
        return 1.0 - _agreeing(groups.class_of[kept], records.labels[kept], records.weights[kept]) / self.total

    def floor(
        self,
        records: WeightedRecords,
        groups: Grouping,
        outcome: NodeOutcome,
        low: Levels,
        high: Levels,
        before: Floor | None,
    ) -> Floor:
        """Let classes of `low` agree: what is put together agrees no more. O(m log m)."""
        active = ~outcome.lost[groups.class_of]
        class_of = grouped(records, self.tables, low).class_of
        agreeing = _agreeing(class_of[active], records.labels[active], records.weights[active])
        return FlatFloor(1.0 - agreeing / self.total, self.tables.bits)

    def cut(self, value: float) -> float:
        """Return the value and some slack, also where it is 0."""
        return value + 1e-11


def record_loss(
    name: str, domains: Sequence[DomainLevels], tables: LevelTables, codes: NDArray[np.unsignedinteger], limit: int
) -> NodeLoss:
    """Prepare an objective. codes : unsigned (n, q); limit : records that may be suppressed. Cost O(n · q)."""
    if name == "classification":
        return WrongLabels(tables, len(codes))
    leaves = [_leaves(domain) for domain in domains]
    sizes = [max(domain.attribute.domain_size, 1) for domain in domains]
    if name == "ambiguity":
        shares = [(own / size).ravel() for own, size in zip(leaves, sizes, strict=True)]
        return Ambiguity(tables, len(codes), np.concatenate(shares))
    equal = np.bincount(group_records(codes)[0])
    return Divergence(
        tables,
        np.concatenate([_bits(own.ravel()) for own in leaves]),
        sum(int(_bits(np.array([size]))[0]) for size in sizes),
        len(codes),
        limit,
        int(_bits(equal) @ equal),
    )


def labels_of(table: EncodedTable, label: str | None) -> NDArray[np.unsignedinteger]:
    """Return the codes of a sensitive attribute, unsigned (n,).

    Raises
    ------
    PolicyError
        When there is no such attribute.
    """
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
    bits: NDArray[np.int64] = np.rint(np.log2(np.maximum(counts, 1)) * FIXED_POINT).astype(np.int64)
    return bits


def _agreeing(class_of: NDArray[np.integer], labels: NDArray[np.integer], weights: NDArray[np.int64]) -> int:
    """Add up the records of each class that have its most frequent label."""
    if not len(class_of):
        return 0
    pairs, place = np.unique(class_of.astype(np.int64) << 32 | labels.astype(np.int64), return_inverse=True)
    counts = np.bincount(place, weights=weights).astype(np.int64)
    starts = np.flatnonzero(np.diff(pairs >> 32, prepend=-1))
    return int(np.maximum.reduceat(counts, starts).sum())
