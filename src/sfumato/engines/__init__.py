"""Where the work on a table runs: an engine encodes a table, has its parts solved, and writes what is published."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Anonymizer, Problem, SolvesParts
from sfumato.classes.partition import GeneralizedTable, Partition
from sfumato.parallel import as_done
from sfumato.published import PublishedTable
from sfumato.recoding import publish
from sfumato.table.encoding import EncodedTable, encode
from sfumato.table.table import Table

# The engine of one machine: everything in memory, parts on threads.


@dataclass(frozen=True)
class LocalEngine:
    """Work in memory; see :class:`~sfumato.engines.Engine`."""

    def encode(self, table: Table) -> EncodedTable:
        """Return the table's codes."""
        return encode(table)

    def solve(self, anonymizer: Anonymizer, problem: Problem) -> Partition:
        """Solve a problem, its parts on the threads that it allows."""
        if not isinstance(anonymizer, SolvesParts):
            return anonymizer.solve(problem)
        # Algorithms that solve no parts need nothing of this.
        from sfumato.anonymizers.parts import solve_in_parts

        return solve_in_parts(anonymizer, problem, partial(as_done, threads=problem.threads))

    def write(
        self, classes: GeneralizedTable, table: Table, order: NDArray[np.integer], *, threads: int
    ) -> PublishedTable:
        """Return the published records, a column on each thread."""
        frame = publish(classes, table, order, threads=threads)
        return PublishedTable(frame, tuple(table.schema.quasi_identifying), tuple(table.schema.sensitive))


class Engine(Protocol):
    """Where the work on a table runs; it knows no algorithm, no model: under a seed each publishes the same bytes."""

    def encode(self, table: Table) -> EncodedTable:
        """Return the codes, as :func:`sfumato.table.encoding.encode` does; ``SfumatoError`` with all problems."""
        ...

    def solve(self, anonymizer: Anonymizer, problem: Problem) -> Partition:
        """Return the solution that ``anonymizer.solve(problem)`` returns; an engine is asked for parts alone."""
        ...

    def write(
        self, classes: GeneralizedTable, table: Table, order: NDArray[np.integer], *, threads: int
    ) -> PublishedTable:
        """Return the records named by `order`, in this order, with what their classes publish.

        See :func:`sfumato.recoding.recode`; the order was drawn by whoever calls.
        """
        ...
