"""How far a table satisfies each model, and in which classes the least.

Letters: c classes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics, SensitiveCounts
from sfumato.kernels.predicates import T_EQUAL, T_ORDERED
from sfumato.models import (
    AlphaKAnonymity,
    BasicBetaLikeness,
    DeltaDisclosure,
    DistinctLDiversity,
    EnhancedBetaLikeness,
    EntropyLDiversity,
    KAnonymity,
    ProbabilisticLDiversity,
    RecursiveLDiversity,
    TCloseness,
)
from sfumato.models.protocol import TOLERANCE
from sfumato.models.sensitive import SensitiveModel
from sfumato.models.t_closeness import distance_code

MOST_L = 5
"""Recursive diversity is measured from l = 2 up to the distinct values of every class, and up to this l."""

_STRICT = (RecursiveLDiversity, DeltaDisclosure)


@dataclass(frozen=True, eq=False)
class Finding:
    """The bound of one model that a table has.

    Attributes
    ----------
    model : str
        Name of the model, as in a policy.
    parameter : str
        What is bounded: ``"k"``, ``"l"``, ``"c"``, ``"alpha"``, ``"t"``, ``"beta"`` or ``"delta"``.
    value : float
        Of the worst class. Infinite where no bound holds.
    attribute : str or None
        The sensitive column.
    given : mapping
        Other parameters that the value belongs to: `l` of recursive diversity, `distance` of t-closeness, `shares` of
        k-anonymity where people are counted.
    holds : str
        For which parameters the model holds: ``"up to"`` the value, ``"from"`` it on, or ``"above"`` it.
    measured : numpy.ndarray
        float64 (c,): value of each class.
    """

    model: str
    parameter: str
    value: float
    attribute: str | None
    given: Mapping[str, Any]
    holds: str
    measured: NDArray[np.float64] = field(repr=False)

    @property
    def is_worst(self) -> NDArray[np.bool_]:
        """Tell which classes have the value of the worst one; bool (c,)."""
        if math.isinf(self.value):
            return np.isinf(self.measured)
        worst: NDArray[np.bool_] = np.abs(self.measured - self.value) <= TOLERANCE
        return worst


def all_findings(statistics: ClassStatistics) -> tuple[Finding, ...]:
    """Measure every model of classes on every sensitive attribute."""
    sizes = [_of_sizes(KAnonymity(1), statistics)]
    if statistics.people is not None:
        sizes.append(_of_sizes(KAnonymity(1, shares=False), statistics, shares=False))
    private = (one for counts in statistics.sensitive.values() for one in _of_attribute(counts, statistics.sizes))
    return (*sizes, *private)


def _of_sizes(model: KAnonymity, statistics: ClassStatistics, **given: Any) -> Finding:
    measured = model.measure(statistics).astype(np.float64)
    return Finding(model.name, "k", float(measured.min()), None, given, "up to", measured)


def _of_attribute(counts: SensitiveCounts, sizes: NDArray[np.int64]) -> Iterator[Finding]:
    distinct = _finding(DistinctLDiversity(1), counts, sizes)
    yield distinct
    yield _finding(ProbabilisticLDiversity(1), counts, sizes)
    yield _finding(EntropyLDiversity(1), counts, sizes)
    for least in range(2, max(2, min(MOST_L, int(distinct.value))) + 1):
        yield _finding(RecursiveLDiversity(1, least), counts, sizes, l=least)
    yield _finding(AlphaKAnonymity(1, 1), counts, sizes)
    yield _finding(TCloseness(1), counts, sizes, distance=distance_of(counts))
    yield _finding(BasicBetaLikeness(1), counts, sizes)
    yield _finding(EnhancedBetaLikeness(1), counts, sizes)
    yield _finding(DeltaDisclosure(1), counts, sizes)


def distance_of(counts: SensitiveCounts) -> str:
    """Name the distance that t-closeness takes for an attribute."""
    code = distance_code(TCloseness(1).rules([counts.name])[0].code, counts)
    return {T_EQUAL: "equal", T_ORDERED: "ordered"}.get(code, "hierarchical")


def _finding(model: SensitiveModel, counts: SensitiveCounts, sizes: NDArray[np.int64], **given: Any) -> Finding:
    measured = model.measure(counts, sizes)
    worst = float(measured.min() if model.at_least else measured.max())
    holds = "up to" if model.at_least else "above" if isinstance(model, _STRICT) else "from"
    return Finding(model.name, model.bounded, worst, counts.name, given, holds, measured)
