"""(k, ε, l)-anonymity of survey ratings: every record has similar ones, whose sensitive ratings differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from sfumato.models.says import CheckedModel
from sfumato.options import Limit

Group = Literal["ball", "trimmed"]
Nulls = Literal["skip", "g", "literal"]


@dataclass(frozen=True)
class RatingAnonymity(CheckedModel):
    """Around every record there are `k` records within `epsilon`, and their sensitive ratings deviate by `l`.

    Two records are ε-proximate when their ratings of every non-sensitive issue differ by at most ε, where a missing and
    a given rating differ by r (:attr:`Scale.span <sfumato.kinds.ratings.ratings.Scale.span>`). For ε < r, proximate
    records have rated the same set of issues.

    Guarantee: an attacker who knows, to within ε, how a person rated the non-sensitive issues finds at least `k`
    records that fit, and their ratings of each sensitive issue have a standard deviation of at least `l`. An attacker
    who knows ratings exactly, or some sensitive ones, may find fewer.

    Parameters
    ----------
    k
        Records around each record, itself included: a whole number ≥ 1.
    epsilon
        Largest difference of proximate ratings, ≥ 0, in the units of the scale.
    l
        Smallest standard deviation of each sensitive issue around each record, ≥ 0; 0 is no requirement, which is the
        paper's (k, ε)-anonymity.
    group
        Which records are around a record: ``"ball"`` all that are proximate to it (the paper's definition 2);
        ``"trimmed"`` those of them that are proximate to all of them (its algorithm 1, never more).
    nulls
        Standard deviation where some of g records have not rated a sensitive issue. ``"skip"``: of the given ratings
        alone. ``"g"``: squares of the given ones ÷ g, which is never more. ``"literal"``: a missing rating adds the
        squared mean, as the paper's "s ± null = s" literally says; it gives great weight to ratings that nobody gave.
        Where nobody has rated, the deviation is 0.

    References
    ----------
    X. Sun, H. Wang, J. Li, "Satisfying privacy requirements: one step before anonymization", PAKDD 2010. The printed
    formula of the deviation divides by g and leaves open what a missing rating adds; hence `nulls`.
    """

    k: Annotated[int, Limit(1)]
    epsilon: Annotated[float, Limit(0)]
    l: Annotated[float, Limit(0)] = 0  # noqa: E741
    group: Group = "ball"
    nulls: Nulls = "skip"

    made_by: ClassVar[str] = "RatingAnonymity"
    name: ClassVar[str] = "rating-anonymity"

    def __str__(self) -> str:
        """Return e.g. ``(20, 1, 2)-anonymity of ratings``."""
        return f"({self.k}, {self.epsilon:g}, {self.l:g})-anonymity of ratings"
