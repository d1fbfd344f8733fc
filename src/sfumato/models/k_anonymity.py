"""k-anonymity: nobody can be distinguished from k − 1 others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics
from sfumato.kernels.predicates import K_ANONYMITY
from sfumato.models.parameters import CheckedModel
from sfumato.models.protocol import Achieved, Rule
from sfumato.options import Limit


@dataclass(frozen=True)
class KAnonymity(CheckedModel):
    """Every class has at least `k` records.

    Guarantee: an attacker who knows the quasi-identifying values of a person finds at least `k` records that fit. It
    says nothing about sensitive values: a class may share one.

    Parameters
    ----------
    k
        Smallest class size, a whole number ≥ 1.

    References
    ----------
    L. Sweeney, "k-anonymity: a model for protecting privacy", 2002.
    """

    k: Annotated[int, Limit(1)]

    name: ClassVar[str] = "k-anonymity"
    speaks_of: ClassVar = frozenset({"classes", "sizes", "marginals"})
    in_words: ClassVar[str] = "every person looks like at least {k} people of the table in what others may know"

    def holds(self, statistics: ClassStatistics) -> NDArray[np.bool_]:
        """Tell for each class whether it has `k` records; bool (c,)."""
        return statistics.sizes >= self.k

    def achieved(self, statistics: ClassStatistics) -> Sequence[Achieved]:
        """Return the size of the smallest class; infinite without classes."""
        return [Achieved("k", float(statistics.sizes.min()) if statistics.count else math.inf)]

    @property
    def survives_suppression(self) -> bool:
        """Return True: a class keeps its size, whatever else is left out."""
        return True

    def least_class_size(self) -> int:
        """Return `k`."""
        return self.k

    def rules(self, attributes: Sequence[str]) -> Sequence[Rule]:
        """Return the only compiled rule."""
        return [Rule(K_ANONYMITY, None, self.k)]

    def explain(self, statistics: ClassStatistics) -> str | None:
        """Say that there are fewer than `k` records, or None."""
        if statistics.height >= self.k:
            return None
        return f"{self.name} asks for k = {self.k}, but there are only {statistics.height} record(s); lower k"
