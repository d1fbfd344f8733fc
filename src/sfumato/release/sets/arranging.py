"""Sets in an order that nothing can be read off, and the classes of the columns beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.mondrian import Mondrian
from sfumato.metrics import measure_losses
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.km_anonymity import KmAnonymity
from sfumato.policy.set_policy import SetPolicy
from sfumato.randomness import permutation
from sfumato.release.arguments import Arguments, policy_of_call
from sfumato.release.generalizing import solved_task
from sfumato.release.own_types import own_types
from sfumato.release.task import Task
from sfumato.table.sets.sets import Sets, settled


@dataclass(frozen=True, eq=False, repr=False)
class ArrangedSets:
    """Sets in random order.

    Attributes
    ----------
    sets : Sets
    origin : numpy.ndarray
        int64 (n,): the number of each record in the input, from 0.
    labels : polars.DataFrame or None
        What is published of the columns beside each set, as text.
    columns_ncp : float or None
        What that cost.
    """

    sets: Sets
    origin: NDArray[np.int64]
    labels: pl.DataFrame | None = None
    columns_ncp: float | None = None


def arranged(sets: Sets, model: KmAnonymity, policy: SetPolicy, seed: int | None, threads: int) -> ArrangedSets:
    """Bring records into random order, and make classes where columns stand beside the sets.

    With a seed, the result is the same for every order of the input: records that stay tied are alike in everything.
    """
    ordered, by_content = (sets, np.arange(sets.height)) if seed is None else settled(sets)
    if ordered.beside is None:
        order = permutation(sets.height, seed)
        return ArrangedSets(ordered.take(order), by_content[order])
    way = policy.to_anonymizer() or Mondrian()
    promised = [KAnonymity(policy.change.class_size or model.k)]
    meant = policy_of_call(ordered.beside, Arguments(promised, way, None, None, None, None), None, seed)
    task = Task(ordered.beside, meant, seed=seed, threads=threads)
    solved = solved_task(task, way)
    order = solved.order.astype(np.int64)
    written = own_types(task.engine.write(solved.generalized, ordered.beside, order, threads=threads), ordered.beside)
    names = list(ordered.beside.schema.quasi_identifying)
    labels = written.published.data.select(pl.col(names).cast(pl.String))
    losses = measure_losses(solved.generalized, k=model.k)
    shown = replace(ordered.take(order), beside=None)
    return ArrangedSets(shown, by_content[order], labels, float(losses.normalized_ncp))
