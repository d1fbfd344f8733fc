"""What a search minimizes: any information loss of the library, in whole numbers until the last step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.domain_levels import DomainLevels
from sfumato.recoding.notation import STAR

CellObjectiveName = Literal["loss", "ncp", "precision", "entropy"]
ObjectiveName = Literal["loss", "ncp", "precision", "entropy", "discernibility", "average-class-size"]
Mean = Literal["arithmetic", "geometric"]

FIXED_POINT = 1 << 24
"""Parts of a bit that entropies are rounded to, so that sums of them do not depend on their order."""


@dataclass(frozen=True, eq=False, repr=False)
class CellObjective:
    """A mean over attributes of what their cells cost.

    Sums of costs are whole numbers, so that the value of a node does not depend on the order in which it was counted.

    Letters: q attributes, e entries of all level tables, h largest height.

    Attributes
    ----------
    costs : numpy.ndarray
        int64 (e,): cost of one cell, laid out like the level tables.
    full : numpy.ndarray
        int64 (q,): cost of a cell of a suppressed record; no cell costs more.
    known : numpy.ndarray
        int64 (q,): sum that the unchanged column costs.
    most : numpy.ndarray
        int64 (q,): sum of the fully suppressed column, less `known`; at least 1.
    shares : numpy.ndarray
        float64 (q,): weight of each attribute, 1 together.
    geometric : bool
        Whether the mean over attributes is that of 1 + loss, less 1.
    unsuppressed : numpy.ndarray
        int64 (q, 1 + h): sum of each attribute on each level when no record is suppressed, 0 above its height.
    sizes : numpy.ndarray
        int64 (q,): entries of each attribute's level table.
    records : int
        Number of original records n.
    """

    costs: NDArray[np.int64]
    full: NDArray[np.int64]
    known: NDArray[np.int64]
    most: NDArray[np.int64]
    shares: NDArray[np.float64]
    geometric: bool
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
    def _divisors(self) -> NDArray[np.int64]:
        # An attribute that has nothing to lose, such as the entropy of a single record, costs nothing anywhere.
        return np.maximum(self.full, 1)

    def value(self, sums: NDArray[np.int64]) -> float:
        """Return the loss of a table, 0 to 1. sums : int64 (q,), what the cells of each attribute cost."""
        losses: list[float] = ((sums - self.known) / self.most).tolist()
        shares: list[float] = self.shares.tolist()
        if not self.geometric:
            return sum(share * loss for share, loss in zip(shares, losses, strict=True))
        if len(set(shares)) == 1:
            return float(math.prod(1.0 + loss for loss in losses) ** (1.0 / len(losses)) - 1.0)
        return math.prod(float((1.0 + loss) ** share) for share, loss in zip(shares, losses, strict=True)) - 1.0

    def terms(self, sums: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return parts that add up, over attributes, to something that grows with the value; float64 (q, levels)."""
        # Above the height of an attribute there are no sums.
        losses = np.maximum(sums - self.known[:, None], 0) / self.most[:, None]
        parts: NDArray[np.float64] = (np.log1p(losses) if self.geometric else losses) * self.shares[:, None]
        return parts

    def value_of_total(self, total: float) -> float:
        """Return the value whose terms add up to `total`."""
        return math.expm1(total) if self.geometric else total


def cell_objective(
    name: CellObjectiveName,
    mean: Mean,
    domains: Sequence[DomainLevels],
    occurrences: Sequence[NDArray[np.int64]],
) -> CellObjective:
    """Lay the costs of an objective out for a table.

    Parameters
    ----------
    name
        ``"loss"``: (leaves − 1) / (leaves of the domain − 1). ``"ncp"``: leaves / leaves of the domain, 0 for one leaf.
        ``"precision"``: level / height. ``"entropy"``: bits that are missing, over those of the suppressed table.
    mean
        Over attributes. The attributes' weights count in ``"loss"`` and ``"ncp"``, as in the metrics of that name;
        entropies weigh by the bits that an attribute has to lose.
    domains
        Length q.
    occurrences
        For each attribute, original records with each code, int64 (d,).
    """
    rows = [_COSTS[name](domain, counts) for domain, counts in zip(domains, occurrences, strict=True)]
    records = int(occurrences[0].sum())
    full = np.array([suppressed for _, suppressed in rows], dtype=np.int64)
    known = np.array([costs[0] @ counts for (costs, _), counts in zip(rows, occurrences, strict=True)], dtype=np.int64)
    most = full * records - known
    weights = most.astype(np.float64) if name == "entropy" else np.ones(len(domains))
    if name in ("loss", "ncp"):
        weights = np.array([domain.attribute.weight for domain in domains], dtype=np.float64)
    total = float(weights.sum())
    sums = np.zeros((len(domains), 1 + max(domain.height for domain in domains)), dtype=np.int64)
    for row, (costs, _), counts in zip(sums, rows, occurrences, strict=True):
        row[: len(costs)] = costs @ counts
    return CellObjective(
        costs=np.concatenate([costs.ravel() for costs, _ in rows]),
        full=full,
        known=known,
        most=np.maximum(most, 1),
        shares=weights / total if total else np.full(len(domains), 1.0 / len(domains)),
        geometric=mean == "geometric",
        unsuppressed=sums,
        sizes=np.array([costs.size for costs, _ in rows], dtype=np.int64),
        records=records,
    )


Costs = tuple[NDArray[np.int64], int]
"""Cost of every code on every level, int64 (h + 1, d), and of a suppressed cell."""


def _leaf_costs(domain: DomainLevels, occurrences: NDArray[np.int64]) -> Costs:
    full = max(domain.attribute.domain_size - 1, 1)
    return np.where(_unrestricted(domain), full, domain.leaves.astype(np.int64) - 1), full


def _penalty_costs(domain: DomainLevels, occurrences: NDArray[np.int64]) -> Costs:
    full = domain.attribute.domain_size
    leaves = domain.leaves.astype(np.int64)
    return np.where(_unrestricted(domain), full, np.where(leaves > 1, leaves, 0)), full


def _climbing_costs(domain: DomainLevels, occurrences: NDArray[np.int64]) -> Costs:
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


def _bit_costs(domain: DomainLevels, occurrences: NDArray[np.int64]) -> Costs:
    below = np.zeros(domain.attribute.size + 2, dtype=np.int64)
    below[1 : len(occurrences) + 1] = np.cumsum(occurrences)
    below[len(occurrences) + 1 :] = below[len(occurrences)]
    covered = below[domain.high + 1] - below[domain.low]
    bits = np.rint(np.log2(np.maximum(covered, 1)) * FIXED_POINT).astype(np.int64)
    return bits, round(math.log2(max(int(occurrences.sum()), 1)) * FIXED_POINT)


def _unrestricted(domain: DomainLevels) -> NDArray[np.bool_]:
    whole: NDArray[np.bool_] = (domain.low < domain.high) & (domain.high == domain.attribute.size)
    return whole


_COSTS: Mapping[str, Callable[[DomainLevels, NDArray[np.int64]], Costs]] = {
    "loss": _leaf_costs,
    "ncp": _penalty_costs,
    "precision": _climbing_costs,
    "entropy": _bit_costs,
}
