"""Entropy l-diversity: sensitive values are as uncertain as l equally frequent ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import SensitiveCounts
from sfumato.kernels.predicates import ENTROPY
from sfumato.models.protocol import TOLERANCE
from sfumato.models.says import at_least
from sfumato.models.sensitive import SensitiveModel
from sfumato.options import Limit


@dataclass(frozen=True)
class EntropyLDiversity(SensitiveModel):
    """The entropy of the sensitive values of every class is at least ``ln l``.

    Guarantee: each class is on average as uncertain as one with `l` equally frequent values; implies distinct
    l-diversity. A single value may still have a share above ``1/l``.

    Parameters
    ----------
    l
        A number ≥ 1, whole or not.
    attribute
        The sensitive attribute, or None for every one.

    References
    ----------
    A. Machanavajjhala, J. Gehrke, D. Kifer, M. Venkitasubramaniam, "l-diversity: privacy beyond k-anonymity", 2006.
    """

    l: Annotated[float, Limit(1)]  # noqa: E741 - the letter of the literature
    attribute: str | None = None

    name: ClassVar[str] = "entropy-l-diversity"
    in_words: ClassVar[str] = (
        "among the people who look alike, sensitive values are as mixed as {l} equally frequent ones"
    )
    code: ClassVar[int] = ENTROPY
    bounded: ClassVar[str] = "l"
    at_least: ClassVar[bool] = True
    remedy: ClassVar[str] = "lower l, or allow some records of the most frequent values to be suppressed"

    def least_class_size(self) -> int:
        """Return `l`: a class has at least this many distinct values."""
        return at_least(self.l)

    def measure(self, counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the exponential of the entropy of each class; float64 (c,).

        ``-Σ p ln p`` with ``p = count/size`` is ``ln size - Σ count ln count / size``; where people have several
        values, the size is the sum of the counts.
        """
        sizes = counts.masses(sizes)
        weighted = np.add.reduceat(counts.counts * np.log(counts.counts), counts.starts[:-1])
        entropy: NDArray[np.float64] = np.log(sizes) - weighted / sizes
        return np.exp(entropy)

    def within(self, measured: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Compare entropies with ``ln l``; bool (c,)."""
        entropies: NDArray[np.float64] = np.log(measured)
        return entropies >= math.log(self.l) - TOLERANCE
