"""Joining everything: encode, partition, recode, publish, verify, measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.clustering.lower_bound import lower_bound
from sfumato.anonymizers.clustering.refinement import refine as refined_partition
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.anonymizers.protocol import Anonymizer, Problem, Progress, silent
from sfumato.classes.generalized import Form, GeneralizedTable
from sfumato.classes.partition import Partition
from sfumato.errors import UnsatisfiableError
from sfumato.metrics import Losses, measure_losses
from sfumato.models.protocol import PrivacyModel
from sfumato.parallel import both, worth_starting
from sfumato.policy.policy import Policy
from sfumato.recoding import Recoding, publish, recode_as_published
from sfumato.release.description import Description, SensitiveDescription, describe_model, published_hierarchy
from sfumato.release.problem import check_settings, problem_of
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
        One privacy model or several; every equivalence class of the release satisfies every one.
    anonymizer
        The algorithm; None is :class:`sfumato.Mondrian` with its defaults.
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
    wanted = check_settings(table, models, anonymizer, recoding, suppression_limit, seed, refine)
    written = policy or Policy.of(table.schema, wanted, anonymizer, recoding, suppression_limit, refine)
    progress("encoding", 1, STEPS)
    encoded = encode(table)
    problem = problem_of(
        encoded,
        wanted,
        anonymizer,
        recoding,
        suppression_limit=suppression_limit,
        seed=seed,
        threads=threads,
        progress=progress,
    )
    partition = _solution(anonymizer, problem, recoding, refine)
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
    least = lower_bound(encoded, smallest_allowed(wanted), threads=problem.threads) if bound else None
    report = replace(report, notes=partition.notes, lower_bound=least)
    progress("done", STEPS, STEPS)
    return Release(data, report, _description(table, encoded, data, wanted, suppression_limit), written.published())


def _solution(anonymizer: Anonymizer, problem: Problem, recoding: Recoding, rounds: int) -> Partition:
    """Solve; where what is left out may not be published as the recoding says, solve without leaving anybody out.

    Anonymizers do not know whether suppressed records will stand in the table as one more class.
    """
    partition = _solved(anonymizer, problem, rounds)
    try:
        return settle_suppression(partition, problem, recoding)
    except UnsatisfiableError as error:
        strict = replace(problem, suppression_limit=0)
        try:
            return settle_suppression(_solved(anonymizer, strict, rounds), strict, recoding)
        except UnsatisfiableError:
            raise error from None


def _solved(anonymizer: Anonymizer, problem: Problem, rounds: int) -> Partition:
    partition = anonymizer.solve(problem)
    return refined_partition(problem, partition, rounds=rounds) if rounds else partition


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
