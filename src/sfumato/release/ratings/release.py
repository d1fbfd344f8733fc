"""Ratings that may be published, and what the steward should know about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import VerificationError
from sfumato.models.k_epsilon_l_anonymity import RatingAnonymity
from sfumato.published.checks.ratings.satisfaction import Satisfaction
from sfumato.table.ratings.ratings import Ratings

if TYPE_CHECKING:
    # Who verifies a release loads no maker.
    from sfumato.anonymizers.ratings.loss import RatingLoss
    from sfumato.anonymizers.ratings.task import Method
    from sfumato.policy.rating_policy import RatingPolicy


@dataclass(frozen=True, eq=False, repr=False)
class RatingRelease:
    """Anonymous ratings; made by :func:`sfumato.anonymize_ratings`.

    Only `ratings` (or :meth:`to_frame`) is for publication.

    Attributes
    ----------
    ratings : Ratings
        What may be published: records in random order, issues by name.
    satisfaction : Satisfaction
        The decision on these ratings; it holds.
    loss : RatingLoss
        What it cost: totals, and counts of single issues for the steward alone.
    kept : tuple of str
        Issues that were to stay published.
    method : str
        ``"groups"`` or ``"plan"``.
    origin : numpy.ndarray
        int64 (records,): the number of each published record in the input, from 0. Steward only: it undoes everything.
    notes : tuple of str
        For the steward.
    policy : RatingPolicy or None
        What the release was made from.

    Raises
    ------
    VerificationError
        When the model does not hold: such a release cannot be made.
    """

    ratings: Ratings
    satisfaction: Satisfaction
    loss: RatingLoss
    kept: tuple[str, ...]
    method: Method
    origin: NDArray[np.int64]
    notes: tuple[str, ...] = ()
    policy: RatingPolicy | None = None

    def __post_init__(self) -> None:
        """Refuse what does not hold, or what was not decided on these ratings."""
        if self.satisfaction.question.ratings is not self.ratings or not self.satisfaction.holds:
            raise VerificationError("these ratings were not found to satisfy the model; nothing is published")

    @property
    def model(self) -> RatingAnonymity:
        """What holds."""
        return self.satisfaction.model

    @property
    def kept_loss(self) -> RatingLoss | None:
        """The loss on the issues that were to stay published; None where none were named."""
        return self.loss.of(self.kept) if self.kept else None

    def to_frame(self) -> pl.DataFrame:
        """Return the ratings in long form: ``record`` (a random number), ``issue``, ``rating`` and perhaps ``time``."""
        return self.ratings.to_frame()

    def to_dict(self) -> dict[str, object]:
        """Return what may be told in a report as plain values, for JSON; nothing about single issues or records."""
        kept = self.kept_loss
        return {
            "method": self.method,
            "satisfaction": self.satisfaction.to_dict(),
            "loss": self.loss.to_dict(),
            "kept_issues": len(self.kept),
            "kept_loss": None if kept is None else kept.to_dict(),
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        """Show the model and sizes."""
        return f"RatingRelease({self.model}, {self.ratings!r})"

    def __str__(self) -> str:
        """Return the verdict, what was lost, and the notes."""
        kept = self.kept_loss
        lines = [str(self.satisfaction), f"  {self.loss}"]
        lines += [] if kept is None else [f"  on the {len(self.kept)} issues that were to stay: {kept}"]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])
