"""Column generalization: every value of a column occurs at least k times in it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.generalized import GeneralizedTable
from sfumato.models.k_anonymity import KAnonymity
from sfumato.published.checks.slices.layout import number_rows
from sfumato.published.sliced import Columns
from sfumato.recoding import recode
from sfumato.table.encoding import EncodedTable


@dataclass(frozen=True, eq=False, repr=False)
class RecodedColumns:
    """Columns whose values were generalized, by place.

    Attributes
    ----------
    numbers : dict of int to numpy.ndarray
        int32 (n,): number of each record's published value.
    tables : dict of int to GeneralizedTable
        What their quasi-identifying attributes publish.
    """

    numbers: dict[int, NDArray[np.int32]]
    tables: dict[int, GeneralizedTable]


def generalize_columns(problem: Problem, columns: Columns, k: int) -> RecodedColumns:
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
            recoded.tables[column] = _generalized(problem, own, k)
            recoded.numbers[column] = recoded.tables[column].class_of
    return recoded


def _generalized(problem: Problem, own: list[int], k: int) -> GeneralizedTable:
    attributes = tuple(problem.table.attributes[place] for place in own)
    nothing = np.zeros((problem.table.height, 0), dtype=np.uint8)
    alone = EncodedTable(attributes, np.ascontiguousarray(problem.table.codes[:, own]), (), nothing)
    models = (KAnonymity(k),)
    partition = Mondrian().solve(replace(problem, table=alone, models=models, suppression_limit=0))
    return recode(alone, partition)
