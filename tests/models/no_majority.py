"""A model that the library does not have, as somebody would add it: this file and one line of the registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics, SensitiveCounts
from sfumato.kernels.predicates import K_ANONYMITY, PROBABILISTIC
from sfumato.models.protocol import Achieved, Rule, SensitiveModel, at_least
from sfumato.models.reference import largest_counts
from sfumato.options import Limit


@dataclass(frozen=True)
class NoMajority(SensitiveModel):
    """No sensitive value has a share above `share` in a class."""

    share: Annotated[float, Limit(0, 1, above=True)] = 0.5
    attribute: str | None = None

    name: ClassVar[str] = "no-majority"
    speaks_of: ClassVar = frozenset({"classes", "buckets", "slices", "joins", "marginals"})
    in_words: ClassVar[str] = "no sensitive value is that of more than a share of {share} of the people who look alike"
    code: ClassVar[int] = PROBABILISTIC
    bounded: ClassVar[str] = "share"
    at_least: ClassVar[bool] = False
    remedy: ClassVar[str] = "raise share"

    def least_class_size(self) -> int:
        """A value has at least one record."""
        return at_least(1 / self.share)

    def allowed_guess(self, attribute: str) -> float | None:
        """Return the share."""
        return self.share if self.attribute in (None, attribute) else None

    def measure(self, counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the share of the most frequent value."""
        return largest_counts(counts) / sizes

    def _bounds(self) -> tuple[float, ...]:
        return (1 / self.share,)


@dataclass(frozen=True)
class Pairs:
    """A model with the methods of the protocol and no more: nobody stands alone."""

    name: ClassVar[str] = "pairs"

    def holds(self, statistics: ClassStatistics) -> NDArray[np.bool_]:
        """Two records."""
        return statistics.sizes >= 2

    def achieved(self, statistics: ClassStatistics) -> Sequence[Achieved]:
        """Return the smallest class."""
        return [Achieved("records", float(statistics.sizes.min()))]

    def rules(self, attributes: Sequence[str]) -> Sequence[Rule]:
        """Return a rule of the library that says the same."""
        return [Rule(K_ANONYMITY, None, 2)]

    def explain(self, statistics: ClassStatistics) -> str | None:
        """Leave it open."""
        return None

    def parameters(self) -> Mapping[str, Any]:
        """Return nothing: it has none."""
        return {}


@dataclass(frozen=True)
class Unsearchable(Pairs):
    """The same without anything that a search could go by."""

    name: ClassVar[str] = "unsearchable"

    def rules(self, attributes: Sequence[str]) -> Sequence[Rule]:
        """Return none."""
        return []
