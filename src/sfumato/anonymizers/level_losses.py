"""The normalized certainty penalty of a node of the lattice, from its frequency set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.domain_levels import DomainLevels
from sfumato.anonymizers.frequency_sets import FrequencySet

LOSS_NAME = "normalized NCP"


class LevelLosses:
    """Penalties of all nodes of all levels; equal to the metric of the published table.

    Parameters
    ----------
    domains
        Length q.
    height
        Records n of the whole table.
    """

    def __init__(self, domains: Sequence[DomainLevels], height: int) -> None:
        self._penalties = [[_penalties(domain, level) for level in range(domain.height + 1)] for domain in domains]
        self._weights = [domain.attribute.weight for domain in domains]
        self._height = height

    def of(self, counted: FrequencySet, kept: NDArray[np.bool_]) -> float:
        """Return the loss, in [0, 1], when only the `kept` rows, bool (m,), of a full node are published.

        All other records of the table are charged in full. Cost O(m · q).
        """
        weights = np.where(kept, counted.weights, 0)
        published = int(weights.sum())
        lost = sum(
            self._weights[place] * float(weights @ self._penalties[place][level][counted.codes[:, place]])
            for place, level in zip(counted.places, counted.levels, strict=True)
        )
        everything = sum(self._weights)
        return (lost + (self._height - published) * everything) / (self._height * everything)


def _penalties(domain: DomainLevels, level: int) -> NDArray[np.float64]:
    """Penalty of each node of a level, float64 (nodes,)."""
    leaves, attribute = domain.leaves[level], domain.attribute
    share = np.where(leaves > 1, leaves / attribute.domain_size, 0.0)
    starred = (domain.low[level] == 0) & (domain.high[level] == attribute.size) & (level == domain.height)
    penalties = np.zeros(domain.counts[level], dtype=np.float64)
    penalties[domain.node_of[level]] = np.where(starred, 1.0, share)
    return penalties
