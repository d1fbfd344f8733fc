"""β-likeness and δ-disclosure: how much more likely a class makes a sensitive value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import SensitiveCounts
from sfumato.kernels.predicates import BETA, BETA_ENHANCED, DELTA
from sfumato.models.protocol import TOLERANCE, ComparingModel
from sfumato.models.reference import Reference, distinct_values, ratios
from sfumato.options import Limit

# β-likeness: no sensitive value becomes much more likely inside a class; frequent values may have a tighter bound.


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
        :class:`~sfumato.models.protocol.ComparingModel`.

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
        :class:`~sfumato.models.protocol.ComparingModel`.

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


# δ-disclosure privacy: every class looks like the whole table, value by value.


@dataclass(frozen=True)
class DeltaDisclosure(ComparingModel):
    """For every class and every sensitive value of the table, ``|ln(q / p)| < delta``.

    `p` is the share of the value in the whole table, `q` in the class. Guarantee: finding a person's class changes the
    belief in any value by a factor between ``exp(-delta)`` and ``exp(delta)``, excluded.

    Parameters
    ----------
    delta
        A number above 0.
    attribute
        The sensitive attribute, or None for every one.
    reference
        What the whole table is: ``"published"`` (None), ``"original"``, or the share of every value by its label; see
        :class:`~sfumato.models.protocol.ComparingModel`.

    Notes
    -----
    A value that a class lacks has ``q = 0`` and an infinite logarithm, so the class fails at every `delta` and the
    achieved value is infinite. Some programs skip such values; that is weaker than the definition (learning that a
    value is impossible is disclosure), and two classes that pass could then be merged into one that fails. The
    inequality is strict, so the achieved value is the bound that `delta` must exceed.

    References
    ----------
    J. Brickell, V. Shmatikov, "The cost of privacy: destruction of data-mining utility in anonymized data publishing",
    KDD 2008.
    """

    delta: Annotated[float, Limit(0, above=True)]
    attribute: str | None = None
    reference: Reference = None

    name: ClassVar[str] = "delta-disclosure"
    in_words: ClassVar[str] = (
        "no sensitive value is much more or less frequent among people who look alike (δ = {delta})"
    )
    code: ClassVar[int] = DELTA
    bounded: ClassVar[str] = "delta"
    at_least: ClassVar[bool] = False
    remedy: ClassVar[str] = "raise delta"

    def measure(self, counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the largest absolute logarithm of each class, infinite where a value is absent; float64 (c,)."""
        logarithms = np.abs(np.log(ratios(counts, sizes)))
        largest = np.maximum.reduceat(logarithms, counts.starts[:-1])
        return np.where(distinct_values(counts) < len(counts.totals), np.inf, largest)

    def within(self, measured: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Compare strictly with `delta`; bool (c,)."""
        return measured < self.delta - TOLERANCE
