"""The normalized certainty penalty of a node of the lattice, from its frequency set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.domain_levels import DomainLevels
from sfumato.anonymizers.full_domain.frequency_sets import FrequencySet
from sfumato.kernels.full_domain.frequency_sets import records_of_nodes

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
        self._everything = sum(domain.attribute.weight for domain in domains)
        self._height = height

    def of(self, counted: FrequencySet, kept: NDArray[np.bool_]) -> float:
        """Return the loss, in [0, 1], when only the `kept` rows, bool (m,), of a full node are published.

        All other records of the table are charged in full. The same for any order of the rows. Cost O(m · q).
        """
        penalties = [self._penalties[place][level] for place, level in enumerate(counted.levels)]
        offsets = np.cumsum([0, *(len(part) for part in penalties)], dtype=np.int64)
        records = records_of_nodes(counted.codes, counted.weights, kept, offsets)
        lost = float((records * np.concatenate(penalties)).sum())
        published = int(records[: offsets[1]].sum())
        return (lost + (self._height - published) * self._everything) / (self._height * self._everything)


def _penalties(domain: DomainLevels, level: int) -> NDArray[np.float64]:
    """Weighted penalty of each node of a level, float64 (nodes,)."""
    leaves, attribute = domain.leaves[level], domain.attribute
    share = np.where(leaves > 1, leaves / attribute.domain_size, 0.0)
    starred = (domain.low[level] == 0) & (domain.high[level] == attribute.size) & (level == domain.height)
    penalties = np.zeros(domain.counts[level], dtype=np.float64)
    penalties[domain.node_of[level]] = attribute.weight * np.where(starred, 1.0, share)
    return penalties
