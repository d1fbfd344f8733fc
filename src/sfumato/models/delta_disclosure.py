"""δ-disclosure privacy: every class looks like the whole table, value by value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import SensitiveCounts
from sfumato.kernels.predicates import DELTA
from sfumato.models.comparing import ComparingModel
from sfumato.models.protocol import TOLERANCE
from sfumato.models.reference import Reference
from sfumato.models.shares import distinct_values, ratios
from sfumato.options import Limit


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
        :class:`~sfumato.models.comparing.ComparingModel`.

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
