"""Sets that may be published, and what the steward should know about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import VerificationError
from sfumato.models.km_anonymity import KmAnonymity
from sfumato.numbers import counted
from sfumato.published.checks.generalized import Verification
from sfumato.published.sets import PublishedSets

if TYPE_CHECKING:
    # Who verifies a release loads no maker.
    from sfumato.anonymizers.sets.loss import SetLoss
    from sfumato.anonymizers.sets.task import Method
    from sfumato.policy.set_policy import SetPolicy


@dataclass(frozen=True, eq=False, repr=False)
class SetRelease:
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

    def __post_init__(self) -> None:
        """Refuse what does not hold."""
        if not self.verification.ok:
            raise VerificationError("these sets were not found to keep their promises; nothing is published")

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
