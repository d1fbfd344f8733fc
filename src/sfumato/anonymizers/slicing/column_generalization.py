"""Column generalization: every value of a column occurs at least k times in it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.anonymizers.protocol import Problem
from sfumato.models.k_anonymity import KAnonymity
from sfumato.published.checks.slices.layout import number_rows
from sfumato.published.sliced import Columns
from sfumato.recoding import publish, recode
from sfumato.table.encoding import EncodedTable
from sfumato.table.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class RecodedColumns:
    """Columns whose values were generalized, by place.

    Attributes
    ----------
    numbers : dict of int to numpy.ndarray
        int32 (n,): number of each record's published value.
    frames : dict of int to polars.DataFrame
        Published values of each record, the sensitive ones beside them as they were.
    """

    numbers: dict[int, NDArray[np.int32]]
    frames: dict[int, pl.DataFrame]


def generalize_columns(problem: Problem, table: Table, columns: Columns, k: int) -> RecodedColumns:
    """Generalize the quasi-identifying values of every column in which some occur less than `k` times.

    A value that occurs once in its column has one matching bucket: whoever knows it knows the bucket, and that the
    person is in the table. Each column is solved as a k-anonymity problem of its own, by Mondrian over the hierarchies
    of its attributes; columns that need nothing stay as they are. Sensitive values beside them are never touched.

    Raises
    ------
    UnsatisfiableError
        When there are fewer than `k` records.
    """
    recoded = RecodedColumns({}, {})
    place_of = {attribute.name: place for place, attribute in enumerate(problem.table.attributes)}
    for column, names in enumerate(columns):
        own = [place_of[name] for name in names if name in place_of]
        if own and np.bincount(number_rows(problem.table.codes[:, own])).min() < k:
            numbers, frame = _generalized(problem, table, own, k)
            recoded.numbers[column] = numbers
            recoded.frames[column] = frame
    return recoded


def _generalized(problem: Problem, table: Table, own: list[int], k: int) -> tuple[NDArray[np.int32], pl.DataFrame]:
    attributes = tuple(problem.table.attributes[place] for place in own)
    nothing = np.zeros((table.height, 0), dtype=np.uint8)
    alone = EncodedTable(attributes, np.ascontiguousarray(problem.table.codes[:, own]), (), nothing)
    models = (KAnonymity(k),)
    partition = Mondrian().solve(replace(problem, table=alone, models=models, suppression_limit=0))
    return partition.class_of, publish(recode(alone, partition), table, np.arange(table.height))
