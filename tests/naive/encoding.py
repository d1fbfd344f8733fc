"""Plain twin of the encoding: lists and dictionaries, one record at a time."""

from __future__ import annotations

import math
from datetime import date


def label(value):
    """Text of one original value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and abs(value) < 2**63 and value == int(value):
        return str(int(value))
    return value.isoformat() if isinstance(value, date) else str(value)


def is_missing(value):
    """None and not-a-number are missing."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def encode_column(values, kind, order="frequency", leaves=None):
    """Return (labels, codes): labels in code order, and one code per record; missing is the code after the last."""
    present = [value for value in values if not is_missing(value)]
    if leaves is not None and present:
        labels = list(leaves)
    elif kind == "categorical" and order == "frequency":
        labels = sorted(set(present), key=lambda text: (-present.count(text), text))
    else:
        labels = [label(value) for value in sorted(set(present))]
    return labels, [len(labels) if is_missing(value) else labels.index(label(value)) for value in values]


def domain_width(values):
    """Highest minus lowest present number; days for dates."""
    present = [value for value in values if not is_missing(value)]
    if not present:
        return 0.0
    width = max(present) - min(present)
    return float(width.days if hasattr(width, "days") else width)


def domain_size(values):
    """Distinct values, a missing value that occurs counting as one."""
    return len({None if is_missing(value) else value for value in values})
