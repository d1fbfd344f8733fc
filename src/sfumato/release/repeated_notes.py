"""What a steward must know where people seem to have several records and nobody said who they are."""

from __future__ import annotations

import numpy as np

from sfumato.classes.partition import Partition
from sfumato.classes.people import counted_people
from sfumato.numbers import counted
from sfumato.table.table import Table


def repeated_notes(table: Table, partition: Partition | None, k: int) -> tuple[str, ...]:
    """Say that a column repeats as the key of people does, and how few of them a class may hold.

    Parameters
    ----------
    table
        The table that was read.
    partition
        Its solution; None where a release has no classes.
    k
        The class size that was promised.
    """
    if table.repeated is None:
        return ()
    note = table.repeated.sentence()
    if partition is None:
        return (note,)
    nothing = np.empty((table.height, 0), dtype=np.uint8)
    sizes = counted_people(partition.class_of, partition.count, table.repeated.people, nothing, ()).sizes
    few = int(np.count_nonzero(sizes < k))
    return (
        f"{note} By that column the smallest class has {counted(int(sizes.min()), 'person')}, and {few:,} of "
        f"{counted(partition.count, 'class')} have fewer than {k:,}.",
    )
