"""k-anonymity: nobody can be distinguished from k − 1 others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics, SensitiveCounts
from sfumato.kernels.predicates import ALPHA, K_ANONYMITY, LARGEST_SHARE, WISHED_K, WISHED_RECORDS
from sfumato.models.protocol import Achieved, CheckedModel, Rule, SensitiveModel, at_least
from sfumato.models.reference import largest_counts
from sfumato.options import Limit


@dataclass(frozen=True)
class KAnonymity(CheckedModel):
    """Every class has at least `k` records; where people have several records, `k` people.

    Guarantee: an attacker who knows the quasi-identifying values of a person finds at least `k` records that fit, which
    belong to `k` people where the table names them (:class:`sfumato.Schema`, ``person``). A record that is picked among
    them is that person's with a chance of ``1/k`` at most. It says nothing about sensitive values: a class may share
    one. Where people wish for a k of their own (``wished_k`` of the schema), a class is one of the largest k that
    somebody in it wishes for: in people, and in shares of records.

    Parameters
    ----------
    k
        Smallest class size, a whole number ≥ 1.
    shares
        Whether, beside that, nobody may have more than ``1/k`` of the records of a class. False asks for `k` people
        alone; the chance above is then the largest share of one person. Where everybody has one record it makes no
        difference. None is True.

    Notes
    -----
    The bound on shares implies that on people, and survives merging: who has at most ``1/k`` of the records of two
    classes has at most that of both together. With wishes it need not: who has most records of a class in which nobody
    wishes for anything may have too many for somebody of the other one.

    References
    ----------
    L. Sweeney, "k-anonymity: a model for protecting privacy", 2002. Counting people is (X, Y)-anonymity with the person
    as Y (K. Wang, B. C. M. Fung, "Anonymizing sequential releases", KDD 2006); the bound on shares is ours.
    """

    k: Annotated[int, Limit(1)]
    shares: bool | None = None

    name: ClassVar[str] = "k-anonymity"
    speaks_of: ClassVar = frozenset({"classes", "sizes", "marginals"})
    in_words: ClassVar[str] = "every person looks like at least {k} people of the table in what others may know"

    def holds(self, statistics: ClassStatistics) -> NDArray[np.bool_]:
        """Tell for each class whether it has `k` records, or people none of whom has too many; bool (c,)."""
        people, wished = statistics.people, statistics.wished
        least = np.full(statistics.count, self.k) if wished is None else np.maximum(wished, self.k)
        large: NDArray[np.bool_] = statistics.sizes >= least
        return large if people is None or self.shares is False else large & (people.most * least <= people.records)

    def achieved(self, statistics: ClassStatistics) -> Sequence[Achieved]:
        """Return the largest `k` that holds; infinite without classes."""
        if not statistics.count:
            return [Achieved("k", math.inf)]
        return [Achieved("k", float(self.measure(statistics).min()))]

    def measure(self, statistics: ClassStatistics) -> NDArray[np.int64]:
        """Return the largest `k` that each class satisfies, int64 (c,)."""
        people = statistics.people
        return statistics.sizes if people is None or self.shares is False else people.records // people.most

    @property
    def survives_suppression(self) -> bool:
        """Return True: a class keeps its size, whatever else is left out."""
        return True

    def least_class_size(self) -> int:
        """Return `k`."""
        return self.k

    def rules(self, attributes: Sequence[str]) -> Sequence[Rule]:
        """Return rules on sizes, on shares of people with several records, and on the k that people wish for."""
        shares = [] if self.shares is False else [Rule(LARGEST_SHARE, None, self.k), Rule(WISHED_RECORDS, None, 0.0)]
        return [Rule(K_ANONYMITY, None, self.k), *shares, Rule(WISHED_K, None, 0.0)]

    def explain(self, statistics: ClassStatistics) -> str | None:
        """Say that there are fewer than `k` records or people, or that somebody has too many records, or None."""
        return self.explain_as(self.name, statistics, ", or ask for people alone (shares=False)")

    def explain_as(self, name: str, statistics: ClassStatistics, remedy: str = "") -> str | None:
        """Say the same of a model of another name that asks for classes of `k`; `remedy` is what it offers besides."""
        people = statistics.people
        if statistics.height < self.k:
            of_what = "record(s)" if people is None else "person(s)"
            return f"{name} asks for k = {self.k}, but there are only {statistics.height} {of_what}; lower k"
        if statistics.wished is not None and statistics.wished.max() > statistics.height:
            return (
                f"{name}: somebody wishes for more people than the {statistics.height:,} there are; lower such wishes, "
                "or leave out who has them"
            )
        if people is None or self.shares is False:
            return None
        most, records = int(people.most.max()), int(people.records.sum())
        if most * self.k > records:
            return (
                f"{name} asks for k = {self.k}, but one person has {most:,} of {records:,} "
                f"records, more than 1 in {self.k}; lower k, or allow that person to be suppressed{remedy}"
            )
        if statistics.wished is not None and most * int(statistics.wished.max()) > records:
            return (
                f"{name}: one person has {most:,} of {records:,} records, a larger share than somebody wishes that "
                f"anybody has; lower such wishes, or allow that person to be suppressed{remedy}"
            )
        return None


# (α, k)-anonymity: large classes in which no sensitive value is too frequent.


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
