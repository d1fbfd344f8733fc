"""Shares of uniques: of records that are alone in the table, and of people who are alone in the population."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.population_uniqueness import (
    SizeCounts,
    chosen_share,
    most_alone,
    pitman,
    slide_negative_binomial,
    zayatz,
)
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.protocol import TOLERANCE, PrivacyModel
from sfumato.models.whole_table import WholeTableModel
from sfumato.options import Limit, Share

_Estimator = Literal["dankar", "pitman", "zayatz", "snb"]


class _NoUniques(WholeTableModel):
    """What both have in common: nobody is alone where classes have two records."""

    def sufficient(self) -> int:
        """Return 2."""
        return 2

    def stand_in(self, k: int) -> PrivacyModel:
        """Return k-anonymity."""
        return KAnonymity(k)


@dataclass(frozen=True)
class SampleUniques(_NoUniques):
    """At most a share of the published records is alone in its class.

    Guarantee: no more than `share` of the records can be told from all others by their quasi-identifying values. Of
    those which can, it promises nothing.

    Parameters
    ----------
    share
        From 0 to 1.
    """

    share: Annotated[float, Limit(0, 1)]

    name: ClassVar[str] = "sample-uniques"
    bounded: ClassVar[str] = "share"
    in_words: ClassVar[str] = "at most a share of {share} of the published records looks like no other"

    def most_alone(self, records: int) -> float:
        """Return `share`."""
        return self.share

    def figure_of(self, sizes: NDArray[np.int64], people: NDArray[np.int64] | None) -> float:
        """Return the share of records in classes of one."""
        return int(np.count_nonzero(sizes == 1)) / int(sizes.sum())  # never 0: no class is empty


@dataclass(frozen=True)
class PopulationUniques(_NoUniques):
    """At most a share of the population is estimated to be alone in it, by what is published.

    Guarantee: none about single people. It is a claim about a model of the population, estimated from the sizes of the
    published classes, for a table that is a random sample of it.

    Parameters
    ----------
    share
        From 0 to 1.
    fraction
        Records of the table per person of the population, above 0 to 1.
    estimator
        ``"pitman"``, ``"zayatz"``, ``"snb"`` (slide negative binomial), or ``"dankar"``, the rule that chooses among
        them; None is that. Where an estimator has no answer, the bound is not said to hold.

    Notes
    -----
    Estimates may rise when classes are merged, so that no search concludes from one generalization on another.

    References
    ----------
    As for :func:`sfumato.classes.population_uniqueness.population_uniqueness`.
    """

    share: Annotated[float, Limit(0, 1)]
    fraction: Share
    estimator: _Estimator | None = None

    name: ClassVar[str] = "population-uniques"
    bounded: ClassVar[str] = "share"
    steady: ClassVar[bool] = False
    in_words: ClassVar[str] = (
        "at most a share of {share} of the population is estimated to be told from all others, if the table is a "
        "random sample of it"
    )

    @property
    def caveat(self) -> str:
        """Say that it is an estimate."""
        return f"an estimate: it holds if the table is a random sample of {self.fraction:g} of the population"

    def most_alone(self, records: int) -> float | None:
        """Return it for Zayatz' estimate; the others may be small whatever is alone."""
        if self.estimator != "zayatz":
            return None
        return most_alone(self.share + TOLERANCE, records, self.fraction)

    def figure_of(self, sizes: NDArray[np.int64], people: NDArray[np.int64] | None) -> float:
        """Return the estimated share; 1 where there is no answer."""
        counts, estimators = SizeCounts.of(sizes), {"pitman": pitman, "zayatz": zayatz, "snb": slide_negative_binomial}
        found = estimators.get(self.estimator or "dankar", chosen_share)(counts, self.fraction)
        return 1.0 if found is None else float(found)
