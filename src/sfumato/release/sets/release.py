"""Sets that may be published, and what the steward should know about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import VerificationError
from sfumato.models.km_anonymity import KmAnonymity
from sfumato.numbers import counted
from sfumato.published.checks.generalized import Verification
from sfumato.published.sets import RECORDS, PublishedSets
from sfumato.published.sets import SETS as TABLE
from sfumato.release.description import (
    FORMAT,
    SETS,
    TableFacts,
    listed_names,
    number_of_records,
    own_promises,
    read_own_description,
    versions,
)

if TYPE_CHECKING:
    from sfumato.anonymizers.sets.loss import SetLoss
    from sfumato.anonymizers.sets.task import Method
    from sfumato.policy.set_policy import SetPolicy


# What a release of sets says about itself: the content of its ``release.json``.


MOST_EMPTY = 20_000_000
"""Records with the empty set that a verifier believes in: they take memory, but no line of a file."""


@dataclass(frozen=True)
class SetDescription:
    """Everything that a verifier needs beside the tables.

    Attributes
    ----------
    records : int
        Published records; those with the empty set stand in no line of the sets.
    quasi_identifying : tuple of str
        Columns beside the sets.
    broader : mapping of str to str
        For published items and what stands above them: the next coarser item.
    models : tuple of mapping
        Name and parameters of every promised model.
    suppression_limit : float
        Share of the original records.
    """

    records: int
    quasi_identifying: tuple[str, ...]
    broader: Mapping[str, str]
    models: tuple[Mapping[str, Any], ...]
    suppression_limit: float = 0.0

    @property
    def structure(self) -> dict[str, Any]:
        """How the tables hang together."""
        return {
            "records": self.records,
            "quasi_identifying": list(self.quasi_identifying),
            "broader": dict(self.broader),
        }

    def to_dict(self, facts: Mapping[str, TableFacts]) -> dict[str, Any]:
        """Return the content of ``release.json``; `facts` describes the files."""
        return {
            "format": FORMAT,
            "kind": SETS,
            "tables": {name: entry.to_dict() for name, entry in facts.items()},
            "structure": self.structure,
            "sensitive": {},
            "models": [dict(model) for model in self.models],
            "suppression_limit": self.suppression_limit,
            "versions": versions(),
        }


def read_set_description(text: str) -> tuple[SetDescription, dict[str, TableFacts]]:
    """Parse ``release.json``; return the description and what it says of the files.

    Raises
    ------
    VerificationError
        When it is not one, or is of a later format.
    """
    return read_own_description(text, _read)


def _read(content: Mapping[str, Any]) -> tuple[SetDescription, dict[str, TableFacts]]:
    description = _description(content)
    return description, _facts(content["tables"], description)


def _facts(tables: Mapping[str, Any], description: SetDescription) -> dict[str, TableFacts]:
    if set(tables) != {TABLE, *([RECORDS] if description.quasi_identifying else [])}:
        raise ValueError("other tables")
    facts = {name: TableFacts.of(entry) for name, entry in tables.items()}
    if len({entry.file for entry in facts.values()}) < len(facts) or any(entry.parts for entry in facts.values()):
        raise ValueError("other files")
    return facts


def _description(content: Mapping[str, Any]) -> SetDescription:
    structure = content["structure"]
    models, limit = own_promises(content, KmAnonymity)
    if content["sensitive"] != {}:
        raise ValueError
    columns, broader = listed_names(structure["quasi_identifying"]), structure["broader"]
    if not isinstance(broader, dict) or not all(isinstance(name, str) for name in broader.values()):
        raise TypeError
    return SetDescription(number_of_records(structure["records"]), columns, broader, models, limit)


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
