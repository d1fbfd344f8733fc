"""Exact decimal numbers that arrive as text."""

from __future__ import annotations

import polars as pl

_DIGITS = 38


def numbers_in(texts: pl.Series) -> pl.Series:
    """Return decimal numbers as whole numbers or decimals that are equal to them; as texts where both are too narrow.

    ``NaN`` is missing; if one is infinite, all are floating-point numbers.

    Parameters
    ----------
    texts
        Plain decimal numbers, such as ``-12.50``, ``NaN`` and ``Infinity``.

    Notes
    -----
    Cost O(bytes).
    """
    texts = texts.set((texts == "NaN").fill_null(False), None)
    if texts.str.contains("Infinity", literal=True).any():
        return texts.cast(pl.Float64)
    behind = texts.str.extract(r"\.(\d+)$").str.len_bytes()
    scale = 0 if behind.null_count() == len(behind) else int(behind.to_numpy()[behind.is_not_null()].max())
    if scale > _DIGITS:
        return texts
    numbers = texts.cast(pl.Decimal(_DIGITS, scale) if scale else pl.Int64, strict=False)
    return numbers if numbers.null_count() == texts.null_count() else texts
