"""Distinct l-diversity: several sensitive values in every class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics, SensitiveCounts, as_one_class
from sfumato.kernels.predicates import DISTINCT, WISHED_DISTINCT
from sfumato.models.protocol import Rule
from sfumato.models.sensitive import SensitiveModel
from sfumato.models.shares import distinct_values
from sfumato.options import Limit


@dataclass(frozen=True)
class DistinctLDiversity(SensitiveModel):
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
    Wishes survive merging: two classes together have the values of both, and their largest wish is that of one. Bounds
    on shares do not: a class without wishes may have one frequent value, which breaks the wish of whoever is merged
    with it. So other kinds of l-diversity keep no wishes.

    References
    ----------
    A. Machanavajjhala, J. Gehrke, D. Kifer, M. Venkitasubramaniam, "l-diversity: privacy beyond k-anonymity", 2006.
    """

    l: Annotated[int, Limit(1)]  # noqa: E741 - the letter of the literature
    attribute: str | None = None

    name: ClassVar[str] = "distinct-l-diversity"
    in_words: ClassVar[str] = "among the people who look alike, there are at least {l} sensitive values"
    code: ClassVar[int] = DISTINCT
    bounded: ClassVar[str] = "l"
    at_least: ClassVar[bool] = True
    remedy: ClassVar[str] = "lower l: the attribute has no more distinct values"

    def least_class_size(self) -> int:
        """Return `l`: a class has at least this many distinct values."""
        return self.l

    def measure(self, counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the number of distinct values of each class; float64 (c,)."""
        return distinct_values(counts).astype(np.float64)

    def holds(self, statistics: ClassStatistics) -> NDArray[np.bool_]:
        """Tell for each class whether every protected attribute has `l` values, and as many as wished; bool (c,)."""
        verdict = super().holds(statistics)
        if statistics.wished_l is not None:
            for counts in self._protected(statistics):
                verdict &= distinct_values(counts) >= statistics.wished_l
        return verdict

    def rules(self, attributes: Sequence[str]) -> Sequence[Rule]:
        """Return two rules for each protected attribute: on `l`, and on the l that people wish for."""
        return [*super().rules(attributes), *(Rule(WISHED_DISTINCT, name, 0.0) for name in self._selected(attributes))]

    def explain(self, statistics: ClassStatistics) -> str | None:
        """Say that there are too few values for `l`, or for what somebody wishes, or None."""
        reasons, whole = [super().explain(statistics)], as_one_class(statistics)
        for counts in self._protected(whole):
            if whole.wished_l is not None and whole.wished_l[0] > len(counts.totals):
                reasons.append(
                    f"{self.name} on {counts.name!r}: somebody wishes for more values than the {len(counts.totals):,} "
                    "there are; lower such wishes, or leave out who has them"
                )
        return "; ".join(filter(None, reasons)) or None
