"""Traces that may be published, what they cost, and their folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.kinds.traces.check import PLACE, TABLE, TRACES, VALUES, PublishedTraces, trace_verification
from sfumato.kinds.traces.policy import TracePolicy
from sfumato.kinds.traces.traces import TracePrivacy, Traces
from sfumato.numbers import counted
from sfumato.published.checks.generalized import Verification
from sfumato.release.formulas import Formulas, frames_without_formulas
from sfumato.release.own_kinds import ChangedRelease, Saver, Written, saver
from sfumato.release.reports import KindReport

if TYPE_CHECKING:
    from sfumato.kinds.traces.make import TraceLoss


@dataclass(frozen=True, eq=False, repr=False)
class TraceRelease(ChangedRelease):
    """Traces of which a few points fit many people; made by :func:`sfumato.traces.anonymize_traces`.

    Only `published` (or :meth:`to_frame`) is for publication.

    Attributes
    ----------
    published : PublishedTraces
        What may be published: people in random order.
    model : TracePrivacy
        What holds.
    verification : Verification
        Its recount.
    loss : TraceLoss
        What it cost; steward only.
    origin : numpy.ndarray
        int64 (people,): the number of each published person in the input, from 0. Steward only: it undoes everything.
    notes : tuple of str
        For the steward.
    policy : TracePolicy or None
        What the release was made from.

    Raises
    ------
    VerificationError
        When a promise does not hold: such a release cannot be made.
    """

    published: PublishedTraces
    model: TracePrivacy
    verification: Verification
    loss: TraceLoss
    origin: NDArray[np.int64]
    notes: tuple[str, ...] = ()
    policy: TracePolicy | None = None

    kind = TRACES
    made_by = "traces.anonymize_traces"
    policy_kind = TracePolicy
    settings = ("change", "suppression_limit", "traces")
    limits = (
        "An attacker who knows more than L points of somebody may find fewer than K traces, even a single one.",
        "It does not hide what the traces that fit have in common, nor whether somebody is in the release.",
        "The promise does not count knowledge of gaps, of speed, of how many points a trace has, or of absence.",
        "It does not stand up to a second release of the same people.",
    )

    def written(self, policy: TracePolicy | None, formulas: Formulas | None) -> Written:
        """Return what is written into a folder."""
        shown = self.published if formulas is None else _without_formulas(self.published, formulas)
        report = self.reported(policy)
        limit = report.suppression_limit
        return Written(shown.tables, shown.structure, report.for_release(), suppression_limit=limit)

    def reported(self, policy: TracePolicy | None) -> KindReport:
        """Return the report, in the steward's edition, as of a policy."""
        found = self.report_of(
            policy,
            anonymizer="levels of places and times, and points left out",
            original=self.loss.people,
            published=self.published.height,
            suppression_limit=0.05 if policy is None else policy.suppression_limit,
            verification=self.verification,
            figures={name: value for name, value in self.loss.to_dict().items() if name != "people"},
            hides_original=True,
        )
        among = () if self.model.among is None else (_AMONG,)
        return replace(found, limits=(*among, *found.limits))

    def recount(self, population: Traces | None = None) -> Verification:
        """Count anew on the published traces alone, or with the traces of a population as well."""
        return trace_verification(self.published, [self.model], population)

    def to_frame(self) -> pl.DataFrame:
        """Return the traces in long form: ``trace`` (a random number), place and time, and the centres of cells."""
        return self.tables[TABLE]

    def __repr__(self) -> str:
        """Show the model and sizes."""
        return f"TraceRelease({self.model}, {counted(self.published.height, 'person')})"


_AMONG = "The K people are of a population. Who knows that somebody is in the release may find fewer traces, even one."


save_traces: Saver[TraceRelease, TracePolicy] = saver(
    TraceRelease, "save_traces", "traces", "the traces, the sensitive values of their people if there are any"
)


def _without_formulas(published: PublishedTraces, formulas: Formulas) -> PublishedTraces:
    """Return the traces as they are to be written; each label is looked at once."""
    places = sorted({place for place, _ in published.doublets})
    frames = {
        PLACE: pl.DataFrame({PLACE: places}),
        VALUES: pl.DataFrame({VALUES: pl.Series(published.value_names, dtype=pl.String)}),
    }
    escaped = frames_without_formulas(frames, formulas)
    if escaped is frames:
        return published
    new = dict(zip(places, escaped[PLACE][PLACE].to_list(), strict=True))
    doublets = tuple((new[place], time) for place, time in published.doublets)
    broader = {new.get(low, low): new.get(high, high) for low, high in published.broader.items()}
    return replace(published, doublets=doublets, broader=broader, value_names=tuple(escaped[VALUES][VALUES].to_list()))
