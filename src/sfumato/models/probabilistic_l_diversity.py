"""Probabilistic l-diversity: no sensitive value with a share above 1/l."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import SensitiveCounts
from sfumato.kernels.predicates import PROBABILISTIC, WISHED_SHARE
from sfumato.models.protocol import TOLERANCE
from sfumato.models.says import at_least
from sfumato.models.shares import largest_counts
from sfumato.models.wished_diversity import WishedDiversity
from sfumato.options import Limit


@dataclass(frozen=True)
class ProbabilisticLDiversity(WishedDiversity):
    """No sensitive value has a share above ``1/l`` in a class.

    Guarantee: an attacker who finds a person's class guesses the sensitive value correctly with probability ``1/l`` at
    most. Also called frequency l-diversity; bucketization and slicing rest on this form. Where people wish for an l of
    their own (``wished_l`` of the schema), no value has a share above 1 over the largest l that somebody in the class
    wishes for.

    Parameters
    ----------
    l
        A number ≥ 1, whole or not.
    attribute
        The sensitive attribute, or None for every one.

    Notes
    -----
    Wishes do not survive merging: a class in which nobody wishes may have one frequent value, and breaks the wish of
    whoever is merged with it. Anonymizers that only cut classes keep them; others refuse them.

    References
    ----------
    X. Xiao, Y. Tao, "Anatomy: simple and effective privacy preservation", VLDB 2006.
    """

    l: Annotated[float, Limit(1)]  # noqa: E741 - the letter of the literature
    attribute: str | None = None

    name: ClassVar[str] = "probabilistic-l-diversity"
    speaks_of: ClassVar = frozenset({"classes", "buckets", "slices", "joins", "marginals"})
    in_words: ClassVar[str] = "among the people who look alike, no sensitive value has a larger share than 1 in {l}"
    code: ClassVar[int] = PROBABILISTIC
    wished_code: ClassVar[int] = WISHED_SHARE
    bounded: ClassVar[str] = "l"
    at_least: ClassVar[bool] = True
    remedy: ClassVar[str] = "lower l, or allow some records of the most frequent value to be suppressed"

    def allowed_guess(self, attribute: str) -> float | None:
        """Return ``1/l`` if the model protects the attribute."""
        return 1 / self.l if self.attribute in (None, attribute) else None

    def least_class_size(self) -> int:
        """Return `l`: a class has at least this many distinct values."""
        return at_least(self.l)

    def measure(self, counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return class size over the count of its most frequent value; float64 (c,)."""
        return sizes / largest_counts(counts)

    def within(self, measured: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Compare with `l`, with the slack on the share; bool (c,)."""
        return measured * (1 + TOLERANCE) >= self.l

    def reaches(self, measured: NDArray[np.float64], wished: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Compare the l that each class has with the largest that is wished for in it, as with `l`; bool (c,)."""
        return measured * (1 + TOLERANCE) >= wished
