"""Releases of other kinds: encode, publish, verify."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from sfumato.anonymizers.protocol import Publication, Publisher
from sfumato.errors import PolicyError, raise_all
from sfumato.models.says import limits_of_values
from sfumato.policy.policy import Policy
from sfumato.published.checks.generalized import Verification
from sfumato.published.checks.recount import verified
from sfumato.recoding import Recoding
from sfumato.release.folding import folding_problems
from sfumato.release.kind_report import KindReport
from sfumato.release.passing import passing_notes
from sfumato.release.problem import describe_tables, problems_in, repeated_notes
from sfumato.release.release import Release
from sfumato.release.task import STEPS, Task
from sfumato.table.row_order import canonical_order


def published_release(task: Task, publisher: Publisher) -> Release:
    """Encode, publish, verify; see :func:`sfumato.anonymize`.

    Raises ``PolicyError`` with every setting that means nothing to the publisher, and every column and model that do
    not fit it. Raises ``VerificationError``: never expected: the tables break a promise, or leave one undecided.
    """
    task.step("encoding", 1)
    encoded = task.encoded()
    fits = partial(publisher.check, encoded, task.models)
    idle = meaningless(task.policy, publisher, bound=task.bound)
    raise_all(PolicyError, [*folding_problems(task), *idle, *problems_in(fits)])
    task.step("publishing", 2)
    order = canonical_order(encoded, task.table)
    ordered = replace(task.table, frame=task.table.frame[order])
    publication = publisher.publish(task.problem(encoded.take(order)), ordered)
    task.step("verifying", 4)
    verification = verified(publication.published, task.table, task.models)
    report = _report(publication, verification, task)
    task.step("done", STEPS)
    described = describe_tables(publication.published, task, encoded)
    return Release(
        publication.published,
        report,
        described,
        task.policy.published(),
        orders=task.table.orders,
        codes=task.table.codes,
    )


def meaningless(policy: Policy, publisher: Publisher, *, bound: bool = False) -> Iterator[str]:
    """Name the settings that say how classes are made and generalized, which there are none of here."""
    what = f"{publisher.name} makes no classes"
    if policy.to_recoding() != Recoding():
        yield f"recoding: {what} that could be generalized; leave it out"
    if policy.refine:
        yield f"refine: {what} between which records could move; leave it out"
    if bound:
        yield f"bound: {what} whose loss could be bounded; leave it out"
    if policy.suppression_limit and not getattr(publisher, "suppresses", False):
        yield f"suppression_limit: {publisher.name} leaves no record out; leave it out"


def _report(publication: Publication, verification: Verification, task: Task) -> KindReport:
    names = {name for frame in publication.published.tables.values() for name in frame.columns}
    return KindReport(
        anonymizer=repr(task.anonymizer),
        kind=publication.published.kind,
        original=task.table.height,
        published=verification.records,
        suppression_limit=task.policy.suppression_limit,
        figures=dict(publication.figures),
        verification=verification,
        limits=(
            *publication.published.limits,
            *limits_of_values(task.models, tuple(task.table.schema.sensitive)),
        ),
        notes=(
            *task.table.remarks,
            *publication.notes,
            *passing_notes(task.table, names),
            *repeated_notes(task.table, None, 1),
        ),
        sampled=getattr(task.anonymizer, "samples", False),
        purpose=task.policy.purpose,
        recipient=task.policy.recipient,
    )
