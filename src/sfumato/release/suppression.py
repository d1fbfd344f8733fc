"""Suppression over a whole run: within the limit, and never a number of records that points at somebody.

Sweeney's complementary suppression: records that are published as ``*`` form a class, which must satisfy the models
like every other. Records that are left out must be none or at least as many as the smallest class may have, so that
their number, which the report states, counts no small group.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.classes.statistics import class_statistics
from sfumato.errors import UnsatisfiableError
from sfumato.recoding import Recoding


def settle_suppression(partition: Partition, problem: Problem, recoding: Recoding) -> Partition:
    """Suppress whole classes, smallest first, until the suppressed records may be published as `recoding` says.

    Parameters
    ----------
    partition
        A solution; its suppressed records carry −1.
    problem
        Models and limit.
    recoding
        Whether suppressed records are removed or published as ``*``.

    Returns
    -------
    Partition
        The same one when nothing is suppressed or nothing has to be added.

    Raises
    ------
    UnsatisfiableError
        When the limit does not allow it.
    """
    suppressed = partition.suppressed
    if suppressed == 0:
        return partition
    sizes = partition.sizes
    order = np.argsort(sizes, kind="stable")
    added = 0
    while not _may_be_published(_suppress(partition, order[:added]), problem, recoding):
        if added == len(order):
            raise UnsatisfiableError(
                f"suppression: not even all {partition.height} records together satisfy the models"
            )
        suppressed += int(sizes[order[added]])
        added += 1
    if suppressed > problem.suppression_limit:
        raise UnsatisfiableError(
            f"suppression: {suppressed} of {partition.height} records would have to be suppressed and the limit allows "
            f"{problem.suppression_limit}; raise the suppression limit or lower the models' parameters"
        )
    return _renumbered(_suppress(partition, order[:added])) if added else partition


def _suppress(partition: Partition, classes: NDArray[np.int64]) -> Partition:
    gone = np.zeros(partition.count + 1, dtype=np.bool_)  # the last entry stands for −1
    gone[classes] = True
    return Partition(np.where(gone[partition.class_of], np.int32(-1), partition.class_of), partition.count)


def _may_be_published(partition: Partition, problem: Problem, recoding: Recoding) -> bool:
    if recoding.suppressed != "star":
        return partition.suppressed >= max([1, *(int(model.parameters().get("k", 1)) for model in problem.models)])
    # As class 0 beside the others, so that models which compare with the whole table see all of it.
    table = problem.table
    statistics = class_statistics(
        partition.class_of + np.int32(1), partition.count + 1, table.sensitive_codes, table.sensitive
    )
    return all(bool(model.holds(statistics)[0]) for model in problem.models)


def _renumbered(partition: Partition) -> Partition:
    kept = partition.class_of >= 0
    _, numbers = np.unique(partition.class_of[kept], return_inverse=True)
    class_of = np.full(partition.height, -1, dtype=np.int32)
    class_of[kept] = numbers
    return Partition(class_of, int(numbers.max(initial=-1)) + 1)
