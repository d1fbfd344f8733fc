"""Records that no class has taken: each joins the class that it makes dearer by the least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.domain_levels import DomainLevels
from sfumato.anonymizers.full_domain.node_suppression import SuppressionRule
from sfumato.anonymizers.full_domain.objective import CellObjective
from sfumato.anonymizers.full_domain.weighted_records import Grouping, LevelTables, Numbers, WeightedRecords
from sfumato.kernels.boxes import class_boxes

TRIED = 32
"""Classes that a record is tried in before the cheapest of them is widened further."""

SINGLY = 256
"""Records that are placed one by one; more of them are taken together."""

Codes = NDArray[np.int64]


class Boxes:
    """Classes of weighted records by their smallest and largest codes; a class can take others in.

    Letters: c classes, q attributes.

    Attributes
    ----------
    class_of : numpy.ndarray
        int32 (m,): class of each weighted record, −1 for none.
    low, high : numpy.ndarray
        int64 (c, q).
    sizes : numpy.ndarray
        int64 (c,): weights; 0 for a class that another has taken in.
    """

    def __init__(self, records: WeightedRecords, class_of: Numbers, count: int) -> None:
        """Find the corners of all classes. O(m · q)."""
        low, high = class_boxes(class_of, records.codes, count)
        self.records = records
        self.class_of = class_of.copy()
        self.low, self.high = low.astype(np.int64), high.astype(np.int64)
        kept = class_of >= 0
        self.sizes = np.bincount(class_of[kept], weights=records.weights[kept], minlength=count).astype(np.int64)

    def join(self, record: int, owner: int) -> None:
        """Add a record to a class."""
        self.class_of[record] = owner
        codes = self.records.codes[record].astype(np.int64)
        self.low[owner] = np.minimum(self.low[owner], codes)
        self.high[owner] = np.maximum(self.high[owner], codes)
        self.sizes[owner] += self.records.weights[record]

    def absorb(self, owner: int, other: int) -> None:
        """Let a class take another one in."""
        self.class_of[self.class_of == other] = owner
        self.low[owner] = np.minimum(self.low[owner], self.low[other])
        self.high[owner] = np.maximum(self.high[owner], self.high[other])
        self.sizes[owner] += self.sizes[other]
        self.sizes[other] = 0


def lowest_levels(domains: Sequence[DomainLevels], low: Codes, high: Codes) -> NDArray[np.int64]:
    """Return the lowest level of each attribute on which the ends of each class share a node; int64 (c, q)."""
    levels = np.zeros(low.shape, dtype=np.int64)
    for place, domain in enumerate(domains):
        for level in range(domain.height):
            apart = domain.node_of[level, low[:, place]] != domain.node_of[level, high[:, place]]
            levels[apart, place] = level + 1
    return levels


def record_costs(
    domains: Sequence[DomainLevels], tables: LevelTables, objective: CellObjective, low: Codes, high: Codes
) -> NDArray[np.float64]:
    """Return what a record of each class costs on the lowest levels that its class can have; float64 (c,)."""
    levels = lowest_levels(domains, low, high)
    costs: NDArray[np.float64] = objective.cell_shares[tables.starts + levels * tables.widths + low].sum(axis=1)
    return costs


def place_leftovers(
    boxes: Boxes,
    domains: Sequence[DomainLevels],
    tables: LevelTables,
    objective: CellObjective,
    rule: SuppressionRule,
) -> None:
    """Put every record that is in no class into one, in the order of their codes.

    A record joins the class that costs least more by it and still satisfies every model, of equal ones that whose
    values come first. Where none of the cheapest does, the cheapest is taken in, and the search goes on for both. When
    all records as one class satisfy the models, as monotone ones do if any solution exists, so do the classes.
    Cost O(c · q · heights) for each record.
    """
    left = np.flatnonzero(boxes.class_of < 0)
    ordered = left[np.lexsort((*boxes.records.values[left].T[::-1], *boxes.records.codes[left].T[::-1]))].tolist()
    search = _ClassFinder(boxes, domains, tables, objective, rule)
    if len(ordered) <= SINGLY:
        for record in ordered:
            search.place(record)
        return
    owner = int(search.cheapest(ordered[0])[0])
    for record in ordered:
        boxes.join(record, owner)
    search.widen(owner)


@dataclass(frozen=True, eq=False, repr=False)
class _ClassFinder:
    """What it takes to find a class for a record."""

    boxes: Boxes
    domains: Sequence[DomainLevels]
    tables: LevelTables
    objective: CellObjective
    rule: SuppressionRule

    def cheapest(self, record: int) -> NDArray[np.int64]:
        """Order the classes by what they cost more with a record."""
        records = self.boxes.records
        return self._order(records.codes[record].astype(np.int64), int(records.weights[record]))

    def place(self, record: int) -> None:
        """Put a record into a class, the cheapest that holds with it."""
        order = self.cheapest(record)
        for owner in order[:TRIED].tolist():
            if self._holds(np.append(np.flatnonzero(self.boxes.class_of == owner), record)):
                self.boxes.join(record, owner)
                return
        self.boxes.join(record, int(order[0]))
        self.widen(int(order[0]))

    def widen(self, owner: int) -> None:
        """Let a class take others in until it holds: the cheapest one, then two, then four."""
        batch = 1
        while not self._holds(np.flatnonzero(self.boxes.class_of == owner)):
            ends = np.stack([self.boxes.low[owner], self.boxes.high[owner]])
            order = self._order(ends, int(self.boxes.sizes[owner]))
            others = order[order != owner][:batch].tolist()
            if not others:
                return
            for other in others:
                self.boxes.absorb(owner, other)
            batch *= 2

    def _order(self, codes: Codes, weight: int) -> NDArray[np.int64]:
        return _cheapest(self.boxes, codes, weight, self.domains, self.tables, self.objective)

    def _holds(self, members: NDArray[np.int64]) -> bool:
        """Tell whether records satisfy every model as one class."""
        if not self.rule.ruled:
            return True
        records = self.boxes.records.take(members, self.boxes.records.weights[members], self.boxes.records.levels)
        nobody = np.zeros(len(members), np.int32)
        one = Grouping(nobody, nobody[:1], np.array([records.weights.sum()]))
        return bool(self.rule.holding(records, one, np.ones(1, dtype=np.bool_))[0])


def _cheapest(
    boxes: Boxes,
    codes: Codes,
    weight: int,
    domains: Sequence[DomainLevels],
    tables: LevelTables,
    objective: CellObjective,
) -> NDArray[np.int64]:
    """Order the classes by what they cost more with `weight` records of these codes."""
    owners = np.flatnonzero(boxes.sizes)
    low, high = boxes.low[owners], boxes.high[owners]
    ends = np.atleast_2d(codes)
    wide_low, wide_high = np.minimum(low, ends.min(axis=0)), np.maximum(high, ends.max(axis=0))
    now = record_costs(domains, tables, objective, low, high)
    then = record_costs(domains, tables, objective, wide_low, wide_high)
    sizes = boxes.sizes[owners]
    added = then * (sizes + weight) - now * sizes
    return owners[np.lexsort((sizes, *high.T[::-1], *low.T[::-1], added))]
