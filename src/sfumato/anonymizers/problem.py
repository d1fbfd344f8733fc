"""What an anonymizer is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sfumato.models.compiled import CompiledRules, compile_rules
from sfumato.models.protocol import PrivacyModel
from sfumato.models.whole_table import WholeTableModel
from sfumato.parallel import OnceForEach
from sfumato.progress import Progress, silent
from sfumato.table.encoding import EncodedTable

_COMPILED: OnceForEach[EncodedTable, tuple[PrivacyModel, ...], CompiledRules] = OnceForEach()


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
    whole : sequence of WholeTableModel
        Bounds on figures of the whole table, for who judges all classes of a candidate at once.
        Elsewhere none: they are among the models then.
    """

    table: EncodedTable
    models: Sequence[PrivacyModel]
    suppression_limit: int = 0
    seed: int | None = None
    threads: int = 1
    progress: Progress = field(default=silent)
    whole: Sequence[WholeTableModel] = ()

    @cached_property
    def rules(self) -> CompiledRules:
        """The models, compiled for the records, the whole table being all of them.

        Raises
        ------
        PolicyError
            As :func:`~sfumato.models.compiled.compile_rules`.
        """
        models = tuple(self.models)
        try:
            hash(models)
        except TypeError:  # one from outside the library
            return compile_rules(models, self.table)
        return _COMPILED.of(self.table, models, lambda: compile_rules(models, self.table))
