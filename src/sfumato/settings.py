"""Settings of an attribute, brought into plain Python: numbers and text that a policy can hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import numpy as np

DomainMember = int | float | str


def plain_setting(value: Any) -> Any:
    """Return numpy scalars as Python has them and dates as ISO text; any other value as it is."""
    if isinstance(value, np.generic):
        value = value.item()
    is_date = isinstance(value, date) and not isinstance(value, datetime)
    return value.isoformat() if is_date else value


def is_finite_number(value: object) -> bool:
    """Tell whether this is a number, finite also as a float; truth values are none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def plain_domain(domain: object) -> tuple[DomainMember, ...] | None:
    """Return a domain as a tuple of finite numbers or of texts; None where it is neither."""
    if not isinstance(domain, (tuple, list)):
        return None
    members = tuple(map(plain_setting, domain))
    return members if all(map(is_finite_number, members)) or _are_texts(members) else None


def _are_texts(members: Sequence[object]) -> bool:
    return all(isinstance(member, str) for member in members)
