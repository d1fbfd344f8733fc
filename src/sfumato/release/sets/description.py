"""What a release of sets says about itself: the content of its ``release.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.models.km_anonymity import KmAnonymity
from sfumato.published.sets import RECORDS
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
