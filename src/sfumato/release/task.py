"""What a call asks for, checked before any work."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from sfumato.anonymizers.protocol import Anonymizer, Problem, Progress, Publisher, silent
from sfumato.errors import PolicyError, raise_all
from sfumato.models.protocol import PrivacyModel
from sfumato.progress import thread_count
from sfumato.randomness import seed_problems
from sfumato.recoding import Recoding
from sfumato.table.encoding import EncodedTable, encode
from sfumato.table.table import Table

STEPS = 6


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """Arguments of :func:`sfumato.anonymize`, of the right types; the defaults are settled.

    Attributes
    ----------
    table : Table
    models : tuple of PrivacyModel
        Given as one model or a sequence. Empty exactly for publishers that promise nothing.
    anonymizer : Anonymizer or Publisher
    recoding : Recoding
    suppression_limit : float
        Fraction of the records, 0 to 1.
    refine : int
    bound : bool
    seed : int or None
    threads : int or None
    progress : callable
    read : EncodedTable or None
        The table's codes, where they are known already.

    Raises
    ------
    PolicyError
        With every mistake at once.
    """

    table: Table
    models: Sequence[PrivacyModel]
    anonymizer: Anonymizer | Publisher
    recoding: Recoding = field(default_factory=Recoding)
    suppression_limit: float = 0.0
    refine: int = 0
    bound: bool = False
    seed: int | None = None
    threads: int | None = None
    progress: Progress = silent
    read: EncodedTable | None = None

    def __post_init__(self) -> None:
        """Check everything that can be told without looking into the table."""
        given = tuple(self.models) if isinstance(self.models, Sequence) else (self.models,)
        object.__setattr__(self, "models", given)
        raise_all(PolicyError, [*self._wrong_types(), *self._wrong_models(), *self._wrong_numbers()])

    def encoded(self) -> EncodedTable:
        """Return the table's codes.

        Raises
        ------
        SfumatoError
            With the problems of all columns; see :func:`~sfumato.table.encoding.encode`.
        """
        return self.read or encode(self.table)

    def problem(self, encoded: EncodedTable) -> Problem:
        """Return the problem that the algorithm is handed."""
        # A fraction such as 0.1 is not exact, and must not cost a record.
        limit = math.floor(self.suppression_limit * encoded.height + 1e-9)
        return Problem(encoded, self.models, limit, self.seed, thread_count(self.threads), self.progress)

    def step(self, what: str, done: int) -> None:
        """Report progress."""
        self.progress(what, done, STEPS)

    def _wrong_types(self) -> list[str]:
        problems = []
        if not isinstance(self.table, Table):
            problems.append("table: is no Table; read it with sfumato.read_table")
        if isinstance(self.anonymizer, type) or not isinstance(self.anonymizer, (Anonymizer, Publisher)):
            problems.append("anonymizer: is not an anonymizer; give one such as Mondrian()")
        if not isinstance(self.recoding, Recoding):
            problems.append("recoding: is not a Recoding; give one such as Recoding(numeric='mean')")
        return problems

    def _wrong_models(self) -> list[str]:
        problems = [
            f"models[{place}]: is not a privacy model"
            for place, model in enumerate(self.models)
            if isinstance(model, type) or not isinstance(model, PrivacyModel)
        ]
        promising = bool(getattr(self.anonymizer, "promises", True))
        if promising and not self.models:
            problems.append("models: name at least one privacy model, e.g. KAnonymity(5)")
        if self.models and not promising:
            problems.append(f"models: {self.anonymizer.name} enforces no privacy model; leave them out")
        return problems

    def _wrong_numbers(self) -> list[str]:
        problems = []
        if not (isinstance(self.suppression_limit, (int, float)) and 0 <= self.suppression_limit <= 1):
            problems.append("suppression_limit: must be a fraction from 0 to 1")
        if not isinstance(self.refine, int) or isinstance(self.refine, bool) or self.refine < 0:
            problems.append("refine: must be a whole number, 0 or above")
        return problems + seed_problems(self.seed)
