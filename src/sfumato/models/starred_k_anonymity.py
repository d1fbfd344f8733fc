"""k-anonymity of tables with stars: of combinations of a few published values, and of records that a star fits."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.partition import group_records
from sfumato.classes.statistics import STARRED, ClassStatistics
from sfumato.kernels.predicates import K_ANONYMITY
from sfumato.models.protocol import Achieved, CheckedModel, Rule
from sfumato.options import Limit


class _PublishedModel(CheckedModel):
    """Base of the models about published values, which classes of `k` records satisfy whatever they publish.

    While the published values are not known yet, searches enforce that sufficient condition. So every anonymizer can
    enforce the model, and the verifier, which reads the published table, counts what it really achieves.
    """

    k: int
    name: ClassVar[str]
    speaks_of: ClassVar = frozenset({"classes", "values"})

    @abstractmethod
    def support(self, published: NDArray[np.int32], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the fewest records that share the relevant values of each class; infinite where none count."""

    def holds(self, statistics: ClassStatistics) -> NDArray[np.bool_]:
        """Tell for each class whether the model holds for its records; bool (c,)."""
        verdict: NDArray[np.bool_] = self._support(statistics) >= self.k
        return verdict

    def achieved(self, statistics: ClassStatistics) -> Sequence[Achieved]:
        """Return the largest k that holds; infinite where nothing has to be counted."""
        return [Achieved("k", float(self._support(statistics).min(initial=math.inf)))]

    def rules(self, attributes: Sequence[str]) -> Sequence[Rule]:
        """Return the compiled rule of the sufficient condition."""
        return [Rule(K_ANONYMITY, None, self.k)]

    def explain(self, statistics: ClassStatistics) -> str | None:
        """Say that there are fewer than `k` records, or None."""
        if statistics.height >= self.k:
            return None
        return f"{self.name} asks for k = {self.k}, but there are only {statistics.height} record(s); lower k"

    def _support(self, statistics: ClassStatistics) -> NDArray[np.float64]:
        if statistics.published is None:
            return statistics.sizes.astype(np.float64)
        return self.support(statistics.published, statistics.sizes)


@dataclass(frozen=True)
class SubsetKAnonymity(_PublishedModel):
    """Every combination of up to `m` published values without ``*`` occurs in at least `k` records.

    Guarantee: an attacker who knows up to `m` quasi-identifying values of a person, and looks for records that show
    them all, finds none or at least `k`. A suppressed cell does not count: it matches no value, and combinations with
    it are ignored. So the model is weaker than k-anonymity, even if `m` is the number of attributes: an attacker who
    finds no record with a person's values may find fewer than `k` whose stars could hide them.

    Parameters
    ----------
    k
        Fewest records that share a combination, a whole number ≥ 1.
    m
        Most attributes of a combination, a whole number ≥ 1; more than there are means all of them.

    Notes
    -----
    Classes of `k` records satisfy it whatever they publish. Cost O(c q s) for s sets of up to `m` attributes.

    References
    ----------
    After the subsets of key variables in M. Templ, A. Kowarik, B. Meindl, "Statistical disclosure control for
    micro-data using the R package sdcMicro", 2015, where a suppressed cell matches every value.
    """

    k: Annotated[int, Limit(1)]
    m: Annotated[int, Limit(1)]

    name: ClassVar[str] = "subset-k-anonymity"
    in_words: ClassVar[str] = (
        "whichever columns are known, every combination of published values belongs to at least {k} people"
    )

    def support(self, published: NDArray[np.int32], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the records that share the rarest combination of each class; infinite if all are stars."""
        least = np.full(len(sizes), math.inf)
        shown = published != STARRED
        most = min(self.m, published.shape[1])
        for size in range(1, most + 1):
            for chosen in combinations(range(published.shape[1]), size):
                # A row that shows more has a larger combination, which is counted separately.
                asked = shown[:, chosen].all(axis=1) & ((size == most) | (shown.sum(axis=1) == size))
                if asked.any():
                    least[asked] = np.minimum(
                        least[asked], _shared(published[:, chosen], shown[:, chosen], sizes)[asked]
                    )
        return least


def _shared(values: NDArray[np.int32], shown: NDArray[np.bool_], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Count the records that show the same values as each class; float64 (c,), 0 where the class shows not all."""
    complete = shown.all(axis=1)
    groups, count = group_records(np.ascontiguousarray(values[complete]))
    shared = np.zeros(len(sizes))
    shared[complete] = np.bincount(groups, weights=sizes[complete], minlength=count)[groups]
    return shared


@dataclass(frozen=True)
class WildcardKAnonymity(_PublishedModel):
    """Every published record is compatible with at least `k` records, itself included; ``*`` matches every value.

    Guarantee: an attacker who compares a published record with the others, and does not think about why cells were
    suppressed, finds at least `k` that may be the same. It is not k-anonymity: beside four records (30, male), one
    record (30, ``*``) is compatible with five, but somebody who knows of a woman of 30 in the table knows that it is
    hers. It serves to compare with programs that count like this.

    Parameters
    ----------
    k
        Fewest compatible records, a whole number ≥ 1.

    Notes
    -----
    Classes of `k` records satisfy it whatever they publish. Cost O(c q s²) for s sets of starred attributes that occur.

    References
    ----------
    The counting of M. Templ, A. Kowarik, B. Meindl, "Statistical disclosure control for micro-data using the R package
    sdcMicro", 2015.
    """

    k: Annotated[int, Limit(1)]

    name: ClassVar[str] = "wildcard-k-anonymity"
    in_words: ClassVar[str] = "every person could be at least {k} people of the table, a star standing for any value"

    def support(self, published: NDArray[np.int32], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the records that each class is compatible with; float64 (c,)."""
        if not len(sizes):
            return np.zeros(0)
        compatible = np.zeros(len(sizes))
        shown = published != STARRED
        pattern_of, count = group_records(shown.astype(np.uint8))
        rows = [np.flatnonzero(pattern_of == pattern) for pattern in range(count)]
        for ours in rows:
            for theirs in rows:
                common = shown[ours[0]] & shown[theirs[0]]
                both = np.concatenate([published[ours], published[theirs]])[:, common]
                compatible[ours] += _matching(both, len(ours), sizes[theirs])
        return compatible


def _matching(values: NDArray[np.int32], ours: int, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Count the records of the later rows that equal each of the first `ours` rows; float64 (ours,)."""
    if not values.shape[1]:
        return np.full(ours, float(sizes.sum()))
    groups, count = group_records(np.ascontiguousarray(values))
    records = np.bincount(groups[ours:], weights=sizes, minlength=count).astype(np.float64)
    return records[groups[:ours]]
