"""Recursive (c, l)-diversity: the most frequent value does not outweigh the rare ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import SensitiveCounts
from sfumato.kernels.predicates import RECURSIVE
from sfumato.models.protocol import TOLERANCE
from sfumato.models.sensitive import SensitiveModel
from sfumato.models.shares import class_of_pairs, distinct_values, largest_counts
from sfumato.options import Limit


@dataclass(frozen=True)
class RecursiveLDiversity(SensitiveModel):
    """In every class, with counts in falling order, ``r_1 < c · (r_l + r_{l+1} + ... + r_m)``.

    Guarantee: after ruling out l − 2 values, an attacker still faces a class in which the most frequent value is not
    overwhelming. A class with fewer than `l` distinct values never qualifies. The inequality is strict, so the achieved
    `c` is the bound that the declared one must exceed.

    Parameters
    ----------
    c
        A number above 0.
    l
        A whole number ≥ 1.
    attribute
        The sensitive attribute, or None for every one.

    References
    ----------
    A. Machanavajjhala, J. Gehrke, D. Kifer, M. Venkitasubramaniam, "l-diversity: privacy beyond k-anonymity", 2006.
    """

    c: Annotated[float, Limit(0, above=True)]
    l: Annotated[int, Limit(1)]  # noqa: E741 - the letter of the literature
    attribute: str | None = None

    name: ClassVar[str] = "recursive-l-diversity"
    in_words: ClassVar[str] = (
        "among the people who look alike, no sensitive value stands out against the rarer ones (c = {c}, l = {l})"
    )
    code: ClassVar[int] = RECURSIVE
    bounded: ClassVar[str] = "c"
    at_least: ClassVar[bool] = False
    remedy: ClassVar[str] = "raise c or lower l"

    def least_class_size(self) -> int:
        """Return `l`: a class has at least this many distinct values."""
        return self.l

    def measure(self, counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return ``r_1 / (r_l + ... + r_m)`` of each class, infinite below `l` distinct values; float64 (c,).

        Cost O(z log z): counts are sorted inside the classes.
        """
        tails = counts.masses(sizes) - self._leading(counts)
        measured = np.full(len(sizes), np.inf)
        np.divide(largest_counts(counts), tails, out=measured, where=distinct_values(counts) >= self.l)
        return measured

    def within(self, measured: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Compare strictly with `c`; bool (c,)."""
        return measured * (1 + TOLERANCE) < self.c

    def _leading(self, counts: SensitiveCounts) -> NDArray[np.int64]:
        # Sum of the l-1 largest counts of each class.
        owner = class_of_pairs(counts)
        falling = counts.counts[np.lexsort((-counts.counts, owner))]
        rank = np.arange(len(owner)) - counts.starts[owner]
        return np.add.reduceat(np.where(rank < self.l - 1, falling, 0), counts.starts[:-1])

    def _bounds(self) -> tuple[float, ...]:
        return (self.c, self.l)

    def _sentence(self, attribute: str, reached: float) -> str:
        if np.isfinite(reached):
            return super()._sentence(attribute, reached)
        return f"{self.name} on {attribute!r} asks for l = {self.l}, but there are fewer distinct values; lower l"
