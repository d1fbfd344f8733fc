"""What a method is asked that makes ratings anonymous."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.models.k_epsilon_l_anonymity import RatingAnonymity
from sfumato.progress import Progress, silent
from sfumato.published.checks.ratings.measures import ProximityQuery
from sfumato.table.ratings.ratings import Ratings

Method = Literal["groups", "plan"]
"""How ratings are made anonymous: groups that keep most, or the baseline of the literature."""


@dataclass(frozen=True, eq=False, repr=False)
class RatingTask:
    """Ratings, the model, and what may be done.

    Attributes
    ----------
    ratings : Ratings
        In the order of :func:`~sfumato.anonymizers.ratings.arranging.arranged`.
    model : RatingAnonymity
        ε is smaller than r.
    invent : bool
        Whether ratings may be invented.
    kept : numpy.ndarray
        bool (m,): issues that are to stay published.
    may_leave : int
        Records that may be left out.
    threads : int
    progress : callable
    """

    ratings: Ratings
    model: RatingAnonymity
    invent: bool
    kept: NDArray[np.bool_]
    may_leave: int = 0
    threads: int = 1
    progress: Progress = field(default=silent)

    @property
    def question(self) -> ProximityQuery:
        """The satisfaction problem of the ratings as they are."""
        return ProximityQuery(self.ratings, self.model)

    @property
    def steps(self) -> int:
        """How many steps of the scale proximate ratings may be apart."""
        return self.question.steps

    @property
    def public(self) -> NDArray[np.bool_]:
        """Which ratings are of issues that are not sensitive; bool (z,)."""
        return ~self.ratings.sensitive[self.ratings.issues]


def most_rated(ratings: Ratings, count: int) -> NDArray[np.bool_]:
    """Return the non-sensitive issues that most records rated, the first of equals; bool (m,)."""
    raters = np.where(ratings.sensitive, -1, ratings.raters)
    chosen = np.zeros(len(raters), dtype=np.bool_)
    chosen[np.argsort(-raters, kind="stable")[:count]] = True
    return chosen & ~ratings.sensitive
