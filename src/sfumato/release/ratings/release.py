"""Ratings that may be published, and what the steward should know about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import VerificationError
from sfumato.models.k_epsilon_l_anonymity import RatingAnonymity
from sfumato.published.checks.ratings.satisfaction import Satisfaction
from sfumato.release.description import (
    FORMAT,
    RATINGS,
    TableFacts,
    listed_names,
    number_of_records,
    own_promises,
    read_own_description,
    versions,
)
from sfumato.table.ratings.ratings import Ratings
from sfumato.table.ratings.scale import Scale

if TYPE_CHECKING:
    from sfumato.anonymizers.ratings.loss import RatingLoss
    from sfumato.anonymizers.ratings.task import Method
    from sfumato.policy.rating_policy import RatingPolicy


# What a release of ratings says about itself: the content of its ``release.json``.


TABLE = "ratings"

MOST_SILENT = 20_000_000
"""Records without a published rating that a verifier believes in: they take memory, but no line of a file."""


@dataclass(frozen=True)
class RatingDescription:
    """Everything that a verifier needs beside the ratings.

    Attributes
    ----------
    records : int
        Published records; those without any published rating stand in no line of the file.
    scale : Scale
    sensitive : tuple of str
        Sensitive issues that somebody has a published rating of.
    models : tuple of mapping
        Name and parameters of every promised model.
    suppression_limit : float
        Share of the original records.
    """

    records: int
    scale: Scale
    sensitive: tuple[str, ...]
    models: tuple[Mapping[str, Any], ...]
    suppression_limit: float

    def to_dict(self, facts: TableFacts) -> dict[str, Any]:
        """Return the content of ``release.json``; `facts` describes the file."""
        return {
            "format": FORMAT,
            "kind": RATINGS,
            "tables": {TABLE: facts.to_dict()},
            "structure": {"records": self.records, "scale": asdict(self.scale)},
            "sensitive": list(self.sensitive),
            "models": [dict(model) for model in self.models],
            "suppression_limit": self.suppression_limit,
            "versions": versions(),
        }


def read_rating_description(text: str) -> tuple[RatingDescription, TableFacts]:
    """Parse ``release.json``; return the description and what it says of the file.

    Raises
    ------
    VerificationError
        When it is not one, or is of a later format.
    """
    return read_own_description(text, lambda content: (_description(content), _facts(content["tables"])))


def _facts(tables: Mapping[str, Any]) -> TableFacts:
    if list(tables) != [TABLE]:
        raise ValueError("other tables")
    return TableFacts.of(tables[TABLE])


def _description(content: Mapping[str, Any]) -> RatingDescription:
    structure = content["structure"]
    models, limit = own_promises(content, RatingAnonymity)
    scale, records = Scale(**structure["scale"]), number_of_records(structure["records"])
    return RatingDescription(records, scale, listed_names(content["sensitive"]), models, limit)


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
