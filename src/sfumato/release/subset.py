"""A research subset: only some records of a table are published, and all of them are the population."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError
from sfumato.policy.policy import Policy
from sfumato.table.schema import text_of
from sfumato.table.table import Table

Marks = Sequence[bool] | NDArray[np.bool_] | pl.Series


def published_subset(table: Table, policy: Policy, marks: Marks | None) -> NDArray[np.int64] | None:
    """Return the records that are published, int64, rising; None where all are.

    Raises
    ------
    PolicyError
        When both say it, or the policy names a column that is not there.
    InputError
        When the marks are none, or nobody is in the subset.
    """
    if marks is None and policy.subset is None:
        return None
    if marks is not None and policy.subset is not None:
        raise PolicyError("subset: the policy says which records are published, and so does the call; say it once")
    chosen = _marked(table, policy) if marks is None else _given(table, marks)
    if not chosen.any():
        raise InputError("subset: no record is in it; correct the value or the marks, or publish the whole table")
    return np.flatnonzero(chosen)


def _marked(table: Table, policy: Policy) -> NDArray[np.bool_]:
    assert policy.subset is not None
    column, value = policy.subset.column, policy.subset.value
    if column not in table.frame.columns:
        raise PolicyError(f"subset: column {column!r} is not in the table, or has no role; correct it, or give it one")
    marked: NDArray[np.bool_] = (text_of(table.frame[column]) == value).fill_null(False).to_numpy()
    return marked


def _given(table: Table, marks: Marks) -> NDArray[np.bool_]:
    given = np.asarray(marks)
    if given.dtype != np.bool_ or given.shape != (table.height,):
        raise InputError(f"subset: must say true or false of each of the {table.height:,} records")
    return given
