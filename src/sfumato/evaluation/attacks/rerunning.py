"""Run the algorithm of a release again, as an attacker who knows it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

from sfumato.classes.partition import Partition
from sfumato.errors import PolicyError, UnsatisfiableError, raise_all
from sfumato.models import known_model
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import of_population
from sfumato.models.whole_table import WholeTableModel, whole_table_models
from sfumato.progress import Progress, silent
from sfumato.table.encoding import EncodedTable
from sfumato.table.row_order import canonical_order


@dataclass(frozen=True, eq=False, repr=False)
class RerunTask:
    """What an attacker gives the algorithm: the same fields that anonymizers get.

    Attacks are in the same layer as anonymizers and may not import them; a test compares the fields with those of their
    ``Problem``, which says what they mean.
    """

    table: EncodedTable
    models: Sequence[PrivacyModel]
    suppression_limit: int = 0
    seed: int | None = None
    threads: int = 1
    progress: Progress = field(default=silent)
    whole: Sequence[WholeTableModel] = ()


class Solver(Protocol):
    """An algorithm that returns a partition."""

    def solve(self, problem: Any) -> Partition:
        """Partition the records."""
        ...


def solver_of(anonymizer: object | None, attack: str) -> Solver:
    """Return the algorithm of a target, or raise PolicyError when it is unknown or returns no partition."""
    if anonymizer is None or isinstance(anonymizer, type) or not callable(getattr(anonymizer, "solve", None)):
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
    raise_all(PolicyError, problems)
    return known


def rerun(solver: Solver, task: RerunTask) -> Partition | None:
    """Return the solution, or None when the models cannot be met; the records are in canonical order."""
    try:
        if getattr(solver, "order_free", False) and not task.suppression_limit:
            return solver.solve(task)
        order = canonical_order(task.table)
        return solver.solve(replace(task, table=task.table.take(order))).put_back(order)
    except UnsatisfiableError:
        return None
