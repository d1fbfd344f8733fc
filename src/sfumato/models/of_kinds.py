"""Models of sets, of ratings and of noise: what other kinds of releases promise.

k^m-anonymity of sets: whoever knows a few items of somebody finds k records that have them.

(k, ε, l)-anonymity of survey ratings: every record has similar ones, whose sensitive ratings differ.

Differential privacy: what comes out hardly depends on whether any one person is in the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from sfumato.models.protocol import CheckedModel
from sfumato.options import Limit


@dataclass(frozen=True)
class KmAnonymity(CheckedModel):
    """Every combination of at most `m` published items that occurs in a record occurs in at least `k` records.

    Guarantee: an attacker who knows up to `m` items of a person, and nothing that the person does not have, finds at
    least `k` published records that fit. Whoever knows more items may find fewer; nothing bounds what the fitting
    records have in common, or who is in the table. Every record must be another person.

    Where quasi-identifying columns stand beside the sets, the same holds inside of each class of records that are
    published alike there, and each class has at least `k` records: (k, k^m)-anonymity.

    Parameters
    ----------
    k
        Records that hold each combination: a whole number ≥ 1.
    m
        Items that an attacker may know: a whole number ≥ 1.

    References
    ----------
    M. Terrovitis, N. Mamoulis, P. Kalnis, "Privacy-preserving anonymization of set-valued data", PVLDB 1(1), 2008.
    G. Poulis, G. Loukides, A. Gkoulalas-Divanis, S. Skiadopoulos, "Anonymizing data with relational and transaction
    attributes", ECML/PKDD 2013, for (k, k^m). Of both no more than abstracts and restatements were at hand.
    """

    k: Annotated[int, Limit(1)]
    m: Annotated[int, Limit(1)]

    made_by: ClassVar[str] = "KmAnonymity"
    name: ClassVar[str] = "km-anonymity"

    def __str__(self) -> str:
        """Return e.g. ``k^m-anonymity (k = 5, m = 2)``."""
        return f"k^m-anonymity (k = {self.k}, m = {self.m})"


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


@dataclass(frozen=True)
class DifferentialPrivacy(CheckedModel):
    """(ε, δ)-differential privacy of a person with all of their records.

    Guarantee: for every two tables, of which one has all records of one person more, and for every set S of releases:
    P(release of the one in S) ≤ e^ε · P(release of the other in S) + δ, both ways round. It holds whatever an
    attacker knows or learns later. It is a promise about the program that draws the noise, and no recipient can recount
    that from what was drawn.

    Parameters
    ----------
    epsilon
        Above 0. What somebody's being in the table may change any odds by is e^ε: 1.1 times for 0.1, 2.7 times for 1,
        22,026 times for 10.
    delta
        From 0 to below 1. 0 takes discrete Laplace noise; above 0 discrete Gaussian noise, and must be far below one
        by the number of people.
    max_records
        Where the table says who is who: how many records of a person are counted at most; others are dropped, at
        random. None: every record is another person.

    References
    ----------
    C. Dwork, F. McSherry, K. Nissim, A. Smith, "Calibrating noise to sensitivity in private data analysis", TCC 2006.
    M. Bun, T. Steinke, "Concentrated differential privacy", TCC 2016, for the budget of Gaussian noise.
    """

    epsilon: Annotated[float, Limit(0, above=True)]
    delta: Annotated[float, Limit(0, 1, below=True)] = 0.0
    max_records: Annotated[int, Limit(1, 2**31)] | None = None

    name: ClassVar[str] = "differential-privacy"

    @property
    def records(self) -> int:
        """Records of a person that count at most."""
        return self.max_records or 1

    @property
    def neighbours(self) -> str:
        """Say which two tables are hardly to be told apart."""
        if self.max_records is None:
            return "two tables of which one has one record more; every record is a person of its own"
        counted = "one record" if self.max_records == 1 else f"{self.max_records:,} records"
        return f"two tables of which one has one person with all of their records more; at most {counted} of each count"

    def __str__(self) -> str:
        """Return e.g. ``(ε = 1, δ = 0)-differential privacy``."""
        return f"(ε = {self.epsilon:g}, δ = {self.delta:g})-differential privacy"
