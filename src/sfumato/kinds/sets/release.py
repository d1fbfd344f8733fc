"""Anonymous sets that may be published, what they cost, and their folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.kinds.sets.check import ITEM, RECORDS, SETS, PublishedSets, set_verification
from sfumato.kinds.sets.policy import SetPolicy
from sfumato.models.of_kinds import KmAnonymity
from sfumato.numbers import counted
from sfumato.progress import thread_count
from sfumato.published.checks.generalized import Verification
from sfumato.release.formulas import Formulas, frames_without_formulas
from sfumato.release.own_kinds import ChangedRelease, Saver, Written, saver
from sfumato.release.reports import KindReport

if TYPE_CHECKING:
    from sfumato.kinds.sets.make import SetLoss
    from sfumato.kinds.sets.policy import Method


@dataclass(frozen=True, eq=False, repr=False)
class SetRelease(ChangedRelease):
    """k^m-anonymous sets; made by :func:`sfumato.anonymize_sets`.

    Only `published` (or :meth:`to_frame`) is for publication.

    Attributes
    ----------
    published : PublishedSets
        What may be published: records in random order, items by name.
    model : KmAnonymity
        What holds.
    verification : Verification
        Its recount.
    loss : SetLoss
        What it cost; steward only.
    columns_ncp : float or None
        The normalized certainty penalty of the columns beside the sets; None without any.
    method : str
        ``"mixed"``, ``"apriori"``, ``"optimal"`` or ``"suppress"``.
    origin : numpy.ndarray
        int64 (records,): the number of each published record in the input, from 0. Steward only: it undoes everything.
    notes : tuple of str
        For the steward.
    policy : SetPolicy or None
        What the release was made from.

    Raises
    ------
    VerificationError
        When a promise does not hold: such a release cannot be made.
    """

    published: PublishedSets
    model: KmAnonymity
    verification: Verification
    loss: SetLoss
    columns_ncp: float | None
    method: Method
    origin: NDArray[np.int64]
    notes: tuple[str, ...] = ()
    policy: SetPolicy | None = None

    kind = SETS
    made_by = "anonymize_sets"
    policy_kind = SetPolicy
    settings = ("change", "anonymizer")
    limits = (
        "An attacker who knows more than m items of somebody may find fewer than k records, even a single one.",
        "It does not hide what the records that fit have in common, nor whether somebody is in the release.",
        "What somebody does not have is no knowledge that the promise counts; nor are how often, when or where.",
        "It does not stand up to a second release of the same people.",
    )

    def written(self, policy: SetPolicy | None, formulas: Formulas | None) -> Written:
        """Return what is written into a folder."""
        shown = self.published if formulas is None else _without_formulas(self.published, formulas)
        columns = [] if shown.beside is None else shown.beside.columns
        structure = {"records": shown.height, "quasi_identifying": columns, "broader": dict(shown.broader)}
        return Written(shown.tables, structure, self.reported(policy).for_release())

    def contradictions(self, policy: SetPolicy) -> Iterator[str]:
        """Say what a policy says otherwise than the release was made with."""
        yield from super().contradictions(policy)
        made = policy if self.policy is None else self.policy
        if list(made.columns.quasi_identifying) != list(policy.columns.quasi_identifying):
            yield "the policy names other columns beside the sets than the release has"

    def reported(self, policy: SetPolicy | None) -> KindReport:
        """Return the report, in the steward's edition, as of a policy."""
        figures = {name: value for name, value in self.loss.to_dict().items() if name != "records"}
        if self.columns_ncp is not None:
            figures["columns_ncp"] = self.columns_ncp
        way: str = self.method
        if policy is not None and self.published.beside is not None:
            classes = policy.to_anonymizer()
            way = f"{way} in classes of {'Mondrian' if classes is None else repr(classes)}"
        return self.report_of(
            policy,
            anonymizer=way,
            original=self.loss.records,
            published=self.published.height,
            suppression_limit=0.0,
            verification=self.verification,
            figures=figures,
        )

    def recount(self) -> Verification:
        """Count anew on the published sets alone."""
        return set_verification(self.published, [self.model], thread_count(None))

    def to_frame(self) -> pl.DataFrame:
        """Return the sets in long form: ``record`` (a random number) and ``item``."""
        return self.published.tables["sets"]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON; nothing about single items or records."""
        return {"method": self.method, **super().to_dict(), "columns_ncp": self.columns_ncp}

    def __repr__(self) -> str:
        """Show the model and sizes."""
        sizes = f"{counted(self.published.height, 'record')}, {counted(len(self.published.names), 'item')}"
        return f"SetRelease({self.model}, {sizes})"

    @property
    def beside_loss(self) -> tuple[str, ...]:
        """What the columns beside the sets lost."""
        return () if self.columns_ncp is None else (f"columns beside the sets (NCP) {100 * self.columns_ncp:.4g}%",)


save_sets: Saver[SetRelease, SetPolicy] = saver(
    SetRelease, "save_sets", "anonymous sets", "the sets, the columns beside them if there are any"
)


def _without_formulas(published: PublishedSets, formulas: Formulas) -> PublishedSets:
    """Return the sets as they are to be written; each item is looked at once."""
    frames = {"items": pl.DataFrame({ITEM: pl.Series(published.names, dtype=pl.String)})}
    if published.beside is not None:
        frames[RECORDS] = published.beside
    escaped = frames_without_formulas(frames, formulas)
    if escaped is frames:
        return published
    names = tuple(escaped["items"][ITEM].to_list())
    new = dict(zip(published.names, names, strict=True))
    broader = {new.get(low, low): new.get(high, high) for low, high in published.broader.items()}
    return replace(published, names=names, beside=escaped.get(RECORDS), broader=broader)
