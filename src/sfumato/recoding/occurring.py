"""What decides grids and how numbers are written: published values alone, not those of records that are left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.table.encoding import EncodedAttribute
from sfumato.table.kinds import text_of
from sfumato.table.schema import Kind

LARGEST_EXACT = 2.0**53
"""From this number on, floats do not distinguish neighbouring whole numbers."""


def of_occurring(attribute: EncodedAttribute, occurs: NDArray[np.bool_]) -> EncodedAttribute:
    """Return the attribute that a table with some of the values alone has; a declared domain stays.

    Parameters
    ----------
    attribute
        Any; one without numbers comes back as it is.
    occurs
        bool (size + 1,): which codes occur, the missing value's last.
    """
    if attribute.numbers is None:
        return attribute
    kept = np.flatnonzero(occurs[: attribute.size])
    numbers = attribute.numbers[kept]
    low, high = attribute.domain_low, attribute.domain_low + attribute.domain_width
    if len(numbers):
        low = numbers[0] if low == attribute.numbers[0] else low
        high = numbers[-1] if high == attribute.numbers[-1] else high
    return replace(
        attribute,
        labels=_labels(attribute, kept),
        numbers=numbers,
        has_missing=bool(occurs[attribute.size]),
        domain_low=float(low),
        domain_width=float(high - low),
    )


def written_like(attribute: EncodedAttribute, own: EncodedAttribute) -> EncodedAttribute:
    """Return the attribute with its values written as `own`, which has some of them, writes them."""
    if attribute.numbers is None or own.numbers is None:
        return attribute
    return replace(
        attribute, labels=attribute.labels.scatter(np.searchsorted(attribute.numbers, own.numbers), own.labels)
    )


def _labels(attribute: EncodedAttribute, kept: NDArray[np.intp]) -> pl.Series:
    """Write the kept values: whole numbers as such, where all of them are whole and exact."""
    assert attribute.numbers is not None
    numbers = attribute.numbers[kept]
    whole = (numbers == np.floor(numbers)) & (np.abs(numbers) < LARGEST_EXACT)
    if attribute.kind is Kind.DATE or not whole.all():
        return attribute.labels[kept]
    return text_of(pl.Series(attribute.name, numbers.astype(np.int64)))
