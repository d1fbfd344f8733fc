"""Run the algorithm of a release again, as an attacker who knows it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.errors import PolicyError, UnsatisfiableError, raise_all
from sfumato.models import known_model
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import of_population, says
from sfumato.models.whole_table import whole_table_models
from sfumato.release.folding import looked_at, unfolded
from sfumato.table.encoding import PeopleApart
from sfumato.table.folding import fold, numbered_by_content
from sfumato.table.row_order import canonical_order


class Solver(Protocol):
    """An algorithm that returns a partition."""

    def solve(self, problem: Any) -> Partition:
        """Partition the records."""
        ...


def solver_of(anonymizer: object | None, attack: str, does: str = "solve") -> Solver:
    """Return the algorithm of a target, or raise PolicyError when it is unknown or cannot be run: it lacks a method."""
    if anonymizer is None or isinstance(anonymizer, type) or not callable(getattr(anonymizer, does, None)):
        raise PolicyError(
            f"{attack}: the attacker runs the algorithm of the release again; give it as anonymizer, e.g. Mondrian()"
        )
    return cast(Solver, anonymizer)


def models_of(entries: Sequence[Mapping[str, Any]], attack: str) -> tuple[PrivacyModel, ...]:
    """Build the promised models, or raise PolicyError when there are none or one is unknown."""
    built = [known_model(entry) for entry in entries]
    problems = (
        [f"{attack}: {built.count(None)} promised model(s) are not known to this version"] if None in built else []
    )
    if not entries:
        problems.append(f"{attack}: the attacker knows what was promised; give the models of the release")
    known = tuple(model for model in built if model is not None)
    if whole_table_models(known) or of_population(known):
        problems.append(
            f"{attack}: is not played on promises about a population, or about figures of the whole table: what the "
            "algorithm refuses then follows from more than each class"
        )
    if any(says(model).needs_original for model in known):
        problems.append(
            f"{attack}: is not played on promises that compare with all original records: what the algorithm refuses "
            "then follows from records that nobody sees"
        )
    raise_all(PolicyError, problems)
    return known


@dataclass(frozen=True, eq=False, repr=False)
class Behind:
    """Who the records are about, where promises are about people.

    `numbers`: int32 (n,): the person of each record. `together`: Whether all records of a person share one class.
    `carried`: uint64 (n,): a hash of what records hold beside their quasi-identifying codes, by which people are
    ordered.
    """

    numbers: NDArray[np.int32]
    together: bool
    carried: NDArray[np.uint64]

    def take(self, rows: NDArray[np.int64]) -> Behind:
        """Return the people behind some of the records."""
        return replace(self, numbers=self.numbers[rows], carried=self.carried[rows])

    def exchanged(self, world: NDArray[np.int64]) -> Behind:
        """Return the same people with other records' values: what a record holds beside its codes goes with these."""
        return replace(self, carried=self.carried[world])


def rerun(solver: Solver, problem: Problem, behind: Behind | None = None) -> Partition | None:
    """Return the solution, or None when the models cannot be met.

    As a release is made: records are in canonical order; where promises are about people, their records are folded into
    one or classes are judged by people.
    """
    try:
        if behind is None:
            return _solved(solver, problem)
        problem = replace(problem, table=looked_at(problem))
        if not behind.together:
            numbers = numbered_by_content(problem.table, behind.numbers, (behind.carried, None))
            return _solved(solver, replace(problem, table=replace(problem.table, apart=PeopleApart(numbers, None))))
        folded = fold(problem.table, behind.numbers, behind.carried)
        # People stand in an order that depends on their records alone.
        return unfolded(solver.solve(replace(problem, table=folded.table)), folded)
    except UnsatisfiableError:
        return None


def _solved(solver: Solver, problem: Problem) -> Partition:
    if getattr(solver, "order_free", False) and not problem.suppression_limit:
        return solver.solve(problem)
    order = canonical_order(problem.table)
    return solver.solve(replace(problem, table=problem.table.take(order))).put_back(order)
