"""What a search minimizes: any information loss of the library, in whole numbers until the last step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.domain_levels import DomainLevels
from sfumato.recoding.notation import STAR

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

EVEN = 0.5
"""The balance at which suppressed and generalized cells count alike."""
FIXED_POINT = 1 << 24
"""Parts of a bit that entropies are rounded to, so that sums of them do not depend on their order."""


@dataclass(frozen=True, eq=False, repr=False)
class CellObjective:
    """What the cells of each attribute cost, taken together over attributes.

    Sums of costs are whole numbers, so that the value of a node does not depend on the order in which it was counted.

    Letters: q attributes, e entries of all level tables, h largest height.

    Attributes
    ----------
    costs : numpy.ndarray
        int64 (e,): cost of one cell, laid out like the level tables.
    full : numpy.ndarray
        int64 (q,): cost of a cell of a suppressed record.
    floors : numpy.ndarray
        int64 (e,): the cost of a cell, or that of a suppressed one where this is less.
    known : numpy.ndarray
        int64 (q,): sum that the unchanged column costs.
    most : numpy.ndarray
        int64 (q,): sum of the fully suppressed column, less `known`; at least 1.
    shares : numpy.ndarray
        float64 (q,): weight of each attribute: 1 together for means, at most 1 for the maximum and ranks.
    mean : str
        How attributes are taken together.
    unsuppressed : numpy.ndarray
        int64 (q, 1 + h): least sum of each attribute on each level, 0 above its height.
    sizes : numpy.ndarray
        int64 (q,): entries of each attribute's level table.
    records : int
        Number of original records n.
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

    def value(self, sums: NDArray[np.int64]) -> float:
        """Return the loss of a table, 0 to 1. sums : int64 (q,), what the cells of each attribute cost."""
        losses: list[float] = ((sums - self.known) / self.most).tolist()
        if self.worst:
            return self.ranked(sums)[0]
        shares: list[float] = self.shares.tolist()
        if not self.geometric:
            return sum(share * loss for share, loss in zip(shares, losses, strict=True))
        if len(set(shares)) == 1:
            return float(math.prod(1.0 + loss for loss in losses) ** (1.0 / len(losses)) - 1.0)
        return math.prod(float((1.0 + loss) ** share) for share, loss in zip(shares, losses, strict=True)) - 1.0

    def ranked(self, sums: NDArray[np.int64]) -> tuple[float, ...]:
        """Return what each attribute loses, weighted, the largest first."""
        losses: list[float] = ((sums - self.known) / self.most * self.shares).tolist()
        return tuple(sorted(losses, reverse=True))

    def terms(self, sums: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return parts whose sum, or maximum, over attributes grows with the value; float64 (q, levels)."""
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
    balance: float = EVEN,
) -> CellObjective:
    """Lay the costs of an objective out for a table.

    Parameters
    ----------
    name
        ``"loss"``: (leaves − 1) / (leaves of the domain − 1). ``"ncp"``: leaves / leaves of the domain, 0 for one leaf.
        ``"precision"``: level / height. ``"entropy"``: bits that are missing, over those of the suppressed table.
        ``"information"``: log of the leaves / log of the leaves of the domain.
    mean
        Over attributes, with their weights; entropies and information weigh by the bits that an attribute has to lose
        as well. The sum is not divided by the weights; for the maximum and ranks the largest weight is 1.
    domains
        Length q.
    occurrences
        For each attribute, original records with each code, int64 (d,).
    balance
        0 to 1: below a half suppressed records cost less, down to nothing, above it generalized ones.
    """
    rows = [_COSTS[name](domain, counts) for domain, counts in zip(domains, occurrences, strict=True)]
    records = int(occurrences[0].sum())
    full = np.array([suppressed for _, suppressed in rows], dtype=np.int64)
    known = np.array([costs[0] @ counts for (costs, _), counts in zip(rows, occurrences, strict=True)], dtype=np.int64)
    most = full * records - known
    weights = np.array([domain.attribute.weight for domain in domains], dtype=np.float64)
    if name in ("entropy", "information") and mean in ("arithmetic", "geometric"):
        weights *= most
    kept, left_out, parts = balance_parts(balance)
    full, known, most = full * left_out, known * parts, most * parts
    rows = [(costs * kept, suppressed * left_out) for costs, suppressed in rows]
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


def balance_parts(balance: float) -> tuple[int, int, int]:
    """Return by what published and suppressed cells are multiplied, and by what both are where they count alike.

    As in ARX, where it is called the gs-factor: at a half both count in full, at 0 suppression costs nothing, at 1
    generalization does not. Hundredths are told apart.
    """
    exact = Fraction(balance).limit_denominator(100)
    kept, left_out = min(Fraction(1), 2 * (1 - exact)), min(Fraction(1), 2 * exact)
    parts = math.lcm(kept.denominator, left_out.denominator)
    return int(kept * parts), int(left_out * parts), parts


def _shares(weights: NDArray[np.float64], mean: Mean) -> NDArray[np.float64]:
    if mean == "sum":
        return weights
    total = float(weights.max() if mean in ("maximum", "rank") else weights.sum())
    return weights / total if total else np.full(len(weights), 1.0 / len(weights))


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


def _information_costs(domain: DomainLevels, occurrences: NDArray[np.int64]) -> Costs:
    full = round(math.log2(max(domain.attribute.domain_size, 1)) * FIXED_POINT)
    bits = np.rint(np.log2(np.maximum(domain.leaves.astype(np.int64), 1)) * FIXED_POINT).astype(np.int64)
    return np.where(_unrestricted(domain), full, np.minimum(bits, full)), full


def _unrestricted(domain: DomainLevels) -> NDArray[np.bool_]:
    whole: NDArray[np.bool_] = (domain.low < domain.high) & (domain.high == domain.attribute.size)
    return whole


_COSTS: Mapping[str, Callable[[DomainLevels, NDArray[np.int64]], Costs]] = {
    "loss": _leaf_costs,
    "ncp": _penalty_costs,
    "precision": _climbing_costs,
    "entropy": _bit_costs,
    "information": _information_costs,
}
