"""Columns by their exact names: polars takes ``*`` and ``^…$`` for patterns where it is given a text for a column."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl
import polars.selectors as cs


def exactly(*names: str) -> pl.Expr:
    """Return the columns of these names, in this order, for any place where polars takes columns."""
    return cs.by_name(*names).as_expr()


def columns_of(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Return the columns of these names, in this order."""
    return frame[list(names)]
