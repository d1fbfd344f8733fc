"""Classes that are published alike are one class to every reader, and are judged as one.

Where nobody is in two classes, merging breaks no promise but that of a share that somebody wishes for. Where rows lie
apart it may break others: at most half of the people of each of two classes have a value, and two of three of both
together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.classes.people import statistics_of
from sfumato.models.compiled import rules_of
from sfumato.models.rule_traits import TRAITS
from sfumato.recoding import Recoding, recode_as_published
from sfumato.release.suppression import smallest_first
from sfumato.table.encoding import EncodedTable


class Judged(NamedTuple):
    """By what classes are judged.

    Attributes
    ----------
    table : EncodedTable
        With a record for each person, or for each record.
    first : numpy.ndarray or None
        int (p,): a record of each person, all of whose records share one class; None where records are judged.
    """

    table: EncodedTable
    first: NDArray[np.intp] | None


def may_break(problem: Problem) -> bool:
    """Tell whether classes with people in common may satisfy the models, and break them when they are merged."""
    return not all(TRAITS[rule.code].apart for rule in rules_of(problem.models, problem.table))


def read_as_one(problem: Problem, partition: Partition, recoding: Recoding, judged: Judged | None = None) -> Partition:
    """Merge classes that are published alike; those that break a model then are merged on until none does.

    Parameters
    ----------
    problem
        Of records of people who may be in several classes.
    partition
        A solution of it.
    recoding
        How classes are published.
    judged
        The same records as people, and who each is, where classes are judged by these.

    Returns
    -------
    Partition
        The same one where no two classes are published alike, and none breaks a model. All records in one class may.

    Notes
    -----
    A class that breaks a model is merged with the next one in the order of sizes. Cost of recoding, and of judging all
    classes once for each round; every round leaves fewer classes.
    """
    table, judged = problem.table, judged or Judged(problem.table, None)
    while True:
        published = recode_as_published(table, partition, recoding, threads=problem.threads)
        number_of = np.empty(partition.count, dtype=np.int32)
        kept = partition.class_of >= 0
        number_of[partition.class_of[kept]] = published.class_of[kept]
        merged = _joined(problem, partition.renumbered(number_of, len(published.sizes)), judged)
        if merged.count == partition.count:
            return partition
        partition = merged


def _joined(problem: Problem, partition: Partition, judged: Judged) -> Partition:
    # What an anonymizer decides to publish of a class covers no other class.
    while partition.count > 1 and partition.regions is None:
        broken = breaking(problem, partition, judged)
        if not broken.any():
            break
        order = smallest_first(partition, partition.sizes, problem.table.codes)
        with_next = broken[order]
        with_next[-2] |= with_next[-1]
        number_of = np.empty(partition.count, dtype=np.int32)
        number_of[order] = np.cumsum(np.append(True, ~with_next[:-1])) - 1
        partition = partition.renumbered(number_of, int(number_of.max()) + 1)
    return partition


def breaking(problem: Problem, partition: Partition, judged: Judged) -> NDArray[np.bool_]:
    """Tell which classes break a model; bool (c,)."""
    class_of = partition.class_of if judged.first is None else partition.class_of[judged.first]
    statistics = statistics_of(judged.table, class_of, partition.count)
    holds = np.ones(partition.count, dtype=np.bool_)
    for model in problem.models:
        holds &= model.holds(statistics)
    return ~holds
