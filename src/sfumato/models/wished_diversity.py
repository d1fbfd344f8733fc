"""l-diversity that also keeps the l that people wish for."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics, as_one_class
from sfumato.models.protocol import Rule
from sfumato.models.sensitive import SensitiveModel


class WishedDiversity(SensitiveModel, ABC):
    """A form of l-diversity whose classes also reach the largest l that somebody in them wishes for."""

    wished_code: ClassVar[int]
    """Predicate of :mod:`sfumato.kernels.predicates` about what people wish for."""

    def reaches(self, measured: NDArray[np.float64], wished: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Compare the l that each class has with the largest that is wished for in it; bool (c,)."""
        return measured >= wished

    def holds(self, statistics: ClassStatistics) -> NDArray[np.bool_]:
        """Tell for each class whether every protected attribute reaches `l`, and what is wished for; bool (c,)."""
        verdict = super().holds(statistics)
        if statistics.wished_l is not None:
            for counts in self._protected(statistics):
                verdict &= self.reaches(self.measure(counts, statistics.sizes), statistics.wished_l)
        return verdict

    def rules(self, attributes: Sequence[str]) -> Sequence[Rule]:
        """Return two rules for each protected attribute: on `l`, and on the l that people wish for."""
        wished = (Rule(self.wished_code, name, 0.0) for name in self._selected(attributes))
        return [*super().rules(attributes), *wished]

    def explain(self, statistics: ClassStatistics) -> str | None:
        """Say that all records together do not reach `l`, or not what somebody wishes for; or None."""
        reasons, whole = [super().explain(statistics)], as_one_class(statistics)
        for counts in self._protected(whole):
            measured = self.measure(counts, whole.sizes)
            if whole.wished_l is not None and not self.reaches(measured, whole.wished_l)[0]:
                reasons.append(
                    f"{self.name} on {counts.name!r}: somebody wishes for more than l = {measured[0]:.6g}, which all "
                    "records in one class reach; lower such wishes, or leave out who has them"
                )
        return "; ".join(filter(None, reasons)) or None
