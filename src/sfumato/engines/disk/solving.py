"""Classes of a table whose codes lie on disk, the same as those that are found in memory.

Strict Mondrian is given the distinct records on disk. Every other algorithm is given the codes of all records in
memory, a few bytes each, while values stay on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.mondrian import MOST_RETRIED, Mondrian
from sfumato.anonymizers.protocol import Anonymizer, Problem
from sfumato.classes.generalized import Form, GeneralizedTable
from sfumato.classes.partition import Partition, group_records
from sfumato.engines.disk.laying_out import BLOCK, lay_out
from sfumato.errors import InputError, PolicyError
from sfumato.models.compiled import compile_counted
from sfumato.recoding import Recoding, recode_as_published
from sfumato.table.encoding import EncodedTable
from sfumato.table.large.coding import LargeTable
from sfumato.table.large.memory import let_go, mapped, write_out
from sfumato.table.row_order import canonical_order

Solve = Callable[[Problem], Partition]

MOST_RECORDS = 2**31 - 1


@dataclass(frozen=True, eq=False, repr=False)
class SolvedOnDisk:
    """What classes publish, and what the steward should know of how they came about."""

    generalized: GeneralizedTable  # its codes and class numbers may be mapped from disk
    notes: tuple[str, ...] = ()


def solve_on_disk(
    anonymizer: Anonymizer,
    problem: Problem,
    large: LargeTable,
    recoding: Recoding,
    folder: Path,
    solve: Solve,
    *,
    elsewhere: bool = False,
    folds: bool = False,
) -> SolvedOnDisk:
    """Find the classes of a table, and what they publish.

    * `anonymizer`: one that generalizes.
    * `problem`: its table is ``large.encoded``.
    * `recoding`: how classes are published.
    * `folder`: a private one, for files.
    * `solve`: solves a problem whose codes are in memory, and leaves out no more records than it allows.
    * `elsewhere`: whether that is always wanted, as others do the work.
    * `folds`: whether `solve` puts the records of each person together, in an order of its own.

    Raises ``UnsatisfiableError`` when the models cannot be met within the suppression limit. Raises ``PolicyError``
    when the algorithm needs what only a table in memory has.
    """
    if large.height > MOST_RECORDS:
        raise InputError(f"the table has more than {MOST_RECORDS:,} records, which is more than one release can have")
    if not (elsewhere or folds) and cuts_on_disk(anonymizer, problem, recoding):
        solved = _solved_by_cuts(anonymizer, problem, large, recoding, folder)
        if solved is not None:
            return solved
    partition = _solved_with_codes(anonymizer, problem, large, solve, folds=folds)
    generalized = recode_as_published(problem.table, partition, recoding, threads=problem.threads)
    return SolvedOnDisk(generalized, partition.notes)


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
) -> SolvedOnDisk | None:
    """Solve; None where the whole table breaks a model, so that records would have to be left out."""
    assert isinstance(mondrian, Mondrian)
    occurrences = [column.occurrences for column in large.sensitive]
    rules, whole, values = compile_counted(problem.models, problem.table, occurrences)
    if not all(model.holds(whole).all() for model in problem.models):
        return None
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
    anonymizer: Anonymizer, problem: Problem, large: LargeTable, solve: Solve, *, folds: bool
) -> Partition:
    problem = replace(problem, table=_in_memory(problem.table))
    order_free = getattr(anonymizer, "order_free", False)
    if large.carried and not order_free:
        raise PolicyError(_told_apart(f"{anonymizer.name} tells"))
    if folds or (order_free and not problem.suppression_limit):
        return solve(problem)
    order = canonical_order(problem.table)
    partition = solve(replace(problem, table=problem.table.take(order))).put_back(order)
    # Of records that are alike in all codes, it is insensitive columns that say which are left out.
    if large.carried and partition.suppressed and _splits_alike(partition, problem.table):
        raise PolicyError(_told_apart("leaving some records out would tell"))
    return partition


def _told_apart(what: str) -> str:
    return (
        f"engine: {what} records with equal values apart by the insensitive columns, which the disk engine does not "
        "hold; leave those columns out, or use --engine memory"
    )


def _splits_alike(partition: Partition, table: EncodedTable) -> bool:
    """Tell whether some records that are alike in all codes are in different classes, or only some are left out."""
    dtype = np.promote_types(table.codes.dtype, table.sensitive_codes.dtype)
    joined = [codes.astype(dtype, copy=False) for codes in (table.codes, table.sensitive_codes)]
    alike, count = group_records(np.concatenate(joined, axis=1))
    first = np.empty(count, dtype=np.int32)
    first[alike] = partition.class_of
    return bool((first[alike] != partition.class_of).any())


def _in_memory(table: EncodedTable) -> EncodedTable:
    return replace(table, codes=np.array(table.codes), sensitive_codes=np.array(table.sensitive_codes))
