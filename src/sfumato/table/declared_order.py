"""The order that a frame declares for the categories of a column: small before medium before large."""

from __future__ import annotations

from typing import Any

import polars as pl


def with_declared_order(column: pl.Series, native: Any) -> pl.Series:
    """Return a column as polars has it, as an Enum where the library that it comes from declares an order.

    Parameters
    ----------
    column
        As polars has it.
    native
        The same column in its own library: an ordered categorical of pandas or dictionary of Arrow has an order.
    """
    order = _categories(native) if isinstance(column.dtype, pl.Categorical) else None
    if order is None or not all(isinstance(category, str) for category in order):
        return column
    return column.cast(pl.Enum(order))


def _categories(native: Any) -> list[Any] | None:
    """Return the categories of a column in their declared order, or None if they have none."""
    dtype = getattr(native, "dtype", None)
    if dtype is not None and hasattr(dtype, "categories"):
        return list(dtype.categories) if getattr(dtype, "ordered", False) else None
    if not getattr(getattr(native, "type", None), "ordered", False):
        return None
    unified = native.unify_dictionaries() if hasattr(native, "unify_dictionaries") else native
    return list(unified.chunk(0).dictionary.to_pylist()) if unified.num_chunks else None
