"""The domain of an attribute, declared or read off the data: what ranges and value sets are measured against."""

from __future__ import annotations

from datetime import date

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, SchemaError
from sfumato.table.distinct import Distinct
from sfumato.table.schema import Attribute, Kind, is_measured, text_of

_EPOCH = date(1970, 1, 1)

LARGEST = 1e70
"""Largest magnitude of a number: sums of fourth powers of such numbers stay finite."""
NARROWEST = 1e-70
"""Smallest range of numbers that are not all equal: its fourth power is above 0, and one over that is finite."""


def domain_extent(name: str, kind: Kind, attribute: Attribute, distinct: Distinct) -> tuple[float, float, int]:
    """Return low end and width of the domain (0 for categories) and its number of values, a missing one included.

    Raises ``InputError`` when a value is infinite or outside the declared domain, or the range is too small to measure
    distances by. Raises ``SchemaError`` when the declared domain does not suit the kind.
    """
    occurring = len(distinct.values) + (distinct.missing > 0)
    if not is_measured(kind):
        if attribute.domain is None:
            return 0.0, 0.0, occurring
        declared = [str(value) for value in attribute.domain]
        _refuse(name, ~text_of(distinct.values).is_in(declared).to_numpy(), distinct)
        return 0.0, 0.0, len(declared) + (distinct.missing > 0)
    numbers = distinct.values.to_physical().cast(pl.Float64).to_numpy()
    _refuse_infinite(name, numbers, distinct)
    if len(numbers) and 0 < numbers[-1] - numbers[0] < NARROWEST:
        raise InputError(
            f"column {name!r}: its numbers differ, but by less than {NARROWEST:g}, too little to measure distances by; "
            "count them in a smaller unit, or declare the column categorical"
        )
    if attribute.domain is None:
        if not len(numbers):
            return 0.0, 0.0, occurring
        return float(numbers[0]), float(numbers[-1] - numbers[0]), occurring
    low, high = domain_borders(name, kind, attribute.domain)
    _refuse(name, (numbers < low) | (numbers > high), distinct)
    return low, high - low, occurring


def _refuse(name: str, outside: NDArray[np.bool_], distinct: Distinct) -> None:
    if outside.any():
        raise InputError(
            f"column {name!r}: {distinct.counts[outside].sum()} record(s) have a value outside the declared domain, "
            f"first in row {distinct.first_record(outside)}; widen the domain or correct the records"
        )


def _refuse_infinite(name: str, numbers: NDArray[np.float64], distinct: Distinct) -> None:
    infinite = np.abs(numbers) > LARGEST
    if infinite.any():
        raise InputError(
            f"column {name!r}: {distinct.counts[infinite].sum()} record(s) have an infinite number, first in row "
            f"{distinct.first_record(infinite)}, or one beyond {LARGEST:g}; make them missing or correct them"
        )


def domain_borders(name: str, kind: Kind, domain: tuple[object, ...]) -> tuple[float, float]:
    """Return both ends of a declared domain of numbers or dates, or raise SchemaError when it is not one."""
    needed = "two dates in ISO form" if kind is Kind.DATE else "two numbers"
    try:
        low, high = (_border(kind, value) for value in domain)
    except (TypeError, ValueError):
        low, high = 0.0, 0.0
    if not low < high:
        raise SchemaError(f"column {name!r}: the domain of a {kind} column is {needed}, the lowest and the highest")
    if max(-low, high) > LARGEST or high - low < NARROWEST:
        raise SchemaError(
            f"column {name!r}: the domain must lie between {-LARGEST:g} and {LARGEST:g} and be at least "
            f"{NARROWEST:g} wide"
        )
    return low, high


def _border(kind: Kind, value: object) -> float:
    if kind is Kind.DATE:
        return float((date.fromisoformat(str(value)) - _EPOCH).days)
    return float(str(value))
