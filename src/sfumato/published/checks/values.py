"""The published values of each class as numbers, for models of single values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.kernels.grouping import first_records
from sfumato.models.starred_k_anonymity import STARRED
from sfumato.recoding.notation import STAR
from sfumato.table.distinct import private_categorical


def numbered_values(columns: Sequence[pl.Series], class_of: NDArray[np.int32], count: int) -> NDArray[np.int32]:
    """Give a number to every published value of each class.

    Parameters
    ----------
    columns
        The q published columns, n labels each.
    class_of
        int32 (n,): rows with equal labels have one number, counted from 0 in order of first appearance.
    count
        Number of classes c.

    Returns
    -------
    numpy.ndarray
        int32 (c, q): equal texts of a column have equal numbers, the missing value one of its own; −1 is ``*``.
    """
    firsts = first_records(class_of, count)
    return np.column_stack([_numbers(column.gather(firsts)) for column in columns]).reshape(count, len(columns))


def _numbers(labels: pl.Series) -> NDArray[np.int32]:
    texts = labels.cast(pl.String)
    numbers = texts.cast(private_categorical()).to_physical().cast(pl.Int64) + 1
    values = numbers.fill_null(0).to_numpy().astype(np.int32)
    return np.where(texts.eq_missing(STAR).to_numpy(), np.int32(STARRED), values).astype(np.int32)
