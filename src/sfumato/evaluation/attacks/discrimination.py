"""How well scores separate two groups of people: the area under the ROC curve, and one point of the curve."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from sfumato.rates import CONFIDENCE

_HALVINGS = 60


@dataclass(frozen=True)
class Discrimination:
    """How often a member has a higher score than an outsider.

    Attributes
    ----------
    area : float
        Chance that a member picked at random has a higher score than an outsider picked at random, ties by halves: the
        area under the ROC curve.
    members, outsiders : int
        People in both groups, at least one each.
    """

    area: float
    members: int
    outsiders: int

    @classmethod
    def of(cls, members: NDArray[np.float64], outsiders: NDArray[np.float64]) -> Discrimination:
        """Compare two groups of scores. Cost O(n log n)."""
        rising = np.sort(outsiders)
        below = np.searchsorted(rising, members, side="left").sum()
        up_to = np.searchsorted(rising, members, side="right").sum()
        pairs = len(members) * len(outsiders)
        return cls(float((below + up_to) / (2 * pairs)), len(members), len(outsiders))

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the area: all areas whose spread allows the observed one.

        The spread is that of Hanley and McNeil (1982) with the group sizes averaged (Newcombe 2006, method 5); solved
        for the area like Wilson's interval, so that an area of 0 or 1 has an interval too. Ties make it too wide rather
        than too narrow.
        """
        return self._end(0.0), self._end(1.0)

    def _end(self, far: float) -> float:
        """Find, by bisection, the end that is as far from the area as the spread allows."""
        z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
        near = self.area
        for _ in range(_HALVINGS):
            middle = (near + far) / 2
            if abs(self.area - middle) <= z * self._spread(middle):
                near = middle
            else:
                far = middle
        return (near + far) / 2

    def _spread(self, area: float) -> float:
        average = (self.members + self.outsiders) / 2 - 1
        share = (1 - area) / (2 - area) + area / (1 + area)
        variance = area * (1 - area) * (1 + average * share) / (self.members * self.outsiders)
        return float(np.sqrt(variance))


def accepted(
    members: NDArray[np.float64], outsiders: NDArray[np.float64], false_positives: float
) -> tuple[float, float]:
    """Count the members and outsiders whose scores pass when at most a given share of the outsiders may.

    Of those with the score at which the share would be exceeded, a part is counted, as if a coin were thrown for each,
    so that the share is reached exactly: both counts are sums of chances.

    Parameters
    ----------
    members, outsiders
        float64 scores, at least one each.
    false_positives
        Share of the outsiders that may pass, from 0 to 1.

    Notes
    -----
    Cost O(n log n).
    """
    # A product such as 0.29 · 100 falls short of the whole number that it stands for.
    allowed = false_positives * len(outsiders) + 1e-9
    if allowed >= len(outsiders):
        return float(len(members)), float(len(outsiders))
    border = -np.sort(-outsiders)[int(allowed)]
    above, at = (outsiders > border).sum(), (outsiders == border).sum()
    part = (allowed - above) / at
    passed = (members > border).sum() + part * (members == border).sum()
    return float(passed), float(above + part * at)
