"""What an anonymizer is: an encoded table and models in, a solution out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, runtime_checkable

from sfumato.classes.partition import Partition
from sfumato.models.protocol import PrivacyModel
from sfumato.running import Progress as Progress
from sfumato.running import silent as silent
from sfumato.table.encoding import EncodedTable


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """All that an anonymizer is told.

    Attributes
    ----------
    table : EncodedTable
    models : sequence of PrivacyModel
        Every class of the solution must satisfy every one.
    suppression_limit : int
        Records that may be suppressed at most, over the whole run.
    seed : int or None
        For the algorithm's own choices; None draws from the operating system.
    threads : int
        Upper bound on threads; never changes the result.
    progress : callable
    """

    table: EncodedTable
    models: Sequence[PrivacyModel]
    suppression_limit: int = 0
    seed: int | None = None
    threads: int = 1
    progress: Progress = field(default=silent)


@runtime_checkable
class Anonymizer(Protocol):
    """An algorithm that returns a solution.

    Implementations are frozen dataclasses whose fields are the algorithm's options, checked when built.
    """

    name: ClassVar[str]
    """Name in policies and on the command line, e.g. ``"mondrian"``."""
    decides_regions: ClassVar[bool]
    """Whether solutions say what each class publishes (:class:`~sfumato.classes.regions.Regions`)."""

    def solve(self, problem: Problem) -> Partition:
        """Partition the records so that every class satisfies every model, or raise ``UnsatisfiableError``."""
        ...
