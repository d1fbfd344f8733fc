"""Base of models about single published values."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics
from sfumato.kernels.predicates import K_ANONYMITY
from sfumato.models.parameters import CheckedModel
from sfumato.models.protocol import Achieved, Rule

STARRED = -1
"""Number of a suppressed cell in :attr:`ClassStatistics.published`."""


class PublishedModel(CheckedModel):
    """Base of the models about published values, which classes of `k` records satisfy whatever they publish.

    While the published values are not known yet, searches enforce that sufficient condition. So every anonymizer can
    enforce the model, and the verifier, which reads the published table, counts what it really achieves.
    """

    k: int
    name: ClassVar[str]
    speaks_of: ClassVar = frozenset({"classes", "values"})

    @abstractmethod
    def support(self, published: NDArray[np.int32], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how many records share the relevant values of each class: the least, if there are several counts.

        published : int32 (c, q), −1 for ``*``. sizes : int64 (c,). Returns float64 (c,), infinite where nothing is
        counted.
        """

    def holds(self, statistics: ClassStatistics) -> NDArray[np.bool_]:
        """Tell for each class whether the model holds for its records; bool (c,)."""
        verdict: NDArray[np.bool_] = self._support(statistics) >= self.k
        return verdict

    def achieved(self, statistics: ClassStatistics) -> Sequence[Achieved]:
        """Return the largest k that holds; infinite where nothing has to be counted."""
        return [Achieved("k", float(self._support(statistics).min(initial=math.inf)))]

    def rules(self, attributes: Sequence[str]) -> Sequence[Rule]:
        """Return the compiled rule of the sufficient condition."""
        return [Rule(K_ANONYMITY, None, self.k)]

    def explain(self, statistics: ClassStatistics) -> str | None:
        """Say that there are fewer than `k` records, or None."""
        if statistics.height >= self.k:
            return None
        return f"{self.name} asks for k = {self.k}, but there are only {statistics.height} record(s); lower k"

    def _support(self, statistics: ClassStatistics) -> NDArray[np.float64]:
        if statistics.published is None:
            return statistics.sizes.astype(np.float64)
        return self.support(statistics.published, statistics.sizes)
