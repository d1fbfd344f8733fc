"""The lattice of full-domain generalizations of a table, searched but not published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

from sfumato.anonymizers.full_domain.incognito import Incognito
from sfumato.anonymizers.protocol import Anonymizer, Problem, Progress
from sfumato.errors import PolicyError
from sfumato.hierarchy.lattice_search import LatticeSearch
from sfumato.models.protocol import PrivacyModel
from sfumato.progress import beating, shown
from sfumato.release.problem import problem_of
from sfumato.release.task import Arguments, Task, read_for_call
from sfumato.table.encoding import encode
from sfumato.table.schema import Schema


@runtime_checkable
class LatticeSearcher(Anonymizer, Protocol):
    """An anonymizer that searches the lattice and can say what it found."""

    def search(self, problem: Problem) -> LatticeSearch:
        """Return what is found of every node, and the chosen one."""
        ...


def search_lattice(
    table: Any,
    models: PrivacyModel | Sequence[PrivacyModel],
    *,
    schema: Schema | None = None,
    anonymizer: Anonymizer | None = None,
    suppression_limit: float = 0.0,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress = shown,
) -> LatticeSearch:
    """Search the lattice of full-domain generalizations, and return what was found instead of a release.

    The result is for the eyes of the steward: which levels satisfy the models, and what they cost.

    Parameters
    ----------
    table
        From :func:`sfumato.read_table`.
    models
        One privacy model or several.
    schema
        The roles of the columns, where `table` is a file or a frame that was not read yet.
    anonymizer
        One that searches the lattice, such as :class:`sfumato.Datafly`; None is :class:`sfumato.Incognito`.
    suppression_limit
        Fraction of the records, 0 to 1, that may be left out.
    seed, threads, progress
        As for :func:`sfumato.anonymize`.

    Raises
    ------
    UnsatisfiableError
        When not even the top of the lattice satisfies the models within the suppression limit.
    PolicyError
        Contradictory or unknown settings, or an anonymizer that searches no lattice.
    """
    table = read_for_call(table, schema, ())
    searcher = Incognito() if anonymizer is None else anonymizer
    arguments = Arguments(models, searcher, suppression_limit=suppression_limit)
    task = Task(table, arguments.policy(table, seed), seed=seed, threads=threads, progress=progress)
    if not isinstance(searcher, LatticeSearcher):
        raise PolicyError(f"anonymizer: {searcher.name} searches no lattice; give one that does, such as Incognito()")

    def work(beat: Progress) -> LatticeSearch:
        return searcher.search(problem_of(replace(task, progress=beat), searcher, encode(table)))

    return beating(progress, "encoding", work)
