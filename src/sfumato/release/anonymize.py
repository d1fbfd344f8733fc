"""The verb of the library: from a table and models to a verified release, whatever kind it is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Anonymizer, Progress, Publisher
from sfumato.errors import InputError, PolicyError
from sfumato.models.protocol import PrivacyModel
from sfumato.models.says import of_population
from sfumato.policy.people import People
from sfumato.policy.policy import Policy
from sfumato.progress import beating, shown
from sfumato.recoding import Recoding
from sfumato.release.arguments import Arguments, policy_of_call, read_for_call
from sfumato.release.generalizing import generalized_release
from sfumato.release.publishing import published_release
from sfumato.release.release import Release
from sfumato.release.task import Task
from sfumato.table.population import read_population
from sfumato.table.schema import Schema, text_of
from sfumato.table.table import Table

# A research subset: only some records of a table are published, and all of them are the population.


Marks = Sequence[bool] | NDArray[np.bool_] | pl.Series


def published_subset(table: Table, policy: Policy, marks: Marks | None) -> NDArray[np.int64] | None:
    """Return the records that are published, int64, rising; None where all are.

    Raises ``PolicyError`` when both say it, or the policy names a column that is not there. Raises ``InputError`` when
    the marks are none, or nobody is in the subset.
    """
    if marks is None and policy.subset is None:
        return None
    if marks is not None and policy.subset is not None:
        raise PolicyError("subset: the policy says which records are published, and so does the call; say it once")
    chosen = _marked(table, policy) if marks is None else _given(table, marks)
    if not chosen.any():
        raise InputError("subset: no record is in it; correct the value or the marks, or publish the whole table")
    return np.flatnonzero(chosen)


def _marked(table: Table, policy: Policy) -> NDArray[np.bool_]:
    assert policy.subset is not None
    column, value = policy.subset.column, policy.subset.value
    if column not in table.frame.columns:
        raise PolicyError(f"subset: column {column!r} is not in the table, or has no role; correct it, or give it one")
    marked: NDArray[np.bool_] = (text_of(table.frame[column]) == value).fill_null(False).to_numpy()
    return marked


def _given(table: Table, marks: Marks) -> NDArray[np.bool_]:
    given = np.asarray(marks)
    if given.dtype != np.bool_ or given.shape != (table.height,):
        raise InputError(f"subset: must say true or false of each of the {table.height:,} records")
    return given


def anonymize(
    table: Any,
    models: Policy | PrivacyModel | Sequence[PrivacyModel] = (),
    *,
    anonymizer: Anonymizer | Publisher | None = None,
    recoding: Recoding | None = None,
    suppression_limit: float | None = None,
    refine: int | None = None,
    people: People | None = None,
    bound: bool = False,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress = shown,
    policy: Policy | None = None,
    population: object = None,
    subset: Marks | None = None,
    schema: Schema | None = None,
) -> Release:
    """Make a release that satisfies every model, or raise.

    Parameters
    ----------
    table
        From :func:`sfumato.read_table`; or whatever that reads (a polars, pandas or Arrow frame, the path of a file),
        if a `schema` or a policy says what its columns are.
    models
        The policy that the release is made from; or one privacy model or several, of which, with the keywords up to
        `people`, such a policy is made. Every equivalence class (or bucket) of the release satisfies every model. None
        for methods that enforce no model.
    anonymizer
        The algorithm, which also decides what kind of release it is; None is :class:`sfumato.Mondrian` with its
        defaults.
    recoding
        How classes are published; None is intervals, common ancestors and value sets.
    suppression_limit
        Fraction of the original records, 0 to 1, that may be left out over the whole run; default 0.
    refine
        Small changes of classes that are proposed for each record after the anonymizer is done, such as 100: records
        move to near classes or change places while the loss falls and every model holds. By default nothing is changed.
        Solutions that suppress records or decide themselves what is published are left as they are.
    people
        What is done about people who have several records: whether these lie together, and where it stands which are of
        one person. By default they lie together, and the steward's audit file says it.
    bound
        Work out a loss that no release of this table with this k can stay below, for the report; takes a while. It is
        for the steward, and not written into a release.
    seed
        For tests and studies: the same records and seed give the same published records, in whatever order they came.
        The order in which the rows of a generalized table are written is shuffled from that of the input. None draws
        from the operating system. A seed is never written anywhere.
    threads
        Upper bound; None takes the policy's, else reads ``SFUMATO_THREADS``, else takes all cores. It never changes the
        result.
    progress
        Called with what is being done, how much is done and the total, at each step and twice a second between; it
        may raise to stop. The work is then done in a thread of its own.
    policy
        Another place for the policy. What other arguments say beside a policy must be what it says, too.
    population
        Everybody who might be in the table, for models that speak of them (:class:`sfumato.KMap` and others): a table,
        or what :func:`sfumato.read_table` reads, with original values in the same quasi-identifying columns. It holds
        the people of the table, too. None takes what the policy names.
    subset
        Of each record, whether it is published: a research subset. Only these records count as people of the release;
        all records of the table are the population. None takes what the policy says, else all.
    schema
        The roles of the columns, where `table` has not been read yet. A policy has them, too.

    Returns
    -------
    Release
        Verified from its published tables alone.

    Raises
    ------
    UnsatisfiableError
        The models cannot be met within the suppression limit; says which, how far the best attempt got, what to relax.
    PolicyError
        Contradictory or unknown settings, or some that mean nothing to the anonymizer; a policy that says otherwise
        than other arguments, or than the table was read with; roles that are missing, or given twice.
    SfumatoError
        What :func:`sfumato.read_table` says of a table that has not been read yet.
    VerificationError
        Never expected: the published tables break a model. Nothing is returned.

    Notes
    -----
    *Guarantee.* What is returned satisfies every model, recounted from the published values without knowledge of how
    they came about; its record order is random.
    """
    table = read_for_call(table, schema, [each for each in (models, policy) if isinstance(each, Policy)])
    arguments = Arguments(models, anonymizer, recoding, suppression_limit, refine, people)
    whole_policy = policy_of_call(table, arguments, policy, seed)
    published = published_subset(table, whole_policy, subset)
    everybody = None
    if published is None:
        everybody = population_of(table, whole_policy, population)
    elif population is not None or whole_policy.population is not None:
        raise PolicyError("population: of a subset it is the table itself; leave the population out, or the subset")
    else:
        everybody = read_population(table, table) if of_population(whole_policy.to_models()) else None
        table = table.take(published)
    rows = table
    return beating(
        progress,
        "starting",
        lambda beat: made(Task(rows, whole_policy, bound, seed, threads, beat, population=everybody)),
    )


def population_of(table: Table, policy: Policy, population: object = None) -> Table | None:
    """Read the population that a call hands in, or that its policy names; None where there is none.

    Raises ``SfumatoError`` with what is wrong with it.
    """
    source = policy.population if population is None else population
    if source is None:
        return None
    layout = ("separator", "encoding", "quote", "missing", "strip")
    known = {key: value for key, value in policy.reading().items() if key in layout}
    return read_population(source, table, known if isinstance(source, (str, os.PathLike)) else {})


def made(task: Task) -> Release:
    """Make the release that a task asks for; see :func:`anonymize`."""
    way = task.anonymizer
    return published_release(task, way) if isinstance(way, Publisher) else generalized_release(task, way)
