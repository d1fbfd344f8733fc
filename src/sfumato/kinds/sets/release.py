"""Anonymous sets that may be published, what they cost, and their folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import VerificationError
from sfumato.kinds.sets.check import ITEM, RECORDS, SETS, PublishedSets, set_verification
from sfumato.kinds.sets.policy import SetPolicy
from sfumato.models.of_kinds import KmAnonymity
from sfumato.numbers import counted
from sfumato.progress import thread_count
from sfumato.published.checks.generalized import Verification
from sfumato.release.formulas import Formulas, frames_without_formulas
from sfumato.release.own_kinds import OwnRelease, Saver, Written, saver
from sfumato.release.reports import KindReport

if TYPE_CHECKING:
    from sfumato.kinds.sets.make import SetLoss
    from sfumato.kinds.sets.policy import Method


@dataclass(frozen=True, eq=False, repr=False)
class SetRelease(OwnRelease):
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

    def __post_init__(self) -> None:
        """Refuse what does not hold."""
        if not self.verification.ok:
            raise VerificationError("these sets were not found to keep their promises; nothing is published")

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The sets, and the columns beside them if there are any."""
        return self.published.tables

    @property
    def report(self) -> KindReport:
        """The report, in the steward's edition."""
        return _report(self, self.policy)

    def written(self, policy: SetPolicy | None, formulas: Formulas | None) -> Written:
        """Return what is written into a folder."""
        shown = self.published if formulas is None else _without_formulas(self.published, formulas)
        columns = [] if shown.beside is None else shown.beside.columns
        structure = {"records": shown.height, "quasi_identifying": columns, "broader": dict(shown.broader)}
        return Written(shown.tables, structure, _report(self, policy).for_release())

    def contradictions(self, policy: SetPolicy) -> Iterator[str]:
        """Say what a policy says otherwise than the release was made with."""
        if policy.to_model() != self.model:
            yield "the policy promises another model than holds for the release"
        made = self.policy
        if made is not None:
            for name in ("change", "anonymizer"):
                if getattr(made, name) != getattr(policy, name):
                    yield f"the policy says another {name} than the release was made with"
            if list(made.columns.quasi_identifying) != list(policy.columns.quasi_identifying):
                yield "the policy names other columns beside the sets than the release has"

    def recount(self) -> Verification:
        """Count anew on the published sets alone."""
        return set_verification(self.published, [self.model], thread_count(None))

    def to_frame(self) -> pl.DataFrame:
        """Return the sets in long form: ``record`` (a random number) and ``item``."""
        return self.published.tables["sets"]

    def to_dict(self) -> dict[str, object]:
        """Return plain values, for JSON; nothing about single items or records."""
        return {
            "method": self.method,
            "model": {"name": self.model.name, **self.model.parameters()},
            "verification": self.verification.to_dict(),
            "loss": self.loss.to_dict(),
            "columns_ncp": self.columns_ncp,
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        """Show the model and sizes."""
        sizes = f"{counted(self.published.height, 'record')}, {counted(len(self.published.names), 'item')}"
        return f"SetRelease({self.model}, {sizes})"

    def __str__(self) -> str:
        """Return what holds, what was lost, and the notes."""
        checks = [f"  {check}" for check in self.verification.checks]
        beside = [] if self.columns_ncp is None else [f"  columns beside the sets (NCP) {100 * self.columns_ncp:.4g}%"]
        return "\n".join([repr(self), *checks, f"  {self.loss}", *beside, *(f"  {note}" for note in self.notes)])


LIMITS = (
    "An attacker who knows more than m items of somebody may find fewer than k records, down to a single one.",
    "It does not hide what the records that fit have in common, nor whether somebody is in the release.",
    "What somebody does not have is no knowledge that the promise counts; nor are how often, when or where.",
    "It does not stand up to a second release of the same people.",
)
"""What such a release does not hide."""


save_sets: Saver[SetRelease, SetPolicy] = saver(
    SetRelease, "save_sets", "anonymous sets", "the sets, the columns beside them if there are any"
)


def _report(release: SetRelease, policy: SetPolicy | None) -> KindReport:
    loss = release.loss
    figures = {name: value for name, value in loss.to_dict().items() if name != "records"}
    if release.columns_ncp is not None:
        figures["columns_ncp"] = release.columns_ncp
    return KindReport(
        anonymizer=_way(release, policy),
        kind=SETS.name,
        original=loss.records,
        published=release.published.height,
        suppression_limit=0.0,
        verification=release.verification,
        limits=LIMITS,
        figures=figures,
        notes=release.notes,
        purpose=None if policy is None else policy.purpose,
        recipient=None if policy is None else policy.recipient,
    )


def _way(release: SetRelease, policy: SetPolicy | None) -> str:
    if policy is None or release.published.beside is None:
        return release.method
    classes = policy.to_anonymizer()
    return f"{release.method} in classes of {'Mondrian' if classes is None else repr(classes)}"


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
