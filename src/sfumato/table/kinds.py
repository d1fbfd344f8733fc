"""How values of each kind are written as text: the one rule for labels, hierarchies and published cells."""

from __future__ import annotations

import polars as pl

from sfumato.table.schema import Kind


def text_of(values: pl.Series) -> pl.Series:
    """Write original values as text: integers without a point, floats as short as exact, dates in ISO form.

    Parameters
    ----------
    values
        Distinct original values of one attribute.

    Returns
    -------
    polars.Series
        Strings, same length; nulls stay null.
    """
    if values.dtype == pl.Boolean:
        return values.replace_strict({True: "true", False: "false"}, return_dtype=pl.String)
    if values.dtype.is_float():
        whole = values.cast(pl.Int64, strict=False)
        texts = [
            None if number is None else (str(integer) if integer is not None and integer == number else repr(number))
            for number, integer in zip(values.to_list(), whole.to_list(), strict=True)
        ]
        return pl.Series(values.name, texts, dtype=pl.String)
    return values.cast(pl.String)


def is_measured(kind: Kind) -> bool:
    """Tell whether values of this kind lie on a line, so that ranges and means make sense."""
    return kind in (Kind.NUMERIC, Kind.DATE)
