"""Distances between records and classes as values, and the losses behind them.

Every distance here rests on one idea: two records are as far apart as what they would lose as one class. What a class
loses in an attribute depends on the range of its codes, or on how many values it has; so a distance is a table, and
kernels read it without knowing which one it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.hierarchy.tree import Hierarchy
from sfumato.kernels.clustering.class_members import ClassLoss, doubled_gaps
from sfumato.kernels.types import NUMERIC, SET, TREE
from sfumato.options import Limit
from sfumato.table.encoding import EncodedAttribute

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
    """Compile a distance for the attributes of a table; attribute weights come from the schema.

    `attributes`: length q. `distance`: what each step costs. `occurring`: int64, rising, for each attribute: the codes
    that occur, which are numbered anew from 0. None: all codes keep their numbers. A class that mixes missing and
    present numbers, or such values of a hierarchy, costs as much as the whole domain. Without a hierarchy the missing
    value is one of the values. Cost O(codes · log codes) time and memory.
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
