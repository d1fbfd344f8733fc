"""Subset k-anonymity: every combination of a few published values is shared by k records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.grouping import group_records
from sfumato.models.published import STARRED, PublishedModel
from sfumato.options import Limit


@dataclass(frozen=True)
class SubsetKAnonymity(PublishedModel):
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
