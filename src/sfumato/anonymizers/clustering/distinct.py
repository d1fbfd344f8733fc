"""Distinct records as clustering sees them: few codes, a tree to search in, who stands behind each, its neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.feasibility import FeasibleProblem
from sfumato.classes.partition import Partition, distinct_records
from sfumato.errors import PolicyError
from sfumato.hierarchy.tree import Hierarchy
from sfumato.kernels.clustering.class_members import ClassLoss, complete, doubled_gaps, nearest_member_classes
from sfumato.kernels.clustering.record_tree import RecordTree, near_records, plant
from sfumato.kernels.types import NUMERIC, SET, TREE
from sfumato.options import Limit
from sfumato.parallel import each
from sfumato.randomness import permutation
from sfumato.table.encoding import EncodedAttribute, EncodedTable

_LONGEST = 64
"""Neighbours that are looked for at most."""

_BLOCK = 1024


@dataclass(frozen=True, eq=False, repr=False)
class DistinctRecords:
    """The records of a problem, those equal in all that counts collapsed, in an order that owes nothing to the input's.

    Letters: n records, m distinct ones, in the order of `tree`, q and s codes each; `codes` are numbered from 0 among
    those that occur, whose codes in the table are `occurring`. `weights`, int64 (m,). `rows`, int64 (n,): rows of the
    table, equal ones together and in random order, without those that are left out.
    """

    start: FeasibleProblem
    loss: ClassLoss
    tree: RecordTree
    codes: NDArray[np.unsignedinteger]
    values: NDArray[np.unsignedinteger]
    weights: NDArray[np.int64]
    rows: NDArray[np.int64]
    occurring: tuple[NDArray[np.int64], ...]

    @property
    def height(self) -> int:
        """Number of records n that are not left out."""
        return len(self.rows)

    @property
    def record_of(self) -> NDArray[np.int32]:
        """Distinct record of each of the `rows`, int32 (n,)."""
        return np.repeat(np.arange(len(self.weights), dtype=np.int32), self.weights)

    def completed(self, class_of: NDArray[np.int32], count: int) -> tuple[NDArray[np.int32], int]:
        """Return a partition of the `rows` that satisfies every model; −1 in `class_of` is none yet."""
        class_of = class_of.copy()
        rules = self.start.rules.arrays
        count = complete(
            self.codes, self.values, self.record_of, class_of, count, self.start.ruled, self.loss, rules
        )  # fmt: skip
        return class_of, int(count)

    def partition(self, class_of: NDArray[np.int32], count: int, notes: tuple[str, ...] = ()) -> Partition:
        """Return the solution for the whole table; records that are left out are covered by the nearest class."""
        table = self.start.problem.table
        cover = np.full(table.height, -1, dtype=np.int32)
        cover[self.rows] = class_of
        kept = self.start.kept
        if kept is None:
            return Partition(cover, count, notes=notes)
        cover[~kept] = self._nearest(_recoded(table.codes[~kept], self.occurring), class_of, count)
        return Partition(np.where(kept, cover, np.int32(-1)), count, cover, notes=notes)

    def _nearest(
        self, codes: NDArray[np.unsignedinteger], class_of: NDArray[np.int32], count: int
    ) -> NDArray[np.int32]:
        own = self.codes[self.record_of]
        low = np.full((count, own.shape[1]), np.iinfo(np.int64).max)
        high = np.zeros((count, own.shape[1]), dtype=np.int64)
        np.minimum.at(low, class_of, own)
        np.maximum.at(high, class_of, own)
        sets = np.zeros((count, int(self.loss.offsets[-1])), dtype=np.bool_)
        sets[class_of[:, None], own + self.loss.offsets[:-1]] = True
        found: NDArray[np.int32] = nearest_member_classes(codes, low, high, sets, self.loss)
        return found


def collapse_records(start: FeasibleProblem, distance: Distance, ranks: float = 0.0) -> DistinctRecords:
    """Collapse the records of a problem and plant the tree; `ranks` as in `_by_ranks`. Cost O(q n log n)."""
    table = start.problem.table
    order = permutation(table.height, start.problem.seed)
    if start.kept is not None:
        order = order[start.kept[order]]
    occurring = _occurring(table)
    codes = _recoded(table.codes, occurring)[order]
    values = start.rules.codes[order]
    dtype = np.promote_types(codes.dtype, values.dtype)
    distinct, weights, record_of = distinct_records(np.concatenate([codes, values], axis=1, dtype=dtype))
    loss = class_loss(table.attributes, distance, occurring)
    if ranks:
        loss = loss._replace(places=_by_ranks(table, occurring, loss, ranks))
    # Distinct records in the order of their codes, then in that of the tree: neither is the order of the input.
    place = np.lexsort(distinct.T[::-1])
    wide = codes.shape[1]
    tree = plant(np.ascontiguousarray(distinct[place, :wide], dtype=codes.dtype), loss)
    place = place[tree.order]
    rank = np.empty(len(place), dtype=np.int64)
    rank[place] = np.arange(len(place))
    rows = order[np.argsort(rank[record_of], kind="stable")]
    return DistinctRecords(
        start=start,
        loss=loss,
        tree=tree,
        codes=np.ascontiguousarray(distinct[place, :wide], dtype=codes.dtype),
        values=np.ascontiguousarray(distinct[place, wide:], dtype=values.dtype),
        weights=weights[place],
        rows=rows,
        occurring=occurring,
    )


def _recoded(
    codes: NDArray[np.unsignedinteger], occurring: tuple[NDArray[np.int64], ...]
) -> NDArray[np.unsignedinteger]:
    """Give the codes of each attribute new numbers, their places in `occurring`; unsigned (n, q)."""
    largest = max((len(known) for known in occurring), default=0)
    columns = [np.searchsorted(known, codes[:, place]) for place, known in enumerate(occurring)]
    return np.column_stack(columns).astype(np.min_scalar_type(largest))


def _occurring(table: EncodedTable) -> tuple[NDArray[np.int64], ...]:
    return tuple(
        np.flatnonzero(np.bincount(table.codes[:, place], minlength=attribute.cardinality))
        for place, attribute in enumerate(table.attributes)
    )


@dataclass(frozen=True, eq=False, repr=False)
class _Neighbours:
    """The nearest records of each: `near`, int32 (m, g), filled up with −1; `reach`, float64 (m,), to the k-th."""

    near: NDArray[np.int32]
    reach: NDArray[np.float64]


def neighbours_of(records: DistinctRecords, size: int, k: int) -> _Neighbours:
    """Find the `size` nearest records of each, 64 at most. Blocks of records are searched on several threads."""
    size = max(1, min(size, _LONGEST, len(records.weights) - 1))
    total = len(records.weights)

    def search(low: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        high = min(total, low + _BLOCK)
        near, distances, reach = near_records(
            records.codes, records.weights, records.tree, records.loss, low, high, size, k
        )
        furthest = np.where(np.isfinite(distances), distances, 0.0).max(axis=1)
        return near, np.where(np.isfinite(reach), reach, furthest)

    parts = each(search, range(0, total, _BLOCK), records.start.problem.threads)
    return _Neighbours(np.concatenate([near for near, _ in parts]), np.concatenate([reach for _, reach in parts]))


Loss = Literal["ncp", "loss", "height"]


class Distance(Protocol):
    """How much each step of generalization costs, between 0 (nothing) and 1 (the whole domain)."""

    def tree_steps(
        self, hierarchy: Hierarchy, levels: NDArray[np.int32], leaves: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Return what nodes of a hierarchy cost, given their level and how many leaves they have; float64."""
        ...

    def set_cost(self, size: int) -> tuple[float, float]:
        """Return unit and base: m > 1 of the domain's `size` values without a hierarchy cost ``m unit - base``."""
        ...


@dataclass(frozen=True)
class PenaltyDistance:
    """The normalized certainty penalty (NCP): leaves or values over those of the domain, ranges over its width."""

    def tree_steps(
        self, hierarchy: Hierarchy, levels: NDArray[np.int32], leaves: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Return leaves / domain; 0 for one leaf."""
        return np.where(leaves > 1, leaves / hierarchy.size, 0.0)

    def set_cost(self, size: int) -> tuple[float, float]:
        """Return 1 / domain for every value."""
        return 1.0 / max(size, 1), 0.0


@dataclass(frozen=True)
class _LossDistance:
    """The loss metric (LM): leaves or values but one, over those of the domain but one; ranges over its width."""

    def tree_steps(
        self, hierarchy: Hierarchy, levels: NDArray[np.int32], leaves: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Return (leaves − 1) / (domain − 1)."""
        return (leaves - 1) / max(hierarchy.size - 1, 1)

    def set_cost(self, size: int) -> tuple[float, float]:
        """Return 1 / (domain − 1) for every value but one."""
        unit = 1.0 / max(size - 1, 1)
        return unit, unit


@dataclass(frozen=True)
class HeightDistance:
    """Height of the common ancestor over that of the hierarchy: k-member, OKA and, between records, CAAT.

    Two different values without a hierarchy are as far apart as the whole domain.
    """

    def tree_steps(
        self, hierarchy: Hierarchy, levels: NDArray[np.int32], leaves: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Return level / height; 0 in a hierarchy without steps."""
        return levels / max(hierarchy.height, 1)

    def set_cost(self, size: int) -> tuple[float, float]:
        """Return 1 for any set of several values."""
        return 0.0, -1.0


@dataclass(frozen=True)
class WeightedHierarchyDistance:
    """Weighted hierarchical distance (KACA): the steps from a leaf up to the common ancestor, near the root dearer.

    `beta`: the step that ends on depth j (1 is the root's) weighs ``1 / j**beta``; 0 makes all steps equal. At least 0.
    Li, Wong, Fu and Pei 2006. The distance from a node up to an ancestor is the difference of their costs here. Two
    records are each generalized to their common ancestor, so that KACA's distance between them is twice this one.
    """

    beta: Annotated[float, Limit(0)] = 0.0

    def __post_init__(self) -> None:
        """Check the weight."""
        if not 0 <= self.beta < np.inf:
            raise PolicyError("distance: beta must be a finite number, 0 or above")

    def tree_steps(
        self, hierarchy: Hierarchy, levels: NDArray[np.int32], leaves: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Return the weights of the steps up to each level over those of all steps."""
        # The step from level i to i + 1 ends on depth height - i.
        depths = np.arange(hierarchy.height, 0, -1, dtype=np.float64)
        climbed = np.concatenate([[0.0], np.cumsum(depths**-self.beta)])
        shares: NDArray[np.float64] = climbed[levels] / max(climbed[-1], 1e-300)
        return shares

    def set_cost(self, size: int) -> tuple[float, float]:
        """Return 1 for any set of several values: one step from a value to ``*``."""
        return 0.0, -1.0


DISTANCES: dict[str, Distance] = {"ncp": PenaltyDistance(), "loss": _LossDistance(), "height": HeightDistance()}
"""Name of a loss in options → distance."""


def class_loss(
    attributes: Sequence[EncodedAttribute], distance: Distance, occurring: Sequence[NDArray[np.int64]] | None = None
) -> ClassLoss:
    """Compile a distance for the attributes of a table, by their weights; `occurring` codes are numbered anew.

    A class that mixes missing and present numbers, or such values of a hierarchy, costs as much as the whole domain.
    Without a hierarchy the missing value is one of the values. Cost O(codes · log codes) time and memory.
    """
    if occurring is None:
        occurring = [np.arange(attribute.cardinality) for attribute in attributes]
    pairs = list(zip(attributes, occurring, strict=True))
    sizes = [len(codes) for codes in occurring]
    offsets = np.cumsum([0, *sizes], dtype=np.int64)
    weights = np.array([attribute.weight for attribute in attributes], dtype=np.float64)
    sets = [distance.set_cost(attribute.domain_size) for attribute in attributes]
    largest = max(sizes, default=1)
    gaps = np.concatenate([np.zeros(0), *(_gaps(attribute, distance, codes) for attribute, codes in pairs)])
    return ClassLoss(
        offsets=offsets,
        kinds=np.array([_kind(attribute) for attribute in attributes], dtype=np.int64),
        places=np.concatenate([np.zeros(0), *(_places(attribute, codes) for attribute, codes in pairs)]),
        gaps=doubled_gaps(gaps, offsets, max(largest, 1).bit_length()),
        powers=np.array([max(length, 1).bit_length() - 1 for length in range(largest + 1)], dtype=np.int64),
        tops=weights,
        units=weights * np.array([unit for unit, _ in sets], dtype=np.float64),
        bases=weights * np.array([base for _, base in sets], dtype=np.float64),
    )


def _kind(attribute: EncodedAttribute) -> int:
    if attribute.hierarchy is not None:
        return TREE
    return NUMERIC if attribute.is_numeric else SET


def _places(attribute: EncodedAttribute, codes: NDArray[np.int64]) -> NDArray[np.float64]:
    if not attribute.is_numeric:
        return np.zeros(len(codes))
    assert attribute.numbers is not None
    places = (attribute.numbers - attribute.domain_low) * (attribute.weight / (attribute.domain_width or 1.0))
    return np.append(places, np.inf)[codes]


def _by_ranks(
    table: EncodedTable, occurring: Sequence[NDArray[np.int64]], loss: ClassLoss, share: float
) -> NDArray[np.float64]:
    """Move places of numbers by a share towards their ranks, 0 to the attribute's weight; equal ones share one."""
    # A range is then charged for the records that it may stand for, too: counts are asked of these.
    places = loss.places.copy()
    for column, codes in enumerate(occurring):
        known = codes < table.attributes[column].size
        if loss.kinds[column] != NUMERIC or np.count_nonzero(known) < 2:
            continue
        records = np.bincount(table.codes[:, column], minlength=table.attributes[column].cardinality)[codes[known]]
        middles = np.cumsum(records) - records / 2
        ranks = loss.tops[column] * (middles - middles[0]) / (middles[-1] - middles[0])
        own = np.arange(loss.offsets[column], loss.offsets[column + 1])[known]
        places[own] += share * (ranks - places[own])
    return places


def _gaps(attribute: EncodedAttribute, distance: Distance, codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the cost of the common ancestor of each code and the next, float64 of the same length."""
    gaps = np.full(len(codes), attribute.weight)
    hierarchy = attribute.hierarchy
    if hierarchy is not None:
        known = codes[codes < attribute.size]
        low, high = known[:-1], known[1:]
        levels = hierarchy.common_ancestor(low, high)
        gaps[: len(low)] = attribute.weight * distance.tree_steps(hierarchy, levels, hierarchy.leaf_counts[levels, low])
    return gaps
