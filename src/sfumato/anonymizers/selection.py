"""The best of several solutions."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.classes.partition import Partition
from sfumato.metrics import normalized_certainty_penalty
from sfumato.recoding import TIGHT, recode
from sfumato.table.encoding import EncodedTable


def least_loss(table: EncodedTable, solutions: Sequence[Partition]) -> Partition:
    """Return the solution with the least normalized NCP, suppressed records charged; the first of equal ones.

    Classes are measured as intervals, common ancestors and value sets, however they will be published.
    """
    return min(solutions, key=lambda solution: normalized_certainty_penalty(recode(table, solution, TIGHT)))
