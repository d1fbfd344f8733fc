"""β-likeness: no sensitive value becomes much more likely inside a class; frequent values may have a tighter bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import SensitiveCounts
from sfumato.kernels.predicates import BETA, BETA_ENHANCED
from sfumato.models.comparing import ComparingModel
from sfumato.models.protocol import TOLERANCE
from sfumato.models.reference import Reference
from sfumato.models.shares import ratios
from sfumato.options import Limit


@dataclass(frozen=True)
class BasicBetaLikeness(ComparingModel):
    """The relative gain ``(q - p) / p`` of every sensitive value in every class is at most `beta`.

    `p` is the share of the value in the whole table, `q` in the class. Guarantee: finding a person's class raises the
    belief in any value by the factor ``1 + beta`` at most; rare values are protected like frequent ones. Losses of
    belief are not bounded.

    Parameters
    ----------
    beta
        A number above 0.
    attribute
        The sensitive attribute, or None for every one.
    reference
        What the whole table is: ``"published"`` (None), ``"original"``, or the share of every value by its label; see
        :class:`~sfumato.models.comparing.ComparingModel`.

    References
    ----------
    J. Cao, P. Karras, "Publishing microdata with a robust privacy guarantee", VLDB 2012.
    """

    beta: Annotated[float, Limit(0, above=True)]
    attribute: str | None = None
    reference: Reference = None

    name: ClassVar[str] = "basic-beta-likeness"
    in_words: ClassVar[str] = (
        "no sensitive value is more than {beta} times as frequent again among people who look alike"
    )
    code: ClassVar[int] = BETA
    bounded: ClassVar[str] = "beta"
    at_least: ClassVar[bool] = False
    remedy: ClassVar[str] = "raise beta"

    def measure(self, counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the largest relative gain of each class, at least 0; float64 (c,)."""
        # Some value of a class is always at least as frequent as in the table, so the largest ratio is 1 or more.
        return np.maximum.reduceat(ratios(counts, sizes), counts.starts[:-1]) - 1.0


@dataclass(frozen=True)
class EnhancedBetaLikeness(ComparingModel):
    """The relative gain of every sensitive value in every class is at most ``min(beta, -ln p)``.

    `p` is the share of the value in the whole table. Guarantee: as basic β-likeness, and no value becomes certain
    however large `beta` is, since ``p · (1 - ln p) < 1``.

    Parameters
    ----------
    beta
        A number above 0.
    attribute
        The sensitive attribute, or None for every one.
    reference
        What the whole table is: ``"published"`` (None), ``"original"``, or the share of every value by its label; see
        :class:`~sfumato.models.comparing.ComparingModel`.

    Notes
    -----
    The achieved value is the largest gain; it is infinite when some gain passes ``-ln p``, which no `beta` allows.

    References
    ----------
    J. Cao, P. Karras, "Publishing microdata with a robust privacy guarantee", VLDB 2012.
    """

    beta: Annotated[float, Limit(0, above=True)]
    attribute: str | None = None
    reference: Reference = None

    name: ClassVar[str] = "enhanced-beta-likeness"
    in_words: ClassVar[str] = "no sensitive value is much more frequent among people who look alike (β = {beta})"
    code: ClassVar[int] = BETA_ENHANCED
    bounded: ClassVar[str] = "beta"
    at_least: ClassVar[bool] = False
    remedy: ClassVar[str] = "raise beta"

    def measure(self, counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the largest gain of each class, infinite where a gain passes ``-ln p``; float64 (c,)."""
        gains = ratios(counts, sizes) - 1.0
        rarity = np.log(counts.height / counts.totals)[counts.values]
        allowed = np.where(gains > np.maximum(rarity, 0.0) + TOLERANCE, np.inf, gains)
        return np.maximum.reduceat(allowed, counts.starts[:-1])
