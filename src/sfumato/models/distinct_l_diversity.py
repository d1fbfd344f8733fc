"""Distinct l-diversity: several sensitive values in every class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import SensitiveCounts
from sfumato.kernels.predicates import DISTINCT, WISHED_DISTINCT
from sfumato.models.shares import distinct_values
from sfumato.models.wished_diversity import WishedDiversity
from sfumato.options import Limit


@dataclass(frozen=True)
class DistinctLDiversity(WishedDiversity):
    """Every class has at least `l` distinct sensitive values.

    Guarantee: nobody's value is certain from the release alone (l ≥ 2). One value may still be almost certain: prefer
    the probabilistic or entropy form. A missing value counts as a value. Where people wish for an l of their own
    (``wished_l`` of the schema), a class has at least as many values as the one in it who wishes for most.

    Parameters
    ----------
    l
        Number of distinct values, a whole number ≥ 1.
    attribute
        The sensitive attribute, or None for every one.

    Notes
    -----
    Wishes survive merging: two classes together have the values of both, and their largest wish is that of one.

    References
    ----------
    A. Machanavajjhala, J. Gehrke, D. Kifer, M. Venkitasubramaniam, "l-diversity: privacy beyond k-anonymity", 2006.
    """

    l: Annotated[int, Limit(1)]  # noqa: E741 - the letter of the literature
    attribute: str | None = None

    name: ClassVar[str] = "distinct-l-diversity"
    in_words: ClassVar[str] = "among the people who look alike, there are at least {l} sensitive values"
    code: ClassVar[int] = DISTINCT
    wished_code: ClassVar[int] = WISHED_DISTINCT
    bounded: ClassVar[str] = "l"
    at_least: ClassVar[bool] = True
    remedy: ClassVar[str] = "lower l: the attribute has no more distinct values"

    def least_class_size(self) -> int:
        """Return `l`: a class has at least this many distinct values."""
        return self.l

    def measure(self, counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the number of distinct values of each class; float64 (c,)."""
        return distinct_values(counts).astype(np.float64)
