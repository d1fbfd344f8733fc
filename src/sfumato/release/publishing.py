"""Releases of other kinds: encode, publish, verify."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from sfumato.anonymizers.dealt import Dealing, Deals
from sfumato.anonymizers.protocol import Problem, Publication, Publisher
from sfumato.engines.disk.dealt import CountedParts, DealtParts, ordered_columns
from sfumato.errors import PolicyError, raise_all
from sfumato.models.says import limits_of_values
from sfumato.policy.policy import Policy
from sfumato.published import KINDS, BucketizedTables
from sfumato.published.checks.generalized import Verification
from sfumato.published.checks.recount import verified
from sfumato.recoding import Recoding
from sfumato.release.description import describe
from sfumato.release.folding import folding_problems
from sfumato.release.kind_report import KindReport
from sfumato.release.passing import passing_notes
from sfumato.release.problem import problems_in, repeated_notes
from sfumato.release.release import Release
from sfumato.release.task import STEPS, Task
from sfumato.table.large.coding import LargeTable
from sfumato.table.row_order import canonical_order


def published_release(task: Task, publisher: Publisher) -> Release:
    """Encode, publish, verify; see :func:`sfumato.anonymize`.

    Raises
    ------
    PolicyError
        With every setting that means nothing to the publisher, and every column and model that do not fit it.
    VerificationError
        Never expected: the tables break a promise, or leave one undecided.
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
    described = describe(publication.published, task, encoded)
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


# Bucketization and slicing of a table on disk: what is to be written, and what is said of it.


NOT_COUNTED = ("overlapping-slicing",)
"""Publishers that deal, and whose releases are recounted as a whole."""


def not_dealt(publisher: Publisher, policy: Policy, cure: str) -> Iterator[str]:
    """Say what the disk engine does not have of releases of other kinds."""
    name = publisher.name
    if not isinstance(publisher, Deals):
        yield f"engine: the disk engine generalizes, fills buckets and slices, and {name} does something else; {cure}"
    elif name in NOT_COUNTED:
        yield (
            "engine: columns that share attributes are recounted by joining them, which the disk engine does not do; "
            f"take slicing, or {cure}"
        )
    if policy.columns.person is not None:
        yield (
            f"engine: {name} counts records, and the disk engine does not look whether column "
            f"{policy.columns.person!r} has anybody twice; {cure}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class DealingTask:
    """What is to be dealt.

    Attributes
    ----------
    deals : Deals
    policy : Policy
    problem : Problem
        Its table lies on disk.
    large : LargeTable
    folder : Path
        A private one.
    """

    deals: Deals
    policy: Policy
    problem: Problem
    large: LargeTable
    folder: Path

    def problems(self) -> list[str]:
        """Say which settings, columns and models do not fit."""
        fits = partial(self.deals.check, self.large.encoded, self.problem.models)
        found = [*meaningless(self.policy, self.deals), *problems_in(fits)]
        if self.problem.seed is not None and self.large.carried and not self._leaves_out_insensitive:
            found.append(
                f"engine: under a seed {self.deals.name} tells records with equal values apart by the insensitive "
                "columns, which the disk engine does not hold; leave the seed or those columns out, or use "
                "--engine memory"
            )
        return found

    @property
    def _leaves_out_insensitive(self) -> bool:
        return self.deals.kind == BucketizedTables.kind

    def solved(self) -> SolvedDealing:
        """Decide by the codes where everything goes.

        Raises
        ------
        UnsatisfiableError
            As :meth:`~sfumato.anonymizers.protocol.Publisher.publish`.
        """
        source = ordered_columns(self.large, self.problem.seed, by_sensitive_alone=self.deals.by_sensitive_alone)
        dealing = self.deals.deal(replace(self.problem, table=source.encoded), source)
        rows = DealtParts(source, dealing.rows, self.folder)
        if dealing.counts is None:
            return SolvedDealing({"data": rows}, dealing)
        counts = CountedParts(dealing.counts, self.large.sensitive[0])
        return SolvedDealing({"quasi_identifying": rows, "sensitive": counts}, dealing)

    def report_on(self, solved: SolvedDealing, more: Iterable[str]) -> Callable[[Verification], KindReport]:
        """Return what makes the report of a recount, with some more notes; it does not hold what was solved."""
        large, policy = self.large, self.policy
        names = {name for parts in solved.parts.values() for name in parts.columns.names}
        report = partial(
            KindReport,
            repr(self.deals),
            self.deals.kind,
            large.height,
            suppression_limit=policy.suppression_limit,
            limits=(
                *KINDS[self.deals.kind].limits,
                *limits_of_values(self.problem.models, tuple(large.schema.sensitive)),
            ),
            figures=dict(solved.dealing.figures),
            notes=(*large.remarks, *solved.dealing.notes, *passing_notes(large, names), *more),
            purpose=policy.purpose,
            recipient=policy.recipient,
        )
        return lambda verification: report(verification.records, verification=verification)


@dataclass(frozen=True, eq=False, repr=False)
class SolvedDealing:
    """The tables that are to be written, by name, and what was decided of them."""

    parts: Mapping[str, DealtParts | CountedParts]
    dealing: Dealing
