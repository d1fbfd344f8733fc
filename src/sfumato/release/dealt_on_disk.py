"""Bucketization and slicing of a table on disk: what is to be written, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from sfumato.anonymizers.dealt import Dealing, Deals
from sfumato.anonymizers.protocol import Problem, Publisher
from sfumato.engines.disk.dealt import CountedParts, DealtParts, ordered_columns
from sfumato.models.says import limits_of_values
from sfumato.policy.policy import Policy
from sfumato.published import KINDS, BucketizedTables
from sfumato.published.checks.generalized import Verification
from sfumato.release.kind_report import KindReport
from sfumato.release.passing import passing_notes
from sfumato.release.problem import problems_in
from sfumato.release.publishing import meaningless
from sfumato.table.large.coding import LargeTable

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
