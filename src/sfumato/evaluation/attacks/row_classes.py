"""Classes of published rows with equal quasi-identifying values, and the class of each person."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.grouping import group_records
from sfumato.errors import InputError
from sfumato.evaluation.attacks.coverage import coverage_of
from sfumato.evaluation.attacks.publication import read_publication
from sfumato.evaluation.attacks.register import read_register, shared_attributes
from sfumato.evaluation.attacks.victims import KEY
from sfumato.kernels.grouping import first_records
from sfumato.kernels.linking.linkage import covering_classes, only_classes
from sfumato.recoding.choice import Recoding
from sfumato.table.exact_names import columns_of
from sfumato.table.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class RowClasses:
    """Classes of n published rows with equal values, and of m people.

    Attributes
    ----------
    class_of_row : numpy.ndarray
        int64 (n,).
    class_of_person : numpy.ndarray
        int64 (m,): the only class that fits each person; −1 if none does, or several.
    count : int
    """

    class_of_row: NDArray[np.int64]
    class_of_person: NDArray[np.int64]
    count: int


def row_classes(frame: pl.DataFrame, people: Table, recoding: Recoding) -> RowClasses:
    """Group published rows, and find the class of each person.

    Raises
    ------
    InputError
        When release and people share no quasi-identifying attribute.
    """
    names = shared_attributes(frame, people.frame, people.schema)
    if not names:
        raise InputError("the release and the people share no quasi-identifying attribute, so nothing links them")
    known = read_register(people.frame, people.schema, names)
    alone = columns_of(frame, names).with_columns(pl.lit("").alias(KEY))
    publication = read_publication(alone, KEY, known, recoding)
    told = np.column_stack([one.codes for one in known])
    vector_of, count = group_records(told + 1)
    vectors = np.ascontiguousarray(told[first_records(vector_of, count)])
    coverage = coverage_of(publication, known)
    found = only_classes(vectors, coverage, covering_classes(coverage))
    return RowClasses(publication.class_of.astype(np.int64), found[vector_of], len(publication.sizes))
