"""The efficient frontier: the releases that no other release beats; and those that are beaten by a stricter promise."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from sfumato.numbers import figure, percent

STRICTER = {"k": 1, "l": 1, "t": -1, "alpha": -1, "beta": -1, "delta": -1}
"""Whether a model promises more where a parameter is larger, or where it is smaller."""


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


def dominated(means: pl.DataFrame, vary: str) -> Iterator[str]:
    """Say which releases promise less than another one of the same anonymizer, and yet lose more.

    Parameters
    ----------
    means
        One row for each anonymizer and value, with the figure ``loss``; without it there is nothing to say.
    vary
        The parameter that varies.
    """
    if vary not in STRICTER or "loss" not in means.columns:
        return
    for rows in means.drop_nulls("loss").partition_by("anonymizer", maintain_order=True):
        by_strictness = rows.sort(pl.col(vary) * STRICTER[vary])
        values, losses = by_strictness[vary].to_list(), by_strictness["loss"].to_list()
        for place, (value, loss) in enumerate(zip(values, losses, strict=True)):
            better = min(range(place, len(losses)), key=losses.__getitem__)
            if losses[better] < loss:
                yield (
                    f"{by_strictness['anonymizer'][0]}, {vary} = {figure(value)}: {vary} = {figure(values[better])} "
                    f"promises more and loses less, {percent(losses[better], 3)} instead of {percent(loss, 3)}"
                )
