"""Original values in bins, so that distributions before and after can be compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.evaluation.utility.domains import Domain, Floats


@dataclass(frozen=True, eq=False, repr=False)
class Bins:
    """An attribute's values, divided into b bins; missing values are bin b.

    Attributes
    ----------
    bin_of : numpy.ndarray
        int64 (size + 1,): bin of each code.
    uppers : numpy.ndarray or None
        float64 (b,): highest number of each bin, rising; None for categories. A number between two original ones
        belongs to the bin of the upper one; a number beyond the last belongs to the last bin.
    """

    bin_of: NDArray[np.int64]
    uppers: Floats | None

    @property
    def count(self) -> int:
        """Number of bins b, without the one of missing values."""
        return int(self.bin_of[-1])


def single_values(domain: Domain) -> Bins:
    """Return a bin for each original value; numbers rise."""
    if domain.numbers is None:
        return Bins(np.arange(domain.attribute.size + 1), None)
    uppers = np.unique(domain.numbers)
    return Bins(_bin_of(domain.numbers, uppers), uppers)


def coarse(domain: Domain, numbers: int, categories: int) -> Bins:
    """Put numbers into bins with about equally many original records; join rare categories into one bin.

    Numbers that are equal stay together. Of more than `categories` categories the most frequent keep a bin of their
    own, ties in code order; all others share the last one.
    """
    bins = single_values(domain)
    if bins.uppers is None:
        return _frequent(domain, bins, categories)
    if bins.count <= numbers:
        return bins
    counts = np.bincount(bins.bin_of[domain.codes], minlength=bins.count + 1)[:-1]
    # The bin of a value is where its first record lies among all, as in the correlation of an original table.
    place = (np.cumsum(counts) - counts) * numbers // max(counts.sum(), 1)
    last = np.flatnonzero(np.append(np.diff(place) > 0, True))
    assert domain.numbers is not None
    return Bins(_bin_of(domain.numbers, bins.uppers[last]), bins.uppers[last])


def _frequent(domain: Domain, bins: Bins, most: int) -> Bins:
    if bins.count <= most:
        return bins
    counts = np.bincount(domain.codes, minlength=bins.count + 1)[:-1]
    bin_of = np.full(bins.count + 1, most - 1)
    bin_of[np.argsort(-counts, kind="stable")[: most - 1]] = np.arange(most - 1)
    bin_of[-1] = most
    return Bins(bin_of, None)


def _bin_of(numbers: Floats, uppers: Floats) -> NDArray[np.int64]:
    return np.append(np.searchsorted(uppers, numbers), len(uppers)).astype(np.int64)
