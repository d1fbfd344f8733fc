"""How many records are unique in the population: three models, and Dankar's rule to choose between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.uniqueness.pitman import pitman
from sfumato.classes.uniqueness.size_counts import SizeCounts
from sfumato.classes.uniqueness.slide_negative_binomial import slide_negative_binomial
from sfumato.classes.uniqueness.zayatz import zayatz

SMALL_FRACTION = 0.1
"""Sampling fraction up to which the rule trusts Pitman's model."""


@dataclass(frozen=True)
class PopulationUniqueness:
    """Estimated share of the population that is unique in it.

    Attributes
    ----------
    fraction : float
        Sampling fraction that the estimates start from.
    pitman, zayatz : float
    snb : float or None
        Slide negative binomial; None where it does not fit.
    chosen : str
        ``"pitman"``, ``"zayatz"`` or ``"snb"``: the one that Dankar's rule takes.
    """

    fraction: float
    pitman: float
    zayatz: float
    snb: float | None
    chosen: str

    @property
    def share(self) -> float:
        """The estimate of the chosen model."""
        return float(getattr(self, self.chosen))


def population_uniqueness(records: NDArray[np.int64], fraction: float) -> PopulationUniqueness:
    """Estimate the share of population uniques from the sizes of the sample's classes.

    Parameters
    ----------
    records
        int64 (c,): records in each class.
    fraction
        Sampling fraction, above 0 to 1.

    Notes
    -----
    The rule: Pitman's model up to a fraction of 0.1; beyond, the smaller of the slide negative binomial's and Zayatz'
    estimate, or Zayatz' if the former has none.

    References
    ----------
    F. K. Dankar, K. El Emam, A. Neisa, T. Roffey, "Estimating the re-identification risk of clinical data sets", BMC
    Medical Informatics and Decision Making 12:66, 2012.
    """
    counts = SizeCounts.of(records)
    by_pitman, by_zayatz = pitman(counts, fraction), zayatz(counts, fraction)
    by_snb = slide_negative_binomial(counts, fraction)
    chosen = "pitman" if fraction <= SMALL_FRACTION else _beyond(by_zayatz, by_snb)
    return PopulationUniqueness(fraction, by_pitman, by_zayatz, by_snb, chosen)


def chosen_share(counts: SizeCounts, fraction: float) -> float:
    """Return the estimate that the rule takes, without those that it does not look at."""
    if fraction <= SMALL_FRACTION:
        return pitman(counts, fraction)
    by_zayatz, by_snb = zayatz(counts, fraction), slide_negative_binomial(counts, fraction)
    return by_zayatz if by_snb is None or _beyond(by_zayatz, by_snb) == "zayatz" else by_snb


def _beyond(by_zayatz: float, by_snb: float | None) -> str:
    """Choose for large fractions."""
    return "zayatz" if by_snb is None or by_zayatz < by_snb else "snb"
