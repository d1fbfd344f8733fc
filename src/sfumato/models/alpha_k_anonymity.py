"""(α, k)-anonymity: large classes in which no sensitive value is too frequent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics, SensitiveCounts
from sfumato.kernels.predicates import ALPHA
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.protocol import Achieved, Rule
from sfumato.models.says import at_least
from sfumato.models.sensitive import SensitiveModel
from sfumato.models.shares import largest_counts
from sfumato.options import Limit


@dataclass(frozen=True)
class AlphaKAnonymity(SensitiveModel):
    """Every class has at least `k` records, and no sensitive value has a share above `alpha` in it.

    Guarantee: k-anonymity; and an attacker who finds a person's class guesses the sensitive value correctly with
    probability `alpha` at most. Departure from the paper: it bounds chosen sensitive values; here every value has the
    same bound.

    Parameters
    ----------
    alpha
        Largest share, above 0 up to 1.
    k
        Smallest class size, a whole number ≥ 1.
    attribute
        The sensitive attribute, or None for every one.

    References
    ----------
    R. C.-W. Wong, J. Li, A. W.-C. Fu, K. Wang, "(α, k)-anonymity: an enhanced k-anonymity model for privacy-preserving
    data publishing", KDD 2006.
    """

    alpha: Annotated[float, Limit(0, 1, above=True)]
    k: Annotated[int, Limit(1)]
    attribute: str | None = None

    name: ClassVar[str] = "alpha-k-anonymity"
    speaks_of: ClassVar = frozenset({"classes"})
    in_words: ClassVar[str] = (
        "every person looks like at least {k} people, of whom no sensitive value has a larger share than {alpha}"
    )
    code: ClassVar[int] = ALPHA
    bounded: ClassVar[str] = "alpha"
    at_least: ClassVar[bool] = False
    remedy: ClassVar[str] = "raise alpha, or allow some records of the most frequent value to be suppressed"

    def measure(self, counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the share of the most frequent value of each class; float64 (c,)."""
        return largest_counts(counts) / sizes

    def holds(self, statistics: ClassStatistics) -> NDArray[np.bool_]:
        """Tell for each class whether it is large enough and every share is within `alpha`; bool (c,)."""
        return self._size_rule.holds(statistics) & super().holds(statistics)

    def achieved(self, statistics: ClassStatistics) -> Sequence[Achieved]:
        """Return the smallest class size, and the largest share of each protected attribute."""
        return [*self._size_rule.achieved(statistics), *super().achieved(statistics)]

    def rules(self, attributes: Sequence[str]) -> Sequence[Rule]:
        """Return the rule on the size and one on the shares of each protected attribute."""
        return [*self._size_rule.rules(attributes), *super().rules(attributes)]

    def explain(self, statistics: ClassStatistics) -> str | None:
        """Say that there are too few records, or that a value is too frequent in the whole table, or None."""
        reasons = (self._size_rule.explain_as(self.name, statistics), super().explain(statistics))
        return "; ".join(reason for reason in reasons if reason) or None

    def least_class_size(self) -> int:
        """Return `k`, or the records among which one is a share of `alpha`."""
        return max(self.k, at_least(1 / self.alpha))

    def allowed_guess(self, attribute: str) -> float | None:
        """Return `alpha` where it protects the attribute."""
        return float(self.alpha) if self.attribute in (None, attribute) else None

    @property
    def _size_rule(self) -> KAnonymity:
        return KAnonymity(self.k)
