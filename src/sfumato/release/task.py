"""What a call asks for, checked before any work: a table, the policy of its release, and how to run."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Anonymizer, Problem, Progress, Publisher, silent
from sfumato.classes.people import statistics_of
from sfumato.classes.population import among_population
from sfumato.engines import Engine, LocalEngine
from sfumato.errors import PolicyError, SchemaError, raise_all
from sfumato.models.likeness import compared_with_original
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import says
from sfumato.policy.parts import Wish
from sfumato.policy.people import People
from sfumato.policy.policy import Policy
from sfumato.progress import thread_count
from sfumato.published.checks.population import Register
from sfumato.randomness import seed_problems
from sfumato.recoding import Recoding
from sfumato.release.arguments import population_argument_problems, presence_problems, setting_problems, table_problems
from sfumato.release.passing import passing_problems
from sfumato.release.wished import wished
from sfumato.table.encoding import EncodedTable
from sfumato.table.schema import text_of
from sfumato.table.table import Table

LOG = logging.getLogger("sfumato.release")
STEPS = 6


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """What is to be done.

    Raises ``PolicyError`` with every mistake at once. Raises ``SchemaError`` with every column that nobody has said is
    to be published, though it looks as if it identified people.
    """

    table: Table
    policy: Policy  # everything that the release is made from, but for the table
    bound: bool = False
    seed: int | None = None
    threads: int | None = None  # None takes what the policy says
    progress: Progress = silent
    read: EncodedTable | None = None  # the table's codes, where they are known already
    engine: Engine = field(default_factory=LocalEngine)  # where the work runs
    population: Table | None = None  # everybody who might be in the table, where a model speaks of them

    def __post_init__(self) -> None:
        """Check what can be told before any work, of the columns that pass through last: that looks into the table."""
        limit, rounds = self.policy.suppression_limit, self.policy.refine or 0
        problems = setting_problems(self.models, self.anonymizer, self.recoding, limit, rounds, self.people)
        problems += population_argument_problems(self.models, self.table, known=self.population is not None)
        problems += presence_problems(self.models, self.anonymizer, self.recoding, rounds)
        raise_all(PolicyError, [*table_problems(self.table), *problems, *seed_problems(self.seed)])
        raise_all(SchemaError, passing_problems(self.table))

    @cached_property
    def models(self) -> tuple[PrivacyModel, ...]:
        """What the policy promises. Empty exactly for publishers that promise nothing."""
        return tuple(self.policy.to_models())

    @cached_property
    def anonymizer(self) -> Anonymizer | Publisher:
        """The algorithm that the policy names."""
        return self.policy.to_anonymizer()

    @cached_property
    def recoding(self) -> Recoding:
        """How classes are published."""
        return self.policy.to_recoding()

    @cached_property
    def people(self) -> People:
        """What is done about people who have several records."""
        return self.policy.to_people()

    def encoded(self) -> EncodedTable:
        """Return the table's codes.

        Raises ``SfumatoError`` with the problems of all columns; see :func:`~sfumato.table.encoding.encode`.
        """
        encoded = self.read or self.engine.encode(self.table)
        return encoded if self.population is None else among_population(encoded, self.table, self.population)

    @property
    def register(self) -> Register | None:
        """The population as a recount takes it."""
        return None if self.population is None else Register(self.population, self.recoding)

    @cached_property
    def wishes(self) -> NDArray[np.int64] | None:
        """The k that is wished for in each record, int64 (n,), by its column and by rules; None: nobody wishes.

        Raises ``PolicyError`` when a wish of the policy names a column that the table does not have, or a value that
        nobody has.
        """
        return self._wished(self.table.wishes, {wish: wish.k for wish in self.policy.wishes if wish.k})

    def _wished(self, own: NDArray[np.int64] | None, wishes: Mapping[Wish, int]) -> NDArray[np.int64] | None:
        frame = self.table.frame
        return wished(own, wishes, frame.height, frame.columns, lambda wish: meant_by(wish, self.table))

    @cached_property
    def wished_l(self) -> NDArray[np.int64] | None:
        """The same for the l."""
        return self._wished(self.table.wished_l, {wish: wish.l for wish in self.policy.wishes if wish.l})

    def problem(self, encoded: EncodedTable) -> Problem:
        """Return the problem that the algorithm is handed."""
        # A fraction such as 0.1 is not exact, and must not cost a record.
        limit = math.floor(self.policy.suppression_limit * encoded.height + 1e-9)
        threads = thread_count(self.policy.threads if self.threads is None else self.threads)
        return Problem(encoded, self._settled_models(encoded), limit, self.seed, threads, self.progress)

    def _settled_models(self, encoded: EncodedTable) -> list[PrivacyModel]:
        """Return the models with the original records that some compare with, where any may be left out."""
        everybody = np.zeros(encoded.height, dtype=np.int32)
        asking = self.policy.suppression_limit > 0 and any(says(model).needs_original for model in self.models)
        return compared_with_original(self.models, statistics_of(encoded, everybody, 1) if asking else None)

    def step(self, what: str, done: int) -> None:
        """Report progress."""
        LOG.info("%s %d records", what, self.table.height)
        self.progress(what, done, STEPS)


def meant_by(wish: Wish, table: Table) -> NDArray[np.bool_]:
    """Tell whom a rule of a policy is about, whose column is in the table; bool (n,)."""
    return (text_of(table.frame[wish.column]) == wish.value).fill_null(False).to_numpy()
