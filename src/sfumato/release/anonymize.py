"""Joining everything: encode, partition, recode, publish, verify, measure."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.mondrian import Mondrian
from sfumato.anonymizers.protocol import Anonymizer, Problem, Progress, silent
from sfumato.classes.generalized import Form, GeneralizedTable
from sfumato.classes.partition import Partition
from sfumato.errors import PolicyError, UnsatisfiableError, raise_all
from sfumato.metrics import Losses, measure_losses
from sfumato.models.protocol import PrivacyModel
from sfumato.parallel import both, worth_starting
from sfumato.policy.policy import Policy
from sfumato.recoding import Recoding, form_problems, publish, recode_as_published
from sfumato.release.description import Description, SensitiveDescription, describe_model, published_hierarchy
from sfumato.release.release import Release
from sfumato.release.report import Report
from sfumato.release.suppression import settle_suppression, smallest_allowed
from sfumato.release.verify import Verification, verify_table
from sfumato.shuffle import permutation
from sfumato.table.encoding import EncodedTable, encode
from sfumato.table.kinds import text_of
from sfumato.table.schema import Attribute
from sfumato.table.table import Table

STEPS = 6


def anonymize(
    table: Table,
    models: PrivacyModel | Sequence[PrivacyModel],
    *,
    anonymizer: Anonymizer | None = None,
    recoding: Recoding | None = None,
    suppression_limit: float = 0.0,
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
        One privacy model or several; every equivalence class of the release satisfies every one.
    anonymizer
        The algorithm; None is :class:`sfumato.Mondrian` with its defaults.
    recoding
        How classes are published; None is intervals, common ancestors and value sets.
    suppression_limit
        Fraction of the original records, 0 to 1, that may be left out over the whole run.
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
        Verified from its published table alone.

    Raises
    ------
    UnsatisfiableError
        The models cannot be met within the suppression limit; says which, how far the best attempt got, what to relax.
    PolicyError
        Contradictory or unknown settings.
    VerificationError
        Never expected: the published table breaks a model. Nothing is returned.

    Notes
    -----
    *Guarantee.* The returned table satisfies every model, recounted from the published values without knowledge of how
    they came about; its record order is random.
    """
    anonymizer = Mondrian() if anonymizer is None else anonymizer
    recoding = Recoding() if recoding is None else recoding
    wanted = check_settings(table, models, anonymizer, recoding, suppression_limit, seed)
    written = policy or Policy.of(table.schema, wanted, anonymizer, recoding, suppression_limit)
    progress("encoding", 1, STEPS)
    encoded = encode(table)
    raise_all(PolicyError, _misfits(encoded, wanted, recoding, anonymizer))
    limit = math.floor(suppression_limit * encoded.height + 1e-9)
    problem = Problem(encoded, wanted, limit, seed, thread_count(threads), progress)
    partition = _solution(anonymizer, problem, recoding)
    progress("recoding", 3, STEPS)
    beside = worth_starting(problem.threads, encoded.height)
    generalized, order = both(
        lambda: recode_as_published(encoded, partition, recoding, threads=problem.threads),
        lambda: _order(partition, recoding, problem),
        beside,
    )
    data = publish(generalized, table, order, threads=problem.threads)
    progress("verifying", 4, STEPS)
    verification, losses = both(
        lambda: _verified(data, table, wanted),
        lambda: measure_losses(generalized, k=smallest_allowed(wanted)),
        beside,
    )
    progress("measuring", 5, STEPS)
    report = _report(generalized, losses, verification, anonymizer, suppression_limit, written)
    report = replace(report, notes=partition.notes)
    progress("done", STEPS, STEPS)
    return Release(data, report, _description(table, encoded, data, wanted, suppression_limit), written.published())


def _solution(anonymizer: Anonymizer, problem: Problem, recoding: Recoding) -> Partition:
    """Solve; where what is left out may not be published as the recoding says, solve without leaving anybody out.

    Anonymizers do not know whether suppressed records will stand in the table as one more class.
    """
    partition = anonymizer.solve(problem)
    try:
        return settle_suppression(partition, problem, recoding)
    except UnsatisfiableError as error:
        strict = replace(problem, suppression_limit=0)
        try:
            return settle_suppression(anonymizer.solve(strict), strict, recoding)
        except UnsatisfiableError:
            raise error from None


def check_settings(
    table: Table,
    models: PrivacyModel | Sequence[PrivacyModel],
    anonymizer: Anonymizer,
    recoding: Recoding,
    suppression_limit: float,
    seed: int | None,
) -> tuple[PrivacyModel, ...]:
    """Return the models as a tuple, or raise PolicyError with every mistake at once."""
    given = tuple(models) if isinstance(models, Sequence) else (models,)
    problems = []
    if not isinstance(table, Table):
        problems.append("table: is no Table; read it with sfumato.read_table")
    if isinstance(anonymizer, type) or not isinstance(anonymizer, Anonymizer):
        problems.append("anonymizer: is not an anonymizer; give one such as Mondrian()")
    if not isinstance(recoding, Recoding):
        problems.append("recoding: is not a Recoding; give one such as Recoding(numeric='mean')")
    if not given:
        problems.append("models: name at least one privacy model, e.g. KAnonymity(5)")
    problems.extend(
        f"models[{place}]: is not a privacy model" for place, model in enumerate(given) if not _is_model(model)
    )
    if not (isinstance(suppression_limit, (int, float)) and 0 <= suppression_limit <= 1):
        problems.append("suppression_limit: must be a fraction from 0 to 1")
    if seed is not None and (not isinstance(seed, int) or seed < 0):
        problems.append("seed: must be a whole number, 0 or above, or None")
    raise_all(PolicyError, problems)
    return given


def _misfits(
    encoded: EncodedTable, models: Sequence[PrivacyModel], recoding: Recoding, anonymizer: Anonymizer
) -> list[str]:
    """Find the models and forms that the columns do not fit, before any work is done."""
    names = [attribute.name for attribute in encoded.sensitive]
    checks: list[Callable[[], object]] = [partial(model.rules, names) for model in models]
    checks.append(partial(recoding.forms_of, encoded.attributes))
    problems: list[str] = []
    for check in checks:
        try:
            check()
        except PolicyError as error:
            problems.extend(error.problems)
    if anonymizer.decides_regions and not problems:
        problems.extend(form_problems(encoded.attributes, recoding.forms_of(encoded.attributes)))
    return problems


def _is_model(model: object) -> bool:
    return isinstance(model, PrivacyModel) and not isinstance(model, type)


def thread_count(threads: int | None) -> int:
    """Resolve the `threads` setting: argument, then ``SFUMATO_THREADS``, then every core that may be used."""
    if threads is None:
        given = os.environ.get("SFUMATO_THREADS", "")
        if not given:
            return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if not given.isdigit() or int(given) < 1:
            raise PolicyError("SFUMATO_THREADS: must be a whole number, 1 or above")
        return int(given)
    if not isinstance(threads, int) or threads < 1:
        raise PolicyError("threads: must be a whole number, 1 or above")
    return threads


def _order(partition: Partition, recoding: Recoding, problem: Problem) -> NDArray[np.integer]:
    """Draw the order in which records are published; those that are left out are not in it."""
    everybody = recoding.suppressed == "star"
    records = np.arange(partition.height) if everybody else np.flatnonzero(partition.class_of >= 0)
    return records[permutation(len(records), problem.seed)]


def _verified(data: pl.DataFrame, table: Table, models: Sequence[PrivacyModel]) -> Verification:
    sensitive = {
        name: Attribute(kind=table.kinds[name], hierarchy=attribute.hierarchy)
        for name, attribute in table.schema.sensitive.items()
    }
    verification = verify_table(data, tuple(table.schema.quasi_identifying), sensitive, models)
    verification.raise_if_broken()
    return verification


def _report(
    generalized: GeneralizedTable,
    losses: Losses,
    verification: Verification,
    anonymizer: Anonymizer,
    suppression_limit: float,
    policy: Policy,
) -> Report:
    # Records that are published as stars are a class to every reader.
    stars = verification.records - int(generalized.sizes.sum())
    sizes = np.append(generalized.sizes, stars) if stars else generalized.sizes
    return Report(
        anonymizer=repr(anonymizer),
        original=len(generalized.class_of),
        published=verification.records,
        suppressed=generalized.suppressed,
        suppression_limit=suppression_limit,
        classes=verification.classes,
        smallest_class=int(sizes.min()),
        largest_class=int(sizes.max()),
        losses=losses,
        verification=verification,
        purpose=policy.purpose,
        recipient=policy.recipient,
        publishes_means=any(column.form is Form.MEAN for column in generalized.columns),
    )


def _description(
    table: Table, encoded: EncodedTable, data: pl.DataFrame, models: Sequence[PrivacyModel], suppression_limit: float
) -> Description:
    sensitive = {}
    for attribute in encoded.sensitive:
        hierarchy = None
        if attribute.hierarchy is not None:
            published = set(text_of(data[attribute.name].unique().drop_nulls()).to_list())
            hierarchy = published_hierarchy(attribute.hierarchy, published)
        sensitive[attribute.name] = SensitiveDescription(table.kinds[attribute.name], hierarchy)
    return Description(
        tuple(table.schema.quasi_identifying),
        sensitive,
        tuple(describe_model(model) for model in models),
        suppression_limit,
    )
