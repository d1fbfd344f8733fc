"""What a release of ratings says about itself: the content of its ``release.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sfumato.models.k_epsilon_l_anonymity import RatingAnonymity
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
from sfumato.table.ratings.scale import Scale

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
