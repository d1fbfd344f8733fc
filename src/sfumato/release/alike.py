"""Classes that are published alike are one class to every reader, and are judged as one.

Merging never breaks a promise where nobody is in two classes. Where rows lie apart it may: at most half of the people
of each of two classes have a value, and two of three of both together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.classes.people import statistics_of
from sfumato.models.compiled import rules_of
from sfumato.models.rule_traits import TRAITS
from sfumato.recoding import Recoding, recode_as_published
from sfumato.release.suppression import smallest_first


def may_break(problem: Problem) -> bool:
    """Tell whether classes with people in common may satisfy the models, and break them when they are merged."""
    return not all(TRAITS[rule.code].apart for rule in rules_of(problem.models, problem.table))


def read_as_one(problem: Problem, partition: Partition, recoding: Recoding) -> Partition:
    """Merge classes that are published alike; those that break a model then are merged on until none does.

    Parameters
    ----------
    problem
        Of records of people who may be in several classes.
    partition
        A solution of it.
    recoding
        How classes are published.

    Returns
    -------
    Partition
        The same one where no two classes are published alike. All records in one class may break a model.

    Notes
    -----
    A class that breaks a model is merged with the next one in the order of sizes. Cost of recoding, and of judging all
    classes once for each round; every round leaves fewer classes.
    """
    table = problem.table
    while True:
        published = recode_as_published(table, partition, recoding, threads=problem.threads)
        if len(published.sizes) == partition.count:
            return partition
        number_of = np.empty(partition.count, dtype=np.int32)
        kept = partition.class_of >= 0
        number_of[partition.class_of[kept]] = published.class_of[kept]
        partition = _joined(problem, partition.renumbered(number_of, len(published.sizes)))


def _joined(problem: Problem, partition: Partition) -> Partition:
    # What an anonymizer decides to publish of a class covers no other class.
    while partition.count > 1 and partition.regions is None:
        broken = _broken(problem, partition)
        if not broken.any():
            break
        order = smallest_first(partition, partition.sizes, problem.table.codes)
        with_next = broken[order]
        with_next[-2] |= with_next[-1]
        number_of = np.empty(partition.count, dtype=np.int32)
        number_of[order] = np.cumsum(np.append(True, ~with_next[:-1])) - 1
        partition = partition.renumbered(number_of, int(number_of.max()) + 1)
    return partition


def _broken(problem: Problem, partition: Partition) -> NDArray[np.bool_]:
    """Tell which classes break a model; bool (c,)."""
    statistics = statistics_of(problem.table, partition.class_of, partition.count)
    holds = np.ones(partition.count, dtype=np.bool_)
    for model in problem.models:
        holds &= model.holds(statistics)
    return ~holds
