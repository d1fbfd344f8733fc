"""Classes of a table whose codes lie on disk, the same as those that are found in memory.

Strict Mondrian is given the distinct records on disk. Every other algorithm is given the codes of all records in
memory, a few bytes each, while values stay on disk.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.mondrian.mondrian import MOST_RETRIED, Mondrian
from sfumato.anonymizers.protocol import Anonymizer, Problem
from sfumato.classes.generalized import Form, GeneralizedTable
from sfumato.classes.partition import Partition
from sfumato.engines.disk.laying_out import BLOCK, lay_out
from sfumato.engines.local import LocalEngine
from sfumato.engines.protocol import Engine
from sfumato.errors import InputError, PolicyError, UnsatisfiableError
from sfumato.models.compiled import compile_counted
from sfumato.recoding import Recoding, recode_as_published
from sfumato.table.encoding import EncodedTable
from sfumato.table.large.coding import LargeTable
from sfumato.table.large.mapping import let_go, mapped, write_out
from sfumato.table.row_order import canonical_order

MOST_RECORDS = 2**31 - 1


@dataclass(frozen=True, eq=False, repr=False)
class SolvedOnDisk:
    """What classes publish, and what the steward should know of how they came about.

    Attributes
    ----------
    generalized : GeneralizedTable
        Its codes and class numbers may be mapped from disk.
    notes : tuple of str
    """

    generalized: GeneralizedTable
    notes: tuple[str, ...] = ()


def solve_on_disk(
    anonymizer: Anonymizer,
    problem: Problem,
    large: LargeTable,
    recoding: Recoding,
    folder: Path,
    engine: Engine | None = None,
) -> SolvedOnDisk:
    """Find the classes of a table, and what they publish.

    Parameters
    ----------
    anonymizer
        One that generalizes.
    problem
        Its table is ``large.encoded``.
    large
        The table.
    recoding
        How classes are published.
    folder
        A private one, for files.
    engine
        Another one that is handed the codes of all records, and solves the problem.

    Raises
    ------
    UnsatisfiableError
        When the models cannot be met; also where records would have to be left out.
    PolicyError
        When the algorithm needs what only a table in memory has.
    """
    if large.height > MOST_RECORDS:
        raise InputError(f"the table has more than {MOST_RECORDS:,} records, which is more than one release can have")
    if engine is None and cuts_on_disk(anonymizer, problem, recoding):
        return _solved_by_cuts(anonymizer, problem, large, recoding, folder)
    return _solved_with_codes(anonymizer, problem, large, recoding, engine or LocalEngine())


def cuts_on_disk(anonymizer: Anonymizer, problem: Problem, recoding: Recoding) -> bool:
    """Tell whether strict Mondrian needs nothing in memory but single ranges of distinct records."""
    if not isinstance(anonymizer, Mondrian) or anonymizer.mode != "strict":
        return False
    if anonymizer.decides_regions or anonymizer.blind:
        return False
    # Means are those of all records of a class, and small tables are solved several times where rules refuse cuts.
    means = Form.MEAN in recoding.forms_of(problem.table.attributes)
    return not means and problem.table.height > MOST_RETRIED


def _solved_by_cuts(
    mondrian: Anonymizer, problem: Problem, large: LargeTable, recoding: Recoding, folder: Path
) -> SolvedOnDisk:
    assert isinstance(mondrian, Mondrian)
    occurrences = [column.occurrences for column in large.sensitive]
    rules, whole, values = compile_counted(problem.models, problem.table, occurrences)
    failing = [model for model in problem.models if not model.holds(whole).all()]
    if failing:
        return _solved_with_codes(mondrian, problem, large, recoding, LocalEngine())
    laid = lay_out(problem.table, values, folder)
    records = laid.records
    starts = mondrian.class_starts(records, rules, problem)
    partition = Partition(np.cumsum(starts, dtype=np.int32) - np.int32(1), int(np.count_nonzero(starts)))
    width = problem.table.codes.shape[1]
    distinct = replace(
        problem.table,
        codes=records.codes[:, :width],
        sensitive=(),
        sensitive_codes=np.empty((records.height, 0), dtype=np.uint8),
    )
    found = recode_as_published(distinct, partition, recoding, by_column=True)
    for array in (records.words, records.weights):
        let_go(array)
    sizes = _records_of_classes(found.class_of, records.weights, len(found.sizes))
    class_of = _class_of_rows(records.spread(found.class_of), laid.record_of, folder)
    for array in (records.rows, records.weights, laid.record_of):
        let_go(array)
    return SolvedOnDisk(GeneralizedTable(problem.table, found.columns, class_of, sizes))


def _records_of_classes(class_of: NDArray[np.int32], weights: NDArray[np.int32], count: int) -> NDArray[np.int64]:
    """Add up the records of each class; int64 (count,)."""
    sizes = np.zeros(count, dtype=np.int64)
    for start in range(0, len(class_of), BLOCK):
        own = slice(start, start + BLOCK)
        sizes += np.bincount(class_of[own], weights=weights[own], minlength=count).astype(np.int64)
    return sizes


def _class_of_rows(class_of: NDArray[np.int32], record_of: NDArray[np.int32], folder: Path) -> NDArray[np.int32]:
    path = folder / "class-of"
    with path.open("wb") as file:
        for start in range(0, len(record_of), BLOCK):
            write_out(class_of[record_of[start : start + BLOCK]], file)
    return mapped(path, np.int32, (len(record_of),))


def _solved_with_codes(
    anonymizer: Anonymizer, problem: Problem, large: LargeTable, recoding: Recoding, engine: Engine
) -> SolvedOnDisk:
    problem = replace(problem, table=_in_memory(problem.table))
    free = getattr(anonymizer, "order_free", False) and not problem.suppression_limit
    if not free and large.carried and not getattr(anonymizer, "order_free", False):
        raise PolicyError(
            f"engine: {anonymizer.name} tells records with equal values apart by the insensitive columns, which the "
            "disk engine does not hold; leave those columns out, or use --engine memory"
        )
    if free:
        partition = engine.solve(anonymizer, problem)
    else:
        order = canonical_order(problem.table)
        ordered = replace(problem, table=problem.table.take(order))
        partition = engine.solve(anonymizer, ordered).put_back(order)
    if partition.suppressed:
        raise UnsatisfiableError(
            f"suppression: {partition.suppressed:,} records would be left out, and the disk engine leaves none out; "
            "use --engine memory, or lower the models' parameters"
        )
    generalized = recode_as_published(problem.table, partition, recoding, threads=problem.threads)
    return SolvedOnDisk(generalized, partition.notes)


def _in_memory(table: EncodedTable) -> EncodedTable:
    return replace(table, codes=np.array(table.codes), sensitive_codes=np.array(table.sensitive_codes))
