"""Who is suppressed, so that those who are left out, or published as stars, are enough.

Sweeney's complementary suppression: records that are published as ``*`` form a class, which must satisfy the models
like every other. Records that are left out must be none or at least as many as the smallest class may have, so that
their number, which the report states, counts no small group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.classes.people import statistics_of
from sfumato.errors import UnsatisfiableError
from sfumato.kernels.boxes import class_boxes
from sfumato.models.says import says, smallest_allowed
from sfumato.recoding import Recoding


def settle_suppression(partition: Partition, problem: Problem, recoding: Recoding) -> Partition:
    """Suppress whole classes, smallest first, until the suppressed records may be published as `recoding` says.

    Models that compare with the whole table see another one when records go, so classes are judged anew by them. O((n +
    s) log c).
    """
    suppressed = partition.suppressed
    if suppressed == 0:
        return partition
    if suppressed > problem.suppression_limit:
        raise UnsatisfiableError(
            f"suppression: {suppressed} of {partition.height} {problem.table.unit} would have to be suppressed and the "
            f"limit allows {problem.suppression_limit}; raise the suppression limit or lower the models' parameters"
        )
    sizes = partition.sizes
    order = smallest_first(partition, sizes, problem.table.codes)
    affordable = int(np.searchsorted(np.cumsum(sizes[order]), problem.suppression_limit - suppressed, side="right"))

    def settled(added: int) -> Partition | None:
        candidate = _suppress(partition, order[:added]) if added else partition
        return candidate if _may_be_published(candidate, problem, recoding, as_it_was=not added) else None

    found = fewest_added(settled, affordable)
    if found is None:
        raise UnsatisfiableError(
            f"suppression: {suppressed} of {partition.height} {problem.table.unit} have to be suppressed. They may not "
            f"be published as {recoding.suppressed!r}, even with other classes beside them up to the limit of "
            f"{problem.suppression_limit}; raise the suppression limit or lower the models' parameters"
        )
    return found


def allowed_solution(problem: Problem, recoding: Recoding, solve: Callable[[Problem], Partition]) -> Partition:
    """Solve; where what is left out may not be published as `recoding` says, solve without leaving anybody out.

    Anonymizers do not know whether suppressed records will stand in the table as one more class.
    """
    partition = solve(problem)
    try:
        return settle_suppression(partition, problem, recoding)
    except UnsatisfiableError as error:
        strict = replace(problem, suppression_limit=0)
        try:
            return settle_suppression(solve(strict), strict, recoding)
        except UnsatisfiableError:
            raise error from None


def smallest_first(
    partition: Partition, sizes: NDArray[np.int64], codes: NDArray[np.unsignedinteger]
) -> NDArray[np.int64]:
    """Order the classes by size, those of one size by their values: class numbers may follow the input's order."""
    lows, highs = class_boxes(partition.covered_by, codes, partition.count)
    order: NDArray[np.int64] = np.lexsort((*highs.T[::-1], *lows.T[::-1], sizes))
    return order


def fewest_added(solution_with: Callable[[int], Partition | None], most: int) -> Partition | None:
    """Find the fewest classes to add, by doubling and then halving; exact where adding never breaks what holds."""
    failing, passing = -1, 0
    while (found := solution_with(passing)) is None:
        if passing == most:
            return None
        failing, passing = passing, min(max(1, 2 * passing), most)
    while passing - failing > 1:
        middle = (failing + passing) // 2
        better = solution_with(middle)
        if better is None:
            failing = middle
        else:
            passing, found = middle, better
    return found


def _suppress(partition: Partition, classes: NDArray[np.int64]) -> Partition:
    kept = np.ones(partition.count, dtype=np.bool_)
    kept[classes] = False
    number = np.where(kept, np.cumsum(kept, dtype=np.int32) - 1, np.int32(-1)).astype(np.int32)
    return partition.renumbered(number, partition.count - len(classes))


def _may_be_published(partition: Partition, problem: Problem, recoding: Recoding, *, as_it_was: bool) -> bool:
    starred = recoding.suppressed == "star"
    # With nobody left there is nothing to publish.
    if not partition.count or (not starred and partition.suppressed < smallest_allowed(problem.models)):
        return False
    # Whom the classes of a solution cover was judged by what made it, and stars cover a whole population.
    models = [
        model
        for model in problem.models
        if (starred and not says(model).needs_population)
        or not (says(model).survives_suppression or (says(model).needs_population and as_it_was and not starred))
    ]
    if not models:
        return True
    # Stars are one class beside the others, which comes first.
    class_of = partition.class_of + np.int32(starred)
    statistics = statistics_of(problem.table, class_of, partition.count + starred)
    return all(bool(model.holds(statistics).all()) for model in models)
