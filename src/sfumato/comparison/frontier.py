"""The efficient frontier: the releases that no other release beats."""

from __future__ import annotations

import numpy as np
import polars as pl


def frontier_of(rows: pl.DataFrame, risk: str, loss: str) -> pl.DataFrame:
    """Return the rows that no other row beats by lower risk at no more loss, by rising risk.

    Parameters
    ----------
    rows
        With two columns of figures of which less is better; rows without one of them are left out.
    """
    sorted_rows = rows.drop_nulls([risk, loss]).sort(risk, loss)
    best_before = sorted_rows[loss].cum_min().shift(1, fill_value=np.inf)
    return sorted_rows.filter(sorted_rows[loss] < best_before)
