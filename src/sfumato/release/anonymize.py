"""The verb of the library: from a table and models to a verified release, whatever kind it is."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.anonymizers.mondrian.mondrian import Mondrian
from sfumato.anonymizers.protocol import Anonymizer, Progress, Publisher, silent
from sfumato.models.protocol import PrivacyModel
from sfumato.policy.policy import Policy
from sfumato.recoding import Recoding
from sfumato.release.generalizing import generalized_release
from sfumato.release.publishing import published_release
from sfumato.release.release import Release
from sfumato.release.task import Task
from sfumato.table.table import Table


def anonymize(
    table: Table,
    models: PrivacyModel | Sequence[PrivacyModel] = (),
    *,
    anonymizer: Anonymizer | Publisher | None = None,
    recoding: Recoding | None = None,
    suppression_limit: float = 0.0,
    refine: int = 0,
    bound: bool = False,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress = silent,
    policy: Policy | None = None,
) -> Release:
    """Make a release that satisfies every model, or raise.

    Parameters
    ----------
    table
        From :func:`sfumato.read_table`.
    models
        One privacy model or several; every equivalence class (or bucket) of the release satisfies every one. None for
        methods that enforce no model.
    anonymizer
        The algorithm, which also decides what kind of release it is; None is :class:`sfumato.Mondrian` with its
        defaults.
    recoding
        How classes are published; None is intervals, common ancestors and value sets.
    suppression_limit
        Fraction of the original records, 0 to 1, that may be left out over the whole run.
    refine
        Small changes of classes that are proposed for each record after the anonymizer is done, such as 100: records
        move to near classes or change places while the loss falls and every model holds. 0 for none. Solutions that
        suppress records or decide themselves what is published are left as they are.
    bound
        Work out a loss that no release of this table with this k can stay below, for the report; takes a while. It is
        for the steward, and not written into a release.
    seed
        For tests and studies: the same input and seed give the same release. None draws from the operating system. A
        seed is never written anywhere.
    threads
        Upper bound; None reads ``SFUMATO_THREADS``, else takes all cores. It never changes the result.
    progress
        Called with (what, done, total).
    policy
        Written into the release folder; None writes what these arguments say.

    Returns
    -------
    Release
        Verified from its published tables alone.

    Raises
    ------
    UnsatisfiableError
        The models cannot be met within the suppression limit; says which, how far the best attempt got, what to relax.
    PolicyError
        Contradictory or unknown settings, or some that mean nothing to the anonymizer.
    VerificationError
        Never expected: the published tables break a model. Nothing is returned.

    Notes
    -----
    *Guarantee.* What is returned satisfies every model, recounted from the published values without knowledge of how
    they came about; its record order is random.
    """
    task = Task(
        table,
        models,  # type: ignore[arg-type]
        Mondrian() if anonymizer is None else anonymizer,
        Recoding() if recoding is None else recoding,
        suppression_limit,
        refine,
        bound,
        seed,
        threads,
        progress,
    )
    return made(task, policy)


def made(task: Task, policy: Policy | None = None) -> Release:
    """Make the release that a task asks for; see :func:`anonymize`."""
    way = task.anonymizer
    written = policy or Policy.of(
        task.table.schema, task.models, way, task.recoding, task.suppression_limit, task.refine
    )
    if isinstance(way, Publisher):
        return published_release(task, way, written)
    return generalized_release(task, way, written)
