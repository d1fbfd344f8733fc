"""Names of bins: the value of one, the ends of numbers, a count of others."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np

from sfumato.evaluation.utility.bins import Bins
from sfumato.evaluation.utility.domains import Domain
from sfumato.evaluation.utility.number_spread import TIED
from sfumato.numbers import figure
from sfumato.table.schema import Kind


def day_of(number: float) -> str:
    """Write the day in which a point in time lies, counted from 1970-01-01."""
    return (date(1970, 1, 1) + timedelta(days=int(np.floor(number + TIED)))).isoformat()


def bin_labels(domain: Domain, bins: Bins) -> list[str | None]:
    """Name each bin, and last the one of missing values."""
    if bins.uppers is None:
        return [*_category_labels(domain, bins), None]
    assert domain.numbers is not None
    rising = np.unique(domain.numbers)
    lows = rising[np.searchsorted(np.searchsorted(bins.uppers, rising), np.arange(bins.count))]
    write = day_of if domain.attribute.kind is Kind.DATE else _plain_number
    ends = [(write(low), write(high)) for low, high in zip(lows.tolist(), bins.uppers.tolist(), strict=True)]
    return [*(low if low == high else f"{low} to {high}" for low, high in ends), None]


def _plain_number(number: float) -> str:
    return figure(number, 12, grouped=False)


def _category_labels(domain: Domain, bins: Bins) -> list[str]:
    sizes = np.bincount(bins.bin_of[:-1], minlength=bins.count)
    named: list[str] = [f"{size} other values" for size in sizes.tolist()]
    for code, place in enumerate(bins.bin_of[:-1].tolist()):
        if sizes[place] == 1:
            named[place] = domain.texts[code]
    return named
