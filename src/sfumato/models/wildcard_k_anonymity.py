"""Wildcard k-anonymity: every record is compatible with k records, when a star may be any value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.grouping import group_records
from sfumato.models.published import STARRED, PublishedModel
from sfumato.options import Limit


@dataclass(frozen=True)
class WildcardKAnonymity(PublishedModel):
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
