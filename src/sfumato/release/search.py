"""The lattice of full-domain generalizations of a table, searched but not published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

from sfumato.anonymizers.full_domain.incognito import Incognito
from sfumato.anonymizers.protocol import Anonymizer, Problem, Progress
from sfumato.classes.partition import Partition
from sfumato.errors import PolicyError
from sfumato.hierarchy.lattice_search import LatticeSearch
from sfumato.models.protocol import PrivacyModel
from sfumato.policy.parts import People
from sfumato.policy.policy import Policy
from sfumato.progress import beating, shown
from sfumato.release.anonymize import people_behind, rows_and_population
from sfumato.release.problem import problem_of
from sfumato.release.task import Arguments, Task, read_for_call
from sfumato.table.schema import Schema


@runtime_checkable
class LatticeSearcher(Anonymizer, Protocol):
    """An anonymizer that searches the lattice and can say what it found."""

    def search(self, problem: Problem) -> LatticeSearch:
        """Return what is found of every node, and the chosen one."""
        ...


def search_lattice(
    table: Any,
    models: Policy | PrivacyModel | Sequence[PrivacyModel],
    *,
    schema: Schema | None = None,
    anonymizer: Anonymizer | None = None,
    suppression_limit: float = 0.0,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress = shown,
    population: object = None,
    people: People | None = None,
) -> LatticeSearch:
    """Search the lattice of full-domain generalizations, and return what was found instead of a release.

    The result is for the eyes of the steward: which levels satisfy the models, and what they cost.

    Parameters
    ----------
    table
        From :func:`sfumato.read_table`.
    models
        One privacy model or several; or a policy that says them, the suppression limit, and the population or subset.
    schema
        The roles of the columns, where `table` is a file or a frame that was not read yet.
    anonymizer
        One that searches the lattice, such as :class:`sfumato.Datafly`; None is :class:`sfumato.Incognito`.
    suppression_limit
        Fraction of the records, 0 to 1, that may be left out.
    seed, threads, progress, population
        As for :func:`sfumato.anonymize`. The subset that is published is searched, not the whole table.
    people
        What is done about people who have several records; in a policy it says so itself. Classes of a node count
        people then, whose records must be allowed to lie apart. Who is left out whole after a search is not in it.

    Raises
    ------
    UnsatisfiableError
        When not even the top of the lattice satisfies the models within the suppression limit.
    PolicyError
        Contradictory or unknown settings, or an anonymizer that searches no lattice.
    """
    given = models if isinstance(models, Policy) else None
    table = read_for_call(table, schema, [] if given is None else [given])
    searcher = Incognito() if anonymizer is None else anonymizer
    if given is not None:
        models, suppression_limit = given.to_models(), given.suppression_limit
        people = given.to_people() if people is None else people
    policy = Arguments(models, searcher, suppression_limit=suppression_limit, people=people).policy(table, seed)
    rows, everybody = rows_and_population(table, given or policy, population)
    task = Task(rows, policy, seed=seed, threads=threads, progress=progress, population=everybody)
    if not isinstance(searcher, LatticeSearcher):
        raise PolicyError(f"anonymizer: {searcher.name} searches no lattice; give one that does, such as Incognito()")

    return beating(progress, "encoding", lambda beat: _searched(replace(task, progress=beat), searcher))


def _searched(task: Task, searcher: LatticeSearcher) -> LatticeSearch:
    problem = problem_of(task, searcher, task.encoded())
    if (behind := people_behind(task)) is None:
        return searcher.search(problem)
    from sfumato.release.folding import solution_for_people

    found = list[LatticeSearch]()

    def solve(within: Problem) -> Partition:
        found.append(searcher.search(within))
        return searcher.solve(within)

    solution_for_people(problem, behind, task, solve)
    return found[-1]
