"""The types of a call's arguments as plain tuples: they name compiled code where numba is not loaded.

A description holds types alone, never a value: ``("array", "int32", 2, "C", True)``, ``("int64",)``,
``("named", "sfumato.kernels.types", "Space", (…))``. It can be written as JSON and read back.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

Description = tuple[Any, ...]

_SCALARS = {bool: ("bool",), float: ("float64",), type(None): ("none",)}


def described(values: Sequence[Any]) -> Description | None:
    """Describe the types of a call's arguments; None where one of them is of another kind."""
    found = tuple(_of(value) for value in values)
    return None if None in found else found


def _of(value: Any) -> Description | None:
    if isinstance(value, np.ndarray):
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        if not flags.aligned or not value.dtype.isnative or value.dtype.kind not in "biuf":
            return None
        return ("array", value.dtype.name, value.ndim, layout, flags.writeable)
    if type(value) is int:
        return ("int64",) if -(1 << 63) <= value < 1 << 63 else ("uint64",) if 0 <= value < 1 << 64 else None
    known = _SCALARS.get(type(value))
    if known is not None:
        return known
    if isinstance(value, np.generic):
        return (value.dtype.name,) if value.dtype.kind in "biuf" else None
    if isinstance(value, tuple):
        return _of_tuple(value)
    return None


def _of_tuple(value: tuple[Any, ...]) -> Description | None:
    parts = described(value)
    if parts is None:
        return None
    kind = type(value)
    if hasattr(kind, "_fields"):
        return ("named", kind.__module__, kind.__qualname__, parts)
    return ("tuple", parts) if kind is tuple else None


def elements(values: Sequence[Any]) -> int:
    """Count the elements of all arrays among the arguments, those in tuples included."""
    count = 0
    for value in values:
        if isinstance(value, np.ndarray):
            count += value.size
        elif isinstance(value, tuple):
            count += elements(value)
    return count


def longest(values: Sequence[Any]) -> int:
    """Return the length of the longest array among the arguments."""
    lengths = [longest(value) if isinstance(value, tuple) else _length(value) for value in values]
    return max(lengths, default=0)


def _length(value: Any) -> int:
    return len(value) if isinstance(value, np.ndarray) and value.ndim else 0


def signature_text(description: Description) -> str:
    """Write a description as JSON."""
    return json.dumps(description, separators=(",", ":"))


def from_text(text: str) -> Description:
    """Read what :func:`signature_text` wrote."""
    found: Description = _tuples(json.loads(text))
    return found


def _tuples(value: Any) -> Any:
    return tuple(_tuples(part) for part in value) if isinstance(value, list) else value
