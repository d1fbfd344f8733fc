"""Who the records of a task are about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem
from sfumato.classes.people import largest_of
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import DistinctLDiversity, ProbabilisticLDiversity
from sfumato.models.protocol import PrivacyModel
from sfumato.release.task import Task
from sfumato.table.distinct import dense_ranks
from sfumato.table.encoding import EncodedTable
from sfumato.table.person_column import STEPS, STEPS_OF_L, steps_of
from sfumato.table.row_order import content_hash
from sfumato.table.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class PeopleBehind:
    """Who the records are about."""

    numbers: NDArray[np.int32]  # (n,): the person of each record
    # int64 (n,): the k that each record's person wishes for, in whichever record it stands, rounded up to a step
    wishes: NDArray[np.int64] | None = None
    wished_l: NDArray[np.int64] | None = None  # the same for the l
    # the same people with their wishes as they are, where some of them were rounded
    unrounded: PeopleBehind | None = None

    @classmethod
    def of(cls, task: Task) -> PeopleBehind | None:
        """Return the people of a task; None where each has one record and nothing is asked of them."""
        numbers = task.table.people
        alone = numbers is None or int(np.bincount(numbers).max()) == 1
        if alone and task.wishes is None and task.wished_l is None and task.people.all_records_k is None:
            return None
        everybody = np.arange(task.table.height, dtype=np.int32) if numbers is None else numbers
        return cls.wishing(everybody, task.wishes, task.wished_l)

    @classmethod
    def wishing(
        cls, numbers: NDArray[np.int32], wishes: NDArray[np.int64] | None, wished_l: NDArray[np.int64] | None
    ) -> PeopleBehind:
        """Give every record what its person wishes for in any of them; None: nobody wishes."""
        own, own_l = _largest(wishes, numbers), _largest(wished_l, numbers)
        steps, steps_l = (
            None if each is None else steps_of(each, steps) for each, steps in ((own, STEPS), (own_l, STEPS_OF_L))
        )
        rounded = any(np.any(each != step) for each, step in ((own, steps), (own_l, steps_l)) if each is not None)
        return cls(numbers, steps, steps_l, cls(numbers, own, own_l) if rounded else None)

    @property
    def most(self) -> dict[str, int]:
        """The largest k and the largest l that somebody wishes for, where there are such wishes."""
        wished = {"k": self.wishes, "l": self.wished_l}
        return {letter: int(wishes.max()) for letter, wishes in wished.items() if wishes is not None}


def uniform_problem(problem: Problem, most: Mapping[str, int]) -> Problem:
    """Return the problem in which everybody wishes for as much as those who wish for most."""
    return replace(problem, models=[_for_everybody(model, most) for model in problem.models])


def _for_everybody(model: PrivacyModel, most: Mapping[str, int]) -> PrivacyModel:
    if isinstance(model, KAnonymity) and "k" in most:
        return replace(model, k=max(model.k, most["k"]))
    if isinstance(model, DistinctLDiversity) and "l" in most:
        return replace(model, l=max(model.l, most["l"]))
    if isinstance(model, ProbabilisticLDiversity) and "l" in most:
        return replace(model, l=max(model.l, most["l"]))
    return model


def _largest(wishes: NDArray[np.int64] | None, people: NDArray[np.int32]) -> NDArray[np.int64] | None:
    """Give every record what its person wishes for in any of them."""
    return None if wishes is None else largest_of(people, int(people.max()) + 1, wishes)[people]


def carried(encoded: EncodedTable, table: Table | None = None) -> NDArray[np.uint64]:
    """Return a hash of what records hold beside their quasi-identifying codes; uint64 (n,).

    Sensitive values that no model looks at are among it, or people who differ in nothing else would stand in the order
    of the input. Without a table there is nothing else.
    """
    # Categories are compared as texts: their numbers may follow the order of the input.
    names = () if table is None else table.schema.insensitive
    texts = (table.frame[name].cast(pl.String) for name in names) if table is not None else ()
    insensitive = [dense_ranks(text).astype(np.uint64) for text in texts]
    return content_hash(np.column_stack([encoded.sensitive_codes.astype(np.uint64), *insensitive]))
